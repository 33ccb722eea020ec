//! What a call on the node leads to: replies, and what was done to which key.

use std::ops::Range;

use bytes::Bytes;
use smallvec::SmallVec;

use crate::{ConnectionId, LinkEffect, Reply, Stop, UnixTime};

/// Everything that one call on the node wants done outside of it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Effects {
    /// Replies in the order in which they are to be sent.
    pub replies: SmallVec<[(ConnectionId, Reply); 1]>,
    /// What was done to which key, in order.
    pub touches: SmallVec<[Touch; 1]>,
    /// Close the connection that made the request, after its replies.
    pub close: bool,
    /// What is to be done to links with other nodes, in order.
    pub links: Vec<LinkEffect>,
    /// Requests that had to wait and were carried out in this call, in order: while the node stood still, or behind
    /// a `WAIT`. The request that the call brought is not among them, unless it waited first.
    pub delayed: Vec<Delayed>,
    /// The request that the call brought has to wait, or was the last of `delayed`: whatever else is among the touches
    /// is the node's own doing.
    pub kept: bool,
    /// The process ends by itself, by `SHUTDOWN` or because its disk refuses: call [`crate::Node::stop`] with this.
    pub exit: Option<Stop>,
}

/// A request that was carried out later than it arrived.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Delayed {
    /// Who had made it.
    pub connection: ConnectionId,
    /// The command's name and its arguments.
    pub request: Vec<Bytes>,
    /// Which of [`Effects::touches`] are its own.
    pub touches: Range<usize>,
}

impl Effects {
    /// Adds what happened after this.
    pub(crate) fn append(&mut self, later: Effects) {
        let before = self.touches.len();
        self.replies.extend(later.replies);
        self.touches.extend(later.touches);
        self.links.extend(later.links);
        self.delayed
            .extend(later.delayed.into_iter().map(|delayed| {
                let Range { start, end } = delayed.touches;
                Delayed {
                    touches: start + before..end + before,
                    ..delayed
                }
            }));
        self.close |= later.close;
        self.kept |= later.kept;
        self.exit = later.exit.or(self.exit);
    }
}

/// What a command did to one key, also when it did nothing.
///
/// A harness builds its history from these: a refused `SET NX` is as telling as a successful one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Touch {
    /// The key.
    pub key: Bytes,
    /// What was done.
    pub did: Did,
    /// When the key expires after the command; for [`Did::Deleted`], [`Did::Expired`] and [`Did::Evicted`], when
    /// it would have.
    /// `None` if it has no expiry or does not exist.
    pub expires_at: Option<UnixTime>,
    /// The string that the key holds after the command; for [`Did::Deleted`], [`Did::Expired`] and [`Did::Evicted`], that
    /// it held. `None` if it holds no string or does not exist.
    pub value: Option<Bytes>,
}

/// What was done to a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Did {
    /// The key was there and was looked at.
    Read,
    /// The key was not there and now is.
    Created,
    /// The value of a live key was replaced or changed.
    Overwritten,
    /// A command removed the live key.
    Deleted,
    /// Only the expiry of the live key changed.
    ExpiryChanged,
    /// A live key was there and stood in the way of a write: NX, a condition on the expiry, a wrong type.
    Refused,
    /// The key was not there and nothing was done.
    Missing,
    /// The node itself removed the key because its time had come: at an access or by the active cycle.
    Expired,
    /// The node itself removed the live key to stay below its `maxmemory`.
    Evicted,
}
