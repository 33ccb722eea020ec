//! Laws that hold whatever the clients do.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;
use redis_node::{ConnectionId, Reply};

use crate::support::{Bench, CLIENT, text};

fn client() -> impl Strategy<Value = ConnectionId> {
    (1u64..4).prop_map(ConnectionId)
}

/// Commands without a meaning of their own in MULTI.
fn plain() -> impl Strategy<Value = Vec<&'static str>> {
    prop::sample::select(vec![
        vec!["INCR", "a"],
        vec!["INCRBY", "b", "7"],
        vec!["DECR", "b"],
        vec!["SET", "a", "5", "PX", "100"],
        vec!["SET", "b", "6", "NX"],
        vec!["GET", "a"],
        vec!["MGET", "a", "b", "h"],
        vec!["DEL", "a"],
        vec!["HINCRBY", "h", "f", "2"],
        vec!["HGET", "a", "f"],
        vec!["GETEX", "a", "PERSIST"],
        vec!["PTTL", "a"],
        vec![
            "EVAL",
            "return redis.call('incr', 'a') + (redis.call('get', 'b') or 0)",
            "0",
        ],
    ])
}

#[derive(Clone, Debug)]
enum Step {
    Plain(Vec<&'static str>),
    Multi,
    Exec,
    Discard,
    Wait(u64),
}

fn step() -> impl Strategy<Value = (ConnectionId, Step)> {
    let step = prop_oneof![
        8 => plain().prop_map(Step::Plain),
        3 => Just(Step::Multi),
        3 => Just(Step::Exec),
        1 => Just(Step::Discard),
        1 => (1u64..60).prop_map(Step::Wait),
    ];
    (client(), step)
}

proptest! {
    /// However connections interleave, EXEC does what its commands do one after another with nothing between:
    /// the same commands on a second node, all at the moment of EXEC, have the same replies.
    #[test]
    fn multi_is_atomic_under_any_interleaving(steps in prop::collection::vec(step(), 1..80)) {
        let (mut bench, mut serial) = (Bench::new(), Bench::new());
        let mut queued: BTreeMap<ConnectionId, Vec<Vec<&str>>> = BTreeMap::new();
        let mut elapsed = 0;
        for (client, step) in steps {
            match step {
                Step::Wait(millis) => {
                    elapsed += millis;
                    bench.at(elapsed);
                    serial.at(elapsed);
                }
                Step::Multi => {
                    bench.ask_as(client, &["MULTI"]);
                    queued.entry(client).or_default();
                }
                Step::Discard => {
                    bench.ask_as(client, &["DISCARD"]);
                    queued.remove(&client);
                }
                Step::Exec => {
                    let reply = bench.ask_as(client, &["EXEC"]);
                    if let Some(commands) = queued.remove(&client) {
                        let replies = commands.iter().map(|words| serial.ask(words)).collect();
                        prop_assert_eq!(reply, Reply::Array(replies));
                    } else {
                        prop_assert_eq!(text(&reply), "-ERR EXEC without MULTI");
                    }
                }
                Step::Plain(words) => {
                    let reply = bench.ask_as(client, &words);
                    if let Some(commands) = queued.get_mut(&client) {
                        prop_assert_eq!(text(&reply), "+QUEUED");
                        commands.push(words);
                    } else {
                        prop_assert_eq!(reply, serial.ask(&words));
                    }
                }
            }
        }
    }

    /// GETEX as its documentation has it: the value, and the expiry of the one option that is given.
    #[test]
    fn getex_follows_its_option_algebra(
        old in prop::option::of(prop::option::of(1i64..1000)),
        option in prop::option::of(prop::sample::select(vec!["PERSIST", "EX", "px", "EXAT", "PXAT"])),
        time in -2i64..2000,
        second in prop::option::of(prop::sample::select(vec!["PERSIST", "EX"])),
    ) {
        let mut bench = Bench::new();
        match old {
            Some(Some(ttl)) => drop(bench.ask(&["SET", "k", "v", "PX", &ttl.to_string()])),
            Some(None) => drop(bench.ask(&["SET", "k", "v"])),
            None => {}
        }
        let start = i64::try_from(crate::support::START).expect("small");
        let (unit, absolute) = match option {
            Some("EX") => (1000, false),
            Some("EXAT") => (1000, true),
            Some("PXAT") => (1, true),
            _ => (1, false),
        };
        let given = if absolute { start / unit + time } else { time }.to_string();
        let mut words = vec!["GETEX", "k"];
        words.extend(option);
        let takes_time = option.is_some_and(|option| option != "PERSIST");
        words.extend(takes_time.then_some(given.as_str()));
        words.extend(second);
        words.extend(second.filter(|second| *second == "EX").map(|_| "1"));
        let reply = text(&bench.ask(&words));
        let (value, left) = (text(&bench.ask(&["GET", "k"])), text(&bench.ask(&["PTTL", "k"])));
        let clash = second.is_some_and(|second| option.is_some_and(|option| option != second));
        let unchanged = (if old.is_some() { "\"v\"" } else { "nil" }, old.map_or(-2, |ttl| ttl.unwrap_or(-1)));
        if clash {
            prop_assert_eq!(reply, "-ERR syntax error");
            prop_assert_eq!((value.as_str(), left), (unchanged.0, format!(":{}", unchanged.1)));
            return Ok(());
        }
        if old.is_none() {
            prop_assert_eq!(reply, "nil");
            return Ok(());
        }
        let option = option.or(second);
        let given: i64 = if second == Some("EX") { 1 } else { given.parse().expect("a number") };
        if option.is_some_and(|option| option != "PERSIST") && given <= 0 {
            prop_assert_eq!(reply, "-ERR invalid expire time in 'getex' command");
            prop_assert_eq!(left, format!(":{}", unchanged.1));
            return Ok(());
        }
        prop_assert_eq!(reply, "\"v\"");
        let unit = if option == Some("EX") { 1000 } else { unit };
        let remaining = match option {
            None => unchanged.1,
            Some("PERSIST") => -1,
            Some(_) if absolute && second.is_none() => given * unit - start,
            Some(_) => given * unit,
        };
        if option.is_some_and(|option| option != "PERSIST") && remaining <= 0 {
            // A time that has passed deletes.
            prop_assert_eq!((value.as_str(), left.as_str()), ("nil", ":-2"));
        } else {
            prop_assert_eq!((value.as_str(), left), ("\"v\"", format!(":{remaining}")));
        }
    }
}

#[derive(Clone, Debug)]
enum Talk {
    Subscribe(&'static str),
    Unsubscribe(&'static str),
    Leave,
    Publish(&'static str),
    Ping,
}

fn talk() -> impl Strategy<Value = (ConnectionId, Talk)> {
    let channel = || prop::sample::select(vec!["a", "b"]);
    let talk = prop_oneof![
        channel().prop_map(Talk::Subscribe),
        channel().prop_map(Talk::Unsubscribe),
        Just(Talk::Leave),
        channel().prop_map(Talk::Publish),
        Just(Talk::Ping),
    ];
    (client(), talk)
}

proptest! {
    /// A message is delivered once to each that listens when it is published, then and there, and never to others.
    #[test]
    fn a_message_is_delivered_at_most_once(steps in prop::collection::vec(talk(), 1..80)) {
        const PUBLISHER: ConnectionId = ConnectionId(9);
        let mut bench = Bench::new();
        let mut listening: BTreeSet<(&str, ConnectionId)> = BTreeSet::new();
        for (number, (client, talk)) in steps.into_iter().enumerate() {
            let sent = match talk {
                Talk::Subscribe(channel) => {
                    listening.insert((channel, client));
                    bench.effects(client, &["SUBSCRIBE", channel])
                }
                Talk::Unsubscribe(channel) => {
                    listening.remove(&(channel, client));
                    bench.effects(client, &["UNSUBSCRIBE", channel])
                }
                Talk::Leave => {
                    listening.retain(|(_, other)| *other != client);
                    bench.node.disconnected(client);
                    continue;
                }
                Talk::Ping => bench.effects(client, &["PING"]),
                Talk::Publish(channel) => {
                    let message = number.to_string();
                    let sent = bench.effects(PUBLISHER, &["PUBLISH", channel, &message]);
                    let expected = format!(">[\"message\" \"{channel}\" \"{message}\"]");
                    let mut receivers = Vec::new();
                    for (to, reply) in &sent.replies {
                        if *to == PUBLISHER {
                            prop_assert_eq!(text(reply), format!(":{}", receivers.len()));
                        } else {
                            prop_assert_eq!(text(reply), expected.as_str());
                            receivers.push(*to);
                        }
                    }
                    receivers.sort_unstable();
                    let listeners = listening.iter().filter(|(name, _)| *name == channel);
                    prop_assert_eq!(receivers, listeners.map(|(_, client)| *client).collect::<Vec<_>>());
                    continue;
                }
            };
            prop_assert!(sent.replies.iter().all(|(to, reply)| *to == client && !text(reply).contains("message")));
        }
    }
}

/// Ends of scripts that a limit stops: by time, and by memory.
const ENDLESS: [&str; 3] = [
    "while true do end",
    "local s = 'x' while true do s = s .. s end",
    "local t = {} while true do pcall(function() t[#t + 1] = string.rep('x', 1000) .. #t end) end",
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    /// A script that a limit stops has never happened: not for the keys, the log, listeners or watchers.
    #[test]
    fn a_script_that_is_stopped_leaves_no_trace(
        before in prop::collection::vec(plain(), 0..8),
        inside in prop::collection::vec(plain().prop_filter("no scripts", |words| words[0] != "EVAL"), 1..8),
        end in prop::sample::select(&ENDLESS[..]),
    ) {
        let (listener, watcher) = (ConnectionId(2), ConnectionId(3));
        let mut bench = Bench::new();
        let mut twin = Bench::new();
        bench.effects(listener, &["SUBSCRIBE", "c"]);
        for words in &before {
            prop_assert_eq!(bench.ask(words), twin.ask(words));
        }
        bench.ask_as(watcher, &["WATCH", "a", "b", "h"]);
        let calls: String = inside
            .iter()
            .map(|words| format!("redis.pcall('{}') ", words.join("','")))
            .collect();
        let script = format!("{calls} redis.call('publish', 'c', 'x') redis.call('set', 'fresh', '1') {end}");
        let effects = bench.effects(CLIENT, &["EVAL", &script, "0"]);
        prop_assert!(effects.touches.is_empty());
        prop_assert_eq!(effects.replies.len(), 1);
        prop_assert!(text(&effects.replies[0].1).contains("Script killed by user with SCRIPT KILL"));
        for words in [&["KEYS", "*"][..], &["MGET", "a", "b"], &["HGETALL", "h"], &["PTTL", "a"]] {
            prop_assert_eq!(bench.ask(words), twin.ask(words));
        }
        bench.ask_as(watcher, &["MULTI"]);
        prop_assert_eq!(text(&bench.ask_as(watcher, &["EXEC"])), "[]");
    }
}
