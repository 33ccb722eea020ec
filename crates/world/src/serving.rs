//! How a server host answers, whatever the engine: the service acts, the history is written, faults may strike.

use bytes::Bytes;
use fencepost_checker::ClockKind;
use fencepost_checker::history::{Attempt, Crash, Creator, Did, Name, Role, What};
use redis_node::{
    Address, ConnectionId, Delayed, Effects, LinkEffect, LinkId, Reply, Stop, Touch, UnixTime,
};

use crate::core::{Core, Creation, Maker, Process, text};
use crate::host::Host;
use crate::queue::Due;
use crate::service::Service;

/// Where every server listens.
pub(crate) const PORT: u16 = 6379;

/// A request as it arrived.
pub(crate) struct Request<'a> {
    pub(crate) server: Host,
    pub(crate) peer: Host,
    pub(crate) connection: ConnectionId,
    pub(crate) arguments: &'a [Bytes],
}

/// What a request is answered with.
#[derive(Default)]
pub(crate) struct Answered {
    /// To the connection that it came on, in order.
    pub(crate) replies: Vec<Outgoing>,
    /// Whether the connection is closed afterwards.
    pub(crate) close: bool,
}

/// A reply that is to be sent to a client.
pub(crate) struct Outgoing {
    pub(crate) connection: ConnectionId,
    pub(crate) reply: Reply,
    /// Whether it answers a command that met a key.
    pub(crate) keyed: bool,
}

/// Whose doing it was.
#[derive(Clone, Copy)]
enum Doer<'a> {
    Client(&'a Request<'a>),
    Operator(&'a [Bytes]),
    Itself,
}

impl Core {
    /// Carries out a request and returns what is to be answered. A command that met a key is an event that faults can be
    /// set on; so is one that had to wait, when its time comes.
    pub(crate) fn serve(&self, request: &Request<'_>) -> Answered {
        let server = request.server;
        let Some(service) = &self.of(server).service else {
            return Answered::default();
        };
        let now = self.wall(server);
        let effects = service
            .borrow_mut()
            .handle(now, request.connection, request.arguments);
        let close = effects.close;
        let own = self.take_effects(server, Doer::Client(request), effects);
        Answered {
            replies: own,
            close,
        }
    }

    /// What a service does by itself: in time, or for a link or an operator.
    fn act(
        &self,
        host: Host,
        doer: Doer<'_>,
        act: impl FnOnce(&mut dyn Service, UnixTime) -> Effects,
    ) {
        let state = self.of(host);
        let Some(service) = state
            .service
            .as_ref()
            .filter(|_| state.process.get() == Process::Up)
        else {
            return;
        };
        let effects = act(service.borrow_mut().as_mut(), self.wall(host));
        self.take_effects(host, doer, effects);
    }

    /// Writes down what a turn of a service did, lets faults strike, and sends what is to be sent. Returns the replies to
    /// the client whose request it was.
    ///
    /// A turn is one step: a fault that is set on one of its commands strikes when all of them are applied and none is
    /// answered.
    fn take_effects(&self, host: Host, doer: Doer<'_>, effects: Effects) -> Vec<Outgoing> {
        self.record_touches(host, doer, &effects);
        self.announce(host, doer, &effects);
        let asker = match doer {
            Doer::Client(request) => Some(request.connection),
            Doer::Operator(_) | Doer::Itself => None,
        };
        let replies = effects.replies.into_iter();
        let (own, others) = replies
            .map(|(connection, reply)| self.settle(host, connection, reply))
            .partition(|sent| Some(sent.connection) == asker);
        self.carry(host, others, effects.links);
        if let Some(how) = effects.exit {
            self.crash(host, crash(how), true);
        }
        own
    }

    fn record_touches(&self, host: Host, doer: Doer<'_>, effects: &Effects) {
        let doer = if effects.kept { Doer::Itself } else { doer };
        for (index, touch) in effects.touches.iter().enumerate() {
            let mut delayed = effects.delayed.iter();
            match delayed.find(|delayed| delayed.touches.contains(&index)) {
                Some(delayed) => self.record_delayed(host, delayed, touch),
                None => self.record_touch(host, doer, touch),
            }
        }
        self.schedule_tick(host);
    }

    /// A touch of a request that had to wait is that of whoever had made it, who may be gone.
    fn record_delayed(&self, server: Host, delayed: &Delayed, touch: &Touch) {
        let (connection, arguments) = (delayed.connection, &*delayed.request);
        match self.client_of(connection) {
            Some(peer) => {
                let request = Request {
                    server,
                    peer,
                    connection,
                    arguments,
                };
                self.record_touch(server, Doer::Client(&request), touch);
            }
            None => self.record_touch(server, Doer::Operator(arguments), touch),
        }
    }

    /// Says of each command that met a key that it was applied.
    fn announce(&self, host: Host, doer: Doer<'_>, effects: &Effects) {
        let delayed = effects.delayed.iter();
        let waited = delayed
            .filter(|delayed| !delayed.touches.is_empty())
            .map(|delayed| delayed.connection);
        let at_once = match doer {
            Doer::Client(request) if !effects.kept && !effects.touches.is_empty() => {
                Some(request.connection)
            }
            _ => None,
        };
        for connection in waited.chain(at_once) {
            let Some(peer) = self.client_of(connection) else {
                continue;
            };
            self.of(host).owed.borrow_mut().push(connection);
            self.notify(host, "applied", Some(peer));
        }
    }

    /// The next reply to a client that is owed one for a command that met a key is that.
    fn settle(&self, host: Host, connection: ConnectionId, reply: Reply) -> Outgoing {
        let mut owed = self.of(host).owed.borrow_mut();
        let place = owed.iter().position(|owed| *owed == connection);
        let place = place.filter(|_| !matches!(reply, Reply::Push(_)));
        if let Some(place) = place {
            owed.remove(place);
        }
        Outgoing {
            connection,
            reply,
            keyed: place.is_some(),
        }
    }

    /// Sends what is not the answer to the request at hand, and closes what the service has closed. A process that has
    /// ended meanwhile does neither.
    fn carry(&self, host: Host, replies: Vec<Outgoing>, links: Vec<LinkEffect>) {
        let state = self.of(host);
        if state.process.get() != Process::Up {
            return;
        }
        for reply in replies {
            self.engine.reply(self, host, reply);
        }
        for link in links {
            self.engine.link(self, host, link);
        }
        let closed = match &state.service {
            Some(service) => service.borrow_mut().take_closed(),
            None => Vec::new(),
        };
        for connection in closed {
            self.engine.close(self, host, connection);
        }
    }

    pub(crate) fn link_opened(&self, host: Host, link: LinkId, peer: Host) {
        let peer = Address::new(&*self.of(peer).name, PORT);
        self.act(host, Doer::Itself, |service, now| {
            service.link_opened(now, link, &peer)
        });
    }

    pub(crate) fn link_received(&self, host: Host, link: LinkId, bytes: Bytes) {
        self.act(host, Doer::Itself, |service, now| {
            service.link_received(now, link, bytes)
        });
    }

    pub(crate) fn link_closed(&self, host: Host, link: LinkId) {
        self.act(host, Doer::Itself, |service, now| {
            service.link_closed(now, link)
        });
    }

    /// The reply to a command that met a key was sent.
    pub(crate) fn replied(&self, server: Host, peer: Host) {
        self.notify(server, "replied", Some(peer));
    }

    /// A server carries out a command of its operator.
    pub(crate) fn operate(&self, host: Host, command: &[String]) {
        let command: Vec<Bytes> = command
            .iter()
            .map(|word| Bytes::copy_from_slice(word.as_bytes()))
            .collect();
        self.act(host, Doer::Operator(&command), |service, now| {
            service.operate(now, &command)
        });
    }

    /// A server's disk stops answering, or answers again.
    pub(crate) fn stall(&self, host: Host, stalled: bool) {
        if let Some(service) = &self.of(host).service {
            service.borrow_mut().stall(self.wall(host), stalled);
        }
        self.schedule_tick(host);
    }

    /// Writes what a command did to a key, with who had created the key.
    fn record_touch(&self, server: Host, doer: Doer<'_>, touch: &Touch) {
        if self.of(server).role != Role::Node {
            return;
        }
        let did = did(touch.did);
        // The node's own removals are nobody's command, even if a command was the occasion.
        let doer = if matches!(did, Did::Expired | Did::Evicted) {
            Doer::Itself
        } else {
            doer
        };
        let live_before = !matches!(did, Did::Created | Did::Missing);
        let creator = self
            .take_over(server, doer, did, touch)
            .filter(|_| live_before);
        let (sender, command) = match doer {
            Doer::Client(request) => (
                Some(self.name(request.peer)),
                command_name(request.arguments),
            ),
            Doer::Operator(command) => (None, command_name(command)),
            Doer::Itself if did == Did::Evicted => (None, text(b"evict")),
            Doer::Itself if did == Did::Expired => (None, text(b"expire")),
            // What a replica carries out because its primary did.
            Doer::Itself => (None, text(b"replicate")),
        };
        self.record(What::Command {
            node: self.name(server),
            sender,
            command,
            key: text(&touch.key),
            did,
            creator: creator.map(|(client, attempt)| Creator {
                client: self.name(client),
                attempt,
            }),
            expires_at: touch.expires_at.map(redis_node::UnixTime::as_millis),
        });
    }

    /// Keeps the book of who created which key; returns who had created this one.
    fn take_over(&self, server: Host, doer: Doer<'_>, did: Did, touch: &Touch) -> Option<Maker> {
        let place = (server, touch.key.clone());
        let before = self.creator(&place, did, touch);
        let creators = &mut *self.creators.borrow_mut();
        let now = match (did, doer) {
            (Did::Created | Did::Overwritten, Doer::Client(request)) => {
                let by = (request.peer, self.attempt_of(request));
                if let Some(value) = &touch.value {
                    let written = (touch.key.clone(), value.clone());
                    self.writers.borrow_mut().insert(written, by);
                }
                Some(by)
            }
            // A replica has it from its primary, where the same key is somebody's.
            (Did::Created | Did::Overwritten, Doer::Itself) => {
                let elsewhere = || {
                    let mut others = creators.iter();
                    let other = others.find(|((host, key), _)| *host != server && *key == place.1);
                    other.map(|(_, creation)| creation.by)
                };
                self.writer(touch).or_else(elsewhere)
            }
            (Did::Created | Did::Overwritten | Did::Deleted | Did::Expired | Did::Evicted, _) => {
                None
            }
            (Did::Missing, _) => return before,
            (Did::Read | Did::ExpiryChanged | Did::Refused, _) => before,
        };
        match now {
            Some(by) => {
                let value = touch.value.clone();
                creators.insert(place, Creation { by, value });
            }
            None => _ = creators.remove(&place),
        }
        before
    }

    /// Who created the key that a command met. If it holds another value than was written here last, a restart has brought
    /// an older one back, which is its writer's.
    fn creator(&self, place: &(Host, Bytes), did: Did, touch: &Touch) -> Option<Maker> {
        let known = self.creators.borrow().get(place).cloned();
        let is_written = matches!(did, Did::Created | Did::Overwritten | Did::Missing);
        match known {
            Some(known) if is_written || known.value == touch.value => Some(known.by),
            known => self.writer(touch).or(known.map(|known| known.by)),
        }
    }

    fn writer(&self, touch: &Touch) -> Option<Maker> {
        let written = (touch.key.clone(), touch.value.clone()?);
        self.writers.borrow().get(&written).copied()
    }

    /// The attempt that a command acts for: the one whose value it carries.
    fn attempt_of(&self, request: &Request<'_>) -> Option<Attempt> {
        let values = self.values.borrow();
        request
            .arguments
            .iter()
            .skip(1)
            .find_map(|argument| values.get(&(request.peer, argument.clone())).copied())
    }

    /// Puts the service's next deadline into the queue, if it is not there yet.
    pub(crate) fn schedule_tick(&self, host: Host) {
        let state = self.of(host);
        let Some(service) = &state.service else {
            return;
        };
        if !self.may_run(host) {
            return;
        }
        let deadline = service.borrow().next_deadline();
        let at = deadline.map(|deadline| self.when(host, ClockKind::Wall, deadline.0));
        if at != state.tick_at.get() {
            state.tick_at.set(at);
            state.tick.set(state.tick.get() + 1);
            if let Some(at) = at {
                self.push(at, Due::Tick(host, state.tick.get()));
            }
        }
    }

    /// A deadline of the service is due.
    pub(crate) fn tick(&self, host: Host, generation: u64) {
        let state = self.of(host);
        if generation != state.tick.get() {
            return;
        }
        state.tick_at.set(None);
        if self.may_run(host) {
            self.act(host, Doer::Itself, |service, now| service.tick(now));
        }
    }
}

fn crash(how: Stop) -> Crash {
    match how {
        Stop::Kill => Crash::Kill,
        Stop::PowerLoss => Crash::Power,
        Stop::Shutdown => Crash::Shutdown,
    }
}

fn command_name(arguments: &[Bytes]) -> Name {
    text(
        &arguments
            .first()
            .map(|name| name.to_ascii_uppercase())
            .unwrap_or_default(),
    )
}

fn did(did: redis_node::Did) -> Did {
    match did {
        redis_node::Did::Read => Did::Read,
        redis_node::Did::Created => Did::Created,
        redis_node::Did::Overwritten => Did::Overwritten,
        redis_node::Did::Deleted => Did::Deleted,
        redis_node::Did::ExpiryChanged => Did::ExpiryChanged,
        redis_node::Did::Refused => Did::Refused,
        redis_node::Did::Missing => Did::Missing,
        redis_node::Did::Expired => Did::Expired,
        redis_node::Did::Evicted => Did::Evicted,
    }
}
