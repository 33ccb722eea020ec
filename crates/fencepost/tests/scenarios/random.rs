//! Random scenarios over many schedules, and what the field would ask of them.

use std::convert::Infallible;
use std::num::NonZeroUsize;
use std::sync::atomic::AtomicBool;

use fencepost::EngineKind;
use fencepost::expect::{Property, Standing};
use fencepost::runner::Outcome;
use fencepost::scenario::{Scenario, catalogue};
use fencepost::sweep::{StopOn, Sweep, SweepError, Totals};
use libtest_mimic::{Failed, Trial};

use crate::{same, with_flips};

/// As many schedules as a verdict needs for a flip, and three times as many for what is claimed.
fn schedules(scenario: &Scenario) -> u64 {
    let least = scenario.expect.min_schedules.unwrap_or_default();
    if scenario.name.contains("/flip-") {
        least
    } else {
        least * 3
    }
}

pub(crate) fn trial(scenario: Scenario) -> Trial {
    let name = format!("{} over {} seeds", scenario.name, schedules(&scenario));
    Trial::test(name, move || {
        let totals = sweep(&scenario, schedules(&scenario))?;
        as_expected(&scenario, &totals)?;
        match &*scenario.name {
            "random/redlock-in-model" => put_to_the_test(&totals)?,
            "random/redlock" => outside_of_the_model(&totals)?,
            "random/redlock-fenced" => mostly_put_to_the_test(&totals)?,
            _ => {}
        }
        again(&scenario)
    })
}

/// What all of this is worth.
pub(crate) fn enough() -> Trial {
    Trial::test("ten thousand random schedules at least", || {
        let scenarios = catalogue().into_iter().flat_map(with_flips);
        let all: u64 = scenarios.map(|scenario| schedules(&scenario)).sum();
        if all < 10_000 {
            return Err(format!("there are {all}").into());
        }
        Ok(())
    })
}

fn sweep(scenario: &Scenario, schedules: u64) -> Result<Totals, Failed> {
    let sweep = Sweep {
        scenario,
        engine: EngineKind::Event,
        seeds: 0..schedules,
        // The trials run side by side.
        jobs: NonZeroUsize::MIN,
        stop_on: StopOn::Never,
    };
    let mut totals = Totals::default();
    let all = sweep.run(&AtomicBool::new(false), |result| {
        totals.add(&result);
        Ok(())
    });
    all.map_err(|error: SweepError<Infallible>| error.to_string())?;
    Ok(totals)
}

fn as_expected(scenario: &Scenario, totals: &Totals) -> Result<(), Failed> {
    if totals.standing(&scenario.expect) == Standing::AsExpected {
        return Ok(());
    }
    let wrong: Vec<String> = totals
        .rows(&scenario.expect)
        .iter()
        .filter(|row| row.standing != Some(Standing::AsExpected))
        .map(|row| {
            format!(
                "{}: expected {:?}, came out {:?}",
                row.property, row.expected, row.totals
            )
        })
        .collect();
    Err(wrong.join("; ").into())
}

/// Inside its own model the algorithm was put to the test: these struck while somebody held the lock in a fifth of all
/// schedules at least. A family is on in half of them.
fn put_to_the_test(totals: &Totals) -> Result<(), Failed> {
    for family in ["pause", "crash", "partition", "delay"] {
        let overlapped = totals.families.get(family).map_or(0, |one| one.overlapped);
        if overlapped * 5 < totals.schedules {
            return Err(format!("{family} overlapped a lease in {overlapped} schedules").into());
        }
    }
    Ok(())
}

/// Redlock's violations come from what it does not claim to survive. That this says something, the causes of the flips of
/// the scenario inside the model show: some of them lie in the lock itself.
fn outside_of_the_model(totals: &Totals) -> Result<(), Failed> {
    let within = [
        "",
        "pause",
        "partition",
        "delay",
        "late-packet",
        "reset",
        "fsync-stall",
    ];
    let by_itself = |families: &String| families.split('+').all(|one| within.contains(&one));
    let found: Vec<_> = totals.causes.keys().filter(|one| by_itself(one)).collect();
    if totals.causes.is_empty() || !found.is_empty() {
        return Err(format!("laid on what the algorithm promises to survive: {found:?}").into());
    }
    Ok(())
}

fn mostly_put_to_the_test(totals: &Totals) -> Result<(), Failed> {
    for property in [
        Property::NoStaleWrite,
        Property::FencingMonotonic,
        Property::NoLostUpdate,
    ] {
        let tally = totals.properties[&property].tally;
        if tally.vacuous * 2 >= tally.schedules() {
            return Err(format!("{property} was mostly not put to the test: {tally:?}").into());
        }
    }
    Ok(())
}

/// A seed is the same run again, whatever ran on this thread in between.
fn again(scenario: &Scenario) -> Result<(), Failed> {
    let run = |seed| Outcome::of(scenario, seed, EngineKind::Event).history;
    let first: Vec<_> = (0..20).map(|seed| (seed, run(seed))).collect();
    let mut backwards = first.iter().rev();
    backwards.try_for_each(|(seed, history)| same(*seed, history, &run(*seed)))
}
