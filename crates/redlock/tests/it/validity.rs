//! Validity: how much of the TTL is left, and that it is asked.

use redlock::{Clock, Order, Reading, Reason};

use crate::client::{Client, MARGIN, ORDERS, TTL, held, tries};
use crate::node::Manner;
use crate::world::{World, ms};

#[test]
fn validity_counts_from_the_attempt_that_won() {
    for order in ORDERS {
        let world = World::new(3);
        world.occupy([1, 2], "k", ms(700));
        let lock = Client::of(&world)
            .builder()
            .order(order)
            .retry(tries(60))
            .build()
            .unwrap();
        let guard = world.run(lock.acquire("k")).unwrap();
        assert!(world.now() > ms(700));
        assert!(
            guard.granted_validity() > ms(900),
            "{:?} is left",
            guard.granted_validity()
        );
        assert!(guard.validity() > ms(900));
    }
}

#[test]
fn answers_after_the_ttl_are_no_lock() {
    for order in ORDERS {
        let world = World::new(3);
        world.set([1, 2, 3], Manner::takes(ms(1), ms(1_500)));
        let lock = Client::of(&world)
            .builder()
            .order(order)
            .node_timeout(ms(9_000))
            .build()
            .unwrap();
        let refused = world.run(lock.acquire("k")).unwrap_err();
        assert!(
            matches!(refused.reason, Reason::NoValidity { .. }),
            "{refused}"
        );
    }
}

#[test]
fn time_left_within_the_drift_margin_is_no_lock() {
    let world = World::new(1);
    world.set([1], Manner::takes(ms(1), TTL - MARGIN));
    let lock = Client::of(&world)
        .builder()
        .node_timeout(TTL)
        .build()
        .unwrap();
    let refused = world.run(lock.acquire("k")).unwrap_err();
    assert!(
        matches!(refused.reason, Reason::NoValidity { .. }),
        "{refused}"
    );
}

#[test]
fn validity_of_exactly_zero_is_refused_and_of_one_millisecond_is_not() {
    for (answer_takes, won) in [(TTL - MARGIN - ms(1), false), (TTL - MARGIN - ms(2), true)] {
        let world = World::new(1);
        world.set([1], Manner::takes(ms(1), answer_takes));
        let lock = Client::of(&world)
            .builder()
            .node_timeout(TTL)
            .build()
            .unwrap();
        assert_eq!(world.run(lock.acquire("k")).is_ok(), won);
    }
}

#[test]
fn exhausted_validity_releases_on_all_nodes() {
    let world = World::new(3);
    world.set([1, 2, 3], Manner::takes(ms(1), TTL));
    let lock = Client::of(&world)
        .builder()
        .node_timeout(TTL * 2)
        .order(Order::Parallel)
        .build()
        .unwrap();
    assert!(world.run(lock.acquire("k")).is_err());
    world.pass(ms(5));
    assert_eq!(world.applied("delete"), [1, 1, 1]);
}

#[test]
fn deadline_is_first_reading_plus_ttl_less_drift() {
    let world = World::new(5);
    let first = world.clock().now();
    let guard = held(&world, "k");
    assert_eq!(guard.deadline(), Reading(first.0 + TTL - MARGIN));
    assert_eq!(guard.validity(), TTL - MARGIN - ms(2));
    world.pass(TTL);
    assert_eq!(guard.validity(), ms(0));
    assert!(guard.is_expired());
}

#[test]
fn guard_expires_before_the_first_key_does() {
    let world = World::new(5);
    let guard = held(&world, "k");
    while !guard.is_expired() {
        assert_eq!(world.holding("k").len(), 5, "at {:?}", world.now());
        world.pass(ms(1));
    }
    assert_eq!(
        world.holding("k").len(),
        5,
        "the drift margin is still to come"
    );
}

#[test]
fn clock_that_went_back_is_no_lock() {
    let world = World::new(3);
    world.set([1, 2, 3], Manner::takes(ms(1), ms(40)));
    let stepping = world.clone();
    world.spawn_task(async move {
        stepping.clock().sleep(ms(20)).await;
        stepping.step_clock_back(ms(10_000));
    });
    let refused = world
        .run(Client::of(&world).lock().acquire("k"))
        .unwrap_err();
    assert_eq!(
        refused.reason,
        Reason::ClockWentBack {
            by: ms(10_000 - 41)
        }
    );
    world.pass(ms(5));
    assert_eq!(world.applied("delete"), [1, 1, 1]);
}

#[cfg(feature = "unsound")]
#[test]
fn a_negative_elapsed_time_that_is_kept_makes_a_lock_that_outlives_its_keys() {
    let world = World::new(3);
    world.set([1, 2, 3], Manner::takes(ms(1), ms(40)));
    let stepping = world.clone();
    world.spawn_task(async move {
        stepping.clock().sleep(ms(20)).await;
        stepping.step_clock_back(ms(10_000));
    });
    let naive = Client::of(&world)
        .builder()
        .keep_negative_elapsed()
        .build()
        .unwrap();
    let guard = world.run(naive.acquire("k")).unwrap();
    assert!(
        guard.granted_validity() > TTL,
        "{:?}",
        guard.granted_validity()
    );
    world.pass(TTL);
    let successor = held(&world, "k");
    assert!(!successor.is_expired() && !guard.is_expired());
}

#[cfg(feature = "unsound")]
#[test]
fn without_the_second_reading_two_clients_hold_the_lock_at_once() {
    let world = World::new(3);
    world.set([1, 2, 3], Manner::takes(ms(1), TTL * 3 / 2));
    let unsound = Client::of(&world)
        .builder()
        .node_timeout(TTL * 9)
        .skip_second_reading()
        .build()
        .unwrap();
    let late = std::sync::Arc::new(std::sync::Mutex::new(None));
    let (found, acquiring) = (late.clone(), unsound.acquire("k"));
    world.spawn_task(async move { *found.lock().unwrap() = acquiring.await.ok() });
    world.pass(TTL + ms(5));
    world.set([1, 2, 3], Manner::default());
    let successor = held(&world, "k");
    world.pass(TTL * 3 / 4);
    assert!(!successor.is_expired());
    let late = late.lock().unwrap().take();
    assert!(
        late.is_some_and(|guard| guard.is_expired()),
        "it was born expired"
    );
}
