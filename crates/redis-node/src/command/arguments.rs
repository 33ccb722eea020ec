//! Reading arguments the way Redis reads them.

use bytes::Bytes;

use super::Failure;

/// An integer as Redis writes it back: no blanks, no plus, no leading zero, no overflow.
pub(super) fn integer(bytes: &[u8]) -> Result<i64, Failure> {
    strict_integer(bytes).ok_or(Failure::NOT_AN_INTEGER)
}

/// As [`integer`], for those who have their own text.
pub(crate) fn strict_integer(bytes: &[u8]) -> Option<i64> {
    let digits = bytes.strip_prefix(b"-").unwrap_or(bytes);
    let leading = *digits.first()?;
    let canonical = bytes == b"0" || (b'1'..=b'9').contains(&leading);
    if !canonical {
        return None;
    }
    std::str::from_utf8(bytes).ok()?.parse().ok()
}

pub(super) fn is(argument: &Bytes, word: &str) -> bool {
    argument.eq_ignore_ascii_case(word.as_bytes())
}

/// Up to `most` bytes for an error text; ends at a zero byte, as C does.
pub(super) fn excerpt(bytes: &[u8], most: usize) -> String {
    let bytes = &bytes[..bytes.len().min(most)];
    let end = bytes
        .iter()
        .position(|byte| *byte == 0)
        .unwrap_or(bytes.len());
    String::from_utf8_lossy(&bytes[..end]).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_canonical_form_is_an_integer() {
        for (text, value) in [
            ("0", 0),
            ("-1", -1),
            ("42", 42),
            ("-9223372036854775808", i64::MIN),
        ] {
            assert_eq!(strict_integer(text.as_bytes()), Some(value));
        }
        for text in [
            "",
            "-",
            "+1",
            " 1",
            "1 ",
            "01",
            "-0",
            "-01",
            "1.0",
            "0x1",
            "9223372036854775808",
            "1\0",
        ] {
            assert_eq!(strict_integer(text.as_bytes()), None, "{text:?}");
        }
    }
}
