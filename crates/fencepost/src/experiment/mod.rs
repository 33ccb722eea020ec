//! Scenarios as tests: so many schedules, another lock, other faults, other expectations, and a failure worth reading.

mod failure;
mod replay;

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use fencepost_checker::{History, Property};
use fencepost_world::EngineKind;
use serde::Serialize;

pub use failure::Failure;

use crate::plan::Plan;
use crate::runner::{self, Outcome, supported};
use crate::scenario::{Expectation, Fencing, Scenario, ScenarioError, Token, spelled};
use crate::sweep::{StopOn, Sweep, Totals};
use crate::system::LockSystem;

/// How many schedules are run if the test does not say.
const SCHEDULES: u64 = 100;

/// A scenario of the catalogue, one of its flips such as `gc-pause/flip-1`, or a scenario file, as a test.
///
/// ```
/// use fencepost::{Expectation::{Holds, Violated}, Fencing, Property::NoStaleWrite};
///
/// let pauses = fencepost::scenario("gc-pause").schedules(20);
/// pauses.clone().expect(NoStaleWrite, Violated).run();
/// pauses.fencing(Fencing::Token).expect(NoStaleWrite, Holds).run();
/// ```
pub fn scenario(name_or_path: &str) -> Experiment {
    Experiment {
        scenario: Scenario::find(name_or_path),
        schedules: None,
        first_seed: None,
        engine: EngineKind::default(),
        expected: BTreeMap::new(),
        facts: Vec::new(),
        lock: None,
    }
}

/// A scenario under many seeds, with a lock and expectations. See [`scenario`].
///
/// The environment sets what a test leaves to it, and what it does not: `FENCEPOST_SCHEDULES` is how many schedules each
/// experiment runs, `FENCEPOST_SEED` its first seed, and `FENCEPOST_OUT` where bundles of failures go, which is
/// `target/fencepost` otherwise.
#[derive(Clone, Debug)]
#[must_use = "an experiment does nothing until it is `run`"]
pub struct Experiment {
    /// An error is told when it is run, so that a chain of calls stays one.
    scenario: Result<Scenario, ScenarioError>,
    schedules: Option<u64>,
    first_seed: Option<u64>,
    engine: EngineKind,
    expected: BTreeMap<Property, Expectation>,
    facts: Vec<String>,
    lock: Option<Lock>,
}

/// A lock of one's own: its type's name, and how a plan is carried out with it.
#[derive(Clone)]
struct Lock {
    name: &'static str,
    run: Arc<CarryOut>,
}

type CarryOut = dyn Fn(&Plan, EngineKind) -> History + Send + Sync;

impl std::fmt::Debug for Lock {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Lock").field(&self.name).finish()
    }
}

/// The families of random faults, as `[swarm]` names them. The scenario guide has what each of them does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Faults {
    /// Clients and servers stop, and their clocks go on.
    Pause,
    /// Clients and nodes stop, and their monotonic clocks with them.
    Suspend,
    /// Servers end, by a kill, a power loss or in order.
    Crash,
    /// Clients are killed.
    ClientCrash,
    /// Links are cut.
    Partition,
    /// Messages take longer.
    Delay,
    /// One message is very late.
    LatePacket,
    /// Connections are reset.
    Reset,
    /// Wall clocks jump.
    ClockStep,
    /// Clocks run at another rate.
    ClockDrift,
    /// Clocks are corrected little by little.
    ClockSlew,
    /// Lock keys leave by the eviction policy.
    Evict,
    /// An operator flushes a node.
    Flush,
    /// Disks do not answer.
    FsyncStall,
}

impl Faults {
    /// All of them.
    pub const ALL: [Self; 14] = [
        Self::Pause,
        Self::Suspend,
        Self::Crash,
        Self::ClientCrash,
        Self::Partition,
        Self::Delay,
        Self::LatePacket,
        Self::Reset,
        Self::ClockStep,
        Self::ClockDrift,
        Self::ClockSlew,
        Self::Evict,
        Self::Flush,
        Self::FsyncStall,
    ];
}

impl Experiment {
    /// How many schedules are run: the seeds from 0 on. 100 if left out, or one if the scenario is about one seed.
    pub fn schedules(mut self, schedules: u64) -> Self {
        self.schedules = Some(schedules);
        self
    }

    /// The first seed; 0, or the scenario's own, if left out.
    pub fn seed(mut self, first: u64) -> Self {
        self.first_seed = Some(first);
        self
    }

    /// On which engine; `event` if left out.
    pub fn engine(mut self, engine: EngineKind) -> Self {
        self.engine = engine;
        self
    }

    /// Lays a value over the scenario's file, such as `system.ttl=10s`. See [`Scenario::with`].
    pub fn set(mut self, setting: &str) -> Self {
        self.scenario = self.scenario.and_then(|scenario| scenario.with(&[setting]));
        self
    }

    /// How the resource looks at fencing tokens. Where it looks at them and the scenario's lock gives none, they come from a
    /// durable sequence.
    pub fn fencing(mut self, fencing: Fencing) -> Self {
        self.scenario = self.scenario.and_then(|scenario| {
            let mut settings = vec![format!("resource.fencing={}", spelled(fencing))];
            if fencing.checks() && scenario.system.token == Token::None {
                settings.push("system.token=sequence".to_owned());
            }
            scenario.with(&settings)
        });
        self
    }

    /// Random faults of these families and of no other. Their ranges are the scenario's own where it has them, or else
    /// the defaults of `[swarm]`; what a scenario scripts stays. They end at half of the scenario's horizon if it does not
    /// say when.
    pub fn faults(mut self, families: &[Faults]) -> Self {
        self.scenario = self.scenario.and_then(|scenario| {
            let mut settings = Vec::new();
            if scenario.swarm.is_none() {
                let end = scenario.heal_at.unwrap_or(scenario.horizon / 2);
                let end = humantime::format_duration(end);
                settings.push(format!(r#"swarm.during=["0s", "{end}"]"#));
                settings.push(format!("heal-at={end}"));
                // They are what happens in every schedule.
                settings.push("expect.facts=[]".to_owned());
            }
            let swarm = scenario.swarm.iter();
            let known: Vec<&str> = swarm
                .flat_map(|swarm| &swarm.families)
                .map(|family| family.name)
                .collect();
            for family in Faults::ALL {
                let name = spelled(family);
                match (families.contains(&family), known.contains(&&*name)) {
                    (true, false) => settings.push(format!("swarm.{name}.most=4")),
                    (false, true) => settings.push(format!("swarm.{name}.most=0")),
                    _ => {}
                }
            }
            scenario.with(&settings)
        });
        self
    }

    /// What is expected of a property. The first such call puts an end to what the file expects, facts included.
    ///
    /// A scripted scenario is to come out like that in every schedule. With random faults `Violated` means at least once,
    /// and `Holds` that it was put to the test at least once and never violated.
    pub fn expect(mut self, property: Property, expectation: Expectation) -> Self {
        self.expected.insert(property, expectation);
        self
    }

    /// What must have happened in every schedule, or it shows nothing, such as `"c2 wrote before c1"`.
    pub fn fact(mut self, fact: &str) -> Self {
        self.facts.push(fact.to_owned());
        self
    }

    /// A lock of one's own in place of the scenario's: `make` is called for each run.
    pub fn lock<S: LockSystem>(
        mut self,
        make: impl Fn(&Plan) -> S + Send + Sync + 'static,
    ) -> Self {
        self.lock = Some(Lock {
            name: std::any::type_name::<S>(),
            run: Arc::new(move |plan, engine| runner::run_with(plan, engine, make(plan))),
        });
        self
    }

    /// Runs it, as a test does.
    ///
    /// # Panics
    /// With the [`Failure`], if it does not come out as expected.
    #[track_caller]
    pub fn run(self) -> Totals {
        match self.check() {
            Ok(totals) => totals,
            Err(failure) => panic!("{failure}"),
        }
    }

    /// Runs it.
    ///
    /// # Errors
    /// It does not come out as expected, or cannot be run at all.
    pub fn check(self) -> Result<Totals, Failure> {
        let seeds = self.seeds()?;
        let scenario = self.resolved()?;
        supported(&scenario, self.engine).map_err(Failure::wrong)?;
        let sweep = Sweep {
            scenario: &scenario,
            engine: self.engine,
            seeds: seeds.clone(),
            jobs: NonZeroUsize::new(rayon::current_num_threads()).unwrap_or(NonZeroUsize::MIN),
            stop_on: StopOn::Failures(1),
        };
        let mut totals = Totals::default();
        let one = |seed| self.one(&scenario, seed);
        let ended = sweep.run_by(one, &AtomicBool::new(false), |result| {
            totals.add(&result);
            Ok::<_, std::convert::Infallible>(())
        });
        if let Err(error) = ended {
            return Err(failure::panicked(&scenario, &error));
        }
        let run = |plan: &Plan| self.carry_out(plan);
        match totals.failing.first() {
            Some(seed) => {
                let outcome = self.one(&scenario, *seed);
                let lock = self.lock.as_ref().map(|lock| lock.name);
                Err(failure::of_one(&scenario, &outcome, &totals, lock, run))
            }
            None => failure::of_all(&scenario, totals),
        }
    }

    fn seeds(&self) -> Result<Range<u64>, Failure> {
        let scenario = self.scenario.as_ref().map_err(Failure::wrong)?;
        let own = scenario.seed;
        let first = replay::seed()?.or(self.first_seed).or(own).unwrap_or(0);
        let schedules = replay::schedules()?
            .or(self.schedules)
            .unwrap_or(if own.is_some() { 1 } else { SCHEDULES });
        Ok(first..first.saturating_add(schedules.max(1)))
    }

    /// The scenario with all that is expected of it in its text, so that a bundle has it.
    fn resolved(&self) -> Result<Scenario, Failure> {
        let scenario = self.scenario.as_ref().map_err(Failure::wrong)?;
        let mut settings = Vec::new();
        if !self.expected.is_empty() || !self.facts.is_empty() {
            let of_file = scenario.expect.properties.keys();
            let mut expected: BTreeMap<Property, Expectation> = of_file
                .map(|property| (*property, Expectation::Any))
                .collect();
            expected.extend(&self.expected);
            for (property, expectation) in expected {
                settings.push(format!("expect.{property}={}", spelled(expectation)));
            }
            let facts = toml::Value::from(self.facts.clone());
            settings.push(format!("expect.facts={facts}"));
        }
        if scenario.swarm.is_some() && !self.expected.is_empty() {
            // A part of what the test asks for, such as one seed that is run again, shows no "at least once".
            let least = self.schedules.unwrap_or(SCHEDULES);
            settings.push(format!("expect.min-schedules={least}"));
        }
        scenario.with(&settings).map_err(Failure::wrong)
    }

    fn one(&self, scenario: &Scenario, seed: u64) -> Outcome {
        let plan = Plan::draw(scenario, seed);
        let history = self.carry_out(&plan);
        Outcome::judge(scenario, plan, self.engine, history)
    }

    fn carry_out(&self, plan: &Plan) -> History {
        match &self.lock {
            Some(lock) => (lock.run)(plan, self.engine),
            None => runner::run(plan, self.engine),
        }
    }
}
