//! WAIT: a reply that comes when enough replicas have acknowledged, or when the time is over.

use std::collections::VecDeque;

use bytes::Bytes;

use super::{Replication, wire};
use crate::{ConnectionId, UnixTime};

/// A connection that waits, and what it asked for meanwhile.
#[derive(Debug)]
pub(super) struct Waiter {
    pub(super) connection: ConnectionId,
    offset: u64,
    replicas: usize,
    until: Option<UnixTime>,
    queued: VecDeque<Vec<Bytes>>,
}

/// A connection that has waited long enough.
#[derive(Debug)]
pub(crate) struct Released {
    pub(crate) connection: ConnectionId,
    /// How many replicas have acknowledged.
    pub(crate) acknowledged: usize,
    /// The requests that had to wait.
    pub(crate) queued: VecDeque<Vec<Bytes>>,
}

impl Replication {
    /// How many replicas have acknowledged all up to that offset.
    pub(crate) fn acknowledged(&self, offset: u64) -> usize {
        self.followers
            .values()
            .filter(|follower| follower.has_acknowledged(offset))
            .count()
    }

    /// From now on the connection waits. The replicas are asked at once how far they are.
    pub(crate) fn wait(
        &mut self,
        connection: ConnectionId,
        offset: u64,
        replicas: usize,
        until: Option<UnixTime>,
    ) {
        self.waiters.push(Waiter {
            connection,
            offset,
            replicas,
            until,
            queued: VecDeque::new(),
        });
        self.asks_for_ack = true;
    }

    /// Puts a request aside until the connection has waited long enough.
    pub(crate) fn put_off(&mut self, connection: ConnectionId, request: &[Bytes]) {
        if let Some(waiter) = self
            .waiters
            .iter_mut()
            .find(|waiter| waiter.connection == connection)
        {
            waiter.queued.push_back(request.to_vec());
        }
    }

    /// The connection is gone, with all that it asked for.
    pub(crate) fn forget_waiter(&mut self, connection: ConnectionId) {
        self.waiters
            .retain(|waiter| waiter.connection != connection);
    }

    /// Those who need not wait any longer, in the order in which they began to.
    pub(crate) fn take_released(&mut self, now: UnixTime) -> Vec<Released> {
        let acknowledged: Vec<usize> = self
            .waiters
            .iter()
            .map(|waiter| self.acknowledged(waiter.offset))
            .collect();
        let mut counts = acknowledged.into_iter();
        let mut released = Vec::new();
        self.waiters.retain_mut(|waiter| {
            let acknowledged = counts.next().unwrap_or(0);
            let over = waiter.until.is_some_and(|until| until <= now);
            if acknowledged < waiter.replicas && !over {
                return true;
            }
            released.push(Released {
                connection: waiter.connection,
                acknowledged,
                queued: std::mem::take(&mut waiter.queued),
            });
            false
        });
        released
    }

    /// Those who wait on a node that is no primary any more.
    pub(crate) fn take_all_waiters(&mut self) -> Vec<ConnectionId> {
        std::mem::take(&mut self.waiters)
            .into_iter()
            .map(|waiter| waiter.connection)
            .collect()
    }

    /// Asks the replicas how far they are, after the unit that made somebody wait.
    pub(crate) fn ask_for_ack(&mut self) {
        if std::mem::take(&mut self.asks_for_ack)
            && self.followers.values().any(super::Follower::is_fed)
        {
            self.feed_bytes(wire::words(&["REPLCONF", "GETACK", "*"]));
        }
    }

    pub(super) fn waiters_deadline(&self) -> Option<UnixTime> {
        self.waiters.iter().filter_map(|waiter| waiter.until).min()
    }
}
