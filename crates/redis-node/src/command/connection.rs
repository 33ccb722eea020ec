//! The connection itself: greeting, names, protocol, and the way out.

use bytes::Bytes;

use super::arguments::{excerpt, is, strict_integer};
use super::{Command, Failure, Flags, NO_KEYS, Outcome};
use crate::database::Database;
use crate::node::{Node, REDIS_VERSION};
use crate::{ConnectionId, Protocol, Reply};

const ALWAYS: Flags = Flags::LOADING.and(Flags::STALE);
const SESSION: Flags = ALWAYS.and(Flags::NOSCRIPT);
const OPEN: Flags = SESSION.and(Flags::FAST).and(Flags::NO_AUTH);

pub(super) const COMMANDS: &[Command] = &[
    Command::node("auth", -2, OPEN, auth),
    Command::data("echo", 2, ALWAYS.and(Flags::FAST), NO_KEYS, |_, request| {
        Ok(Reply::Bulk(request[1].clone()))
    }),
    Command::node("hello", -1, OPEN, hello),
    Command::data("ping", -1, Flags::FAST, NO_KEYS, ping),
    Command::node("quit", -1, OPEN, |node, _, _| {
        node.close_after_reply();
        Ok(Reply::ok())
    }),
    Command::node("reset", 1, OPEN, |node, connection, _| {
        node.reset(connection);
        Ok(Reply::status("RESET"))
    }),
    Command::data("select", 2, ALWAYS.and(Flags::FAST), NO_KEYS, select),
];

fn ping(_: &mut Database, request: &[Bytes]) -> Outcome {
    match request {
        [_] => Ok(Reply::status("PONG")),
        [_, message] => Ok(Reply::Bulk(message.clone())),
        _ => Err(Failure::wrong_arguments("ping")),
    }
}

/// The reply to PING on a connection that RESP2 keeps for messages.
pub(crate) fn pong(reply: Reply) -> Reply {
    let message = match reply {
        Reply::Status(_) => Reply::bulk(Bytes::new()),
        Reply::Bulk(message) => Reply::Bulk(message),
        other => return other,
    };
    Reply::Array(vec![Reply::bulk(Bytes::from_static(b"pong")), message])
}

/// One database is modelled; Redis's default configuration has sixteen.
fn select(_: &mut Database, request: &[Bytes]) -> Outcome {
    match super::arguments::integer(&request[1])? {
        0 => Ok(Reply::ok()),
        _ => Err(Failure::of("ERR DB index is out of range")),
    }
}

fn hello(node: &mut Node, connection: ConnectionId, request: &[Bytes]) -> Outcome {
    let mut protocol = node.session(connection).protocol;
    if let Some(version) = request.get(1) {
        protocol = match strict_integer(version) {
            Some(2) => Protocol::Resp2,
            Some(3) => Protocol::Resp3,
            Some(_) => return Err(Failure::of("NOPROTO unsupported protocol version")),
            None => {
                return Err(Failure::of(
                    "ERR Protocol version is not an integer or out of range",
                ));
            }
        };
    }
    let mut rest = request.get(2..).unwrap_or_default();
    let mut name = None;
    while let Some((word, values)) = rest.split_first() {
        rest = match values {
            [user, _password, rest @ ..] if is(word, "AUTH") => {
                authenticate(user)?;
                rest
            }
            [chosen, rest @ ..] if is(word, "SETNAME") => {
                check_name(chosen)?;
                name = Some(chosen);
                rest
            }
            _ => {
                let word = excerpt(word, usize::MAX);
                return Err(Failure(
                    format!("ERR Syntax error in HELLO option '{word}'").into(),
                ));
            }
        };
    }
    if let Some(name) = name {
        set_name(node, connection, name)?;
    }
    let role = if node.replication().is_replica() {
        "replica"
    } else {
        "master"
    };
    let session = node.session(connection);
    session.protocol = protocol;
    let text = |text: &'static str| Reply::Bulk(Bytes::from_static(text.as_bytes()));
    Ok(Reply::Map(vec![
        (text("server"), text("redis")),
        (text("version"), text(REDIS_VERSION)),
        (
            text("proto"),
            Reply::Integer(if protocol == Protocol::Resp2 { 2 } else { 3 }),
        ),
        (text("id"), Reply::Integer(session.id)),
        (text("mode"), text("standalone")),
        (text("role"), text(role)),
        (text("modules"), Reply::Array(Vec::new())),
    ]))
}

/// Without a configured password the default user may give any, and there is no other user.
fn authenticate(user: &Bytes) -> Result<(), Failure> {
    if user == "default" {
        return Ok(());
    }
    Err(Failure::of(
        "WRONGPASS invalid username-password pair or user is disabled.",
    ))
}

fn auth(_: &mut Node, _: ConnectionId, request: &[Bytes]) -> Outcome {
    match request {
        [_, _password] => Err(Failure::of(
            "ERR AUTH <password> called without any password configured for the default user. \
             Are you sure your configuration is correct?",
        )),
        [_, user, _password] => authenticate(user).map(|()| Reply::ok()),
        _ => Err(Failure::SYNTAX),
    }
}

pub(super) fn check_name(name: &Bytes) -> Result<(), Failure> {
    if name.iter().all(|byte| (b'!'..=b'~').contains(byte)) {
        return Ok(());
    }
    Err(Failure::of(
        "ERR Client names cannot contain spaces, newlines or special characters.",
    ))
}

pub(super) fn set_name(
    node: &mut Node,
    connection: ConnectionId,
    name: &Bytes,
) -> Result<(), Failure> {
    check_name(name)?;
    node.session(connection).name = Some(name.clone()).filter(|name| !name.is_empty());
    Ok(())
}
