//! `no-lost-update`: every applied write was computed from the version that the previous applied write left; resends
//! share an id (document 000, absolute writes of what was read).
//!
//! A resend is not judged again, whether or not the resource applied it again. What makes it a test is that the
//! operations of two acquisitions interleaved at a resource: between two of one came one of the other, refused or not.

use std::collections::{BTreeMap, BTreeSet};

use crate::acquisitions::Owner;
use crate::cause;
use crate::history::{Event, Name, What};
use crate::property::Property;
use crate::run::{Reached, Run};
use crate::verdict::{Bench, Verdict, Witness};

pub(super) fn judge(run: &Run<'_>) -> Verdict {
    let mut bench = Bench::new();
    interleaving(run, &mut bench);
    let mut seen: BTreeSet<(&Name, &Name, &Name, u64)> = BTreeSet::new();
    let mut latest: BTreeMap<(&Name, &Name), &Event> = BTreeMap::new();
    for event in &run.history.events {
        if let What::WriteApplied {
            resource,
            key,
            client,
            operation,
            read_version,
            before,
            ..
        } = &event.what
        {
            let previous = latest.insert((resource, key), event);
            let first = seen.insert((resource, key, client, *operation));
            if first && read_version != before {
                bench.violation(|| lost(run, event, previous));
            }
        }
    }
    bench.verdict(
        Property::NoLostUpdate,
        "the operations of no two acquisitions interleaved at the resource",
    )
}

fn interleaving(run: &Run<'_>, bench: &mut Bench) {
    let mut orders: BTreeMap<(&Name, &Name), LastOperations<'_>> = BTreeMap::new();
    for (number, operation) in run.operations().enumerate() {
        let place = (operation.resource, operation.key);
        let order = orders.entry(place).or_default();
        let before = order.of.insert(&operation.by.owner, number);
        if let Some(own) = before.and_then(|before| order.by_number.remove(&before)) {
            let after = before.unwrap_or_default()..;
            if let Some((_, between)) = order.by_number.range(after).next() {
                bench.exercised(|| example(&own, between, &operation));
            }
        }
        order.by_number.insert(number, operation);
    }
}

/// The last operation of each acquisition at one resource and key.
#[derive(Default)]
struct LastOperations<'a> {
    by_number: BTreeMap<usize, Reached<'a>>,
    of: BTreeMap<&'a Owner, usize>,
}

fn example(first: &Reached<'_>, between: &Reached<'_>, second: &Reached<'_>) -> Witness {
    let sentence = format!(
        "between two operations of {} at {}, at {} and {}, came one of {} at {}",
        first.by.owner,
        first.resource,
        first.event.at,
        second.event.at,
        between.by.owner,
        between.event.at,
    );
    Witness::new(second.event, [first.event.seq, between.event.seq], sentence)
}

fn lost(run: &Run<'_>, event: &Event, previous: Option<&Event>) -> Witness {
    let What::WriteApplied {
        resource,
        key,
        client,
        read_version,
        before,
        ..
    } = &event.what
    else {
        return Witness::new(event, [], String::new());
    };
    let left = previous.and_then(|previous| Some((previous, writer(previous)?)));
    let left = left.map_or_else(String::new, |(previous, writer)| {
        format!(", which {} had left at {}", writer.client, previous.at)
    });
    let sentence = format!(
        "{resource} applied a write of {client} on `{key}` at {} that was computed from version {read_version}, over version {before}{left}",
        event.at,
    );
    let cause = previous.and_then(|previous| cause::lost_update(run, event, previous));
    Witness::new(event, previous.map(|previous| previous.seq), sentence).because(cause)
}

fn writer(event: &Event) -> Option<Owner> {
    match &event.what {
        What::WriteApplied {
            client, attempt, ..
        } => Some(Owner::new(client, *attempt)),
        _ => None,
    }
}
