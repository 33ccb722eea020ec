//! The format of scenario files: one plain struct a table, so that an error points at the value itself.
//!
//! Durations are strings such as `"250ms"`; where a field is a [`Draw`], a range `["5s", "40s"]` may stand instead,
//! from which the seed draws. Unknown keys are errors. Hosts are the clients by their names, the nodes `n1` to `nN`,
//! the resource `db`, the sequence `seq` if `system.token` is a sequence, and the client `probe` if there is `heal-at`.

mod faults;
mod system;

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use toml::Spanned;

pub(super) use faults::{
    ClientCrash, ClockDrift, ClockSlew, ClockStep, Crash, Delay, Evict, Flush, FsyncStall,
    LatePacket, Operate, Partition, Pause, Reset, When,
};
pub use system::{
    Acquire, Elapsed, Extend, FailedAttempt, Kind, LockValue, Order, Release, System, Token,
};

use super::swarm;
use super::value::{Choice, Draw, Ppm, exact, exact_or_none};

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
