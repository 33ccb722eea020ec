//! The event engine: a network of messages in the queue, and time that jumps to the next happening.
//!
//! Messages of one connection keep their order. To a host whose process is down a request is refused after one round
//! trip; to a host that is off or cut away it vanishes. What a stopped host receives waits for it.

mod connection;
mod message;

use std::cell::RefCell;
use std::collections::VecDeque;
use std::time::Duration;

use fencepost_checker::Time;
use fencepost_checker::history::{Crash, Cut, EndReason};
use redis_node::{ConnectionId, LinkEffect, LinkId, Reply};

use super::{Connecting, Engine};
use crate::core::{Core, Process};
use crate::host::Host;
use crate::link::Passage;
use crate::queue::Slab;
use crate::serving::{Outgoing, Request};
use connection::refused;
use message::Message;

pub(crate) use connection::{Connections, EventConnection};
pub(crate) use message::Payload;

/// See the module.
#[derive(Default)]
pub(crate) struct EventEngine {
    connections: Connections,
    /// Messages on their way; their keys stand in the queue.
    messages: RefCell<Slab<Message>>,
    /// Messages that a cut holds back, in the order in which they would have arrived.
    held: RefCell<VecDeque<Message>>,
    /// What stopped hosts have received.
    waiting: RefCell<VecDeque<(Host, Work)>>,
    /// Hosts whose process ended in this instant.
    dead: RefCell<Vec<Host>>,
}

/// What a server has still to do for a connection.
enum Work {
    Receive(Message),
    /// The command was applied, its reply not yet sent when the host was stopped.
    Reply(Outgoing),
    /// The connection is to be closed.
    Close(u64),
}

impl EventEngine {
    fn send(&self, core: &Core, message: Message) {
        let passage = core.links.borrow().get(message.from, message.to).passage();
        match passage {
            Passage::Lost => {}
            Passage::Open | Passage::Held => {
                let (latency, drops) = {
                    let mut links = core.links.borrow_mut();
                    let latency = links.next_latency(message.from, message.to);
                    (latency, links.get(message.from, message.to).drops())
                };
                let at = self
                    .connections
                    .arrival(&message, core.now().after(latency));
                self.travel(core, at, Message { drops, ..message });
            }
        }
    }

    fn travel(&self, core: &Core, at: Time, message: Message) {
        let key = self.messages.borrow_mut().insert(message);
        core.push(at, crate::queue::Due::Deliver(key));
    }

    fn receive(&self, core: &Core, message: Message) {
        let host = message.to;
        match core.of(host).process.get() {
            Process::Off => {}
            Process::Down => self.turn_away(core, &message),
            Process::Up if !core.may_run(host) && !self.is_for_a_task(&message) => {
                self.waiting
                    .borrow_mut()
                    .push_back((host, Work::Receive(message)));
            }
            Process::Up => self.act(core, message),
        }
    }

    /// Tasks of a stopped host are not polled, so what is for them need not wait.
    fn is_for_a_task(&self, message: &Message) -> bool {
        message.to_client() && !self.connections.is_link(message.connection)
    }

    /// The host's kernel answers for a process that is not there.
    fn turn_away(&self, core: &Core, message: &Message) {
        let answer = match message.payload {
            Payload::Connect => Payload::Refused,
            Payload::Request { .. } | Payload::Up { .. } => Payload::Closed,
            Payload::Down { .. } => Payload::Close,
            _ => return,
        };
        self.send(core, message.answer(answer));
    }

    fn act(&self, core: &Core, message: Message) {
        if self.connections.is_link(message.connection) {
            return self.act_on_link(core, message);
        }
        let connection = message.connection;
        match message.payload {
            Payload::Connect => {
                if !self.connections.accept(core, connection) {
                    return;
                }
                with_service(core, message.to, |service| {
                    service.connected(ConnectionId(connection), message.from)
                });
                self.send(core, message.answer(Payload::Accepted));
            }
            Payload::Request { ref arguments } => {
                if self.connections.is_open_at_server(core, connection) {
                    self.serve(core, message.to, message.from, connection, arguments);
                } else {
                    // The process that had accepted the connection is gone.
                    self.send(core, message.answer(Payload::Closed));
                }
            }
            Payload::Close => {
                if self.connections.close_at_server(core, connection) {
                    with_service(core, message.to, |service| {
                        service.disconnected(ConnectionId(connection))
                    });
                }
            }
            Payload::Accepted => self.connections.connected(connection, Ok(())),
            Payload::Refused => self.connections.connected(connection, Err(refused())),
            Payload::Reply { reply } => self.connections.answered(connection, reply),
            Payload::Closed => self.connections.close_at_client(connection),
            Payload::Up { .. } | Payload::Down { .. } => {}
        }
    }

    fn act_on_link(&self, core: &Core, message: Message) {
        let (id, host) = (message.connection, message.to);
        match message.payload {
            Payload::Connect => {
                if self.connections.accept(core, id) {
                    core.link_opened(host, LinkId::Incoming(id), message.from);
                    self.send(core, message.answer(Payload::Accepted));
                }
            }
            Payload::Accepted => {
                if let Some(link) = self.connections.link_at(core, id, host) {
                    core.link_opened(host, link, message.from);
                }
            }
            Payload::Up { ref bytes } | Payload::Down { ref bytes } => {
                match self.connections.link_at(core, id, host) {
                    Some(link) => core.link_received(host, link, bytes.clone()),
                    None => self.turn_away(core, &message),
                }
            }
            Payload::Close | Payload::Closed | Payload::Refused => self.end_link(core, id, host),
            Payload::Request { .. } | Payload::Reply { .. } => {}
        }
    }

    /// One end learns that the link is closed.
    fn end_link(&self, core: &Core, id: u64, host: Host) {
        if let Some(link) = self.connections.link_at(core, id, host) {
            // Nobody needs to be told: the other end is gone.
            drop(self.connections.close_link(core, id, host));
            core.link_closed(host, link);
        }
    }

    fn serve(
        &self,
        core: &Core,
        server: Host,
        peer: Host,
        connection: u64,
        arguments: &[bytes::Bytes],
    ) {
        let answered = core.serve(&Request {
            server,
            peer,
            connection: ConnectionId(connection),
            arguments,
        });
        for reply in answered.replies {
            self.work(core, server, Work::Reply(reply));
        }
        if answered.close && self.connections.is_open_at_server(core, connection) {
            with_service(core, server, |service| {
                service.disconnected(ConnectionId(connection))
            });
            self.work(core, server, Work::Close(connection));
        }
    }

    /// Does what a server has still to do, now or when the host goes on. A process that has ended does nothing more.
    fn work(&self, core: &Core, server: Host, work: Work) {
        match core.of(server).process.get() {
            Process::Up if core.may_run(server) => match work {
                Work::Receive(message) => self.receive(core, message),
                Work::Reply(reply) => self.answer(core, server, reply),
                Work::Close(connection) => self.close_from_server(core, connection),
            },
            Process::Up => self.waiting.borrow_mut().push_back((server, work)),
            Process::Down | Process::Off => {}
        }
    }

    fn answer(&self, core: &Core, server: Host, reply: Outgoing) {
        let (connection, keyed) = (reply.connection.0, reply.keyed);
        let payload = Payload::Reply { reply: reply.reply };
        let Some(message) = self.connections.to_client(connection, payload) else {
            return;
        };
        let peer = message.to;
        self.send(core, message);
        if keyed {
            core.replied(server, peer);
        }
    }

    /// The service has forgotten the connection already.
    fn close_from_server(&self, core: &Core, connection: u64) {
        if self.connections.close_at_server(core, connection)
            && let Some(message) = self.connections.to_client(connection, Payload::Closed)
        {
            self.send(core, message);
        }
    }

    /// Drops the tasks of processes that ended, outside of every poll.
    fn bury(&self, core: &Core) {
        loop {
            let Some(host) = self.dead.borrow_mut().pop() else {
                return;
            };
            core.executor.bury(host);
        }
    }

    fn run_ready(&self, core: &Core) {
        self.bury(core);
        while core.over().is_none() {
            let Some(host) = core.executor.next_runnable() else {
                return;
            };
            core.executor
                .run(host, || core.may_run(host) && core.over().is_none());
            self.bury(core);
        }
    }
}

fn with_service(core: &Core, host: Host, act: impl FnOnce(&mut dyn crate::service::Service)) {
    if let Some(service) = &core.of(host).service {
        act(service.borrow_mut().as_mut());
    }
}

impl Engine for EventEngine {
    fn connect(&self, core: &Core, from: Host, to: Host) -> Connecting {
        let id = core.next_connection(from);
        let (connecting, connect) = self.connections.open(core, id, from, to);
        self.send(core, connect);
        connecting
    }

    fn deliver(&self, core: &Core, message: usize) {
        let Some(message) = self.messages.borrow_mut().remove(message) else {
            return;
        };
        let link = core.links.borrow().get(message.from, message.to).clone();
        if link.drops() != message.drops {
            return;
        }
        if link.passage() == Passage::Held {
            self.held.borrow_mut().push_back(message);
        } else {
            self.receive(core, message);
        }
    }

    fn send_from_client(&self, core: &Core, connection: u64, payload: Payload) {
        let close = matches!(payload, Payload::Close);
        if let Some(message) = self.connections.to_server(core, connection, payload) {
            self.send(core, message);
        }
        if close {
            self.connections.close_at_client(connection);
        }
    }

    fn event_connections(&self) -> Option<&Connections> {
        Some(&self.connections)
    }

    fn reply(&self, core: &Core, server: Host, reply: Outgoing) {
        // Nobody reads pushes here: redis-rs takes them from the wire alone.
        if !matches!(reply.reply, Reply::Push(_)) {
            self.work(core, server, Work::Reply(reply));
        }
    }

    fn close(&self, core: &Core, server: Host, connection: ConnectionId) {
        self.work(core, server, Work::Close(connection.0));
    }

    fn link(&self, core: &Core, host: Host, effect: LinkEffect) {
        match effect {
            LinkEffect::Connect { link, peer } => {
                match core.find(&peer.host).filter(|peer| *peer != host) {
                    Some(peer) => {
                        let connect = self.connections.open_link(
                            core,
                            core.next_connection(host),
                            host,
                            peer,
                            link,
                        );
                        self.send(core, connect);
                    }
                    None => core.link_closed(host, link),
                }
            }
            LinkEffect::Send { link, bytes } => {
                let id = self.connections.of_link(core, host, link);
                let message = id.and_then(|id| self.connections.on_link(core, id, host, bytes));
                message
                    .into_iter()
                    .for_each(|message| self.send(core, message));
            }
            LinkEffect::Close { link } => {
                let id = self.connections.of_link(core, host, link);
                let message = id.and_then(|id| self.connections.close_link(core, id, host));
                message
                    .into_iter()
                    .for_each(|message| self.send(core, message));
            }
        }
    }

    fn started(&self, _core: &Core, _host: Host) {}

    fn ended(&self, core: &Core, host: Host, how: Crash) {
        self.waiting
            .borrow_mut()
            .retain(|(waiting, _)| *waiting != host);
        self.dead.borrow_mut().push(host);
        // A kernel that lives on closes the connections of its dead process; a host without power says nothing.
        let links = self.connections.links_of(host);
        let asked_for = links
            .into_iter()
            .filter_map(|id| self.connections.abandon_link(id));
        let told: Vec<Message> = self
            .connections
            .server_ended(host)
            .into_iter()
            .chain(asked_for)
            .collect();
        for message in told {
            if how != Crash::Power {
                self.send(core, message);
            }
        }
    }

    fn resumed(&self, core: &Core, host: Host) {
        // What arrives in the meantime waits behind what has waited already.
        let waiting = std::mem::take(&mut *self.waiting.borrow_mut());
        let (own, others) = waiting
            .into_iter()
            .partition(|(waiting, _)| *waiting == host);
        *self.waiting.borrow_mut() = others;
        let own: VecDeque<(Host, Work)> = own;
        for (_, work) in own {
            match work {
                Work::Receive(message) => self.receive(core, message),
                work => self.work(core, host, work),
            }
        }
    }

    fn cut(&self, _core: &Core, _a: Host, _b: Host) {}

    fn healed(&self, core: &Core, a: Host, b: Host, how: Cut) {
        let passage = |from, to| core.links.borrow().get(from, to).passage();
        match how {
            Cut::Hold => {
                let held = std::mem::take(&mut *self.held.borrow_mut());
                let free = |message: &Message| passage(message.from, message.to) == Passage::Open;
                let (arriving, still): (VecDeque<_>, _) = held.into_iter().partition(free);
                *self.held.borrow_mut() = still;
                for message in arriving {
                    self.travel(core, core.now(), message);
                }
            }
            // TCP had given up on what it could not deliver.
            Cut::Drop if passage(a, b) != Passage::Lost && passage(b, a) != Passage::Lost => {
                self.reset(core, a, b)
            }
            Cut::Drop => {}
        }
    }

    fn reset(&self, core: &Core, a: Host, b: Host) {
        for id in self.connections.links_between(a, b) {
            self.end_link(core, id, a);
            self.end_link(core, id, b);
        }
        for (connection, server) in self.connections.reset(core, a, b) {
            with_service(core, server, |service| {
                service.disconnected(ConnectionId(connection))
            });
        }
    }

    fn late_packet(&self, core: &Core, from: Host, to: Host, extra: Duration) {
        core.links.borrow_mut().late_packet(from, to, extra);
    }

    fn delayed(&self, _core: &Core, _a: Host, _b: Host) {}

    fn run(&self, core: &Core) {
        loop {
            self.run_ready(core);
            if core.over().is_some() {
                return;
            }
            match core.next_due() {
                Some(at) if at <= core.limit() => {
                    if at > core.now() {
                        core.advance(at);
                    }
                    core.happen_next();
                }
                Some(_) => {
                    core.advance(core.limit());
                    core.end_at_limit();
                    return;
                }
                // Nothing can ever happen again: whoever still waits waits for ever.
                None => {
                    let finished = core.limit() < Time::ZERO.after(core.plan.horizon);
                    core.end(if finished {
                        EndReason::Finished
                    } else {
                        EndReason::Stuck
                    });
                    return;
                }
            }
        }
    }
}
