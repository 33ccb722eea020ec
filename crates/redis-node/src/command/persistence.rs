//! SAVE, BGSAVE, LASTSAVE, BGREWRITEAOF and SHUTDOWN.

use bytes::Bytes;

use super::arguments::is;
use super::{Command, Failure, Flags, Outcome};
use crate::node::Node;
use crate::persistence::Kind;
use crate::{ConnectionId, Reply};

const ADMIN: Flags = Flags::ADMIN.and(Flags::NOSCRIPT);
const SHUTDOWN: Flags = ADMIN
    .and(Flags::LOADING)
    .and(Flags::STALE)
    .and(Flags::NO_MULTI);

pub(super) const COMMANDS: &[Command] = &[
    Command::node("bgrewriteaof", 1, ADMIN, |node, _, _| Ok(rewrite(node))),
    Command::node("bgsave", -1, ADMIN, background_save),
    Command::node(
        "lastsave",
        1,
        Flags::LOADING.and(Flags::STALE).and(Flags::FAST),
        |node, _, _| {
            let seconds = i64::try_from(node.keeper().last_save()).unwrap_or(i64::MAX);
            Ok(Reply::Integer(seconds))
        },
    ),
    Command::node("save", 1, ADMIN.and(Flags::NO_MULTI), |node, _, _| {
        save(node)
    }),
    Command::node("shutdown", -1, SHUTDOWN, shutdown),
];

const IN_PROGRESS: Failure = Failure::of("ERR Background save already in progress");

fn save(node: &mut Node) -> Outcome {
    if node.keeper().child_kind() == Some(Kind::Snapshot) {
        return Err(IN_PROGRESS);
    }
    node.save()?;
    Ok(Reply::ok())
}

fn background_save(node: &mut Node, _: ConnectionId, request: &[Bytes]) -> Outcome {
    let schedule = match &request[1..] {
        [] => false,
        [word] if is(word, "SCHEDULE") => true,
        _ => return Err(Failure::SYNTAX),
    };
    let child = node.keeper().child_kind();
    if child == Some(Kind::Snapshot) {
        return Err(IN_PROGRESS);
    }
    if child.is_none() && !node.is_executing() {
        node.begin_save();
        return Ok(Reply::status("Background saving started"));
    }
    if schedule || node.is_executing() {
        node.keeper_mut().schedule_save();
        return Ok(Reply::status("Background saving scheduled"));
    }
    Err(Failure::of(
        "ERR Another child process is active (AOF?): can't BGSAVE right now. Use BGSAVE SCHEDULE in order to \
         schedule a BGSAVE whenever possible.",
    ))
}

fn rewrite(node: &mut Node) -> Reply {
    match node.keeper().child_kind() {
        Some(Kind::Log { .. }) => {
            Reply::error("ERR Background append only file rewriting already in progress")
        }
        None if node.keeper().is_full() => Reply::error(
            "ERR Can't execute an AOF background rewriting. Please check the server logs for more information.",
        ),
        None if !node.is_executing() => {
            node.begin_rewrite();
            Reply::status("Background append only file rewriting started")
        }
        _ => {
            node.keeper_mut().schedule_rewrite();
            Reply::status("Background append only file rewriting scheduled")
        }
    }
}

/// `NOW` is the only way here: Redis first waits up to ten seconds for replicas that lag.
fn shutdown(node: &mut Node, _: ConnectionId, request: &[Bytes]) -> Outcome {
    let (mut save, mut nosave, mut force, mut abort) = (false, false, false, false);
    for word in &request[1..] {
        let flag = match word.to_ascii_lowercase().as_slice() {
            b"save" => &mut save,
            b"nosave" => &mut nosave,
            b"force" => &mut force,
            b"abort" => &mut abort,
            b"now" => continue,
            _ => return Err(Failure::SYNTAX),
        };
        *flag = true;
    }
    if save && nosave || abort && request.len() > 2 {
        return Err(Failure::SYNTAX);
    }
    if abort {
        return Err(Failure::of("ERR No shutdown in progress."));
    }
    let asked = if nosave {
        Some(false)
    } else {
        save.then_some(true)
    };
    if !node.shut_down(asked, force) {
        return Err(Failure::of("ERR Errors trying to SHUTDOWN. Check logs."));
    }
    node.answer_nothing();
    Ok(Reply::Nil)
}
