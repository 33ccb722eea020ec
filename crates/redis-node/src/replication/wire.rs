//! Bytes on a link: commands as arrays of bulk strings, answers as lines.

use bytes::{BufMut, Bytes, BytesMut};

use crate::disk::Unit;

/// A command as an array of bulk strings.
pub(super) fn encode(command: &[Bytes], out: &mut BytesMut) {
    put_length(b'*', command.len(), out);
    for argument in command {
        put_length(b'$', argument.len(), out);
        out.put_slice(argument);
        out.put_slice(b"\r\n");
    }
}

fn put_length(kind: u8, length: usize, out: &mut BytesMut) {
    out.put_u8(kind);
    out.put_slice(length.to_string().as_bytes());
    out.put_slice(b"\r\n");
}

/// A unit of more than one command is a transaction.
pub(super) fn encode_unit(unit: &Unit) -> Bytes {
    let mut out = BytesMut::new();
    if let [command] = unit.as_slice() {
        encode(command, &mut out);
        return out.freeze();
    }
    encode(&[Bytes::from_static(b"MULTI")], &mut out);
    unit.iter().for_each(|command| encode(command, &mut out));
    encode(&[Bytes::from_static(b"EXEC")], &mut out);
    out.freeze()
}

/// A command of words.
pub(super) fn words(words: &[&str]) -> Bytes {
    let words: Vec<Bytes> = words
        .iter()
        .map(|word| Bytes::copy_from_slice(word.as_bytes()))
        .collect();
    let mut out = BytesMut::new();
    encode(&words, &mut out);
    out.freeze()
}

/// How many bytes a command takes on the link.
pub(super) fn encoded(command: &[Bytes]) -> Bytes {
    let mut out = BytesMut::new();
    encode(command, &mut out);
    out.freeze()
}

/// An answer longer than that is none.
const LONGEST_LINE: usize = 1 << 10;

/// Takes a complete line from the front, without its end. An error if there can be none.
pub(super) fn take_line(input: &mut BytesMut) -> Result<Option<Bytes>, ()> {
    let Some(end) = input.iter().position(|byte| *byte == b'\n') else {
        return if input.len() > LONGEST_LINE {
            Err(())
        } else {
            Ok(None)
        };
    };
    let line = input.split_to(end + 1).freeze();
    let line = line.slice(..end);
    Ok(Some(match line.last() {
        Some(b'\r') => line.slice(..end - 1),
        _ => line,
    }))
}
