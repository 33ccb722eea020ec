//! `every-key-expires`: no lock key outlives the client that created it without a TTL.

use expect_test::expect;
use fencepost_checker::Outcome::{Holds, Vacuous, Violated};
use fencepost_checker::Property::EveryKeyExpires;

use crate::dsl::{Story, story};

/// c1 sets a key without an expiry at 1 s; then `then`.
fn immortal(then: &str) -> Story {
    story(&format!("1s c1 begins\n1s n1 SETNX by c1 created\n{then}"))
}

#[test]
fn a_client_that_dies_before_it_set_an_expiry_breaks_it() {
    assert_eq!(
        immortal("2s c1 crashes")
            .is(EveryKeyExpires, Violated)
            .violations,
        1
    );
    immortal("2s n1 PEXPIRE by c1 expiry-changed of=c1 expires=31s\n3s c1 crashes")
        .is(EveryKeyExpires, Holds);
    immortal("2s n1 DEL by c1 deleted of=c1\n3s c1 crashes").is(EveryKeyExpires, Holds);
    immortal("2s c2 crashes").is(EveryKeyExpires, Holds);
}

#[test]
fn a_program_that_ends_ends_its_client() {
    immortal("2s c1 finishes").is(EveryKeyExpires, Violated);
    immortal("2s n1 DEL by c1 deleted of=c1\n2s c1 finishes").is(EveryKeyExpires, Holds);
    // One key outlives its creator once, however often that ends.
    assert_eq!(
        immortal("2s c1 crashes\n3s c1 starts\n4s c1 finishes")
            .is(EveryKeyExpires, Violated)
            .violations,
        1
    );
}

#[test]
fn a_key_with_an_expiry_may_outlive_anybody() {
    story("1s c1 begins\n1s n1 SET by c1 created expires=99s\n2s c1 crashes")
        .is(EveryKeyExpires, Holds);
    // Until somebody takes it away.
    story("1s c1 begins\n1s n1 SET by c1 created expires=99s\n2s n1 PERSIST by c1 expiry-changed of=c1\n3s c1 crashes").is(EveryKeyExpires, Violated);
    story("1s c1 begins\n1s n1 SET by c1 created expires=99s\n2s n1 SET by c1 overwritten of=c1\n3s c1 crashes").is(EveryKeyExpires, Violated);
}

#[test]
fn what_was_sent_before_the_end_may_still_arrive() {
    immortal("2s c1 crashes\n2.1s n1 PEXPIRE by c1 expiry-changed of=c1 expires=31s")
        .is(EveryKeyExpires, Holds);
    immortal("2s c1 finishes\n2.1s n1 DEL by c1 deleted of=c1").is(EveryKeyExpires, Holds);
    // What somebody else does later comes too late.
    immortal("2s c1 crashes\n2.1s n1 PEXPIRE by c2 expiry-changed of=c1 expires=31s")
        .is(EveryKeyExpires, Violated);
    immortal("2s c1 crashes\n9s n1 DEL by c2 deleted of=c1").is(EveryKeyExpires, Violated);
    immortal("2s c1 crashes\n9s n1 FLUSHALL deleted of=c1").is(EveryKeyExpires, Violated);
    // So does what its next process does.
    immortal("2s c1 crashes\n3s c1 starts\n9s n1 DEL by c1 deleted of=c1")
        .is(EveryKeyExpires, Violated);
    immortal("2s c1 crashes\n3s c1 starts\n9s n1 PEXPIRE by c1 expiry-changed of=c1 expires=31s")
        .is(EveryKeyExpires, Violated);
    // The key itself may be what was on its way.
    story("1s c1 begins\n2s c1 crashes\n2.1s n1 SETNX by c1 created").is(EveryKeyExpires, Violated);
    story("1s c1 begins\n2s c1 crashes\n3s c1 starts\n4s n1 SETNX by c1 created")
        .is(EveryKeyExpires, Holds);
}

#[test]
fn a_key_that_the_node_may_have_lost_is_not_judged() {
    immortal("2s n1 crashes\n3s c1 crashes").is(EveryKeyExpires, Holds);
    immortal("2s n1 crashes\n3s c1 crashes\n4s n1 starts\n5s n1 SET by c2 created expires=9s")
        .is(EveryKeyExpires, Holds);
    // It had it still.
    immortal("2s n1 crashes\n3s c1 crashes\n4s n1 starts\n5s n1 SET by c2 refused of=c1")
        .is(EveryKeyExpires, Violated);
    // Another node's crash, or one afterwards.
    immortal("2s n2 crashes\n3s c1 crashes").is(EveryKeyExpires, Violated);
    immortal("2s c1 crashes\n3s n1 crashes").is(EveryKeyExpires, Violated);
}

#[test]
fn each_node_counts() {
    let both = "1s c1 begins\n1s n1 SETNX by c1 created\n1s n2 SETNX by c1 created\n2s c1 crashes";
    assert_eq!(story(both).is(EveryKeyExpires, Violated).violations, 2);
}

#[test]
fn only_keys_of_locks_and_of_clients_count() {
    // A counter of tokens lives for ever, and rightly so.
    story("1s c1 begins\n1s n1 INCR by c1 created key=tokens\n2s c1 crashes")
        .is(EveryKeyExpires, Vacuous);
    story("1s c1 begins\n1s n1 SET created\n2s c1 crashes").is(EveryKeyExpires, Vacuous);
    story("1s c1 begins\n1s n1 GET by c1 missing\n2s c1 crashes").is(EveryKeyExpires, Vacuous);
    // A key of which only a refusal tells: nobody knows how long it lives.
    story("1s c1 begins\n1s n1 SET by c2 created expires=9s\n1s n2 SET by c2 refused of=c1\n2s c1 crashes").is(EveryKeyExpires, Holds);
}

#[test]
fn the_witness_names_the_node_and_the_end() {
    let verdict = immortal("2s c1 crashes").is(EveryKeyExpires, Violated);
    let shown = format!(
        "{}\n{}",
        verdict.witnesses[0].sentence,
        verdict.witnesses[0].cause.as_ref().unwrap()
    );
    expect![[r#"
        the key `k` that c1 made at n1 at 1.000 s has no expiry and outlived it: c1 died at 2.000 s
        c1 died before it had given the key an expiry"#]]
    .assert_eq(&shown);
    expect!["the key `k` that c1 made at n1 at 1.000 s has no expiry and outlived it: c1 came to its end at 2.000 s"].assert_eq(
        &immortal("2s c1 finishes")
            .is(EveryKeyExpires, Violated)
            .witnesses[0]
            .sentence,
    );
}
