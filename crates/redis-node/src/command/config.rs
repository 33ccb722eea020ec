//! CONFIG GET, SET and RESETSTAT.

use std::collections::BTreeMap;

use bytes::Bytes;

use super::arguments::excerpt;
use super::{Command, Failure, Flags, Outcome};
use crate::node::Node;
use crate::parameters::{self, Parameter, Set};
use crate::{Config, ConnectionId, Reply, glob};

const FLAGS: Flags = Flags::ADMIN
    .and(Flags::NOSCRIPT)
    .and(Flags::LOADING)
    .and(Flags::STALE);

pub(super) const COMMANDS: &[Command] = &[Command::container("config", CONFIG)];

const CONFIG: &[Command] = &[
    Command::node("config|get", -3, FLAGS, get),
    Command::node("config|resetstat", 2, FLAGS, |node, _, _| {
        node.reset_stats();
        Ok(Reply::ok())
    }),
    Command::node("config|rewrite", 2, FLAGS, |_, _, _| {
        Err(Failure::of(
            "ERR The server is running without a config file",
        ))
    }),
    Command::node("config|set", -4, FLAGS, set),
];

/// A name without wildcards is answered as it was asked, patterns with the names that they match.
fn get(node: &mut Node, _: ConnectionId, request: &[Bytes]) -> Outcome {
    let mut found: BTreeMap<&'static str, (Bytes, &Parameter)> = BTreeMap::new();
    for asked in &request[2..] {
        if asked.iter().any(|byte| b"[*?".contains(byte)) {
            let pattern = asked.to_ascii_lowercase();
            for (name, parameter) in parameters::names() {
                if glob::matches(&pattern, name.as_bytes()) {
                    let shown = Bytes::from_static(name.as_bytes());
                    found.entry(name).or_insert((shown, parameter));
                }
            }
        } else if let Some((name, parameter)) = parameters::find(asked) {
            // Asked for twice in different spellings, the first counts.
            found.entry(name).or_insert((asked.clone(), parameter));
        }
    }
    let value = |parameter: &Parameter| (parameter.get)(node.config()).into_owned();
    let pairs = found
        .into_values()
        .map(|(name, parameter)| (Reply::Bulk(name), Reply::bulk(value(parameter))));
    Ok(Reply::Map(pairs.collect()))
}

const IMMUTABLE: &str = "can't set immutable config";

/// All of it, or nothing.
fn set(node: &mut Node, _: ConnectionId, request: &[Bytes]) -> Outcome {
    let pairs = &request[2..];
    if !pairs.len().is_multiple_of(2) {
        return Err(Failure::wrong_arguments("config|set"));
    }
    let mut changes: Vec<(&'static str, &Parameter, &Bytes)> = Vec::new();
    for pair in pairs.chunks_exact(2) {
        let Some((name, parameter)) = parameters::find(&pair[0]) else {
            let name = excerpt(&pair[0], 128);
            let text =
                format!("ERR Unknown option or number of arguments for CONFIG SET - '{name}'");
            return Err(Failure(text.into()));
        };
        let earlier = changes.iter().map(|(_, other, _)| other.name);
        if earlier.into_iter().any(|name| name == parameter.name) {
            return Err(refused(&pair[0], "duplicate parameter"));
        }
        if matches!(parameter.set, Set::Never) {
            return Err(refused(&pair[0], IMMUTABLE));
        }
        changes.push((name, parameter, &pair[1]));
    }
    let mut config = node.config().clone();
    for (name, parameter, value) in changes {
        change(&mut config, parameter, value).map_err(|text| refused(name.as_bytes(), &text))?;
    }
    node.reconfigure(config);
    Ok(Reply::ok())
}

fn change(config: &mut Config, parameter: &Parameter, value: &[u8]) -> Result<(), String> {
    let value = String::from_utf8_lossy(value);
    match parameter.set {
        Set::To(set) => set(config, &value).map_err(String::from),
        Set::Fixed if (parameter.get)(config) == value => Ok(()),
        Set::Fixed | Set::Never => Err(IMMUTABLE.to_owned()),
    }
}

/// The parameter is named as the client did where its request is at fault, by its own name where the value is.
fn refused(name: &[u8], why: &str) -> Failure {
    let name = excerpt(name, usize::MAX);
    Failure(format!("ERR CONFIG SET failed (possibly related to argument '{name}') - {why}").into())
}
