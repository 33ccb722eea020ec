//! `deadlock-free`: after the heal and the largest TTL (30 s) nobody waits longer than 20 s for what nobody holds.

use expect_test::expect;
use fencepost_checker::Outcome::{Holds, Vacuous, Violated};
use fencepost_checker::Property::DeadlockFree;

use crate::dsl::{Story, story};

/// All is healed at 10 s, so the window begins at 40 s.
fn healed(then: &str) -> Story {
    story(&format!("10s all heal\n{then}"))
}

#[test]
fn a_wait_within_the_bound_holds_to_the_nanosecond() {
    healed("50s c1 calls 1 acquire\n70s c1 returns 1\n70s c1 acquires until 100s")
        .is(DeadlockFree, Holds);
    let late = "50s c1 calls 1 acquire\n70s+1ns c1 returns 1\n70s+1ns c1 acquires until 100s";
    assert_eq!(healed(late).is(DeadlockFree, Violated).violations, 1);
}

#[test]
fn tries_that_follow_each_other_are_one_wait() {
    let tries = "50s c1 calls 1 acquire\n51s c1 returns 1\n60s c1 calls 2 acquire\n61s c1 returns 2\n70s c1 calls 3 acquire";
    healed(&format!("{tries}\n70s+1ns c1 returns 3")).is(DeadlockFree, Violated);
    healed(&format!("{tries}\n70s c1 returns 3")).is(DeadlockFree, Holds);
    // After a success it is another one.
    let won = tries.replace("\n60s", "\n51s c1 acquires until 51.5s\n60s");
    healed(&format!("{won}\n71s c1 returns 3")).is(DeadlockFree, Holds);
    // Another key or another client has its own.
    let other = tries
        .replace("2 acquire", "2 acquire key=z")
        .replace("70s c1 calls 3", "70s c2 calls 3");
    healed(&format!("{other}\n71s c2 returns 3")).is(DeadlockFree, Holds);
}

#[test]
fn who_stays_away_does_not_wait() {
    healed("50s c1 calls 1 acquire\n51s c1 returns 1\n71s c1 calls 2 acquire\n72s c1 returns 2")
        .is(DeadlockFree, Violated);
    healed(
        "50s c1 calls 1 acquire\n51s c1 returns 1\n71s+1ns c1 calls 2 acquire\n72s c1 returns 2",
    )
    .is(DeadlockFree, Holds);
    // It died and came back.
    healed("50s c1 calls 1 acquire\n55s c1 crashes\n56s c1 starts\n57s c1 calls 2 acquire\n72s c1 returns 2").is(DeadlockFree, Holds);
    // Releases are no waits.
    healed("50s c1 calls 1 release\n90s c1 returns 1").is(DeadlockFree, Vacuous);
}

#[test]
fn only_what_lies_in_the_window_counts() {
    // Waiting since 1 s, but the window begins at 40 s.
    healed("11s c1 calls 1 acquire\n60s c1 returns 1\n60s c1 acquires until 90s")
        .is(DeadlockFree, Holds);
    healed("11s c1 calls 1 acquire\n60s+1ns c1 returns 1\n60s+1ns c1 acquires until 90s")
        .is(DeadlockFree, Violated);
    // All before the window: nothing was judged.
    healed("11s c1 calls 1 acquire\n40s-1ns c1 returns 1").is(DeadlockFree, Vacuous);
    healed("11s c1 calls 1 acquire\n40s c1 returns 1").is(DeadlockFree, Holds);
    // No heal, no window.
    story("50s c1 calls 1 acquire\n99s c1 returns 1").is(DeadlockFree, Vacuous);
}

#[test]
fn time_in_which_somebody_holds_it_does_not_count() {
    let held = "50s c2 begins\n50s c2 acquires until 60s\n50s c1 calls 1 acquire";
    healed(&format!(
        "{held}\n80s c1 returns 1\n80s c1 acquires until 90s"
    ))
    .is(DeadlockFree, Holds);
    healed(&format!(
        "{held}\n80s+1ns c1 returns 1\n80s+1ns c1 acquires until 90s"
    ))
    .is(DeadlockFree, Violated);
    // Held by one after the other: no time on end is too long.
    let two = "50s c1 calls 1 acquire\n65s c2 begins\n65s c2 acquires until 66s\n81s c1 returns 1";
    healed(two).is(DeadlockFree, Holds);
    // A lease on another key is none.
    healed(&two.replace("until 66s", "until 66s key=z")).is(DeadlockFree, Violated);
    // Held all the time: nobody waited for what nobody held.
    healed("50s c2 begins\n50s c2 acquires until 99s\n51s c1 calls 1 acquire\n80s c1 returns 1")
        .is(DeadlockFree, Vacuous);
}

#[test]
fn without_a_majority_nobody_is_judged() {
    let down = "20s n1 crashes\n20s n2 crashes\n20s n3 crashes";
    healed(&format!("{down}\n50s c1 calls 1 acquire\n90s c1 returns 1")).is(DeadlockFree, Vacuous);
    // Two of five may be down.
    healed(&format!(
        "{down}\n30s n1 starts\n50s c1 calls 1 acquire\n90s c1 returns 1"
    ))
    .is(DeadlockFree, Violated);
    // The majority may be another one later.
    healed("20s n1 crashes\n20s n2 crashes\n50s c1 calls 1 acquire\n60s n1 starts\n61s n3 crashes\n90s c1 returns 1")
        .is(DeadlockFree, Violated);
    // The clock of the wait starts again with the majority.
    healed(&format!(
        "{down}\n50s c1 calls 1 acquire\n70s n1 starts\n90s c1 returns 1"
    ))
    .is(DeadlockFree, Holds);
}

#[test]
fn a_caller_that_is_stopped_does_not_wait() {
    healed("50s c1 calls 1 acquire\n55s c1 stops\n75s c1 resumes\n90s c1 returns 1")
        .is(DeadlockFree, Holds);
    healed("50s c1 calls 1 acquire\n55s c2 stops\n75s c2 resumes\n90s c1 returns 1")
        .is(DeadlockFree, Violated);
}

#[test]
fn a_wait_that_goes_on_to_the_end_of_the_run_is_judged_by_it() {
    healed("50s c1 calls 1 acquire\n70s+1ns c2 stops").is(DeadlockFree, Violated);
    // Not long enough to tell.
    healed("50s c1 calls 1 acquire\n70s c2 stops").is(DeadlockFree, Vacuous);
    // It gave up after its last try.
    healed("50s c1 calls 1 acquire\n51s c1 returns 1\n99s c2 stops").is(DeadlockFree, Holds);
}

#[test]
fn the_witness_says_who_waited_and_what_stood_in_the_way() {
    let story = story(
        "1s c1 begins
         1s n1 SET by c1 created
         1s n2 SET by c1 created
         1s n3 SET by c1 created
         1s n4 SET by c3 created expires=900s
         2s c1 crashes
         10s all heal
         50s c2 calls 1 acquire probe=yes
         51s c2 returns 1
         65s c2 calls 2 acquire probe=yes
         75s c2 returns 2",
    );
    let verdict = story.is(DeadlockFree, Violated);
    let shown = format!(
        "{}\n{}",
        verdict.witnesses[0].sentence,
        verdict.witnesses[0].cause.as_ref().unwrap()
    );
    expect![[r#"
        c2 waited for `k` from 50.000 s to 75.000 s, with n1, n2, n3, n4 and n5 reachable, while nobody held it for 25.000 s; the bound is 20.000 s
        the key of c1, which has no expiry, stood at n1, n2 and n3; the key of c3 stood at n4"#]].assert_eq(&shown);
    let held =
        healed("50s c2 calls 1 acquire probe=yes\n51s c2 returns 1\n51s c2 acquires until 70s")
            .is(DeadlockFree, Holds);
    expect!["the probe c2 called acquire of `k` at 50.000 s, after the heal at 10.000 s, and won at 51.000 s"].assert_eq(&held.witnesses[0].sentence);
}
