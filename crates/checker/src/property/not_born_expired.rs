//! `not-born-expired`: every decision has its deadline in the future on its own clock.
//!
//! A deadline that is reached in that very instant is not in the future. A decision that states no deadline cannot
//! be born expired.

use crate::acquisitions::Decision;
use crate::cause;
use crate::leases::is_born_expired;
use crate::property::Property;
use crate::run::Run;
use crate::verdict::{Bench, Verdict, Witness};

pub(super) fn judge(run: &Run<'_>) -> Verdict {
    let mut bench = Bench::new();
    for decision in &run.acquisitions.decisions {
        if is_born_expired(decision, &run.hosts) {
            bench.violation(|| expired(run, decision));
        }
        bench.exercised(|| Witness::new(decision.place, [], in_time(decision)));
    }
    bench.verdict(
        Property::NotBornExpired,
        "nobody was told that it holds a key",
    )
}

fn expired(run: &Run<'_>, decision: &Decision) -> Witness {
    let sentence = format!(
        "{} {} `{}` at {} when its deadline had passed by its own clock",
        decision.owner.client,
        told(decision),
        decision.key,
        decision.place.at
    );
    Witness::new(decision.place, [], sentence).because(cause::late_decision(run, decision))
}

fn in_time(decision: &Decision) -> String {
    let left = if decision.deadline.is_some() {
        "with time left on its own clock"
    } else {
        "without a deadline"
    };
    format!(
        "{} {} `{}` {left}",
        decision.owner.client,
        told(decision),
        decision.key
    )
}

fn told(decision: &Decision) -> &'static str {
    if decision.extension {
        "extended"
    } else {
        "acquired"
    }
}
