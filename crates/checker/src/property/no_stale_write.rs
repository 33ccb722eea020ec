//! `no-stale-write`: the resource applies no write of A after it applied one of a B that A is older than.
//!
//! Writes are compared at one resource and of one key. Pairs of which neither is older are not judged.

use std::collections::BTreeMap;

use crate::acquisitions::Acquisition;
use crate::cause;
use crate::history::Name;
use crate::property::Property;
use crate::run::{Effect, Reached, Run};
use crate::verdict::{Bench, Verdict, Witness};

pub(super) fn judge(run: &Run<'_>) -> Verdict {
    let mut bench = Bench::new();
    let (mut reached, mut written) = (Newest::default(), Newest::default());
    for operation in run.operations() {
        if let Some(newer) = reached.newer_than(&operation) {
            bench.exercised(|| late(&operation, newer));
        }
        reached.take(operation);
        if operation.effect == Effect::Written {
            if let Some(newer) = written.newer_than(&operation) {
                bench.violation(|| stale(run, &operation, newer));
            }
            written.take(operation);
        }
    }
    bench.verdict(
        Property::NoStaleWrite,
        "no operation of an older acquisition reached the resource after a newer one's",
    )
}

fn late(old: &Reached<'_>, newer: &Reached<'_>) -> Witness {
    let became = match old.effect {
        Effect::Read => "was a read",
        Effect::Written => "was applied",
        Effect::Refused => "was refused",
    };
    let sentence = format!(
        "an operation of {} reached {} at {}, after one of the newer acquisition of {}, and {became}",
        old.by.owner.client, old.resource, old.event.at, newer.by.owner.client,
    );
    Witness::new(old.event, [newer.event.seq], sentence)
}

fn stale(run: &Run<'_>, old: &Reached<'_>, newer: &Reached<'_>) -> Witness {
    let sentence = format!(
        "{} applied a write of {} at {}, after the write of the newer acquisition of {} at {}",
        old.resource, old.by.owner.client, old.event.at, newer.by.owner.client, newer.event.at,
    );
    Witness::new(old.event, [newer.event.seq], sentence)
        .because(cause::stale_write(run, old, newer))
}

/// For each resource and key, the operation whose acquisition began last: if an acquisition is older than any of
/// those that came before, it is older than this one.
#[derive(Default)]
struct Newest<'a> {
    operations: BTreeMap<(&'a Name, &'a Name, &'a Name), Reached<'a>>,
}

impl<'a> Newest<'a> {
    fn newer_than(&self, operation: &Reached<'a>) -> Option<&Reached<'a>> {
        self.operations
            .get(&place(operation))
            .filter(|newest| operation.by.older_than(newest.by))
    }

    fn take(&mut self, operation: Reached<'a>) {
        let newest = self
            .operations
            .entry(place(&operation))
            .or_insert(operation);
        let began = |acquisition: &Acquisition| acquisition.began;
        if began(operation.by) > began(newest.by) {
            *newest = operation;
        }
    }
}

/// The resource, what of it, and the lock's key, which is the same where one lock guards one thing.
fn place<'a>(operation: &Reached<'a>) -> (&'a Name, &'a Name, &'a Name) {
    (operation.resource, operation.key, &operation.by.key)
}
