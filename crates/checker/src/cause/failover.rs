//! What a replica lacked when it was made a primary, and what it took over from a primary that had come back empty.

use std::time::Duration;

use crate::acquisitions::{Decision, Owner};
use crate::cause::Cause;
use crate::cause::clocks::{Stray, gain};
use crate::cause::collision::{CRASH, FAILOVER, STEP, ran_out};
use crate::clock::{ClockKind, Time};
use crate::history::{Crash, Name, What};
use crate::keys::{Gone, Key, Made};
use crate::run::Run;
use crate::span::Position;
use crate::text::{Seconds, list};

/// Why a rival could have its key at a node that had been promoted, while the first holder's stood at another.
pub(super) fn failed_over(
    run: &Run<'_>,
    first: &Owner,
    second: &Owner,
    decision: &Decision,
) -> Option<Cause> {
    let of = |owner: &Owner, before: Position| {
        let mut keys = run.keys.iter().rev();
        let client = owner.client.clone();
        keys.find(move |key| {
            key.made == Made::Created
                && key.key == decision.key
                && key.client.as_ref() == Some(&client)
                && key.span.from < before
        })
    };
    let rival = of(second, decision.place)?;
    let home = of(first, rival.span.from).filter(|home| home.node != rival.node)?;
    let promoted = promoted(run, &rival.node, rival.span.from)?;
    let (owner, old, new) = (&first.client, &home.node, &rival.node);
    if promoted < home.span.from {
        return Some(failover(format!(
            "{new} had been promoted while {old} went on as a primary, where {owner} made its key"
        )));
    }
    let Some(copy) = copy(run, home, new, rival.span.from) else {
        return Some(failover(format!(
            "{new} was promoted without the key of {owner}, which {old} had not replicated"
        )));
    };
    let renewed = |key: &Key| {
        key.expiries
            .iter()
            .rev()
            .map(|expiry| expiry.expires_at)
            .next()
            .flatten()
    };
    if renewed(home) > renewed(copy) {
        let last = home.expiries.last().map(|expiry| expiry.said);
        return Some(failover(if last > Some(promoted) {
            format!(
                "{new} was promoted while {old} went on as a primary, where {owner} renewed its key"
            )
        } else {
            format!(
                "{new} was promoted without the renewal of {owner}, which {old} had not replicated"
            )
        }));
    }
    match copy.gone {
        Gone::Copied | Gone::Resynced | Gone::Lost => emptied(run, home, copy),
        Gone::Expired => {
            Some(ran_out_early(run, home, copy, owner).unwrap_or_else(|| {
                ran_out(run, first, &[old], home.true_end(&run.hosts), decision)
            }))
        }
        _ => None,
    }
}

/// What the promotion of another node brought about.
fn failover(sentence: String) -> Cause {
    Cause::from(sentence).laid_on(FAILOVER)
}

/// When the node was promoted last before a place.
pub(super) fn promoted(run: &Run<'_>, of: &Name, before: Position) -> Option<Position> {
    let events = run.history.events.iter().rev();
    let promotions =
        events.filter(|event| matches!(&event.what, What::Promoted { node } if node == of));
    promotions.map(Position::from).find(|place| *place < before)
}

/// What `node` had of a key before a place.
fn copy<'a>(run: &'a Run<'_>, home: &Key, node: &Name, before: Position) -> Option<&'a Key> {
    run.keys.iter().rev().find(|key| {
        key.made == Made::Replicated
            && key.node == *node
            && key.key == home.key
            && key.client == home.client
            && (home.span.from..before).contains(&key.span.from)
    })
}

/// The primary had lost the key, and its replica followed.
fn emptied(run: &Run<'_>, home: &Key, copy: &Key) -> Option<Cause> {
    let gone = copy.span.end?;
    let mut downs = run.hosts.get(&home.node).downs.iter().rev();
    let (_, how) = downs.find(|(down, _)| (home.span.from..gone).contains(&down.from))?;
    let how = went_down(*how);
    let owner = home.client.as_ref()?;
    let (old, new) = (&home.node, &copy.node);
    let sentence = format!(
        "{old} {how} and came back without the key of {owner} (persistence), and {new} copied that"
    );
    Some(Cause::from(sentence).laid_on(CRASH))
}

/// What became of one node that is down.
pub(super) fn went_down(how: Crash) -> &'static str {
    match how {
        Crash::Kill => "was killed",
        Crash::Power => "lost power",
        Crash::Shutdown => "was shut down",
    }
}

/// A replica judges expiry by its own clock, once it is a primary.
fn ran_out_early(run: &Run<'_>, home: &Key, copy: &Key, owner: &Name) -> Option<Cause> {
    let end = copy.span.end?.at;
    if end.after(Duration::from_millis(1)) >= home.true_end(&run.hosts)? {
        return None;
    }
    let (node, host) = (&copy.node, run.hosts.get(&copy.node));
    let early = |strayed: String| {
        Cause::from(format!(
            "{node}'s wall clock {strayed}, so its copy of the key of {owner} expired early"
        ))
    };
    // What the clock had gained before the copy came counts as well.
    match gain(host, ClockKind::Wall, Time::ZERO, end)? {
        Stray::Step(by) => Some(early(format!("stepped forward by {}", Seconds(by))).laid_on(STEP)),
        Stray::Rate(ppm) => Some(early(format!("runs fast by {ppm} ppm"))),
        Stray::Still(_) => None,
    }
}

/// `, and n2 copied that` for the replicas that had the key of an owner from these nodes and gave it up with them.
pub(super) fn copied(run: &Run<'_>, nodes: &[&str], owner: &Owner, decision: &Decision) -> String {
    let followed = run.keys.iter().filter(|key| {
        let gone = match key.gone {
            Gone::Copied => key.span.end.is_some_and(|end| end < decision.place),
            // It shows only when the rival's key comes over.
            Gone::Resynced => key.span.from < decision.place,
            _ => false,
        };
        gone && key.key == decision.key
            && key.client.as_ref() == Some(&owner.client)
            && !nodes.contains(&&*key.node)
    });
    let mut replicas: Vec<&Name> = followed.map(|key| &key.node).collect();
    replicas.sort();
    replicas.dedup();
    if replicas.is_empty() {
        return String::new();
    }
    format!(", and {} copied that", list(&replicas))
}
