//! Inline commands: words and quoted strings on one line, as people type them.

use bytes::{BufMut, Bytes, BytesMut};

/// Splits a line as Redis's `sdssplitargs` does; `None` if a quote is not closed or not followed by a blank.
pub(super) fn split(line: &[u8]) -> Option<Vec<Bytes>> {
    let mut words = Vec::new();
    let mut rest = line;
    loop {
        // A zero byte ends the line, since it ends a string in C.
        let blanks = rest.iter().take_while(|byte| is_blank(**byte)).count();
        rest = &rest[blanks..];
        if rest.first().is_none_or(|byte| *byte == 0) {
            return Some(words);
        }
        let (word, after) = next_word(rest)?;
        words.push(word);
        rest = after;
    }
}

/// C's `isspace`.
fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | 0x0b | 0x0c | b'\r')
}

/// One word, which may have quoted parts; a quote can also begin in the middle of a word.
fn next_word(mut rest: &[u8]) -> Option<(Bytes, &[u8])> {
    let mut word = BytesMut::new();
    loop {
        match rest {
            [] | [0 | b' ' | b'\t' | b'\n' | b'\r', ..] => return Some((word.freeze(), rest)),
            [b'"', after @ ..] => return double_quoted(word, after),
            [b'\'', after @ ..] => return single_quoted(word, after),
            [byte, after @ ..] => {
                word.put_u8(*byte);
                rest = after;
            }
        }
    }
}

fn double_quoted(mut word: BytesMut, mut rest: &[u8]) -> Option<(Bytes, &[u8])> {
    loop {
        match rest {
            [] | [0, ..] => return None,
            [b'\\', b'x', high, low, after @ ..]
                if high.is_ascii_hexdigit() && low.is_ascii_hexdigit() =>
            {
                word.put_u8(hex(*high) << 4 | hex(*low));
                rest = after;
            }
            [b'\\', escaped, after @ ..] => {
                word.put_u8(match escaped {
                    b'n' => b'\n',
                    b'r' => b'\r',
                    b't' => b'\t',
                    b'b' => 0x08,
                    b'a' => 0x07,
                    other => *other,
                });
                rest = after;
            }
            [b'"', after @ ..] => return closed(word, after),
            [byte, after @ ..] => {
                word.put_u8(*byte);
                rest = after;
            }
        }
    }
}

fn single_quoted(mut word: BytesMut, mut rest: &[u8]) -> Option<(Bytes, &[u8])> {
    loop {
        match rest {
            [] | [0, ..] => return None,
            [b'\\', b'\'', after @ ..] => {
                word.put_u8(b'\'');
                rest = after;
            }
            [b'\'', after @ ..] => return closed(word, after),
            [byte, after @ ..] => {
                word.put_u8(*byte);
                rest = after;
            }
        }
    }
}

/// A closing quote must be followed by a blank or by nothing.
fn closed(word: BytesMut, rest: &[u8]) -> Option<(Bytes, &[u8])> {
    rest.first()
        .is_none_or(|byte| *byte == 0 || is_blank(*byte))
        .then(|| (word.freeze(), rest))
}

fn hex(digit: u8) -> u8 {
    match digit {
        b'0'..=b'9' => digit - b'0',
        _ => (digit | 0x20) - b'a' + 10,
    }
}
