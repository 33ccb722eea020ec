//! The command table: name, arity, flags and function of every command, as `COMMAND` reports them.

mod arguments;
mod client;
mod config;
mod connection;
mod debug;
mod expiry;
mod hash;
mod info;
mod keys;
mod markdown;
mod persistence;
mod pubsub;
mod replication;
mod scan;
mod scripting;
mod server;
mod string;
mod transaction;

use std::borrow::Cow;

use bytes::Bytes;

use crate::database::Database;
use crate::node::Node;
use crate::{ConnectionId, Reply};

pub(crate) use arguments::strict_integer;
pub(crate) use connection::pong;
pub use markdown::command_table;
pub(crate) use scripting::Scripts;
pub(crate) use transaction::is_immediate;

/// One row of the table.
pub(crate) struct Command {
    /// In lower case; a subcommand's name has its parent's before it (`client|id`).
    pub(crate) name: &'static str,
    /// Number of arguments with the name; negative: at least that many.
    pub(crate) arity: i32,
    pub(crate) flags: Flags,
    /// Positions of the first and last key and the step between keys; zeros if there are none.
    pub(crate) keys: [i64; 3],
    pub(crate) run: Run,
}

/// Who executes a command.
pub(crate) enum Run {
    /// Works on keys and time alone, so a script may call it too.
    Data(fn(&mut Database, &[Bytes]) -> Outcome),
    /// Needs the connection or the node as a whole.
    Node(fn(&mut Node, ConnectionId, &[Bytes]) -> Outcome),
    /// Chooses one of the subcommands by the second argument.
    Subcommands(&'static [Command]),
}

/// A reply, or an error text with its code.
pub(crate) type Outcome = Result<Reply, Failure>;

/// The text of an error reply.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Failure(pub(crate) Cow<'static, str>);

/// Properties of a command, by the names that `COMMAND` reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Flags(u16);

impl Flags {
    pub(crate) const NONE: Flags = Flags(0);
    pub(crate) const WRITE: Flags = Flags(1);
    pub(crate) const READONLY: Flags = Flags(1 << 1);
    pub(crate) const DENYOOM: Flags = Flags(1 << 2);
    pub(crate) const NOSCRIPT: Flags = Flags(1 << 3);
    pub(crate) const LOADING: Flags = Flags(1 << 4);
    pub(crate) const STALE: Flags = Flags(1 << 5);
    pub(crate) const FAST: Flags = Flags(1 << 6);
    pub(crate) const NO_AUTH: Flags = Flags(1 << 7);
    pub(crate) const PUBSUB: Flags = Flags(1 << 8);
    pub(crate) const ADMIN: Flags = Flags(1 << 9);
    pub(crate) const NO_MULTI: Flags = Flags(1 << 10);

    pub(crate) const fn and(self, other: Flags) -> Flags {
        Flags(self.0 | other.0)
    }

    pub(crate) const fn has(self, other: Flags) -> bool {
        self.0 & other.0 == other.0
    }

    pub(crate) fn names(self) -> impl Iterator<Item = &'static str> {
        const NAMES: [(Flags, &str); 11] = [
            (Flags::WRITE, "write"),
            (Flags::READONLY, "readonly"),
            (Flags::DENYOOM, "denyoom"),
            (Flags::ADMIN, "admin"),
            (Flags::PUBSUB, "pubsub"),
            (Flags::NOSCRIPT, "noscript"),
            (Flags::LOADING, "loading"),
            (Flags::STALE, "stale"),
            (Flags::FAST, "fast"),
            (Flags::NO_AUTH, "no_auth"),
            (Flags::NO_MULTI, "no_multi"),
        ];
        NAMES
            .into_iter()
            .filter(move |(flag, _)| self.has(*flag))
            .map(|(_, name)| name)
    }
}

impl Command {
    pub(crate) const fn data(
        name: &'static str,
        arity: i32,
        flags: Flags,
        keys: [i64; 3],
        run: fn(&mut Database, &[Bytes]) -> Outcome,
    ) -> Command {
        Command {
            name,
            arity,
            flags,
            keys,
            run: Run::Data(run),
        }
    }

    pub(crate) const fn node(
        name: &'static str,
        arity: i32,
        flags: Flags,
        run: fn(&mut Node, ConnectionId, &[Bytes]) -> Outcome,
    ) -> Command {
        Command {
            name,
            arity,
            flags,
            keys: NO_KEYS,
            run: Run::Node(run),
        }
    }

    pub(crate) const fn container(name: &'static str, subcommands: &'static [Command]) -> Command {
        Command {
            name,
            arity: -2,
            flags: Flags::NONE,
            keys: NO_KEYS,
            run: Run::Subcommands(subcommands),
        }
    }

    pub(crate) fn accepts(&self, arguments: usize) -> bool {
        let arguments = i32::try_from(arguments).unwrap_or(i32::MAX);
        if self.arity >= 0 {
            arguments == self.arity
        } else {
            arguments >= -self.arity
        }
    }
}

pub(crate) const NO_KEYS: [i64; 3] = [0, 0, 0];
pub(crate) const ONE_KEY: [i64; 3] = [1, 1, 1];
pub(crate) const ALL_KEYS: [i64; 3] = [1, -1, 1];

/// Every command, family by family.
pub(crate) fn table() -> impl Iterator<Item = &'static Command> {
    const FAMILIES: [&[Command]; 16] = [
        client::COMMANDS,
        config::COMMANDS,
        connection::COMMANDS,
        debug::COMMANDS,
        expiry::COMMANDS,
        hash::COMMANDS,
        info::COMMANDS,
        keys::COMMANDS,
        persistence::COMMANDS,
        pubsub::COMMANDS,
        replication::COMMANDS,
        scan::COMMANDS,
        scripting::COMMANDS,
        server::COMMANDS,
        string::COMMANDS,
        transaction::COMMANDS,
    ];
    FAMILIES.into_iter().flatten()
}

/// The commands by name, for the search that each request makes.
#[derive(Clone, Debug)]
pub(crate) struct Index(Vec<&'static Command>);

impl std::fmt::Debug for Command {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name)
    }
}

impl Index {
    pub(crate) fn new() -> Index {
        let mut commands: Vec<_> = table().collect();
        commands.sort_by_key(|command| command.name);
        Index(commands)
    }

    /// The command that a request names, in any case; a subcommand where there are such.
    pub(crate) fn find(&self, request: &[Bytes]) -> Option<&'static Command> {
        let command = self.by_name(request.first()?)?;
        match (&command.run, request.get(1)) {
            (Run::Subcommands(subcommands), Some(name)) => subcommands.iter().find(|subcommand| {
                let own = subcommand.name.split_once('|').map_or("", |(_, own)| own);
                own.as_bytes().eq_ignore_ascii_case(name)
            }),
            _ => Some(command),
        }
    }

    pub(crate) fn by_name(&self, name: &[u8]) -> Option<&'static Command> {
        let folded = || name.iter().map(u8::to_ascii_lowercase);
        let at = self
            .0
            .binary_search_by(|command| command.name.bytes().cmp(folded()))
            .ok()?;
        Some(self.0[at])
    }

    /// As [`Index::by_name`], for names that may be a subcommand's (`client|id`).
    pub(crate) fn by_full_name(&self, name: &[u8]) -> Option<&'static Command> {
        let parent = name.split(|byte| *byte == b'|').next()?;
        let command = self.by_name(parent)?;
        match &command.run {
            Run::Subcommands(subcommands) if parent.len() < name.len() => subcommands
                .iter()
                .find(|subcommand| subcommand.name.as_bytes().eq_ignore_ascii_case(name)),
            _ => Some(command).filter(|_| parent.len() == name.len()),
        }
    }

    /// Finds the command and checks the number of arguments, with Redis's texts where that fails.
    pub(crate) fn check(&self, request: &[Bytes]) -> Result<&'static Command, Failure> {
        let Some(command) = self.find(request) else {
            return Err(self.unknown(request));
        };
        if command.accepts(request.len()) {
            return Ok(command);
        }
        Err(Failure::wrong_arguments(command.name))
    }

    fn unknown(&self, request: &[Bytes]) -> Failure {
        let name = arguments::excerpt(&request[0], 128);
        if let (Some(parent), Some(sub)) = (self.by_name(&request[0]), request.get(1)) {
            let sub = arguments::excerpt(sub, 128);
            let parent = parent.name.to_ascii_uppercase();
            return Failure(format!("ERR unknown subcommand '{sub}'. Try {parent} HELP.").into());
        }
        let mut list = String::new();
        for argument in &request[1..] {
            if list.len() >= 128 {
                break;
            }
            list += &format!("'{}' ", arguments::excerpt(argument, 128 - list.len()));
        }
        Failure(format!("ERR unknown command '{name}', with args beginning with: {list}").into())
    }
}

impl Failure {
    pub(crate) const SYNTAX: Failure = Failure(Cow::Borrowed("ERR syntax error"));
    pub(crate) const NOT_AN_INTEGER: Failure =
        Failure(Cow::Borrowed("ERR value is not an integer or out of range"));
    pub(crate) const WRONG_TYPE: Failure = Failure(Cow::Borrowed(
        "WRONGTYPE Operation against a key holding the wrong kind of value",
    ));

    pub(crate) const fn of(text: &'static str) -> Failure {
        Failure(Cow::Borrowed(text))
    }

    pub(crate) fn wrong_arguments(command: &str) -> Failure {
        Failure(format!("ERR wrong number of arguments for '{command}' command").into())
    }

    /// A subcommand that is known, with arguments that do not fit it.
    pub(crate) fn subcommand(name: &str, parent: &str) -> Failure {
        let text = "ERR unknown subcommand or wrong number of arguments for";
        Failure(format!("{text} '{name}'. Try {parent} HELP.").into())
    }

    pub(crate) fn expire_time(command: &str) -> Failure {
        Failure(format!("ERR invalid expire time in '{command}' command").into())
    }
}

impl From<Failure> for Reply {
    fn from(failure: Failure) -> Reply {
        Reply::error(failure.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_in_lower_case() {
        let mut names: Vec<_> = table().map(|command| command.name).collect();
        assert!(names.iter().all(|name| *name == name.to_ascii_lowercase()));
        let all = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), all);
    }

    #[test]
    fn a_command_is_found_in_any_case_and_a_subcommand_under_its_parent() {
        let index = Index::new();
        let find = |words: &[&'static str]| {
            let request: Vec<_> = words
                .iter()
                .map(|word| Bytes::from_static(word.as_bytes()))
                .collect();
            index.find(&request).map(|command| command.name)
        };
        assert_eq!(find(&["gEt", "k"]), Some("get"));
        assert_eq!(find(&["Client", "ID"]), Some("client|id"));
        assert_eq!(find(&["client", "nope"]), None);
        assert_eq!(find(&["ge"]), None);
    }
}
