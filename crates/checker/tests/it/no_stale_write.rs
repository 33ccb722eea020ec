//! `no-stale-write`: no write of A is applied after one of a B that A is older than.

use fencepost_checker::Outcome::{Holds, Vacuous, Violated};
use fencepost_checker::Property::NoStaleWrite;

use fencepost_checker::run::Run;

use crate::dsl::{Story, story};

/// c1 acquires at 2 s and c2 begins at 31 s, so c1's acquisition is the older one. Then `then`.
fn old_and_new(then: &str) -> Story {
    story(&format!(
        "1s c1 begins\n2s c1 acquires until 30s\n31s c2 begins\n32s c2 acquires until 60s\n{then}"
    ))
}

#[test]
fn a_write_of_the_old_holder_after_one_of_the_new_breaks_it() {
    let verdict = old_and_new("33s db writes c2\n36s db writes c1").is(NoStaleWrite, Violated);
    assert_eq!(verdict.violations, 1);
}

#[test]
fn in_order_nothing_is_tested() {
    // Vacuous unless an operation of the older reached the resource after one of the newer.
    old_and_new("33s db writes c1\n36s db writes c2").is(NoStaleWrite, Vacuous);
}

#[test]
fn a_refused_write_holds() {
    old_and_new("33s db writes c2 token=34\n36s db refuses c1 token=33").is(NoStaleWrite, Holds);
}

#[test]
fn a_late_read_is_a_test_and_no_write() {
    old_and_new("33s db writes c2\n36s db reads c1").is(NoStaleWrite, Holds);
}

#[test]
fn a_write_after_a_read_of_the_new_holder_is_not_stale() {
    // The resource has applied no *write* of the newer one yet. It is a test all the same.
    old_and_new("33s db reads c2\n36s db writes c1").is(NoStaleWrite, Holds);
}

#[test]
fn of_one_instant_the_smaller_number_came_first() {
    old_and_new("33s db writes c2\n33s db writes c1").is(NoStaleWrite, Violated);
    old_and_new("33s db writes c1\n33s db writes c2").is(NoStaleWrite, Vacuous);
}

#[test]
fn where_neither_is_older_the_order_says_nothing() {
    // c2's first clock reading at 1 s precedes c1's decision at 2 s, though it decides later.
    story("1s c1 begins\n1s c2 begins\n2s c1 acquires until 30s\n3s c2 acquires until 30s\n4s db writes c2\n5s db writes c1")
        .is(NoStaleWrite, Vacuous);
}

#[test]
fn older_means_before_the_first_clock_reading_to_the_number() {
    // In one instant: decision, then first reading. c1 is older.
    let older = "1s c1 begins\n2s c1 acquires until 30s\n2s c2 begins\n3s c2 acquires until 30s\n4s db writes c2\n5s db writes c1";
    story(older).is(NoStaleWrite, Violated);
    // First reading, then decision: neither is.
    let neither = "1s c1 begins\n2s c2 begins\n2s c1 acquires until 30s\n3s c2 acquires until 30s\n4s db writes c2\n5s db writes c1";
    story(neither).is(NoStaleWrite, Vacuous);
}

#[test]
fn an_extension_does_not_make_an_acquisition_younger() {
    old_and_new("33s db writes c2\n34s c1 extends until 90s\n36s db writes c1")
        .is(NoStaleWrite, Violated);
}

#[test]
fn keys_and_resources_are_apart() {
    old_and_new("33s db writes c2\n36s db2 writes c1").is(NoStaleWrite, Vacuous);
    story(
        "1s  c1 begins key=a
         2s  c1 acquires until 30s key=a
         31s c2 begins key=b
         32s c2 acquires until 60s key=b
         33s db writes c2 key=b
         36s db writes c1 key=a",
    )
    .is(NoStaleWrite, Vacuous);
}

#[test]
fn a_client_can_be_overtaken_by_itself() {
    // A is an acquisition, not a client: attempt 1 writes after attempt 2.
    story(
        "1s  c1 begins
         2s  c1 acquires until 30s
         31s c1 begins
         32s c1 acquires until 60s
         33s db writes c1 attempt=2
         36s db writes c1 attempt=1",
    )
    .is(NoStaleWrite, Violated);
}

#[test]
fn the_newer_write_may_lie_far_back_behind_those_of_others() {
    // c3's attempt began before c1 decided, so c1 is older than c2 alone.
    story(
        "1s  c3 begins
         1s  c1 begins
         2s  c1 acquires until 30s
         31s c2 begins
         32s c2 acquires until 60s
         33s db writes c2
         34s c3 acquires until 90s
         35s db writes c3
         36s db writes c1",
    )
    .is(NoStaleWrite, Violated);
}

#[test]
fn every_stale_write_counts() {
    let verdict = old_and_new("33s db writes c2\n36s db writes c1\n37s db writes c1")
        .is(NoStaleWrite, Violated);
    assert_eq!(verdict.violations, 2);
}

#[test]
fn who_won_nothing_is_not_judged() {
    // c1's attempt was refused: it is no acquisition, hence older than nobody.
    story("1s c1 begins\n2s c1 is-refused\n31s c2 begins\n32s c2 acquires until 60s\n33s db writes c2\n36s db writes c1")
        .is(NoStaleWrite, Vacuous);
}

#[test]
fn acquisitions_of_two_keys_have_no_age() {
    let story = story(
        "1s c1 begins key=a\n2s c1 acquires until 9s key=a\n3s c2 begins key=b\n4s c2 acquires until 9s key=b\n5s c3 begins key=b\n6s c3 acquires until 9s key=b",
    );
    let run = Run::of(&story.history);
    let won: Vec<_> = run.acquisitions.won().collect();
    assert!(!won[0].older_than(won[1]) && !won[0].older_than(won[2]) && won[1].older_than(won[2]));
}
