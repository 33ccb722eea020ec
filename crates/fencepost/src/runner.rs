//! From a plan to a history, and from a scenario and a seed to a judged outcome.

use std::rc::Rc;
use std::time::Duration;

use fencepost_checker::history::{FORMAT, Header, Role};
use fencepost_checker::{History, Verdict, judge};
use fencepost_world::plan::NetworkPlan;
use fencepost_world::{EngineKind, World};
use redis_node::{Config, Fsync, Persistence};

use crate::expect::{Judgement, Standing};
use crate::fact::faults_fired;
use crate::plan::{NodePlan, Plan};
use crate::redis_server::RedisServer;
use crate::resource::Resource;
use crate::scenario::{self, Scenario};
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
        let verdicts = judge(&history);
        let facts = scenario
            .expect
            .facts
            .iter()
            .filter_map(|fact| fact.check(&history).err());
        let unmet = faults_fired(&plan.world.faults, &history)
            .into_iter()
            .chain(facts)
            .collect();
        let judgement = Judgement::new(&scenario.expect, &verdicts, unmet);
        Self {
            plan,
            engine,
            history,
            verdicts,
            judgement,
        }
    }

    /// What the run came to as a whole.
    #[must_use]
    pub fn standing(&self) -> Standing {
        self.judgement.standing()
    }
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
    let mut world = World::new(plan.world.clone(), engine).expect("a drawn plan is sound");
    serve(plan, &mut world);
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
        acquire_bound: nanos(plan.call_bound.saturating_mul(20)),
        largest_ttl: nanos(plan.system.ttl),
        node_timeout: nanos(plan.system.node_timeout),
        latency: nanos(longest_latency(&plan.world.network)),
        quorum: plan.system.nodes / 2 + 1,
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

fn serve(plan: &Plan, world: &mut World) {
    for host in &plan.world.hosts {
        let served = match host.role {
            Role::Node => world.serve(&host.name, RedisServer::new(config(&plan.node))),
            Role::Resource => {
                world.serve(&host.name, Resource::new(&host.name, plan.resource.fencing))
            }
            Role::Sequence => world.serve(&host.name, Sequence::default()),
            Role::Client | Role::Sentinel => Ok(()),
        };
        served.expect("the host is one of the plan's");
    }
}

fn config(node: &NodePlan) -> Config {
    let persistence = match (node.persistence, node.fsync) {
        (scenario::Persistence::None, _) => Persistence::None,
        (scenario::Persistence::Aof, scenario::Fsync::Always) => Persistence::Aof {
            fsync: Fsync::Always,
        },
    };
    Config {
        persistence,
        ..Config::default()
    }
}
