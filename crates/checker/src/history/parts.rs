//! The words that a history's events are made of: how a node voted, what a command did, how a process ended.

use serde::{Deserialize, Serialize};

use super::{Attempt, Name};

/// What a client asks of its lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Operation {
    /// Take the lock.
    Acquire,
    /// Prolong the lease.
    Extend,
    /// Give the lock back.
    Release,
}

/// How one node voted on an attempt.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Vote {
    /// The node's name.
    pub node: Name,
    /// What it answered.
    pub answer: Answer,
}

/// A node's answer to an attempt, for the record.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Answer {
    /// The key was set.
    Granted,
    /// The key was there already.
    Taken,
    /// No answer in time.
    TimedOut,
    /// An error, in words.
    Error(String),
    /// The attempt was over before this node was asked.
    NotAsked,
}

/// What a release came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ReleaseOutcome {
    /// A majority of the nodes removed the key.
    Released,
    /// The key was gone already.
    Expired,
    /// The key belongs to another by now.
    Foreign,
    /// Too few nodes answered to tell.
    Unknown,
}

/// What a command did to a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Did {
    /// Looked at a live key.
    Read,
    /// Created the key.
    Created,
    /// Replaced the value of a live key.
    Overwritten,
    /// Removed a live key.
    Deleted,
    /// Changed when a live key expires.
    ExpiryChanged,
    /// Left a live key as it was because a condition failed.
    Refused,
    /// Found no key.
    Missing,
    /// Removed a key whose time had come.
    Expired,
    /// Removed a live key to make room, by the node's maxmemory policy.
    Evicted,
}

/// Who created a key.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Creator {
    /// The client host.
    pub client: Name,
    /// Its attempt at the time.
    pub attempt: Option<Attempt>,
}

/// What a host is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Role {
    /// Runs a lock client.
    Client,
    /// Runs a Redis node.
    Node,
    /// The protected resource.
    Resource,
    /// A durable sequence that gives fencing tokens.
    Sequence,
    /// Watches the nodes and promotes a replica.
    Sentinel,
}

/// How a process ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Crash {
    /// `kill -9`: the page cache survives.
    Kill,
    /// Power loss: only what was fsynced survives.
    Power,
    /// A clean SHUTDOWN.
    Shutdown,
}

/// What becomes of messages on a cut link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Cut {
    /// They arrive after the heal.
    Hold,
    /// They are lost, and after the heal the connections that lost them are reset.
    Drop,
}

/// Why a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum EndReason {
    /// Every client's program ended.
    Finished,
    /// The scenario's horizon came first.
    Horizon,
    /// A busy loop, or a world in which nothing could happen any more.
    Stuck,
}
