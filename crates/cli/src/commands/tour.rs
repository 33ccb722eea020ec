//! `fencepost` without a command: every scenario and every flip against its expectation.

use std::path::Path;

use fencepost::EngineKind;
use fencepost::expect::{Row, Standing};
use fencepost::runner::Outcome;
use fencepost::scenario::{Scenario, scripted};

use super::{run, say};
use crate::exit::End;
use crate::present::{self, came, table};
use crate::stopwatch::Stopwatch;

pub(super) fn tour() -> anyhow::Result<End> {
    let stopwatch = Stopwatch::start();
    let mut table = table(&["scenario", "what came out", ""]);
    let (mut standing, mut runs, mut blocks) = (Standing::AsExpected, 0, String::new());
    for scenario in scripted() {
        let flips = scenario.flips.iter().map(|flip| &flip.scenario);
        for (index, one) in std::iter::once(&scenario).chain(flips).enumerate() {
            let seed = one.seed.unwrap_or(run::DEFAULT_SEED);
            let outcome = Outcome::of(one, seed, EngineKind::Event);
            let name = if index == 0 {
                one.name.clone()
            } else {
                format!("  flip {index}")
            };
            table.add_row([name, came_out(&outcome), outcome.standing().to_string()]);
            standing = standing.max(outcome.standing());
            runs += 1;
            if outcome.standing() != Standing::AsExpected {
                blocks += &block(one, &outcome)?;
            }
        }
    }
    say(table)?;
    say(format_args!(
        "{runs} runs in {:.1} s, each with seed {} on engine event",
        stopwatch.elapsed().as_secs_f64(),
        run::DEFAULT_SEED
    ))?;
    say("look closer:  run gc-pause    replay gc-pause --seed 7    list    --help")?;
    eprint!("{blocks}");
    Ok(End::Judged(standing))
}

fn block(scenario: &Scenario, outcome: &Outcome) -> anyhow::Result<String> {
    let bundle = run::keep(scenario, outcome, Path::new("fencepost-out"))?;
    Ok(present::failure(outcome, &bundle))
}

/// The properties that the scenario is about.
fn came_out(outcome: &Outcome) -> String {
    let judged = outcome
        .judgement
        .rows
        .iter()
        .filter(|row| row.expected.is_some());
    let cell = |row: &Row| format!("{} {}", row.property.name(), came(row.outcome));
    judged.map(cell).collect::<Vec<_>>().join("\n")
}
