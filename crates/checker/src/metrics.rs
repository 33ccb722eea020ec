//! Figures that are no verdicts.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::history::{History, Name};
use crate::run::Run;
use crate::span::{Span, common, covered, outside, union, without};

/// For each lock key, how long nobody held it and nobody could have got it: for every client there were fewer nodes
/// than a lock needs that were up, reachable and free of live keys (002, the last section on liveness: what a
/// partition costs).
#[must_use]
pub fn unlockable(history: &History) -> BTreeMap<Name, Duration> {
    let run = Run::of(history);
    let time = |key: &Name| {
        stretches(&run, key)
            .iter()
            .map(|span| span.within(crate::Time::ZERO, run.end()))
            .sum()
    };
    run.lock_keys()
        .into_iter()
        .map(|key| (key.clone(), time(key)))
        .collect()
}

fn stretches(run: &Run<'_>, key: &Name) -> Vec<Span> {
    let held = union(
        run.leases
            .iter()
            .filter(|lease| lease.key == *key)
            .map(|lease| lease.span),
    );
    let lockable = run
        .reach
        .clients()
        .flat_map(|client| lockable(run, key, client));
    without(&outside(&held), &union(lockable))
}

/// When an attempt of the client on the key could have succeeded.
fn lockable(run: &Run<'_>, key: &Name, client: &Name) -> Vec<Span> {
    let free = run.reach.nodes(client).flat_map(|(node, reachable)| {
        let standing = run
            .keys
            .iter()
            .filter(|one| one.key == *key && one.node == *node);
        common(reachable, &outside(&union(standing.map(|one| one.span))))
    });
    covered(free, run.quorum())
}
