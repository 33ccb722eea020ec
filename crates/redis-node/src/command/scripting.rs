//! EVAL, EVALSHA and SCRIPT: finding the script; running it is the business of the Lua module.

use std::collections::BTreeMap;

use bytes::Bytes;

use super::arguments::{integer, is};
use super::{Command, Failure, Flags, Outcome};
use crate::lua::Sha;
use crate::node::Node;
use crate::{ConnectionId, Reply};

const SCRIPT_FLAGS: Flags = Flags::NOSCRIPT.and(Flags::STALE);

pub(super) const COMMANDS: &[Command] = &[
    Command::node("eval", -3, SCRIPT_FLAGS, |node, _, request| {
        let (keys, values) = split(&request[2..])?;
        let sha = Sha::of(&request[1]);
        node.run_script(sha, Some(&request[1]), keys, values)
    }),
    Command::node("evalsha", -3, SCRIPT_FLAGS, |node, _, request| {
        // A name that cannot be one is answered before the other arguments are looked at.
        let sha = Sha::parse(&request[1]).ok_or(NO_SCRIPT)?;
        let (keys, values) = split(&request[2..])?;
        node.run_script(sha, None, keys, values)
    }),
    Command::container("script", SCRIPT),
];

const SCRIPT: &[Command] = &[
    Command::node("script|exists", -3, Flags::NOSCRIPT, |node, _, request| {
        let known =
            |name: &Bytes| Sha::parse(name).is_some_and(|sha| node.scripts().get(sha).is_some());
        Ok(Reply::Array(
            request[2..]
                .iter()
                .map(|name| Reply::Integer(known(name).into()))
                .collect(),
        ))
    }),
    Command::node("script|flush", -2, Flags::NOSCRIPT, flush),
    Command::node("script|load", 3, Flags::NOSCRIPT.and(Flags::STALE), load),
];

const NO_SCRIPT: Failure = Failure::of("NOSCRIPT No matching script. Please use EVAL.");

/// The scripts that this run of the server knows; gone after a restart, as in Redis.
#[derive(Debug, Default)]
pub(crate) struct Scripts {
    by_name: BTreeMap<Sha, Bytes>,
    bytes: usize,
}

/// What a script costs beside its text: its name and its place in the table.
const OVERHEAD: usize = 112;

impl Scripts {
    pub(crate) fn get(&self, sha: Sha) -> Option<&Bytes> {
        self.by_name.get(&sha)
    }

    pub(crate) fn remember(&mut self, sha: Sha, body: &Bytes) {
        if !self.by_name.contains_key(&sha) {
            self.bytes += body.len() + OVERHEAD;
            self.by_name.insert(sha, body.clone());
        }
    }

    pub(crate) fn forget_all(&mut self) {
        *self = Scripts::default();
    }

    pub(crate) fn len(&self) -> usize {
        self.by_name.len()
    }

    /// An estimate of the memory that the texts take.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// The body to run: what was sent with EVAL, or what is known by that name.
    pub(crate) fn body(&self, sha: Sha, sent: Option<&Bytes>) -> Result<Bytes, Failure> {
        sent.or_else(|| self.get(sha)).cloned().ok_or(NO_SCRIPT)
    }
}

/// Keys and other values of `numkeys key [key ...] [arg ...]`.
fn split(arguments: &[Bytes]) -> Result<(&[Bytes], &[Bytes]), Failure> {
    let keys = integer(&arguments[0])?;
    let rest = &arguments[1..];
    let Ok(keys) = usize::try_from(keys) else {
        return Err(Failure::of("ERR Number of keys can't be negative"));
    };
    rest.split_at_checked(keys).ok_or(Failure::of(
        "ERR Number of keys can't be greater than number of args",
    ))
}

fn load(node: &mut Node, _: ConnectionId, request: &[Bytes]) -> Outcome {
    let sha = Sha::of(&request[2]);
    node.compile(sha, &request[2])?;
    Ok(Reply::bulk(sha.to_string()))
}

fn flush(node: &mut Node, _: ConnectionId, request: &[Bytes]) -> Outcome {
    let understood = match &request[2..] {
        [] => true,
        [how] => is(how, "SYNC") || is(how, "ASYNC"),
        _ => false,
    };
    if !understood {
        return Err(Failure::of(
            "ERR SCRIPT FLUSH only support SYNC|ASYNC option",
        ));
    }
    node.forget_scripts();
    Ok(Reply::ok())
}
