//! Being told: the end of a lease by the local clock, final, and bodies that end with it.

use std::future::{pending, ready};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use futures_util::future::{Either, select};
use redlock::{Clock, ExtendOutcome, Loss, ReleaseOutcome};

use crate::client::{Client, MARGIN, TTL, held};
use crate::node::Manner;
use crate::world::{World, ms};

#[test]
fn the_loss_comes_at_the_deadline_by_the_local_clock() {
    let world = World::new(3);
    let guard = held(&world, "k");
    let (lost, deadline) = (guard.lost(), guard.deadline());
    assert_eq!(world.run(lost), Loss::Deadline);
    assert_eq!(world.clock().now(), deadline);
    assert_eq!(
        world.holding("k"),
        [1, 2, 3],
        "the nodes would still say yes"
    );
    assert!(guard.is_expired());
}

#[test]
fn the_loss_waits_for_the_deadline_of_the_last_extension() {
    let world = World::new(3);
    let mut guard = held(&world, "k");
    let lost = guard.lost();
    world.pass(TTL / 2);
    assert_eq!(world.run(guard.extend()), ExtendOutcome::Extended);
    assert_eq!(world.run(lost), Loss::Deadline);
    assert_eq!(world.clock().now(), guard.deadline());
}

#[test]
fn the_loss_comes_when_an_extension_is_answered_lost() {
    let world = World::new(3);
    let mut guard = held(&world, "k");
    let lost = guard.lost();
    world.occupy([1, 2], "k", TTL);
    assert_eq!(world.run(guard.extend()), ExtendOutcome::Lost);
    let told = world.now();
    assert_eq!(world.run(lost), Loss::Answered);
    assert_eq!(world.now(), told);
}

#[test]
fn a_lock_that_was_given_back_is_not_lost_but_over() {
    let world = World::new(3);
    let client = Client::of(&world);
    let mut guard = world.run(client.lock().acquire("k")).unwrap();
    let (first, second) = (guard.lost(), guard.lost());
    assert_eq!(world.run(guard.release()), ReleaseOutcome::Released);
    assert_eq!(world.run(first), Loss::GivenBack);
    drop(guard);
    assert_eq!(world.run(second), Loss::GivenBack);
    assert_eq!(client.diary.lost_at(), None);
}

#[test]
fn who_waits_is_woken_by_a_release_and_by_a_drop() {
    let world = World::new(3);
    let mut guard = held(&world, "k");
    let lost = guard.lost();
    let both = async {
        let waiting = Box::pin(lost);
        let Either::Left((loss, _)) = select(waiting, Box::pin(guard.release())).await else {
            panic!("the release takes longer than the news of it");
        };
        loss
    };
    let began = world.now();
    assert_eq!(world.run(both), Loss::GivenBack);
    assert_eq!(world.now(), began);

    let guard = held(&World::new(3), "k");
    let lost = guard.lost();
    drop(guard);
    assert_eq!(world.run(lost), Loss::GivenBack);
}

#[test]
fn a_clock_that_goes_back_does_not_revive_what_was_told() {
    let world = World::new(3);
    let mut guard = held(&world, "k");
    world.pass(TTL);
    assert!(guard.is_expired());
    world.step_clock_back(TTL);
    assert!(guard.is_expired());
    assert_eq!(world.run(guard.lost()), Loss::Deadline);
    assert_eq!(world.run(guard.extend()), ExtendOutcome::Lost);
    assert_eq!(world.applied("pexpire"), [0; 3]);
}

#[test]
fn a_body_that_ends_in_time_has_its_result() {
    let world = World::new(3);
    let guard = held(&world, "k");
    let body = async {
        world.clock().sleep(TTL / 2).await;
        7
    };
    assert_eq!(world.run(guard.run(body)), Ok(7));
    assert!(!guard.is_expired());
}

#[test]
fn a_body_is_dropped_at_the_deadline() {
    let world = World::new(3);
    let guard = held(&world, "k");
    assert_eq!(world.run(guard.run(pending::<()>())), Err(Loss::Deadline));
    assert_eq!(world.clock().now(), guard.deadline());
}

#[test]
fn a_body_is_not_polled_at_the_deadline_or_after_it() {
    let world = World::new(3);
    let guard = held(&world, "k");
    let steps = Arc::new(AtomicU32::new(0));
    let body = async {
        loop {
            assert!(world.clock().now() < guard.deadline());
            steps.fetch_add(1, Ordering::SeqCst);
            world.clock().sleep(ms(1)).await;
        }
    };
    let ended: Result<(), Loss> = world.run(guard.run(body));
    assert_eq!(ended, Err(Loss::Deadline));
    let usable = TTL - MARGIN - ms(2);
    assert_eq!(u128::from(steps.load(Ordering::SeqCst)), usable.as_millis());
}

#[test]
fn a_body_under_a_lease_that_is_over_is_not_polled_at_all() {
    let world = World::new(3);
    let guard = held(&world, "k");
    world.pass(TTL);
    assert_eq!(world.run(guard.run(ready(()))), Err(Loss::Deadline));
}

#[test]
fn a_timer_that_comes_late_does_not_keep_a_body_going() {
    let world = World::new(3);
    let guard = held(&world, "k");
    let stepping = world.clone();
    world.spawn_task(async move {
        stepping.clock().sleep(ms(100)).await;
        // A wall clock that is set forward: no timer of the lease is due yet.
        stepping.step_clock_forward(TTL);
    });
    let body = async {
        world.clock().sleep(ms(200)).await;
        panic!("polled past the deadline");
    };
    let ended: Result<(), Loss> = world.run(guard.run(body));
    assert_eq!(ended, Err(Loss::Deadline));
    assert!(world.now() <= ms(210));
}

#[test]
fn who_only_waits_hears_of_a_clock_that_was_set_forward_within_a_third_of_the_ttl() {
    let world = World::new(3);
    let guard = held(&world, "k");
    let began = world.now();
    world.set([1, 2, 3], Manner::silent());
    world.step_clock_forward(TTL / 2);
    let lost = guard.lost();
    world.step_clock_forward(TTL);
    assert_eq!(world.run(lost), Loss::Deadline);
    assert!(world.now() - began <= TTL / 3);
}
