//! `every-key-expires`: no lock key outlives the client that created it without a TTL (document 002, a client dies
//! between `SETNX` and `EXPIRE`).
//!
//! A client has ended when its process died or its program came to its end. What it had sent may still arrive and give
//! the key an expiry or remove it: then the key did not outlive it. A key that its node may have lost is not judged.

use std::collections::BTreeMap;

use crate::history::{Did, Event, Name, Role, What};
use crate::keys::{Gone, Key, Made};
use crate::property::Property;
use crate::run::Run;
use crate::span::{Position, Span};
use crate::verdict::{Bench, Verdict, Witness};

pub(super) fn judge(run: &Run<'_>) -> Verdict {
    let mut bench = Bench::new();
    let locks = run.lock_keys();
    for event in &run.history.events {
        if let What::Command {
            node,
            key,
            sender: Some(sender),
            did: Did::Created | Did::Overwritten,
            ..
        } = &event.what
            && locks.contains(key)
        {
            bench.exercised(|| example(event, node, key, sender));
        }
    }
    let deaths = deaths(run);
    for key in run.keys.iter().filter(|key| locks.contains(&key.key)) {
        if let Some((creator, death)) = outlived(run, key, &deaths) {
            bench.violation(|| immortal(key, creator, death));
        }
    }
    bench.verdict(Property::EveryKeyExpires, "no lock key was created")
}

/// The end of a client, and the beginning of its next life.
struct Death<'a> {
    of: &'a Event,
    span: Span,
}

/// Ends of hosts, in order.
type Deaths<'a> = BTreeMap<&'a Name, Vec<Death<'a>>>;

/// The client that the key outlived without an expiry, and its end.
fn outlived<'a>(
    run: &Run<'a>,
    key: &'a Key,
    deaths: &'a Deaths<'a>,
) -> Option<(&'a Name, &'a Death<'a>)> {
    let creator = key.client.as_ref().filter(|_| key.made == Made::Created)?;
    if run.hosts.get(creator).role != Some(Role::Client) {
        return None;
    }
    let death = deaths.get(creator)?.iter().find(|death| {
        let there = death.span.from.max(key.span.from);
        let for_ever = key
            .expiry(there)
            .is_some_and(|expiry| expiry.expires_at.is_none());
        for_ever
            && death.span.contains(there)
            && key.certain().contains(there)
            && !settled(key, creator, there, death)
    })?;
    Some((creator, death))
}

fn deaths<'a>(run: &Run<'a>) -> Deaths<'a> {
    let mut deaths = Deaths::new();
    for event in &run.history.events {
        let place = Position::from(event);
        match &event.what {
            What::Crashed { host, .. } | What::Finished { client: host } => {
                deaths.entry(host).or_default().push(Death {
                    of: event,
                    span: Span {
                        from: place,
                        end: None,
                    },
                });
            }
            What::Started { host } => {
                if let Some(last) = deaths.get_mut(host).and_then(|ends| ends.last_mut()) {
                    last.span.end.get_or_insert(place);
                }
            }
            _ => {}
        }
    }
    deaths
}

/// Whether a command that the client had sent before its end gave the key an expiry, or removed it.
fn settled(key: &Key, creator: &Name, there: Position, death: &Death<'_>) -> bool {
    let expires = key.expiries.iter().any(|expiry| {
        expiry.said > there
            && death.span.contains(expiry.said)
            && expiry.by.as_ref() == Some(creator)
            && expiry.expires_at.is_some()
    });
    let removed = key.gone == Gone::Removed(Some(creator.clone()))
        && key.span.end.is_some_and(|end| death.span.contains(end));
    expires || removed
}

fn immortal(key: &Key, creator: &Name, death: &Death<'_>) -> Witness {
    let ended = match &death.of.what {
        What::Finished { .. } => "came to its end",
        _ => "died",
    };
    let sentence = format!(
        "the key `{}` that {creator} made at {} at {} has no expiry and outlived it: {creator} {ended} at {}",
        key.key, key.node, key.span.from.at, death.of.at,
    );
    let (made, died) = (key.span.from, death.span.from);
    let cause = match &key.expiries[..] {
        [only] if only.expires_at.is_none() && made < died => Some(format!(
            "{creator} {ended} before it had given the key an expiry"
        )),
        _ => None,
    };
    Witness::new(made.max(died), [made.min(died).seq], sentence).because(cause)
}

fn example(event: &Event, node: &Name, key: &Name, sender: &Name) -> Witness {
    let sentence = format!("{sender} created the key `{key}` at {node} at {}", event.at);
    Witness::new(event, [], sentence)
}
