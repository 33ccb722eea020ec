//! How long somebody was away: stopped, or waiting for a slow network, while the lease ran out.

use crate::acquisitions::{Decision, Owner, Section};
use crate::cause::collision::collision;
use crate::cause::key::has_failed;
use crate::clock::Time;
use crate::history::{Cut, Name, What};
use crate::hosts::HostLine;
use crate::leases::{Ended, Lease, is_born_expired};
use crate::run::{Reached, Run};
use crate::span::Position;
use crate::text::Seconds;

/// Why somebody decided after its own deadline.
pub(crate) fn late_decision(run: &Run<'_>, decision: &Decision) -> Option<String> {
    let (client, at) = (&decision.owner.client, decision.place.at);
    let (from, between) = start(run, decision)?;
    let host = run.hosts.get(client);
    let stopped = host.stopped(from.at, at);
    Some(if stopped.is_zero() {
        format!(
            "{client} decided after its own deadline: {} passed between {between}",
            Seconds(at.since(from.at))
        )
    } else {
        format!(
            "{client} decided after its own deadline: it was stopped for {} between {between}",
            Seconds(stopped)
        )
    })
}

/// Where a decision counts from: the first clock reading, or for an extension the decision before.
fn start<'a>(run: &Run<'_>, decision: &Decision) -> Option<(Position, &'a str)> {
    if !decision.extension {
        let began = run.acquisitions.get(&decision.owner)?.began?;
        return Some((began, "its first clock reading and its decision"));
    }
    let mut before = run.acquisitions.decisions.iter().rev();
    let before = before.find(|one| one.owner == decision.owner && one.place < decision.place)?;
    Some((before.place, "its decision before and this one"))
}

/// Why a client entered while another was inside.
pub(crate) fn intrusion(run: &Run<'_>, inside: &Section, entering: &Section) -> Option<String> {
    let (from, to) = (inside.span.from, entering.span.from);
    let entered = format!("{} entered at {}", entering.owner.client, to.at);
    let Some(lease) = last_lease(run, &inside.owner, &inside.key, to) else {
        return never_held(run, &inside.owner);
    };
    if lease.span.contains(to) {
        return still_held(run, lease, &entering.owner, to);
    }
    let client = &inside.owner.client;
    let away = outlasting_pause(run, client, lease, from.at, to.at)
        .unwrap_or_else(|| "stayed inside".to_owned());
    Some(format!("{client} {away}; {}; {entered}", end_of(lease)))
}

/// Why a write of an older acquisition came after one of a newer.
pub(crate) fn stale_write(run: &Run<'_>, old: &Reached<'_>, newer: &Reached<'_>) -> Option<String> {
    let (client, place) = (&old.by.owner.client, Position::from(old.event));
    let Some(lease) = last_lease(run, &old.by.owner, &old.by.key, place) else {
        return never_held(run, &old.by.owner);
    };
    if lease.span.contains(newer.by.decided) {
        return still_held(run, lease, &newer.by.owner, newer.by.decided);
    }
    let away = outlasting_pause(run, client, lease, old.by.decided.at, place.at)
        .map(|away| format!("{client} {away}"))
        .or_else(|| slow_link(run, client, old.resource, old.by.decided.at, place.at))
        .unwrap_or_else(|| format!("{client} was not stopped, its write came late"));
    let (wrote, other) = (newer.event.at, &newer.by.owner.client);
    Some(format!(
        "{away}; {}; {other} wrote at {wrote} and {client} at {}",
        end_of(lease),
        place.at
    ))
}

/// Why a client sent a release or a renewal to a key that was not its own.
pub(crate) fn foreign_command(
    run: &Run<'_>,
    sender: &Name,
    key: &Name,
    place: Position,
) -> Option<String> {
    let theirs = |lease: &&Lease| {
        lease.owner.client == *sender && lease.key == *key && lease.span.from < place
    };
    let Some(lease) = run.leases.iter().rev().find(theirs) else {
        let failed = if has_failed(run, sender, key, place) {
            ": its own attempt had failed"
        } else {
            ""
        };
        return Some(format!("{sender} had held no lease on `{key}`{failed}"));
    };
    if lease.span.contains(place) {
        return Some(format!(
            "the lease of {sender} was running, but its own key was not there any more"
        ));
    }
    let away = outlasting_pause(run, sender, lease, lease.span.from.at, place.at);
    let away = away.map_or_else(String::new, |away| format!("{sender} {away}; "));
    Some(format!(
        "{away}{}; its command came at {}",
        end_of(lease),
        place.at
    ))
}

/// The longest time for which a host was stopped between two instants, in words.
pub(super) fn stopped_for(host: &HostLine, from: Time, to: Time) -> Option<String> {
    pause(host, from, to, Time::ZERO)
}

/// The pause that outlasted the lease. A shorter one is no reason.
fn outlasting_pause(
    run: &Run<'_>,
    client: &Name,
    lease: &Lease,
    from: Time,
    to: Time,
) -> Option<String> {
    pause(run.hosts.get(client), from, to, lease.span.end?.at)
}

fn pause(host: &HostLine, from: Time, to: Time, beyond: Time) -> Option<String> {
    let pauses = host.pauses.iter().filter(|pause| {
        !pause.within(from, to).is_zero() && pause.end.is_none_or(|end| end.at > beyond)
    });
    let longest = pauses.max_by_key(|pause| pause.within(Time::ZERO, Time::MAX))?;
    let begun = longest.from.at;
    Some(match longest.end {
        Some(end) => format!(
            "was stopped for {} from {begun} on",
            Seconds(end.at.since(begun))
        ),
        None => format!("was stopped from {begun} to the end of the run"),
    })
}

fn last_lease<'a>(
    run: &'a Run<'_>,
    owner: &Owner,
    key: &Name,
    before: Position,
) -> Option<&'a Lease> {
    let theirs =
        |lease: &&Lease| lease.owner == *owner && lease.key == *key && lease.span.from < before;
    run.leases.iter().rev().find(theirs)
}

fn end_of(lease: &Lease) -> String {
    let end = lease
        .span
        .end
        .map_or_else(String::new, |end| format!(" at {}", end.at));
    let client = &lease.owner.client;
    match lease.ended {
        Ended::Released => format!("it had called release{end}"),
        Ended::Lost => format!("it was told{end} that it had lost the key"),
        Ended::Died => format!("the process of {client} died{end}"),
        Ended::Deadline => format!("its lease ended{end}"),
        Ended::Nothing => "its lease had no end".to_owned(),
    }
}

/// The lease was running, so the lock itself let the other in.
fn still_held(run: &Run<'_>, lease: &Lease, other: &Owner, until: Position) -> Option<String> {
    let mut decisions = run.acquisitions.decisions.iter().rev();
    let decision =
        decisions.find(|decision| decision.owner == *other && decision.place <= until)?;
    let why = collision(run, decision, lease)?.sentence;
    Some(format!(
        "the lease of {} was still running: {why}",
        lease.owner.client
    ))
}

fn never_held(run: &Run<'_>, owner: &Owner) -> Option<String> {
    let decision = run
        .acquisitions
        .decisions
        .iter()
        .find(|decision| decision.owner == *owner)?;
    is_born_expired(decision, &run.hosts).then(|| late_decision(run, decision))?
}

/// What made messages from a client to a resource late.
fn slow_link(
    run: &Run<'_>,
    client: &Name,
    resource: &Name,
    from: Time,
    to: Time,
) -> Option<String> {
    let before = run
        .history
        .events
        .iter()
        .take_while(|event| event.at <= to)
        .filter(|event| event.at >= from);
    let reasons = before.filter_map(|event| match &event.what {
        What::Delayed { from, to, extra } if (from, to) == (client, resource) && *extra > 0 => {
            Some(format!(
                "messages from {client} to {resource} took {} longer",
                Time(*extra)
            ))
        }
        What::Fault { family, hosts, .. }
            if **family == *"late-packet" && hosts[..] == [client.clone(), resource.clone()] =>
        {
            Some(format!(
                "a packet from {client} to {resource} was late from {} on (late-packet)",
                event.at
            ))
        }
        What::Cut {
            from,
            to,
            how: Cut::Hold,
        } if (from, to) == (client, resource) => Some(format!(
            "messages from {client} to {resource} were held back from {} on",
            event.at
        )),
        _ => None,
    });
    reasons.last()
}
