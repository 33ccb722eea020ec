//! What a test says that fails: what came out, why, with how little it comes about, and how to see it again.

use std::fmt::{self, Display, Write};
use std::path::PathBuf;

use fencepost_checker::run::Run;
use fencepost_checker::{Digest, History, Outcome as Came, Property};
use fencepost_world::EngineKind;

use super::replay;
use crate::bundle::{Bundle, Origin, OwnLock};
use crate::expect::Standing;
use crate::plan::{Plan, tell};
use crate::runner::Outcome;
use crate::scenario::{Scenario, is_expectation, spelled};
use crate::shrink::{Shrunk, scenario_file, shrink};
use crate::sweep::{SweepError, Totals};

/// How many runs shrinking takes at most. On turmoil one takes a second.
const fn runs(engine: EngineKind) -> u64 {
    match engine {
        EngineKind::Event => 1_000,
        EngineKind::Turmoil => 30,
    }
}

/// An experiment that did not come out as expected. Displays all of it, with the command that makes it fail again.
#[derive(Debug)]
pub struct Failure {
    /// The seed that failed; `None` if none did by itself, as where nothing was violated that should have been.
    pub seed: Option<u64>,
    /// The digest of that seed's history.
    pub digest: Option<Digest>,
    /// The property whose violation was shrunk, and the least plan that violates it in the same way.
    pub shrunk: Option<Box<(Property, Plan)>>,
    /// The folder of the bundle.
    pub bundle: Option<PathBuf>,
    text: String,
}

impl Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.text.trim_end())
    }
}

impl std::error::Error for Failure {}

impl Failure {
    /// An experiment that cannot be run as it is.
    pub(super) fn wrong(error: impl Display) -> Self {
        Self {
            seed: None,
            digest: None,
            shrunk: None,
            bundle: None,
            text: error.to_string(),
        }
    }

    fn line(&mut self, arguments: fmt::Arguments<'_>) {
        writeln!(self.text, "{arguments}").expect("it is a string");
    }
}

/// A run that panicked.
pub(super) fn panicked<E: std::error::Error>(
    scenario: &Scenario,
    error: &SweepError<E>,
) -> Failure {
    let mut failure = Failure::wrong("");
    failure.line(format_args!("{}: {error}", scenario.name));
    failure.settings(scenario);
    if let SweepError::Panicked { seed } = error {
        failure.seed = Some(*seed);
        failure.line(format_args!("\n  replay    {}", replay::command(*seed)));
    }
    failure
}

/// All schedules together: none failed by itself, but "at least once" may not have come.
pub(super) fn of_all(scenario: &Scenario, totals: Totals) -> Result<Totals, Failure> {
    if totals.standing(&scenario.expect) == Standing::AsExpected {
        return Ok(totals);
    }
    let mut failure = Failure::wrong("");
    let schedules = totals.schedules;
    failure.line(format_args!(
        "{}: {schedules} schedules came out otherwise",
        scenario.name
    ));
    failure.settings(scenario);
    for row in totals.rows(&scenario.expect) {
        let (Some(expected), Some(standing)) = (row.expected, row.standing) else {
            continue;
        };
        if standing != Standing::AsExpected {
            let tally = row.totals.tally;
            failure.line(format_args!(
                "  {}: expected {}, held in {}, was violated in {}, was not put to the test in {}",
                row.property,
                spelled(expected),
                tally.holds,
                tally.violated,
                tally.vacuous
            ));
        }
    }
    Err(failure)
}

/// One schedule that failed, after others that did not.
pub(super) fn of_one(
    scenario: &Scenario,
    outcome: &Outcome,
    totals: &Totals,
    lock: Option<&str>,
    run: impl Fn(&Plan) -> History,
) -> Failure {
    let seed = outcome.plan.world.seed;
    let mut failure = Failure::wrong("");
    failure.seed = Some(seed);
    failure.digest = Some(outcome.history.digest());
    let lock_name = lock.map_or_else(String::new, |lock| format!(", lock {lock}"));
    failure.line(format_args!(
        "{}: {} with seed {seed}, after {} schedules that were as expected (engine {}{lock_name})",
        scenario.name,
        outcome.standing(),
        totals.schedules.saturating_sub(1),
        outcome.engine,
    ));
    failure.settings(scenario);
    failure.text += &outcome.judgement.surprises(&outcome.verdicts);
    let replay = replay::command(seed);
    let own = lock.map(|lock| OwnLock {
        name: lock.to_owned(),
        replay: replay.clone(),
    });
    let bundle = Bundle {
        lock: own,
        ..Bundle::new(Origin::of_library(), &scenario.text, outcome)
    };
    let kept = bundle.write(&replay::out(), &outcome.history);
    let mut shrunk_to = None;
    if let Some(property) = violated(outcome) {
        let shrunk = shrink(
            &outcome.plan,
            property,
            runs(outcome.engine),
            run,
            |_, _| {},
        );
        if let Ok(shrunk) = shrunk {
            shrunk_to = failure.least(outcome, property, shrunk, &bundle);
        }
    }
    failure.line(format_args!("\n  replay    {replay}"));
    match kept {
        Ok(folder) => {
            failure.line(format_args!("  bundle    {}", folder.display()));
            failure.bundle = Some(folder);
        }
        Err(error) => failure.line(format_args!("  no bundle: {error}")),
    }
    if let Some(told) = shrunk_to {
        failure.line(format_args!("  {told}"));
    }
    failure.line(format_args!("  history   {}", outcome.history.digest()));
    failure
}

impl Failure {
    /// What makes the runs other ones than those of the file.
    fn settings(&mut self, scenario: &Scenario) {
        let settings = scenario.settings.iter();
        for setting in settings.filter(|setting| !is_expectation(setting)) {
            self.line(format_args!("  with {setting}"));
        }
    }

    /// Tells the least plan; returns where it is kept as a scenario.
    fn least(
        &mut self,
        outcome: &Outcome,
        property: Property,
        shrunk: Shrunk,
        bundle: &Bundle,
    ) -> Option<String> {
        let (before, left) = (&outcome.plan.world.faults, &shrunk.plan.world.faults);
        self.line(format_args!(
            "\nshrunk by {property} from {} faults to {}, from {} clients to {}, in {} runs",
            before.len(),
            left.len(),
            outcome.plan.clients.len(),
            shrunk.plan.clients.len(),
            shrunk.runs
        ));
        for fault in left {
            self.line(format_args!("  {}", tell::whole(fault)));
        }
        let verdict = property.judge(&Run::of(&shrunk.history));
        if let Some(first) = verdict.witnesses.first() {
            self.line(format_args!("    at {}: {}", first.at, first.sentence));
            if let Some(cause) = &first.cause {
                self.line(format_args!("    because {cause}"));
            }
        }
        let name = format!("{}-{property}", bundle.folder());
        let file = scenario_file(&shrunk.plan, &name, &verdict);
        self.shrunk = Some(Box::new((property, shrunk.plan)));
        let path = replay::out().join(format!("{name}.toml"));
        // Where no file can say the plan, or none can be written, the bundle is still there.
        std::fs::write(&path, &*file.ok()?.text).ok()?;
        Some(format!("scenario  {}", path.display()))
    }
}

/// The first property that is violated and should not be.
fn violated(outcome: &Outcome) -> Option<Property> {
    let rows = outcome.judgement.rows.iter();
    let mut otherwise =
        rows.filter(|row| row.standing == Standing::Otherwise && row.outcome == Came::Violated);
    otherwise.next().map(|row| row.property)
}
