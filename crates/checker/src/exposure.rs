//! How often the faults of a run struck while somebody held a lock: what a verdict rests on.

use std::collections::BTreeMap;

use crate::history::{Name, Role, What};
use crate::run::Run;
use crate::span::{Position, Span};

/// What has no duration: its effect is another event's, or a clock's.
const INSTANT: &[&str] = &[
    "clock-step",
    "clock-slew",
    "evict",
    "flush",
    "late-packet",
    "reset",
];

/// The faults of one family in one run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Exposure {
    /// How many took effect.
    pub fired: u64,
    /// How many of these were in force, or struck, within a lease: of one of the clients that they hit, if they hit
    /// clients alone, or else of anybody.
    pub overlapped: u64,
}

/// The families of a run's faults that took effect.
#[must_use]
pub fn exposure(run: &Run<'_>) -> BTreeMap<Name, Exposure> {
    let mut families: BTreeMap<Name, Exposure> = BTreeMap::new();
    for fault in faults(run) {
        let exposure = families.entry(fault.family.clone()).or_default();
        exposure.fired += 1;
        exposure.overlapped += u64::from(fault.meets_a_lease(run));
    }
    families
}

struct Struck<'a> {
    number: u32,
    family: &'a Name,
    hosts: &'a [Name],
    span: Span,
}

impl Struck<'_> {
    fn meets_a_lease(&self, run: &Run<'_>) -> bool {
        let is_client = |host: &Name| run.hosts.get(host).role == Some(Role::Client);
        let of_clients = self.hosts.iter().all(is_client);
        run.leases.iter().any(|lease| {
            lease.span.meets(&self.span)
                && (!of_clients || self.hosts.contains(&lease.owner.client))
        })
    }
}

fn faults<'a>(run: &Run<'a>) -> Vec<Struck<'a>> {
    let mut all: Vec<Struck<'a>> = Vec::new();
    for event in &run.history.events {
        let place = Position::from(event);
        match &event.what {
            What::Fault {
                fault,
                family,
                hosts,
                ..
            } => {
                let instant = INSTANT.contains(&&**family);
                all.push(Struck {
                    number: *fault,
                    family,
                    hosts,
                    span: if instant {
                        Span::point(place)
                    } else {
                        Span {
                            from: place,
                            end: None,
                        }
                    },
                });
            }
            What::FaultEnded { fault } => {
                let mut lasting = all.iter_mut().rev();
                if let Some(ended) = lasting.find(|one| one.number == *fault) {
                    ended.span.end.get_or_insert(place);
                }
            }
            What::HealBegun {} => {
                for fault in &mut all {
                    fault.span.end.get_or_insert(place);
                }
            }
            _ => {}
        }
    }
    all
}
