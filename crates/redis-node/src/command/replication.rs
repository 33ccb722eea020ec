//! REPLICAOF, ROLE and WAIT; PSYNC and REPLCONF belong on links between nodes.

use bytes::Bytes;

use super::arguments::{integer, is};
use super::{Command, Failure, Flags, Outcome};
use crate::config::Address;
use crate::node::Node;
use crate::{ConnectionId, Reply};

const ADMIN: Flags = Flags::ADMIN.and(Flags::NOSCRIPT);
const ROLE: Flags = Flags::NOSCRIPT
    .and(Flags::LOADING)
    .and(Flags::STALE)
    .and(Flags::FAST);

pub(super) const COMMANDS: &[Command] = &[
    Command::node("psync", -3, ADMIN.and(Flags::NO_MULTI), |_, _, _| {
        Err(ON_LINKS)
    }),
    Command::node(
        "replconf",
        -1,
        ADMIN.and(Flags::LOADING).and(Flags::STALE),
        |_, _, _| Err(ON_LINKS),
    ),
    Command::node("replicaof", 3, ADMIN.and(Flags::STALE), replica_of),
    Command::node("role", 1, ROLE, |node, _, _| Ok(node.replication().role())),
    Command::node("slaveof", 3, ADMIN.and(Flags::STALE), replica_of),
    Command::node("wait", 3, Flags::NOSCRIPT, wait),
];

const ON_LINKS: Failure = Failure::of("ERR replicas are served on links between nodes only");

fn replica_of(node: &mut Node, _: ConnectionId, request: &[Bytes]) -> Outcome {
    let (host, port) = (&request[1], &request[2]);
    if is(host, "NO") && is(port, "ONE") {
        node.promote();
        return Ok(Reply::ok());
    }
    let invalid = Failure::of("ERR Invalid master port");
    let port = integer(port)
        .ok()
        .and_then(|port| u16::try_from(port).ok())
        .ok_or(invalid)?;
    let address = Address::new(String::from_utf8_lossy(host), port);
    if node.replication().primary() == Some(&address) {
        return Ok(Reply::status("OK Already connected to specified master"));
    }
    node.follow(address);
    Ok(Reply::ok())
}

fn wait(node: &mut Node, connection: ConnectionId, request: &[Bytes]) -> Outcome {
    if node.replication().is_replica() {
        return Err(Failure::of(
            "ERR WAIT cannot be used with replica instances. Please also note that since Redis 4.0 if a replica is \
             configured to be writable (which is not the default) writes to replicas are just local and are not \
             propagated.",
        ));
    }
    let replicas = integer(&request[1])?;
    let timeout = timeout_millis(&request[2])?;
    let offset = node.session(connection).written;
    let acknowledged = node.replication().acknowledged(offset);
    let enough = i64::try_from(acknowledged).is_ok_and(|acknowledged| acknowledged >= replicas);
    // A transaction cannot wait.
    if enough || node.is_executing() {
        return Ok(Reply::Integer(super::string::length(acknowledged)));
    }
    node.wait_for_replicas(
        connection,
        offset,
        usize::try_from(replicas).unwrap_or(0),
        timeout,
    );
    node.answer_nothing();
    Ok(Reply::Nil)
}

/// Milliseconds; zero is for ever.
fn timeout_millis(argument: &Bytes) -> Result<u64, Failure> {
    let timeout = integer(argument)
        .map_err(|_| Failure::of("ERR timeout is not an integer or out of range"))?;
    u64::try_from(timeout).map_err(|_| Failure::of("ERR timeout is negative"))
}
