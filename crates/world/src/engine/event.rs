//! The event engine: a network of messages in the queue, and time that jumps to the next happening.
//!
//! Messages of one connection keep their order. To a host whose process is down a request is refused after one round
//! trip; to a host that is off or cut away it vanishes. What a stopped host receives waits for it.

mod connection;
mod message;

use std::cell::RefCell;
use std::collections::VecDeque;

use fencepost_checker::Time;
use fencepost_checker::history::{Crash, Cut, EndReason};
use redis_node::{ConnectionId, Reply};

use super::{Connecting, Engine};
use crate::core::{Core, Process};
use crate::host::Host;
use crate::link::Passage;
use crate::queue::Slab;
use crate::serving::Request;
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
    Reply {
        connection: u64,
        reply: Reply,
        keyed: bool,
    },
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
            Process::Up if !core.may_run(host) && !message.to_client() => {
                self.waiting
                    .borrow_mut()
                    .push_back((host, Work::Receive(message)));
            }
            Process::Up => self.act(core, message),
        }
    }

    /// The host's kernel answers for a process that is not there.
    fn turn_away(&self, core: &Core, message: &Message) {
        let answer = match message.payload {
            Payload::Connect => Payload::Refused,
            Payload::Request { .. } => Payload::Closed,
            _ => return,
        };
        self.send(core, message.answer(answer));
    }

    fn act(&self, core: &Core, message: Message) {
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
        let effects = core.serve(&Request {
            server,
            peer,
            connection: ConnectionId(connection),
            arguments,
        });
        let keyed = !effects.touches.is_empty();
        for (to, reply) in effects.replies {
            self.reply(
                core,
                server,
                Work::Reply {
                    connection: to.0,
                    reply,
                    keyed,
                },
            );
        }
        if effects.close && self.connections.close_at_server(core, connection) {
            with_service(core, server, |service| {
                service.disconnected(ConnectionId(connection))
            });
            if let Some(message) = self.connections.to_client(connection, Payload::Closed) {
                self.send(core, message);
            }
        }
    }

    /// Sends a reply, now or when the host goes on. A reply of a process that has ended is never sent.
    fn reply(&self, core: &Core, server: Host, work: Work) {
        if core.of(server).process.get() != Process::Up {
            return;
        }
        if !core.may_run(server) {
            self.waiting.borrow_mut().push_back((server, work));
            return;
        }
        let Work::Reply {
            connection,
            reply,
            keyed,
        } = work
        else {
            return;
        };
        let Some(message) = self
            .connections
            .to_client(connection, Payload::Reply { reply })
        else {
            return;
        };
        let peer = message.to;
        self.send(core, message);
        if keyed {
            core.replied(server, peer);
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
        let id = core.next_connection();
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

    fn started(&self, _core: &Core, _host: Host) {}

    fn ended(&self, core: &Core, host: Host, how: Crash) {
        self.waiting
            .borrow_mut()
            .retain(|(waiting, _)| *waiting != host);
        self.dead.borrow_mut().push(host);
        // A kernel that lives on closes the connections of its dead process; a host without power says nothing.
        for message in self.connections.server_ended(host) {
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
                Work::Reply { .. } => self.reply(core, host, work),
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
        for (connection, server) in self.connections.reset(core, a, b) {
            with_service(core, server, |service| {
                service.disconnected(ConnectionId(connection))
            });
        }
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
