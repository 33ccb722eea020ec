//! `fencing-monotonic`: tokens of a key differ, and an older acquisition has the smaller one.
//!
//! Pairs of which neither is older are judged by difference only: the order of decisions alone would accuse even a
//! perfect counter.

use std::collections::BTreeMap;

use crate::acquisitions::Acquisition;
use crate::cause::token_order;
use crate::property::Property;
use crate::run::Run;
use crate::verdict::{Bench, Verdict, Witness};

pub(super) fn judge(run: &Run<'_>) -> Verdict {
    let mut bench = Bench::new();
    for (_, mut acquisitions) in run.by_key() {
        acquisitions.retain(|acquisition| acquisition.token.is_some());
        different(run, &acquisitions, &mut bench);
        ordered(run, &acquisitions, &mut bench);
    }
    bench.verdict(
        Property::FencingMonotonic,
        "no two acquisitions with tokens came one after the other on the same key",
    )
}

/// Judges each acquisition against the first that had its token.
fn different(run: &Run<'_>, acquisitions: &[&Acquisition], bench: &mut Bench) {
    let mut seen: BTreeMap<Option<u64>, &Acquisition> = BTreeMap::new();
    for acquisition in acquisitions {
        match seen.get(&acquisition.token) {
            Some(first) => bench.violation(|| {
                witness(first, acquisition, "the same token as").because(token_order(
                    run,
                    first,
                    acquisition,
                ))
            }),
            None => {
                seen.insert(acquisition.token, acquisition);
            }
        }
    }
}

/// Judges each acquisition against the older one with the largest token, which stands for all that are older.
/// `acquisitions` are in order of their decisions.
fn ordered(run: &Run<'_>, acquisitions: &[&Acquisition], bench: &mut Bench) {
    let mut newer: Vec<&Acquisition> = acquisitions
        .iter()
        .copied()
        .filter(|one| one.began.is_some())
        .collect();
    newer.sort_by_key(|acquisition| acquisition.began);
    let mut older = acquisitions.iter().copied().peekable();
    let mut largest: Option<&Acquisition> = None;
    for new in newer {
        while let Some(old) = older.next_if(|old| old.older_than(new)) {
            largest = largest
                .filter(|largest| largest.token >= old.token)
                .or(Some(old));
        }
        if let Some(old) = largest {
            bench.exercised(|| witness(old, new, "a larger token than"));
            // Equal tokens are judged above, ordered or not.
            if old.token > new.token {
                bench.violation(|| {
                    witness(old, new, "a smaller token than").because(token_order(run, old, new))
                });
            }
        }
    }
}

fn witness(old: &Acquisition, new: &Acquisition, compared: &str) -> Witness {
    let token = |acquisition: &Acquisition| acquisition.token.unwrap_or_default();
    let sentence = format!(
        "{} acquired `{}` at {} with token {}: {compared} {}, which acquired it at {} with token {}",
        new.owner.client,
        new.key,
        new.decided.at,
        token(new),
        old.owner.client,
        old.decided.at,
        token(old),
    );
    Witness::new(new.decided, [old.decided.seq], sentence)
}
