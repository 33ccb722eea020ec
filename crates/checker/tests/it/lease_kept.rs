//! `lease-kept`: nobody is told "lost" while a majority was reachable all along.

use expect_test::{Expect, expect};
use fencepost_checker::Outcome::{Holds, Vacuous, Violated};
use fencepost_checker::Property::LeaseKept;

use crate::dsl::{Story, story};

/// c1 holds from 2 s, renews at 10 s until 40 s, and is told at 25 s that it has lost; `then` in between.
fn lost(then: &str) -> Story {
    story(&format!(
        "1s c1 begins\n2s c1 acquires until 30s\n10s c1 extends until 40s\n{then}\n25s c1 loses"
    ))
}

#[test]
fn a_lease_that_goes_on_holds() {
    story("1s c1 begins\n2s c1 acquires until 30s\n10s c1 extends until 40s\n11s c1 releases")
        .is(LeaseKept, Holds);
    // A call to renew is enough, whatever comes of it.
    story("1s c1 begins\n2s c1 acquires until 30s\n10s c1 calls 1 extend\n11s c1 returns 1")
        .is(LeaseKept, Holds);
}

#[test]
fn a_loss_with_all_nodes_reachable_breaks_it() {
    assert_eq!(lost("").is(LeaseKept, Violated).violations, 1);
    story("1s c1 begins\n2s c1 acquires until 30s\n10s c1 calls 1 extend\n25s c1 loses")
        .is(LeaseKept, Violated);
}

#[test]
fn without_a_renewal_it_is_vacuous() {
    story("1s c1 begins\n2s c1 acquires until 30s\n25s c1 loses").is(LeaseKept, Vacuous);
    story("1s c1 begins\n2s c1 acquires until 30s\n10s c1 calls 1 release\n11s c1 returns 1")
        .is(LeaseKept, Vacuous);
}

#[test]
fn a_loss_without_a_majority_is_nobodys_fault() {
    let cut = "12s n1 crashes\n12s c1 cut-from n2\n12s n3 stops";
    lost(cut).is(LeaseKept, Holds);
    // For however short.
    lost(&format!("{cut}\n12s n1 starts")).is(LeaseKept, Holds);
    lost("12s n1 crashes\n12s c1 cut-from n2").is(LeaseKept, Violated);
    // Before the latest decision it does not matter.
    let before = "1s c1 begins\n2s c1 acquires until 30s\n3s n1 crashes\n3s n2 crashes\n3s n3 crashes\n4s n3 starts";
    story(&format!("{before}\n10s c1 extends until 40s\n25s c1 loses")).is(LeaseKept, Violated);
    story(&format!("{before}\n5s c1 calls 1 extend\n25s c1 loses")).is(LeaseKept, Holds);
}

#[test]
fn nodes_that_take_turns_are_no_majority() {
    lost("12s n1 crashes\n12s n2 crashes\n13s n1 starts\n13s n3 crashes").is(LeaseKept, Holds);
}

#[test]
fn a_holder_that_was_stopped_for_too_long_could_not_renew() {
    let stopped = |resumes: &str, deadline: &str| {
        let text = format!(
            "1s c1 begins\n2s c1 acquires until 30s\n10s c1 extends until {deadline}\n12s c1 stops\n{resumes} c1 resumes"
        );
        story(&format!("{text}\n60s c1 loses"))
    };
    stopped("36s", "36s").is(LeaseKept, Holds);
    stopped("36s-1ns", "36s").is(LeaseKept, Violated);
    // No key lives longer than 30 s, whatever the holder's clock says.
    stopped("40s", "90s").is(LeaseKept, Holds);
    stopped("40s-1ns", "90s").is(LeaseKept, Violated);
    // Somebody else's stop, or one from before, is no reason.
    lost("12s c2 stops").is(LeaseKept, Violated);
    story("1s c1 begins\n2s c1 acquires until 30s\n3s c1 stops\n9s c1 resumes\n10s c1 extends until 11s\n25s c1 loses").is(LeaseKept, Violated);
    lost("12s c1 stops").is(LeaseKept, Holds);
}

#[test]
fn who_never_held_loses_nothing() {
    story("1s c2 begins\n2s c2 acquires until 30s\n3s c2 extends until 30s\n4s c1 begins\n5s c1 loses").is(LeaseKept, Holds);
    lost("").is(LeaseKept, Violated);
    story("1s c1 begins\n2s c1 acquires until 30s\n3s c1 extends until 30s\n5s c1 loses key=z")
        .is(LeaseKept, Holds);
}

#[track_caller]
fn cause(then: &str, expected: Expect) {
    expected.assert_eq(&lost(then).cause(LeaseKept));
}

#[test]
fn the_cause_says_what_became_of_the_keys() {
    let keys = "10s n1 SET by c1 created expires=40s\n10s n2 SET by c1 created expires=40s\n10s n3 SET by c1 created expires=40s";
    cause(
        &format!(
            "{keys}\n12s n1 evict evicted of=c1\n13s n2 DEL by c2 deleted of=c1\n14s n3 FLUSHALL deleted of=c1"
        ),
        expect![
            "its key was evicted at n1; c2 removed its key at n2; an operator removed its key at n3"
        ],
    );
    cause(
        &format!(
            "{keys}\n12s n1 clock steps +60s\n12s n2 crashes\n13s n2 starts\n14s n2 GET by c1 missing"
        ),
        expect!["its key ran out at n1; its key was lost at n2"],
    );
    expect!["c1 was told at 25.000 s that it had lost `k`, which was extended at 10.000 s, although n1, n2, n3, n4 and n5 could be reached all along"].assert_eq(&lost("").is(LeaseKept, Violated).witnesses[0].sentence);
    let late = "1s c1 begins\n2s c1 acquires until 30s\n10s c1 calls 1 extend\n30s c1 loses";
    expect!["no renewal had been counted when its deadline came at 30.000 s"]
        .assert_eq(&story(late).cause(LeaseKept));
}
