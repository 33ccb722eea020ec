//! SUBSCRIBE and its relatives, PUBLISH, PUBSUB.

use bytes::Bytes;

use super::string::length;
use super::{Command, Failure, Flags, NO_KEYS, Outcome};
use crate::channels::Kind;
use crate::database::Database;
use crate::node::Node;
use crate::{ConnectionId, Reply, glob};

const ANYTIME: Flags = Flags::PUBSUB.and(Flags::LOADING).and(Flags::STALE);
const SUBSCRIBE: Flags = ANYTIME.and(Flags::NOSCRIPT);
const PUBLISH: Flags = ANYTIME.and(Flags::FAST);

pub(super) const COMMANDS: &[Command] = &[
    Command::node("psubscribe", -2, SUBSCRIBE, |node, connection, request| {
        subscribe(node, connection, Kind::Pattern, &request[1..])
    }),
    Command::data("publish", 3, PUBLISH, NO_KEYS, publish),
    Command::container("pubsub", PUBSUB),
    Command::node(
        "punsubscribe",
        -1,
        SUBSCRIBE,
        |node, connection, request| unsubscribe(node, connection, Kind::Pattern, &request[1..]),
    ),
    Command::node("subscribe", -2, SUBSCRIBE, |node, connection, request| {
        subscribe(node, connection, Kind::Channel, &request[1..])
    }),
    Command::node("unsubscribe", -1, SUBSCRIBE, |node, connection, request| {
        unsubscribe(node, connection, Kind::Channel, &request[1..])
    }),
];

const PUBSUB: &[Command] = &[
    Command::data("pubsub|channels", -2, ANYTIME, NO_KEYS, channels),
    Command::data("pubsub|numpat", 2, ANYTIME, NO_KEYS, |db, _| {
        Ok(Reply::Integer(length(db.channels().patterns())))
    }),
    Command::data("pubsub|numsub", -2, ANYTIME, NO_KEYS, |db, request| {
        let counted = request[2..].iter().flat_map(|channel| {
            let listeners = db.channels().listeners_of(channel);
            [
                Reply::Bulk(channel.clone()),
                Reply::Integer(length(listeners)),
            ]
        });
        Ok(Reply::Array(counted.collect()))
    }),
];

fn publish(db: &mut Database, request: &[Bytes]) -> Outcome {
    let receivers = db.channels_mut().publish(&request[1], &request[2]);
    // For those who listen to a replica.
    db.propagate_verbatim(request);
    Ok(Reply::Integer(length(receivers)))
}

fn channels(db: &mut Database, request: &[Bytes]) -> Outcome {
    let pattern = match &request[2..] {
        [] => None,
        [pattern] => Some(pattern),
        _ => return Err(Failure::subcommand("CHANNELS", "PUBSUB")),
    };
    let active = db.channels().active();
    let shown = active.filter(|name| pattern.is_none_or(|pattern| glob::matches(pattern, name)));
    Ok(Reply::Array(shown.cloned().map(Reply::Bulk).collect()))
}

fn subscribe(node: &mut Node, connection: ConnectionId, kind: Kind, names: &[Bytes]) -> Outcome {
    let word = match kind {
        Kind::Channel => "subscribe",
        Kind::Pattern => "psubscribe",
    };
    let mut answers = Answers {
        node,
        connection,
        last: None,
    };
    for name in names {
        answers
            .node
            .database()
            .channels_mut()
            .subscribe(connection, kind, name);
        answers.add(word, Some(name));
    }
    Ok(answers.last.unwrap_or(Reply::Nil))
}

fn unsubscribe(node: &mut Node, connection: ConnectionId, kind: Kind, names: &[Bytes]) -> Outcome {
    let word = match kind {
        Kind::Channel => "unsubscribe",
        Kind::Pattern => "punsubscribe",
    };
    let all = node.database().channels().names_of(connection, kind);
    let names = if names.is_empty() { &all } else { names };
    let mut answers = Answers {
        node,
        connection,
        last: None,
    };
    for name in names {
        answers
            .node
            .database()
            .channels_mut()
            .unsubscribe(connection, kind, name);
        answers.add(word, Some(name));
    }
    if names.is_empty() {
        answers.add(word, None);
    }
    Ok(answers.last.unwrap_or(Reply::Nil))
}

/// One push for each name. All but the last go out before what counts as the command's reply, the last.
struct Answers<'a> {
    node: &'a mut Node,
    connection: ConnectionId,
    last: Option<Reply>,
}

impl Answers<'_> {
    fn add(&mut self, word: &'static str, name: Option<&Bytes>) {
        let channels = self.node.database().channels_mut();
        let (by_name, by_pattern) = channels.counts_of(self.connection);
        let push = Reply::Push(vec![
            Reply::bulk(Bytes::from_static(word.as_bytes())),
            name.cloned().map_or(Reply::Nil, Reply::Bulk),
            Reply::Integer(length(by_name + by_pattern)),
        ]);
        if let Some(earlier) = self.last.replace(push) {
            channels.send(self.connection, earlier);
        }
    }
}
