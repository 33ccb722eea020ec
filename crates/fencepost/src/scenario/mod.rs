//! Scenarios: what a claim needs, as a file says it.
//!
//! A scenario fixes what its claim is about and gives ranges for the rest; with a seed it becomes a
//! [`Plan`](crate::plan::Plan). It says what is expected, and each of its flips takes away the one thing that the
//! claim is about and expects something else.

mod catalogue;
mod check;
mod error;
mod event;
mod file;
mod flip;
mod settings;
mod swarm;
mod value;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use fencepost_checker::history::{Crash, Cut};
use fencepost_world::plan::EventPattern;
use serde::Deserialize;
use toml::Spanned;
use toml::de::{DeTable, Deserializer};

pub use catalogue::{catalogue, embedded, scripted};
pub use error::ScenarioError;
pub use event::{CLIENT_VERBS, Hosts};
pub use file::{
    Acquire, Client, Clock, Elapsed, Expectation, Extend, FailedAttempt, Fencing, Fsync, Kind,
    Link, LockValue, Network, Node, Order, Persistence, Release, Resource, System, Token, Workload,
};
pub use swarm::{Does, Family, Swarm};
pub use value::{Choice, Draw, Drawable, LONGEST, Ppm, Step, duration};

pub(crate) use check::PROBE;
pub(crate) use error::{Problem, TextProblem, nearest};
pub(crate) use event::words;
pub(crate) use settings::is_expectation;

use crate::expect::Property;
use crate::fact::Fact;
use file::File;

/// A scenario that has been read and checked: every name in it exists.
#[derive(Clone, Debug)]
pub struct Scenario {
    /// The file's stem, with its folder below `scenarios/`; settings add a hash, a flip `/flip-1`.
    pub name: String,
    /// The path that it was read from, or would be in the repository.
    pub path: String,
    /// The file's text, and behind it what was [set](Self::with) besides.
    pub text: Arc<str>,
    /// What was set besides, a line of TOML each.
    pub settings: Vec<String>,
    /// What the document says, and what is true.
    pub claim: String,
    /// Where the document says it.
    pub document: String,
    /// The one seed that the claim is about; none if it is about all of them.
    pub seed: Option<u64>,
    /// The run ends here at the latest; 120 s if the file does not say.
    pub horizon: Duration,
    /// How long the world goes on after the last client finished; 1 s if the file does not say.
    pub settle: Duration,
    /// The longest that a call of a client may take. See [`default_call_bound`].
    pub call_bound: Duration,
    /// The longest that anybody may wait for a lock that nobody holds; ten times the call bound if the file does not say.
    pub acquire_bound: Duration,
    /// When every fault ends and a probe client tries alone; never if the file does not say.
    pub heal_at: Option<Duration>,
    /// The lock under test.
    pub system: System,
    /// Every Redis node.
    pub node: Node,
    /// Every link that `links` does not name.
    pub network: Network,
    /// Links with a latency of their own.
    pub links: Vec<Link>,
    /// Hosts whose clocks run fast or slow.
    pub clocks: Vec<Clock>,
    /// What the lock protects.
    pub resource: Resource,
    /// What the clients do there.
    pub workload: Workload,
    /// The clients.
    pub clients: Vec<Client>,
    /// What goes wrong, in the order of the file.
    pub faults: Vec<Fault>,
    /// What goes wrong besides, at random.
    pub swarm: Option<Swarm>,
    /// What is expected.
    pub expect: Expect,
    /// The scenario's proofs that it tests something.
    pub flips: Vec<Flip>,
    hosts: Hosts,
}

/// A scenario with the one thing changed that the claim is about.
#[derive(Clone, Debug)]
pub struct Flip {
    /// Why it comes out otherwise.
    pub why: Option<String>,
    /// The changed scenario; it has no flips of its own.
    pub scenario: Scenario,
}

/// What a scenario expects. Properties that are not listed are reported, not judged.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Expect {
    /// How each property comes out.
    pub properties: BTreeMap<Property, Expectation>,
    /// What must have happened, or the run shows nothing.
    pub facts: Vec<Fact>,
    /// Of a random scenario, from how many schedules on it is judged whether anything was violated, or put to the test,
    /// at least once; 1 if a file with a `[swarm]` does not say. A scripted scenario has none: it comes out the same in
    /// every schedule.
    pub min_schedules: Option<u64>,
}

/// A fault, before its values are drawn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// When it takes effect.
    pub trigger: Trigger,
    /// What it does.
    pub action: Action,
    /// When it ends.
    pub heal: Heal,
}

/// When a fault takes effect.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Trigger {
    /// At a time since the start of the run.
    At(Draw<Duration>),
    /// At an event.
    On {
        /// Which event.
        event: EventPattern,
        /// Which occurrence of it, from 1.
        nth: u32,
        /// How long after it.
        after: Draw<Duration>,
    },
}

/// What a fault does; `fencepost_world::plan::Action` before its values are drawn.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(
    missing_docs,
    reason = "the fields are those of the world's Action, and documented there"
)]
pub enum Action {
    /// All of a host stops for a time.
    Pause { host: String, suspend: bool },
    /// A host's process ends.
    Crash {
        host: String,
        how: Crash,
        delayed_until: Option<Draw<Duration>>,
    },
    /// Every link between two groups of hosts is cut.
    Partition {
        left: Vec<String>,
        right: Vec<String>,
        how: Cut,
        one_way: bool,
    },
    /// Messages between two groups of hosts come later.
    Delay {
        left: Vec<String>,
        right: Vec<String>,
        extra: Draw<Duration>,
    },
    /// The next message from one host to another comes later.
    LatePacket {
        from: String,
        to: String,
        extra: Draw<Duration>,
    },
    /// The connections between two groups of hosts are reset.
    Reset {
        left: Vec<String>,
        right: Vec<String>,
    },
    /// A host's wall clock jumps.
    ClockStep { host: String, by: Draw<Step> },
    /// A host's clocks run at another rate.
    ClockDrift { host: String, ppm: Draw<Ppm> },
    /// A host's clocks are corrected little by little.
    ClockSlew {
        host: String,
        by: Draw<Step>,
        ppm: u32,
    },
    /// A server carries out a command of its operator.
    Operate {
        host: String,
        family: &'static str,
        command: Vec<String>,
    },
    /// A server's disk does not answer.
    FsyncStall { host: String },
}

/// When a lasting fault ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Heal {
    /// After a time.
    After(Draw<Duration>),
    /// At the first occurrence of an event from the fault on.
    On(EventPattern),
    /// Not in this run.
    Never,
}

impl Scenario {
    /// Reads a scenario from its text. `path` is what errors call the file.
    ///
    /// # Errors
    ///
    /// If the text is no TOML, or has a key, a value or a name that does not exist, in the scenario itself or in one
    /// of its flips.
    pub fn parse(name: &str, path: &str, text: &str) -> Result<Self, ScenarioError> {
        let text: Arc<str> = text.into();
        let origin = Origin {
            name,
            path,
            text: &text,
            settings: &[],
        };
        origin
            .read()
            .map_err(|problem| ScenarioError::new(path, &text, problem))
    }

    /// Reads a scenario from a file.
    ///
    /// # Errors
    ///
    /// As [`parse`](Self::parse), and if the file cannot be read.
    pub fn load(path: &str) -> Result<Self, ScenarioError> {
        catalogue::load(path)
    }

    /// The scenario that a name of the catalogue, a flip's name such as `gc-pause/flip-1`, or a path stands for.
    ///
    /// # Errors
    ///
    /// As [`load`](Self::load); for a name that is in the catalogue neither, with the nearest one that is.
    pub fn find(name_or_path: &str) -> Result<Self, ScenarioError> {
        catalogue::find(name_or_path)
    }

    /// The scenario, or the flip, with other values: each setting is `KEY=VALUE`, with the dotted key and the value as in
    /// the file, though a string needs no quotes. Tables are merged, everything else is replaced, lists too.
    ///
    /// ```
    /// use fencepost::scenario::Scenario;
    ///
    /// # fn main() -> Result<(), fencepost::scenario::ScenarioError> {
    /// let fenced = Scenario::find("gc-pause")?.with(&["resource.fencing=token", "system.token=sequence"])?;
    /// # let _ = fenced;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// If a setting is none, or the scenario does not read with it.
    pub fn with<S: AsRef<str>>(&self, settings: &[S]) -> Result<Self, ScenarioError> {
        let new: Vec<String> = settings
            .iter()
            .map(|setting| settings::line(setting.as_ref()))
            .collect::<Result<_, _>>()?;
        if new.is_empty() {
            return Ok(self.clone());
        }
        let text: Arc<str> = settings::append(&self.text, &new).into();
        let all = [&*self.settings, &*new].concat();
        let (base, flip) = self.base_and_flip();
        let origin = Origin {
            name: &format!("{base}{}", settings::suffix(&all)),
            path: &self.path,
            text: &text,
            settings: &all,
        };
        let changed = origin
            .read()
            .map_err(|problem| ScenarioError::new(&self.path, &text, problem))?;
        Ok(match flip {
            None => changed,
            Some(flip) => changed
                .flips
                .into_iter()
                .map(|flip| flip.scenario)
                .find(|scenario| scenario.name.ends_with(flip))
                .expect("the text has the flips that it had"),
        })
    }

    /// What [`find`](Self::find) finds it by, or finds what it was before something was [set](Self::with): its name if
    /// the catalogue has it, or else its path.
    #[must_use]
    pub fn address(&self) -> String {
        let (base, flip) = self.base_and_flip();
        let flip = flip.unwrap_or_default();
        let mut known = embedded().iter();
        if known.any(|(name, text)| *name == base && settings::is_of(&self.text, text)) {
            format!("{base}{flip}")
        } else {
            format!("{}{flip}", self.path)
        }
    }

    /// The name without what settings and a flip add to it, and the flip.
    fn base_and_flip(&self) -> (&str, Option<&str>) {
        let (name, flip) = match self.name.rsplit_once("/flip-") {
            Some((name, _)) => (name, Some(&self.name[name.len()..])),
            None => (&*self.name, None),
        };
        match name.rsplit_once('+') {
            Some((base, _)) if !self.settings.is_empty() => (base, flip),
            _ => (name, flip),
        }
    }

    /// All hosts, in the order in which they act within one instant: clients, the probe, nodes, resource, sequence.
    #[must_use]
    pub fn hosts(&self) -> &Hosts {
        &self.hosts
    }
}

/// How scenario files spell a value that is a word.
pub(crate) fn spelled(value: impl serde::Serialize) -> String {
    let value = toml::Value::try_from(value).expect("it is a word");
    value.as_str().expect("it is a word").to_owned()
}

/// Where a scenario comes from.
#[derive(Clone, Copy)]
struct Origin<'a> {
    name: &'a str,
    path: &'a str,
    text: &'a Arc<str>,
    settings: &'a [String],
}

impl Origin<'_> {
    fn read(self) -> Result<Scenario, Problem> {
        let root = DeTable::parse(self.text)?;
        let span = root.span();
        let mut root = root.into_inner();
        let flips = flip::take(&mut root)?;
        let settings = settings::take(&mut root)?;
        let with_settings = |root| Spanned::new(span.clone(), settings::lay(&settings, root));
        let idle = if settings.is_empty() {
            check::idle
        } else {
            |_: &File| Ok(())
        };
        let mut scenario = self.build(self.name.to_owned(), with_settings(root.clone()), idle)?;
        for (index, flip) in flips.into_iter().enumerate() {
            let (place, why) = (flip.span.clone(), flip.why.clone());
            let name = format!("{}/flip-{}", self.name, index + 1);
            let merged = flip
                .over(&root)
                .and_then(|table| self.build(name, with_settings(table), |_| Ok(())));
            let scenario_of_flip = merged.map_err(|problem| Problem {
                flip: Some(place),
                ..problem
            })?;
            scenario.flips.push(Flip {
                why,
                scenario: scenario_of_flip,
            });
        }
        Ok(scenario)
    }

    fn build(
        self,
        name: String,
        table: Spanned<DeTable<'_>>,
        check_besides: fn(&File) -> Result<(), Problem>,
    ) -> Result<Scenario, Problem> {
        let file = File::deserialize(Deserializer::from(table))?;
        check_besides(&file)?;
        let hosts = check::hosts(&file)?;
        check::settings(&file, &hosts)?;
        let faults = check::faults(&file, &hosts, self.text)?;
        let swarm = check::swarm(&file, &hosts)?;
        let expect = check::expect(&file, &hosts, self.text)?;
        let call_bound = file
            .call_bound
            .unwrap_or_else(|| default_call_bound(file.system.get_ref()));
        Ok(Scenario {
            name,
            path: self.path.to_owned(),
            text: self.text.clone(),
            settings: self.settings.to_vec(),
            claim: file.claim.into_inner(),
            document: file.document.into_inner(),
            seed: file.seed,
            horizon: file.horizon,
            settle: file.settle,
            call_bound,
            acquire_bound: file.acquire_bound.unwrap_or(call_bound * 10),
            heal_at: file.heal_at,
            system: file.system.into_inner(),
            node: file.node,
            network: file.network,
            links: file.link.into_iter().map(Spanned::into_inner).collect(),
            clocks: file.clock,
            resource: file.resource,
            workload: file.workload.kind,
            clients: file.client,
            faults,
            swarm,
            expect,
            flips: Vec::new(),
            hosts,
        })
    }
}

/// The bound on a call where the file gives none: every node may use up its timeout twice, once when it is asked and
/// once when what it granted is released, and a second is left for tokens, clocks that run slow and reconnecting.
///
/// A call is one attempt, so the client's number of tries does not enter. It is generous on purpose: it is to
/// catch a call that hangs, not one that is slow.
#[must_use]
pub fn default_call_bound(system: &System) -> Duration {
    system.node_timeout.max() * 2 * system.nodes() + Duration::from_secs(1)
}
