//! Development automation. `cargo xtask ci` is the whole gate; `cargo xtask generate` writes what is generated, `cargo xtask
//! bench` measures.
#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a tool of the terminal"
)]

mod bench;
mod ci;
mod fencepost;
mod generated;
mod invariants;
mod workspace;

use std::process::ExitCode;

use anyhow::Result;
use clap::Parser;

use crate::workspace::Workspace;

/// Development automation of Fencepost.
#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
enum Command {
    /// Checks everything that must hold before a change goes in.
    Ci(ci::Arguments),
    /// Writes the parts of files that are generated.
    Generate,
    /// Measures speed and memory; JSON Lines.
    Bench(bench::Arguments),
}

fn main() -> ExitCode {
    match run(Command::parse()) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// Whether all is well.
fn run(command: Command) -> Result<bool> {
    let workspace = Workspace::find()?;
    match command {
        Command::Ci(arguments) => ci::run(&workspace, &arguments),
        Command::Generate => generated::write(&workspace).map(|()| true),
        Command::Bench(arguments) => bench::bench(&workspace, &arguments).map(|()| true),
    }
}
