//! `bounded-call`: every call answers within the bound, which is 10 s in a story.

use fencepost_checker::Outcome::{Holds, Vacuous, Violated};
use fencepost_checker::Property::BoundedCall;

use crate::dsl::story;

#[test]
fn within_the_bound_holds_to_the_nanosecond() {
    story("1s c1 calls 1 acquire\n11s c1 returns 1").is(BoundedCall, Holds);
    story("1s c1 calls 1 acquire\n11s+1ns c1 returns 1").is(BoundedCall, Violated);
}

#[test]
fn time_in_which_the_caller_was_stopped_does_not_count() {
    // 45 s in all, 35 s of them stopped.
    story("1s c1 calls 1 acquire\n2s c1 stops\n37s c1 resumes\n46s c1 returns 1")
        .is(BoundedCall, Holds);
    story("1s c1 calls 1 acquire\n2s c1 stops\n37s c1 resumes\n46s+1ns c1 returns 1")
        .is(BoundedCall, Violated);
    // Only what lies within the call: stopped from 0 s to 4 s, but called at 1 s.
    story("0s c1 stops\n1s c1 calls 1 acquire\n4s c1 resumes\n14s c1 returns 1")
        .is(BoundedCall, Holds);
    story("0s c1 stops\n1s c1 calls 1 acquire\n4s c1 resumes\n14s+1ns c1 returns 1")
        .is(BoundedCall, Violated);
    // A stop of another host does not excuse.
    story("1s c1 calls 1 acquire\n2s c2 stops\n37s c2 resumes\n46s c1 returns 1")
        .is(BoundedCall, Violated);
}

#[test]
fn a_call_that_never_returns_is_judged_by_the_end_of_the_run() {
    story("1s c1 calls 1 acquire\n11s+1ns c1 waits\n11s+1ns c2 stops").is(BoundedCall, Violated);
    // Within the bound it is not judged, so nothing was.
    story("1s c1 calls 1 acquire\n11s c2 stops").is(BoundedCall, Vacuous);
    // Stopped to the end: it never had the time.
    story("1s c1 calls 1 acquire\n2s c1 stops\n90s c2 stops").is(BoundedCall, Vacuous);
}

#[test]
fn a_call_whose_process_dies_is_not_judged() {
    story("1s c1 calls 1 acquire\n50s c1 crashes\n60s c1 starts").is(BoundedCall, Vacuous);
    // Another client's death is no excuse.
    story("1s c1 calls 1 acquire\n5s c2 crashes\n60s c2 starts").is(BoundedCall, Violated);
}

#[test]
fn calls_of_two_clients_may_have_one_number() {
    story("1s c1 calls 1 acquire\n2s c2 calls 1 acquire\n3s c2 returns 1\n30s c1 returns 1")
        .is(BoundedCall, Violated);
}

#[test]
fn every_kind_of_call_is_judged() {
    for operation in ["acquire", "extend", "release"] {
        story(&format!("1s c1 calls 1 {operation}\n30s c1 returns 1")).is(BoundedCall, Violated);
    }
}

#[test]
fn without_a_call_it_is_vacuous() {
    story("1s c1 begins\n2s c1 acquires until 30s").is(BoundedCall, Vacuous);
}
