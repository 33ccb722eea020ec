//! Keys as such, whatever they hold: DEL, EXISTS, TYPE and the flushes.

use bytes::Bytes;

use super::arguments::is;
use super::string::length;
use super::{ALL_KEYS, Command, Failure, Flags, NO_KEYS, ONE_KEY, Outcome};
use crate::Reply;
use crate::database::Database;

const READ: Flags = Flags::READONLY.and(Flags::FAST);

pub(super) const COMMANDS: &[Command] = &[
    Command::data("dbsize", 1, READ, NO_KEYS, |db, _| {
        Ok(Reply::Integer(length(db.keys().len())))
    }),
    Command::data("del", -2, Flags::WRITE, ALL_KEYS, delete),
    Command::data("exists", -2, READ, ALL_KEYS, exists),
    Command::data("flushall", -1, Flags::WRITE, NO_KEYS, flush),
    Command::data("flushdb", -1, Flags::WRITE, NO_KEYS, flush),
    Command::data("type", 2, READ, ONE_KEY, |db, request| {
        Ok(Reply::status(
            db.inspect(&request[1])
                .map_or("none", |entry| entry.value.kind()),
        ))
    }),
    Command::data(
        "unlink",
        -2,
        Flags::WRITE.and(Flags::FAST),
        ALL_KEYS,
        delete,
    ),
];

fn delete(db: &mut Database, request: &[Bytes]) -> Outcome {
    let mut deleted = 0;
    for key in &request[1..] {
        if db.delete(key) {
            db.propagate([&Bytes::from_static(b"DEL"), key]);
            deleted += 1;
        }
    }
    Ok(Reply::Integer(deleted))
}

fn exists(db: &mut Database, request: &[Bytes]) -> Outcome {
    let found = request[1..]
        .iter()
        .filter(|key| db.inspect(key).is_some())
        .count();
    Ok(Reply::Integer(length(found)))
}

fn flush(db: &mut Database, request: &[Bytes]) -> Outcome {
    let understood = match &request[1..] {
        [] => true,
        [how] => is(how, "SYNC") || is(how, "ASYNC"),
        _ => false,
    };
    if !understood {
        return Err(Failure::SYNTAX);
    }
    db.clear();
    db.propagate([&Bytes::from_static(b"FLUSHALL")]);
    Ok(Reply::ok())
}
