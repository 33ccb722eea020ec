//! `cargo xtask ci`: the steps, in order, timed, with what to do about each that fails.
#![expect(
    clippy::disallowed_types,
    clippy::disallowed_methods,
    reason = "how long a step took is real time"
)]

mod canary;
mod cargo;
mod determinism;
mod readme;
mod tour;
mod walkthrough;

use std::time::{Duration, Instant};

use anyhow::{Result, bail};

use crate::workspace::Workspace;
use crate::{generated, invariants};

/// One thing that must hold.
struct Step {
    name: &'static str,
    run: fn(&Workspace) -> Result<()>,
    /// What to do when it fails.
    cure: &'static str,
}

/// The quick ones first.
const STEPS: &[Step] = &[
    Step {
        name: "fmt",
        run: cargo::fmt,
        cure: "run `cargo fmt --all`",
    },
    Step {
        name: "invariants",
        run: invariants::check,
        cure: "keep the rule, or change it where it is stated: xtask/src/invariants and ARCHITECTURE.md",
    },
    Step {
        name: "clippy",
        run: cargo::clippy,
        cure: "follow the lint, or `#[expect(.., reason = \"..\")]` it where the rule does not apply",
    },
    Step {
        name: "docs",
        run: cargo::docs,
        cure: "mend the links and examples that rustdoc names",
    },
    Step {
        name: "tests",
        run: cargo::tests,
        cure: "run the failing test alone: `cargo test --release -p CRATE NAME`",
    },
    Step {
        name: "tour",
        run: tour::check,
        cure: "run the scenario alone: `cargo run --release -- run NAME --engine ENGINE`",
    },
    Step {
        name: "canary",
        run: canary::check,
        cure: "a pipeline that does not report a wrong expectation reports nothing: look here first",
    },
    Step {
        name: "readme",
        run: readme::check,
        cure: "make the README and the program say the same",
    },
    Step {
        name: "walkthrough",
        run: walkthrough::check,
        cure: "make docs/your-own-lock.md, examples/own-lock and the library say the same",
    },
    Step {
        name: "determinism",
        run: determinism::check,
        cure: "look for hash order, a wall clock, an address or a foreign random number in the first event that differs",
    },
    Step {
        name: "generated",
        run: generated::check,
        cure: "run `cargo xtask generate` and commit what it changes",
    },
];

/// What to check.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Only this step; may be given more than once.
    #[arg(long, value_name = "STEP", value_parser = names())]
    only: Vec<String>,
    /// All but this step; may be given more than once.
    #[arg(long, value_name = "STEP", value_parser = names())]
    skip: Vec<String>,
}

impl Arguments {
    fn wants(&self, step: &Step) -> bool {
        let named = |names: &[String]| names.iter().any(|name| name == step.name);
        (self.only.is_empty() || named(&self.only)) && !named(&self.skip)
    }
}

fn names() -> clap::builder::PossibleValuesParser {
    STEPS
        .iter()
        .map(|step| step.name)
        .collect::<Vec<_>>()
        .into()
}

/// A step that was run.
struct Done {
    step: &'static Step,
    took: Duration,
    error: Option<anyhow::Error>,
}

/// Runs all steps that are wanted, even after one that failed. Whether all passed.
pub(crate) fn run(workspace: &Workspace, arguments: &Arguments) -> Result<bool> {
    let wanted: Vec<&'static Step> = STEPS.iter().filter(|step| arguments.wants(step)).collect();
    if wanted.is_empty() {
        bail!("no step is left: --skip takes away what --only names");
    }
    let done: Vec<Done> = wanted
        .into_iter()
        .map(|step| run_step(workspace, step))
        .collect();
    summarise(&done);
    Ok(done.iter().all(|done| done.error.is_none()))
}

fn run_step(workspace: &Workspace, step: &'static Step) -> Done {
    println!("\n== {} ==", step.name);
    let started = Instant::now();
    let error = (step.run)(workspace).err();
    if let Some(error) = &error {
        println!(
            "{} FAILED: {error:#}\n  what to do: {}",
            step.name, step.cure
        );
    }
    Done {
        step,
        took: started.elapsed(),
        error,
    }
}

fn summarise(done: &[Done]) {
    println!("\n== summary ==");
    for Done { step, took, error } in done {
        let word = if error.is_none() { "ok" } else { "FAILED" };
        println!("{:<12} {word:<7} {:>7.1} s", step.name, took.as_secs_f64());
    }
    for Done { step, error, .. } in done {
        if let Some(error) = error {
            println!(
                "\n{} FAILED: {error:#}\n  what to do: {}",
                step.name, step.cure
            );
            println!("  again: cargo xtask ci --only {}", step.name);
        }
    }
}
