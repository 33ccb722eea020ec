//! `fencepost replay`.

use std::path::Path;

use fencepost::bundle::{Bundle, Replay};
use fencepost::expect::Standing;
use fencepost::runner::{Outcome, supported};
use fencepost::scenario::Scenario;
use fencepost_checker::{History, first_difference, judge};

use super::say;
use crate::arguments::ReplayArguments;
use crate::exit::{End, WrongInput};
use crate::origin::origin;
use crate::stopwatch::Stopwatch;
use crate::{present, summary};

pub(super) fn replay(arguments: &ReplayArguments) -> anyhow::Result<End> {
    let path = Path::new(&arguments.what);
    if path.is_dir()
        || path
            .extension()
            .is_some_and(|extension| extension == "json")
    {
        return bundle(path, arguments);
    }
    match arguments.seed {
        Some(seed) => {
            let found = Scenario::find(&arguments.what)?.with(&arguments.set)?;
            scenario(&found, seed, arguments)
        }
        None => Err(WrongInput(format!(
            "`{}` is no folder with a bundle; to replay a scenario say which seed: replay {} --seed N",
            arguments.what, arguments.what
        ))
        .into()),
    }
}

fn bundle(path: &Path, arguments: &ReplayArguments) -> anyhow::Result<End> {
    if arguments.seed.is_some() || arguments.engine.is_some() || !arguments.set.is_empty() {
        return Err(WrongInput(
            "a bundle has its own plan and engine; leave out --seed, --set and --engine".to_owned(),
        )
        .into());
    }
    let stopwatch = Stopwatch::start();
    let bundle = Bundle::read(path)?;
    match bundle.replay(path)? {
        Replay::Same(history) => {
            let verdicts = judge(&history);
            if !arguments.json {
                say(format_args!(
                    "{}  seed {}  engine {}",
                    bundle.scenario, bundle.seed, bundle.engine
                ))?;
                say(present::evidence(&verdicts))?;
            }
            let took = stopwatch.elapsed();
            same(
                &history,
                arguments
                    .json
                    .then(|| summary::of_history(&history, &verdicts, Standing::AsExpected, took)),
            )
        }
        Replay::Differs(difference) => {
            let (here, there) = (origin(), &bundle.origin);
            eprintln!("{difference}");
            if here != *there {
                let (version, commit) = (&there.version, &there.commit);
                eprintln!(
                    "it was written by {version} at commit {commit}; this is {} at {}",
                    here.version, here.commit
                );
            }
            Ok(End::Differed)
        }
    }
}

fn scenario(scenario: &Scenario, seed: u64, arguments: &ReplayArguments) -> anyhow::Result<End> {
    let engine = arguments.engine.unwrap_or_default();
    supported(scenario, engine)?;
    let stopwatch = Stopwatch::start();
    let first = Outcome::of(scenario, seed, engine);
    let second = Outcome::of(scenario, seed, engine);
    if let Some(difference) = first_difference(&first.history, &second.history) {
        eprintln!("two runs of the same seed differ:\n{difference}");
        return Ok(End::Differed);
    }
    if !arguments.json {
        say(present::run(scenario, &first))?;
    }
    let took = stopwatch.elapsed();
    same(
        &first.history,
        arguments.json.then(|| summary::of_run(&first, took)),
    )?;
    Ok(End::Judged(first.standing()))
}

fn same(history: &History, summary: Option<serde_json::Value>) -> anyhow::Result<End> {
    match summary {
        Some(summary) => say(summary)?,
        None => say(format_args!(
            "the same history, byte for byte: {}",
            history.digest()
        ))?,
    }
    Ok(End::Judged(Standing::AsExpected))
}
