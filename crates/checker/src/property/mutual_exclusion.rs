//! `mutual-exclusion`: no decision `acquired` or `extended` of one owner falls inside a lease of another owner on
//! the same key.
//!
//! An owner is an attempt: a client that acquires again while its own lease runs holds with two values. A decision
//! past its own deadline opens no lease, but it is judged as any other.

use std::ops::ControlFlow;

use crate::acquisitions::Decision;
use crate::cause;
use crate::leases::Lease;
use crate::property::Property;
use crate::run::Run;
use crate::span::{Span, overlaps};
use crate::text::pair;
use crate::verdict::{Bench, Verdict, Witness};

pub(super) fn judge(run: &Run<'_>) -> Verdict {
    let mut bench = Bench::new();
    contention(run, &mut bench);
    collisions(run, &mut bench);
    bench.verdict(
        Property::MutualExclusion,
        "no attempt of one client overlapped a lease of another on the same key",
    )
}

/// What makes it a test: an attempt of one client overlapped a lease of another.
fn contention(run: &Run<'_>, bench: &mut Bench) {
    let (attempts, leases) = (&run.acquisitions.attempts, &run.leases);
    let attempt_spans: Vec<Span> = attempts.iter().map(|attempt| attempt.span).collect();
    overlaps(&attempt_spans, &spans(leases), |attempt, lease| {
        let (attempt, lease) = (&attempts[attempt], &leases[lease]);
        if attempt.key != lease.key || attempt.owner.client == lease.owner.client {
            return ControlFlow::Continue(());
        }
        let later = attempt.span.from.max(lease.span.from);
        let earlier = attempt.span.from.min(lease.span.from);
        bench.exercised(|| {
            let (one, other) = pair(&attempt.owner, &lease.owner);
            let sentence = format!(
                "{one} tried to acquire `{}` while {other} held it",
                attempt.key
            );
            Witness::new(later, [earlier.seq], sentence)
        });
        ControlFlow::Break(())
    });
}

fn collisions(run: &Run<'_>, bench: &mut Bench) {
    let (decisions, leases) = (&run.acquisitions.decisions, &run.leases);
    let points: Vec<Span> = decisions
        .iter()
        .map(|decision| Span::point(decision.place))
        .collect();
    overlaps(&points, &spans(leases), |decision, lease| {
        let (decision, lease) = (&decisions[decision], &leases[lease]);
        if decision.key == lease.key && decision.owner != lease.owner {
            bench.violation(|| collision(run, decision, lease));
        }
        ControlFlow::Continue(())
    });
}

fn collision(run: &Run<'_>, decision: &Decision, lease: &Lease) -> Witness {
    let (second, first) = pair(&decision.owner, &lease.owner);
    let told = if decision.extension {
        "was told that its lease goes on"
    } else {
        "acquired"
    };
    let until = lease.span.end.map_or_else(
        || "on, which had no end".to_owned(),
        |end| format!("to {}", end.at),
    );
    let sentence = format!(
        "{second} {told} on `{}` at {} inside the lease of {first} from {} {until}",
        decision.key, decision.place.at, lease.span.from.at,
    );
    // The decision of the holder that was in force, not the one that opened the lease.
    let before = lease
        .decisions
        .iter()
        .map(|&index| run.acquisitions.decisions[index].place);
    let in_force = before
        .filter(|place| *place < decision.place)
        .max()
        .unwrap_or(lease.span.from);
    Witness::new(decision.place, [in_force.seq], sentence)
        .because(cause::collision(run, decision, lease))
}

fn spans(leases: &[Lease]) -> Vec<Span> {
    leases.iter().map(|lease| lease.span).collect()
}
