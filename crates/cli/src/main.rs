//! The binary `fencepost`: arguments in, exit code out. The only crate that prints.
#![expect(clippy::print_stderr, reason = "printing is what this crate is for")]

mod arguments;
mod commands;
mod exit;
mod interrupt;
mod junit;
mod origin;
mod present;
mod progress;
mod stopwatch;
mod summary;
mod totals;

use std::process::ExitCode;

fn main() -> ExitCode {
    match arguments::parse() {
        Ok(arguments) => exit::code(commands::execute(&arguments)),
        Err(code) => code,
    }
}
