//! The watchdog: renews while the guard lives, goes on after an error, and ends for good.

use expect_test::expect;
use redlock::{Clock, ExtendOutcome, Loss, Reading, ReleaseOutcome, Watchdog};

use crate::client::{Client, MARGIN, NODE_TIMEOUT, TTL, TestGuard};
use crate::node::Manner;
use crate::world::{World, ms};

/// A client and a guard that is watched.
fn watched_by(world: &World, watchdog: Watchdog) -> (Client, TestGuard) {
    let client = Client::of(world);
    let lock = client.builder().watchdog(watchdog).build().unwrap();
    let guard = world.run(lock.acquire("k")).unwrap();
    (client, guard)
}

fn watched(world: &World) -> (Client, TestGuard) {
    watched_by(world, Watchdog::default())
}

#[test]
fn it_renews_each_third_of_the_ttl() {
    let world = World::new(3);
    let (client, mut guard) = watched(&world);
    world.pass(TTL);
    world.run(guard.release());
    expect![[r#"
        attempt 1 at 1000s
        acquired at 1000.002s until 1000.988s, token Some(1)
        extension at 1000.333333333s before 1000.988s
        Extended at 1000.335333333s until 1001.321333333s
        extension at 1000.666666666s before 1001.321333333s
        Extended at 1000.668666666s until 1001.654666666s
        extension at 1000.999999999s before 1001.654666666s
        Extended at 1001.001999999s until 1001.987999999s
        release, Called
        released, Called: Some(Released)
    "#]]
    .assert_eq(&(client.diary.lines().join("\n") + "\n"));
}

#[test]
fn a_hold_of_a_hundred_ttls_keeps_everybody_else_out() {
    let world = World::new(5);
    let (client, mut guard) = watched(&world);
    for _ in 0..100 {
        world.pass(TTL);
        assert!(!guard.is_expired());
        assert!(world.run(Client::of(&world).lock().acquire("k")).is_err());
    }
    assert!(client.diary.extensions(ExtendOutcome::Extended) >= 300);
    assert_eq!(world.run(guard.release()), ReleaseOutcome::Released);
}

#[test]
fn one_network_error_in_the_middle_of_a_hold_does_not_stop_it() {
    for broken in [
        Manner::silent(),
        Manner::error("LOADING"),
        Manner::answer_lost(),
    ] {
        let world = World::new(3);
        let (client, guard) = watched(&world);
        world.pass(TTL);
        for node in 1..=3 {
            world.once(node, broken.clone());
        }
        world.pass(TTL * 9);
        assert_eq!(client.diary.extensions(ExtendOutcome::Unknown), 1);
        assert_eq!(client.diary.extensions(ExtendOutcome::Lost), 0);
        assert!(!guard.is_expired());
        assert_eq!(world.holding("k"), [1, 2, 3]);
    }
}

#[test]
fn it_goes_on_as_long_as_there_is_time() {
    let world = World::new(3);
    let (client, guard) = watched(&world);
    // Nobody answers until shortly before the deadline, and then all do.
    world.set([1, 2, 3], Manner::silent());
    world.pass(TTL - ms(100));
    assert!(client.diary.extensions(ExtendOutcome::Unknown) > 3);
    world.set([1, 2, 3], Manner::default());
    world.pass(TTL);
    assert!(!guard.is_expired());
    assert_eq!(world.holding("k"), [1, 2, 3]);
}

#[test]
fn its_attempts_are_bounded() {
    let world = World::new(3);
    let bounded = Watchdog {
        attempts: 2,
        ..Watchdog::default()
    };
    let (client, guard) = watched_by(&world, bounded);
    world.set([1, 2, 3], Manner::silent());
    assert_eq!(world.run(guard.lost()), Loss::Deadline);
    world.pass(TTL * 3);
    assert_eq!(client.diary.extensions(ExtendOutcome::Unknown), 2);

    let world = World::new(3);
    let telling = Watchdog {
        attempts: 0,
        ..Watchdog::default()
    };
    let (client, guard) = watched_by(&world, telling);
    world.pass(TTL);
    assert_eq!(world.applied("pexpire"), [0; 3]);
    assert_eq!(client.diary.lost_at(), Some(guard.deadline()));
}

#[test]
fn a_holder_that_hangs_is_not_renewed_for_ever() {
    let world = World::new(3);
    let longest = Watchdog {
        longest: Some(TTL * 5),
        ..Watchdog::default()
    };
    let (client, guard) = watched_by(&world, longest);
    assert_eq!(world.run(guard.lost()), Loss::Deadline);
    assert!(world.now() > TTL * 5 && world.now() < TTL * 6);
    assert!(client.diary.lost_at().is_some());
}

#[test]
fn the_holder_is_told_at_the_deadline_though_no_renewal_was_answered() {
    let world = World::new(3);
    let (client, guard) = watched(&world);
    world.set([1, 2, 3], Manner::silent());
    let deadline = guard.deadline();
    world.pass(TTL * 2);
    assert_eq!(client.diary.lost_at(), Some(deadline));
    assert_eq!(guard.deadline(), deadline);
    assert!(guard.is_expired());
}

#[test]
fn the_holder_is_told_at_the_deadline_while_a_renewal_is_under_way() {
    let world = World::new(3);
    let client = Client::of(&world);
    let lock = client
        .builder()
        .node_timeout(TTL)
        .watchdog(Watchdog::default())
        .build()
        .unwrap();
    let guard = world.run(lock.acquire("k")).unwrap();
    // Applied at once by every node, and answered after the deadline.
    world.set([1, 2, 3], Manner::takes(ms(1), TTL * 9 / 10));
    world.pass(TTL * 2);
    expect![[r#"
        attempt 1 at 1000s
        acquired at 1000.002s until 1000.988s, token Some(1)
        extension at 1000.333333333s before 1000.988s
        told at 1000.988s: the lease has run out by the lock's own clock
        Lost at 1001.234333333s until 1000.988s
    "#]]
    .assert_eq(&(client.diary.lines().join("\n") + "\n"));
    assert!(guard.is_expired());
}

#[test]
fn it_does_not_go_on_after_the_lock_was_lost_and_nothing_revives_it() {
    let world = World::new(3);
    let (client, guard) = watched(&world);
    world.occupy([1, 2], "k", TTL / 2);
    let lost = world.run(guard.lost());
    assert_eq!(lost, Loss::Answered);
    assert!(client.diary.lost_at() < Some(guard.deadline()));
    let asked = world.applied("pexpire");
    world.step_clock_back(TTL);
    world.pass(TTL * 5);
    assert_eq!(world.applied("pexpire"), asked);
    assert!(guard.is_expired());
    assert_eq!(world.holding("k"), [0; 0], "nothing was set or prolonged");
}

#[test]
fn it_stops_when_the_lock_is_released() {
    let world = World::new(3);
    let (client, mut guard) = watched(&world);
    world.pass(TTL);
    assert_eq!(world.run(guard.release()), ReleaseOutcome::Released);
    let asked = world.applied("pexpire");
    world.pass(TTL * 3);
    assert_eq!(world.applied("pexpire"), asked);
    assert_eq!(client.diary.lost_at(), None, "nothing was lost");
}

#[test]
fn it_stops_when_the_release_is_of_unknown_outcome() {
    let world = World::new(3);
    let (_client, mut guard) = watched(&world);
    world.set([1, 2, 3], Manner::silent());
    assert_eq!(world.run(guard.release()), ReleaseOutcome::Unknown);
    world.set([1, 2, 3], Manner::default());
    world.pass(TTL);
    assert_eq!(world.applied("pexpire"), [0; 3]);
    assert_eq!(world.holding("k"), [0; 0], "the keys have run out");
}

#[test]
fn it_stops_when_the_guard_is_dropped() {
    let world = World::new(3);
    let (_client, guard) = watched(&world);
    world.pass(TTL);
    let asked = world.applied("pexpire");
    drop(guard);
    world.pass(TTL * 3);
    assert_eq!(world.applied("pexpire"), asked);
    assert_eq!(world.holding("k"), [0; 0]);
}

#[test]
fn it_stops_when_the_guard_is_forgotten() {
    let world = World::new(3);
    let (_client, guard) = watched(&world);
    guard.forget();
    world.pass(TTL);
    assert_eq!(world.applied("pexpire"), [0; 3]);
    assert_eq!(world.holding("k"), [0; 0]);
}

#[test]
fn it_dies_with_its_host_and_the_lock_ends_with_its_ttl() {
    let world = World::new(3);
    let (_client, guard) = watched(&world);
    world.pass(TTL);
    world.kill_process();
    let asked = world.applied("pexpire");
    world.pass(TTL * 2);
    assert_eq!(world.applied("pexpire"), asked);
    assert_eq!(world.holding("k"), [0; 0]);
    drop(guard);
}

#[test]
fn a_renewal_that_is_answered_after_release_was_called_revives_nothing() {
    let world = World::new(3);
    let (client, mut guard) = watched(&world);
    // The renewal is applied before the release arrives, and answered after the release has ended.
    world.pass(TTL / 3 - ms(3));
    let deadline = guard.deadline();
    for node in 1..=3 {
        world.once(node, Manner::takes(ms(1), ms(30)));
    }
    world.pass(ms(5));
    assert_eq!(world.applied("pexpire"), [1; 3]);
    assert_eq!(world.run(guard.release()), ReleaseOutcome::Released);
    world.pass(TTL);
    assert_eq!(client.diary.extensions(ExtendOutcome::Extended), 0);
    assert_eq!(guard.deadline(), deadline);
    assert_eq!(client.diary.lost_at(), None);
    assert_eq!(world.holding("k"), [0; 0]);
}

#[test]
fn a_renewal_that_arrives_after_the_release_revives_nothing() {
    let world = World::new(3);
    let (client, mut guard) = watched(&world);
    world.pass(TTL / 3 - ms(3));
    for node in 1..=3 {
        world.once(node, Manner::takes(ms(30), ms(1)));
    }
    world.pass(ms(5));
    assert_eq!(world.run(guard.release()), ReleaseOutcome::Released);
    world.pass(NODE_TIMEOUT);
    assert_eq!(world.applied("pexpire"), [1; 3]);
    assert_eq!(world.holding("k"), [0; 0]);
    assert_eq!(client.diary.extensions(ExtendOutcome::Extended), 0);
    assert!(world.run(Client::of(&world).lock().acquire("k")).is_ok());
}

#[test]
fn the_holders_own_extension_and_the_watchdogs_do_not_take_time_from_each_other() {
    let world = World::new(3);
    let (client, mut guard) = watched(&world);
    let mut latest = guard.deadline();
    for _ in 0..40 {
        world.pass(TTL / 7);
        assert_ne!(world.run(guard.extend()), ExtendOutcome::Lost);
        assert!(guard.deadline() >= latest);
        latest = guard.deadline();
    }
    assert_eq!(client.diary.lost_at(), None);
}

#[test]
fn a_wall_clock_that_steps_back_does_not_keep_it_from_renewing() {
    let world = World::new(3);
    let (client, _guard) = watched(&world);
    world.pass(TTL / 2);
    world.step_clock_back(ms(900_000));
    let asked = world.applied("pexpire")[0];
    world.pass(TTL);
    assert!(world.applied("pexpire")[0] > asked + 1);
    assert_eq!(client.diary.lost_at(), None);
    assert_eq!(world.holding("k"), [1, 2, 3]);
}

#[test]
fn a_second_watchdog_changes_nothing() {
    let world = World::new(3);
    let (_client, mut guard) = watched(&world);
    guard.watch(Watchdog::default());
    world.pass(TTL / 2);
    assert_eq!(world.applied("pexpire"), [1; 3]);
}

#[test]
fn a_guard_that_is_watched_from_the_middle_of_its_lease_on_is_renewed_at_once() {
    let world = World::new(3);
    let mut guard = crate::client::held(&world, "k");
    world.pass(TTL / 2);
    guard.watch(Watchdog::default());
    let began = world.clock().now();
    world.pass(ms(3));
    assert_eq!(guard.deadline(), Reading(began.0 + TTL - MARGIN));
}
