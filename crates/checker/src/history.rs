//! The history of a run: typed events that carry all a judge needs, as JSON Lines.
//!
//! The first line is the [`Header`], every other line an [`Event`]. The SHA-256 of all bytes is the digest.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::clock::{ClockKind, Segment, Time};

/// The version of the format that [`History`] is stored in.
pub const FORMAT: u32 = 1;

/// The name of a host, a key or a command.
pub type Name = Arc<str>;

/// One acquisition attempt: a number that is unique in a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Attempt(pub u64);

/// What the run was, and the bounds by which it is judged.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Header {
    /// [`FORMAT`].
    pub format: u32,
    /// The scenario's name.
    pub scenario: String,
    /// The seed that drew the plan.
    pub seed: u64,
    /// `event` or `turmoil`.
    pub engine: String,
    /// The longest that a call may take in nanoseconds, not counting time in which its caller was stopped.
    pub call_bound: u64,
}

/// A whole run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct History {
    /// What the run was.
    pub header: Header,
    /// What happened, in order of their sequence numbers.
    pub events: Vec<Event>,
}

/// Something that happened at an instant. Of two events of one instant the one with the smaller number came first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Event {
    /// Position in the history, from 0.
    pub seq: u64,
    /// When, in true time.
    pub at: Time,
    /// What.
    #[serde(flatten)]
    pub what: What,
}

/// What can happen. Hosts are called by their names in the scenario.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", rename_all_fields = "kebab-case")]
#[non_exhaustive]
pub enum What {
    // ---- a client and its lock ----
    /// A client called into its lock (acquire, extend or release).
    CallBegun { client: Name, call: u64, operation: Operation, key: Name },
    /// That call returned.
    CallEnded { client: Name, call: u64 },
    /// An attempt began: its first clock reading was taken in this instant.
    AttemptBegun { client: Name, attempt: Attempt, key: Name, clock: ClockKind, reading: u64 },
    /// The attempt won: the client was told that it holds the key until its own clock reaches `deadline`.
    Acquired {
        client: Name,
        attempt: Attempt,
        key: Name,
        /// The value that stands at the nodes, in hex.
        value: String,
        /// The fencing token, if the lock gives one.
        token: Option<u64>,
        /// A reading of `clock`, in nanoseconds; `None` for a lock that states no deadline.
        deadline: Option<u64>,
        clock: ClockKind,
        /// How each node answered.
        votes: Vec<Vote>,
    },
    /// The holder was told that its lease now lasts to `deadline`.
    Extended { client: Name, attempt: Attempt, key: Name, deadline: Option<u64>, clock: ClockKind, votes: Vec<Vote> },
    /// The attempt failed.
    Refused { client: Name, attempt: Attempt, key: Name, reason: String, votes: Vec<Vote> },
    /// The holder was told that it holds the key no longer.
    Lost { client: Name, attempt: Attempt, key: Name },
    /// The client entered its critical section, in the same poll as `acquired`.
    Entered { client: Name, attempt: Attempt, key: Name },
    /// The client left its critical section.
    Left { client: Name, attempt: Attempt, key: Name },
    /// The client called release.
    ReleaseCalled { client: Name, attempt: Attempt, key: Name },
    /// What release answered.
    ReleaseEnded { client: Name, attempt: Attempt, key: Name, outcome: ReleaseOutcome },

    // ---- a node ----
    /// A node carried out a command of a client on a lock key, or removed an expired key itself (no `sender`).
    Command {
        node: Name,
        /// The client host that sent it; `None` for the node's own expiry.
        sender: Option<Name>,
        /// The command's name, such as `SET` or `EVALSHA`.
        command: Name,
        key: Name,
        did: Did,
        /// The client that created the key that the command met, before the command.
        creator: Option<Creator>,
        /// When the key expires after the command, in milliseconds of the node's wall clock since the Unix epoch.
        expires_at: Option<u64>,
    },

    // ---- the resource ----
    /// The resource saw a token for the first time and raised its high-water mark.
    Registered { resource: Name, key: Name, client: Name, attempt: Attempt, token: u64 },
    /// The resource answered a read.
    ReadApplied { resource: Name, key: Name, client: Name, attempt: Attempt, operation: u64, token: Option<u64>, version: u64 },
    /// The resource applied a write.
    WriteApplied {
        resource: Name,
        key: Name,
        client: Name,
        attempt: Attempt,
        /// The operation's id; a resend has the same.
        operation: u64,
        token: Option<u64>,
        /// The version that the client computed its value from.
        read_version: u64,
        /// The resource's version before and after.
        before: u64,
        after: u64,
    },
    /// The resource refused an operation for its token.
    OperationRefused {
        resource: Name,
        key: Name,
        client: Name,
        attempt: Attempt,
        operation: u64,
        token: Option<u64>,
        /// The highest token that the resource had registered.
        registered: u64,
        write: bool,
    },

    // ---- hosts, network, faults ----
    /// A host and what it is; one for each host at the start of the run.
    Host { host: Name, role: Role },
    /// From now on the host's clocks run so. One for each host at the start of the run.
    Clock { host: Name, segment: Segment },
    /// All of the host stopped.
    Paused { host: Name },
    /// The host goes on.
    Resumed { host: Name },
    /// The host's process ended.
    Crashed { host: Name, how: Crash },
    /// The host's process started again.
    Started { host: Name },
    /// No message passes between the two any more (`hold`: they arrive after the heal).
    Cut { from: Name, to: Name, how: Cut },
    /// Messages pass again.
    Healed { from: Name, to: Name },
    /// Messages between the two take `extra` nanoseconds longer; 0 ends it.
    Delayed { from: Name, to: Name, extra: u64 },
    /// A fault of the plan took effect.
    Fault {
        /// Its place in the plan, from 0.
        fault: u32,
        /// `pause`, `crash`, `partition` and so on.
        family: Name,
        hosts: Vec<Name>,
        /// The event that it was set on, if it was not set on a time.
        on: Option<String>,
    },
    /// The program of a client came to its end.
    Finished { client: Name },
    /// The run ended.
    End { reason: EndReason },
}

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
}

/// Who created a key.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
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
