//! The command line.

use std::num::NonZeroUsize;
use std::ops::Range;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Parser, Subcommand};
use fencepost::EngineKind;
use fencepost::sweep::StopOn;
use fencepost_checker::Property;

use crate::exit::USAGE;

/// Deterministic simulation and fault injection for distributed locks.
///
/// Without a command: the tour, every scenario against its expectation.
#[derive(Debug, Parser)]
#[command(name = "fencepost", version, after_help = EXIT_CODES)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
}

const EXIT_CODES: &str = "Exit codes: 0 as expected; 1 a property came out otherwise than expected; 2 vacuous where \
something else was expected; 3 a replay differed; 96 wrong usage or a wrong file; 101 internal error; 130 interrupted.";

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// List the scenarios.
    List {
        /// One JSON object a scenario: name, claim, document, path.
        #[arg(long)]
        json: bool,
    },
    /// Run a scenario, or all of them, and measure what comes out by what is expected.
    Run(RunArguments),
    /// Run a scenario under thousands of seeds, on all cores.
    Sweep(SweepArguments),
    /// Put the results of shards together and judge them.
    Merge(MergeArguments),
    /// Run a bundle, or a scenario with a seed, again and compare the histories byte for byte.
    Replay(ReplayArguments),
    /// Take away from a failing run whatever the failure does not need.
    Shrink(ShrinkArguments),
    /// Judge a stored history again.
    Check {
        /// A `history.jsonl`.
        history: PathBuf,
        /// One JSON line a property, then the summary.
        #[arg(long)]
        json: bool,
    },
}

#[derive(Debug, Args)]
pub(crate) struct RunArguments {
    /// A name from `list`, a flip such as `gc-pause/flip-1`, a path, or `all`.
    pub(crate) scenario: String,
    /// Lay a value over the scenario's file, such as `system.ttl=10s`; once for each value.
    #[arg(long, value_name = "KEY=VALUE")]
    pub(crate) set: Vec<String>,
    /// The seed that draws what the scenario leaves open; the scenario's own if it names one, or else 1. With `all`,
    /// those that name one stay with it.
    #[arg(long)]
    pub(crate) seed: Option<u64>,
    /// `event` or `turmoil`.
    #[arg(long, default_value_t)]
    pub(crate) engine: EngineKind,
    /// Run the flips of the scenario too.
    #[arg(long)]
    pub(crate) flips: bool,
    /// Where bundles of runs go that came out otherwise.
    #[arg(long, default_value = "fencepost-out")]
    pub(crate) out: PathBuf,
    /// Write the bundle in any case.
    #[arg(long)]
    pub(crate) keep: bool,
    /// Write the results as JUnit XML too.
    #[arg(long, value_name = "FILE")]
    pub(crate) junit: Option<PathBuf>,
    /// One JSON line a scenario.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct SweepArguments {
    /// A name from `list`, a flip such as `gc-pause/flip-1`, or a path.
    pub(crate) scenario: String,
    /// Lay a value over the scenario's file, such as `system.ttl=10s`; once for each value.
    #[arg(long, value_name = "KEY=VALUE")]
    pub(crate) set: Vec<String>,
    /// The seeds, A..B without B.
    #[arg(long, value_name = "A..B", value_parser = seeds)]
    pub(crate) seeds: Range<u64>,
    /// How many run at once; as many as there are cores if left out.
    #[arg(long, value_name = "N")]
    pub(crate) jobs: Option<NonZeroUsize>,
    /// `event` or `turmoil`.
    #[arg(long, default_value_t)]
    pub(crate) engine: EngineKind,
    /// Only part I of N, from 0. With `auto/N` I is the index that a Kubernetes Indexed Job or a Slurm job array sets.
    #[arg(long, value_name = "I/N|auto/N")]
    pub(crate) shard: Option<String>,
    /// End at the lowest seed that fails, after K of them, or never.
    #[arg(long, value_name = "first|never|K", default_value = "never")]
    pub(crate) stop_on: StopOn,
    /// Where the results go, and the bundles of the lowest seeds that failed.
    #[arg(long, default_value = "fencepost-out")]
    pub(crate) out: PathBuf,
    /// Write the results as JUnit XML too.
    #[arg(long, value_name = "FILE")]
    pub(crate) junit: Option<PathBuf>,
    /// End with the summary as a JSON line.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct MergeArguments {
    /// Folders with results of shards, or the files.
    #[arg(required = true)]
    pub(crate) results: Vec<PathBuf>,
    /// As in the sweep: where a shard ended early, the merged sweep does.
    #[arg(long, value_name = "first|never|K", default_value = "never")]
    pub(crate) stop_on: StopOn,
    /// Write the results as JUnit XML too.
    #[arg(long, value_name = "FILE")]
    pub(crate) junit: Option<PathBuf>,
    /// End with the summary as a JSON line.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ShrinkArguments {
    /// The folder of a bundle.
    pub(crate) bundle: PathBuf,
    /// The property whose violation is to stay; the first that came out otherwise if left out.
    #[arg(long)]
    pub(crate) property: Option<Property>,
    /// How many runs it may take.
    #[arg(long, value_name = "N", default_value_t = 3_000)]
    pub(crate) runs: u64,
    /// Where the scenario file and the bundle of the shrunk run go.
    #[arg(long, default_value = "fencepost-out")]
    pub(crate) out: PathBuf,
    /// End with a JSON line.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ReplayArguments {
    /// The folder of a bundle, or a scenario.
    pub(crate) what: String,
    /// Lay a value over the scenario's file, such as `system.ttl=10s`; once for each value.
    #[arg(long, value_name = "KEY=VALUE")]
    pub(crate) set: Vec<String>,
    /// The seed, for a scenario.
    #[arg(long)]
    pub(crate) seed: Option<u64>,
    /// The engine, for a scenario.
    #[arg(long)]
    pub(crate) engine: Option<EngineKind>,
    /// End with the summary as a JSON line.
    #[arg(long)]
    pub(crate) json: bool,
}

fn seeds(text: &str) -> Result<Range<u64>, String> {
    let parsed = text.split_once("..").and_then(|(start, end)| {
        let range = start.parse().ok()?..end.parse().ok()?;
        (range.start < range.end).then_some(range)
    });
    parsed.ok_or_else(|| "expected A..B with A below B, such as 0..1000".to_owned())
}

/// Reads the command line; what is wrong with it, or the help, has been printed when this fails.
pub(crate) fn parse() -> Result<Arguments, ExitCode> {
    Arguments::try_parse().map_err(|error| {
        // Nobody is left to tell if even this cannot be printed.
        drop(error.print());
        if error.use_stderr() {
            ExitCode::from(USAGE)
        } else {
            ExitCode::SUCCESS
        }
    })
}
