//! The command table as markdown, for the README.

use std::fmt::Write;

use super::{Command, Run, table};

/// Options and departures that the table's own columns do not show, by command.
const NOTES: &[(&str, &str)] = &[
    ("auth", "no password can be configured"),
    (
        "client|kill",
        "both forms; `ID TYPE ADDR LADDR USER SKIPME`; an address is `127.0.0.1:` and the connection's number",
    ),
    ("client|list", "`TYPE ID`; buffers are shown empty"),
    ("client|no-evict", "remembered; clients are never evicted"),
    ("client|setinfo", "Redis 7.2's"),
    (
        "command",
        "`COUNT INFO DOCS`; no categories and key specifications, empty docs",
    ),
    (
        "config|get",
        "patterns; see `parameters.rs` for what is known",
    ),
    ("config|set", "several at once, all or nothing"),
    (
        "debug",
        "`SLEEP SET-ACTIVE-EXPIRE`, with `enable-debug-command`",
    ),
    ("expire", "`NX XX GT LT`"),
    ("expireat", "`NX XX GT LT`"),
    ("flushall", "`SYNC ASYNC`, both at once"),
    ("flushdb", "`SYNC ASYNC`, both at once"),
    ("getex", "`EX PX EXAT PXAT PERSIST`"),
    ("hello", "`AUTH SETNAME`"),
    ("info", "all sections; fields that mean something here"),
    ("keys", "in order of name"),
    ("pexpire", "`NX XX GT LT`"),
    ("pexpireat", "`NX XX GT LT`"),
    ("publish", "patterns in order of name"),
    ("psync", "on links between nodes only"),
    ("replconf", "on links between nodes only"),
    (
        "shutdown",
        "`SAVE NOSAVE NOW FORCE ABORT`; never waits for replicas",
    ),
    (
        "wait",
        "answered later, by `Node::link_received` or `Node::tick`",
    ),
    ("lastsave", "not from scripts"),
    ("scan", "`MATCH COUNT TYPE`; the cursor is a hash"),
    ("script|flush", "`SYNC ASYNC`, both at once"),
    ("select", "0 only"),
    ("set", "`NX XX GET EX PX EXAT PXAT KEEPTTL`"),
    ("unsubscribe", "without names: in order of name"),
    ("punsubscribe", "without names: in order of name"),
];

/// Every command with its arity, flags and options, as a markdown table in order of name.
pub fn command_table() -> String {
    let mut rows: Vec<&Command> = table().flat_map(with_subcommands).collect();
    rows.sort_by_key(|command| command.name);
    let mut text =
        "| command | arity | flags | options and departures |\n|---|---|---|---|\n".to_owned();
    for command in rows {
        let name = command.name.to_ascii_uppercase().replace('|', " ");
        let flags: Vec<&str> = command.flags.names().collect();
        let note = NOTES
            .iter()
            .find(|(name, _)| *name == command.name)
            .map_or("", |(_, note)| note);
        // Writing to a string cannot fail.
        writeln!(
            text,
            "| {name} | {} | {} | {note} |",
            command.arity,
            flags.join(" ")
        )
        .ok();
    }
    text
}

/// A container is nothing by itself.
fn with_subcommands(command: &'static Command) -> Vec<&'static Command> {
    match command.run {
        Run::Subcommands(subcommands) => subcommands.iter().collect(),
        _ => vec![command],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_note_is_about_a_command() {
        let names: Vec<_> = table()
            .flat_map(with_subcommands)
            .map(|command| command.name)
            .collect();
        for (name, _) in NOTES {
            assert!(names.contains(name), "{name}");
        }
    }
}
