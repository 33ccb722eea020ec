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

/// A fault: when, and what.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Fault {
    /// When it takes effect.
    pub trigger: Trigger,
    /// What it does.
    pub action: Action,
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

/// What a fault does.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", rename_all_fields = "kebab-case")]
#[non_exhaustive]
pub enum Action {
    /// Stops all of a host for a time; its clocks go on.
    Pause {
        /// The host.
        host: String,
        /// How long, in true time.
        lasts: Duration,
    },
    /// Ends a host's process.
    Crash {
        /// The host.
        host: String,
        /// How.
        how: Crash,
        /// When the process is started again; never if there is none.
        down_for: Option<Duration>,
    },
    /// Cuts every link between two groups of hosts, both ways.
    Partition {
        /// The one side.
        left: Vec<String>,
        /// The other side.
        right: Vec<String>,
        /// What becomes of messages.
        how: Cut,
        /// When it heals.
        heal: Heal,
    },
    /// Makes messages between two groups of hosts later.
    Delay {
        /// The one side.
        left: Vec<String>,
        /// The other side.
        right: Vec<String>,
        /// By how much, one way.
        extra: Duration,
        /// When it ends.
        heal: Heal,
    },
    /// Moves a host's wall clock, in nanoseconds, forward or back.
    ClockStep {
        /// The host.
        host: String,
        /// By how much.
        by_ns: i64,
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
            Self::Pause { host, .. } | Self::Crash { host, .. } | Self::ClockStep { host, .. } => {
                vec![host]
            }
            Self::Partition { left, right, .. } | Self::Delay { left, right, .. } => {
                left.iter().chain(right).map(String::as_str).collect()
            }
        }
    }

    /// The name of its kind, as in scenario files.
    #[must_use]
    pub fn family(&self) -> &'static str {
        match self {
            Self::Pause { .. } => "pause",
            Self::Crash { .. } => "crash",
            Self::Partition { .. } => "partition",
            Self::Delay { .. } => "delay",
            Self::ClockStep { .. } => "clock-step",
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
    fn named_hosts(&self) -> Vec<&str> {
        let mut names = self.action.hosts();
        let heal = match &self.action {
            Action::Partition { heal, .. } | Action::Delay { heal, .. } => Some(heal),
            Action::Pause { .. } | Action::Crash { .. } | Action::ClockStep { .. } => None,
        };
        let trigger = match &self.trigger {
            Trigger::On { event, .. } => Some(event),
            Trigger::At(_) => None,
        };
        let heal = heal.and_then(|heal| {
            if let Heal::On(event) = heal {
                Some(event)
            } else {
                None
            }
        });
        for event in trigger.into_iter().chain(heal) {
            names.push(&event.host);
            names.extend(event.peer.as_deref());
        }
        names
    }
}
