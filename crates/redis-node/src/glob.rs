//! Redis's glob patterns, for KEYS, SCAN, PSUBSCRIBE, PUBSUB and CONFIG GET.

/// Whether the pattern matches the whole text, by the rules that Redis documents for `KEYS`.
///
/// Each element but `*` matches exactly one byte, so it is enough to go back to the last `*`: the worst case is
/// the product of the two lengths, whatever the pattern.
pub(crate) fn matches(pattern: &[u8], text: &[u8]) -> bool {
    // Redis does not look at the pattern at all if there is no text.
    if text.is_empty() {
        return pattern.is_empty();
    }
    let (mut at, mut from) = (0, 0);
    // Where to go on after the last `*`: in the pattern, and in the text with one more byte swallowed.
    let mut retry = None;
    while from < text.len() {
        if pattern.get(at) == Some(&b'*') {
            at += 1;
            retry = Some((at, from + 1));
        } else if let Some(next) = step(pattern, at, text[from]) {
            at = next;
            from += 1;
        } else if let Some((after_star, resume)) = retry {
            (at, from) = (after_star, resume);
            retry = Some((after_star, resume + 1));
        } else {
            return false;
        }
    }
    pattern[at..].iter().all(|byte| *byte == b'*')
}

/// Matches one byte with the element of the pattern at `at`. Answers where the next element begins.
fn step(pattern: &[u8], at: usize, byte: u8) -> Option<usize> {
    match *pattern.get(at)? {
        b'?' => Some(at + 1),
        b'[' => set(pattern, at + 1, byte),
        b'\\' if at + 1 < pattern.len() => (pattern[at + 1] == byte).then_some(at + 2),
        literal => (literal == byte).then_some(at + 1),
    }
}

/// A set `[...]`; one that is not closed goes to the end of the pattern.
fn set(pattern: &[u8], mut at: usize, byte: u8) -> Option<usize> {
    let negated = pattern.get(at) == Some(&b'^');
    at += usize::from(negated);
    let mut found = false;
    let next = loop {
        match &pattern[at.min(pattern.len())..] {
            [] => break pattern.len(),
            [b']', ..] => break at + 1,
            [b'\\', escaped, ..] => {
                found |= *escaped == byte;
                at += 2;
            }
            [low, b'-', high, ..] => {
                found |= in_range(*low, *high, byte);
                at += 3;
            }
            [literal, ..] => {
                found |= *literal == byte;
                at += 1;
            }
        }
    };
    (found != negated).then_some(next)
}

/// A range in either direction; bytes are signed, as C's `char` is on x86-64.
fn in_range(low: u8, high: u8, byte: u8) -> bool {
    let [low, high, byte] = [low, high, byte].map(|byte| byte.cast_signed());
    (low.min(high)..=low.max(high)).contains(&byte)
}

#[cfg(test)]
mod tests {
    use super::matches;

    /// Expected: Redis's own unit tests of `stringmatchlen`, its documentation of KEYS, and the code's corners.
    #[test]
    fn patterns_match_as_documented() {
        let cases: [(&str, &str, bool); 29] = [
            ("h?llo", "hello", true),
            ("h?llo", "hllo", false),
            ("h*llo", "hllo", true),
            ("h*llo", "heeeello", true),
            ("h[ae]llo", "hallo", true),
            ("h[ae]llo", "hillo", false),
            ("h[^e]llo", "hallo", true),
            ("h[^e]llo", "hello", false),
            ("h[a-b]llo", "hbllo", true),
            ("h[b-a]llo", "hallo", true),
            ("h[a-b]llo", "hcllo", false),
            ("*", "anything", true),
            ("*", "", false),
            ("", "", true),
            ("", "a", false),
            ("a*", "a", true),
            ("a**", "a", true),
            ("a*b*c", "aXbXbXc", true),
            ("a*b*c", "aXbXbX", false),
            ("\\*", "*", true),
            ("\\*", "a", false),
            ("a\\", "a\\", true),
            ("[\\]]", "]", true),
            ("[a", "a", true),
            ("[a", "b", false),
            ("[", "[", false),
            ("[^", "x", true),
            ("[a-", "-", true),
            ("*?", "a", true),
        ];
        for (pattern, text, expected) in cases {
            assert_eq!(
                matches(pattern.as_bytes(), text.as_bytes()),
                expected,
                "{pattern} {text}"
            );
        }
    }

    #[test]
    fn a_pattern_that_is_meant_to_hurt_does_not() {
        let pattern = "a*".repeat(1000) + "b";
        assert!(!matches(pattern.as_bytes(), "a".repeat(10_000).as_bytes()));
    }
}
