//! How a server host answers, whatever the engine: the service acts, the history is written, faults may strike.

use bytes::Bytes;
use fencepost_checker::ClockKind;
use fencepost_checker::history::{Attempt, Creator, Did, Name, Role, What};
use redis_node::{ConnectionId, Effects, Touch};

use crate::core::{Core, Process, text};
use crate::host::Host;
use crate::queue::Due;

/// A request as it arrived.
pub(crate) struct Request<'a> {
    pub(crate) server: Host,
    pub(crate) peer: Host,
    pub(crate) connection: ConnectionId,
    pub(crate) arguments: &'a [Bytes],
}

/// Whose doing it was.
#[derive(Clone, Copy)]
enum Doer<'a> {
    Client(&'a Request<'a>),
    Operator(&'a [Bytes]),
    Itself,
}

impl Core {
    /// Carries out a request. A command that met a key is an event that faults can be set on.
    pub(crate) fn serve(&self, request: &Request<'_>) -> Effects {
        let Some(service) = &self.of(request.server).service else {
            return Effects::default();
        };
        let effects = service.borrow_mut().handle(
            self.wall(request.server),
            request.connection,
            request.arguments,
        );
        for touch in &effects.touches {
            self.record_touch(request.server, Doer::Client(request), touch);
        }
        self.schedule_tick(request.server);
        if !effects.touches.is_empty() {
            self.notify(request.server, "applied", Some(request.peer));
        }
        effects
    }

    /// The reply to a command that met a key was sent.
    pub(crate) fn replied(&self, server: Host, peer: Host) {
        self.notify(server, "replied", Some(peer));
    }

    /// A server carries out a command of its operator.
    pub(crate) fn operate(&self, host: Host, command: &[String]) {
        let Some(service) = self
            .of(host)
            .service
            .as_ref()
            .filter(|_| self.of(host).process.get() == Process::Up)
        else {
            return;
        };
        let command: Vec<Bytes> = command
            .iter()
            .map(|word| Bytes::copy_from_slice(word.as_bytes()))
            .collect();
        let effects = service.borrow_mut().operate(self.wall(host), &command);
        for touch in &effects.touches {
            self.record_touch(host, Doer::Operator(&command), touch);
        }
        self.schedule_tick(host);
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
            .take_over((server, touch.key.clone()), doer, did)
            .filter(|_| live_before);
        let (sender, command) = match doer {
            Doer::Client(request) => (
                Some(self.name(request.peer)),
                command_name(request.arguments),
            ),
            Doer::Operator(command) => (None, command_name(command)),
            Doer::Itself if did == Did::Evicted => (None, text(b"evict")),
            Doer::Itself => (None, text(b"expire")),
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
    fn take_over(
        &self,
        place: (Host, Bytes),
        doer: Doer<'_>,
        did: Did,
    ) -> Option<(Host, Option<Attempt>)> {
        let mut creators = self.creators.borrow_mut();
        let before = creators.get(&place).copied();
        match (did, doer) {
            (Did::Created | Did::Overwritten, Doer::Client(request)) => {
                creators.insert(place, (request.peer, self.attempt_of(request)));
            }
            (Did::Created | Did::Overwritten | Did::Deleted | Did::Expired | Did::Evicted, _) => {
                creators.remove(&place);
            }
            (Did::Read | Did::ExpiryChanged | Did::Refused | Did::Missing, _) => {}
        }
        before
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
        let Some(service) = state.service.as_ref().filter(|_| self.may_run(host)) else {
            return;
        };
        let effects = service.borrow_mut().tick(self.wall(host));
        for touch in &effects.touches {
            self.record_touch(host, Doer::Itself, touch);
        }
        self.schedule_tick(host);
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
