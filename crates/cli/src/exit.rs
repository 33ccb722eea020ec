//! Exit codes, as scripts and CI rely on them.

use std::process::ExitCode;

use fencepost::bundle::BundleError;
use fencepost::expect::Standing;
use fencepost::runner::Unsupported;
use fencepost::scenario::ScenarioError;
use fencepost::sweep::{StoreError, WrongShard};
use fencepost_checker::HistoryError;

/// A replay differed from what is stored.
pub(crate) const DIFFERED: u8 = 3;
/// Wrong usage or a wrong file.
pub(crate) const USAGE: u8 = 96;
/// An internal error.
const INTERNAL: u8 = 101;
/// Interrupted, as a shell says it of SIGINT.
pub(crate) const INTERRUPTED: u8 = 130;

/// What the user has to change, as opposed to what we have to.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct WrongInput(pub(crate) String);

/// How a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// A judgement was made.
    Judged(Standing),
    /// A replay differed.
    Differed,
    /// A sweep was interrupted; what was done by then is kept.
    Interrupted,
}

/// The exit code of a command; prints its error, if that is what it came to.
pub(crate) fn code(result: anyhow::Result<End>) -> ExitCode {
    match result {
        Ok(End::Judged(standing)) => ExitCode::from(standing.exit_code()),
        Ok(End::Differed) => ExitCode::from(DIFFERED),
        Ok(End::Interrupted) => ExitCode::from(INTERRUPTED),
        Err(error) if is_broken_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error:#}");
            ExitCode::from(if is_users(&error) { USAGE } else { INTERNAL })
        }
    }
}

fn is_users(error: &anyhow::Error) -> bool {
    error.is::<WrongInput>()
        || error.is::<ScenarioError>()
        || error.is::<HistoryError>()
        || error.is::<BundleError>()
        || error.is::<Unsupported>()
        || error.is::<WrongShard>()
        || error.is::<StoreError>()
}

/// `fencepost list | head` is no failure.
fn is_broken_pipe(error: &anyhow::Error) -> bool {
    let broken = |io: &std::io::Error| io.kind() == std::io::ErrorKind::BrokenPipe;
    error.downcast_ref::<std::io::Error>().is_some_and(broken)
}
