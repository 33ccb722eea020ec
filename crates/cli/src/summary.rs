//! The summary line of `--json`.

use std::time::Duration;

use fencepost::expect::Standing;
use fencepost::runner::Outcome;
use fencepost_checker::{History, Outcome as Came, Time, Verdict};
use serde_json::{Map, Value, json};

/// How long the run was in virtual time.
pub(crate) fn virtual_time(history: &History) -> Time {
    history.events.last().map_or(Time::ZERO, |event| event.at)
}

/// The summary of one run.
pub(crate) fn of_run(outcome: &Outcome, took: Duration) -> Value {
    let mut summary = of_history(
        &outcome.history,
        &outcome.verdicts,
        outcome.standing(),
        took,
    );
    let unmet = outcome
        .judgement
        .unmet
        .iter()
        .map(|unmet| json!({"fact": unmet.fact, "found": unmet.found}));
    summary["unmet"] = unmet.collect();
    summary
}

/// The summary of a history that was judged, however it came about.
pub(crate) fn of_history(
    history: &History,
    verdicts: &[Verdict],
    standing: Standing,
    took: Duration,
) -> Value {
    let counts = |verdict: &Verdict| {
        let count = |outcome| u32::from(verdict.outcome == outcome);
        json!({
            "holds": count(Came::Holds),
            "violated": count(Came::Violated),
            "vacuous": count(Came::Vacuous),
        })
    };
    let verdicts: Map<String, Value> = verdicts
        .iter()
        .map(|verdict| (verdict.property.name().to_owned(), counts(verdict)))
        .collect();
    let wall = took.as_secs_f64();
    json!({
        "kind": "summary",
        "scenario": history.header.scenario,
        "seed": history.header.seed,
        "engine": history.header.engine,
        "schedules": 1,
        "as_expected": standing == Standing::AsExpected,
        "standing": standing.to_string(),
        "verdicts": verdicts,
        "virtual_seconds": virtual_time(history).since(Time::ZERO).as_secs_f64(),
        "wall_seconds": wall,
        "schedules_per_second": if wall > 0.0 { 1.0 / wall } else { 0.0 },
        "digest": history.digest().to_string(),
    })
}
