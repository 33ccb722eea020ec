//! One file a command.

mod check;
mod list;
mod merge;
mod replay;
mod run;
mod shrink;
mod sweep;
mod tour;

use std::io::Write;
use std::path::Path;

use crate::arguments::{Arguments, Command};
use crate::exit::End;
use crate::junit::Junit;
use crate::totals::Swept;

/// Carries out what was asked for.
pub(crate) fn execute(arguments: &Arguments) -> anyhow::Result<End> {
    match &arguments.command {
        None => tour::tour(),
        Some(Command::List { json }) => list::list(*json),
        Some(Command::Run(arguments)) => run::run(arguments),
        Some(Command::Sweep(arguments)) => sweep::sweep(arguments),
        Some(Command::Merge(arguments)) => merge::merge(arguments),
        Some(Command::Replay(arguments)) => replay::replay(arguments),
        Some(Command::Shrink(arguments)) => shrink::shrink(arguments),
        Some(Command::Check { history, json }) => check::check(history, *json),
    }
}

/// Prints data. Unlike `println!`, fails where nobody reads any more, instead of panicking.
fn say(text: impl std::fmt::Display) -> anyhow::Result<()> {
    writeln!(std::io::stdout(), "{text}")?;
    Ok(())
}

/// Prints what a sweep came to, and writes it as JUnit XML if that is asked for.
fn say_swept(swept: &Swept<'_>, json: bool, junit: Option<&Path>) -> anyhow::Result<()> {
    let mut report = Junit::new(junit);
    report.sweep(swept);
    report.write()?;
    if json {
        say(swept.summary())
    } else {
        say(swept.text().trim_end())
    }
}
