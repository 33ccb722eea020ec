//! Why a lock was refused, with the evidence.

use std::fmt;
use std::time::Duration;

use crate::ports::NodeError;
use crate::vote::NodeVote;

/// Why an attempt was refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Reason {
    /// So many nodes did not grant that a majority cannot be reached any more.
    #[error("a majority is impossible: {granted} of {nodes} nodes granted and {needed} are needed")]
    MajorityImpossible {
        /// Nodes that granted.
        granted: usize,
        /// The quorum.
        needed: usize,
        /// Configured nodes.
        nodes: usize,
    },
    /// A majority granted, but too late: `ttl - elapsed - drift` is zero or less.
    #[error(
        "no validity left: {elapsed:?} elapsed of a TTL of {ttl:?} with a drift margin of {drift:?}"
    )]
    NoValidity {
        /// From the first to the second clock reading.
        elapsed: Duration,
        /// The TTL that was asked for.
        ttl: Duration,
        /// The drift margin of that TTL.
        drift: Duration,
    },
    /// The second clock reading lies before the first, so nobody knows how much time went by.
    #[error("the clock went back by {by:?} during the attempt, so the elapsed time is unknown")]
    ClockWentBack {
        /// How far the second reading lies before the first.
        by: Duration,
    },
    /// A majority granted, but no fencing token could be had.
    #[error("no fencing token: {0}")]
    TokenFailed(NodeError),
    /// A majority granted, but no fencing token came in time.
    #[error("no fencing token within {after:?}")]
    TokenTimedOut {
        /// The timeout for tokens.
        after: Duration,
    },
}

/// What ended a call that was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum StoppedBy {
    /// All tries were used up.
    Tries,
    /// The next try would have begun after the bound of the call.
    Bound,
}

/// Why a lease is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Loss {
    /// The lock's own clock reached the deadline. What the nodes would say does not matter.
    #[error("the lease has run out by the lock's own clock")]
    Deadline,
    /// An extension was answered "lost": a majority cannot be holding the key for this lock any more.
    #[error("a majority of nodes does not hold the key for this lock any more")]
    Answered,
    /// It was released, or its guard dropped or forgotten.
    #[error("the lock was given back")]
    GivenBack,
}

/// The lock was not acquired. What had been set is released on all nodes, in the background.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Refused {
    /// The lock's key.
    pub key: Vec<u8>,
    /// Attempts made in this call.
    pub attempts: u32,
    /// What ended the call.
    pub stopped_by: StoppedBy,
    /// Why the last attempt was refused.
    pub reason: Reason,
    /// What each node said to the last attempt, in the order of the list.
    pub votes: Vec<NodeVote>,
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let plural = if self.attempts == 1 { "" } else { "s" };
        write!(
            f,
            "lock \"{}\" refused after {} attempt{plural}",
            self.key.escape_ascii(),
            self.attempts
        )?;
        if self.stopped_by == StoppedBy::Bound {
            f.write_str(" at the bound of the call")?;
        }
        write!(f, ": {} (", self.reason)?;
        for (index, vote) in self.votes.iter().enumerate() {
            write!(f, "{}{vote}", if index == 0 { "" } else { ", " })?;
        }
        f.write_str(")")
    }
}

impl std::error::Error for Refused {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.reason)
    }
}
