//! Every scenario and every flip, one test each and engine. Scripted ones come out as their files say whatever the
//! seed, and both engines agree; random ones over thousands of schedules. The canary must not pass.

mod random;
mod scripted;

use fencepost::scenario::{Scenario, catalogue};
use fencepost_checker::{History, first_difference};
use libtest_mimic::{Arguments, Failed};

fn main() {
    let arguments = Arguments::from_args();
    let mut trials = scripted::canaries();
    for scenario in catalogue() {
        let is_random = scenario.expect.min_schedules.is_some();
        for one in with_flips(scenario) {
            if is_random {
                trials.push(random::trial(one));
            } else {
                trials.extend(scripted::trials(one));
            }
        }
    }
    trials.push(random::enough());
    libtest_mimic::run(&arguments, trials).exit();
}

/// A scenario and its flips, of which it must have one: without it proves by nothing that it tests something.
fn with_flips(scenario: Scenario) -> Vec<Scenario> {
    let flips = scenario.flips.iter().map(|flip| flip.scenario.clone());
    let flips: Vec<Scenario> = flips.collect();
    let proves_nothing = ["bench/", "regressions/"];
    assert!(
        !flips.is_empty()
            || proves_nothing
                .iter()
                .any(|folder| scenario.name.starts_with(folder)),
        "{} proves by no flip that it tests something",
        scenario.name
    );
    std::iter::once(scenario).chain(flips).collect()
}

/// The second run is on a thread that others have used since the first.
fn same(seed: u64, first: &History, second: &History) -> Result<(), Failed> {
    match first_difference(first, second) {
        Some(difference) => Err(format!(
            "seed {seed} came to another history the second time:\n{difference}"
        )
        .into()),
        None => Ok(()),
    }
}
