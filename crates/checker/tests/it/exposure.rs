//! How often a fault struck while somebody held a lock.

use fencepost_checker::exposure::exposure;
use fencepost_checker::run::Run;

use crate::dsl::story;

/// c1 holds from 2 s to 10 s. How many faults of the family took effect, and how many of them within the lease.
#[track_caller]
fn strikes(text: &str, family: &str, expected: (u64, u64)) {
    let story = story(&format!(
        "1s c1 begins\n2s c1 acquires until 10s\n{text}\n60s c2 waits"
    ));
    let families = exposure(&Run::of(&story.history));
    let found = families.get(family).copied().unwrap_or_default();
    assert_eq!((found.fired, found.overlapped), expected, "{families:?}");
}

#[test]
fn a_fault_that_never_came() {
    strikes("", "pause", (0, 0));
}

#[test]
fn a_moment_is_within_the_lease_or_not() {
    strikes("5s n1 suffers clock-step", "clock-step", (1, 1));
    strikes("10s n1 suffers clock-step", "clock-step", (1, 0));
    strikes(
        "5s n1 suffers evict fault=0\n20s n1 suffers evict fault=1",
        "evict",
        (2, 1),
    );
}

#[test]
fn what_lasts_need_not_begin_within_the_lease() {
    let crash = |from, to| format!("{from} n1 suffers crash\n{to} n1 recovers");
    strikes(&crash("5s", "20s"), "crash", (1, 1));
    strikes(&crash("10s", "20s"), "crash", (1, 0));
    // It is in force from its beginning to its end, to the heal, or to the end of the run.
    let before = |then: &str| {
        format!("11s n1 suffers crash\n{then}\n20s c2 begins\n21s c2 acquires until 30s")
    };
    strikes(&before("15s n1 recovers"), "crash", (1, 0));
    strikes(&before("15s c2 heal"), "crash", (1, 0));
    strikes(&before(""), "crash", (1, 1));
}

#[test]
fn a_client_is_hit_in_its_own_lease() {
    strikes("5s c1 suffers pause", "pause", (1, 1));
    strikes("5s c2 suffers pause", "pause", (1, 0));
    // A link has a node at its other end.
    strikes("5s c2 suffers partition with=n1", "partition", (1, 1));
}
