//! Hashes, as far as locks that count their holders need them.

use std::collections::BTreeSet;
use std::sync::Arc;

use bytes::Bytes;

use super::arguments::{integer, strict_integer};
use super::string::length;
use super::{Command, Failure, Flags, ONE_KEY, Outcome};
use crate::database::{Database, Expiry};
use crate::fields::Fields;
use crate::keyspace::Value;
use crate::{Did, Reply};

const READ: Flags = Flags::READONLY.and(Flags::FAST);
const WRITE: Flags = Flags::WRITE.and(Flags::DENYOOM).and(Flags::FAST);

pub(super) const COMMANDS: &[Command] = &[
    Command::data("hdel", -3, Flags::WRITE.and(Flags::FAST), ONE_KEY, hdel),
    Command::data("hexists", 3, READ, ONE_KEY, |db, request| {
        let found = field(db, &request[1], &request[2])?.is_some();
        Ok(Reply::Integer(i64::from(found)))
    }),
    Command::data("hget", 3, READ, ONE_KEY, |db, request| {
        Ok(field(db, &request[1], &request[2])?.map_or(Reply::Nil, Reply::Bulk))
    }),
    Command::data("hgetall", 2, Flags::READONLY, ONE_KEY, hgetall),
    Command::data("hincrby", 4, WRITE, ONE_KEY, hincrby),
    Command::data("hlen", 2, READ, ONE_KEY, |db, request| {
        Ok(Reply::Integer(
            read(db, &request[1])?.map_or(0, |fields| length(fields.len())),
        ))
    }),
    Command::data("hmget", -3, READ, ONE_KEY, |db, request| {
        let fields = read(db, &request[1])?;
        let value = |field| fields.and_then(|fields| fields.get(field).cloned());
        let values = request[2..]
            .iter()
            .map(|field| value(field).map_or(Reply::Nil, Reply::Bulk));
        Ok(Reply::Array(values.collect()))
    }),
    Command::data("hset", -4, WRITE, ONE_KEY, hset),
    Command::data("hsetnx", 4, WRITE, ONE_KEY, hsetnx),
];

fn read<'a>(db: &'a mut Database, key: &Bytes) -> Result<Option<&'a Fields>, Failure> {
    match db.read(key).map(|entry| &entry.value) {
        None => Ok(None),
        Some(Value::Hash(fields)) => Ok(Some(fields)),
        Some(_) => Err(Failure::WRONG_TYPE),
    }
}

fn field(db: &mut Database, key: &Bytes, field: &Bytes) -> Result<Option<Bytes>, Failure> {
    Ok(read(db, key)?.and_then(|fields| fields.get(field).cloned()))
}

fn hgetall(db: &mut Database, request: &[Bytes]) -> Outcome {
    let fields = read(db, &request[1])?
        .into_iter()
        .flat_map(|fields| fields.iter());
    Ok(Reply::Map(
        fields
            .map(|(field, value)| (Reply::Bulk(field.clone()), Reply::Bulk(value.clone())))
            .collect(),
    ))
}

/// The hash that a write is about to change; a wrong type counts as a refusal.
fn to_change<'a>(db: &'a mut Database, key: &Bytes) -> Result<Option<&'a Fields>, Failure> {
    if !matches!(
        db.lookup(key).map(|entry| &entry.value),
        None | Some(Value::Hash(_))
    ) {
        db.touch(key, Did::Refused);
        return Err(Failure::WRONG_TYPE);
    }
    match db.keys().get(key).map(|entry| &entry.value) {
        Some(Value::Hash(fields)) => Ok(Some(fields)),
        _ => Ok(None),
    }
}

fn store(db: &mut Database, key: &Bytes, pairs: &[Bytes]) {
    let pairs = pairs
        .chunks_exact(2)
        .map(|pair| (pair[0].clone(), pair[1].clone()));
    if db.keys().get(key).is_none() {
        return db.set(key, Value::Hash(Arc::new(pairs.collect())), Expiry::Clear);
    }
    db.update(key, |value| {
        if let Value::Hash(fields) = value {
            let fields = Arc::make_mut(fields);
            pairs.for_each(|(field, value)| fields.insert(field, value));
        }
    });
}

fn hset(db: &mut Database, request: &[Bytes]) -> Outcome {
    if !request.len().is_multiple_of(2) {
        return Err(Failure::wrong_arguments("hset"));
    }
    let before = to_change(db, &request[1])?.map_or(0, |fields| fields.len());
    store(db, &request[1], &request[2..]);
    db.propagate_verbatim(request);
    let after = to_change(db, &request[1])?.map_or(0, |fields| fields.len());
    Ok(Reply::Integer(length(after - before)))
}

fn hsetnx(db: &mut Database, request: &[Bytes]) -> Outcome {
    if to_change(db, &request[1])?.is_some_and(|fields| fields.contains_key(&request[2])) {
        db.touch(&request[1], Did::Refused);
        return Ok(Reply::Integer(0));
    }
    store(db, &request[1], &request[2..]);
    db.propagate_verbatim(request);
    Ok(Reply::Integer(1))
}

fn hincrby(db: &mut Database, request: &[Bytes]) -> Outcome {
    let key = &request[1];
    let amount = integer(&request[3])?;
    let old = to_change(db, key)?.and_then(|fields| fields.get(&request[2]).cloned());
    let sum = match &old {
        None => Ok(amount),
        Some(bytes) => strict_integer(bytes)
            .ok_or(Failure::of("ERR hash value is not an integer"))
            .and_then(|number| {
                number
                    .checked_add(amount)
                    .ok_or(Failure::of("ERR increment or decrement would overflow"))
            }),
    };
    let sum = sum.inspect_err(|_| db.touch(key, Did::Refused))?;
    store(db, key, &[request[2].clone(), sum.to_string().into()]);
    db.propagate_verbatim(request);
    Ok(Reply::Integer(sum))
}

fn hdel(db: &mut Database, request: &[Bytes]) -> Outcome {
    let (key, names) = (&request[1], &request[2..]);
    let Some(fields) = to_change(db, key)? else {
        db.touch(key, Did::Missing);
        return Ok(Reply::Integer(0));
    };
    let left = fields.len();
    let names: BTreeSet<&Bytes> = names
        .iter()
        .filter(|name| fields.contains_key(*name))
        .collect();
    if names.is_empty() {
        db.touch(key, Did::Read);
        return Ok(Reply::Integer(0));
    }
    // A hash without fields does not exist.
    if names.len() == left {
        db.delete(key);
    } else {
        db.update(key, |value| {
            if let Value::Hash(fields) = value {
                let fields = Arc::make_mut(fields);
                names.iter().for_each(|name| fields.remove(name));
            }
        });
    }
    db.propagate_verbatim(request);
    Ok(Reply::Integer(length(names.len())))
}
