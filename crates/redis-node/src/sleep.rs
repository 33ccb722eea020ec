//! `DEBUG SLEEP`: a server that answers nobody for a while, and then everybody.
//!
//! The node has no thread to block. While it sleeps it keeps what arrives, also that connections were lost, and
//! acts on it in that order when it wakes: at the first call whose time is not before the end of the sleep.

use bytes::Bytes;

use crate::node::Node;
use crate::{ConnectionId, Effects, UnixTime};

/// What waits for the node to wake up.
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
}

/// What may arrive meanwhile; with more the connection is closed, as with Redis's limit on what a client sends.
const MOST_BYTES: usize = 64 << 20;
const OVERHEAD: usize = 64;

impl Sleep {
    pub(crate) fn is_asleep(&self) -> bool {
        self.until.is_some()
    }

    pub(crate) fn until(&self) -> Option<UnixTime> {
        self.until
    }

    /// The node falls asleep when the command that runs now is done.
    pub(crate) fn fall(&mut self, nanos: u64) {
        self.nanos = Some(self.nanos.unwrap_or(0).saturating_add(nanos));
    }

    pub(crate) fn disconnected(&mut self, connection: ConnectionId) {
        self.arrived.push(Arrived::Disconnected(connection));
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
    /// After a command that wanted to sleep nothing is answered yet.
    pub(crate) fn fall_asleep(&mut self, now: UnixTime, mut effects: Effects) -> Effects {
        let Some(nanos) = self.sleep.nanos.take() else {
            return effects;
        };
        let asker = effects.replies.last().map(|(connection, _)| *connection);
        self.sleep.until = Some(UnixTime(now.0.saturating_add(nanos)));
        self.sleep.held.replies = std::mem::take(&mut effects.replies);
        self.sleep.held_close = asker.filter(|_| effects.close).into_iter().collect();
        effects.close = false;
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
                ..Effects::default()
            };
        }
        self.wake(now)
    }

    /// Answers what was held back and acts on what arrived since, if it is time.
    pub(crate) fn wake(&mut self, now: UnixTime) -> Effects {
        if self.sleep.until.is_some_and(|until| now < until) {
            return Effects::default();
        }
        let slept = std::mem::take(&mut self.sleep);
        let mut effects = slept.held;
        let mut gone = slept.held_close;
        let mut arrived = slept.arrived.into_iter();
        while let (false, Some(next)) = (self.sleep.is_asleep(), arrived.next()) {
            match next {
                Arrived::Disconnected(connection) => self.disconnected(connection),
                Arrived::Request(connection, _) if gone.contains(&connection) => {}
                Arrived::Request(connection, request) => {
                    let more = self.handle(now, connection, &request);
                    if more.close {
                        gone.push(connection);
                    }
                    effects.replies.extend(more.replies);
                    effects.touches.extend(more.touches);
                }
            }
        }
        // One of the requests was another sleep.
        self.sleep.arrived.extend(arrived);
        gone.into_iter()
            .for_each(|connection| self.close_other(connection));
        effects
    }
}
