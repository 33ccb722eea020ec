//! `maxmemory`: what is refused, and which key goes. Expected texts are redis-server 7.0.15's.

use redis_node::{Config, ConnectionId, Did, Disk, Eviction, Lua};

use crate::support::{Bench, text};

const OOM: &str = "-OOM command not allowed when used memory > 'maxmemory'.";
const OTHER: ConnectionId = ConnectionId(2);

fn full() -> Bench {
    let mut bench = Bench::new();
    bench.ask(&["SET", "k", "v"]);
    bench.ask(&["HSET", "h", "f", "v"]);
    bench.ask(&["CONFIG", "SET", "maxmemory", "1"]);
    bench
}

#[test]
fn commands_that_need_memory_are_refused_and_others_are_not() {
    let mut bench = full();
    for (words, expected) in [
        (&["SET", "a", "b"][..], OOM),
        (&["SETNX", "a", "b"], OOM),
        (&["HSET", "h", "f", "w"], OOM),
        (&["INCR", "n"], OOM),
        (&["GETSET", "a", "b"], OOM),
        (&["GET", "k"], "\"v\""),
        (&["EXPIRE", "h", "10"], ":1"),
        (&["PERSIST", "h"], ":1"),
        (&["GETEX", "k"], "\"v\""),
        (&["DEL", "k"], ":1"),
        (&["GETDEL", "a"], "nil"),
        (&["PUBLISH", "a", "b"], ":0"),
    ] {
        assert_eq!(text(&bench.ask(words)), expected, "{words:?}");
    }
}

#[test]
fn a_transaction_is_refused_while_it_is_queued_or_when_it_runs() {
    let mut bench = full();
    bench.ask(&["MULTI"]);
    assert_eq!(text(&bench.ask(&["GET", "k"])), OOM);
    assert_eq!(
        text(&bench.ask(&["EXEC"])),
        "-EXECABORT Transaction discarded because of previous errors."
    );
    let set = |bench: &mut Bench, limit| {
        drop(bench.ask_as(OTHER, &["CONFIG", "SET", "maxmemory", limit]));
    };
    for (words, expected) in [
        (
            &["SET", "q", "1"][..],
            "-EXECABORT Transaction discarded because of: OOM command not allowed when used memory > 'maxmemory'.",
        ),
        (&["GET", "k"], "[\"v\"]"),
    ] {
        set(&mut bench, "0");
        bench.ask(&["MULTI"]);
        bench.ask(words);
        set(&mut bench, "1");
        assert_eq!(text(&bench.ask(&["EXEC"])), expected, "{words:?}");
    }
}

#[test]
fn a_script_is_refused_at_its_first_write_only() {
    let cases = [
        ("return redis.call('get', 'k')", "\"v\""),
        ("return redis.pcall('set', 'a', 'b')", OOM),
        (
            "redis.call('del', 'none') return redis.call('set', 'a', 'b')",
            "+OK",
        ),
        ("#!lua\nreturn 1", OOM),
        (
            "#!lua flags=allow-oom\nreturn redis.call('set', 'a', 'b')",
            "+OK",
        ),
        (
            "#!lua flags=no-writes\nreturn redis.call('get', 'k')",
            "\"v\"",
        ),
        (
            "#!lua flags=no-writes\nreturn redis.pcall('set', 'a', 'b')",
            "-ERR Write commands are not allowed from read-only scripts.",
        ),
    ];
    for (script, expected) in cases {
        assert_eq!(
            text(&full().ask(&["EVAL", script, "0"])),
            expected,
            "{script}"
        );
    }
    let raised = text(&full().ask(&["EVAL", "return redis.call('set', 'a', 'b')", "0"]));
    assert!(
        raised.starts_with(OOM) && raised.ends_with("on @user_script:1."),
        "{raised}"
    );
}

/// A node with room for about four of these keys, and the keys that are left after a fifth.
fn left_after_one_more(policy: Eviction, use_keys: impl FnOnce(&mut Bench)) -> Vec<String> {
    let config = Config {
        eviction: policy,
        ..Config::default()
    };
    let mut bench = Bench::with(config, Disk::default(), &Lua::new());
    let value = "x".repeat(1 << 20);
    for (key, ttl) in [
        ("a", "400000"),
        ("b", "300000"),
        ("c", "200000"),
        ("d", "100000"),
    ] {
        bench.ask(&["SET", key, &value, "PX", ttl]);
    }
    bench.ask(&["PERSIST", "d"]);
    bench.ask(&["CONFIG", "SET", "maxmemory", "5500kb"]);
    use_keys(&mut bench);
    bench.ask(&["SET", "e", &value]);
    let gone: Vec<_> = bench
        .touches(&["PING"])
        .into_iter()
        .inspect(|touch| assert_eq!(touch.did, Did::Evicted))
        .map(|touch| String::from_utf8(touch.key.to_vec()).expect("text"))
        .collect();
    let left = text(&bench.ask(&["KEYS", "*"]));
    assert!(
        gone.iter().all(|key| !left.contains(key.as_str())),
        "{gone:?} {left}"
    );
    gone
}

#[test]
fn the_key_that_goes_is_the_one_of_the_policy() {
    let nothing = |_: &mut Bench| {};
    let touch_a = |bench: &mut Bench| drop(bench.ask(&["GET", "a"]));
    // A question about the key is no use of it.
    let ask_about_a = |bench: &mut Bench| drop(bench.ask(&["PTTL", "a"]));
    assert_eq!(left_after_one_more(Eviction::NoEviction, nothing), [""; 0]);
    assert_eq!(left_after_one_more(Eviction::AllKeysLru, nothing), ["a"]);
    assert_eq!(left_after_one_more(Eviction::AllKeysLru, touch_a), ["b"]);
    assert_eq!(
        left_after_one_more(Eviction::AllKeysLru, ask_about_a),
        ["a"]
    );
    assert_eq!(left_after_one_more(Eviction::VolatileTtl, nothing), ["c"]);
    let use_volatile = |bench: &mut Bench| drop(bench.ask(&["MGET", "a", "b", "c"]));
    assert_eq!(
        left_after_one_more(Eviction::AllKeysLru, use_volatile),
        ["d"]
    );
    assert_eq!(
        left_after_one_more(Eviction::VolatileLru, use_volatile),
        ["a"]
    );
    for policy in [Eviction::AllKeysRandom, Eviction::VolatileRandom] {
        let gone = left_after_one_more(policy, nothing);
        assert_eq!(gone.len(), 1);
        assert_eq!(gone, left_after_one_more(policy, nothing));
    }
}

#[test]
fn the_estimate_goes_back_to_where_it_was() {
    let mut bench = Bench::new();
    let mut used = || {
        let info = text(&bench.ask(&["INFO", "memory"]));
        let line = info
            .split("\\r\\n")
            .find(|line| line.starts_with("used_memory:"));
        let before = line.expect("a line").to_owned();
        bench.ask(&["SET", "k", "value", "PX", "1000"]);
        bench.ask(&["HSET", "h", "f", "v", "g", "w"]);
        bench.ask(&["HSET", "h", "f", "longer"]);
        bench.ask(&["HDEL", "h", "g"]);
        bench.ask(&["APPEND", "k", "more"]);
        bench.ask(&["PERSIST", "k"]);
        bench.ask(&["DEL", "k", "h"]);
        before
    };
    assert_eq!(used(), used());
}
