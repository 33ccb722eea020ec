//! `fencepost run`.

use std::path::Path;

use anyhow::Context;
use fencepost::bundle::Bundle;
use fencepost::expect::Standing;
use fencepost::runner::{Outcome, supported};
use fencepost::scenario::{Scenario, scripted};

use super::say;
use crate::arguments::RunArguments;
use crate::exit::End;
use crate::junit::Junit;
use crate::origin::origin;
use crate::stopwatch::Stopwatch;
use crate::{present, summary};

/// Where neither the user nor the scenario names one.
pub(super) const DEFAULT_SEED: u64 = 1;

pub(super) fn run(arguments: &RunArguments) -> anyhow::Result<End> {
    let all = arguments.scenario == "all";
    let scenarios = if all {
        scripted()
    } else {
        vec![Scenario::find(&arguments.scenario)?]
    };
    let scenarios = scenarios
        .iter()
        .map(|scenario| scenario.with(&arguments.set));
    let scenarios: Vec<Scenario> = scenarios.collect::<Result<_, _>>()?;
    let mut standing = Standing::AsExpected;
    let mut junit = Junit::new(arguments.junit.as_deref());
    for scenario in scenarios {
        let flips = scenario.flips.iter().filter(|_| arguments.flips);
        let own = std::iter::once(&scenario);
        for (place, one) in own.chain(flips.map(|flip| &flip.scenario)).enumerate() {
            match supported(one, arguments.engine) {
                // Only what was named must be run.
                Err(unsupported) if all || place > 0 => eprintln!("left out: {unsupported}"),
                Err(unsupported) => return Err(unsupported.into()),
                Ok(()) => standing = standing.max(run_one(one, arguments, all, &mut junit)?),
            }
        }
    }
    junit.write()?;
    Ok(End::Judged(standing))
}

fn run_one(
    scenario: &Scenario,
    arguments: &RunArguments,
    all: bool,
    junit: &mut Junit<'_>,
) -> anyhow::Result<Standing> {
    let stopwatch = Stopwatch::start();
    // Of all scenarios, those that are about one seed stay with it.
    let asked = arguments.seed.filter(|_| !all || scenario.seed.is_none());
    let seed = asked.or(scenario.seed).unwrap_or(DEFAULT_SEED);
    let outcome = Outcome::of(scenario, seed, arguments.engine);
    junit.run(scenario, &outcome, stopwatch.elapsed());
    if arguments.json {
        say(summary::of_run(&outcome, stopwatch.elapsed()))?;
    } else if all {
        say(format_args!("{:<28} {}", scenario.name, outcome.standing()))?;
    } else {
        say(present::run(scenario, &outcome))?;
    }
    let standing = outcome.standing();
    if standing != Standing::AsExpected || arguments.keep {
        let bundle = keep(scenario, &outcome, &arguments.out)?;
        eprint!("{}", present::failure(&outcome, &bundle));
    }
    Ok(standing)
}

/// Writes the run's bundle.
pub(super) fn keep(
    scenario: &Scenario,
    outcome: &Outcome,
    out: &Path,
) -> anyhow::Result<std::path::PathBuf> {
    let bundle = Bundle::new(origin(), &scenario.text, outcome);
    bundle
        .write(out, &outcome.history)
        .context("the run is over, but its bundle is lost (see --out)")
}
