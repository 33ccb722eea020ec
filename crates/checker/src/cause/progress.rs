//! Why somebody made no progress: what stood in the way at the nodes, what they answered, what became of a lease.

use std::collections::BTreeMap;

use crate::acquisitions::Decision;
use crate::cause::absence::stale_write;
use crate::history::{Answer, Event, Name, Vote, What};
use crate::keys::{Gone, Key};
use crate::leases::is_born_expired;
use crate::run::Run;
use crate::span::{Position, Span};
use crate::text::list;

/// Which keys stood in the way of a client that waits.
pub(crate) fn blocked(run: &Run<'_>, client: &Name, key: &Name, place: Position) -> Option<String> {
    let mut standing: BTreeMap<(bool, Option<&Name>), Vec<&Name>> = BTreeMap::new();
    for (node, spans) in run.reach.nodes(client) {
        let reachable = spans.iter().any(|span| span.contains(place));
        let blocks = |one: &&Key| one.node == *node && one.key == *key && one.span.contains(place);
        for one in run.keys.iter().filter(blocks).filter(|_| reachable) {
            let for_ever = one
                .expiry(place)
                .is_some_and(|expiry| expiry.expires_at.is_none());
            standing
                .entry((!for_ever, one.client.as_ref()))
                .or_default()
                .push(node);
        }
    }
    let sentences: Vec<String> = standing
        .iter()
        .map(|((expires, owner), nodes)| {
            let owner = owner.map_or_else(|| "somebody".to_owned(), ToString::to_string);
            let for_ever = if *expires {
                ""
            } else {
                ", which has no expiry,"
            };
            format!("the key of {owner}{for_ever} stood at {}", list(nodes))
        })
        .collect();
    (!sentences.is_empty()).then(|| sentences.join("; "))
}

/// What the nodes had answered when a call was refused.
pub(crate) fn refused(run: &Run<'_>, client: &Name, key: &Name, during: &Span) -> Option<String> {
    let events = run.history.events.iter().rev();
    let mut events = events.filter(|event| during.contains(Position::from(*event)));
    events.find_map(|event| match &event.what {
        What::Refused {
            client: of,
            key: on,
            reason,
            votes,
            ..
        } if (of, on) == (client, key) => {
            let answers = answers(votes);
            let answers = if answers.is_empty() {
                answers
            } else {
                format!(": {answers}")
            };
            Some(format!("{reason}{answers}"))
        }
        _ => None,
    })
}

/// `n1 and n2 granted, n3 did not answer`.
fn answers(votes: &[Vote]) -> String {
    let mut groups: Vec<(String, Vec<&Name>)> = Vec::new();
    for vote in votes {
        let did = match &vote.answer {
            Answer::Granted => "granted".to_owned(),
            Answer::Taken => "had another key".to_owned(),
            Answer::TimedOut => "did not answer in time".to_owned(),
            Answer::Error(error) => format!("answered `{error}`"),
            Answer::NotAsked => "not asked".to_owned(),
        };
        match groups.iter_mut().find(|(same, _)| *same == did) {
            Some((_, nodes)) => nodes.push(&vote.node),
            None => groups.push((did, vec![&vote.node])),
        }
    }
    let groups: Vec<String> = groups
        .iter()
        .map(|(did, nodes)| format!("{} {did}", list(nodes)))
        .collect();
    groups.join(", ")
}

/// What became of the keys of a holder that was told that it lost.
pub(crate) fn loss(run: &Run<'_>, latest: &Decision, told: Position) -> Option<String> {
    let client = &latest.owner.client;
    let during = Span {
        from: latest.place,
        end: Some(told),
    };
    let mut ends: Vec<(String, Vec<&Name>)> = Vec::new();
    let theirs = |key: &&Key| {
        key.key == latest.key
            && key.client.as_ref() == Some(client)
            && key.span.end.is_some_and(|end| during.contains(end))
    };
    for key in run.keys.iter().filter(theirs) {
        let end = match &key.gone {
            Gone::Removed(Some(by)) if by == client => continue,
            Gone::Removed(Some(by)) => format!("{by} removed its key"),
            Gone::Removed(None) => "an operator removed its key".to_owned(),
            Gone::Evicted => "its key was evicted".to_owned(),
            Gone::Copied | Gone::Resynced => {
                "its key was gone at the primary of its replica".to_owned()
            }
            Gone::Lost => "its key was lost".to_owned(),
            Gone::Expired => "its key ran out".to_owned(),
            Gone::Nothing => continue,
        };
        match ends.iter_mut().find(|(same, _)| *same == end) {
            Some((_, nodes)) => nodes.push(&key.node),
            None => ends.push((end, vec![&key.node])),
        }
    }
    if ends.is_empty() {
        let deadline = run.hosts.get(client).clock.first_reach(
            latest.clock,
            latest.deadline?,
            latest.place.at,
        )?;
        let over = is_born_expired(latest, &run.hosts) || deadline <= told.at;
        return over
            .then(|| format!("no renewal had been counted when its deadline came at {deadline}"));
    }
    let ends: Vec<String> = ends
        .iter()
        .map(|(end, nodes)| format!("{end} at {}", list(nodes)))
        .collect();
    Some(ends.join("; "))
}

/// Who of two writers was late, and why.
pub(crate) fn lost_update(run: &Run<'_>, write: &Event, previous: &Event) -> Option<String> {
    let (over, under) = (run.reached(write)?, run.reached(previous)?);
    if over.by.owner == under.by.owner {
        return Some(format!(
            "{} wrote again from what it had read before its own write",
            over.by.owner.client
        ));
    }
    if over.by.older_than(under.by) {
        stale_write(run, &over, &under)
    } else {
        stale_write(run, &under, &over)
    }
}
