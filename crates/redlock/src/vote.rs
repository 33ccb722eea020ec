//! What each node said: the evidence for every decision.

use std::fmt;

use crate::ports::{Compared, NodeError, NodeId};

/// A node's vote in an attempt.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Vote {
    /// The node set the key.
    Granted,
    /// The key exists: another holds it.
    Held,
    /// The node, or the way to it, failed.
    Failed(NodeError),
    /// No answer within the timeout of a node. The SET may have been applied.
    TimedOut,
    /// Asked, but no longer awaited when a majority had become impossible. The SET may have been applied.
    Abandoned,
    /// Not asked: a majority was impossible before its turn.
    NotAsked,
}

impl Vote {
    /// Whether this vote counts towards the majority.
    pub fn is_granted(&self) -> bool {
        matches!(self, Vote::Granted)
    }

    pub(crate) fn from_set(answer: Option<Result<bool, NodeError>>) -> Vote {
        match answer {
            Some(Ok(true)) => Vote::Granted,
            Some(Ok(false)) => Vote::Held,
            Some(Err(error)) => Vote::Failed(error),
            None => Vote::TimedOut,
        }
    }
}

impl fmt::Display for Vote {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Vote::Granted => f.write_str("granted"),
            Vote::Held => f.write_str("held by another"),
            Vote::Failed(error) => error.fmt(f),
            Vote::TimedOut => f.write_str("timed out"),
            Vote::Abandoned => f.write_str("not awaited"),
            Vote::NotAsked => f.write_str("not asked"),
        }
    }
}

/// A vote and whose it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeVote {
    /// The node that was asked.
    pub node: NodeId,
    /// What it said.
    pub vote: Vote,
}

impl fmt::Display for NodeVote {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.node, self.vote)
    }
}

/// A node's answer to a release or to an extension.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Answer {
    /// The key was mine, and it was done.
    Done,
    /// The key is another's. It was not touched.
    Foreign,
    /// There was no key.
    Missing,
    /// The node, or the way to it, failed. It may have been done.
    Failed(NodeError),
    /// No answer within the timeout of a node. It may have been done.
    TimedOut,
}

impl Answer {
    pub(crate) fn from_compared(answer: Option<Result<Compared, NodeError>>) -> Answer {
        match answer {
            Some(Ok(Compared::Done)) => Answer::Done,
            Some(Ok(Compared::Foreign)) => Answer::Foreign,
            Some(Ok(Compared::Missing)) => Answer::Missing,
            Some(Err(error)) => Answer::Failed(error),
            None => Answer::TimedOut,
        }
    }

    /// Whether nobody knows what the node did.
    pub fn is_unknown(&self) -> bool {
        matches!(self, Answer::Failed(_) | Answer::TimedOut)
    }
}

impl fmt::Display for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Answer::Done => f.write_str("done"),
            Answer::Foreign => f.write_str("held by another"),
            Answer::Missing => f.write_str("no such key"),
            Answer::Failed(error) => error.fmt(f),
            Answer::TimedOut => f.write_str("timed out"),
        }
    }
}

/// An answer and whose it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeAnswer {
    /// The node that was asked.
    pub node: NodeId,
    /// What it said.
    pub answer: Answer,
}

impl fmt::Display for NodeAnswer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.node, self.answer)
    }
}
