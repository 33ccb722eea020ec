//! `mutual-exclusion`: no decision of one owner inside a lease of another on the same key.

use fencepost_checker::Outcome::{Holds, Vacuous, Violated};
use fencepost_checker::Property::{MutualExclusion, NotBornExpired};

use crate::dsl::story;

#[test]
fn a_decision_inside_the_lease_of_another_breaks_it() {
    let story = story(
        "1s   c1 begins
         2s   c1 acquires until 30s
         3s   c2 begins
         4s   c2 acquires until 34s",
    );
    let verdict = story.is(MutualExclusion, Violated);
    // One decision fell into one lease: c1's lies before c2's lease.
    assert_eq!(verdict.violations, 1);
    let seqs: Vec<u64> = story
        .history
        .events
        .iter()
        .rev()
        .skip(1)
        .step_by(2)
        .take(2)
        .map(|event| event.seq)
        .collect();
    assert_eq!(verdict.witnesses[0].events, [seqs[1], seqs[0]]);
}

#[test]
fn a_refused_attempt_during_a_lease_is_what_it_is_for() {
    story(
        "1s   c1 begins
         2s   c1 acquires until 30s
         3s   c2 begins
         4s   c2 is-refused
         5s   c1 releases",
    )
    .is(MutualExclusion, Holds);
}

#[test]
fn one_client_alone_tests_nothing() {
    // Vacuous unless an attempt of one client overlapped a lease of another: c1's own lease is none of another.
    story(
        "1s   c1 begins
         2s   c1 acquires until 30s
         3s   c1 releases
         4s   c1 begins
         5s   c1 acquires until 34s",
    )
    .is(MutualExclusion, Vacuous);
}

#[test]
fn a_client_does_not_contend_with_itself() {
    // Its second attempt overlaps its own lease, and that is none of another client.
    story("1s c1 begins\n2s c1 acquires until 30s\n3s c1 begins\n4s c1 is-refused")
        .is(MutualExclusion, Vacuous);
}

#[test]
fn one_after_the_other_tests_nothing() {
    story(
        "1s   c1 begins
         2s   c1 acquires until 30s
         3s   c1 releases
         4s   c2 begins
         5s   c2 acquires until 34s",
    )
    .is(MutualExclusion, Vacuous);
}

#[test]
fn nobody_at_all_tests_nothing() {
    let verdict = story("1s c1 waits").is(MutualExclusion, Vacuous);
    assert!(
        verdict
            .vacuous_because
            .unwrap()
            .contains("no attempt of one client overlapped a lease")
    );
}

#[test]
fn two_keys_do_not_exclude_each_other() {
    // Neither a violation nor a test: lease and attempt are of different keys.
    story(
        "1s   c1 begins key=a
         2s   c1 acquires until 30s key=a
         3s   c2 begins key=b
         4s   c2 acquires until 34s key=b",
    )
    .is(MutualExclusion, Vacuous);
}

#[test]
fn a_client_that_acquires_again_is_another_owner() {
    // The old value still stands for a lease of the first attempt: two owners, though one client.
    let verdict = story(
        "1s   c1 begins
         2s   c1 acquires until 30s
         3s   c1 begins
         4s   c1 acquires until 34s",
    )
    .is(MutualExclusion, Violated);
    assert!(verdict.witnesses[0].sentence.contains("c1 (attempt 2)"));
}

#[test]
fn in_the_instant_of_its_deadline_nobody_is_inside() {
    // Half-open: the deadline 30 s is reached at 30 s.
    let second_at = |at: &str| {
        story(&format!(
            "1s   c1 begins
             2s   c1 acquires until 30s
             3s   c2 begins
             {at} c2 acquires until 60s"
        ))
    };
    second_at("30s-1ns").is(MutualExclusion, Violated);
    second_at("30s").is(MutualExclusion, Holds);
}

#[test]
fn of_one_instant_the_smaller_number_came_first() {
    let released_then_acquired = "1s c1 begins
         2s   c1 acquires until 30s
         3s   c2 begins
         4s   c1 releases
         4s   c2 acquires until 34s";
    story(released_then_acquired).is(MutualExclusion, Holds);
    let acquired_then_released = "1s c1 begins
         2s   c1 acquires until 30s
         3s   c2 begins
         4s   c2 acquires until 34s
         4s   c1 releases";
    story(acquired_then_released).is(MutualExclusion, Violated);
}

#[test]
fn two_decisions_of_one_instant_collide() {
    // The first of them opened a lease, and the second falls inside. The first does not fall into the second's.
    let verdict = story(
        "1s   c1 begins
         1s   c2 begins
         2s   c1 acquires until 30s
         2s   c2 acquires until 30s",
    )
    .is(MutualExclusion, Violated);
    assert_eq!(verdict.violations, 1);
}

#[test]
fn the_deadline_goes_by_true_time_and_not_by_what_a_stopped_client_does() {
    // c1 is stopped at its deadline and says nothing; its lease is over all the same.
    story(
        "1s   c1 begins
         2s   c1 acquires until 30s
         3s   c1 stops
         4s   c2 begins
         31s  c2 acquires until 60s
         38s  c1 resumes
         39s  c1 loses",
    )
    .is(MutualExclusion, Holds);
    // And the other way round: a stopped holder holds until its deadline.
    story(
        "1s   c1 begins
         2s   c1 acquires until 30s
         3s   c1 stops
         4s   c2 begins
         29s  c2 acquires until 60s
         38s  c1 resumes",
    )
    .is(MutualExclusion, Violated);
}

#[test]
fn a_decision_past_its_own_deadline_is_judged_though_it_opens_no_lease() {
    let late = "1s c1 begins
         2s   c2 begins
         3s   c2 acquires until 60s
         40s  c1 acquires until 29s";
    // c1's decision falls into c2's lease.
    let verdict = story(late).is(MutualExclusion, Violated);
    assert_eq!(verdict.violations, 1);
    story(late).is(NotBornExpired, Violated);
}

#[test]
fn a_decision_past_its_own_deadline_opens_no_lease() {
    // c2's decision comes after c1's, but c1 holds nothing.
    let story = story(
        "1s   c1 begins
         2s   c2 begins
         40s  c1 acquires until 29s
         41s  c2 acquires until 60s",
    );
    story.is(MutualExclusion, Vacuous);
}

#[test]
fn an_extension_inside_the_lease_of_another_breaks_it() {
    story(
        "1s   c1 begins
         2s   c1 acquires until 30s
         31s  c2 begins
         32s  c2 acquires until 60s
         40s  c1 extends until 70s",
    )
    .is(MutualExclusion, Violated);
}

#[test]
fn every_violation_is_counted_and_ten_are_shown() {
    let mut text =
        "1s c1 begins\n2s c1 acquires for-ever\n3s c2 begins\n4s c2 acquires for-ever\n".to_owned();
    for second in 5..20 {
        text.push_str(&format!("{second}s c2 extends for-ever\n"));
    }
    let verdict = story(&text).is(MutualExclusion, Violated);
    // c2's acquired and its 15 extensions fall into the lease of c1.
    assert_eq!((verdict.violations, verdict.witnesses.len()), (16, 10));
}

#[test]
fn the_attempt_that_overlaps_may_have_begun_before_the_lease_or_never_end() {
    story(
        "1s   c2 begins
         2s   c1 begins
         3s   c1 acquires until 30s",
    )
    .is(MutualExclusion, Holds);
    // Its interval ends with the death of its process: before the lease, here.
    story(
        "1s   c2 begins
         2s   c1 begins
         2s   c2 crashes
         3s   c1 acquires until 30s",
    )
    .is(MutualExclusion, Vacuous);
    // And with its refusal.
    story(
        "1s   c2 begins
         2s   c1 begins
         2s   c2 is-refused
         3s   c1 acquires until 30s",
    )
    .is(MutualExclusion, Vacuous);
}
