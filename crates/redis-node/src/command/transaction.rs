//! MULTI, EXEC, DISCARD, WATCH, UNWATCH: commands that run as one unit, or not at all.

use bytes::Bytes;

use super::{ALL_KEYS, Command, Failure, Flags, Outcome, Run};
use crate::node::Node;
use crate::session::Transaction;
use crate::{ConnectionId, Reply};

const SESSION: Flags = Flags::NOSCRIPT.and(Flags::LOADING).and(Flags::STALE);
const FAST: Flags = SESSION.and(Flags::FAST);

pub(super) const COMMANDS: &[Command] = &[
    Command::node("discard", 1, FAST, discard),
    Command::node("exec", 1, SESSION, exec),
    Command::node("multi", 1, FAST, multi),
    Command::node("unwatch", 1, FAST, |node, connection, _| {
        node.unwatch(connection);
        Ok(Reply::ok())
    }),
    Command {
        name: "watch",
        arity: -2,
        flags: FAST,
        keys: ALL_KEYS,
        run: Run::Node(watch),
    },
];

/// Whether a command takes effect at once inside MULTI instead of being queued.
pub(crate) fn is_immediate(command: &Command) -> bool {
    matches!(
        command.name,
        "exec" | "discard" | "multi" | "watch" | "quit" | "reset"
    )
}

fn multi(node: &mut Node, connection: ConnectionId, _: &[Bytes]) -> Outcome {
    let transaction = &mut node.session(connection).transaction;
    if transaction.is_some() {
        return Err(Failure::of("ERR MULTI calls can not be nested"));
    }
    *transaction = Some(Transaction::default());
    Ok(Reply::ok())
}

fn discard(node: &mut Node, connection: ConnectionId, _: &[Bytes]) -> Outcome {
    if node.session(connection).transaction.take().is_none() {
        return Err(Failure::of("ERR DISCARD without MULTI"));
    }
    node.unwatch(connection);
    Ok(Reply::ok())
}

fn exec(node: &mut Node, connection: ConnectionId, _: &[Bytes]) -> Outcome {
    let Some(transaction) = node.session(connection).transaction.take() else {
        return Err(Failure::of("ERR EXEC without MULTI"));
    };
    let changed = node.unwatch(connection);
    if transaction.broken {
        return Err(Failure::of(
            "EXECABORT Transaction discarded because of previous errors.",
        ));
    }
    if changed {
        return Ok(Reply::NilArray);
    }
    Ok(node.execute_all(connection, &transaction.queued))
}

fn watch(node: &mut Node, connection: ConnectionId, request: &[Bytes]) -> Outcome {
    if node.session(connection).transaction.is_some() {
        return Err(Failure::of("ERR WATCH inside MULTI is not allowed"));
    }
    for key in &request[1..] {
        node.watch(connection, key);
    }
    Ok(Reply::ok())
}
