//! Retrying: how often, how long, and with what.

use std::collections::BTreeSet;

use redlock::{Retry, StoppedBy};

use crate::client::{Client, ORDERS, TTL, tries};
use crate::node::Manner;
use crate::world::{World, ms};

#[test]
fn every_attempt_has_a_fresh_value() {
    let world = World::new(1);
    world.occupy([1], "k", TTL);
    let lock = Client::of(&world)
        .builder()
        .retry(tries(5))
        .build()
        .unwrap();
    assert_eq!(world.run(lock.acquire("k")).unwrap_err().attempts, 5);
    let values: BTreeSet<Vec<u8>> = world.state().nodes[0]
        .log
        .iter()
        .filter(|entry| entry.1 == "set")
        .map(|entry| entry.2.clone())
        .collect();
    assert_eq!(values.len(), 5);
    assert!(values.iter().all(|value| value.len() == 20));
}

#[test]
fn delays_are_random_and_within_their_range() {
    let world = World::new(1);
    world.occupy([1], "k", TTL * 100);
    let retry = Retry {
        tries: 40,
        delay_least: ms(10),
        delay_most: ms(90),
    };
    let lock = Client::of(&world).builder().retry(retry).build().unwrap();
    assert_eq!(world.run(lock.acquire("k")).unwrap_err().attempts, 40);
    let state = world.state();
    let sets: Vec<_> = state.nodes[0]
        .log
        .iter()
        .filter(|entry| entry.1 == "set")
        .map(|entry| entry.0)
        .collect();
    // Between two SETs: the answer back, the release there and back, the delay, the next SET there.
    let delays: BTreeSet<_> = sets
        .windows(2)
        .map(|pair| pair[1] - pair[0] - ms(4))
        .collect();
    assert!(
        delays.iter().all(|delay| (ms(10)..=ms(90)).contains(delay)),
        "{delays:?}"
    );
    assert!(delays.len() > 30, "{delays:?}");
}

#[test]
fn the_last_refusal_does_not_wait_for_its_release() {
    for order in ORDERS {
        let world = World::new(1);
        world.occupy([1], "k", TTL);
        world.once(1, Manner::default());
        world.once(1, Manner::silent());
        let lock = Client::of(&world).builder().order(order).build().unwrap();
        assert!(world.run(lock.acquire("k")).is_err());
        assert_eq!(world.now(), ms(2));
    }
}

#[test]
fn no_attempt_begins_after_the_bound() {
    let world = World::new(3);
    world.set([1, 2, 3], Manner::silent());
    let lock = Client::of(&world)
        .builder()
        .retry(tries(1_000))
        .acquire_bound(ms(500))
        .build()
        .unwrap();
    let refused = world.run(lock.acquire("k")).unwrap_err();
    assert_eq!(refused.stopped_by, StoppedBy::Bound);
    // 120 ms a try: the timeout, the release's timeout, the delay.
    assert_eq!(refused.attempts, 5);
    assert!(world.now() <= ms(500 + 50));
}

#[test]
fn rivals_who_split_the_vote_settle_it() {
    let world = World::new(5);
    let retry = Retry {
        tries: 30,
        delay_least: ms(5),
        delay_most: ms(60),
    };
    let winners = std::sync::Arc::new(std::sync::Mutex::new(0));
    for far in [[3, 4, 5], [1, 2, 5], [1, 2, 3]] {
        let client = Client::of(&world);
        // Each client is far from other nodes, so the first round is split.
        let lock = client.builder().retry(retry).build().unwrap();
        for node in far {
            world.once(node, Manner::takes(ms(2), ms(2)));
        }
        let (acquiring, won) = (lock.acquire("k"), winners.clone());
        world.spawn_task(async move {
            let mut guard = acquiring.await.expect("random delays settle it");
            *won.lock().unwrap() += 1;
            guard.release().await;
        });
    }
    world.pass(TTL * 3);
    assert_eq!(*winners.lock().unwrap(), 3);
}
