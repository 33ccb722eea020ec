//! `exclusive-access`: no two clients between `entered` and `left` of a key at once.

use fencepost_checker::Outcome::{Holds, Vacuous, Violated};
use fencepost_checker::Property::{ExclusiveAccess, MutualExclusion};

use crate::dsl::story;

/// c1 enters at 2 s and leaves at 10 s; c2 tries from 3 s on and `then` happens.
fn section(then: &str) -> crate::dsl::Story {
    story(&format!(
        "1s c1 begins\n2s c1 acquires until 30s\n2s c1 enters\n3s c2 begins\n{then}"
    ))
}

#[test]
fn two_clients_inside_break_it() {
    section("5s c2 acquires until 40s\n5s c2 enters\n10s c1 leaves\n11s c2 leaves")
        .is(ExclusiveAccess, Violated);
}

#[test]
fn a_stopped_client_is_inside_though_its_lease_is_over() {
    // The pause of document 000: the algorithm kept its own promise, and both were inside.
    let story = section(
        "3s c1 stops\n31s c2 acquires until 60s\n31s c2 enters\n32s c2 leaves\n38s c1 resumes\n39s c1 leaves",
    );
    story.is(ExclusiveAccess, Violated);
    story.is(MutualExclusion, Holds);
}

#[test]
fn a_client_whose_process_died_is_not_inside() {
    section("4s c1 crashes\n5s c2 acquires until 60s\n5s c2 enters").is(ExclusiveAccess, Holds);
    section("4s c1 crashes\n4s c1 starts\n5s c2 acquires until 60s\n5s c2 enters")
        .is(ExclusiveAccess, Holds);
}

#[test]
fn one_after_the_other_holds() {
    section("10s c1 leaves\n11s c2 acquires until 40s\n11s c2 enters\n12s c2 leaves")
        .is(ExclusiveAccess, Holds);
}

#[test]
fn of_one_instant_the_smaller_number_came_first() {
    section("10s c1 leaves\n10s c2 acquires until 40s\n10s c2 enters").is(ExclusiveAccess, Holds);
    section("10s c2 acquires until 40s\n10s c2 enters\n10s c1 leaves")
        .is(ExclusiveAccess, Violated);
}

#[test]
fn an_attempt_that_is_refused_is_test_enough() {
    section("4s c2 is-refused\n10s c1 leaves").is(ExclusiveAccess, Holds);
}

#[test]
fn it_is_vacuous_where_no_attempt_met_a_section() {
    story("1s c1 begins\n2s c1 acquires until 30s\n2s c1 enters\n3s c1 leaves\n4s c2 begins\n5s c2 acquires until 9s\n5s c2 enters")
        .is(ExclusiveAccess, Vacuous);
    story("1s c1 begins\n2s c1 acquires until 30s\n3s c2 begins\n4s c2 is-refused")
        .is(ExclusiveAccess, Vacuous);
}

#[test]
fn sections_of_two_keys_do_not_meet() {
    story(
        "1s c1 begins key=a
         2s c1 acquires until 30s key=a
         2s c1 enters key=a
         3s c2 begins key=b
         4s c2 acquires until 30s key=b
         4s c2 enters key=b",
    )
    .is(ExclusiveAccess, Vacuous);
}

#[test]
fn a_client_does_not_exclude_itself() {
    // No two clients: c1 twice is one client.
    section("4s c1 begins\n5s c1 acquires until 40s\n5s c1 enters").is(ExclusiveAccess, Holds);
}

#[test]
fn its_own_further_attempt_is_no_test() {
    story("1s c1 begins\n2s c1 acquires until 30s\n2s c1 enters\n3s c1 begins\n4s c1 is-refused\n5s c1 leaves")
        .is(ExclusiveAccess, Vacuous);
}

#[test]
fn three_inside_are_three_pairs() {
    let verdict = section(
        "5s c2 acquires until 40s\n5s c2 enters\n6s c3 begins\n7s c3 acquires until 40s\n7s c3 enters",
    )
    .is(ExclusiveAccess, Violated);
    assert_eq!(verdict.violations, 3);
}
