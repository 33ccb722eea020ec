//! MULTI and WATCH.

use redis_node::ConnectionId;

use crate::support::{Bench, text};

const OTHER: ConnectionId = ConnectionId(2);

fn exec_after(between: impl FnOnce(&mut Bench)) -> String {
    let mut bench = Bench::new();
    bench.ask(&["SET", "k", "1", "PX", "1000"]);
    bench.ask(&["WATCH", "k"]);
    between(&mut bench);
    bench.ask(&["MULTI"]);
    assert_eq!(text(&bench.ask(&["GET", "k"])), "+QUEUED");
    text(&bench.ask(&["EXEC"]))
}

#[test]
fn a_watched_key_that_changed_fails_the_transaction() {
    let changes: [(&str, &[&str]); 8] = [
        ("[\"1\"]", &["GET", "k"]),
        ("[\"1\"]", &["SET", "other", "2"]),
        ("[\"1\"]", &["SET", "k", "2", "NX"]),
        ("nil array", &["SET", "k", "1"]),
        ("nil array", &["PEXPIRE", "k", "5000"]),
        ("nil array", &["DEL", "k"]),
        ("nil array", &["FLUSHALL"]),
        ("nil array", &["EVAL", "redis.call('incr', 'k')", "0"]),
    ];
    for (expected, words) in changes {
        let reply = exec_after(|bench| drop(bench.ask_as(OTHER, words)));
        assert_eq!(reply, expected, "{words:?}");
    }
    // The own connection's changes count, too; an expiry counts; unwatching forgets.
    assert_eq!(
        exec_after(|bench| drop(bench.ask(&["SET", "k", "2"]))),
        "nil array"
    );
    assert_eq!(exec_after(|bench| _ = bench.at(1001)), "nil array");
    assert_eq!(
        exec_after(|bench| {
            bench.ask_as(OTHER, &["SET", "k", "2"]);
            bench.ask(&["UNWATCH"]);
        }),
        "[\"2\"]"
    );
}

#[test]
fn a_key_that_had_expired_when_it_was_watched_does_not_fail_the_transaction() {
    let mut bench = Bench::new();
    bench.ask(&["SET", "k", "1", "PX", "10"]);
    bench.at(11).ask(&["WATCH", "k"]);
    bench.ask(&["MULTI"]);
    assert_eq!(text(&bench.ask(&["EXEC"])), "[]");
}

#[test]
fn nobody_sees_half_a_transaction() {
    let mut bench = Bench::new();
    bench.ask(&["MULTI"]);
    bench.ask(&["SET", "a", "1"]);
    assert_eq!(text(&bench.ask_as(OTHER, &["GET", "a"])), "nil");
    bench.ask(&["INCR", "a"]);
    bench.ask(&["HGET", "a", "f"]);
    let wrong = "-WRONGTYPE Operation against a key holding the wrong kind of value";
    assert_eq!(text(&bench.ask(&["EXEC"])), format!("[+OK :2 {wrong}]"));
    assert_eq!(text(&bench.ask_as(OTHER, &["GET", "a"])), "\"2\"");
}

#[test]
fn a_connection_that_is_lost_takes_its_transaction_along() {
    let mut bench = Bench::new();
    bench.ask(&["WATCH", "k"]);
    bench.ask(&["MULTI"]);
    bench.ask(&["SET", "k", "1"]);
    bench.node.disconnected(crate::support::CLIENT);
    assert_eq!(text(&bench.ask(&["EXEC"])), "-ERR EXEC without MULTI");
    assert_eq!(text(&bench.ask(&["GET", "k"])), "nil");
}
