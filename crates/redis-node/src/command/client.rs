//! CLIENT: names of connections, a list of them, and their end.

use bytes::Bytes;

use super::arguments::{excerpt, is, strict_integer};
use super::connection::{check_name, set_name};
use super::{Command, Failure, Flags, Outcome};
use crate::node::Node;
use crate::session::Session;
use crate::{ConnectionId, Protocol, Reply};

const SESSION: Flags = Flags::NOSCRIPT.and(Flags::LOADING).and(Flags::STALE);
const ADMIN: Flags = SESSION.and(Flags::ADMIN);

pub(super) const COMMANDS: &[Command] = &[Command::container("client", CLIENT)];

const CLIENT: &[Command] = &[
    Command::node("client|getname", 2, SESSION, |node, connection, _| {
        let name = node.session(connection).name.clone();
        Ok(name.map_or(Reply::Nil, Reply::Bulk))
    }),
    Command::node("client|id", 2, SESSION, |node, connection, _| {
        Ok(Reply::Integer(node.session(connection).id))
    }),
    Command::node("client|info", 2, SESSION, |node, connection, _| {
        node.session(connection);
        Ok(Reply::bulk(list(node, |id, _| id == connection)))
    }),
    Command::node("client|kill", -3, ADMIN, kill),
    Command::node("client|list", -2, ADMIN, list_clients),
    Command::node("client|no-evict", 3, ADMIN, no_evict),
    Command::node("client|setinfo", 4, SESSION, set_info),
    Command::node("client|setname", 3, SESSION, |node, connection, request| {
        set_name(node, connection, &request[2])?;
        Ok(Reply::ok())
    }),
];

fn no_evict(node: &mut Node, connection: ConnectionId, request: &[Bytes]) -> Outcome {
    let session = node.session(connection);
    if is(&request[2], "ON") {
        session.no_evict = true;
    } else if is(&request[2], "OFF") {
        session.no_evict = false;
    } else {
        return Err(Failure::SYNTAX);
    }
    Ok(Reply::ok())
}

/// Redis 7.2's, since current client libraries send it on every connect.
fn set_info(_: &mut Node, _: ConnectionId, request: &[Bytes]) -> Outcome {
    let attribute = &request[2];
    let shown = excerpt(attribute, usize::MAX);
    if !is(attribute, "LIB-NAME") && !is(attribute, "LIB-VER") {
        return Err(Failure(format!("ERR Unrecognized option '{shown}'").into()));
    }
    if check_name(&request[3]).is_err() {
        let text = format!("ERR {shown} cannot contain spaces, newlines or special characters.");
        return Err(Failure(text.into()));
    }
    Ok(Reply::ok())
}

/// What Redis tells clients apart by.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Normal,
    Master,
    Replica,
    Pubsub,
}

impl Kind {
    fn parse(word: &Bytes) -> Result<Kind, Failure> {
        let kinds = [
            ("normal", Kind::Normal),
            ("slave", Kind::Replica),
            ("replica", Kind::Replica),
            ("pubsub", Kind::Pubsub),
            ("master", Kind::Master),
        ];
        let found = kinds.into_iter().find(|(name, _)| is(word, name));
        found.map(|(_, kind)| kind).ok_or_else(|| {
            let word = excerpt(word, usize::MAX);
            Failure(format!("ERR Unknown client type '{word}'").into())
        })
    }

    fn of(node: &Node, connection: ConnectionId) -> Kind {
        if node.data().channels().is_subscriber(connection) {
            Kind::Pubsub
        } else {
            Kind::Normal
        }
    }
}

fn list_clients(node: &mut Node, connection: ConnectionId, request: &[Bytes]) -> Outcome {
    node.session(connection);
    let shown = match &request[2..] {
        [] => list(node, |_, _| true),
        [option, kind] if is(option, "TYPE") => {
            let kind = Kind::parse(kind)?;
            list(node, |id, _| Kind::of(node, id) == kind)
        }
        [option, ids @ ..] if is(option, "ID") && !ids.is_empty() => {
            let wrong = Failure::of("ERR Invalid client ID");
            let ids: Option<Vec<i64>> = ids.iter().map(|id| strict_integer(id)).collect();
            let ids = ids.ok_or(wrong)?;
            // In the order asked for, as often as asked for.
            let line = |id: &i64| list(node, |_, session| session.id == *id);
            ids.iter().map(line).collect()
        }
        _ => return Err(Failure::SYNTAX),
    };
    Ok(Reply::bulk(shown))
}

fn list(node: &Node, wanted: impl Fn(ConnectionId, &Session) -> bool) -> String {
    let sessions = node.sessions().iter();
    sessions
        .filter(|(id, session)| wanted(**id, session))
        .map(|(id, session)| line(node, *id, session))
        .collect()
}

/// The node knows connections, not addresses: the port is the connection's number.
fn address(connection: ConnectionId) -> String {
    format!("127.0.0.1:{}", connection.0)
}

fn line(node: &Node, connection: ConnectionId, session: &Session) -> String {
    let name = session
        .name
        .as_deref()
        .map(String::from_utf8_lossy)
        .unwrap_or_default();
    let now = node.data().now().as_millis();
    let seconds = |since: crate::UnixTime| now.saturating_sub(since.as_millis()) / 1000;
    let (sub, psub) = node.data().channels().counts_of(connection);
    let multi = session
        .transaction
        .as_ref()
        .map(|transaction| transaction.queued.len());
    let multi = multi.map_or("-1".to_owned(), |queued| queued.to_string());
    let resp = match session.protocol {
        Protocol::Resp2 => 2,
        Protocol::Resp3 => 3,
    };
    format!(
        "id={} addr={} laddr=127.0.0.1:6379 fd=8 name={name} age={} idle={} flags={} db=0 sub={sub} psub={psub} \
         ssub=0 multi={multi} qbuf=0 qbuf-free=0 argv-mem=0 multi-mem={} rbs=0 rbp=0 obl=0 oll=0 omem=0 tot-mem=0 \
         events=r cmd={} user=default redir=-1 resp={resp}\n",
        session.id,
        address(connection),
        seconds(session.since),
        seconds(session.last),
        flags(session, sub + psub > 0),
        session
            .transaction
            .as_ref()
            .map_or(0, |transaction| transaction.bytes),
        session.command,
    )
}

fn flags(session: &Session, subscribed: bool) -> String {
    let flags = [
        (subscribed, 'P'),
        (session.transaction.is_some(), 'x'),
        (session.no_evict, 'e'),
    ];
    let set: String = flags
        .iter()
        .filter(|(set, _)| *set)
        .map(|(_, flag)| flag)
        .collect();
    if set.is_empty() { "N".to_owned() } else { set }
}

/// Which connections `CLIENT KILL` ends: all conditions have to hold.
#[derive(Default)]
struct Filter {
    id: Option<i64>,
    kind: Option<Kind>,
    address: Option<Bytes>,
    local: Option<Bytes>,
    spare_own: bool,
}

impl Filter {
    fn parse(options: &[Bytes]) -> Result<Filter, Failure> {
        let mut filter = Filter {
            spare_own: true,
            ..Filter::default()
        };
        for pair in options.chunks(2) {
            let [option, value] = pair else {
                return Err(Failure::SYNTAX);
            };
            if is(option, "ID") {
                let id = strict_integer(value).filter(|id| *id > 0);
                filter.id = Some(id.ok_or(Failure::of("ERR client-id should be greater than 0"))?);
            } else if is(option, "TYPE") {
                filter.kind = Some(Kind::parse(value)?);
            } else if is(option, "ADDR") {
                filter.address = Some(value.clone());
            } else if is(option, "LADDR") {
                filter.local = Some(value.clone());
            } else if is(option, "USER") {
                check_user(value)?;
            } else if is(option, "SKIPME") && (is(value, "yes") || is(value, "no")) {
                filter.spare_own = is(value, "yes");
            } else {
                return Err(Failure::SYNTAX);
            }
        }
        Ok(filter)
    }

    fn takes(&self, node: &Node, connection: ConnectionId, session: &Session) -> bool {
        self.id.is_none_or(|id| id == session.id)
            && self
                .kind
                .is_none_or(|kind| kind == Kind::of(node, connection))
            && self
                .address
                .as_ref()
                .is_none_or(|wanted| *wanted == address(connection))
            && self
                .local
                .as_ref()
                .is_none_or(|wanted| *wanted == "127.0.0.1:6379")
    }
}

fn check_user(user: &Bytes) -> Result<(), Failure> {
    if user == "default" {
        return Ok(());
    }
    let user = excerpt(user, usize::MAX);
    Err(Failure(format!("ERR No such user '{user}'").into()))
}

fn kill(node: &mut Node, connection: ConnectionId, request: &[Bytes]) -> Outcome {
    let old_form = request.len() == 3;
    let filter = if old_form {
        Filter {
            address: Some(request[2].clone()),
            ..Filter::default()
        }
    } else {
        Filter::parse(&request[2..])?
    };
    node.session(connection);
    let all = node.sessions().iter();
    let victims: Vec<ConnectionId> = all
        .filter(|(id, _)| !(filter.spare_own && **id == connection))
        .filter(|(id, session)| filter.takes(node, **id, session))
        .map(|(id, _)| *id)
        .collect();
    for victim in &victims {
        if *victim == connection {
            node.close_after_reply();
        } else {
            node.close_other(*victim);
        }
    }
    match (old_form, victims.len()) {
        (true, 0) => Err(Failure::of("ERR No such client")),
        (true, _) => Ok(Reply::ok()),
        (false, killed) => Ok(Reply::Integer(super::string::length(killed))),
    }
}
