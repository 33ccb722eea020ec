//! A server that answers nobody for a while, and then everybody: `DEBUG SLEEP`, or a disk that has to be waited
//! for.
//!
//! The node has no thread to block. While it stands still it keeps what arrives, also that connections were lost,
//! and acts on it in that order when it goes on: at the first call whose time is not before the end. What it did
//! in one turn is written to the log once, as Redis does it.

use bytes::Bytes;

use crate::effects::Delayed;
use crate::links::LinkEvent;
use crate::node::Node;
use crate::replication::LinkId;
use crate::{ConnectionId, Effects, UnixTime};

/// What waits for the node to go on.
#[derive(Debug, Default)]
pub(crate) struct Sleep {
    /// Wanted by the command that runs now.
    nanos: Option<u64>,
    until: Option<UnixTime>,
    arrived: Vec<Arrived>,
    bytes: usize,
    /// What was done already, but is answered later.
    held: Effects,
    held_close: Vec<ConnectionId>,
}

#[derive(Debug)]
enum Arrived {
    Request(ConnectionId, Vec<Bytes>),
    Disconnected(ConnectionId),
    Link(LinkId, LinkEvent),
}

/// What may arrive meanwhile; with more the connection is closed, as with Redis's limit on what a client sends.
const MOST_BYTES: usize = 64 << 20;
const OVERHEAD: usize = 64;

impl Sleep {
    /// The node falls asleep when the command that runs now is done.
    pub(crate) fn fall(&mut self, nanos: u64) {
        self.nanos = Some(self.nanos.unwrap_or(0).saturating_add(nanos));
    }

    /// Something is kept for the end of the sleep.
    fn holds_back(&self) -> bool {
        let held = &self.held;
        let nothing = held.replies.is_empty() && held.links.is_empty();
        !(nothing && self.arrived.is_empty() && self.held_close.is_empty())
    }

    pub(crate) fn disconnected(&mut self, connection: ConnectionId) {
        self.arrived.push(Arrived::Disconnected(connection));
    }

    /// Keeps what a link brought. A link is as trusted as the node itself, so there is no limit.
    pub(crate) fn keep_link(&mut self, link: LinkId, event: LinkEvent) {
        self.arrived.push(Arrived::Link(link, event));
    }

    /// Keeps a request. Answers whether there was room.
    fn keep(&mut self, connection: ConnectionId, request: &[Bytes]) -> bool {
        self.bytes += request
            .iter()
            .map(|argument| argument.len() + OVERHEAD)
            .sum::<usize>();
        let fits = self.bytes <= MOST_BYTES;
        if fits {
            self.arrived
                .push(Arrived::Request(connection, request.to_vec()));
        }
        fits
    }
}

impl Node {
    /// Whether the node stands still, or will when the present turn is over.
    pub(crate) fn is_still(&self) -> bool {
        self.sleep.until.is_some()
            || self.sleep.nanos.is_some()
            || self.keeper().waits()
            || self.sleep.holds_back()
    }

    /// At once, where the disk is done and nobody has looked since.
    pub(crate) fn still_until(&self) -> Option<UnixTime> {
        let until = self.sleep.until.max(self.keeper().stands_still());
        until.or_else(|| self.is_still().then(UnixTime::default))
    }

    /// After a turn that made the node stand still nothing is answered yet.
    pub(crate) fn fall_asleep(&mut self, now: UnixTime, mut effects: Effects) -> Effects {
        if !self.is_still() {
            return effects;
        }
        if let Some(nanos) = self.sleep.nanos.take() {
            self.sleep.until = Some(UnixTime(now.0.saturating_add(nanos)));
        }
        let asker = effects.replies.last().map(|(connection, _)| *connection);
        self.sleep
            .held_close
            .extend(asker.filter(|_| effects.close));
        effects.close = false;
        self.sleep.held.replies.append(&mut effects.replies);
        self.sleep.held.links.append(&mut effects.links);
        effects
    }

    pub(crate) fn handle_asleep(
        &mut self,
        now: UnixTime,
        connection: ConnectionId,
        request: &[Bytes],
    ) -> Effects {
        if !self.sleep.keep(connection, request) {
            self.sleep.disconnected(connection);
            return Effects {
                close: true,
                kept: true,
                ..Effects::default()
            };
        }
        let mut effects = self.wake(now);
        effects.kept = true;
        effects
    }

    /// Answers what was held back and acts on what arrived since, if it is time.
    pub(crate) fn wake(&mut self, now: UnixTime) -> Effects {
        self.keeper_mut().settle(now);
        if self.sleep.until.is_some_and(|until| now < until) || self.keeper().waits() {
            return Effects::default();
        }
        let slept = std::mem::take(&mut self.sleep);
        let mut effects = slept.held;
        let mut gone = slept.held_close;
        let mut turn = Effects::default();
        let mut arrived = slept.arrived.into_iter();
        // One of the requests may make the node stand still again: what came after it waits on.
        while !self.is_still() {
            let Some(next) = arrived.next() else { break };
            match next {
                Arrived::Disconnected(connection) => self.disconnected(connection),
                Arrived::Link(link, event) => self.act_on_link(now, link, event, &mut turn),
                Arrived::Request(connection, _) if gone.contains(&connection) => {}
                Arrived::Request(connection, request) => {
                    if self.run_delayed(now, connection, request, &mut turn) {
                        gone.push(connection);
                    }
                }
            }
        }
        self.sleep.arrived.extend(arrived);
        if !self.is_still() {
            gone.into_iter()
                .for_each(|connection| self.close_other(connection));
        } else {
            self.sleep.held_close.extend(gone);
        }
        effects.append(self.conclude(now, turn));
        effects
    }

    /// Carries out a request that had to wait. Answers whether its connection is to be closed.
    pub(crate) fn run_delayed(
        &mut self,
        now: UnixTime,
        connection: ConnectionId,
        request: Vec<Bytes>,
        turn: &mut Effects,
    ) -> bool {
        if self.replication().holds_up(connection) {
            self.replication_mut().put_off(connection, &request);
            return false;
        }
        let mut effects = self.run(now, connection, &request);
        let close = std::mem::take(&mut effects.close);
        let touches = 0..effects.touches.len();
        effects.delayed.push(Delayed {
            connection,
            request,
            touches,
        });
        turn.append(effects);
        close
    }
}
