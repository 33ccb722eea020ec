//! The history of a run: typed events that carry all a judge needs.
//!
//! As JSON Lines the first line is the [`Header`] and every other line an [`Event`]; see `jsonl`.

mod parts;

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::clock::{ClockKind, Segment, Time};

pub use parts::{
    Answer, Crash, Creator, Cut, Did, EndReason, Operation, ReleaseOutcome, Role, Vote,
};

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
    /// The longest that anybody may wait for a lock that nobody holds once all faults are over, in nanoseconds.
    pub acquire_bound: u64,
    /// The longest time that a key is given to live, in nanoseconds.
    pub largest_ttl: u64,
    /// How long a client waits for one node, in nanoseconds.
    pub node_timeout: u64,
    /// The longest that a message takes one way where no fault delays it, in nanoseconds.
    pub latency: u64,
    /// How many nodes a lock needs.
    pub quorum: u32,
}

/// A whole run.
///
/// [`History::validate`] says what a history must be; whoever records one keeps to it.
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
#[serde(
    tag = "kind",
    rename_all = "kebab-case",
    rename_all_fields = "kebab-case"
)]
#[non_exhaustive]
pub enum What {
    // ---- a client and its lock ----
    /// A client called into its lock (acquire, extend or release).
    CallBegun {
        /// The client's host.
        client: Name,
        /// The call's number, unique for this client.
        call: u64,
        /// What it asks for.
        operation: Operation,
        /// The lock's key.
        key: Name,
        /// Whether it is a call of the probe client, which tries alone after the heal.
        #[serde(default, skip_serializing_if = "is_false")]
        probe: bool,
    },
    /// That call returned.
    CallEnded {
        /// The client's host.
        client: Name,
        /// The call's number, unique for this client.
        call: u64,
    },
    /// An attempt began: its first clock reading was taken in this instant.
    AttemptBegun {
        /// The client's host.
        client: Name,
        /// The attempt, which is the acquisition once it has won.
        attempt: Attempt,
        /// The lock's key.
        key: Name,
        /// The clock that the lock measures by.
        clock: ClockKind,
        /// What that clock showed, in nanoseconds.
        reading: u64,
    },
    /// The attempt won: the client was told that it holds the key until its own clock reaches `deadline`.
    Acquired {
        /// The client's host.
        client: Name,
        /// The attempt, which is the acquisition once it has won.
        attempt: Attempt,
        /// The lock's key.
        key: Name,
        /// The value that stands at the nodes, in hex.
        value: String,
        /// The fencing token, if the lock gives one.
        token: Option<u64>,
        /// A reading of `clock`, in nanoseconds; `None` for a lock that states no deadline.
        deadline: Option<u64>,
        /// The clock that the lock measures by.
        clock: ClockKind,
        /// How each node answered.
        votes: Vec<Vote>,
    },
    /// The holder was told that its lease now lasts to `deadline`.
    Extended {
        /// The client's host.
        client: Name,
        /// The attempt, which is the acquisition once it has won.
        attempt: Attempt,
        /// The lock's key.
        key: Name,
        /// A reading of `clock`, in nanoseconds; `None` for a lock that states no deadline.
        deadline: Option<u64>,
        /// The clock that the lock measures by.
        clock: ClockKind,
        /// How each node answered.
        votes: Vec<Vote>,
    },
    /// The attempt failed.
    Refused {
        /// The client's host.
        client: Name,
        /// The attempt, which is the acquisition once it has won.
        attempt: Attempt,
        /// The lock's key.
        key: Name,
        /// Why.
        reason: String,
        /// How each node answered.
        votes: Vec<Vote>,
    },
    /// The holder was told that it holds the key no longer.
    Lost {
        /// The client's host.
        client: Name,
        /// The attempt, which is the acquisition once it has won.
        attempt: Attempt,
        /// The lock's key.
        key: Name,
    },
    /// The client entered its critical section, in the same poll as `acquired`.
    Entered {
        /// The client's host.
        client: Name,
        /// The attempt, which is the acquisition once it has won.
        attempt: Attempt,
        /// The lock's key.
        key: Name,
    },
    /// The client left its critical section.
    Left {
        /// The client's host.
        client: Name,
        /// The attempt, which is the acquisition once it has won.
        attempt: Attempt,
        /// The lock's key.
        key: Name,
    },
    /// The client called release.
    ReleaseCalled {
        /// The client's host.
        client: Name,
        /// The attempt, which is the acquisition once it has won.
        attempt: Attempt,
        /// The lock's key.
        key: Name,
    },
    /// What release answered.
    ReleaseEnded {
        /// The client's host.
        client: Name,
        /// The attempt, which is the acquisition once it has won.
        attempt: Attempt,
        /// The lock's key.
        key: Name,
        /// The answer.
        outcome: ReleaseOutcome,
    },

    // ---- a node ----
    /// A node carried out a command on a lock key, or removed a key by itself.
    Command {
        /// The node's host.
        node: Name,
        /// The host that sent it; `None` for the node's own expiry or eviction, and for an operator's command.
        sender: Option<Name>,
        /// The command's name, such as `SET` or `EVALSHA`.
        command: Name,
        /// The lock's key.
        key: Name,
        /// What it did to the key.
        did: Did,
        /// The client that created the key that the command met, before the command.
        creator: Option<Creator>,
        /// When the key expires after the command, in milliseconds of the node's wall clock since the Unix epoch.
        expires_at: Option<u64>,
    },
    /// A sentinel or an operator made the node a primary.
    Promoted {
        /// The node's host.
        node: Name,
    },
    /// A sentinel or an operator made the node a replica: from here on it takes over the keys of another.
    Demoted {
        /// The node's host.
        node: Name,
        /// Its primary.
        of: Name,
    },

    // ---- the resource ----
    /// The resource saw a token for the first time and raised its high-water mark.
    Registered {
        /// The resource's host.
        resource: Name,
        /// The lock's key.
        key: Name,
        /// The client's host.
        client: Name,
        /// The attempt, which is the acquisition once it has won.
        attempt: Attempt,
        /// The fencing token.
        token: u64,
    },
    /// The resource answered a read.
    ReadApplied {
        /// The resource's host.
        resource: Name,
        /// The lock's key.
        key: Name,
        /// The client's host.
        client: Name,
        /// The attempt, which is the acquisition once it has won.
        attempt: Attempt,
        /// The operation's id; a resend has the same.
        operation: u64,
        /// The fencing token, if there is one.
        token: Option<u64>,
        /// The version that was read.
        version: u64,
    },
    /// The resource applied a write.
    WriteApplied {
        /// The resource's host.
        resource: Name,
        /// The lock's key.
        key: Name,
        /// The client's host.
        client: Name,
        /// The attempt, which is the acquisition once it has won.
        attempt: Attempt,
        /// The operation's id; a resend has the same.
        operation: u64,
        /// The fencing token, if there is one.
        token: Option<u64>,
        /// The version that the client computed its value from.
        read_version: u64,
        /// The resource's version before the write.
        before: u64,
        /// The resource's version after the write.
        after: u64,
    },
    /// The resource refused an operation for its token.
    OperationRefused {
        /// The resource's host.
        resource: Name,
        /// The lock's key.
        key: Name,
        /// The client's host.
        client: Name,
        /// The attempt, which is the acquisition once it has won.
        attempt: Attempt,
        /// The operation's id; a resend has the same.
        operation: u64,
        /// The fencing token, if there is one.
        token: Option<u64>,
        /// The highest token that the resource had registered.
        registered: u64,
        /// Whether it was a write.
        write: bool,
    },
    /// What all accounts of the resource hold together: at the start and after each transaction that it applied.
    Total {
        /// The resource's host.
        resource: Name,
        /// The lock's key.
        key: Name,
        /// The sum.
        total: i64,
    },

    // ---- hosts, network, faults ----
    /// A host and what it is; one for each host at the start of the run.
    Host {
        /// The host.
        host: Name,
        /// What it is for.
        role: Role,
    },
    /// From now on the host's clocks run so. One for each host at the start of the run.
    Clock {
        /// The host.
        host: Name,
        /// The stretch that begins in this instant: its `from` is the event's time.
        segment: Segment,
    },
    /// All of the host stopped.
    Paused {
        /// The host.
        host: Name,
    },
    /// The host goes on.
    Resumed {
        /// The host.
        host: Name,
    },
    /// The host's process ended.
    Crashed {
        /// The host.
        host: Name,
        /// In which way.
        how: Crash,
    },
    /// The host's process started again.
    Started {
        /// The host.
        host: Name,
    },
    /// No message passes between the two any more (`hold`: they arrive after the heal).
    Cut {
        /// The sending side.
        from: Name,
        /// The receiving side.
        to: Name,
        /// In which way.
        how: Cut,
    },
    /// Messages pass again.
    Healed {
        /// The sending side.
        from: Name,
        /// The receiving side.
        to: Name,
    },
    /// Messages between the two take `extra` nanoseconds longer; 0 ends it.
    Delayed {
        /// The sending side.
        from: Name,
        /// The receiving side.
        to: Name,
        /// In nanoseconds; 0 ends it.
        extra: u64,
    },
    /// The connections between the two were reset.
    Reset {
        /// The one side.
        from: Name,
        /// The other side.
        to: Name,
    },
    /// From here on every fault is over: nodes are started again, what was held is delivered, clocks show true time
    /// at the true rate.
    HealBegun {},
    /// A fault of the plan took effect.
    Fault {
        /// Its place in the plan, from 0.
        fault: u32,
        /// `pause`, `crash`, `partition` and so on.
        family: Name,
        /// What it was meant to hit.
        hosts: Vec<Name>,
        /// The event that it was set on, if it was not set on a time.
        on: Option<String>,
    },
    /// A fault of the plan ended.
    FaultEnded {
        /// Its place in the plan, from 0.
        fault: u32,
    },
    /// The program of a client came to its end.
    Finished {
        /// The client's host.
        client: Name,
    },
    /// The run ended.
    End {
        /// Why.
        reason: EndReason,
    },
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde passes a reference"
)]
fn is_false(flag: &bool) -> bool {
    !*flag
}
