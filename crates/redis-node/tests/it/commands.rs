//! What commands answer, and what they report to have done to which key.

use proptest::prelude::*;
use redis_node::Did::{
    Created, Deleted, Expired, ExpiryChanged, Missing, Overwritten, Read, Refused,
};
use redis_node::{ConnectionId, Did, Protocol, UnixTime};

use crate::support::{Bench, CLIENT, START, text};

const RELEASE: &str = "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) else return 0 end";

/// What was done, and the expiry in milliseconds after the start.
type Seen = (Did, Option<u64>);

fn did(bench: &mut Bench, words: &[&str]) -> Vec<Seen> {
    let relative = |at: UnixTime| at.as_millis() - START;
    bench
        .touches(words)
        .iter()
        .map(|touch| (touch.did, touch.expires_at.map(relative)))
        .collect()
}

#[test]
fn a_lock_is_taken_refused_released_and_gone() {
    let mut bench = Bench::new();
    let lock = |who| ["SET", "lock", who, "NX", "PX", "30000"];
    assert_eq!(did(&mut bench, &lock("one")), [(Created, Some(30_000))]);
    assert_eq!(text(&bench.ask(&lock("two"))), "nil");
    assert_eq!(did(&mut bench, &lock("two")), [(Refused, Some(30_000))]);
    assert_eq!(
        did(&mut bench, &["EVAL", RELEASE, "1", "lock", "two"]),
        [(Read, Some(30_000))]
    );
    assert_eq!(
        did(&mut bench, &["EVAL", RELEASE, "1", "lock", "one"]),
        [(Read, Some(30_000)), (Deleted, Some(30_000))]
    );
    assert_eq!(
        did(&mut bench, &["EVAL", RELEASE, "1", "lock", "one"]),
        [(Missing, None)]
    );
    assert_eq!(did(&mut bench, &["DEL", "lock"]), [(Missing, None)]);
}

#[test]
fn every_kind_of_touch_is_reported() {
    let mut bench = Bench::new();
    let cases: [(&[&str], &[Seen]); 22] = [
        (&["SET", "k", "v", "XX"], &[(Missing, None)]),
        (&["SET", "k", "1"], &[(Created, None)]),
        (&["SET", "k", "2", "PX", "100"], &[(Overwritten, Some(100))]),
        (&["SET", "k", "3", "KEEPTTL"], &[(Overwritten, Some(100))]),
        (&["INCR", "k"], &[(Overwritten, Some(100))]),
        (
            &["PEXPIRE", "k", "200", "GT"],
            &[(ExpiryChanged, Some(200))],
        ),
        (&["PEXPIRE", "k", "100", "GT"], &[(Refused, Some(200))]),
        (&["PEXPIRE", "none", "100"], &[(Missing, None)]),
        (&["PERSIST", "k"], &[(ExpiryChanged, None)]),
        (&["PERSIST", "k"], &[(Refused, None)]),
        (&["GET", "k"], &[(Read, None)]),
        (&["PTTL", "none"], &[(Missing, None)]),
        (&["EXISTS", "k", "none"], &[(Read, None), (Missing, None)]),
        (&["SETNX", "k", "x"], &[(Refused, None)]),
        (&["HSET", "k", "f", "v"], &[(Refused, None)]),
        (&["APPEND", "k", "x"], &[(Overwritten, None)]),
        (&["INCR", "k"], &[(Refused, None)]),
        (&["GETDEL", "k"], &[(Deleted, None)]),
        (
            &["MSET", "a", "1", "b", "2"],
            &[(Created, None), (Created, None)],
        ),
        (&["PEXPIREAT", "a", "1"], &[(Deleted, None)]),
        (&["FLUSHALL"], &[(Deleted, None)]),
        (&["PING"], &[]),
    ];
    for (words, expected) in cases {
        assert_eq!(did(&mut bench, words), expected, "{words:?}");
    }
}

#[test]
fn an_expired_key_is_reported_before_what_the_command_did() {
    let mut bench = Bench::new();
    bench.ask(&["SET", "k", "v", "PX", "10"]);
    bench.at(11);
    assert_eq!(
        did(&mut bench, &["SET", "k", "w", "NX", "PX", "10"]),
        [(Expired, Some(10)), (Created, Some(21))]
    );
}

#[test]
fn a_failed_condition_answers_the_old_value_only_with_get() {
    let mut bench = Bench::new();
    assert_eq!(text(&bench.ask(&["SET", "k", "v", "GET"])), "nil");
    assert_eq!(text(&bench.ask(&["SET", "k", "w", "NX", "GET"])), "\"v\"");
    assert_eq!(text(&bench.ask(&["SET", "k", "w", "GET"])), "\"v\"");
    assert_eq!(text(&bench.ask(&["SET", "none", "w", "XX", "GET"])), "nil");
    // The expiry is checked before the condition.
    assert_eq!(
        text(&bench.ask(&["SET", "k", "w", "NX", "PX", "0"])),
        "-ERR invalid expire time in 'set' command"
    );
    bench.ask(&["HSET", "h", "f", "v"]);
    // The type is checked by GET, and before the condition; without GET a SET replaces anything.
    let wrong = "-WRONGTYPE Operation against a key holding the wrong kind of value";
    assert_eq!(text(&bench.ask(&["SET", "h", "w", "NX", "GET"])), wrong);
    assert_eq!(text(&bench.ask(&["SET", "h", "w"])), "+OK");
}

#[test]
fn hello_changes_the_protocol_of_its_connection_alone() {
    let mut bench = Bench::new();
    let other = ConnectionId(2);
    bench.ask(&["HELLO", "3", "AUTH", "default", "any", "SETNAME", "holder"]);
    bench.ask_as(other, &["PING"]);
    assert_eq!(
        (bench.node.protocol(CLIENT), bench.node.protocol(other)),
        (Protocol::Resp3, Protocol::Resp2)
    );
    assert_eq!(text(&bench.ask(&["CLIENT", "GETNAME"])), "\"holder\"");
    assert_eq!(text(&bench.ask_as(other, &["CLIENT", "GETNAME"])), "nil");
    assert_eq!(text(&bench.ask_as(other, &["CLIENT", "ID"])), ":2");
    assert_eq!(text(&bench.ask(&["RESET"])), "+RESET");
    assert_eq!(bench.node.protocol(CLIENT), Protocol::Resp2);
    assert!(bench.effects(CLIENT, &["QUIT"]).close);
    bench.node.disconnected(CLIENT);
    assert_eq!(text(&bench.ask(&["CLIENT", "GETNAME"])), "nil");
}

#[test]
fn time_is_the_time_of_the_request() {
    let mut bench = Bench::new();
    bench.now = UnixTime(1_700_000_000_123_456_789);
    assert_eq!(text(&bench.ask(&["TIME"])), "[\"1700000000\" \"123456\"]");
    assert_eq!(
        text(&bench.ask(&["EVAL", "return redis.call('time')", "0"])),
        "[\"1700000000\" \"123456\"]"
    );
}

#[derive(Clone, Copy, Debug)]
enum Condition {
    Always,
    Nx,
    Xx,
}

proptest! {
    /// SET as its documentation has it, as a table of what was there and what is asked.
    #[test]
    fn set_follows_its_option_algebra(
        present in prop::option::of(prop::option::of(1u64..1000)),
        condition in prop_oneof![Just(Condition::Always), Just(Condition::Nx), Just(Condition::Xx)],
        get in any::<bool>(),
        keep in any::<bool>(),
        ttl in prop::option::of(1u64..1000),
        order in any::<bool>(),
    ) {
        let mut bench = Bench::new();
        match present {
            Some(Some(old)) => drop(bench.ask(&["SET", "k", "old", "PX", &old.to_string()])),
            Some(None) => drop(bench.ask(&["SET", "k", "old"])),
            None => {}
        }
        let ttl_text = ttl.map(|ttl| ttl.to_string());
        let mut options: Vec<Vec<&str>> = Vec::new();
        match condition {
            Condition::Always => {}
            Condition::Nx => options.push(vec!["NX"]),
            Condition::Xx => options.push(vec!["xx"]),
        }
        if get {
            options.push(vec!["GET"]);
        }
        if keep {
            options.push(vec!["KEEPTTL"]);
        }
        if let Some(ttl) = &ttl_text {
            options.push(vec!["PX", ttl]);
        }
        if order {
            options.reverse();
        }
        let words: Vec<&str> = ["SET", "k", "new"].into_iter().chain(options.concat()).collect();
        let reply = text(&bench.ask(&words));
        let (value, left) = (text(&bench.ask(&["GET", "k"])), text(&bench.ask(&["PTTL", "k"])));
        if keep && ttl.is_some() {
            prop_assert_eq!(reply, "-ERR syntax error");
            return Ok(());
        }
        let done = match condition {
            Condition::Always => true,
            Condition::Nx => present.is_none(),
            Condition::Xx => present.is_some(),
        };
        let old_value = if present.is_some() { "\"old\"" } else { "nil" };
        let expected_reply = if get { old_value } else if done { "+OK" } else { "nil" };
        prop_assert_eq!(reply, expected_reply);
        prop_assert_eq!(value, if done { "\"new\"" } else { old_value });
        let old_ttl = present.flatten();
        let expiry = if !done || keep { old_ttl } else { ttl };
        let exists = done || present.is_some();
        let expected = if exists { expiry.map_or(-1, |ttl| i64::try_from(ttl).unwrap()) } else { -2 };
        prop_assert_eq!(left, format!(":{expected}"));
    }
}
