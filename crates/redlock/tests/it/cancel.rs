//! Dropping: half-way calls and guards, and what `Drop` may do.

use futures_util::future::{Either, select};
use redlock::{Clock, ReleaseOutcome};

use crate::client::{Client, ORDERS, TTL, held};
use crate::node::Manner;
use crate::world::{World, ms};

#[test]
fn a_dropped_call_releases_what_it_had_set() {
    for order in ORDERS {
        let world = World::new(5);
        world.set([5], Manner::takes(ms(1), ms(45)));
        let lock = Client::of(&world).builder().order(order).build().unwrap();
        let acquiring = Box::pin(lock.acquire("k"));
        let ended = world.run(select(acquiring, Box::pin(world.clock().sleep(ms(20)))));
        assert!(matches!(ended, Either::Right(_)), "still waiting for n5");
        assert_eq!(world.holding("k"), [1, 2, 3, 4, 5]);
        drop(ended);
        world.pass(ms(60));
        assert_eq!(world.holding("k"), [0; 0]);
        assert_eq!(world.applied("delete"), [1; 5]);
    }
}

#[test]
fn a_call_dropped_before_its_first_answer_releases_too() {
    let world = World::new(3);
    let lock = Client::of(&world).lock();
    let acquiring = Box::pin(lock.acquire("k"));
    drop(world.run(select(acquiring, Box::pin(world.clock().sleep(ms(0))))));
    world.pass(ms(10));
    assert_eq!(world.applied("set"), [1; 3]);
    assert_eq!(world.applied("delete"), [1; 3]);
    assert_eq!(world.holding("k"), [0; 0]);
}

#[test]
fn a_call_that_was_never_polled_sends_nothing() {
    let world = World::new(3);
    drop(Client::of(&world).lock().acquire("k"));
    world.pass(ms(10));
    assert_eq!(world.applied("delete"), [0; 3]);
}

#[test]
fn a_call_dropped_while_it_releases_releases_again() {
    let world = World::new(3);
    world.occupy([1, 2], "k", TTL);
    world.set([3], Manner::takes(ms(1), ms(1)));
    let lock = Client::of(&world)
        .builder()
        .retry(crate::client::tries(2))
        .build()
        .unwrap();
    // Refused after 2 ms; dropped while the answers of the release are on their way.
    world.once(3, Manner::default());
    world.once(3, Manner::silent());
    let acquiring = Box::pin(lock.acquire("k"));
    drop(world.run(select(acquiring, Box::pin(world.clock().sleep(ms(5))))));
    world.pass(ms(10));
    assert_eq!(world.holding("k"), [1, 2]);
}

#[test]
fn drop_reads_no_clock_and_waits_for_nothing() {
    let world = World::new(3);
    let guard = held(&world, "k");
    let (readings, now) = (world.clock_readings(), world.now());
    drop(guard);
    assert_eq!(world.clock_readings(), readings);
    assert_eq!(world.now(), now);
    assert_eq!(world.applied("delete"), [0; 3], "only a task was built");
    world.pass(ms(10));
    assert_eq!(world.clock_readings(), readings, "nor does the task");
    assert_eq!(world.applied("delete"), [1; 3]);
}

#[test]
fn a_dead_process_releases_nothing_and_the_lock_ends_with_its_ttl() {
    let world = World::new(3);
    let guard = held(&world, "k");
    world.state().process_alive = false;
    drop(guard);
    world.pass(TTL / 2);
    assert_eq!(world.holding("k"), [1, 2, 3]);
    world.pass(TTL / 2);
    world.state().process_alive = true;
    assert!(world.run(Client::of(&world).lock().acquire("k")).is_ok());
}

#[test]
fn a_dropped_release_counts_as_given_back_and_is_done_again() {
    let world = World::new(3);
    let mut guard = held(&world, "k");
    world.set([1, 2, 3], Manner::silent());
    drop(world.run(select(
        Box::pin(guard.release()),
        Box::pin(world.clock().sleep(ms(1))),
    )));
    assert!(guard.is_expired());
    world.set([1, 2, 3], Manner::default());
    assert_eq!(world.run(guard.release()), ReleaseOutcome::Released);
}
