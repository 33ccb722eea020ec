//! Plans: a scenario with every value drawn. A plan alone re-runs exactly, whatever becomes of the generator.

mod strategy;
mod swarm;
pub(crate) mod tell;

use std::fmt::Display;
use std::time::Duration;

use fencepost_checker::history::Role;
use fencepost_world::Stream;
use fencepost_world::plan::{
    Action as DrawnAction, Fault as DrawnFault, Heal as DrawnHeal, HostPlan, LatencyPlan, LinkPlan,
    NetworkPlan, Trigger as DrawnTrigger, WorldPlan,
};
use serde::{Deserialize, Serialize};
use toml::Spanned;

use crate::scenario::{
    Acquire, Action, Choice, Client, Draw, Drawable, Elapsed, Extend, FailedAttempt, Fault,
    Fencing, Fsync, Heal, Kind, LockValue, Order, PROBE, Persistence, Release, Scenario, System,
    Token, Trigger, Workload,
};
use crate::sentinel::SentinelPlan;

pub use strategy::{PlanTree, Plans};

/// Everything that a run needs, in integers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Plan {
    /// The scenario's name.
    pub scenario: String,
    /// The longest that a call may take.
    pub call_bound: Duration,
    /// The longest that anybody may wait for a lock that nobody holds.
    pub acquire_bound: Duration,
    /// Hosts, network and faults. Its seed is the run's.
    pub world: WorldPlan,
    /// The lock under test.
    pub system: SystemPlan,
    /// Every Redis node.
    pub node: NodePlan,
    /// What the lock protects.
    pub resource: ResourcePlan,
    /// The clients, in the order of the scenario, and then the probe.
    pub clients: Vec<ClientPlan>,
}

/// The lock under test.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
#[expect(
    missing_docs,
    reason = "the fields are those of the scenario's System, and documented there"
)]
pub struct SystemPlan {
    pub kind: Kind,
    pub nodes: u32,
    /// In whole milliseconds, as Redis takes it.
    pub ttl: Duration,
    pub order: Order,
    pub elapsed: Elapsed,
    pub node_timeout: Duration,
    pub drift_ppm: u32,
    pub drift_constant: Duration,
    pub token: Token,
    pub release: Release,
    #[serde(default)]
    pub acquire: Acquire,
    #[serde(default)]
    pub failed_attempt: FailedAttempt,
    #[serde(default)]
    pub value: LockValue,
    #[serde(default)]
    pub extend: Extend,
    #[serde(default)]
    pub extend_late: bool,
    /// What only a `failover` system has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failover: Option<FailoverPlan>,
}

/// A primary, its replicas, and who watches over them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct FailoverPlan {
    /// Every sentinel's configuration.
    pub sentinel: SentinelPlan,
    /// `min-replicas-to-write`; zero for none.
    pub min_replicas: u32,
    /// How many replicas must acknowledge a lock; zero for none.
    pub wait: u32,
}

/// Every Redis node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct NodePlan {
    /// What survives a crash.
    pub persistence: Persistence,
    /// When the append-only file is forced to the disk.
    pub fsync: Fsync,
}

/// What the lock protects.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct ResourcePlan {
    /// How it looks at tokens.
    pub fencing: Fencing,
    /// What it keeps.
    #[serde(default)]
    pub workload: Workload,
}

/// One client's program.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct ClientPlan {
    /// Its host.
    pub name: String,
    /// When it starts.
    pub start: Duration,
    /// What it waits for in each round.
    pub rounds: Vec<RoundPlan>,
    /// How many attempts it makes in a round; without limit if there is none.
    pub tries: Option<u32>,
    /// Whether it stops when it is told that its lock is lost.
    #[serde(default)]
    pub cancel_on_loss: bool,
    /// The shortest and the longest delay between two attempts, drawn anew each time by the host's own stream.
    pub retry: (Duration, Duration),
    /// Whether it fetches its token only after the decision.
    #[serde(default)]
    pub token_after: bool,
    /// Whether it is the client that tries alone after the heal.
    #[serde(default)]
    pub probe: bool,
}

/// One round of a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct RoundPlan {
    /// Between read and write.
    pub think: Duration,
    /// Between write and release.
    pub hold: Duration,
}

impl Plan {
    /// Draws every value of a scenario.
    ///
    /// Each value comes from a stream of its own, labelled by what it is, so that one that is added or taken away shifts no
    /// other. The values of faults are labelled by their place in the file.
    #[must_use]
    pub fn draw(scenario: &Scenario, seed: u64) -> Self {
        let draw = Drawing { seed };
        let system = draw.system(scenario);
        let node = NodePlan {
            persistence: draw.choice("persistence", &scenario.node.persistence),
            fsync: draw.choice("fsync", &scenario.node.fsync()),
        };
        let clients = scenario
            .clients
            .iter()
            .map(|client| draw.client(scenario, client));
        let probe = scenario
            .heal_at
            .map(|heal_at| probe(scenario, heal_at + system.ttl));
        Self {
            scenario: scenario.name.clone(),
            call_bound: scenario.call_bound,
            acquire_bound: scenario.acquire_bound,
            world: draw.world(scenario, &node),
            clients: clients.chain(probe).collect(),
            system,
            node,
            resource: ResourcePlan {
                fencing: scenario.resource.fencing(),
                workload: scenario.workload,
            },
        }
    }
}

/// The streams of one seed.
#[derive(Clone, Copy)]
struct Drawing {
    seed: u64,
}

impl Drawing {
    fn one<T: Drawable>(self, label: impl Display, range: &Draw<T>) -> T {
        range
            .only()
            .unwrap_or_else(|| range.draw(&mut self.stream(label)))
    }

    fn choice<T: Copy + PartialEq>(self, label: impl Display, choice: &Choice<T>) -> T {
        choice
            .only()
            .unwrap_or_else(|| choice.draw(&mut self.stream(label)))
    }

    fn stream(self, label: impl Display) -> Stream {
        Stream::new(self.seed, &format!("plan/{label}"))
    }

    fn world(self, scenario: &Scenario, node: &NodePlan) -> WorldPlan {
        let scripted = scenario.faults.iter().enumerate();
        let scripted = scripted.map(|(index, fault)| self.fault(index, fault));
        let random = swarm::faults(self, scenario, node);
        WorldPlan {
            seed: self.seed,
            horizon: scenario.horizon,
            settle: scenario.settle,
            hosts: scenario
                .hosts()
                .iter()
                .map(|(name, role)| self.host(scenario, name, role))
                .collect(),
            network: NetworkPlan {
                latency: latency(&scenario.network.latency),
                links: links(scenario),
            },
            heal_at: scenario.heal_at,
            faults: scripted.chain(random).collect(),
        }
    }

    fn host(self, scenario: &Scenario, name: &str, role: Role) -> HostPlan {
        let clock = scenario
            .clocks
            .iter()
            .find(|clock| clock.host.get_ref() == name);
        let rate_ppm = match clock {
            Some(clock) => self.one(format!("{name}/rate"), &clock.rate_ppm).0,
            None => swarm::rate(self, scenario, name),
        };
        HostPlan {
            name: name.to_owned(),
            role,
            rate_ppm,
        }
    }

    fn system(self, scenario: &Scenario) -> SystemPlan {
        let system = &scenario.system;
        SystemPlan {
            kind: system.kind,
            nodes: system.nodes(),
            ttl: whole_millis(self.one("ttl", &system.ttl)),
            order: self.choice("order", &system.order),
            elapsed: system.elapsed,
            node_timeout: self.one("node-timeout", &system.node_timeout),
            drift_ppm: system.drift_ppm,
            drift_constant: system.drift_constant,
            token: system.token,
            release: system.release,
            acquire: system.acquire,
            failed_attempt: system.failed_attempt,
            value: system.value,
            extend: self.choice("extend", &system.extend),
            extend_late: system.extend_late(),
            failover: (system.kind == Kind::Failover).then(|| self.failover(system)),
        }
    }

    fn failover(self, system: &System) -> FailoverPlan {
        let or = |label, range: &Option<Spanned<Draw<Duration>>>, default| {
            range
                .as_ref()
                .map_or(Duration::from_secs(default), |range| {
                    self.one(label, range.get_ref())
                })
        };
        let number =
            |number: &Option<Spanned<u32>>| number.as_ref().map_or(0, |number| *number.get_ref());
        let sentinels = system.sentinels();
        FailoverPlan {
            sentinel: SentinelPlan {
                sentinels: (1..=sentinels).map(|n| format!("s{n}")).collect(),
                nodes: (1..=system.nodes()).map(|n| format!("n{n}")).collect(),
                down_after: or("down-after", &system.down_after, 30),
                failover_timeout: or("failover-timeout", &system.failover_timeout, 180),
                quorum: sentinels / 2 + 1,
            },
            min_replicas: number(&system.min_replicas),
            wait: number(&system.wait),
        }
    }

    fn client(self, scenario: &Scenario, client: &Client) -> ClientPlan {
        let name = client.name.get_ref();
        let round = |index: u32| RoundPlan {
            think: self.one(format_args!("{name}/round-{index}/think"), &client.think),
            hold: self.one(format_args!("{name}/round-{index}/hold"), &client.hold),
        };
        ClientPlan {
            name: name.clone(),
            start: self.one(format!("{name}/start"), &client.start),
            rounds: (1..=*client.rounds.get_ref()).map(round).collect(),
            tries: client.tries.as_ref().map(|tries| *tries.get_ref()),
            cancel_on_loss: client.cancel_on_loss,
            retry: (client.retry.min(), client.retry.max()),
            token_after: scenario.system.token == Token::SequenceAfter,
            probe: false,
        }
    }

    fn fault(self, index: usize, fault: &Fault) -> DrawnFault {
        let label = |what: &str| format!("fault-{index}/{what}");
        DrawnFault {
            trigger: self.trigger(&label("when"), &fault.trigger),
            action: self.action(&label, &fault.action),
            heal: self.heal(&label("for"), &fault.heal),
        }
    }

    fn trigger(self, label: &str, trigger: &Trigger) -> DrawnTrigger {
        match trigger {
            Trigger::At(at) => DrawnTrigger::At(self.one(label, at)),
            Trigger::On { event, nth, after } => DrawnTrigger::On {
                event: event.clone(),
                nth: *nth,
                after: self.one(label, after),
            },
        }
    }

    fn action(self, label: &dyn Fn(&str) -> String, action: &Action) -> DrawnAction {
        let by = |range: &Draw<Duration>| self.one(label("by"), range);
        match action.clone() {
            Action::Pause { host, suspend } => DrawnAction::Pause { host, suspend },
            Action::Crash {
                host,
                how,
                delayed_until,
            } => {
                let delayed_until =
                    delayed_until.map(|delay| self.one(label("delayed-until"), &delay));
                DrawnAction::Crash {
                    host,
                    how,
                    delayed_until,
                }
            }
            Action::Partition {
                left,
                right,
                how,
                one_way,
            } => DrawnAction::Partition {
                left,
                right,
                how,
                one_way,
            },
            Action::Delay { left, right, extra } => DrawnAction::Delay {
                left,
                right,
                extra: by(&extra),
            },
            Action::LatePacket { from, to, extra } => DrawnAction::LatePacket {
                from,
                to,
                extra: by(&extra),
            },
            Action::Reset { left, right } => DrawnAction::Reset { left, right },
            Action::ClockStep { host, by } => DrawnAction::ClockStep {
                host,
                by_ns: self.one(label("by"), &by).0,
            },
            Action::ClockDrift { host, ppm } => DrawnAction::ClockDrift {
                host,
                ppm: self.one(label("ppm"), &ppm).0,
            },
            Action::ClockSlew { host, by, ppm } => DrawnAction::ClockSlew {
                host,
                by_ns: self.one(label("by"), &by).0,
                ppm,
            },
            Action::Operate {
                host,
                family,
                command,
            } => DrawnAction::Operate {
                host,
                family: family.to_owned(),
                command,
            },
            Action::FsyncStall { host } => DrawnAction::FsyncStall { host },
        }
    }

    fn heal(self, label: &str, heal: &Heal) -> DrawnHeal {
        match heal {
            Heal::After(lasts) => DrawnHeal::After(self.one(label, lasts)),
            Heal::On(event) => DrawnHeal::On(event.clone()),
            Heal::Never => DrawnHeal::Never,
        }
    }
}

/// The client that tries alone, once every lock that was granted before the heal has run out: one round, without limit.
fn probe(scenario: &Scenario, start: Duration) -> ClientPlan {
    let (think, hold, retry) = Client::defaults();
    ClientPlan {
        name: PROBE.to_owned(),
        start,
        rounds: vec![RoundPlan {
            think: think.min(),
            hold: hold.min(),
        }],
        tries: None,
        cancel_on_loss: false,
        retry: (retry.min(), retry.max()),
        token_after: scenario.system.token == Token::SequenceAfter,
        probe: true,
    }
}

/// Ranges of latencies stay ranges: the world draws from them for each message or link.
fn latency(range: &Draw<Duration>) -> LatencyPlan {
    LatencyPlan {
        min: range.min(),
        max: range.max(),
    }
}

fn links(scenario: &Scenario) -> Vec<LinkPlan> {
    let plan = |link: &crate::scenario::Link| {
        let (left, right) = &link.between;
        LinkPlan {
            between: (left.get_ref().clone(), right.get_ref().clone()),
            latency: latency(&link.latency),
        }
    };
    scenario.links.iter().map(plan).collect()
}

fn whole_millis(duration: Duration) -> Duration {
    Duration::from_secs(duration.as_secs())
        + Duration::from_millis(u64::from(duration.subsec_millis()))
}
