//! Looking at all keys: KEYS and SCAN.

use bytes::Bytes;

use super::arguments::{integer, is};
use super::{Command, Failure, Flags, NO_KEYS, Outcome};
use crate::database::Database;
use crate::{Reply, glob};

pub(super) const COMMANDS: &[Command] = &[
    Command::data("keys", 2, Flags::READONLY, NO_KEYS, keys),
    Command::data("scan", -2, Flags::READONLY, NO_KEYS, scan),
];

fn keys(db: &mut Database, request: &[Bytes]) -> Outcome {
    let pattern = &request[1];
    let all = pattern == "*";
    db.add_work(db.keys().len() * (pattern.len() + 1));
    let found = db.keys().iter().map(|(key, _)| key);
    let found = found.filter(|key| !db.has_expired(key) && (all || glob::matches(pattern, key)));
    Ok(Reply::Array(found.cloned().map(Reply::Bulk).collect()))
}

#[derive(Default)]
struct Options<'a> {
    pattern: Option<&'a Bytes>,
    kind: Option<&'a Bytes>,
    count: usize,
}

impl<'a> Options<'a> {
    fn parse(arguments: &'a [Bytes]) -> Result<Self, Failure> {
        let mut options = Options {
            count: 10,
            ..Options::default()
        };
        for pair in arguments.chunks(2) {
            match pair {
                [word, count] if is(word, "COUNT") => {
                    let count = usize::try_from(integer(count)?).ok();
                    options.count = count.filter(|count| *count > 0).ok_or(Failure::SYNTAX)?;
                }
                [word, pattern] if is(word, "MATCH") => options.pattern = Some(pattern),
                [word, kind] if is(word, "TYPE") => options.kind = Some(kind),
                _ => return Err(Failure::SYNTAX),
            }
        }
        Ok(options)
    }
}

/// Keys in the order of a hash of theirs; the cursor is the hash to go on with.
///
/// So a key that is there during all of a full iteration is answered, whatever comes and goes meanwhile, as Redis
/// promises. And as with Redis, a little more than COUNT can come back: keys with the same hash come together.
fn scan(db: &mut Database, request: &[Bytes]) -> Outcome {
    let cursor = cursor(&request[1]).ok_or(Failure::of("ERR invalid cursor"))?;
    let options = Options::parse(&request[2..])?;
    db.add_work(db.keys().len() * 8);
    let keys = db.keys().iter();
    let mut left: Vec<(u64, &Bytes)> = keys
        .map(|(key, _)| (position(key), key))
        .filter(|(position, _)| *position >= cursor)
        .collect();
    left.sort_unstable();
    let end = left.get(options.count - 1).map(|(last, _)| *last);
    let next = end.and_then(|end| left.iter().find(|(position, _)| *position > end));
    let next = next.map_or(0, |(position, _)| *position);
    let seen: Vec<Bytes> = left
        .iter()
        .take_while(|(position, _)| next == 0 || *position < next)
        .map(|(_, key)| (*key).clone())
        .collect();
    let mut found = Vec::new();
    for key in seen {
        if options
            .pattern
            .is_none_or(|pattern| glob::matches(pattern, &key))
            && db.is_live(&key)
            && is_kind(db, &key, options.kind)
        {
            found.push(Reply::Bulk(key));
        }
    }
    Ok(Reply::Array(vec![
        Reply::bulk(next.to_string()),
        Reply::Array(found),
    ]))
}

fn is_kind(db: &Database, key: &Bytes, kind: Option<&Bytes>) -> bool {
    let entry = db.keys().get(key);
    kind.is_none_or(|kind| entry.is_some_and(|entry| is(kind, entry.value.kind())))
}

/// FNV-1a, mixed; 63 bits for clients that read signed numbers, never 0, which is the start.
fn position(key: &[u8]) -> u64 {
    let hash = key.iter().fold(0xCBF2_9CE4_8422_2325, |hash: u64, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01B3)
    });
    let mixed = (hash ^ (hash >> 32)).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    (mixed >> 1).max(1)
}

/// As C's `strtoul` reads it: a sign is fine, a blank before it or anything after it is not.
fn cursor(text: &[u8]) -> Option<u64> {
    let (negative, digits) = match text {
        [b'-', digits @ ..] => (true, digits),
        [b'+', digits @ ..] => (false, digits),
        digits => (false, digits),
    };
    if text.is_empty() {
        return Some(0);
    }
    let number: u64 = digits
        .iter()
        .all(u8::is_ascii_digit)
        .then(|| std::str::from_utf8(digits).ok()?.parse().ok())??;
    Some(if negative {
        number.wrapping_neg()
    } else {
        number
    })
}

#[cfg(test)]
mod tests {
    use super::cursor;

    /// Expected: what redis-server 7.0.15 takes.
    #[test]
    fn cursors_are_read_as_c_reads_them() {
        let cases = [
            ("0", Some(0)),
            ("01", Some(1)),
            ("+1", Some(1)),
            ("-0", Some(0)),
            ("-1", Some(u64::MAX)),
            ("", Some(0)),
            ("18446744073709551616", None),
            ("x", None),
            ("1a", None),
            (" 1", None),
        ];
        for (text, expected) in cases {
            assert_eq!(cursor(text.as_bytes()), expected, "{text:?}");
        }
    }
}
