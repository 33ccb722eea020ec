//! Releasing: whose key, and what is said of it.

use redlock::decision::{judge_release, merge_release};
use redlock::{Answer, NodeError, ReleaseOutcome};

use crate::client::{Client, NODE_TIMEOUT, TTL, held};
use crate::node::Manner;
use crate::world::{World, ms};

#[test]
fn a_late_release_leaves_the_successor_its_lock() {
    let world = World::new(5);
    let mut late = held(&world, "k");
    world.pass(TTL + TTL / 10);
    let successor = held(&world, "k");
    assert_eq!(world.run(late.release()), ReleaseOutcome::Foreign);
    assert_eq!(world.holding("k"), [1, 2, 3, 4, 5]);
    assert!(
        world.run(Client::of(&world).lock().acquire("k")).is_err(),
        "no third holder"
    );
    assert!(!successor.is_expired());
}

#[test]
fn a_late_guard_that_is_dropped_leaves_the_successor_its_lock() {
    let world = World::new(5);
    let late = held(&world, "k");
    world.pass(TTL + TTL / 10);
    let _successor = held(&world, "k");
    drop(late);
    world.pass(ms(10));
    assert_eq!(world.holding("k"), [1, 2, 3, 4, 5]);
}

#[test]
fn releasing_an_expired_lock_is_one_round_and_says_expired() {
    let world = World::new(3);
    let mut guard = held(&world, "k");
    world.pass(TTL * 2);
    let began = world.now();
    assert_eq!(world.run(guard.release()), ReleaseOutcome::Expired);
    assert_eq!(world.now() - began, ms(2));
    assert_eq!(world.applied("delete"), [1, 1, 1]);
}

#[test]
fn releasing_an_expired_lock_on_silent_nodes_is_one_round_too() {
    let world = World::new(3);
    let mut guard = held(&world, "k");
    world.pass(TTL * 2);
    world.set([1, 2, 3], Manner::silent());
    let began = world.now();
    assert_eq!(world.run(guard.release()), ReleaseOutcome::Expired);
    assert_eq!(world.now() - began, NODE_TIMEOUT);
}

#[test]
fn a_released_lock_is_free_at_once_and_not_released_twice() {
    let world = World::new(5);
    let mut guard = held(&world, "k");
    assert_eq!(world.run(guard.release()), ReleaseOutcome::Released);
    let next = held(&world, "k");
    drop(guard);
    world.pass(ms(10));
    assert_eq!(world.applied("delete"), [1; 5]);
    assert!(!next.is_expired());
}

#[test]
fn forgotten_lock_stays_until_its_ttl() {
    let world = World::new(3);
    held(&world, "k").forget();
    world.pass(TTL / 2);
    assert_eq!(world.holding("k"), [1, 2, 3]);
    world.pass(TTL / 2);
    assert_eq!(world.holding("k"), [0; 0]);
}

fn answers(letters: &str) -> Vec<Answer> {
    let answer = |letter| match letter {
        'o' => Answer::Done,
        'f' => Answer::Foreign,
        'm' => Answer::Missing,
        'e' => Answer::Failed(NodeError::Other("told to".into())),
        't' => Answer::TimedOut,
        other => panic!("no answer has the letter {other}"),
    };
    letters.chars().map(answer).collect()
}

#[test]
fn table_of_release() {
    use ReleaseOutcome::{Expired, Foreign, Released, Unknown};
    // own, foreign, missing, error, timed out: the outcome while the lease lasts, and after it.
    let table = [
        ("o", Released, Released),
        ("f", Foreign, Foreign),
        ("m", Expired, Expired),
        ("e", Unknown, Expired),
        ("t", Unknown, Expired),
        ("ooo", Released, Released),
        ("oof", Released, Released),
        ("oot", Released, Released),
        ("omm", Expired, Expired),
        ("omf", Foreign, Foreign),
        ("ott", Unknown, Expired),
        ("otm", Unknown, Expired),
        ("tmm", Expired, Expired),
        ("tfm", Foreign, Foreign),
        ("tff", Foreign, Foreign),
        ("ttf", Unknown, Foreign),
        ("oo", Released, Released),
        ("ot", Unknown, Expired),
        ("om", Expired, Expired),
    ];
    for (letters, in_time, late) in table {
        assert_eq!(
            judge_release(&answers(letters), false),
            in_time,
            "{letters} in time"
        );
        assert_eq!(
            judge_release(&answers(letters), true),
            late,
            "{letters} late"
        );
    }
}

#[test]
fn table_of_repeated_release() {
    // earlier, now: what is known if the earlier round was sent while the lease lasted, and if not.
    let table = [
        ("o", "m", "o", "o"),
        ("o", "f", "o", "o"),
        ("o", "t", "o", "o"),
        ("t", "m", "o", "m"),
        ("t", "f", "o", "f"),
        ("e", "m", "o", "m"),
        ("t", "o", "o", "o"),
        ("t", "t", "t", "t"),
        ("m", "t", "m", "m"),
        ("f", "e", "f", "f"),
        ("m", "f", "f", "f"),
    ];
    for (earlier, now, in_time, late) in table {
        let merged = |sent_in_time| {
            merge_release(&answers(earlier)[0], answers(now).remove(0), sent_in_time)
        };
        assert_eq!(
            merged(true),
            answers(in_time)[0],
            "{earlier} then {now}, in time"
        );
        assert_eq!(
            merged(false),
            answers(late)[0],
            "{earlier} then {now}, late"
        );
    }
}
