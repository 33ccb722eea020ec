//! Every scenario and every flip, one test each and engine: it comes out as its file says, whatever the seed, and both
//! engines agree. The canary must not.

use fencepost::EngineKind;
use fencepost::expect::{Outcome as Came, Row, Standing};
use fencepost::runner::{Outcome, supported};
use fencepost::scenario::{Scenario, embedded, scripted};
use libtest_mimic::{Arguments, Failed, Trial};

/// A scripted scenario comes out the same in every schedule: seeds draw latencies, delays and lock values.
const SEEDS: std::ops::Range<u64> = 0..25;
/// turmoil takes a second for a minute of virtual time.
const SEEDS_ON_TURMOIL: std::ops::Range<u64> = 0..2;

fn main() {
    let arguments = Arguments::from_args();
    let mut trials = Vec::new();
    for scenario in scripted() {
        let flips: Vec<Scenario> = scenario
            .flips
            .iter()
            .map(|flip| flip.scenario.clone())
            .collect();
        assert!(
            !flips.is_empty(),
            "{} proves by no flip that it tests something",
            scenario.name
        );
        for one in std::iter::once(scenario).chain(flips) {
            trials.extend(trials_of(one));
        }
    }
    let canaries = embedded()
        .iter()
        .filter(|(name, _)| name.starts_with("canary/"));
    trials.extend(
        canaries
            .map(|(name, _)| Trial::test(format!("{name} must not pass"), move || canary(name))),
    );
    libtest_mimic::run(&arguments, trials).exit();
}

fn trials_of(scenario: Scenario) -> Vec<Trial> {
    let name = scenario.name.clone();
    let other = scenario.clone();
    let mut trials = vec![Trial::test(format!("{name} on event"), move || {
        SEEDS
            .into_iter()
            .try_for_each(|seed| as_expected(&scenario, seed, EngineKind::Event).map(drop))
    })];
    if supported(&other, EngineKind::Turmoil).is_ok() {
        trials.push(Trial::test(
            format!("{name} on turmoil, and parity"),
            move || {
                SEEDS_ON_TURMOIL
                    .into_iter()
                    .try_for_each(|seed| parity(&other, seed))
            },
        ));
    }
    trials
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
fn parity(scenario: &Scenario, seed: u64) -> Result<(), Failed> {
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
        return Ok(());
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
