//! What a world is made of, with every value drawn: hosts, network, faults. A plan alone re-runs exactly.

use std::time::Duration;

use fencepost_checker::history::{Crash, Cut, Role};
use serde::{Deserialize, Serialize};

/// Everything that the world needs to know before it starts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct WorldPlan {
    /// The seed of all labelled random streams.
    pub seed: u64,
    /// The run ends here at the latest.
    pub horizon: Duration,
    /// How long the world goes on after the last client's program ended, so that detached releases arrive.
    pub settle: Duration,
    /// All hosts, in the order in which they act within one instant.
    pub hosts: Vec<HostPlan>,
    /// The network between them.
    pub network: NetworkPlan,
    /// What goes wrong, in the order of the scenario file.
    pub faults: Vec<Fault>,
    /// When every fault ends: nodes start again, what was held is delivered, clocks go back to true time and rate.
    /// Processes that were to stay down do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub heal_at: Option<Duration>,
}

/// One host.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct HostPlan {
    /// Its name in the scenario.
    pub name: String,
    /// What it is for.
    pub role: Role,
    /// How much faster than true time its clocks run, in parts per million.
    #[serde(default)]
    pub rate_ppm: i64,
}

/// The network: how long a message takes one way.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct NetworkPlan {
    /// One-way latency of every link that `links` does not name.
    pub latency: LatencyPlan,
    /// Links with a latency of their own.
    #[serde(default)]
    pub links: Vec<LinkPlan>,
}

/// A range of one-way latencies, both ends included. The event engine draws one for each message; turmoil, whose own
/// generator would not be ours, draws one for each link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct LatencyPlan {
    /// The shortest.
    pub min: Duration,
    /// The longest.
    pub max: Duration,
}

/// The latency between two hosts, both ways.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct LinkPlan {
    /// The two hosts.
    pub between: (String, String),
    /// How long a message takes.
    pub latency: LatencyPlan,
}

/// A fault: when, what, and until when.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Fault {
    /// When it takes effect.
    pub trigger: Trigger,
    /// What it does.
    pub action: Action,
    /// When it ends; of no account for what happens in an instant, such as a clock's step.
    pub heal: Heal,
}

/// When something happens.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Trigger {
    /// At a time since the start of the run.
    At(Duration),
    /// At an event.
    On {
        /// Which event.
        event: EventPattern,
        /// Which occurrence of it, from 1.
        nth: u32,
        /// How long after it; zero takes effect at the event's own await point.
        after: Duration,
    },
}

/// A pattern for events, in words `HOST VERB`, `HOST VERB to PEER` or `HOST VERB from PEER`.
///
/// A client's verbs are its [`mark`](crate::Host::mark)s; a server host's are [`SERVER_VERBS`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct EventPattern {
    /// The host at which it happens.
    pub host: String,
    /// What happens.
    pub verb: String,
    /// The other host, for a server's events; none matches all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub peer: Option<String>,
}

/// The events of every server host: a command on a key was carried out (`applied`, before its reply goes out), and
/// its reply was sent (`replied`).
pub const SERVER_VERBS: [&str; 2] = ["applied", "replied"];

/// What a fault does, and what its end undoes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", rename_all_fields = "kebab-case")]
#[non_exhaustive]
pub enum Action {
    /// All of a host stops; its clocks go on.
    Pause {
        /// The host.
        host: String,
        /// The machine sleeps: its monotonic clock stands still too.
        suspend: bool,
    },
    /// A host's process ends. It is started again when the fault ends.
    Crash {
        /// The host.
        host: String,
        /// How.
        how: Crash,
        /// After the fault's end the process still waits until the host's wall clock has gone on by so much since the
        /// crash (002, edit 1: until every lock that it may have granted has expired).
        delayed_until: Option<Duration>,
    },
    /// Every link between two groups of hosts is cut.
    Partition {
        /// The one side.
        left: Vec<String>,
        /// The other side.
        right: Vec<String>,
        /// What becomes of messages.
        how: Cut,
        /// Only messages from left to right are lost. Not on turmoil.
        one_way: bool,
    },
    /// Messages between two groups of hosts come later.
    Delay {
        /// The one side.
        left: Vec<String>,
        /// The other side.
        right: Vec<String>,
        /// By how much, one way.
        extra: Duration,
    },
    /// The next message from one host to another comes later, and what follows it on its connection no earlier (K2, the
    /// 90-second packet).
    LatePacket {
        /// The sender.
        from: String,
        /// The receiver.
        to: String,
        /// By how much.
        extra: Duration,
    },
    /// The connections between two groups of hosts are reset.
    Reset {
        /// The one side.
        left: Vec<String>,
        /// The other side.
        right: Vec<String>,
    },
    /// A host's wall clock jumps, in nanoseconds, forward or back.
    ClockStep {
        /// The host.
        host: String,
        /// By how much.
        by_ns: i64,
    },
    /// A host's clocks run at another rate.
    ClockDrift {
        /// The host.
        host: String,
        /// How much faster than before, in parts per million.
        ppm: i64,
    },
    /// A host's clocks are corrected by running at another rate until they have gained, or lost, enough. Linux bends both
    /// clocks for that.
    ClockSlew {
        /// The host.
        host: String,
        /// By how much, in nanoseconds.
        by_ns: i64,
        /// How fast, in parts per million.
        ppm: u32,
    },
    /// A server carries out a command of its operator: a key is flushed, or evicted, or a replica is promoted.
    Operate {
        /// The server.
        host: String,
        /// What the fault is called in scenario files.
        family: String,
        /// The command and its arguments.
        command: Vec<String>,
    },
    /// A server's disk does not answer.
    FsyncStall {
        /// The server.
        host: String,
    },
}

/// When a lasting fault ends.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Heal {
    /// After a time.
    After(Duration),
    /// At the first occurrence of an event, from the fault on.
    On(EventPattern),
    /// Not in this run.
    Never,
}

impl Action {
    /// The hosts that it hits.
    #[must_use]
    pub fn hosts(&self) -> Vec<&str> {
        match self {
            Self::Pause { host, .. }
            | Self::Crash { host, .. }
            | Self::ClockStep { host, .. }
            | Self::ClockDrift { host, .. }
            | Self::ClockSlew { host, .. }
            | Self::Operate { host, .. }
            | Self::FsyncStall { host } => vec![host],
            Self::LatePacket { from, to, .. } => vec![from, to],
            Self::Partition { left, right, .. }
            | Self::Delay { left, right, .. }
            | Self::Reset { left, right } => left.iter().chain(right).map(String::as_str).collect(),
        }
    }

    /// The name of its kind, as in scenario files.
    #[must_use]
    pub fn family(&self) -> &str {
        match self {
            Self::Pause { suspend: false, .. } => "pause",
            Self::Pause { suspend: true, .. } => "suspend",
            Self::Crash { .. } => "crash",
            Self::Partition { .. } => "partition",
            Self::Delay { .. } => "delay",
            Self::LatePacket { .. } => "late-packet",
            Self::Reset { .. } => "reset",
            Self::ClockStep { .. } => "clock-step",
            Self::ClockDrift { .. } => "clock-drift",
            Self::ClockSlew { .. } => "clock-slew",
            Self::Operate { family, .. } => family,
            Self::FsyncStall { .. } => "fsync-stall",
        }
    }
}

impl std::fmt::Display for EventPattern {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {}", self.host, self.verb)?;
        match &self.peer {
            // A server applies what came from a client and replies to it.
            Some(peer) if self.verb == "replied" => write!(f, " to {peer}"),
            Some(peer) => write!(f, " from {peer}"),
            None => Ok(()),
        }
    }
}

impl WorldPlan {
    /// Every host that a link or a fault names.
    pub(crate) fn named_hosts(&self) -> impl Iterator<Item = &str> {
        let links = self
            .network
            .links
            .iter()
            .flat_map(|link| [&*link.between.0, &*link.between.1]);
        links.chain(self.faults.iter().flat_map(Fault::named_hosts))
    }
}

impl Fault {
    /// Every host that it names, in what it does and in the events that it waits for.
    #[must_use]
    pub fn named_hosts(&self) -> Vec<&str> {
        let trigger = match &self.trigger {
            Trigger::On { event, .. } => Some(event),
            Trigger::At(_) => None,
        };
        let heal = match &self.heal {
            Heal::On(event) => Some(event),
            Heal::After(_) | Heal::Never => None,
        };
        let mut names = self.action.hosts();
        for event in trigger.into_iter().chain(heal) {
            names.push(&event.host);
            names.extend(event.peer.as_deref());
        }
        names
    }
}
