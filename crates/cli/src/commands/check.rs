//! `fencepost check`.

use std::path::Path;

use fencepost::expect::Judgement;
use fencepost::scenario::{Expect, Scenario};
use fencepost_checker::{History, Verdict, judge};
use serde_json::json;

use super::say;
use crate::exit::{End, WrongInput};
use crate::stopwatch::Stopwatch;
use crate::{present, summary};

pub(super) fn check(path: &Path, json: bool) -> anyhow::Result<End> {
    let stopwatch = Stopwatch::start();
    let text = std::fs::read_to_string(path)
        .map_err(|error| WrongInput(format!("failed to read {}: {error}", path.display())))?;
    let history = History::parse(&text)
        .map_err(|error| WrongInput(format!("{}: {error}", path.display())))?;
    let verdicts = judge(&history);
    let judgement = measured(&history, &verdicts);
    let standing = judgement.standing();
    if json {
        verdicts
            .iter()
            .try_for_each(|verdict| say(as_json(verdict)))?;
        say(summary::of_history(
            &history,
            &verdicts,
            standing,
            stopwatch.elapsed(),
        ))?;
    } else {
        let header = &history.header;
        say(format_args!(
            "{}  seed {}  engine {}",
            header.scenario, header.seed, header.engine
        ))?;
        say(present::verdicts(&judgement, &verdicts))?;
        say(present::evidence(&verdicts))?;
        for unmet in &judgement.unmet {
            say(format_args!(
                "not shown: {}\n  found instead: {}",
                unmet.fact, unmet.found
            ))?;
        }
        say(format_args!(
            "{standing}: {} events, {}",
            history.events.len(),
            history.digest()
        ))?;
    }
    Ok(End::Judged(standing))
}

/// By the expectations of the scenario that the history names, if this version still has it.
fn measured(history: &History, verdicts: &[Verdict]) -> Judgement {
    match Scenario::find(&history.header.scenario) {
        Ok(scenario) => {
            let unmet = scenario
                .expect
                .facts
                .iter()
                .filter_map(|fact| fact.check(history).err())
                .collect();
            Judgement::new(&scenario.expect, verdicts, unmet)
        }
        Err(_) => Judgement::new(&Expect::default(), verdicts, Vec::new()),
    }
}

fn as_json(verdict: &Verdict) -> serde_json::Value {
    let witness = |witness: &fencepost_checker::Witness| {
        json!({
            "at": witness.at,
            "events": witness.events,
            "sentence": witness.sentence,
            "cause": witness.cause,
        })
    };
    json!({
        "kind": "verdict",
        "property": verdict.property.name(),
        "outcome": present::came(verdict.outcome),
        "violations": verdict.violations,
        "witnesses": verdict.witnesses.iter().map(witness).collect::<Vec<_>>(),
        "vacuous_because": verdict.vacuous_because,
    })
}
