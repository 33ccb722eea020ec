//! Events by name: `HOST VERB`, and for servers `HOST VERB to PEER` or `HOST VERB from PEER`.

use std::ops::Range;

use fencepost_checker::history::Role;
use fencepost_world::plan::{EventPattern, SERVER_VERBS};

use super::error::{Problem, TextProblem};

/// The marks that a client's program makes, in the order in which it makes them.
///
/// `started`, and then in each round: `trying` before each attempt, `acquired` or `refused` after it, `read` and
/// `wrote` when the resource has answered, `releasing` before release is called and `released` when it has returned.
/// `finished` comes last.
///
/// In between, `extended` and `lost` when a renewal has got it a new deadline or it is told of its loss; `set` between
/// SETNX and PEXPIRE, and `got` between GET and DEL, where the lock does that in two commands.
pub const CLIENT_VERBS: [&str; 13] = [
    "started",
    "trying",
    "acquired",
    "refused",
    "read",
    "wrote",
    "releasing",
    "released",
    "finished",
    "extended",
    "lost",
    "set",
    "got",
];

/// The hosts of a scenario, in the order in which they act within one instant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hosts(pub(super) Vec<(String, Role)>);

impl Hosts {
    /// Names and roles.
    pub fn iter(&self) -> impl Iterator<Item = (&str, Role)> {
        self.0.iter().map(|(name, role)| (name.as_str(), *role))
    }

    /// What a host is for, if there is one of that name.
    #[must_use]
    pub fn role(&self, name: &str) -> Option<Role> {
        self.iter()
            .find(|(host, _)| *host == name)
            .map(|(_, role)| role)
    }

    /// The names of all hosts of a role.
    pub fn of(&self, wanted: Role) -> impl Iterator<Item = &str> {
        self.iter()
            .filter(move |(_, role)| *role == wanted)
            .map(|(name, _)| name)
    }

    /// The host's role, or the nearest host there is.
    pub(super) fn find(&self, name: &str, span: Range<usize>) -> Result<Role, Problem> {
        let known = self.iter().map(|(name, _)| name);
        self.role(name)
            .ok_or_else(|| Problem::unknown(span, "host", name, known))
    }
}

/// Words of a text, each with its place in it.
pub(crate) fn words(text: &str) -> impl Iterator<Item = (&str, Range<usize>)> {
    text.split_whitespace().map(|word| {
        let start = word.as_ptr() as usize - text.as_ptr() as usize;
        (word, start..start + word.len())
    })
}

/// Reads an event's name.
pub(super) fn event(text: &str, hosts: &Hosts) -> Result<EventPattern, TextProblem> {
    parse(text, hosts).map_err(TextProblem)
}

fn parse(text: &str, hosts: &Hosts) -> Result<EventPattern, Problem> {
    let words: Vec<_> = words(text).collect();
    let (host, verb, peer) = match &words[..] {
        [host, verb] => (host, verb, None),
        [host, verb, link, peer] => (host, verb, Some((link, peer))),
        _ => return Err(wrong_shape(text)),
    };
    let role = hosts.find(host.0, host.1.clone())?;
    let known = verbs(role);
    if !known.contains(&verb.0) {
        let what = format!("event of {}", host.0);
        return Err(Problem::unknown(
            verb.1.clone(),
            &what,
            verb.0,
            known.iter().copied(),
        ));
    }
    let peer = peer
        .map(|(link, peer)| peer_of(host.0, role, link, peer, hosts))
        .transpose()?;
    Ok(EventPattern {
        host: host.0.to_owned(),
        verb: verb.0.to_owned(),
        peer,
    })
}

fn verbs(role: Role) -> &'static [&'static str] {
    match role {
        Role::Client => &CLIENT_VERBS,
        Role::Node | Role::Resource | Role::Sequence | Role::Sentinel => &SERVER_VERBS,
    }
}

type Word<'a> = (&'a str, Range<usize>);

fn peer_of(
    host: &str,
    role: Role,
    link: &Word,
    peer: &Word,
    hosts: &Hosts,
) -> Result<String, Problem> {
    if role == Role::Client {
        let message = format!("an event of the client {host} has no other side");
        return Err(Problem::new(link.1.start..peer.1.end, message));
    }
    if !["to", "from"].contains(&link.0) {
        return Err(Problem::unknown(
            link.1.clone(),
            "word",
            link.0,
            ["to", "from"],
        ));
    }
    hosts.find(peer.0, peer.1.clone())?;
    Ok(peer.0.to_owned())
}

fn wrong_shape(text: &str) -> Problem {
    Problem::new(0..text.len(), format!("`{text}` is not an event"))
        .help("an event is `HOST VERB`, such as `c1 acquired`, or `HOST VERB to PEER`, such as `n5 replied to c1`")
}
