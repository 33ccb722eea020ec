//! What nobody knows: answers that never came.

use redlock::{Order, Reason, ReleaseOutcome, Retry};

use crate::client::{Client, NODE_TIMEOUT, ORDERS, TTL, held, letters, tries};
use crate::node::Manner;
use crate::world::{World, ms};

#[test]
fn release_goes_to_all_nodes_also_to_those_that_did_not_answer() {
    for order in ORDERS {
        let world = World::new(5);
        world.occupy([1, 2], "k", TTL);
        world.once(3, Manner::answer_lost());
        let lock = Client::of(&world).builder().order(order).build().unwrap();
        let refused = world.run(lock.acquire("k")).unwrap_err();
        assert!(matches!(refused.reason, Reason::MajorityImpossible { .. }));
        world.pass(ms(5));
        assert_eq!(world.applied("delete"), [1, 1, 1, 1, 1]);
        assert_eq!(
            world.holding("k"),
            [1, 2],
            "n3 had set it without saying so"
        );
    }
}

#[test]
fn release_goes_to_nodes_that_said_no_or_failed() {
    let world = World::new(5);
    world.occupy([1], "k", TTL);
    world.once(2, Manner::error("LOADING"));
    let mut guard = world.run(Client::of(&world).lock().acquire("k")).unwrap();
    assert_eq!(letters(guard.votes()), "hfggg");
    world.run(guard.release());
    assert_eq!(world.applied("delete"), [1, 1, 1, 1, 1]);
}

#[test]
fn a_late_set_is_followed_by_the_release() {
    let world = World::new(3);
    world.occupy([1, 3], "k", TTL);
    // On its way when the attempt ends by the other two answers; the release is right behind it.
    world.once(2, Manner::takes(ms(10), ms(1)));
    world.once(2, Manner::takes(ms(10), ms(1)));
    let refused = world
        .run(Client::of(&world).lock().acquire("k"))
        .unwrap_err();
    assert_eq!(letters(&refused.votes), "hah");
    world.pass(ms(11));
    assert_eq!(world.applied("set"), [1, 1, 1]);
    assert_eq!(world.applied("delete"), [1, 1, 1]);
    assert_eq!(world.holding("k"), [1, 3]);
}

#[test]
fn own_partial_lock_does_not_beat_the_own_retry() {
    for order in ORDERS {
        let world = World::new(5);
        world.set([4, 5], Manner::error("LOADING"));
        world.occupy([3], "k", ms(30));
        let client = Client::of(&world);
        let retry = Retry {
            tries: 2,
            delay_least: ms(30),
            delay_most: ms(40),
        };
        let lock = client.builder().order(order).retry(retry).build().unwrap();
        let guard = world.run(lock.acquire("k"));
        // The first attempt had n1 and n2; its release is answered before the second begins.
        assert_eq!(
            guard.map(|guard| letters(guard.votes())),
            Ok("gggff".to_owned()),
            "{order:?}"
        );
    }
}

#[test]
fn own_partial_lock_does_not_beat_the_own_retry_without_any_delay() {
    let world = World::new(3);
    world.once(1, Manner::error("LOADING"));
    world.occupy([2], "k", ms(3));
    let retry = Retry {
        tries: 2,
        delay_least: ms(0),
        delay_most: ms(0),
    };
    let lock = Client::of(&world).builder().retry(retry).build().unwrap();
    let guard = world.run(lock.acquire("k")).unwrap();
    assert_eq!(letters(guard.votes()), "ggg");
}

#[test]
fn retry_waits_for_a_silent_release_no_longer_than_its_timeout() {
    let world = World::new(3);
    world.occupy([1, 2], "k", ms(30));
    world.once(3, Manner::default());
    world.once(3, Manner::silent());
    let lock = Client::of(&world)
        .builder()
        .retry(tries(2))
        .build()
        .unwrap();
    let guard = world.run(lock.acquire("k")).unwrap();
    assert_eq!(
        letters(guard.votes()),
        "ggh",
        "n3 still has the key of the first attempt"
    );
    assert!(world.now() < NODE_TIMEOUT + ms(20 + 10));
}

#[test]
fn a_slow_node_does_not_eat_the_ttl() {
    for order in ORDERS {
        let world = World::new(3);
        world.set([1], Manner::takes(ms(1), ms(990)));
        let guard = world
            .run(
                Client::of(&world)
                    .builder()
                    .order(order)
                    .build()
                    .unwrap()
                    .acquire("k"),
            )
            .unwrap();
        assert_eq!(letters(guard.votes()), "tgg");
        assert!(guard.granted_validity() > ms(900));
    }
}

#[test]
fn an_answer_at_the_very_instant_of_the_timeout_counts() {
    let world = World::new(1);
    world.set([1], Manner::takes(ms(1), NODE_TIMEOUT - ms(1)));
    let lock = Client::of(&world)
        .builder()
        .order(Order::Sequential)
        .build()
        .unwrap();
    assert!(world.run(lock.acquire("k")).is_ok());
}

#[test]
fn a_release_whose_answers_were_lost_can_be_called_again() {
    let world = World::new(3);
    let mut guard = held(&world, "k");
    for node in 1..=3 {
        world.once(node, Manner::answer_lost());
    }
    assert_eq!(world.run(guard.release()), ReleaseOutcome::Unknown);
    assert!(guard.is_expired(), "a lock that was given back is not held");
    assert_eq!(world.run(guard.release()), ReleaseOutcome::Released);
}

#[test]
fn a_release_that_never_arrived_can_be_called_again() {
    let world = World::new(3);
    let mut guard = held(&world, "k");
    world.once(1, Manner::silent());
    world.once(2, Manner::silent());
    assert_eq!(world.run(guard.release()), ReleaseOutcome::Unknown);
    assert_eq!(world.holding("k"), [1, 2]);
    assert_eq!(world.run(guard.release()), ReleaseOutcome::Released);
    assert_eq!(world.holding("k"), [0; 0]);
}

#[test]
fn a_release_of_unknown_outcome_is_tried_once_more_by_drop() {
    let world = World::new(3);
    let mut guard = held(&world, "k");
    world.once(1, Manner::silent());
    world.once(2, Manner::silent());
    assert_eq!(world.run(guard.release()), ReleaseOutcome::Unknown);
    drop(guard);
    world.pass(ms(5));
    assert_eq!(world.holding("k"), [0; 0]);
}
