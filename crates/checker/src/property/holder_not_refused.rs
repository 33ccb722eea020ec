//! `holder-not-refused`: no operation of A is refused for its token unless the resource had registered an acquisition
//! that is not older than A.
//!
//! A's own registration does not excuse it: that is how `last_fencing_token < n` refuses the holder's second write
//! (document 000). A registration of an attempt that won nothing is older than nobody, so it does excuse.

use std::collections::{BTreeMap, BTreeSet};

use crate::acquisitions::{Acquisition, Owner};
use crate::cause;
use crate::history::{Event, Name, What};
use crate::property::Property;
use crate::run::{Effect, Reached, Run};
use crate::span::Position;
use crate::verdict::{Bench, Verdict, Witness};

pub(super) fn judge(run: &Run<'_>) -> Verdict {
    let mut bench = Bench::new();
    let checking = checking(run);
    let newest = Newest::of(run);
    let mut registered = Registered::default();
    for event in &run.history.events {
        registered.take(event);
        let Some(operation) = run.reached(event) else {
            continue;
        };
        let checked = operation.effect == Effect::Refused || operation.token.is_some();
        if checked && checking.contains(operation.resource) && newest.is(operation.by, event.into())
        {
            bench.exercised(|| met(&operation));
        }
        if operation.effect == Effect::Refused && !registered.excuses(run, &operation) {
            bench.violation(|| refused(&operation, &registered));
        }
    }
    bench.verdict(
        Property::HolderNotRefused,
        "no operation of a newest acquisition met a resource that checks tokens",
    )
}

/// The resources that check tokens: that they do shows in what they register and refuse.
fn checking<'a>(run: &'a Run<'_>) -> BTreeSet<&'a Name> {
    let checks = |event: &'a Event| match &event.what {
        What::Registered { resource, .. } | What::OperationRefused { resource, .. } => {
            Some(resource)
        }
        _ => None,
    };
    run.history.events.iter().filter_map(checks).collect()
}

/// Who is registered at each resource, by resource and key, in order.
#[derive(Default)]
struct Registered<'a> {
    owners: BTreeMap<(&'a Name, &'a Name), Vec<Owner>>,
}

impl<'a> Registered<'a> {
    fn take(&mut self, event: &'a Event) {
        if let What::Registered {
            resource,
            key,
            client,
            attempt,
            ..
        } = &event.what
        {
            self.owners
                .entry((resource, key))
                .or_default()
                .push(Owner::new(client, *attempt));
        }
    }

    fn at(&self, operation: &Reached<'a>) -> &[Owner] {
        self.owners
            .get(&(operation.resource, operation.key))
            .map_or(&[], Vec::as_slice)
    }

    fn excuses(&self, run: &Run<'_>, operation: &Reached<'a>) -> bool {
        let not_older = |owner: &Owner| {
            run.acquisitions
                .get(owner)
                .is_none_or(|won| !won.older_than(operation.by))
        };
        self.at(operation)
            .iter()
            .any(|owner| *owner != operation.by.owner && not_older(owner))
    }
}

/// For each key the acquisitions in order of their decisions, each with the latest beginning up to it.
struct Newest<'a> {
    keys: BTreeMap<&'a Name, Vec<(Position, Option<Position>)>>,
}

impl<'a> Newest<'a> {
    fn of(run: &'a Run<'_>) -> Self {
        let latest = |acquisitions: Vec<&Acquisition>| {
            let step = |latest: &mut Option<Position>, acquisition: &Acquisition| {
                *latest = (*latest).max(acquisition.began);
                Some((acquisition.decided, *latest))
            };
            acquisitions.into_iter().scan(None, step).collect()
        };
        Self {
            keys: run
                .by_key()
                .into_iter()
                .map(|(key, acquisitions)| (key, latest(acquisitions)))
                .collect(),
        }
    }

    /// Whether no acquisition that was decided before `place` is newer.
    fn is(&self, acquisition: &Acquisition, place: Position) -> bool {
        let decided = self
            .keys
            .get(&acquisition.key)
            .map_or(&[][..], Vec::as_slice);
        let before = decided.partition_point(|(decided, _)| *decided < place);
        let latest = before.checked_sub(1).and_then(|last| decided[last].1);
        latest.is_none_or(|began| began <= acquisition.decided)
    }
}

fn met(operation: &Reached<'_>) -> Witness {
    let sentence = format!(
        "an operation of {} met {} at {}, which checks tokens, while no acquisition was newer",
        operation.by.owner.client, operation.resource, operation.event.at,
    );
    Witness::new(operation.event, [], sentence)
}

fn refused(operation: &Reached<'_>, registered: &Registered<'_>) -> Witness {
    let sentence = format!(
        "{} refused an operation of {} at {} for its token, though it had registered no acquisition but older ones",
        operation.resource, operation.by.owner.client, operation.event.at,
    );
    let own = registered.at(operation).contains(&operation.by.owner);
    Witness::new(operation.event, [operation.by.decided.seq], sentence)
        .because(cause::refusal(operation, own))
}
