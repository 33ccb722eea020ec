//! From a plan to a history, and from a scenario and a seed to a judged outcome.

use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::Duration;

use fencepost_checker::exposure::{Exposure, exposure};
use fencepost_checker::history::{FORMAT, Header, Name, Role};
use fencepost_checker::run::Run;
use fencepost_checker::{History, Verdict, judge_run};
use fencepost_world::plan::NetworkPlan;
use fencepost_world::{EngineKind, PlanError, Service, World};
use redis_node::{Address, Config, Fsync, Persistence, ReplicationConfig};

use crate::expect::{Judgement, Standing};
use crate::fact::faults_fired;
use crate::plan::{FailoverPlan, Plan};
use crate::redis_server::RedisServer;
use crate::resource::Resource;
use crate::scenario::{self, Action, Does, Family, Kind, Scenario};
use crate::sentinel::{self, Sentinel};
use crate::sequence::Sequence;
use crate::system::{LockSystem, RedlockSystem};
use crate::workload::{self, Calls};

/// One run of a scenario, judged.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// What was run.
    pub plan: Plan,
    /// On which engine.
    pub engine: EngineKind,
    /// What happened.
    pub history: History,
    /// How every property came out.
    pub verdicts: Vec<Verdict>,
    /// Which faults took effect, and how many of them while somebody held a lock.
    pub exposure: BTreeMap<Name, Exposure>,
    /// What that is, measured by what the scenario expects.
    pub judgement: Judgement,
}

impl Outcome {
    /// Draws the scenario's plan, runs it and judges the history.
    #[must_use]
    pub fn of(scenario: &Scenario, seed: u64, engine: EngineKind) -> Self {
        let plan = Plan::draw(scenario, seed);
        let history = run(&plan, engine);
        Self::judge(scenario, plan, engine, history)
    }

    /// Judges a history that is there already.
    #[must_use]
    pub fn judge(scenario: &Scenario, plan: Plan, engine: EngineKind, history: History) -> Self {
        let shared = Run::of(&history);
        let (verdicts, exposure) = (judge_run(&shared), exposure(&shared));
        let facts = scenario
            .expect
            .facts
            .iter()
            .filter_map(|fact| fact.check(&history).err());
        // Random faults may be set on what never comes.
        let scripted = &plan.world.faults[..scenario.faults.len()];
        let unmet = faults_fired(scripted, &history)
            .into_iter()
            .chain(facts)
            .collect();
        let judgement = Judgement::new(&scenario.expect, &verdicts, unmet);
        Self {
            plan,
            engine,
            history,
            verdicts,
            exposure,
            judgement,
        }
    }

    /// What the run came to as a whole.
    #[must_use]
    pub fn standing(&self) -> Standing {
        self.judgement.standing()
    }
}

/// A scenario that an engine cannot run.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{scenario}` has a one-way partition, which engine {engine} does not know; run it on engine event"
)]
pub struct Unsupported {
    /// The scenario's name.
    pub scenario: String,
    /// The engine.
    pub engine: EngineKind,
}

/// Whether an engine can run a scenario: turmoil cuts links both ways only.
///
/// # Errors
/// It cannot.
pub fn supported(scenario: &Scenario, engine: EngineKind) -> Result<(), Unsupported> {
    let one_way = |action: &Action| matches!(action, Action::Partition { one_way: true, .. });
    let scripted = scenario.faults.iter().any(|fault| one_way(&fault.action));
    let random = |family: &Family| matches!(family.does, Does::Partition { one_way: true, .. });
    let swarm = scenario.swarm.iter();
    let event_only = scripted || swarm.flat_map(|swarm| &swarm.families).any(random);
    if event_only && engine == EngineKind::Turmoil {
        return Err(Unsupported {
            scenario: scenario.name.clone(),
            engine,
        });
    }
    Ok(())
}

/// Whether an engine can run a plan, as with [`supported`].
#[must_use]
pub fn supports(plan: &Plan, engine: EngineKind) -> bool {
    use fencepost_world::plan::Action;
    let mut faults = plan.world.faults.iter();
    let one_way =
        faults.any(|fault| matches!(fault.action, Action::Partition { one_way: true, .. }));
    engine == EngineKind::Event || !one_way
}

/// Runs a plan with the lock that it names.
#[must_use]
pub fn run(plan: &Plan, engine: EngineKind) -> History {
    run_with(plan, engine, RedlockSystem::new(plan.system.clone()))
}

/// Runs a plan with a lock of one's own in place of the one that it names.
///
/// # Panics
/// If the plan contradicts itself, which [`Plan::draw`] never brings about.
#[must_use]
pub fn run_with<S: LockSystem>(plan: &Plan, engine: EngineKind, system: S) -> History {
    run_all(plan, engine, system, |_, service| service)
}

/// Runs a plan with every server put into something else, by its place among the plan's hosts.
pub(crate) fn run_through(plan: &Plan, engine: EngineKind, put: impl Put) -> History {
    run_all(plan, engine, RedlockSystem::new(plan.system.clone()), put)
}

/// What a server is put into.
pub(crate) trait Put: Fn(usize, Box<dyn Service>) -> Box<dyn Service> {}

impl<F: Fn(usize, Box<dyn Service>) -> Box<dyn Service>> Put for F {}

fn run_all<S: LockSystem>(plan: &Plan, engine: EngineKind, system: S, put: impl Put) -> History {
    let mut world = World::new(plan.world.clone(), engine).expect("a drawn plan is sound");
    serve(plan, &mut world, put).expect("hosts are those of the plan");
    let (system, calls) = (Rc::new(system), Calls::default());
    for (place, client) in plan.clients.iter().enumerate() {
        let (own, system, calls) = (client.clone(), Rc::clone(&system), Rc::clone(&calls));
        let program = move |host| {
            workload::counter(
                host,
                place,
                own.clone(),
                Rc::clone(&system),
                Rc::clone(&calls),
            )
        };
        world
            .program(&client.name, program)
            .expect("a client is a host");
    }
    let events = world.run();
    let header = Header {
        format: FORMAT,
        scenario: plan.scenario.clone(),
        seed: plan.world.seed,
        engine: engine.name().to_owned(),
        call_bound: nanos(plan.call_bound),
        acquire_bound: nanos(plan.acquire_bound),
        largest_ttl: nanos(plan.system.ttl),
        node_timeout: nanos(plan.system.node_timeout),
        latency: nanos(longest_latency(&plan.world.network)),
        quorum: match plan.system.kind {
            // Without its primary a pair grants nothing, and any node may be the primary.
            Kind::Failover => plan.system.nodes,
            Kind::Single | Kind::Redlock => plan.system.nodes / 2 + 1,
        },
    };
    History { header, events }
}

fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

fn longest_latency(network: &NetworkPlan) -> Duration {
    let links = network.links.iter().map(|link| link.latency.max);
    links.fold(network.latency.max, Duration::max)
}

fn serve(plan: &Plan, world: &mut World, put: impl Put) -> Result<(), PlanError> {
    for (place, host) in plan.world.hosts.iter().enumerate() {
        let service: Box<dyn Service> = match host.role {
            Role::Node => Box::new(RedisServer::new(config(plan, &host.name))),
            Role::Resource => Box::new(Resource::new(&host.name, plan.resource.clone())),
            Role::Sequence => Box::new(Sequence::default()),
            Role::Sentinel => match &plan.system.failover {
                Some(failover) => {
                    let sentinel = Sentinel::new(&host.name, failover.sentinel.clone());
                    let own = sentinel.clone();
                    world.daemon(&host.name, move |host| sentinel::watch(host, own.clone()))?;
                    Box::new(sentinel)
                }
                None => continue,
            },
            Role::Client => continue,
        };
        world.serve(&host.name, put(place, service))?;
    }
    Ok(())
}

/// The first node begins as the primary of all others.
fn replication(failover: Option<&FailoverPlan>, host: &str) -> ReplicationConfig {
    let default = ReplicationConfig::default();
    let Some(failover) = failover else {
        return default;
    };
    let primary = failover
        .sentinel
        .nodes
        .first()
        .filter(|primary| *primary != host);
    ReplicationConfig {
        replica_of: primary.map(|primary| Address::new(primary.as_str(), default.port)),
        min_replicas_to_write: failover.min_replicas,
        min_replicas_max_lag: 1,
        ..default
    }
}

pub(crate) fn config(plan: &Plan, host: &str) -> Config {
    let node = &plan.node;
    let persistence = match (node.persistence, node.fsync) {
        (scenario::Persistence::None, _) => Persistence::None,
        (scenario::Persistence::Aof, fsync) => Persistence::Aof {
            fsync: match fsync {
                scenario::Fsync::Always => Fsync::Always,
                scenario::Fsync::Everysec => Fsync::EverySec,
                scenario::Fsync::No => Fsync::No,
            },
        },
    };
    Config {
        persistence,
        replication: replication(plan.system.failover.as_ref(), host),
        // What follows from it must differ from node to node.
        run_id: format!("{:0>40}", hex::encode(host)),
        ..Config::default()
    }
}
