//! `owner-only-release`: no command of a client changes a live key that another acquisition created.

use fencepost_checker::Outcome::{Holds, Vacuous, Violated};
use fencepost_checker::Property::OwnerOnlyRelease;

use crate::dsl::{Story, story};

/// c2's key stands at n1, and one more command comes.
fn key_of_c2(then: &str) -> Story {
    story(&format!(
        "1s c2 begins\n1s n1 SET by c2 created expires=31s\n{then}"
    ))
}

#[test]
fn each_way_to_change_a_foreign_key_breaks_it() {
    key_of_c2("2s n1 DEL by c1 deleted of=c2").is(OwnerOnlyRelease, Violated);
    key_of_c2("2s n1 SET by c1 overwritten of=c2").is(OwnerOnlyRelease, Violated);
    key_of_c2("2s n1 EVALSHA by c1 expiry-changed of=c2").is(OwnerOnlyRelease, Violated);
}

#[test]
fn a_release_that_leaves_a_foreign_key_alone_holds() {
    key_of_c2("2s n1 EVALSHA by c1 refused of=c2").is(OwnerOnlyRelease, Holds);
}

#[test]
fn its_own_key_it_may_change() {
    key_of_c2("2s n1 EVALSHA by c2 expiry-changed of=c2\n3s n1 EVALSHA by c2 deleted of=c2")
        .is(OwnerOnlyRelease, Vacuous);
}

#[test]
fn an_attempt_to_acquire_is_no_release() {
    // SET NX met a foreign key and was refused: neither a release nor a renewal.
    key_of_c2("2s n1 SET by c1 refused of=c2").is(OwnerOnlyRelease, Vacuous);
}

#[test]
fn within_a_release_a_look_at_the_key_meets_it() {
    // GET, then DEL if the value is one's own: here it was not, and the key is left alone.
    key_of_c2("2s c1 calls 1 release\n3s n1 GET by c1 read of=c2\n4s c1 returns 1")
        .is(OwnerOnlyRelease, Holds);
    // Outside of a release, or in one of another key, a look is a look.
    key_of_c2("2s c1 calls 1 release\n3s c1 returns 1\n4s n1 GET by c1 read of=c2")
        .is(OwnerOnlyRelease, Vacuous);
    key_of_c2("2s c1 calls 1 release key=z\n3s n1 GET by c1 read of=c2")
        .is(OwnerOnlyRelease, Vacuous);
    key_of_c2("2s c1 calls 1 acquire\n3s n1 GET by c1 read of=c2").is(OwnerOnlyRelease, Vacuous);
}

#[test]
fn the_nodes_own_expiry_is_nobodys_release() {
    key_of_c2("31s n1 - expired of=c2").is(OwnerOnlyRelease, Vacuous);
    key_of_c2("5s n1 - deleted of=c2").is(OwnerOnlyRelease, Vacuous);
}

#[test]
fn what_is_not_there_cannot_be_foreign() {
    key_of_c2("32s n1 EVALSHA by c1 missing").is(OwnerOnlyRelease, Vacuous);
}

#[test]
fn commands_of_hosts_that_are_no_clients_are_not_judged() {
    key_of_c2("2s n1 DEL by n2 deleted of=c2").is(OwnerOnlyRelease, Vacuous);
}

#[test]
fn a_creator_that_nobody_knows_is_not_judged() {
    key_of_c2("2s n1 DEL by c1 deleted").is(OwnerOnlyRelease, Vacuous);
}

#[test]
fn every_node_counts() {
    let verdict = key_of_c2("2s n1 DEL by c1 deleted of=c2\n2s n2 DEL by c1 deleted of=c2")
        .is(OwnerOnlyRelease, Violated);
    assert_eq!(verdict.violations, 2);
}

#[test]
fn a_counter_of_tokens_is_no_lock_and_everybodys() {
    key_of_c2(
        "2s n1 INCR by c2 created key=k:token\n3s n1 INCR by c1 overwritten of=c2 key=k:token",
    )
    .is(OwnerOnlyRelease, Vacuous);
}
