//! Connections of the event engine: who waits for which reply.

use std::cell::RefCell;
use std::collections::{BTreeMap, VecDeque};
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use bytes::{Bytes, BytesMut};
use fencepost_checker::Time;
use redis::{Arg, Cmd, Pipeline, RedisError, RedisFuture, RedisResult, Value};
use redis_node::{LinkId, Protocol, Reply};

use super::message::{Message, Payload};
use crate::connection::{Connection, Transport};
use crate::core::{Core, Process, with};
use crate::engine::Connecting;
use crate::host::Host;
use crate::queue::Slab;

/// A client's end of a connection.
#[derive(Clone)]
pub(crate) struct EventConnection(Arc<Handle>);

/// Closes the connection with the last clone.
struct Handle(u64);

impl Drop for Handle {
    fn drop(&mut self) {
        Core::if_running(|core| core.engine.send_from_client(core, self.0, Payload::Close));
    }
}

impl EventConnection {
    pub(crate) fn request<'a>(&'a self, cmd: &'a Cmd) -> RedisFuture<'a, Value> {
        Box::pin(async move { ask(self.0.0, arguments(cmd)).await })
    }

    pub(crate) fn requests<'a>(
        &'a self,
        pipeline: &'a Pipeline,
        offset: usize,
        count: usize,
    ) -> RedisFuture<'a, Vec<Value>> {
        Box::pin(async move {
            // All are sent before the first reply is awaited.
            let asked: Vec<Asked> = pipeline
                .cmd_iter()
                .map(|cmd| ask(self.0.0, arguments(cmd)))
                .collect();
            let mut values = Vec::with_capacity(count);
            for (index, asked) in asked.into_iter().enumerate() {
                let value = asked.await;
                if (offset..offset + count).contains(&index) {
                    values.push(value?);
                }
            }
            Ok(values)
        })
    }
}

/// The arguments of a command, as slices of one buffer.
fn arguments(cmd: &Cmd) -> Vec<Bytes> {
    let parts = || {
        cmd.args_iter().map(|arg| match arg {
            Arg::Simple(bytes) => bytes,
            // Only iterators over SCAN use cursors, and they begin at 0.
            _ => b"0",
        })
    };
    let mut buffer = BytesMut::with_capacity(parts().map(<[u8]>::len).sum());
    parts().for_each(|part| buffer.extend_from_slice(part));
    let mut buffer = buffer.freeze();
    parts().map(|part| buffer.split_to(part.len())).collect()
}

/// Sends a request now; the future is its reply.
fn ask(connection: u64, arguments: Vec<Bytes>) -> Asked {
    with(|core| {
        let Some(connections) = core.engine.event_connections() else {
            return Asked::Failed;
        };
        match connections.expect_reply(connection) {
            Some(slot) => {
                core.engine
                    .send_from_client(core, connection, Payload::Request { arguments });
                Asked::Waiting(slot)
            }
            None => Asked::Failed,
        }
    })
}

/// A reply that is waited for.
enum Asked {
    Waiting(usize),
    /// The connection was closed when the request was made.
    Failed,
    Taken,
}

impl Future for Asked {
    type Output = RedisResult<Value>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        match *self {
            Self::Failed => Poll::Ready(Err(closed())),
            Self::Taken => Poll::Pending,
            Self::Waiting(slot) => {
                let answer = with(|core| core.engine.event_connections()?.take(slot, cx.waker()));
                match answer {
                    None => Poll::Pending,
                    Some(answer) => {
                        *self = Self::Taken;
                        Poll::Ready(answer.and_then(value))
                    }
                }
            }
        }
    }
}

impl Drop for Asked {
    fn drop(&mut self) {
        if let Self::Waiting(slot) = *self {
            Core::if_running(|core| {
                if let Some(connections) = core.engine.event_connections() {
                    connections.abandon(slot);
                }
            });
        }
    }
}

/// A reply as redis-rs would have read it.
fn value(reply: Reply) -> RedisResult<Value> {
    Ok(match reply {
        Reply::Status(text) if &*text == b"OK" => Value::Okay,
        Reply::Status(text) => Value::SimpleString(String::from_utf8_lossy(&text).into_owned()),
        Reply::Integer(number) => Value::Int(number),
        Reply::Bulk(bytes) => Value::BulkString(bytes.into()),
        Reply::Nil | Reply::NilArray => Value::Nil,
        Reply::Boolean(truth) => Value::Boolean(truth),
        // The rare ones take the way of the wire, so that there is one rule for them.
        reply @ (Reply::Error(_)
        | Reply::Array(_)
        | Reply::Map(_)
        | Reply::Push(_)
        | Reply::Double(_)) => {
            let mut bytes = BytesMut::new();
            reply.encode(Protocol::Resp2, &mut bytes);
            return redis::parse_redis_value(&bytes)?.extract_error();
        }
    })
}

pub(super) fn closed() -> RedisError {
    io::Error::new(io::ErrorKind::ConnectionReset, "the connection was closed").into()
}

pub(super) fn refused() -> RedisError {
    io::Error::new(io::ErrorKind::ConnectionRefused, "connection refused").into()
}

struct State {
    client: Host,
    server: Host,
    /// For a link between servers: what the one that asked for it calls it, and its process.
    link: Option<(LinkId, u64)>,
    /// The server's process that accepted the connection, while that end is open.
    accepted: Option<u64>,
    /// Whether the client's end is open.
    open: bool,
    /// Who waits for replies, in the order of the requests.
    waiting: VecDeque<usize>,
    /// When the latest message of each direction arrives; the next one does not arrive before.
    last_to_server: Time,
    last_to_client: Time,
}

enum Slot {
    Waiting(Option<Waker>),
    Answered(RedisResult<Reply>),
    /// Nobody waits for the reply any more, but it is still to come.
    Abandoned,
}

/// All connections of a world.
#[derive(Default)]
pub(crate) struct Connections {
    states: RefCell<BTreeMap<u64, State>>,
    slots: RefCell<Slab<Slot>>,
}

impl Connections {
    /// Opens a connection; returns the client's future and the message that asks the server.
    pub(super) fn open(
        &self,
        core: &Core,
        id: u64,
        client: Host,
        server: Host,
    ) -> (Connecting, Message) {
        let slot = self.slots.borrow_mut().insert(Slot::Waiting(None));
        let connect = self.add(core, id, client, server, None);
        if let Some(state) = self.states.borrow_mut().get_mut(&id) {
            state.waiting.push_back(slot);
        }
        let handle = EventConnection(Arc::new(Handle(id)));
        let connecting = async move {
            Asked::Waiting(slot).await?;
            Ok(Connection(Transport::Event(handle)))
        };
        (Box::pin(connecting), connect)
    }

    /// Opens a link between two servers; returns the message that asks the other one.
    pub(super) fn open_link(
        &self,
        core: &Core,
        id: u64,
        from: Host,
        to: Host,
        link: LinkId,
    ) -> Message {
        self.add(
            core,
            id,
            from,
            to,
            Some((link, core.executor.process(from))),
        )
    }

    fn add(
        &self,
        core: &Core,
        id: u64,
        client: Host,
        server: Host,
        link: Option<(LinkId, u64)>,
    ) -> Message {
        let state = State {
            client,
            server,
            link,
            accepted: None,
            open: true,
            waiting: VecDeque::new(),
            last_to_server: core.now(),
            last_to_client: core.now(),
        };
        self.states.borrow_mut().insert(id, state);
        Message {
            connection: id,
            from: client,
            to: server,
            drops: 0,
            payload: Payload::Connect,
        }
    }

    // ---- links between servers ----

    /// What the host calls the link, if the connection is a link that is open at its end.
    pub(super) fn link_at(&self, core: &Core, id: u64, host: Host) -> Option<LinkId> {
        let states = self.states.borrow();
        let state = states.get(&id)?;
        let (link, process) = state.link?;
        if host == state.client {
            (state.open && process == core.executor.process(host)).then_some(link)
        } else {
            (state.accepted == Some(core.executor.process(host))).then_some(LinkId::Incoming(id))
        }
    }

    pub(super) fn is_link(&self, id: u64) -> bool {
        self.states
            .borrow()
            .get(&id)
            .is_some_and(|state| state.link.is_some())
    }

    /// The connection that a host calls so.
    pub(super) fn of_link(&self, core: &Core, host: Host, link: LinkId) -> Option<u64> {
        if let LinkId::Incoming(id) = link {
            return Some(id);
        }
        let process = core.executor.process(host);
        let states = self.states.borrow();
        let own = |state: &State| state.client == host && state.link == Some((link, process));
        states
            .iter()
            .find(|(_, state)| own(state))
            .map(|(id, _)| *id)
    }

    /// A message from one end of a link to the other, if that end is open.
    pub(super) fn on_link(
        &self,
        core: &Core,
        id: u64,
        from: Host,
        bytes: Bytes,
    ) -> Option<Message> {
        self.link_at(core, id, from)?;
        let states = self.states.borrow();
        let state = states.get(&id)?;
        let (to, payload) = if from == state.client {
            (state.server, Payload::Up { bytes })
        } else {
            (state.client, Payload::Down { bytes })
        };
        Some(Message {
            connection: id,
            from,
            to,
            drops: 0,
            payload,
        })
    }

    /// One end of a link is closed; returns what tells the other, if this end was open.
    pub(super) fn close_link(&self, core: &Core, id: u64, host: Host) -> Option<Message> {
        self.link_at(core, id, host)?;
        let message = {
            let mut states = self.states.borrow_mut();
            let state = states.get_mut(&id)?;
            let (to, payload) = if host == state.client {
                state.open = false;
                (state.server, Payload::Close)
            } else {
                state.accepted = None;
                (state.client, Payload::Closed)
            };
            Message {
                connection: id,
                from: host,
                to,
                drops: 0,
                payload,
            }
        };
        self.forget_if_closed(id);
        Some(message)
    }

    /// The links that a host whose process ended had asked for.
    pub(super) fn links_of(&self, host: Host) -> Vec<u64> {
        let states = self.states.borrow();
        let own = |state: &State| state.client == host && state.link.is_some() && state.open;
        states
            .iter()
            .filter(|(_, state)| own(state))
            .map(|(id, _)| *id)
            .collect()
    }

    /// All links between two hosts.
    pub(super) fn links_between(&self, a: Host, b: Host) -> Vec<u64> {
        let states = self.states.borrow();
        let between =
            |s: &State| s.link.is_some() && [(a, b), (b, a)].contains(&(s.client, s.server));
        states
            .iter()
            .filter(|(_, state)| between(state))
            .map(|(id, _)| *id)
            .collect()
    }

    /// The end that had asked for a link is gone; returns what tells the other.
    pub(super) fn abandon_link(&self, id: u64) -> Option<Message> {
        let message = {
            let mut states = self.states.borrow_mut();
            let state = states.get_mut(&id)?;
            state.open = false;
            Message {
                connection: id,
                from: state.client,
                to: state.server,
                drops: 0,
                payload: Payload::Close,
            }
        };
        self.forget_if_closed(id);
        Some(message)
    }

    /// When a message that would arrive at `at` does: not before the one sent before it.
    pub(super) fn arrival(&self, message: &Message, at: Time) -> Time {
        let mut states = self.states.borrow_mut();
        let Some(state) = states.get_mut(&message.connection) else {
            return at;
        };
        let last = if message.to_client() {
            &mut state.last_to_client
        } else {
            &mut state.last_to_server
        };
        *last = at.max(*last);
        *last
    }

    // ---- the server's end ----

    /// The server accepts the connection, unless the client has given it up.
    pub(super) fn accept(&self, core: &Core, id: u64) -> bool {
        let mut states = self.states.borrow_mut();
        let Some(state) = states.get_mut(&id) else {
            return false;
        };
        state.accepted = Some(core.executor.process(state.server));
        true
    }

    pub(super) fn is_open_at_server(&self, core: &Core, id: u64) -> bool {
        let states = self.states.borrow();
        states
            .get(&id)
            .is_some_and(|state| state.accepted == Some(core.executor.process(state.server)))
    }

    /// Closes the server's end; whether it was open.
    pub(super) fn close_at_server(&self, core: &Core, id: u64) -> bool {
        let open = self.is_open_at_server(core, id);
        if let Some(state) = self.states.borrow_mut().get_mut(&id) {
            state.accepted = None;
        }
        self.forget_if_closed(id);
        open
    }

    /// A message to the client, if its end is open.
    pub(super) fn to_client(&self, id: u64, payload: Payload) -> Option<Message> {
        let states = self.states.borrow();
        let state = states.get(&id).filter(|state| state.open)?;
        Some(Message {
            connection: id,
            from: state.server,
            to: state.client,
            drops: 0,
            payload,
        })
    }

    /// The server's process ended: all that it had accepted is closed. Returns what its kernel says to the clients.
    pub(super) fn server_ended(&self, host: Host) -> Vec<Message> {
        let mut states = self.states.borrow_mut();
        let own = states.iter_mut().filter(|(_, state)| state.server == host);
        let message = |(id, state): (&u64, &mut State)| {
            state.accepted.take()?;
            let (from, to) = (state.server, state.client);
            Some(Message {
                connection: *id,
                from,
                to,
                drops: 0,
                payload: Payload::Closed,
            })
        };
        own.filter_map(message).collect()
    }

    // ---- the client's end ----

    /// A message to the server from a client that can still send.
    pub(super) fn to_server(&self, core: &Core, id: u64, payload: Payload) -> Option<Message> {
        let states = self.states.borrow();
        let state = states.get(&id).filter(|state| state.open)?;
        let message = Message {
            connection: id,
            from: state.client,
            to: state.server,
            drops: 0,
            payload,
        };
        (core.of(state.client).process.get() != Process::Off).then_some(message)
    }

    /// Queues up for the next reply; `None` if the connection is closed.
    pub(super) fn expect_reply(&self, id: u64) -> Option<usize> {
        let mut states = self.states.borrow_mut();
        let state = states.get_mut(&id).filter(|state| state.open)?;
        let slot = self.slots.borrow_mut().insert(Slot::Waiting(None));
        state.waiting.push_back(slot);
        Some(slot)
    }

    pub(super) fn connected(&self, id: u64, result: RedisResult<()>) {
        self.fulfil_next(id, result.map(|()| Reply::ok()));
    }

    pub(super) fn answered(&self, id: u64, reply: Reply) {
        self.fulfil_next(id, Ok(reply));
    }

    fn fulfil_next(&self, id: u64, answer: RedisResult<Reply>) {
        let slot = self
            .states
            .borrow_mut()
            .get_mut(&id)
            .and_then(|state| state.waiting.pop_front());
        if let Some(slot) = slot {
            self.fulfil(slot, answer);
        }
    }

    fn fulfil(&self, key: usize, answer: RedisResult<Reply>) {
        let mut slots = self.slots.borrow_mut();
        let Some(slot) = slots.get_mut(key) else {
            return;
        };
        match std::mem::replace(slot, Slot::Answered(answer)) {
            Slot::Waiting(Some(waker)) => {
                drop(slots);
                waker.wake();
            }
            Slot::Waiting(None) | Slot::Answered(_) => {}
            Slot::Abandoned => drop(slots.remove(key)),
        }
    }

    /// The client learns that the connection is closed: all that wait on it fail.
    pub(super) fn close_at_client(&self, id: u64) {
        let waiting = match self.states.borrow_mut().get_mut(&id) {
            Some(state) => {
                state.open = false;
                std::mem::take(&mut state.waiting)
            }
            None => return,
        };
        for slot in waiting {
            self.fulfil(slot, Err(closed()));
        }
        self.forget_if_closed(id);
    }

    fn forget_if_closed(&self, id: u64) {
        let mut states = self.states.borrow_mut();
        if states.get(&id).is_some_and(|state| {
            !state.open && state.accepted.is_none() && state.waiting.is_empty()
        }) {
            states.remove(&id);
        }
    }

    fn take(&self, key: usize, waker: &Waker) -> Option<RedisResult<Reply>> {
        let mut slots = self.slots.borrow_mut();
        let slot = slots.get_mut(key)?;
        if let Slot::Waiting(own) = slot {
            *own = Some(waker.clone());
            return None;
        }
        match slots.remove(key)? {
            Slot::Answered(answer) => Some(answer),
            Slot::Waiting(_) | Slot::Abandoned => None,
        }
    }

    fn abandon(&self, key: usize) {
        let mut slots = self.slots.borrow_mut();
        let answered = match slots.get_mut(key) {
            Some(slot) => matches!(std::mem::replace(slot, Slot::Abandoned), Slot::Answered(_)),
            None => false,
        };
        if answered {
            let slot = slots.remove(key);
            drop(slots);
            drop(slot);
        }
    }

    /// Resets both ends of all connections between two hosts. Returns those whose server's end was open.
    pub(super) fn reset(&self, core: &Core, a: Host, b: Host) -> Vec<(u64, Host)> {
        let between = |state: &State| {
            (state.client, state.server) == (a, b) || (state.client, state.server) == (b, a)
        };
        let states = self.states.borrow();
        let all: Vec<_> = states
            .iter()
            .filter(|(_, s)| between(s))
            .map(|(id, s)| (*id, s.server))
            .collect();
        drop(states);
        let close = |(id, _): &(u64, Host)| {
            let open_at_server = self.close_at_server(core, *id);
            self.close_at_client(*id);
            open_at_server
        };
        all.into_iter().filter(close).collect()
    }
}
