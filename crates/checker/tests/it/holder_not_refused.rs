//! `holder-not-refused`: a refusal needs a registered acquisition that is not older than the refused one.

use fencepost_checker::Outcome::{Holds, Vacuous, Violated};
use fencepost_checker::Property::HolderNotRefused;

use crate::dsl::{Story, story};

/// c1 acquires at 2 s, c2 begins at 31 s and acquires at 32 s. Then `then`.
fn old_and_new(then: &str) -> Story {
    story(&format!(
        "1s c1 begins\n2s c1 acquires until 30s token=33\n31s c2 begins\n32s c2 acquires until 60s token=34\n{then}"
    ))
}

#[test]
fn an_older_one_may_be_refused() {
    old_and_new(
        "33s db registers c2 token=34\n33s db writes c2 token=34\n36s db refuses c1 token=33",
    )
    .is(HolderNotRefused, Holds);
}

#[test]
fn its_own_registration_does_not_excuse() {
    // `last_fencing_token < n` refuses the holder's own second write (000).
    let own = "33s db registers c2 token=34\n33s db writes c2 token=34\n34s db refuses c2 token=34";
    let story = old_and_new(own);
    let verdict = story.is(HolderNotRefused, Violated);
    assert_eq!(verdict.violations, 1);
    assert!(
        verdict.witnesses[0]
            .cause
            .as_ref()
            .unwrap()
            .contains("this acquisition of c2 itself")
    );
}

#[test]
fn the_registration_of_an_older_one_does_not_excuse() {
    // Tokens that fell: the newer acquisition is refused because of the older one.
    old_and_new("3s+1ns c3 waits\n33s db registers c1 token=50\n34s db refuses c2 token=34")
        .is(HolderNotRefused, Violated);
}

#[test]
fn one_that_is_not_ordered_does_excuse() {
    // c2 had begun when c1 decided: not older, so c1's registration excuses the refusal of c2.
    story(
        "1s c1 begins
         1s c2 begins
         2s c1 acquires until 30s token=34
         3s c2 acquires until 30s token=33
         4s db registers c1 token=34
         5s db refuses c2 token=33",
    )
    .is(HolderNotRefused, Holds);
}

#[test]
fn only_what_was_registered_before_excuses() {
    old_and_new("33s db refuses c1 token=33\n33s db registers c2 token=34")
        .is(HolderNotRefused, Violated);
    old_and_new("33s db registers c2 token=34\n33s db refuses c1 token=33")
        .is(HolderNotRefused, Vacuous);
}

#[test]
fn only_at_the_same_resource_and_key() {
    old_and_new("33s db2 registers c2 token=34\n34s db refuses c1 token=33")
        .is(HolderNotRefused, Violated);
}

#[test]
fn a_registration_of_an_attempt_that_won_nothing_is_older_than_nobody() {
    old_and_new("33s c3 begins\n34s c3 is-refused\n35s db registers c3 token=35\n36s db refuses c2 token=34").is(HolderNotRefused, Holds);
}

#[test]
fn it_is_vacuous_where_no_newest_acquisition_meets_a_check() {
    // A resource that neither registers nor refuses does not check, whatever clients send.
    old_and_new("33s db writes c2 token=34\n36s db writes c1 token=33")
        .is(HolderNotRefused, Vacuous);
    // The check met an older one only.
    old_and_new("33s db registers c1 token=33\n33s db writes c1 token=33")
        .is(HolderNotRefused, Vacuous);
    // A resource that checks, and an operation without a token.
    old_and_new("33s db registers c1 token=33\n33s db writes c2").is(HolderNotRefused, Vacuous);
    // The check is another resource's.
    old_and_new("33s db2 registers c1 token=33\n33s db writes c2 token=34")
        .is(HolderNotRefused, Vacuous);
}

#[test]
fn the_newest_is_the_newest_at_that_time() {
    // c1 met the check when no acquisition was newer; that c2 came later does not matter.
    story(
        "1s c1 begins
         2s c1 acquires until 30s token=33
         3s db registers c1 token=33
         3s db reads c1 token=33
         31s c2 begins
         32s c2 acquires until 60s token=34",
    )
    .is(HolderNotRefused, Holds);
}
