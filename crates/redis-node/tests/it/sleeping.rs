//! `DEBUG SLEEP`: nobody is answered until it is over, and then everybody, in order.

use redis_node::{Config, ConnectionId, Disk, Lua, UnixTime};

use crate::support::{Bench, CLIENT, START, request, sent, text};

const OTHER: ConnectionId = ConnectionId(2);

fn bench() -> Bench {
    let config = Config {
        debug_command: true,
        ..Config::default()
    };
    Bench::with(config, Disk::default(), &Lua::new())
}

#[test]
fn without_permission_it_is_refused() {
    let reply = text(&Bench::new().ask(&["DEBUG", "SLEEP", "1"]));
    assert!(
        reply.starts_with("-ERR DEBUG command not allowed."),
        "{reply}"
    );
}

#[test]
fn requests_wait_until_the_sleep_is_over() {
    let mut bench = bench();
    bench.ask(&["SET", "k", "v", "PX", "100"]);
    assert!(
        bench
            .effects(CLIENT, &["DEBUG", "SLEEP", "0.5"])
            .replies
            .is_empty()
    );
    let end = UnixTime::from_millis(START + 500);
    assert_eq!(bench.node.next_deadline(), Some(end));
    bench.at(100);
    assert!(bench.effects(OTHER, &["GET", "k"]).replies.is_empty());
    assert!(bench.effects(CLIENT, &["PING"]).replies.is_empty());
    assert!(bench.effects(OTHER, &["QUIT"]).replies.is_empty());
    assert!(
        bench
            .effects(OTHER, &["SET", "k", "late"])
            .replies
            .is_empty()
    );
    assert!(bench.node.tick(UnixTime(end.0 - 1)).replies.is_empty());
    let woken = bench.node.tick(end);
    // The key ran out meanwhile; after QUIT nothing of that connection counts.
    assert_eq!(sent(&woken), ["1 +OK", "2 nil", "1 +PONG", "2 +OK"]);
    assert_eq!(bench.node.take_closed(), [OTHER]);
    assert_eq!(text(&bench.at(600).ask(&["GET", "k"])), "nil");
}

#[test]
fn a_request_after_the_end_wakes_the_node_as_well() {
    let mut bench = bench();
    bench.effects(CLIENT, &["DEBUG", "SLEEP", "0.1"]);
    bench.effects(OTHER, &["DEBUG", "SLEEP", "0.1"]);
    let woken = bench.at(100).effects(CLIENT, &["PING"]);
    // The second sleep begins where the first ended.
    assert_eq!(sent(&woken), ["1 +OK"]);
    let woken = bench.node.tick(UnixTime::from_millis(START + 200));
    assert_eq!(sent(&woken), ["2 +OK", "1 +PONG"]);
}

#[test]
fn what_a_transaction_did_before_it_slept_is_done() {
    let mut bench = bench();
    bench.ask(&["MULTI"]);
    bench.ask(&["SET", "k", "v"]);
    bench.ask(&["DEBUG", "SLEEP", "1"]);
    let asleep = bench.effects(CLIENT, &["EXEC"]);
    assert_eq!((asleep.replies.len(), asleep.touches.len()), (0, 1));
    bench.node.disconnected(CLIENT);
    let woken = bench.node.tick(UnixTime::from_millis(START + 1000));
    assert_eq!(sent(&woken), ["1 [+OK +OK]"]);
}

#[test]
fn what_arrives_meanwhile_is_bounded() {
    let mut bench = bench();
    bench.effects(CLIENT, &["DEBUG", "SLEEP", "10"]);
    let large = request(&["SET", "k", &"x".repeat(1 << 20)]);
    let closed = (0..100).any(|_| bench.node.handle(bench.now, OTHER, &large).close);
    assert!(closed);
}

#[test]
fn the_active_cycle_can_be_switched_off() {
    let mut bench = bench();
    bench.ask(&["SET", "k", "v", "PX", "10"]);
    bench.ask(&["DEBUG", "SET-ACTIVE-EXPIRE", "0"]);
    assert_eq!(bench.node.next_deadline(), None);
    bench.at(1000);
    assert!(bench.node.tick(bench.now).touches.is_empty());
    bench.ask(&["DEBUG", "SET-ACTIVE-EXPIRE", "1"]);
    assert_eq!(bench.node.tick(bench.now).touches.len(), 1);
}
