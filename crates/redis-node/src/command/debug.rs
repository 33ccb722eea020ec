//! DEBUG, as far as tests of other people's code use it.

use bytes::Bytes;

use super::arguments::{excerpt, is};
use super::{Command, Failure, Flags, Outcome};
use crate::node::Node;
use crate::{ConnectionId, Reply};

const FLAGS: Flags = Flags::ADMIN
    .and(Flags::NOSCRIPT)
    .and(Flags::LOADING)
    .and(Flags::STALE);

pub(super) const COMMANDS: &[Command] = &[Command::node("debug", -2, FLAGS, debug)];

const NOT_ALLOWED: Failure = Failure::of(
    "ERR DEBUG command not allowed. If the enable-debug-command option is set to \"local\", you can run it from a \
     local connection, otherwise you need to set this option in the configuration file, and then restart the server.",
);

fn debug(node: &mut Node, _: ConnectionId, request: &[Bytes]) -> Outcome {
    if !node.config().debug_command {
        return Err(NOT_ALLOWED);
    }
    match &request[1..] {
        [word, time] if is(word, "SLEEP") => {
            if let Some(nanos) = nanos(time) {
                node.sleep.fall(nanos);
            }
        }
        [word, on] if is(word, "SET-ACTIVE-EXPIRE") => {
            node.active_expire = leading_number(on) as i64 != 0;
        }
        [word, ..] => return Err(Failure::subcommand(&excerpt(word, 128), "DEBUG")),
        [] => return Err(Failure::wrong_arguments("debug")),
    }
    Ok(Reply::ok())
}

/// Seconds, as C's `strtod` reads them: what is no number is no time at all.
fn nanos(text: &[u8]) -> Option<u64> {
    let nanos = leading_number(text) * 1e9;
    (nanos >= 1.0).then_some(nanos as u64)
}

/// The number that the text begins with; zero if it begins with none.
fn leading_number(text: &[u8]) -> f64 {
    let text = text.trim_ascii_start();
    let numeric = |byte: &u8| byte.is_ascii_digit() || b"+-.eE".contains(byte);
    let end = text
        .iter()
        .position(|byte| !numeric(byte))
        .unwrap_or(text.len());
    let longest = (0..=end.min(64)).rev();
    longest
        .filter_map(|end| std::str::from_utf8(&text[..end]).ok()?.parse().ok())
        .next()
        .unwrap_or(0.0)
}
