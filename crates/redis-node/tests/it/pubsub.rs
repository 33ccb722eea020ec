//! Pub/sub: what is delivered to whom, and what a subscriber may do. Expected texts are redis-server 7.0.15's.

use redis_node::{ConnectionId, Protocol};

use crate::support::{Bench, CLIENT, text};

const OTHER: ConnectionId = ConnectionId(2);
const THIRD: ConnectionId = ConnectionId(3);

#[test]
fn each_name_of_a_subscription_is_confirmed_with_the_count() {
    let mut bench = Bench::new();
    assert_eq!(
        bench.sent(CLIENT, &["SUBSCRIBE", "a", "b", "a"]),
        [
            "1 >[\"subscribe\" \"a\" :1]",
            "1 >[\"subscribe\" \"b\" :2]",
            "1 >[\"subscribe\" \"a\" :2]"
        ]
    );
    assert_eq!(
        bench.sent(CLIENT, &["PSUBSCRIBE", "x*"]),
        ["1 >[\"psubscribe\" \"x*\" :3]"]
    );
    assert_eq!(
        bench.sent(CLIENT, &["UNSUBSCRIBE"]),
        [
            "1 >[\"unsubscribe\" \"a\" :2]",
            "1 >[\"unsubscribe\" \"b\" :1]"
        ]
    );
    assert_eq!(
        bench.sent(CLIENT, &["UNSUBSCRIBE"]),
        ["1 >[\"unsubscribe\" nil :1]"]
    );
    assert_eq!(
        bench.sent(CLIENT, &["PUNSUBSCRIBE", "none", "x*"]),
        [
            "1 >[\"punsubscribe\" \"none\" :1]",
            "1 >[\"punsubscribe\" \"x*\" :0]"
        ]
    );
}

#[test]
fn a_message_reaches_channels_and_patterns_before_the_publisher_has_its_reply() {
    let mut bench = Bench::new();
    bench.sent(OTHER, &["SUBSCRIBE", "news"]);
    bench.sent(THIRD, &["PSUBSCRIBE", "n*", "?ews"]);
    assert_eq!(
        bench.sent(CLIENT, &["PUBLISH", "news", "hello"]),
        [
            "2 >[\"message\" \"news\" \"hello\"]",
            "3 >[\"pmessage\" \"?ews\" \"news\" \"hello\"]",
            "3 >[\"pmessage\" \"n*\" \"news\" \"hello\"]",
            "1 :3"
        ]
    );
    assert_eq!(bench.sent(CLIENT, &["PUBLISH", "else", "hello"]), ["1 :0"]);
}

#[test]
fn scripts_and_transactions_publish_too() {
    let mut bench = Bench::new();
    bench.sent(OTHER, &["SUBSCRIBE", "c"]);
    let message = |text: &str| format!("2 >[\"message\" \"c\" \"{text}\"]");
    let script = "return redis.call('publish', 'c', 'from a script')";
    assert_eq!(
        bench.sent(CLIENT, &["EVAL", script, "0"]),
        [message("from a script"), "1 :1".to_owned()]
    );
    bench.ask(&["MULTI"]);
    bench.ask(&["PUBLISH", "c", "first"]);
    bench.ask(&["PUBLISH", "c", "second"]);
    assert_eq!(
        bench.sent(CLIENT, &["EXEC"]),
        [message("first"), message("second"), "1 [:1 :1]".to_owned()]
    );
}

#[test]
fn a_resp2_subscriber_may_do_little() {
    let mut bench = Bench::new();
    bench.sent(CLIENT, &["SUBSCRIBE", "c"]);
    let refusal = |name: &str| {
        format!(
            "-ERR Can't execute '{name}': only (P|S)SUBSCRIBE / (P|S)UNSUBSCRIBE / PING / QUIT / RESET are \
             allowed in this context"
        )
    };
    assert_eq!(text(&bench.ask(&["GET", "k"])), refusal("get"));
    assert_eq!(text(&bench.ask(&["CLIENT", "ID"])), refusal("client|id"));
    let exec = format!(
        "-EXECABORT Transaction discarded because of: {}",
        &refusal("exec")[5..]
    );
    assert_eq!(text(&bench.ask(&["EXEC"])), exec);
    assert_eq!(text(&bench.ask(&["PING"])), "[\"pong\" \"\"]");
    assert_eq!(text(&bench.ask(&["PING", "x"])), "[\"pong\" \"x\"]");
    assert_eq!(text(&bench.ask(&["RESET"])), "+RESET");
    assert_eq!(text(&bench.ask(&["GET", "k"])), "nil");
}

#[test]
fn a_resp3_subscriber_may_do_anything_and_hears_itself_first() {
    let mut bench = Bench::new();
    bench.ask(&["HELLO", "3"]);
    assert_eq!(bench.node.protocol(CLIENT), Protocol::Resp3);
    bench.sent(CLIENT, &["SUBSCRIBE", "c"]);
    assert_eq!(
        bench.sent(CLIENT, &["PUBLISH", "c", "self"]),
        ["1 >[\"message\" \"c\" \"self\"]", "1 :1"]
    );
    assert_eq!(text(&bench.ask(&["PING"])), "+PONG");
}

#[test]
fn who_is_gone_hears_nothing() {
    let mut bench = Bench::new();
    bench.sent(OTHER, &["SUBSCRIBE", "c"]);
    bench.sent(THIRD, &["PSUBSCRIBE", "*"]);
    assert_eq!(text(&bench.ask(&["PUBSUB", "CHANNELS"])), "[\"c\"]");
    bench.node.disconnected(OTHER);
    bench.ask_as(THIRD, &["RESET"]);
    assert_eq!(bench.sent(CLIENT, &["PUBLISH", "c", "x"]), ["1 :0"]);
    assert_eq!(text(&bench.ask(&["PUBSUB", "CHANNELS"])), "[]");
    assert_eq!(text(&bench.ask(&["PUBSUB", "NUMPAT"])), ":0");
}

#[test]
fn pubsub_counts_who_listens() {
    let mut bench = Bench::new();
    bench.sent(OTHER, &["SUBSCRIBE", "a", "b"]);
    bench.sent(THIRD, &["SUBSCRIBE", "b"]);
    bench.sent(THIRD, &["PSUBSCRIBE", "x*", "y*"]);
    for (words, expected) in [
        (&["PUBSUB", "CHANNELS", "[b-z]"][..], "[\"b\"]"),
        (&["PUBSUB", "NUMSUB"], "[]"),
        (
            &["PUBSUB", "NUMSUB", "a", "b", "none"],
            "[\"a\" :1 \"b\" :2 \"none\" :0]",
        ),
        (&["PUBSUB", "NUMPAT"], ":2"),
        (
            &["PUBSUB", "CHANNELS", "a", "b"],
            "-ERR unknown subcommand or wrong number of arguments for 'CHANNELS'. Try PUBSUB HELP.",
        ),
        (
            &["PUBSUB", "nope"],
            "-ERR unknown subcommand 'nope'. Try PUBSUB HELP.",
        ),
    ] {
        assert_eq!(text(&bench.ask(words)), expected, "{words:?}");
    }
}
