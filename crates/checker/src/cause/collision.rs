//! Why two owners held one key: what the nodes of the first holder's quorum did with its key.

use std::collections::BTreeSet;

use crate::acquisitions::{Decision, Owner};
use crate::cause::Cause;
use crate::cause::absence::{late_decision, stopped_for};
use crate::cause::clocks::{Stray, loss};
use crate::cause::failover::{copied, failed_over, promoted};
use crate::cause::key::{Fate, Life, has_failed};
use crate::clock::{ClockKind, Time};
use crate::history::{Answer, Crash, Did, Name, What};
use crate::leases::{Lease, is_born_expired};
use crate::run::Run;
use crate::span::Position;
use crate::text::{Seconds, list};

/// Families of faults, and what is a fault of nobody's plan but an operator's.
pub(super) const STEP: &str = "clock-step";
pub(super) const CRASH: &str = "crash";
pub(super) const FAILOVER: &str = "failover";
const OPERATOR: &str = "operator";

/// Why `decision` falls inside `lease`.
pub(crate) fn collision(run: &Run<'_>, decision: &Decision, lease: &Lease) -> Option<Cause> {
    if is_born_expired(decision, &run.hosts) {
        return late_decision(run, decision).map(Cause::from);
    }
    let (first, second) = in_order(run, &decision.owner, &lease.owner);
    let gone = |owner: &Owner, rival: &Owner| {
        let fates = fates(run, owner, rival, decision);
        let causes = fates.iter().map(|met| cause(run, owner, met, decision));
        causes.reduce(Cause::and)
    };
    taken_over(run, decision, &lease.owner)
        .map(Cause::from)
        .or_else(|| gone(first, second))
        .or_else(|| failed_over(run, first, second, decision))
        // Who decides last may have been the first to set its keys.
        .or_else(|| gone(second, first))
        .or_else(|| disjoint(run, first, second, decision))
}

/// Of two owners the one that acquired first, first.
fn in_order<'a>(run: &Run<'_>, one: &'a Owner, other: &'a Owner) -> (&'a Owner, &'a Owner) {
    let decided = |owner: &Owner| run.acquisitions.get(owner).map(|won| won.decided);
    if decided(one) <= decided(other) {
        (one, other)
    } else {
        (other, one)
    }
}

/// Whether the one that decides had changed the holder's keys itself, as a late renewal by `SET XX` does.
fn taken_over(run: &Run<'_>, decision: &Decision, holder: &Owner) -> Option<String> {
    let began = run.acquisitions.get(holder)?.began?;
    let (mut nodes, mut with) = (Vec::new(), None);
    for event in run
        .history
        .events
        .iter()
        .filter(|event| (began..decision.place).contains(&Position::from(*event)))
    {
        if let What::Command {
            node,
            sender: Some(sender),
            command,
            key,
            did,
            creator: Some(creator),
            ..
        } = &event.what
            && (sender, key) == (&decision.owner.client, &decision.key)
            && creator.client == holder.client
            && creator.client != *sender
            && matches!(did, Did::Deleted | Did::Overwritten | Did::ExpiryChanged)
        {
            if !nodes.contains(&node.as_ref()) {
                nodes.push(node.as_ref());
            }
            let failed = has_failed(run, sender, key, event.into());
            with = Some((command, verb(*did), failed));
        }
    }
    let (command, did, failed) = with?;
    nodes.sort_unstable();
    Some(format!(
        "{} {did} the key of {} at {} with {command}",
        named(&decision.owner.client, failed),
        holder.client,
        list(&nodes)
    ))
}

/// A client, and whether it acted for an attempt that had failed.
fn named(client: &Name, failed: bool) -> String {
    if failed {
        format!("{client}, whose own attempt had failed,")
    } else {
        client.to_string()
    }
}

fn verb(did: Did) -> &'static str {
    match did {
        Did::Deleted => "deleted",
        Did::Overwritten => "overwrote",
        _ => "changed the expiry of",
    }
}

/// A fate and the nodes whose key met it, with the earliest end that the key was meant to have.
struct Met<'a> {
    fate: Fate,
    nodes: Vec<&'a str>,
    end: Option<Time>,
}

fn fates<'a>(
    run: &'a Run<'_>,
    first: &'a Owner,
    second: &Owner,
    decision: &'a Decision,
) -> Vec<Met<'a>> {
    let mut all: Vec<Met<'a>> = Vec::new();
    let held_to = meant_end(run, first, decision);
    for node in quorum(run, first, decision.place) {
        let Some(life) = Life::of(
            run,
            node,
            &decision.key,
            first,
            &second.client,
            decision.place,
        ) else {
            continue;
        };
        let (mut fate, end) = (life.fate(run), life.true_end(run));
        // A node's clock may run fast by less than the margin that the holder leaves: then it is the holder's that is wrong.
        let outlasted = held_to.is_some_and(|held_to| life.replaced_at() >= held_to);
        if outlasted && matches!(fate, Fate::ExpiredEarly { .. }) {
            fate = Fate::RanOut;
        }
        match all.iter_mut().find(|met| met.fate == fate) {
            Some(met) => {
                met.nodes.push(node);
                met.end = met.end.min(end);
            }
            None => all.push(Met {
                fate,
                nodes: vec![node],
                end,
            }),
        }
    }
    all
}

/// When the lease of an owner that was in force at a decision would have ended by a clock that is right.
fn meant_end(run: &Run<'_>, owner: &Owner, at: &Decision) -> Option<Time> {
    let mut decisions = run.acquisitions.decisions.iter().rev();
    let held = decisions.find(|one| one.owner == *owner && one.place <= at.place)?;
    // An extension does not tell when its first clock reading was taken.
    let counted_from = if held.extension {
        held.place
    } else {
        run.acquisitions.get(owner)?.began?
    };
    let reading = run
        .hosts
        .get(&owner.client)
        .reading(held.clock, counted_from)?;
    let validity = held.deadline?.saturating_sub(reading);
    Some(Time(counted_from.at.0.saturating_add(validity)))
}

/// The nodes that granted the key to an owner before a place.
fn quorum<'a>(run: &'a Run<'_>, owner: &Owner, until: Position) -> BTreeSet<&'a Name> {
    let decisions = run.acquisitions.decisions.iter();
    let theirs = decisions.filter(|decision| decision.owner == *owner && decision.place <= until);
    let votes = theirs.flat_map(|decision| &decision.votes);
    votes
        .filter(|vote| vote.answer == Answer::Granted)
        .map(|vote| &vote.node)
        .collect()
}

fn disjoint(run: &Run<'_>, first: &Owner, second: &Owner, decision: &Decision) -> Option<Cause> {
    let (one, other) = (
        quorum(run, first, decision.place),
        quorum(run, second, decision.place),
    );
    let apart = !one.is_empty() && !other.is_empty() && one.is_disjoint(&other);
    let names = |nodes: BTreeSet<&Name>| list(&nodes.into_iter().collect::<Vec<_>>());
    apart.then(|| {
        let (a, b) = (&first.client, &second.client);
        // Of a pair each may be the primary to somebody.
        let failed_over = other.iter().chain(&one);
        let failed_over = failed_over
            .copied()
            .any(|node| promoted(run, node, decision.place).is_some());
        let cause = Cause::from(format!(
            "{a} counted {} as its quorum and {b} counted {}: they have no node in common",
            names(one),
            names(other)
        ));
        if failed_over {
            cause.laid_on(FAILOVER)
        } else {
            cause
        }
    })
}

fn cause(run: &Run<'_>, first: &Owner, met: &Met<'_>, decision: &Decision) -> Cause {
    let (owner, nodes) = (&first.client, list(&met.nodes));
    match &met.fate {
        Fate::Removed {
            by,
            command,
            overwritten,
            refused,
        } => {
            let did = if *overwritten { "overwrote" } else { "deleted" };
            let whose = if by == owner {
                "its own key".to_owned()
            } else {
                format!("the key of {owner}")
            };
            let by = named(by, *refused && by != owner);
            format!("{by} {did} {whose} at {nodes} with {command}").into()
        }
        Fate::Dropped { family } => {
            Cause::from(format!("{nodes} dropped the key of {owner} ({family})"))
                .laid_on(family.clone())
        }
        Fate::Operated { command } => Cause::from(format!(
            "an operator removed the key of {owner} at {nodes} with {command}"
        ))
        .laid_on(OPERATOR),
        Fate::Forgotten { how, stepped } => forgotten(run, first, met, (*how, *stepped), decision),
        Fate::ExpiredEarly {
            stray: Stray::Step(by),
        } => Cause::from(format!(
            "{nodes}'s wall clock stepped forward by {}, so the key of {owner} expired early",
            Seconds(*by)
        ))
        .laid_on(STEP),
        Fate::ExpiredEarly {
            stray: Stray::Rate(ppm),
        } => {
            let family = clock_fault(run, &met.nodes, decision.place);
            let cause = Cause::from(format!(
                "{nodes}'s wall clock runs fast by {ppm} ppm{}, so the key of {owner} expired early",
                bracketed(family)
            ));
            family.into_iter().cloned().fold(cause, Cause::laid_on)
        }
        Fate::ExpiredEarly {
            stray: Stray::Still(_),
        }
        | Fate::Gone => format!(
            "the key of {owner} was gone from {nodes} for a reason that the history does not show"
        )
        .into(),
        Fate::RanOut => ran_out(run, first, &met.nodes, met.end, decision),
    }
}

fn forgotten(
    run: &Run<'_>,
    first: &Owner,
    met: &Met<'_>,
    (how, stepped): (Crash, Option<Stray>),
    decision: &Decision,
) -> Cause {
    let (owner, nodes) = (&first.client, list(&met.nodes));
    let crashed = match how {
        Crash::Kill if met.nodes.len() > 1 => "were killed",
        Crash::Kill => "was killed",
        Crash::Power => "lost power",
        Crash::Shutdown if met.nodes.len() > 1 => "were shut down",
        Crash::Shutdown => "was shut down",
    };
    let copied = copied(run, &met.nodes, first, decision);
    let lost =
        format!("{nodes} {crashed} and came back without the key of {owner} (persistence){copied}");
    match stepped {
        Some(Stray::Step(by)) => Cause::from(format!(
            "{lost}, after its wall clock had stepped forward by {}",
            Seconds(by)
        ))
        .laid_on(STEP),
        _ => lost.into(),
    }
    .laid_on(CRASH)
}

/// The family of the fault that changed the rate of a clock, if the history has one.
fn clock_fault<'a, T: AsRef<str>>(run: &Run<'a>, hosts: &[T], until: Position) -> Option<&'a Name> {
    let mut events = run.history.events.iter().rev();
    events.find_map(|event| match &event.what {
        What::Fault {
            family, hosts: hit, ..
        } if matches!(&**family, "clock-drift" | "clock-slew")
            && Position::from(event) < until
            && hosts
                .iter()
                .any(|host| hit.iter().any(|hit| **hit == *host.as_ref())) =>
        {
            Some(family)
        }
        _ => None,
    })
}

fn bracketed(family: Option<&Name>) -> String {
    family.map_or_else(String::new, |family| format!(" ({family})"))
}

/// How it came that the keys of `first` at `nodes` ran out at `end` and it went on.
pub(super) fn ran_out(
    run: &Run<'_>,
    first: &Owner,
    nodes: &[&str],
    end: Option<Time>,
    decision: &Decision,
) -> Cause {
    let (owner, nodes) = (&first.client, list(nodes));
    let end = end.map_or_else(String::new, |end| format!(" at {end}"));
    let ran_out = format!("its key at {nodes} ran out{end}");
    let host = run.hosts.get(owner);
    let mut before = run
        .acquisitions
        .decisions
        .iter()
        .rev()
        .filter(|one| one.owner == *first && one.place <= decision.place);
    let Some(held) = before.next() else {
        return format!("{owner} held on after {ran_out}").into();
    };
    let began = run
        .acquisitions
        .get(first)
        .and_then(|won| won.began)
        .unwrap_or(held.place)
        .at;
    if held.deadline.is_none() {
        let away = stopped_for(host, began, decision.place.at)
            .map_or_else(String::new, |away| format!("{owner} {away}; "));
        return format!("{away}its lock states no deadline, and {ran_out}").into();
    }
    let clock = match held.clock {
        ClockKind::Monotonic => "monotonic",
        ClockKind::Wall => "wall",
    };
    match loss(host, held.clock, began, decision.place.at) {
        Some(Stray::Step(by)) => Cause::from(format!(
            "{owner}'s {clock} clock stepped back by {}, while {ran_out}",
            Seconds(by)
        ))
        .laid_on(STEP),
        Some(Stray::Still(long)) => {
            let suspended = !host.stopped(began, decision.place.at).is_zero();
            let suspended_by = if suspended { " (suspend)" } else { "" };
            let cause = Cause::from(format!(
                "{owner}'s {clock} clock stood still for {}{suspended_by}, while {ran_out}",
                Seconds(long)
            ));
            if suspended {
                cause.laid_on("suspend")
            } else {
                cause
            }
        }
        Some(Stray::Rate(ppm)) => {
            let family = clock_fault(run, &[owner], decision.place);
            let cause = Cause::from(format!(
                "{owner}'s {clock} clock runs slow by {ppm} ppm{}, while {ran_out}",
                bracketed(family)
            ));
            family.into_iter().cloned().fold(cause, Cause::laid_on)
        }
        None => format!("{owner} counted its lease longer than its key lived: {ran_out}").into(),
    }
}
