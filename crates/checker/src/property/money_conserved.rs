//! `money-conserved`: the sum over the accounts is unchanged.
//!
//! The resource says the sum at the start and after each transaction that it applied: every one of them equals the
//! first.

use std::collections::BTreeMap;

use crate::history::{Event, Name, What};
use crate::property::Property;
use crate::run::Run;
use crate::verdict::{Bench, Verdict, Witness};

pub(super) fn judge(run: &Run<'_>) -> Verdict {
    let mut bench = Bench::new();
    let mut firsts: BTreeMap<(&Name, &Name), (&Event, i64)> = BTreeMap::new();
    let mut written: BTreeMap<&Name, &Event> = BTreeMap::new();
    for event in &run.history.events {
        match &event.what {
            What::WriteApplied { resource, .. } => {
                written.insert(resource, event);
            }
            What::Total {
                resource,
                key,
                total,
            } => {
                let (first, was) = *firsts.entry((resource, key)).or_insert((event, *total));
                let Some(transfer) = written.get(resource).filter(|one| one.seq > first.seq) else {
                    continue;
                };
                let sums = Sums {
                    first,
                    was,
                    now: *total,
                    resource,
                };
                if was != *total {
                    bench.violation(|| sums.witness(event, transfer));
                }
                bench.exercised(|| sums.witness(event, transfer));
            }
            _ => {}
        }
    }
    bench.verdict(Property::MoneyConserved, "no transfer was applied")
}

struct Sums<'a> {
    first: &'a Event,
    was: i64,
    now: i64,
    resource: &'a Name,
}

impl Sums<'_> {
    fn witness(&self, event: &Event, transfer: &Event) -> Witness {
        let by = match &transfer.what {
            What::WriteApplied { client, .. } => format!("a write of {client} at {}", transfer.at),
            _ => String::new(),
        };
        let sentence = format!(
            "the accounts of {} held {} at {} and {} at {}, after {by}",
            self.resource, self.was, self.first.at, self.now, event.at,
        );
        Witness::new(event, [self.first.seq, transfer.seq], sentence)
    }
}
