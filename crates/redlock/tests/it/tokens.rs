//! Fencing tokens: before the second clock reading, and a failure is a refusal.

use redlock::{NodeError, Reason};

use crate::client::{Client, TTL, tries};
use crate::world::{World, ms};

#[test]
fn tokens_grow_with_each_acquisition() {
    let world = World::new(3);
    let lock = Client::of(&world).lock();
    let mut tokens = Vec::new();
    for _ in 0..3 {
        let mut guard = world.run(lock.acquire("k")).unwrap();
        tokens.push(guard.token().unwrap());
        world.run(guard.release());
    }
    assert_eq!(tokens, [1, 2, 3]);
}

#[test]
fn time_for_the_token_is_taken_from_the_validity() {
    let world = World::new(3);
    let client = Client::of(&world).token_takes(ms(300));
    let lock = client.builder().token_timeout(ms(900)).build().unwrap();
    let guard = world.run(lock.acquire("k")).unwrap();
    assert_eq!(guard.granted_validity(), TTL - ms(12) - ms(302));
}

#[test]
fn a_token_that_comes_too_late_is_no_lock() {
    let world = World::new(3);
    let client = Client::of(&world).token_takes(TTL);
    let lock = client.builder().token_timeout(TTL * 2).build().unwrap();
    let refused = world.run(lock.acquire("k")).unwrap_err();
    assert!(
        matches!(refused.reason, Reason::NoValidity { .. }),
        "{refused}"
    );
    world.pass(ms(5));
    assert_eq!(world.applied("delete"), [1; 3]);
}

#[test]
fn no_token_is_a_refused_attempt_released_on_all_nodes() {
    let world = World::new(3);
    let error = NodeError::Other("the sequence is down".into());
    let client = Client::of(&world).token_fails(error.clone());
    let lock = client.builder().retry(tries(2)).build().unwrap();
    let refused = world.run(lock.acquire("k")).unwrap_err();
    assert_eq!(refused.reason, Reason::TokenFailed(error));
    assert_eq!(refused.attempts, 2);
    world.pass(ms(5));
    assert_eq!(world.applied("delete"), [2; 3]);
}

#[test]
fn a_silent_source_of_tokens_ends_by_its_timeout() {
    let world = World::new(3);
    let client = Client::of(&world).token_takes(TTL * 100);
    let refused = world.run(client.lock().acquire("k")).unwrap_err();
    assert_eq!(refused.reason, Reason::TokenTimedOut { after: ms(100) });
    assert_eq!(world.now(), ms(102));
}
