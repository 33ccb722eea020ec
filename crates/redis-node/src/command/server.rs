//! The server as such: its time and its command table.

use bytes::Bytes;

use super::{Command, Flags, Index, NO_KEYS, Outcome, Run, table};
use crate::Reply;
use crate::command::string::length;
use crate::database::Database;

const ALWAYS: Flags = Flags::LOADING.and(Flags::STALE);

pub(super) const COMMANDS: &[Command] = &[
    Command::data("command", -1, ALWAYS, NO_KEYS, command),
    Command::data("time", 1, ALWAYS.and(Flags::FAST), NO_KEYS, time),
];

fn time(db: &mut Database, _: &[Bytes]) -> Outcome {
    let micros = db.now().as_micros();
    let parts = [micros / 1_000_000, micros % 1_000_000];
    Ok(Reply::Array(
        parts.map(|part| Reply::bulk(part.to_string())).into(),
    ))
}

fn command(_: &mut Database, request: &[Bytes]) -> Outcome {
    let index = Index::new();
    let Some(subcommand) = request.get(1) else {
        return Ok(Reply::Array(table().map(describe).collect()));
    };
    let subcommand = subcommand.to_ascii_lowercase();
    match (subcommand.as_slice(), &request[2..]) {
        (b"count", []) => Ok(Reply::Integer(length(table().count()))),
        (b"info", []) => Ok(Reply::Array(table().map(describe).collect())),
        (b"info", names) => {
            let one = |name: &Bytes| index.by_full_name(name).map_or(Reply::NilArray, describe);
            Ok(Reply::Array(names.iter().map(one).collect()))
        }
        // redis-cli asks for these at its start and is content with none.
        (b"docs", _) => Ok(Reply::Map(Vec::new())),
        (b"count", _) => Err(super::Failure::wrong_arguments("command|count")),
        _ => {
            let name = super::arguments::excerpt(&request[1], 128);
            Err(super::Failure(
                format!("ERR unknown subcommand '{name}'. Try COMMAND HELP.").into(),
            ))
        }
    }
}

fn describe(command: &'static Command) -> Reply {
    let subcommands = match &command.run {
        Run::Subcommands(subcommands) => subcommands.iter().map(describe).collect(),
        _ => Vec::new(),
    };
    let mut row = vec![
        Reply::Bulk(Bytes::from_static(command.name.as_bytes())),
        Reply::Integer(command.arity.into()),
        Reply::Array(command.flags.names().map(Reply::status).collect()),
    ];
    row.extend(command.keys.map(Reply::Integer));
    // Categories, tips and key specifications are not modelled.
    row.extend((0..3).map(|_| Reply::Array(Vec::new())));
    row.push(Reply::Array(subcommands));
    Reply::Array(row)
}
