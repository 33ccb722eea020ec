//! Sweeps: a scenario under thousands of seeds, on all cores, in flat memory.
//!
//! Every seed is a simulation of its own, on one thread from beginning to end. What is kept of it is its
//! [`SeedResult`], in the order of the seeds, so that a sweep comes to the same whatever the number of threads, and
//! shards of it come to the same once they are merged.

mod result;
mod shard;
mod store;
mod totals;

use std::num::NonZeroUsize;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};

use fencepost_world::EngineKind;
use rayon::ThreadPool;
use rayon::iter::{IndexedParallelIterator, IntoParallelIterator, ParallelIterator};

use crate::runner::Outcome;
use crate::scenario::Scenario;

pub use result::{SeedFamily, SeedResult};
pub use shard::{Shard, WrongShard};
pub use store::{FORMAT, Header, Merge, Results, StoreError, Writer};
pub use totals::{FamilyTotals, PropertyTotals, Totals, TotalsRow};

/// How many seeds each thread is given before what they came to is written down. turmoil needs a second for one.
const fn at_a_time(engine: EngineKind) -> u64 {
    match engine {
        EngineKind::Event => 64,
        EngineKind::Turmoil => 2,
    }
}

/// When a sweep ends early. Whatever it is, the results are those of the lowest seeds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum StopOn {
    /// Not before the last seed.
    #[default]
    Never,
    /// After so many seeds that failed.
    Failures(u64),
}

impl std::str::FromStr for StopOn {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "never" => Ok(Self::Never),
            "first" => Ok(Self::Failures(1)),
            number => match number.parse() {
                Ok(number) if number > 0 => Ok(Self::Failures(number)),
                _ => Err("expected `first`, `never`, or a number of failures from 1 on".to_owned()),
            },
        }
    }
}

impl StopOn {
    /// Whether so many failures are enough.
    #[must_use]
    pub const fn reached(self, failures: u64) -> bool {
        matches!(self, Self::Failures(enough) if failures >= enough)
    }
}

/// A scenario, an engine and a range of seeds.
#[derive(Clone, Debug)]
pub struct Sweep<'a> {
    /// What is run. The engine must [support](crate::runner::supported) it.
    pub scenario: &'a Scenario,
    /// On which engine.
    pub engine: EngineKind,
    /// Which seeds.
    pub seeds: Range<u64>,
    /// On how many threads.
    pub jobs: NonZeroUsize,
    /// When to end early.
    pub stop_on: StopOn,
}

/// How a sweep ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// With the last seed, or with the failure that was to end it.
    Done,
    /// By request, before that.
    Interrupted,
}

/// A sweep that could not go on.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SweepError<E> {
    /// The threads could not be started.
    #[error("cannot start {jobs} threads: {source}")]
    Threads {
        /// How many.
        jobs: NonZeroUsize,
        /// Why.
        source: rayon::ThreadPoolBuildError,
    },
    /// A run panicked, which only a bug brings about.
    #[error(
        "seed {seed} panicked: that is a bug in the simulator, or in the lock if it is one of your own"
    )]
    Panicked {
        /// The lowest such seed.
        seed: u64,
    },
    /// A result could not be taken.
    #[error(transparent)]
    Sink(E),
}

impl Sweep<'_> {
    /// Runs the seeds, and gives each one's result to `take` in order. Between two of them it looks whether it is to
    /// stop; what is done by then has been given.
    ///
    /// # Errors
    /// `take` fails, a run panics, or there are no threads.
    pub fn run<E>(
        &self,
        stop: &AtomicBool,
        take: impl FnMut(SeedResult) -> Result<(), E>,
    ) -> Result<Ended, SweepError<E>> {
        let run = |seed| Outcome::of(self.scenario, seed, self.engine);
        self.run_by(run, stop, take)
    }

    /// As [`run`](Self::run), with each seed's outcome from `run`.
    pub(crate) fn run_by<E>(
        &self,
        run: impl Fn(u64) -> Outcome + Sync,
        stop: &AtomicBool,
        mut take: impl FnMut(SeedResult) -> Result<(), E>,
    ) -> Result<Ended, SweepError<E>> {
        let pool = self.pool()?;
        let jobs = u64::try_from(self.jobs.get()).unwrap_or(u64::MAX);
        let step = at_a_time(self.engine).saturating_mul(jobs);
        let (mut next, mut failures) = (self.seeds.start, 0);
        while next < self.seeds.end {
            let end = next.saturating_add(step).min(self.seeds.end);
            for done in some(&pool, next..end, &run, stop) {
                let Some(result) = done.map_err(|seed| SweepError::Panicked { seed })? else {
                    return Ok(Ended::Interrupted);
                };
                failures += u64::from(result.failed());
                take(result).map_err(SweepError::Sink)?;
                if self.stop_on.reached(failures) {
                    return Ok(Ended::Done);
                }
            }
            next = end;
        }
        Ok(Ended::Done)
    }

    fn pool<E>(&self) -> Result<ThreadPool, SweepError<E>> {
        let builder = rayon::ThreadPoolBuilder::new().num_threads(self.jobs.get());
        builder.build().map_err(|source| SweepError::Threads {
            jobs: self.jobs,
            source,
        })
    }
}

/// In order of the seeds: the result, nothing where it was not run any more, or the seed where the run panicked.
fn some(
    pool: &ThreadPool,
    seeds: Range<u64>,
    run: &(impl Fn(u64) -> Outcome + Sync),
    stop: &AtomicBool,
) -> Vec<Result<Option<SeedResult>, u64>> {
    let one = |seed: u64| {
        if stop.load(Ordering::Relaxed) {
            return Ok(None);
        }
        // Nothing of a run that panicked is used again.
        catch_unwind(AssertUnwindSafe(|| SeedResult::of(&run(seed))))
            .map(Some)
            .map_err(|_| seed)
    };
    let seeds: Vec<u64> = seeds.collect();
    pool.install(|| {
        // A seed is long enough to be handed out by itself: some take ten times as long as others.
        seeds.into_par_iter().with_max_len(1).map(one).collect()
    })
}
