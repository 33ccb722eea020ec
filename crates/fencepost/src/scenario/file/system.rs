//! `[system]`: the lock under test, with all its variants.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use toml::Spanned;

use crate::scenario::value::{Choice, Draw, exact};

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
    pub(in crate::scenario) fn idle_extend_late(&self) -> Option<std::ops::Range<usize>> {
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
    pub(in crate::scenario) fn failover_keys(
        &self,
    ) -> Option<(&'static str, std::ops::Range<usize>)> {
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

    pub(in crate::scenario) fn nodes_span(&self) -> Option<std::ops::Range<usize>> {
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
