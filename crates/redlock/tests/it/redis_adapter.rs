//! The adapter to redis-rs: commands, answers, scripts, and the life of a connection.

use std::io::ErrorKind;

use expect_test::expect;
use futures_util::future::{join, join_all, select};
use redis::Value;
use redlock::redis::{EXTEND_SCRIPT, OnTimeout, RELEASE_SCRIPT, RedisNode};
use redlock::{Clock, Compared, Node, NodeError};

use crate::redis_fake::{Act, FakeServer, server_error};
use crate::world::{World, ms};

fn node() -> (World, FakeServer, RedisNode<FakeServer>) {
    let world = World::new(0);
    let server = FakeServer::new(&world);
    let node = RedisNode::new(server.clone());
    (world, server, node)
}

/// Calls and gives up after 10 ms.
fn timed_out(world: &World, call: impl Future) {
    let sleep = world.clock().sleep(ms(10));
    world.run(select(Box::pin(call), Box::pin(sleep)));
}

#[test]
fn set_is_set_nx_px_in_milliseconds() {
    let (world, server, node) = node();
    server.will_answer([Value::Okay]);
    assert_eq!(
        world.run(node.set_nx_px(b"key", b"value", ms(30_000))),
        Ok(true)
    );
    assert_eq!(
        server.state().last,
        ["SET", "key", "value", "NX", "PX", "30000"]
    );
}

#[test]
fn any_other_command_goes_over_the_same_connection() {
    let (world, server, node) = node();
    server.will_answer([Value::Okay, Value::Int(7)]);
    assert_eq!(world.run(node.set_nx_px(b"key", b"value", ms(1))), Ok(true));
    let mut counter = redis::cmd("INCR");
    counter.arg("tokens");
    assert_eq!(world.run(node.command(&counter)), Ok(Value::Int(7)));
    assert_eq!(server.state().last, ["INCR", "tokens"]);
    assert_eq!(server.state().connects, 1);
}

#[test]
fn table_of_answers_to_set() {
    let table = [
        (Value::Okay, "Ok(true)"),
        (Value::SimpleString("OK".into()), "Ok(true)"),
        (Value::Nil, "Ok(false)"),
        (Value::SimpleString("QUEUED".into()), "unexpected answer"),
        (Value::BulkString(b"OK".to_vec()), "unexpected answer"),
        (Value::Int(1), "unexpected answer"),
        (Value::Boolean(true), "unexpected answer"),
        (Value::Array(vec![]), "unexpected answer"),
        (
            server_error("LOADING Redis is loading the dataset in memory"),
            "LOADING Redis is loading",
        ),
        (
            server_error("MISCONF Redis is configured to save RDB snapshots"),
            "MISCONF Redis is",
        ),
        (
            server_error("OOM command not allowed"),
            "OOM command not allowed",
        ),
        (
            server_error("READONLY You can't write against a read only replica."),
            "READONLY You",
        ),
        (
            server_error("BUSY Redis is busy running a script."),
            "BUSY Redis is busy",
        ),
        (
            server_error("NOREPLICAS Not enough good replicas to write."),
            "NOREPLICAS Not enough",
        ),
        (
            server_error("NOAUTH Authentication required."),
            "NOAUTH Authentication required.",
        ),
        (
            server_error("WRONGTYPE Operation against a key"),
            "WRONGTYPE Operation",
        ),
        (
            server_error("ERR invalid expire time in 'set' command"),
            "ERR invalid expire time",
        ),
    ];
    for (answer, expected) in table {
        let (world, server, node) = node();
        server.will_answer([answer.clone()]);
        let said = match world.run(node.set_nx_px(b"k", b"v", ms(1))) {
            Ok(granted) => format!("Ok({granted})"),
            Err(error) => error.to_string(),
        };
        assert!(said.starts_with(expected), "{answer:?}: {said}");
        assert_eq!(server.commands(), ["SET"]);
    }
}

#[test]
fn table_of_answers_to_a_script() {
    let table = [
        (Value::Int(1), Some(Compared::Done)),
        (Value::Int(0), Some(Compared::Missing)),
        (Value::Int(-1), Some(Compared::Foreign)),
        (Value::Int(2), None),
        (Value::Okay, None),
        (Value::Nil, None),
        (Value::Boolean(true), None),
        (Value::BulkString(b"1".to_vec()), None),
        (
            server_error("READONLY You can't write against a read only replica."),
            None,
        ),
        (server_error("BUSY Redis is busy running a script."), None),
    ];
    for (answer, expected) in table {
        let (world, server, node) = node();
        server.will_answer([answer.clone(), answer.clone()]);
        let deleted = world.run(node.compare_and_delete(b"k", b"v"));
        let extended = world.run(node.compare_and_pexpire(b"k", b"v", ms(1)));
        assert_eq!(deleted.ok(), expected, "{answer:?}");
        assert_eq!(extended.ok(), expected, "{answer:?}");
    }
}

#[test]
fn scripts_compare_before_they_act() {
    expect![[r#"
        local held = redis.call('get', KEYS[1])
        if held == ARGV[1] then
            return redis.call('del', KEYS[1])
        elseif held then
            return -1
        else
            return 0
        end
    "#]]
    .assert_eq(&format!("{RELEASE_SCRIPT}\n"));
    expect![[r#"
        local held = redis.call('get', KEYS[1])
        if held == ARGV[1] then
            return redis.call('pexpire', KEYS[1], ARGV[2])
        elseif held then
            return -1
        else
            return 0
        end
    "#]]
    .assert_eq(&format!("{EXTEND_SCRIPT}\n"));
}

#[test]
fn a_script_goes_whole_until_it_was_answered_and_again_if_it_was_forgotten() {
    let (world, server, node) = node();
    server.will_answer([
        Value::Int(1),
        server_error("NOSCRIPT No matching script."),
        Value::Int(1),
        Value::Int(1),
        Value::Int(1),
    ]);
    for _ in 0..3 {
        let deleted = world.run(node.compare_and_delete(b"k", b"v"));
        assert_eq!(deleted, Ok(Compared::Done));
        assert_eq!(server.state().last[2..], ["1", "k", "v"]);
    }
    // Another script has not been answered yet.
    let extended = world.run(node.compare_and_pexpire(b"k", b"v", ms(1)));
    assert_eq!(extended, Ok(Compared::Done));
    assert_eq!(
        server.commands(),
        ["EVAL", "EVALSHA", "EVAL", "EVALSHA", "EVAL"]
    );
}

/// A server behind a new connection may be another one, or the same after a restart.
#[test]
fn a_script_goes_whole_on_a_new_connection() {
    let (world, server, node) = node();
    server.will([
        Act::Answer(Value::Int(1)),
        Act::Fail(ErrorKind::ConnectionReset),
        Act::Answer(Value::Int(1)),
    ]);
    assert!(world.run(node.compare_and_delete(b"k", b"v")).is_ok());
    assert!(world.run(node.compare_and_delete(b"k", b"v")).is_err());
    assert!(world.run(node.compare_and_delete(b"k", b"v")).is_ok());
    assert_eq!(server.commands(), ["EVAL", "EVALSHA", "EVAL"]);
}

#[test]
fn no_command_is_sent_again_after_a_broken_connection() {
    let (world, server, node) = node();
    server.will([
        Act::Fail(ErrorKind::ConnectionReset),
        Act::Answer(Value::Nil),
    ]);
    let broken = world.run(node.set_nx_px(b"k", b"v", ms(1)));
    assert!(
        matches!(broken, Err(NodeError::Connection(_))),
        "{broken:?}"
    );
    assert_eq!(server.commands(), ["SET"]);
    assert_eq!(world.run(node.set_nx_px(b"k", b"v", ms(1))), Ok(false));
    assert_eq!(
        server.state().commands,
        [(1, "SET".into()), (2, "SET".into())]
    );
}

#[test]
fn every_kind_of_broken_connection_is_replaced() {
    use ErrorKind::{BrokenPipe, ConnectionAborted, NotConnected, TimedOut, UnexpectedEof};
    for kind in [
        BrokenPipe,
        ConnectionAborted,
        NotConnected,
        TimedOut,
        UnexpectedEof,
    ] {
        let (world, server, node) = node();
        server.will([Act::Fail(kind), Act::Answer(Value::Okay)]);
        assert!(world.run(node.set_nx_px(b"k", b"v", ms(1))).is_err());
        assert_eq!(
            world.run(node.set_nx_px(b"k", b"v", ms(1))),
            Ok(true),
            "{kind:?}"
        );
        assert_eq!(server.state().connects, 2, "{kind:?}");
    }
}

#[test]
fn an_error_of_the_server_keeps_the_connection() {
    let (world, server, node) = node();
    server.will_answer([server_error("LOADING wait"), Value::Okay]);
    assert!(world.run(node.set_nx_px(b"k", b"v", ms(1))).is_err());
    assert_eq!(world.run(node.set_nx_px(b"k", b"v", ms(1))), Ok(true));
    assert_eq!(server.state().connects, 1);
}

#[test]
fn refused_connection_is_an_error_and_tried_again_by_the_next_call() {
    let (world, server, node) = node();
    server.state().connect_error = Some(ErrorKind::ConnectionRefused);
    let refused = world.run(node.set_nx_px(b"k", b"v", ms(1)));
    assert!(matches!(refused, Err(NodeError::Connect(_))), "{refused:?}");
    server.state().connect_error = None;
    server.will_answer([Value::Okay]);
    assert_eq!(world.run(node.set_nx_px(b"k", b"v", ms(1))), Ok(true));
}

#[test]
fn nothing_connects_before_the_first_command_and_one_connect_is_in_flight() {
    let (world, server, node) = node();
    assert_eq!(server.state().connects_begun, 0);
    server.state().connect_takes = ms(5);
    server.will_answer([Value::Nil, Value::Nil, Value::Nil]);
    let calls = (0..3).map(|_| node.set_nx_px(b"k", b"v", ms(1)));
    assert_eq!(
        world.run(join_all(calls)),
        [Ok(false), Ok(false), Ok(false)]
    );
    assert_eq!(server.state().connects_begun, 1);
}

#[test]
fn a_connect_that_takes_too_long_is_dropped_and_does_not_block_the_next() {
    let (world, server, node) = node();
    server.state().connect_takes = ms(1_000_000);
    timed_out(&world, node.set_nx_px(b"k", b"v", ms(1)));
    server.state().connect_takes = ms(1);
    server.will_answer([Value::Okay]);
    assert_eq!(world.run(node.set_nx_px(b"k", b"v", ms(1))), Ok(true));
    assert_eq!(
        server.commands(),
        ["SET"],
        "nothing was sent by the call that gave up"
    );
}

#[test]
fn ready_connects_without_a_command() {
    let (world, server, node) = node();
    assert_eq!(world.run(node.ready()), Ok(()));
    assert_eq!(server.state().connects, 1);
    assert_eq!(server.commands(), [""; 0]);
}

#[test]
fn a_timeout_keeps_the_connection_or_replaces_it_by_policy() {
    for (policy, connects) in [(OnTimeout::Keep, 1), (OnTimeout::Reconnect, 2)] {
        let world = World::new(0);
        let server = FakeServer::new(&world);
        let node = RedisNode::with_on_timeout(server.clone(), policy);
        server.will([Act::Hang, Act::Answer(Value::Int(1))]);
        timed_out(&world, node.set_nx_px(b"k", b"v", ms(1)));
        assert_eq!(
            world.run(node.compare_and_delete(b"k", b"v")),
            Ok(Compared::Done)
        );
        assert_eq!(server.state().connects, connects, "{policy:?}");
    }
}

#[test]
fn a_late_failure_does_not_take_down_the_next_connection() {
    let world = World::new(0);
    let server = FakeServer::new(&world);
    let node = RedisNode::with_on_timeout(server.clone(), OnTimeout::Reconnect);
    server.will([
        Act::Hang,
        Act::Fail(ErrorKind::ConnectionReset),
        Act::Answer(Value::Okay),
    ]);
    // Two commands on the first connection: one breaks it, and the other gives up after a second one stands.
    let hanging = node.set_nx_px(b"k", b"v", ms(1));
    let others = async {
        assert!(node.set_nx_px(b"k", b"v", ms(1)).await.is_err());
        assert_eq!(node.set_nx_px(b"k", b"v", ms(1)).await, Ok(true));
    };
    timed_out(&world, join(hanging, others));
    server.will_answer([Value::Okay]);
    assert_eq!(world.run(node.set_nx_px(b"k", b"v", ms(1))), Ok(true));
    assert_eq!(server.state().connects, 2);
}
