//! The same random commands go over TCP to a real redis-server 7.0 and to the served node: the same comes back.
//!
//! Without the binary the tests say so and pass; with `FENCEPOST_REQUIRE_REDIS=1` they fail.
#![expect(
    clippy::disallowed_types,
    clippy::disallowed_methods,
    reason = "the real server has the machine's clock and a thread of its own"
)]

mod compare;
mod peer;
mod templates;

use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::{Config as RunnerConfig, RngAlgorithm, TestRng, TestRunner};

use compare::{Tree, Verdict, compare};
use peer::{Peer, serve_node};
use templates::{LISTENER, TEMPLATES, command};

use crate::real_server::RedisServer;

type Request = Vec<Vec<u8>>;

fn start() -> Option<RedisServer> {
    RedisServer::start(&[
        "--databases",
        "1",
        "--enable-debug-command",
        "yes",
        "--save",
        "",
    ])
}

/// A command for one of the two connections that each side has.
#[derive(Clone, Debug)]
struct Step {
    listener: bool,
    request: Request,
}

fn step() -> impl Strategy<Value = Step> {
    let of = |templates: &'static [&'static str], listener| {
        prop::sample::select(templates)
            .prop_flat_map(command)
            .prop_map(move |request| Step { listener, request })
    };
    prop_oneof![6 => of(TEMPLATES, false), 1 => of(LISTENER, true)]
}

fn words(text: &str) -> Request {
    text.split(' ')
        .map(|word| word.as_bytes().to_vec())
        .collect()
}

/// The real server and ours, each with a connection that commands and one that listens.
struct Pair {
    main: [Peer; 2],
    listener: [Peer; 2],
    queued: Vec<Request>,
}

impl Pair {
    fn connect(redis: &RedisServer, node: u16) -> Pair {
        let both = || [Peer::connect(redis.port()), Peer::connect(node)];
        let mut main = both();
        for peer in &mut main {
            // A key that was set with a time in the past is there until somebody looks, on both sides.
            peer.ask(&words("DEBUG SET-ACTIVE-EXPIRE 0"));
        }
        Pair {
            main,
            listener: both(),
            queued: Vec::new(),
        }
    }

    fn start_again(&mut self) {
        self.queued.clear();
        for peer in &mut self.main {
            for setup in ["RESET", "CONFIG SET maxmemory 0", "FLUSHALL"] {
                peer.ask(&words(setup));
            }
        }
        for peer in &mut self.listener {
            peer.ask(&words("RESET"));
        }
    }

    /// Both sides at once, so that their clocks are read at nearly the same time. Answers what came back.
    fn run(&mut self, step: &Step) -> (Verdict, String) {
        let request = &step.request;
        let verdict = if step.listener {
            self.listener.iter_mut().for_each(|peer| peer.send(request));
            Verdict::Same
        } else {
            self.main.iter_mut().for_each(|peer| peer.send(request));
            let [theirs, ours] = self
                .main
                .each_mut()
                .map(|peer| Tree::parse(&peer.receive()));
            let shown = format!("\nredis: {theirs:?}\nours:  {ours:?}");
            let verdict = self.judge(request, theirs, ours);
            if verdict != Verdict::Same {
                return (verdict, shown);
            }
            verdict
        };
        let [mut theirs, mut ours] = self.listener.each_mut().map(Peer::drain);
        // Patterns are asked in the order of a hash table.
        if !step.listener {
            theirs.sort();
            ours.sort();
        }
        let heard = |values: &[Vec<u8>]| values.concat().escape_ascii().to_string();
        if theirs != ours {
            let shown = format!("\nredis: {}\nours:  {}", heard(&theirs), heard(&ours));
            return (Verdict::Different, shown);
        }
        (verdict, String::new())
    }

    fn judge(&mut self, request: &Request, theirs: Tree, ours: Tree) -> Verdict {
        if theirs.is_queued() && ours.is_queued() {
            self.queued.push(request.clone());
            return Verdict::Same;
        }
        let verdict = compare(request, &self.queued, theirs, ours);
        if [&b"EXEC"[..], b"DISCARD", b"RESET", b"MULTI"]
            .iter()
            .any(|name| request[0].eq_ignore_ascii_case(name))
            && request.len() == 1
        {
            self.queued.clear();
        }
        verdict
    }
}

/// Scripts are written with tildes for blanks, so that templates split at blanks.
fn with_blanks(mut step: Step) -> Step {
    if step.request[0].eq_ignore_ascii_case(b"EVAL") {
        let parts: Vec<_> = step.request[1].split(|byte| *byte == b'~').collect();
        step.request[1] = parts.join(&b' ');
    }
    step
}

/// A sequence whose times were apart is tried again, since that can be the machine's fault.
const TRIES: usize = 5;

#[test]
fn random_commands_have_the_same_replies() {
    let Some(redis) = start() else {
        return;
    };
    let mut pair = Pair::connect(&redis, serve_node());
    let sequence = prop::collection::vec(step(), 1..40);
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &[7; 32]);
    let mut runner = TestRunner::new_with_rng(RunnerConfig::default(), rng);
    for number in 0..2_000 {
        let steps = sequence
            .new_tree(&mut runner)
            .expect("no filters")
            .current();
        let steps: Vec<Step> = steps.into_iter().map(with_blanks).collect();
        for tries_left in (0..TRIES).rev() {
            pair.start_again();
            let mut shown = Vec::new();
            let mut late = false;
            for step in &steps {
                let side = if step.listener { "listener: " } else { "" };
                shown.push(format!("{side}{}", step.request.join(&b' ').escape_ascii()));
                let (verdict, replies) = pair.run(step);
                let again = verdict == Verdict::Late && tries_left > 0;
                assert!(
                    verdict == Verdict::Same || again,
                    "sequence {number}: {verdict:?} {shown:#?}{replies}"
                );
                if again {
                    late = true;
                    break;
                }
            }
            if !late {
                break;
            }
        }
    }
}

/// Bytes that are no request: the same text, then the connection is closed.
#[test]
fn protocol_errors_have_the_same_text() {
    let broken: [&[u8]; 9] = [
        b"*x\r\n",
        b"*99999999999999999999\r\n",
        b"*1\r\n:1\r\n",
        b"*1\r\n*1\r\n",
        b"*1\r\n$-1\r\n",
        b"*1\r\n$99999999999999\r\n",
        b"get \"k\r\n",
        b"get \"k\"x\r\n",
        b"*1\r\n\r\n",
    ];
    for bytes in broken {
        let Some(redis) = start() else {
            return;
        };
        let mut redis = Peer::connect(redis.port());
        redis.send_bytes(bytes);
        let mut decoder = redis_node::request::Decoder::new(redis_node::request::Limits::default());
        decoder.feed(bytes);
        let ours = decoder.next().map(|request| format!("{request:?}"));
        let theirs = String::from_utf8_lossy(&redis.receive())
            .trim_end()
            .to_owned();
        let ours = format!("-{}", ours.expect_err("these bytes are no request"));
        assert_eq!(ours, theirs, "{}", bytes.escape_ascii());
    }
}

#[test]
fn resp3_and_inline_commands_look_the_same() {
    let Some(server) = start() else {
        return;
    };
    let (mut redis, mut node) = (Peer::connect(server.port()), Peer::connect(serve_node()));
    let script = |text: &str| vec![b"EVAL".to_vec(), text.as_bytes().to_vec(), b"0".to_vec()];
    redis.ask(&words("HELLO 3"));
    node.ask(&words("HELLO 3"));
    for request in [
        words("GET none"),
        words("MGET none none"),
        words("SET k v"),
        words("SET k v GET"),
        words("HSET h f v"),
        words("HGETALL h"),
        words("HGETALL none"),
        words("WATCH k"),
        words("SET k w"),
        words("MULTI"),
        words("EXEC"),
        words("MULTI"),
        words("GET k"),
        words("GET none"),
        words("EXEC"),
        words("NOPE"),
        words("CONFIG GET maxmemory"),
        words("SUBSCRIBE c"),
        words("GET k"),
        words("PING"),
        words("UNSUBSCRIBE c"),
        words("PUNSUBSCRIBE"),
        words("PUBSUB NUMSUB c"),
        script("return true"),
        script("return false"),
        script("return {true, false, 1}"),
        script("redis.setresp(3) return true"),
        script("redis.setresp(3) return redis.call('get','none') == nil"),
        script("return redis.call('hgetall','h')"),
        script("redis.setresp(3) return redis.call('hgetall','h').map.f"),
        script("redis.setresp(3) return redis.call('hgetall','h')"),
        script("return {map={k='v'}}"),
        script("return {double=1.5}"),
        script("return redis.call('hgetall','none')"),
    ] {
        let (theirs, ours) = (redis.ask(&request), node.ask(&request));
        assert_eq!(
            theirs.escape_ascii().to_string(),
            ours.escape_ascii().to_string(),
            "{:?}",
            request.join(&b' ').escape_ascii().to_string()
        );
    }
    redis.ask(&words("HELLO 2"));
    node.ask(&words("HELLO 2"));
    for request in [
        script("return {map={k='v'}}"),
        script("return {double=0.1}"),
    ] {
        assert_eq!(
            redis.ask(&request).escape_ascii().to_string(),
            node.ask(&request).escape_ascii().to_string()
        );
    }
    for peer in [&mut redis, &mut node] {
        peer.send_bytes(b"set k \"a\\x41 b\"\r\n");
        assert_eq!(peer.receive(), b"+OK\r\n");
        assert_eq!(peer.ask(&words("GET k")), b"$4\r\naA b\r\n");
    }
}

/// The wall clock is the one of both: a key is gone when its time is over.
#[test]
fn the_same_key_lives_about_as_long() {
    let Some(redis) = start() else {
        return;
    };
    let mut pair = [Peer::connect(redis.port()), Peer::connect(serve_node())];
    for peer in &mut pair {
        peer.ask(&words("SET k v PX 40"));
    }
    let mut seen = [true; 2];
    while seen.contains(&true) {
        for (peer, seen) in pair.iter_mut().zip(&mut seen) {
            *seen = peer.ask(&words("GET k")) != b"$-1\r\n";
        }
    }
    for peer in &mut pair {
        assert_eq!(peer.ask(&words("PTTL k")), b":-2\r\n");
    }
}
