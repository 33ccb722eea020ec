//! Extending: only what is still held, only in time, and lost is final.

use redlock::decision::judge_extension;
use redlock::{Answer, Clock, ExtendOutcome, NodeError, Reading, ReleaseOutcome};

use crate::client::{Client, MARGIN, NODE_TIMEOUT, TTL, held};
use crate::node::Manner;
use crate::world::{World, ms};

#[test]
fn an_extension_counts_from_just_before_it() {
    let world = World::new(5);
    let mut guard = held(&world, "k");
    world.pass(TTL / 2);
    let before = world.clock().now();
    assert_eq!(world.run(guard.extend()), ExtendOutcome::Extended);
    assert_eq!(guard.deadline(), Reading(before.0 + TTL - MARGIN));
    assert_eq!(guard.granted_validity(), TTL - MARGIN - ms(2));
    world.pass(TTL - ms(100));
    assert_eq!(world.holding("k"), [1, 2, 3, 4, 5]);
    assert!(!guard.is_expired());
}

#[test]
fn a_hold_of_ten_ttls_keeps_everybody_else_out() {
    let world = World::new(5);
    let mut guard = held(&world, "k");
    for _ in 0..30 {
        world.pass(TTL / 3);
        assert_eq!(world.run(guard.extend()), ExtendOutcome::Extended);
        assert!(world.run(Client::of(&world).lock().acquire("k")).is_err());
        world.pass(ms(5));
    }
    assert_eq!(world.run(guard.release()), ReleaseOutcome::Released);
}

#[test]
fn extend_does_not_create_a_key_that_is_gone() {
    let world = World::new(3);
    let mut guard = held(&world, "k");
    // The nodes lost it, and another client held and released it meanwhile: time is left on the own clock.
    world
        .state()
        .nodes
        .iter_mut()
        .for_each(|node| node.keys.clear());
    assert_eq!(world.run(guard.extend()), ExtendOutcome::Lost);
    assert_eq!(world.holding("k"), [0; 0]);
    assert!(guard.is_expired());
}

#[test]
fn extend_does_not_prolong_anothers_key() {
    let world = World::new(3);
    let mut guard = held(&world, "k");
    world.occupy([1, 2, 3], "k", ms(100));
    assert_eq!(world.run(guard.extend()), ExtendOutcome::Lost);
    world.pass(ms(100));
    assert_eq!(world.holding("k"), [0; 0]);
}

#[test]
fn unknown_extension_touches_nothing_and_can_be_tried_again() {
    let world = World::new(3);
    let mut guard = held(&world, "k");
    let deadline = guard.deadline();
    world.once(1, Manner::silent());
    world.once(2, Manner::error("LOADING"));
    assert_eq!(world.run(guard.extend()), ExtendOutcome::Unknown);
    assert_eq!(guard.deadline(), deadline);
    assert!(!guard.is_expired());
    world.pass(ms(100));
    assert_eq!(world.applied("delete"), [0, 0, 0]);
    assert_eq!(world.holding("k"), [1, 2, 3]);
    assert_eq!(world.run(guard.extend()), ExtendOutcome::Extended);
    assert!(guard.deadline() > deadline);
}

#[test]
fn a_majority_after_the_old_deadline_is_lost() {
    let world = World::new(3);
    let lock = Client::of(&world)
        .builder()
        .node_timeout(TTL)
        .build()
        .unwrap();
    let mut guard = world.run(lock.acquire("k")).unwrap();
    world.pass(TTL - ms(50));
    // Every node extends in time, and says so when the old deadline is past.
    world.set([1, 2, 3], Manner::takes(ms(1), ms(100)));
    assert_eq!(world.run(guard.extend()), ExtendOutcome::Lost);
    assert_eq!(world.holding("k"), [1, 2, 3]);
    assert!(guard.is_expired());
}

#[test]
fn after_the_deadline_no_node_is_asked_and_lost_is_final() {
    let world = World::new(3);
    let mut guard = held(&world, "k");
    world.pass(TTL - MARGIN - ms(2));
    assert_eq!(
        world.holding("k"),
        [1, 2, 3],
        "the nodes would still say yes"
    );
    assert_eq!(world.run(guard.extend()), ExtendOutcome::Lost);
    assert_eq!(world.applied("pexpire"), [0, 0, 0]);
    // Not even a clock that goes back revives it.
    world.step_clock_back(TTL);
    assert!(guard.is_expired());
    assert_eq!(world.run(guard.extend()), ExtendOutcome::Lost);
    assert_eq!(world.applied("pexpire"), [0, 0, 0]);
}

#[test]
fn a_lock_that_was_given_back_is_not_extended() {
    let world = World::new(3);
    let mut guard = held(&world, "k");
    world.set([1, 2, 3], Manner::silent());
    assert_eq!(world.run(guard.release()), ReleaseOutcome::Unknown);
    world.set([1, 2, 3], Manner::default());
    assert_eq!(world.run(guard.extend()), ExtendOutcome::Lost);
    assert_eq!(world.applied("pexpire"), [0, 0, 0]);
}

#[test]
fn an_extension_takes_the_timeout_of_a_node_at_most() {
    let world = World::new(5);
    let mut guard = held(&world, "k");
    world.set([4, 5], Manner::silent());
    let began = world.now();
    assert_eq!(world.run(guard.extend()), ExtendOutcome::Extended);
    assert_eq!(world.now() - began, NODE_TIMEOUT);
}

#[test]
fn a_dropped_extension_leaves_the_lease_as_it_was() {
    let world = World::new(3);
    let mut guard = held(&world, "k");
    let deadline = guard.deadline();
    let sleep = world.clock().sleep(ms(1));
    world.run(futures_util::future::select(
        Box::pin(guard.extend()),
        Box::pin(sleep),
    ));
    assert_eq!(guard.deadline(), deadline);
    assert!(!guard.is_expired());
}

#[test]
fn table_of_extension() {
    use ExtendOutcome::{Extended, Lost, Unknown};
    let answer = |letter| match letter {
        'o' => Answer::Done,
        'f' => Answer::Foreign,
        'm' => Answer::Missing,
        'e' => Answer::Failed(NodeError::Other("told to".into())),
        _ => Answer::TimedOut,
    };
    // own, foreign, missing, error, timed out: the outcome inside the old validity. After it: lost.
    let table = [
        ("o", Extended),
        ("f", Lost),
        ("m", Lost),
        ("e", Unknown),
        ("t", Unknown),
        ("oof", Extended),
        ("oot", Extended),
        ("ofm", Lost),
        ("omt", Unknown),
        ("oft", Unknown),
        ("tte", Unknown),
        ("tmm", Lost),
        ("oo", Extended),
        ("om", Lost),
        ("ot", Unknown),
        ("ooomm", Extended),
        ("oommt", Unknown),
        ("oommm", Lost),
    ];
    for (letters, in_time) in table {
        let answers: Vec<Answer> = letters.chars().map(answer).collect();
        assert_eq!(
            judge_extension(&answers, true),
            in_time,
            "{letters} in time"
        );
        assert_eq!(judge_extension(&answers, false), Lost, "{letters} late");
    }
}
