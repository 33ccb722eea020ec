//! Scripted scenarios: as expected for every seed, on both engines, with equal verdicts, and the same once more.

use fencepost::EngineKind;
use fencepost::expect::{Outcome as Came, Row, Standing};
use fencepost::runner::{Outcome, supported};
use fencepost::scenario::{Scenario, embedded};
use libtest_mimic::{Failed, Trial};

use crate::same;

/// A scripted scenario comes out the same in every schedule: seeds draw latencies, delays and lock values.
const SEEDS: std::ops::Range<u64> = 0..12;
/// How many of them run a second time.
const AGAIN: usize = 4;
/// turmoil takes a second for a minute of virtual time, and these are most of all tests' time: a flip runs once.
const SEEDS_ON_TURMOIL: std::ops::Range<u64> = 0..2;
const SEEDS_OF_A_FLIP_ON_TURMOIL: std::ops::Range<u64> = 0..1;

pub(crate) fn canaries() -> Vec<Trial> {
    let canaries = embedded()
        .iter()
        .filter(|(name, _)| name.starts_with("canary/"));
    canaries
        .map(|(name, _)| Trial::test(format!("{name} must not pass"), move || canary(name)))
        .collect()
}

pub(crate) fn trials(scenario: Scenario) -> Vec<Trial> {
    let name = scenario.name.clone();
    let other = scenario.clone();
    let mut trials = vec![Trial::test(format!("{name} on event"), move || {
        // What is about one seed says nothing of others, nor of another engine.
        let seeds = scenario.seed.map_or(SEEDS, |seed| seed..seed + 1);
        let all: Result<Vec<Outcome>, Failed> = seeds
            .map(|seed| as_expected(&scenario, seed, EngineKind::Event))
            .collect();
        // Some once more, backwards: what ran on this thread before must not show.
        for first in all?.iter().rev().take(AGAIN) {
            again(&scenario, first)?;
        }
        Ok(())
    })];
    if other.seed.is_none() && supported(&other, EngineKind::Turmoil).is_ok() {
        trials.push(Trial::test(
            format!("{name} on turmoil, and parity"),
            move || {
                if other.name.contains("/flip-") {
                    let mut seeds = SEEDS_OF_A_FLIP_ON_TURMOIL;
                    return seeds.try_for_each(|seed| parity(&other, seed).map(drop));
                }
                let all: Result<Vec<Outcome>, Failed> =
                    SEEDS_ON_TURMOIL.map(|seed| parity(&other, seed)).collect();
                // One of them: a second costs a second.
                again(&other, &all?[0])
            },
        ));
    }
    trials
}

fn again(scenario: &Scenario, first: &Outcome) -> Result<(), Failed> {
    let seed = first.plan.world.seed;
    let second = Outcome::of(scenario, seed, first.engine);
    same(seed, &first.history, &second.history)
}

fn as_expected(scenario: &Scenario, seed: u64, engine: EngineKind) -> Result<Outcome, Failed> {
    let outcome = Outcome::of(scenario, seed, engine);
    if outcome.standing() == Standing::AsExpected {
        return Ok(outcome);
    }
    let wrong: Vec<String> = outcome
        .judgement
        .rows
        .iter()
        .filter(|row| row.standing != Standing::AsExpected)
        .map(|row| {
            format!(
                "{}: expected {:?}, came out {:?}",
                row.property.name(),
                row.expected,
                row.outcome
            )
        })
        .chain(
            outcome
                .judgement
                .unmet
                .iter()
                .map(|unmet| format!("not shown: {}, but {}", unmet.fact, unmet.found)),
        )
        .collect();
    Err(format!("seed {seed}, engine {engine}: {}", wrong.join("; ")).into())
}

/// What the scenario judges comes out equal. What it only reports may differ in whether it was put to the test: that
/// hangs on the latencies, which turmoil draws once a link.
fn parity(scenario: &Scenario, seed: u64) -> Result<Outcome, Failed> {
    let turmoil = as_expected(scenario, seed, EngineKind::Turmoil)?;
    let event = as_expected(scenario, seed, EngineKind::Event)?;
    let differs = |(a, b): &(&Row, &Row)| {
        let untested = a.expected.is_none() && [a.outcome, b.outcome].contains(&Came::Vacuous);
        a.outcome != b.outcome && !untested
    };
    let rows = event.judgement.rows.iter().zip(&turmoil.judgement.rows);
    let wrong: Vec<String> = rows
        .filter(differs)
        .map(|(a, b)| {
            format!(
                "{}: event {:?}, turmoil {:?}",
                a.property.name(),
                a.outcome,
                b.outcome
            )
        })
        .collect();
    if wrong.is_empty() {
        return Ok(turmoil);
    }
    Err(format!("seed {seed}: {}", wrong.join("; ")).into())
}

fn canary(name: &str) -> Result<(), Failed> {
    let scenario = Scenario::find(name)?;
    for engine in EngineKind::ALL {
        if Outcome::of(&scenario, 1, engine).standing() != Standing::Otherwise {
            return Err(format!("{name} has a wrong expectation and passes on {engine}: nothing is reported any more").into());
        }
    }
    Ok(())
}
