//! `fencepost merge`.

use fencepost::scenario::Scenario;
use fencepost::sweep::{Ended, Header, Merge, Results, Totals};

use super::say_swept;
use crate::arguments::MergeArguments;
use crate::exit::{End, WrongInput};
use crate::stopwatch::Stopwatch;
use crate::totals::Swept;

pub(super) fn merge(arguments: &MergeArguments) -> anyhow::Result<End> {
    let stopwatch = Stopwatch::start();
    let mut parts = Vec::new();
    for path in &arguments.results {
        parts.extend(Results::all(path)?);
    }
    let merge = Merge::of(parts)?;
    let header = merge.header().expect("there is a file or an error").clone();
    let scenario = scenario(&header)?;
    let mut totals = Totals::default();
    merge.read(arguments.stop_on, |result| totals.add(&result))?;
    let swept = Swept {
        scenario: &scenario,
        engine: header.engine,
        seeds: header.seeds,
        totals: &totals,
        ended: Ended::Done,
        took: stopwatch.elapsed(),
    };
    say_swept(&swept, arguments.json, arguments.junit.as_deref())?;
    Ok(End::Judged(swept.standing()))
}

/// The scenario that was swept, if it is still what it was.
fn scenario(header: &Header) -> anyhow::Result<Scenario> {
    let scenario = Scenario::find(&header.address)?.with(&header.settings)?;
    if header.is_of(&scenario) {
        return Ok(scenario);
    }
    Err(WrongInput(format!(
        "`{}` is not any more what was swept: its text has changed since, so sweep it again",
        header.scenario
    ))
    .into())
}
