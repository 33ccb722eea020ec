//! `fencepost sweep`.

use std::num::NonZeroUsize;
use std::thread::available_parallelism;

use fencepost::bundle::Bundle;
use fencepost::runner::{Outcome, supported};
use fencepost::scenario::Scenario;
use fencepost::sweep::{
    Ended, Header, Shard, StoreError, Sweep, SweepError, Totals, Writer, WrongShard,
};

use super::{run, say_swept};
use crate::arguments::SweepArguments;
use crate::exit::{End, WrongInput};
use crate::origin::origin;
use crate::present;
use crate::progress::Progress;
use crate::stopwatch::Stopwatch;
use crate::totals::Swept;
use crate::{interrupt, present::quoted};

pub(super) fn sweep(arguments: &SweepArguments) -> anyhow::Result<End> {
    let scenario = Scenario::find(&arguments.scenario)?.with(&arguments.set)?;
    supported(&scenario, arguments.engine)?;
    let shard = arguments.shard.as_deref().map_or(Ok(Shard::WHOLE), shard)?;
    let seeds = shard.of(&arguments.seeds);
    let sweep = Sweep {
        scenario: &scenario,
        engine: arguments.engine,
        seeds: seeds.clone(),
        jobs: arguments.jobs.unwrap_or_else(cores),
        stop_on: arguments.stop_on,
    };
    let header = Header::new(origin(), &sweep, arguments.seeds.clone(), shard);
    let mut writer = Writer::create(&arguments.out, &header)?;
    let stop = interrupt::flag()?;
    let stopwatch = Stopwatch::start();
    let (mut totals, mut progress) = (Totals::default(), Progress::of(seeds.end - seeds.start));
    let outcome = sweep.run(&stop, |result| -> Result<(), StoreError> {
        writer.add(&result)?;
        totals.add(&result);
        progress.step(totals.failures);
        Ok(())
    });
    progress.end();
    let (ended, error) = match outcome {
        Ok(ended) => (ended, None),
        Err(SweepError::Sink(error)) => (Ended::Interrupted, Some(anyhow::Error::from(error))),
        Err(error) => (Ended::Interrupted, Some(error.into())),
    };
    let swept = Swept {
        scenario: &scenario,
        engine: arguments.engine,
        seeds,
        totals: &totals,
        ended,
        took: stopwatch.elapsed(),
    };
    let bundles = bundles(&scenario, arguments, &totals);
    say_swept(&swept, arguments.json, arguments.junit.as_deref())?;
    eprintln!("results: {}", quoted(writer.path()));
    match (error, ended) {
        (Some(error), _) => Err(error.context(kept(&totals, &swept))),
        (None, Ended::Interrupted) => {
            eprintln!("{}", kept(&totals, &swept));
            Ok(End::Interrupted)
        }
        (None, Ended::Done) => {
            bundles?;
            Ok(End::Judged(swept.standing()))
        }
    }
}

fn kept(totals: &Totals, swept: &Swept<'_>) -> String {
    let (done, first) = (totals.schedules, swept.seeds.start);
    format!(
        "{done} schedules are done and kept, the seeds {first}..{}",
        first + done
    )
}

fn cores() -> NonZeroUsize {
    available_parallelism().unwrap_or(NonZeroUsize::MIN)
}

/// `auto/N` asks the batch system for the index.
fn shard(text: &str) -> anyhow::Result<Shard> {
    let Some(count) = text.strip_prefix("auto/") else {
        return Ok(text.parse()?);
    };
    let index = batch_index(|name| std::env::var(name).ok())
        .map_err(|problem| WrongInput(format!("--shard {text}: {problem}")))?;
    let count = count.parse().map_err(|_| WrongShard(text.to_owned()))?;
    Ok(Shard::new(index, count)?)
}

/// Kubernetes counts from 0; a Slurm array may begin anywhere, and says where.
fn batch_index(variable: impl Fn(&str) -> Option<String>) -> Result<u64, String> {
    const KUBERNETES: &str = "JOB_COMPLETION_INDEX";
    const SLURM: &str = "SLURM_ARRAY_TASK_ID";
    let number = |name: &str| {
        let text = variable(name)?;
        let number = text.parse::<u64>();
        Some(number.map_err(|_| format!("{name} is `{text}`, which is no index")))
    };
    match (number(KUBERNETES), number(SLURM)) {
        (Some(index), _) => index,
        (None, Some(task)) => {
            let first = number("SLURM_ARRAY_TASK_MIN").unwrap_or(Ok(0))?;
            task?
                .checked_sub(first)
                .ok_or_else(|| format!("{SLURM} is below SLURM_ARRAY_TASK_MIN"))
        }
        (None, None) => Err(format!(
            "neither {KUBERNETES} nor {SLURM} is set; give the index as I/N"
        )),
    }
}

/// Writes the bundles of the failing seeds that the totals name; the runs come out again as they did.
fn bundles(scenario: &Scenario, arguments: &SweepArguments, totals: &Totals) -> anyhow::Result<()> {
    for (place, seed) in totals.failing.iter().enumerate() {
        let outcome = Outcome::of(scenario, *seed, arguments.engine);
        if place == 0 {
            let bundle = run::keep(scenario, &outcome, &arguments.out)?;
            eprint!("{}", present::failure(&outcome, &bundle));
        } else {
            Bundle::new(origin(), &scenario.text, &outcome)
                .write(&arguments.out, &outcome.history)?;
        }
    }
    let named = totals.failing.len() as u64;
    if named > 0 {
        let only = if totals.failures > named {
            " only: more would fill the disk"
        } else {
            ""
        };
        let out = quoted(&arguments.out);
        eprintln!(
            "bundles of {named} of {} failures in {out}{only}",
            totals.failures
        );
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_index_is_the_batch_systems() {
        let set = |variables: &'static [(&str, &str)]| {
            batch_index(move |name| {
                let found = variables.iter().find(|(known, _)| *known == name);
                found.map(|(_, value)| (*value).to_owned())
            })
        };
        assert_eq!(set(&[("JOB_COMPLETION_INDEX", "3")]), Ok(3));
        assert_eq!(set(&[("SLURM_ARRAY_TASK_ID", "3")]), Ok(3));
        let from_1 = &[("SLURM_ARRAY_TASK_ID", "3"), ("SLURM_ARRAY_TASK_MIN", "1")];
        assert_eq!(set(from_1), Ok(2));
        assert!(set(&[]).is_err_and(|error| error.contains("I/N")));
        assert!(set(&[("JOB_COMPLETION_INDEX", "x")]).is_err_and(|error| error.contains("`x`")));
    }
}
