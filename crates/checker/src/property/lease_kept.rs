//! `lease-kept`: nobody is told "lost" while a majority was reachable all along, from its latest decision on.
//!
//! One and the same majority: nodes that come and go may have lost the key. A holder that was stopped until its lease,
//! or the longest life of a key, had run out could not renew, so it is not judged.

use std::time::Duration;

use crate::acquisitions::{Decision, Owner};
use crate::cause;
use crate::clock::Time;
use crate::history::{Event, Name, Operation, What};
use crate::property::Property;
use crate::run::Run;
use crate::span::{Position, Span};
use crate::text::list;
use crate::verdict::{Bench, Verdict, Witness};

pub(super) fn judge(run: &Run<'_>) -> Verdict {
    let mut bench = Bench::new();
    if let Some(renewal) = run.history.events.iter().find(|event| renews(event)) {
        bench.exercised(|| example(renewal));
        for event in &run.history.events {
            if let What::Lost {
                client,
                attempt,
                key,
            } = &event.what
            {
                judge_loss(run, event, &Owner::new(client, *attempt), key, &mut bench);
            }
        }
    }
    bench.verdict(Property::LeaseKept, "no renewal took place")
}

fn renews(event: &Event) -> bool {
    let extend = Operation::Extend;
    matches!(&event.what, What::Extended { .. })
        || matches!(&event.what, What::CallBegun { operation, .. } if *operation == extend)
}

fn judge_loss(run: &Run<'_>, event: &Event, owner: &Owner, key: &Name, bench: &mut Bench) {
    let place = Position::from(event);
    let mut decisions = run.acquisitions.decisions.iter().rev();
    let latest = decisions.find(|one| one.owner == *owner && one.key == *key && one.place < place);
    let Some(latest) = latest else { return };
    let since = Span {
        from: latest.place,
        end: Some(place),
    };
    let nodes = run.reach.throughout(&owner.client, &since);
    if nodes.len() >= run.quorum() && !could_not_renew(run, latest, place) {
        bench.violation(|| loss(run, event, latest, &nodes));
    }
}

/// Whether the holder was stopped when its lease ran out by its own clock, or when its keys must have run out.
fn could_not_renew(run: &Run<'_>, latest: &Decision, told: Position) -> bool {
    let host = run.hosts.get(&latest.owner.client);
    let at = latest.place.at;
    let reach = |deadline| host.clock.first_reach(latest.clock, deadline, at);
    let deadline = latest.deadline.and_then(reach).unwrap_or(Time::MAX);
    let key_dies = at.after(Duration::from_nanos(run.history.header.largest_ttl));
    let too_late = deadline.min(key_dies);
    let since = Span {
        from: latest.place,
        end: Some(told),
    };
    let mut stops = host.pauses.iter().filter(|pause| pause.meets(&since));
    stops.any(|pause| pause.end.is_none_or(|end| end.at >= too_late))
}

fn loss(run: &Run<'_>, event: &Event, latest: &Decision, nodes: &[&Name]) -> Witness {
    let (client, key) = (&latest.owner.client, &latest.key);
    let decided = if latest.extension {
        "was extended"
    } else {
        "was acquired"
    };
    let sentence = format!(
        "{client} was told at {} that it had lost `{key}`, which {decided} at {}, although {} could be reached all along",
        event.at,
        latest.place.at,
        list(nodes),
    );
    Witness::new(event, [latest.place.seq], sentence).because(cause::loss(
        run,
        latest,
        event.into(),
    ))
}

fn example(renewal: &Event) -> Witness {
    let sentence = match &renewal.what {
        What::Extended { client, key, .. } => {
            format!(
                "{client} was told at {} that its lease on `{key}` goes on",
                renewal.at
            )
        }
        What::CallBegun { client, key, .. } => {
            format!(
                "{client} called at {} to extend its lease on `{key}`",
                renewal.at
            )
        }
        _ => String::new(),
    };
    Witness::new(renewal, [], sentence)
}
