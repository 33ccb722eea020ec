//! Expiry: EXPIRE and its relatives with NX, XX, GT, LT; TTL and its relatives; PERSIST.

use bytes::Bytes;

use super::arguments::{excerpt, integer, is};
use super::{Command, Failure, Flags, ONE_KEY, Outcome};
use crate::database::Database;
use crate::{Did, Reply};

const READ: Flags = Flags::READONLY.and(Flags::FAST);
const WRITE: Flags = Flags::WRITE.and(Flags::FAST);

pub(super) const COMMANDS: &[Command] = &[
    Command::data("expire", -3, WRITE, ONE_KEY, |db, request| {
        let now = db.now_millis();
        expire(db, request, now, 1000, "expire")
    }),
    Command::data("expireat", -3, WRITE, ONE_KEY, |db, request| {
        expire(db, request, 0, 1000, "expireat")
    }),
    Command::data("expiretime", 2, READ, ONE_KEY, |db, request| {
        remaining(db, &request[1], |_, when| seconds(when))
    }),
    Command::data("persist", 2, WRITE, ONE_KEY, persist),
    Command::data("pexpire", -3, WRITE, ONE_KEY, |db, request| {
        let now = db.now_millis();
        expire(db, request, now, 1, "pexpire")
    }),
    Command::data("pexpireat", -3, WRITE, ONE_KEY, |db, request| {
        expire(db, request, 0, 1, "pexpireat")
    }),
    Command::data("pexpiretime", 2, READ, ONE_KEY, |db, request| {
        remaining(db, &request[1], |_, when| when)
    }),
    Command::data("pttl", 2, READ, ONE_KEY, |db, request| {
        remaining(db, &request[1], millis_left)
    }),
    Command::data("ttl", 2, READ, ONE_KEY, |db, request| {
        remaining(db, &request[1], |now, when| seconds(millis_left(now, when)))
    }),
];

#[derive(Default)]
struct Conditions {
    nx: bool,
    xx: bool,
    gt: bool,
    lt: bool,
}

impl Conditions {
    fn parse(words: &[Bytes]) -> Result<Self, Failure> {
        let mut conditions = Conditions::default();
        for word in words {
            let flag = if is(word, "NX") {
                &mut conditions.nx
            } else if is(word, "XX") {
                &mut conditions.xx
            } else if is(word, "GT") {
                &mut conditions.gt
            } else if is(word, "LT") {
                &mut conditions.lt
            } else {
                return Err(Failure(
                    format!("ERR Unsupported option {}", excerpt(word, usize::MAX)).into(),
                ));
            };
            *flag = true;
        }
        let Conditions { nx, xx, gt, lt } = conditions;
        if nx && (xx || gt || lt) {
            return Err(Failure::of(
                "ERR NX and XX, GT or LT options at the same time are not compatible",
            ));
        }
        if gt && lt {
            return Err(Failure::of(
                "ERR GT and LT options at the same time are not compatible",
            ));
        }
        Ok(conditions)
    }

    /// A key without expiry counts as one that never ends: GT never holds, LT always does.
    fn allow(&self, when: i64, current: Option<i64>) -> bool {
        !(self.nx && current.is_some()
            || self.xx && current.is_none()
            || self.gt && current.is_none_or(|current| when <= current)
            || self.lt && current.is_some_and(|current| when >= current))
    }
}

fn expire(
    db: &mut Database,
    request: &[Bytes],
    base: i64,
    unit: i64,
    command: &'static str,
) -> Outcome {
    let key = &request[1];
    let conditions = Conditions::parse(&request[3..])?;
    let when = integer(&request[2])?
        .checked_mul(unit)
        .and_then(|when| when.checked_add(base))
        .ok_or_else(|| Failure::expire_time(command))?;
    let Some(entry) = db.lookup(key) else {
        db.touch(key, Did::Missing);
        return Ok(Reply::Integer(0));
    };
    let current = entry.expires_at;
    if !conditions.allow(when, current) {
        db.touch(key, Did::Refused);
        return Ok(Reply::Integer(0));
    }
    expire_at(db, key, when);
    Ok(Reply::Integer(1))
}

/// Gives a live key that expiry.
pub(super) fn expire_at(db: &mut Database, key: &Bytes, when: i64) {
    // A time that has passed deletes at once, but not while loading: then a later command may prolong it.
    if when <= db.now_millis() && !db.keeps_the_past() {
        db.delete(key);
        db.propagate([&Bytes::from_static(b"DEL"), key]);
    } else {
        db.set_expiry(key, Some(when));
        db.propagate([
            &Bytes::from_static(b"PEXPIREAT"),
            key,
            &when.to_string().into(),
        ]);
    }
}

fn persist(db: &mut Database, request: &[Bytes]) -> Outcome {
    let key = &request[1];
    let did = match db.lookup(key) {
        None => Did::Missing,
        Some(entry) if entry.expires_at.is_none() => Did::Refused,
        Some(_) => {
            db.set_expiry(key, None);
            db.propagate_verbatim(request);
            return Ok(Reply::Integer(1));
        }
    };
    db.touch(key, did);
    Ok(Reply::Integer(0))
}

fn remaining(db: &mut Database, key: &Bytes, show: fn(i64, i64) -> i64) -> Outcome {
    let now = db.now_millis();
    Ok(Reply::Integer(
        match db.inspect(key).map(|entry| entry.expires_at) {
            None => -2,
            Some(None) => -1,
            Some(Some(when)) => show(now, when),
        },
    ))
}

fn millis_left(now: i64, when: i64) -> i64 {
    when.saturating_sub(now).max(0)
}

/// Rounded to the nearest second, as `TTL` does.
fn seconds(millis: i64) -> i64 {
    millis.saturating_add(500) / 1000
}
