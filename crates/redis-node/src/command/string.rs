//! Strings: SET with its options, GET and their relatives, counters.

use bytes::{Bytes, BytesMut};

use super::arguments::{integer, is};
use super::{ALL_KEYS, Command, Failure, Flags, ONE_KEY, Outcome};
use crate::database::{Database, Expiry};
use crate::keyspace::{Entry, Value};
use crate::{Did, Reply};

const READ: Flags = Flags::READONLY.and(Flags::FAST);
const WRITE: Flags = Flags::WRITE.and(Flags::DENYOOM);
const FAST_WRITE: Flags = WRITE.and(Flags::FAST);

pub(super) const COMMANDS: &[Command] = &[
    Command::data("append", 3, FAST_WRITE, ONE_KEY, append),
    Command::data("decr", 2, FAST_WRITE, ONE_KEY, |db, request| {
        add(db, &request[1], -1)
    }),
    Command::data("decrby", 3, FAST_WRITE, ONE_KEY, decrby),
    Command::data("get", 2, READ, ONE_KEY, |db, request| get(db, &request[1])),
    Command::data("getdel", 2, Flags::WRITE.and(Flags::FAST), ONE_KEY, getdel),
    Command::data("getex", -2, Flags::WRITE.and(Flags::FAST), ONE_KEY, getex),
    Command::data("getset", 3, FAST_WRITE, ONE_KEY, getset),
    Command::data("incr", 2, FAST_WRITE, ONE_KEY, |db, request| {
        add(db, &request[1], 1)
    }),
    Command::data("incrby", 3, FAST_WRITE, ONE_KEY, |db, request| {
        add(db, &request[1], integer(&request[2])?)
    }),
    Command::data("mget", -2, READ, ALL_KEYS, mget),
    Command::data("mset", -3, WRITE, [1, -1, 2], mset),
    Command::data("psetex", 4, WRITE, ONE_KEY, |db, request| {
        setex(db, request, Unit::Millis, "psetex")
    }),
    Command::data("set", -3, WRITE, ONE_KEY, set),
    Command::data("setex", 4, WRITE, ONE_KEY, |db, request| {
        setex(db, request, Unit::Seconds, "setex")
    }),
    Command::data("setnx", 3, FAST_WRITE, ONE_KEY, setnx),
    Command::data("strlen", 2, READ, ONE_KEY, strlen),
];

#[derive(Clone, Copy, PartialEq, Eq)]
enum Unit {
    Seconds,
    Millis,
}

#[derive(Default)]
struct SetOptions<'a> {
    nx: bool,
    xx: bool,
    get: bool,
    keep_ttl: bool,
    /// The value, its unit, and whether it counts from now.
    expiry: Option<(&'a Bytes, Unit, bool)>,
}

impl<'a> SetOptions<'a> {
    /// The options of GETEX are those of SET about the expiry, and PERSIST in the place of KEEPTTL.
    fn parse_getex(arguments: &'a [Bytes]) -> Result<Self, Failure> {
        let mut options = SetOptions::default();
        let mut rest = arguments.iter();
        while let Some(word) = rest.next() {
            if is(word, "PERSIST") && options.expiry.is_none() {
                options.keep_ttl = true;
            } else {
                options.expiry = Some(options.expiry(word, &mut rest)?);
            }
        }
        Ok(options)
    }

    fn parse(arguments: &'a [Bytes]) -> Result<Self, Failure> {
        let mut options = SetOptions::default();
        let mut rest = arguments.iter();
        while let Some(word) = rest.next() {
            if is(word, "NX") && !options.xx {
                options.nx = true;
            } else if is(word, "XX") && !options.nx {
                options.xx = true;
            } else if is(word, "GET") {
                options.get = true;
            } else if is(word, "KEEPTTL") && options.expiry.is_none() {
                options.keep_ttl = true;
            } else {
                options.expiry = Some(options.expiry(word, &mut rest)?);
            }
        }
        Ok(options)
    }

    fn expiry(
        &self,
        word: &Bytes,
        rest: &mut impl Iterator<Item = &'a Bytes>,
    ) -> Result<(&'a Bytes, Unit, bool), Failure> {
        let word = expiry_word(word).filter(|word| self.allows(*word));
        let (unit, relative) = word.ok_or(Failure::SYNTAX)?;
        let value = rest.next().ok_or(Failure::SYNTAX)?;
        Ok((value, unit, relative))
    }

    /// Redis 7.0 takes the same word again, with the last value; different words exclude each other.
    fn allows(&self, (unit, relative): (Unit, bool)) -> bool {
        !self.keep_ttl
            && self
                .expiry
                .is_none_or(|(_, other, base)| (other, base) == (unit, relative))
    }
}

fn expiry_word(word: &Bytes) -> Option<(Unit, bool)> {
    let words = [
        ("EX", Unit::Seconds, true),
        ("PX", Unit::Millis, true),
        ("EXAT", Unit::Seconds, false),
        ("PXAT", Unit::Millis, false),
    ];
    words
        .into_iter()
        .find(|(name, ..)| is(word, name))
        .map(|(_, unit, relative)| (unit, relative))
}

/// The absolute time in milliseconds that an option or argument means.
fn expiry_millis(
    db: &Database,
    value: &[u8],
    unit: Unit,
    relative: bool,
    command: &'static str,
) -> Result<i64, Failure> {
    let invalid = || Failure::expire_time(command);
    let value = integer(value)?;
    if value <= 0 {
        return Err(invalid());
    }
    let millis = match unit {
        Unit::Seconds => value.checked_mul(1000).ok_or_else(invalid)?,
        Unit::Millis => value,
    };
    let base = if relative { db.now_millis() } else { 0 };
    millis.checked_add(base).ok_or_else(invalid)
}

fn set(db: &mut Database, request: &[Bytes]) -> Outcome {
    let (key, value) = (&request[1], &request[2]);
    let options = SetOptions::parse(&request[3..])?;
    let expires_at = match options.expiry {
        Some((value, unit, relative)) => Some(expiry_millis(db, value, unit, relative, "set")?),
        None => None,
    };
    let old = db.lookup(key);
    let found = old.is_some();
    let reply = if options.get {
        Some(string_reply(old))
    } else {
        None
    };
    if let Some(Err(wrong_type)) = reply {
        db.touch(key, Did::Refused);
        return Err(wrong_type);
    }
    let reply = reply.transpose()?;
    if options.nx && found {
        db.touch(key, Did::Refused);
        return Ok(reply.unwrap_or(Reply::Nil));
    }
    if options.xx && !found {
        db.touch(key, Did::Missing);
        return Ok(reply.unwrap_or(Reply::Nil));
    }
    let expiry = match expires_at {
        Some(when) => Expiry::At(when),
        None if options.keep_ttl => Expiry::Keep,
        None => Expiry::Clear,
    };
    store(db, key, value, expiry);
    Ok(reply.unwrap_or(Reply::ok()))
}

/// Sets the value and hands the log the form that means the same at any time.
fn store(db: &mut Database, key: &Bytes, value: &Bytes, expiry: Expiry) {
    const SET: Bytes = Bytes::from_static(b"SET");
    db.set(key, Value::String(value.clone()), expiry);
    match expiry {
        Expiry::Clear => db.propagate([&SET, key, value]),
        Expiry::Keep => db.propagate([&SET, key, value, &Bytes::from_static(b"KEEPTTL")]),
        Expiry::At(when) => {
            let when = Bytes::from(when.to_string());
            db.propagate([&SET, key, value, &Bytes::from_static(b"PXAT"), &when]);
        }
    }
}

fn setex(db: &mut Database, request: &[Bytes], unit: Unit, command: &'static str) -> Outcome {
    let when = expiry_millis(db, &request[2], unit, true, command)?;
    db.lookup(&request[1]);
    store(db, &request[1], &request[3], Expiry::At(when));
    Ok(Reply::ok())
}

fn setnx(db: &mut Database, request: &[Bytes]) -> Outcome {
    if db.lookup(&request[1]).is_some() {
        db.touch(&request[1], Did::Refused);
        return Ok(Reply::Integer(0));
    }
    store(db, &request[1], &request[2], Expiry::Clear);
    Ok(Reply::Integer(1))
}

fn string_reply(entry: Option<&Entry>) -> Outcome {
    match entry.map(|entry| &entry.value) {
        None => Ok(Reply::Nil),
        Some(Value::String(bytes)) => Ok(Reply::Bulk(bytes.clone())),
        Some(_) => Err(Failure::WRONG_TYPE),
    }
}

fn get(db: &mut Database, key: &Bytes) -> Outcome {
    string_reply(db.read(key))
}

/// The string that a write is about to replace; a wrong type counts as a refusal.
fn string_to_change(db: &mut Database, key: &Bytes) -> Result<Option<Bytes>, Failure> {
    let old = match db.lookup(key).map(|entry| &entry.value) {
        None => return Ok(None),
        Some(Value::String(bytes)) => Some(bytes.clone()),
        Some(_) => None,
    };
    if old.is_none() {
        db.touch(key, Did::Refused);
        return Err(Failure::WRONG_TYPE);
    }
    Ok(old)
}

fn getset(db: &mut Database, request: &[Bytes]) -> Outcome {
    let old = string_to_change(db, &request[1])?;
    store(db, &request[1], &request[2], Expiry::Clear);
    Ok(old.map_or(Reply::Nil, Reply::Bulk))
}

/// The key is looked at before the time, and the time is checked only where there is a key.
fn getex(db: &mut Database, request: &[Bytes]) -> Outcome {
    let key = &request[1];
    let options = SetOptions::parse_getex(&request[2..])?;
    let reply = string_reply(db.read(key))?;
    if reply == Reply::Nil {
        return Ok(reply);
    }
    if let Some((value, unit, relative)) = options.expiry {
        let when = expiry_millis(db, value, unit, relative, "getex")?;
        super::expiry::expire_at(db, key, when);
    } else if options.keep_ttl
        && db
            .keys()
            .get(key)
            .is_some_and(|entry| entry.expires_at.is_some())
    {
        db.set_expiry(key, None);
        db.propagate([&Bytes::from_static(b"PERSIST"), key]);
    }
    Ok(reply)
}

fn getdel(db: &mut Database, request: &[Bytes]) -> Outcome {
    let old = string_to_change(db, &request[1])?;
    if db.delete(&request[1]) {
        db.propagate([&Bytes::from_static(b"DEL"), &request[1]]);
    }
    Ok(old.map_or(Reply::Nil, Reply::Bulk))
}

fn mget(db: &mut Database, request: &[Bytes]) -> Outcome {
    let values = request[1..]
        .iter()
        .map(|key| get(db, key).unwrap_or(Reply::Nil));
    Ok(Reply::Array(values.collect()))
}

fn mset(db: &mut Database, request: &[Bytes]) -> Outcome {
    if request.len().is_multiple_of(2) {
        return Err(Failure::wrong_arguments("mset"));
    }
    for pair in request[1..].chunks_exact(2) {
        db.lookup(&pair[0]);
        store(db, &pair[0], &pair[1], Expiry::Clear);
    }
    Ok(Reply::ok())
}

fn strlen(db: &mut Database, request: &[Bytes]) -> Outcome {
    match db.read(&request[1]).map(|entry| &entry.value) {
        None => Ok(Reply::Integer(0)),
        Some(Value::String(bytes)) => Ok(Reply::Integer(length(bytes.len()))),
        Some(_) => Err(Failure::WRONG_TYPE),
    }
}

/// Redis's `proto-max-bulk-len`.
const LONGEST_STRING: usize = 512 << 20;

fn append(db: &mut Database, request: &[Bytes]) -> Outcome {
    let old = string_to_change(db, &request[1])?.unwrap_or_default();
    if old.len().saturating_add(request[2].len()) > LONGEST_STRING {
        db.touch(&request[1], Did::Refused);
        return Err(Failure::of(
            "ERR string exceeds maximum allowed size (proto-max-bulk-len)",
        ));
    }
    let mut joined = BytesMut::with_capacity(old.len() + request[2].len());
    joined.extend_from_slice(&old);
    joined.extend_from_slice(&request[2]);
    let joined_length = joined.len();
    db.set(&request[1], Value::String(joined.freeze()), Expiry::Keep);
    db.propagate_verbatim(request);
    Ok(Reply::Integer(length(joined_length)))
}

fn decrby(db: &mut Database, request: &[Bytes]) -> Outcome {
    let amount = integer(&request[2])?;
    let negated = amount
        .checked_neg()
        .ok_or(Failure::of("ERR decrement would overflow"))?;
    add(db, &request[1], negated)
}

fn add(db: &mut Database, key: &Bytes, amount: i64) -> Outcome {
    let old = string_to_change(db, key)?;
    let sum = match &old {
        None => Ok(amount),
        Some(bytes) => integer(bytes).and_then(|number| {
            number
                .checked_add(amount)
                .ok_or(Failure::of("ERR increment or decrement would overflow"))
        }),
    };
    let sum = sum.inspect_err(|_| db.touch(key, Did::Refused))?;
    db.set(key, Value::String(sum.to_string().into()), Expiry::Keep);
    db.propagate([
        &Bytes::from_static(b"INCRBY"),
        key,
        &amount.to_string().into(),
    ]);
    Ok(Reply::Integer(sum))
}

/// Lengths are bounded by memory, so this never clamps.
pub(super) fn length(length: usize) -> i64 {
    i64::try_from(length).unwrap_or(i64::MAX)
}
