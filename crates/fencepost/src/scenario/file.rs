//! The format of scenario files: one plain struct a table, so that an error points at the value itself.
//!
//! Durations are strings such as `"250ms"`; where a field is a [`Draw`], a range `["5s", "40s"]` may stand instead,
//! from which the seed draws. Unknown keys are errors. Hosts are the clients by their names, the nodes `n1` to `nN`,
//! the resource `db`, the sequence `seq` if `system.token` is a sequence, and the client `probe` if there is `heal-at`.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use fencepost_checker::history::{Crash as How, Cut};
use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use toml::Spanned;

use super::swarm;
use super::value::{Choice, Draw, Ppm, Step, exact, exact_or_none};

/// A whole file but for its `[[flip]]`s, which are further files laid over it.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(super) struct File {
    pub(super) claim: Spanned<String>,
    pub(super) document: Spanned<String>,
    pub(super) seed: Option<u64>,
    #[serde(default = "default_horizon", deserialize_with = "exact")]
    pub(super) horizon: Duration,
    #[serde(default = "default_settle", deserialize_with = "exact")]
    pub(super) settle: Duration,
    #[serde(default, deserialize_with = "exact_or_none")]
    pub(super) call_bound: Option<Duration>,
    #[serde(default, deserialize_with = "exact_or_none")]
    pub(super) acquire_bound: Option<Duration>,
    #[serde(default, deserialize_with = "exact_or_none")]
    pub(super) heal_at: Option<Duration>,
    pub(super) system: Spanned<System>,
    #[serde(default)]
    pub(super) node: Node,
    #[serde(default)]
    pub(super) network: Network,
    #[serde(default)]
    pub(super) link: Vec<Spanned<Link>>,
    #[serde(default)]
    pub(super) clock: Vec<Clock>,
    #[serde(default)]
    pub(super) resource: Resource,
    #[serde(default)]
    pub(super) workload: WorkloadTable,
    #[serde(default)]
    pub(super) client: Vec<Client>,
    #[serde(default)]
    pub(super) pause: Vec<Spanned<Pause>>,
    #[serde(default)]
    pub(super) crash: Vec<Spanned<Crash>>,
    #[serde(default)]
    pub(super) partition: Vec<Spanned<Partition>>,
    #[serde(default)]
    pub(super) delay: Vec<Spanned<Delay>>,
    #[serde(default)]
    pub(super) late_packet: Vec<Spanned<LatePacket>>,
    #[serde(default)]
    pub(super) reset: Vec<Spanned<Reset>>,
    #[serde(default)]
    pub(super) clock_step: Vec<Spanned<ClockStep>>,
    #[serde(default)]
    pub(super) clock_drift: Vec<Spanned<ClockDrift>>,
    #[serde(default)]
    pub(super) clock_slew: Vec<Spanned<ClockSlew>>,
    #[serde(default)]
    pub(super) client_crash: Vec<Spanned<ClientCrash>>,
    #[serde(default)]
    pub(super) evict: Vec<Spanned<Evict>>,
    #[serde(default)]
    pub(super) flush: Vec<Spanned<Flush>>,
    #[serde(default)]
    pub(super) operate: Vec<Spanned<Operate>>,
    #[serde(default)]
    pub(super) fsync_stall: Vec<Spanned<FsyncStall>>,
    pub(super) swarm: Option<swarm::Table>,
    #[serde(default)]
    pub(super) expect: ExpectTable,
}

fn default_horizon() -> Duration {
    Duration::from_secs(120)
}

fn default_settle() -> Duration {
    Duration::from_secs(1)
}

/// `[system]`: the lock under test.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct System {
    /// Which lock.
    pub kind: Kind,
    /// How many nodes; 1 for `single`, 2 for `failover`, of which `n1` begins as the primary, 5 for `redlock` if left out.
    nodes: Option<Spanned<u32>>,
    /// The time to live of a key; 30 s if left out, as in 000.
    #[serde(default = "default_ttl")]
    pub ttl: Draw<Duration>,
    /// Whether the nodes are asked one after another, as the documents do it, or all at once.
    #[serde(default)]
    pub order: Choice<Order>,
    /// The clock by which a client measures elapsed time and its deadline.
    #[serde(default)]
    pub elapsed: Elapsed,
    /// How long one node may take; 50 ms if left out, the upper end of what 000 and 002 name.
    #[serde(default = "default_node_timeout")]
    pub node_timeout: Draw<Duration>,
    /// The part of the TTL that is taken off for drift, in parts per million; 10,000 (1 %) if left out.
    #[serde(default = "default_drift_ppm")]
    pub drift_ppm: u32,
    /// What is taken off besides; 2 ms if left out.
    #[serde(default = "default_drift_constant", deserialize_with = "exact")]
    pub drift_constant: Duration,
    /// Where fencing tokens come from.
    #[serde(default)]
    pub token: Token,
    /// How a holder gives its lock back. What a *failed attempt* leaves is removed as `failed-attempt` says.
    #[serde(default)]
    pub release: Release,
    /// How a node is asked for the key.
    #[serde(default)]
    pub acquire: Acquire,
    /// How what a refused attempt left is removed.
    #[serde(default)]
    pub failed_attempt: FailedAttempt,
    /// What a key holds.
    #[serde(default)]
    pub value: LockValue,
    /// Whether and how a holder renews its lock each third of the TTL until it calls release.
    #[serde(default)]
    pub extend: Choice<Extend>,
    extend_late: Option<Spanned<bool>>,
    /// Sentinels that watch over a `failover` pair: `s1` to `sN`; three if left out.
    pub(crate) sentinels: Option<Spanned<u32>>,
    /// Sentinel's `down-after-milliseconds`; its default of 30 s if left out.
    pub(crate) down_after: Option<Spanned<Draw<Duration>>>,
    /// Sentinel's `failover-timeout`; its default of 180 s if left out.
    pub(crate) failover_timeout: Option<Spanned<Draw<Duration>>>,
    /// `min-replicas-to-write` of a `failover` pair, with a `min-replicas-max-lag` of a second; none if left out.
    pub(crate) min_replicas: Option<Spanned<u32>>,
    /// How many replicas must acknowledge a lock (`WAIT`) before it counts as granted; none if left out.
    pub(crate) wait: Option<Spanned<u32>>,
}

impl System {
    /// How many nodes.
    #[must_use]
    pub fn nodes(&self) -> u32 {
        let default = match self.kind {
            Kind::Single => 1,
            Kind::Failover => 2,
            Kind::Redlock => 5,
        };
        self.nodes
            .as_ref()
            .map_or(default, |nodes| *nodes.get_ref())
    }

    /// `extend-late`: a renewal is sent whatever the local clock says, and judged by the nodes' answers alone. A client
    /// that looks at its clock first stops by itself, and the nodes are never asked. With `extend = "set-xx"` so it is
    /// in any case.
    #[must_use]
    pub fn extend_late(&self) -> bool {
        self.extend_late
            .as_ref()
            .is_some_and(|late| *late.get_ref())
    }

    /// Where the file says `extend-late = true` of renewals that there are not.
    pub(super) fn idle_extend_late(&self) -> Option<std::ops::Range<usize>> {
        let late = self.extend_late.as_ref().filter(|late| *late.get_ref())?;
        self.extend.is_always(Extend::None).then(|| late.span())
    }

    /// How many sentinels.
    #[must_use]
    pub fn sentinels(&self) -> u32 {
        let default = if self.kind == Kind::Failover { 3 } else { 0 };
        self.sentinels
            .as_ref()
            .map_or(default, |number| *number.get_ref())
    }

    /// What only a `failover` system has, if the file gives any of it.
    pub(super) fn failover_keys(&self) -> Option<(&'static str, std::ops::Range<usize>)> {
        let span = |key: &'static str, span: Option<std::ops::Range<usize>>| Some((key, span?));
        span("sentinels", self.sentinels.as_ref().map(Spanned::span))
            .or_else(|| span("down-after", self.down_after.as_ref().map(Spanned::span)))
            .or_else(|| {
                span(
                    "failover-timeout",
                    self.failover_timeout.as_ref().map(Spanned::span),
                )
            })
            .or_else(|| {
                span(
                    "min-replicas",
                    self.min_replicas.as_ref().map(Spanned::span),
                )
            })
            .or_else(|| span("wait", self.wait.as_ref().map(Spanned::span)))
    }

    pub(super) fn nodes_span(&self) -> Option<std::ops::Range<usize>> {
        self.nodes.as_ref().map(Spanned::span)
    }
}

fn default_ttl() -> Draw<Duration> {
    Draw::fixed(Duration::from_secs(30))
}

fn default_node_timeout() -> Draw<Duration> {
    Draw::fixed(Duration::from_millis(50))
}

fn default_drift_ppm() -> u32 {
    10_000
}

fn default_drift_constant() -> Duration {
    Duration::from_millis(2)
}

/// Which lock is under test.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// One Redis server.
    Single,
    /// N independent masters and a majority.
    Redlock,
    /// A primary and its replicas, and sentinels that promote one of them.
    Failover,
}

/// In which order the nodes are asked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Order {
    /// One after another.
    #[default]
    Sequential,
    /// All at once.
    Parallel,
}

/// How a client measures the time that an attempt took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Elapsed {
    /// By its monotonic clock.
    #[default]
    Monotonic,
    /// By its wall clock, which may be stepped.
    Wall,
    /// By its wall clock, and a negative time, where that was stepped back, is kept: it makes the validity longer.
    WallSigned,
    /// Not at all: the second clock reading is left out.
    Unchecked,
}

/// Where fencing tokens come from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Token {
    /// There are none.
    #[default]
    None,
    /// From one counter, by INCR, at the server that has the lock; fetched before the decision (000).
    Incr,
    /// From the durable sequence at the host `seq`, fetched before the decision.
    Sequence,
    /// From the same sequence, and wrongly: only after the decision, when the holder may be late already.
    SequenceAfter,
}

impl Token {
    /// Whether there is a sequence for them.
    pub(crate) fn is_sequence(self) -> bool {
        matches!(self, Self::Sequence | Self::SequenceAfter)
    }
}

/// How a holder gives its lock back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Release {
    /// By the script that compares and deletes in one step.
    #[default]
    Lua,
    /// By DEL, whoever owns the key.
    Del,
    /// By GET and then DEL.
    GetDel,
}

/// How a node is asked for the key.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Acquire {
    /// By one command, `SET key value NX PX ttl`.
    #[default]
    SetNxPx,
    /// By SETNX and then PEXPIRE. Who dies in between leaves a key that never expires.
    SetnxThenExpire,
}

/// How what a refused attempt left at the nodes is removed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FailedAttempt {
    /// By the script that compares and deletes in one step.
    #[default]
    Lua,
    /// By DEL to all nodes, as 000 has it in step 6, also to those where another holds the key.
    Del,
}

/// What a key holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LockValue {
    /// 20 random bytes, fresh for each attempt.
    #[default]
    Random,
    /// The wall clock in microseconds and the client's name, which 002 calls simpler and less safe.
    TimeAndId,
    /// The client's name, the same for all of its attempts: wrong, because a request of an attempt that is over is then a
    /// request of the next one, too.
    Id,
}

/// Whether and how a holder renews its lock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Extend {
    /// Not at all.
    #[default]
    None,
    /// By the script that compares and sets the time to live in one step, within the old validity.
    Lua,
    /// By `SET key value XX PX ttl`, as 000 has it: it does not ask whose key it is, nor what time it is.
    SetXx,
}

/// `[node]`: every Redis node.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Node {
    /// What survives a crash.
    #[serde(default)]
    pub persistence: Choice<Persistence>,
    /// When the append-only file is forced to the disk; only with `persistence = "aof"`, and `always` if left out.
    pub(super) fsync: Option<Spanned<Choice<Fsync>>>,
}

impl Node {
    /// When the append-only file is forced to the disk.
    #[must_use]
    pub fn fsync(&self) -> Choice<Fsync> {
        self.fsync
            .as_ref()
            .map(|fsync| fsync.get_ref().clone())
            .unwrap_or_default()
    }
}

/// What of a node survives a crash.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Persistence {
    /// Nothing.
    #[default]
    None,
    /// What the append-only file holds.
    Aof,
}

/// When the append-only file is forced to the disk.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Fsync {
    /// Before each reply.
    #[default]
    Always,
    /// In the background, a second or more after the last time. A lone write is safe at once, one that follows another
    /// within a second is not.
    Everysec,
    /// When the kernel sees fit, after about 30 s.
    No,
}

/// `[network]`: every link that no `[[link]]` names.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Network {
    /// How long a message takes one way; 0.5 to 2 ms if left out. Engine `event` draws one for each message, turmoil
    /// one for each link.
    #[serde(default = "default_latency")]
    pub latency: Draw<Duration>,
}

impl Default for Network {
    fn default() -> Self {
        Self {
            latency: default_latency(),
        }
    }
}

fn default_latency() -> Draw<Duration> {
    Draw::range(Duration::from_micros(500), Duration::from_millis(2)).expect("0.5 is less than 2")
}

/// `[[link]]`: two hosts whose messages take another time.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Link {
    /// The two hosts.
    pub between: (Spanned<String>, Spanned<String>),
    /// How long a message takes one way.
    pub latency: Draw<Duration>,
}

/// `[[clock]]`: a host whose clocks do not run at the rate of true time.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Clock {
    /// The host.
    pub host: Spanned<String>,
    /// How much faster than true time, in parts per million.
    pub rate_ppm: Draw<Ppm>,
}

/// `[resource]`: the database that the lock protects, at the host `db`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Resource {
    pub(super) fencing: Option<Spanned<Fencing>>,
}

impl Resource {
    /// How it looks at tokens.
    #[must_use]
    pub fn fencing(&self) -> Fencing {
        self.fencing
            .as_ref()
            .map_or(Fencing::None, |fencing| *fencing.get_ref())
    }
}

/// How the resource looks at fencing tokens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Fencing {
    /// Not at all.
    #[default]
    None,
    /// It refuses tokens smaller than the largest that it has seen, reads included.
    Token,
    /// By 000's own statement, `WHERE last_fencing_token < ?`, on writes only. It refuses a holder's second write.
    TokenStrict,
    /// It would not know how: an API of somebody else's. Tokens reach it, and it takes every operation as with `none`.
    External,
}

impl Fencing {
    /// Whether it looks at tokens at all.
    #[must_use]
    pub const fn checks(self) -> bool {
        matches!(self, Self::Token | Self::TokenStrict)
    }
}

/// `[workload]`: what clients do at the resource while they hold the lock.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(super) struct WorkloadTable {
    #[serde(default)]
    pub(super) kind: Workload,
}

/// What clients do at the resource while they hold the lock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Workload {
    /// They read a number, think, and write one more.
    #[default]
    Counter,
    /// They read the balances of two accounts, think, and write both anew, with an amount moved from one to the other.
    /// Both writes and the check of the token are one transaction.
    Transfer,
}

/// `[[client]]`: a program that acquires, reads, thinks, writes, holds on and releases.
///
/// Unless `cancel-on-loss` is set it never looks at its clock between acquiring and releasing: a client that stops by
/// itself would test nothing.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Client {
    /// Its name: lower-case letters, digits and hyphens.
    pub name: Spanned<String>,
    /// When it starts; at once if left out.
    #[serde(default = "zero")]
    pub start: Draw<Duration>,
    /// How often it goes through its program; once if left out.
    #[serde(default = "one_round")]
    pub rounds: Spanned<u32>,
    /// The time between read and write; 10 ms if left out.
    #[serde(default = "ten_ms")]
    pub think: Draw<Duration>,
    /// The time between write and release; 10 ms if left out.
    #[serde(default = "ten_ms")]
    pub hold: Draw<Duration>,
    /// Whether it stops and leaves when it is told that its lock is lost, at the latest at the deadline by its own
    /// clock. An operation that it has sent is waited for, so it ends between two steps.
    #[serde(default)]
    pub cancel_on_loss: bool,
    /// How many attempts it makes in a round before it goes on to the next one; without limit if left out.
    pub tries: Option<Spanned<u32>>,
    /// The delay between two attempts, drawn anew each time; 0 to 50 ms if left out.
    #[serde(default = "default_retry")]
    pub retry: Draw<Duration>,
}

impl Client {
    /// How long a client thinks, holds and waits between two attempts if the file does not say.
    pub(crate) fn defaults() -> (Draw<Duration>, Draw<Duration>, Draw<Duration>) {
        (ten_ms(), ten_ms(), default_retry())
    }
}

fn zero() -> Draw<Duration> {
    Draw::fixed(Duration::ZERO)
}

fn one_round() -> Spanned<u32> {
    Spanned::new(0..0, 1)
}

fn ten_ms() -> Draw<Duration> {
    Draw::fixed(Duration::from_millis(10))
}

fn default_retry() -> Draw<Duration> {
    Draw::range(Duration::ZERO, Duration::from_millis(50)).expect("0 is less than 50")
}

/// When a fault takes effect, as every fault table spells it. Exactly one of `at` and `on`.
#[derive(Clone, Debug)]
pub(super) struct When {
    pub(super) at: Option<Spanned<Draw<Duration>>>,
    pub(super) on: Option<Spanned<String>>,
    pub(super) nth: Option<Spanned<u32>>,
    pub(super) after: Option<Spanned<Draw<Duration>>>,
}

/// Declares the table of one kind of fault: its own keys, and those of [`When`].
///
/// `#[serde(flatten)]` would lose the place of every error in the table.
macro_rules! fault_table {
    ($(#[$doc:meta])* $name:ident { $($(#[$attribute:meta])* $field:ident: $type:ty,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Debug, Deserialize)]
        #[serde(rename_all = "kebab-case", deny_unknown_fields)]
        pub(super) struct $name {
            $($(#[$attribute])* pub(super) $field: $type,)*
            /// A time since the start of the run.
            at: Option<Spanned<Draw<Duration>>>,
            /// An event: `HOST VERB`, or `HOST VERB to PEER` and `HOST VERB from PEER` for the events of servers.
            on: Option<Spanned<String>>,
            /// Which occurrence of the event; the first if left out.
            nth: Option<Spanned<u32>>,
            /// How long after the event; not at all if left out.
            after: Option<Spanned<Draw<Duration>>>,
        }

        impl $name {
            pub(super) fn when(&self) -> When {
                let Self { at, on, nth, after, .. } = self.clone();
                When { at, on, nth, after }
            }
        }
    };
}

fault_table! {
    /// `[[pause]]`: all of a host stops for a time; its clocks go on.
    Pause {
        host: Spanned<String>,
        /// How long, in true time.
        r#for: Draw<Duration>,
        /// The machine sleeps: its monotonic clock stands still too.
        suspend: Option<bool>,
    }
}

fault_table! {
    /// `[[crash]]`: a host's process ends.
    Crash {
        host: Spanned<String>,
        /// `kill`, `power` or `shutdown`.
        how: How,
        /// When it is started again; never if left out.
        down_for: Option<Draw<Duration>>,
        /// It is started no earlier than so long after the crash by its own wall clock (002, edit 1). Needs `down-for`.
        delayed_until: Option<Spanned<Draw<Duration>>>,
    }
}

fault_table! {
    /// `[[client-crash]]`: a client's process is killed, with all that it runs.
    ClientCrash {
        host: Spanned<String>,
        /// When its program begins anew; never if left out.
        down_for: Option<Draw<Duration>>,
    }
}

fault_table! {
    /// `[[partition]]`: no message passes between two groups of hosts.
    Partition {
        between: Spanned<(Vec<Spanned<String>>, Vec<Spanned<String>>)>,
        /// `drop` or `hold`.
        how: Cut,
        /// Only messages from the first group to the second are lost. Not on turmoil; needs `how = "drop"`.
        one_way: Option<Spanned<bool>>,
        /// How long. At most one of `for` and `until`; to the end of the run without either.
        r#for: Option<Spanned<Draw<Duration>>>,
        /// The event at which it heals.
        until: Option<Spanned<String>>,
    }
}

fault_table! {
    /// `[[delay]]`: messages between two groups of hosts take longer.
    Delay {
        between: Spanned<(Vec<Spanned<String>>, Vec<Spanned<String>>)>,
        /// By how much, one way.
        by: Draw<Duration>,
        /// How long. At most one of `for` and `until`; to the end of the run without either.
        r#for: Option<Spanned<Draw<Duration>>>,
        /// The event at which it ends.
        until: Option<Spanned<String>>,
    }
}

fault_table! {
    /// `[[late-packet]]`: the next message from one host to another is late, and what follows it on its connection.
    LatePacket {
        from: Spanned<String>,
        to: Spanned<String>,
        /// By how much.
        by: Draw<Duration>,
    }
}

fault_table! {
    /// `[[reset]]`: the connections between two groups of hosts are reset.
    Reset {
        between: Spanned<(Vec<Spanned<String>>, Vec<Spanned<String>>)>,
    }
}

fault_table! {
    /// `[[clock-drift]]`: both clocks of a host run at another rate.
    ClockDrift {
        host: Spanned<String>,
        /// How much faster than before, in parts per million.
        ppm: Draw<Ppm>,
        /// How long; to the end of the run if left out.
        r#for: Option<Draw<Duration>>,
    }
}

fault_table! {
    /// `[[clock-slew]]`: a correction spread over time; both clocks run at another rate until it is complete.
    ClockSlew {
        host: Spanned<String>,
        /// By how much, such as `"400ms"` or `"-400ms"`.
        by: Draw<Step>,
        /// How fast, in parts per million: 500 for ntpd, 83,333 for chrony by default.
        ppm: Spanned<u32>,
    }
}

fault_table! {
    /// `[[evict]]`: a node drops the lock's key as its maxmemory policy would.
    Evict {
        host: Spanned<String>,
    }
}

fault_table! {
    /// `[[flush]]`: an operator flushes a node.
    Flush {
        host: Spanned<String>,
    }
}

fault_table! {
    /// `[[operate]]`: an operator's command reaches a node, such as `["SET", "other", "1"]`.
    Operate {
        host: Spanned<String>,
        /// The command and its arguments.
        command: Spanned<Vec<String>>,
    }
}

fault_table! {
    /// `[[fsync-stall]]`: a node's disk does not answer.
    FsyncStall {
        host: Spanned<String>,
        /// How long.
        r#for: Draw<Duration>,
    }
}

fault_table! {
    /// `[[clock-step]]`: a host's wall clock jumps.
    ClockStep {
        host: Spanned<String>,
        /// By how much, such as `"30s"` or `"-10s"`.
        by: Draw<Step>,
    }
}

/// What a scenario expects of a property.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Expectation {
    /// It holds, and was put to the test.
    Holds,
    /// It is violated.
    Violated,
    /// It was not put to the test.
    Vacuous,
    /// It is reported, not judged.
    Any,
}

/// `[expect]`: properties by name, `facts` and `min-schedules`.
#[derive(Clone, Debug, Default)]
pub(super) struct ExpectTable {
    pub(super) facts: Vec<Spanned<String>>,
    pub(super) min_schedules: Option<Spanned<u64>>,
    pub(super) properties: BTreeMap<Spanned<String>, Expectation>,
}

impl<'de> Deserialize<'de> for ExpectTable {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(ExpectVisitor)
    }
}

struct ExpectVisitor;

impl<'de> Visitor<'de> for ExpectVisitor {
    type Value = ExpectTable;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a table of properties")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<ExpectTable, A::Error> {
        let mut table = ExpectTable::default();
        while let Some(key) = map.next_key::<Spanned<String>>()? {
            match key.get_ref().as_str() {
                "facts" => table.facts = map.next_value()?,
                "min-schedules" => table.min_schedules = Some(map.next_value()?),
                _ => _ = table.properties.insert(key, map.next_value()?),
            }
        }
        Ok(table)
    }
}
