//! How a server host answers, whatever the engine: the service acts, the history is written, faults may strike.

use bytes::Bytes;
use fencepost_checker::ClockKind;
use fencepost_checker::history::{Creator, Did, Role, What};
use redis_node::{ConnectionId, Effects, Touch};

use crate::core::{Core, text};
use crate::host::Host;
use crate::queue::Due;

/// A request as it arrived.
pub(crate) struct Request<'a> {
    pub(crate) server: Host,
    pub(crate) peer: Host,
    pub(crate) connection: ConnectionId,
    pub(crate) arguments: &'a [Bytes],
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
            self.record_touch(request.server, Some(request), touch);
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

    /// Writes what a command did to a key, with who had created the key.
    fn record_touch(&self, server: Host, request: Option<&Request<'_>>, touch: &Touch) {
        if self.of(server).role != Role::Node {
            return;
        }
        let did = did(touch.did);
        let place = (server, touch.key.clone());
        let creator = self.creators.borrow().get(&place).copied();
        let live_before = !matches!(did, Did::Created | Did::Missing);
        match did {
            Did::Created | Did::Overwritten => {
                if let Some(request) = request {
                    self.creators
                        .borrow_mut()
                        .insert(place, (request.peer, self.attempt_of(request)));
                }
            }
            Did::Deleted | Did::Expired | Did::Evicted => {
                self.creators.borrow_mut().remove(&place);
            }
            Did::Read | Did::ExpiryChanged | Did::Refused | Did::Missing => {}
        }
        // The node's own expiry or eviction is nobody's command, even if a command was the occasion.
        let own = matches!(did, Did::Expired | Did::Evicted);
        self.record(What::Command {
            node: self.name(server),
            sender: request
                .filter(|_| !own)
                .map(|request| self.name(request.peer)),
            command: request.filter(|_| !own).map_or_else(
                || text(if did == Did::Evicted { b"evict" } else { b"expire" }),
                |request| command_name(request.arguments),
            ),
            key: text(&touch.key),
            did,
            creator: creator
                .filter(|_| live_before)
                .map(|(client, attempt)| Creator {
                    client: self.name(client),
                    attempt,
                }),
            expires_at: touch.expires_at.map(redis_node::UnixTime::as_millis),
        });
    }

    /// The attempt that a command acts for: the one whose value it carries.
    fn attempt_of(&self, request: &Request<'_>) -> Option<fencepost_checker::history::Attempt> {
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
            self.record_touch(host, None, touch);
        }
        self.schedule_tick(host);
    }
}

fn command_name(arguments: &[Bytes]) -> fencepost_checker::history::Name {
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
        // Evicted: by the node itself, as an expiry is. The history has no word of its own for it.
        redis_node::Did::Expired | redis_node::Did::Evicted => Did::Expired,
    }
}
