//! What a lock costs the node: SET NX PX and the release script through `handle`, beside the script alone.
//!
//! `cargo bench -p redis-node` prints nanoseconds, the least of several rounds.
#![expect(
    clippy::disallowed_types,
    clippy::disallowed_methods,
    clippy::print_stdout,
    reason = "it measures with the machine's clock"
)]

use std::time::Instant;

use bytes::Bytes;
use redis_node::{Config, ConnectionId, Disk, Fsync, Lua, Node, Persistence, UnixTime};

/// Short rounds, so that on a busy machine some of them are not interrupted.
const ROUNDS: u32 = 200;
const CALLS: u32 = 2_000;
const RELEASE: &str = "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) else return 0 end";

fn least(name: &str, mut call: impl FnMut()) {
    let round = |_| {
        let start = Instant::now();
        (0..CALLS).for_each(|_| call());
        start.elapsed() / CALLS
    };
    let least = (0..ROUNDS).map(round).min().unwrap_or_default();
    println!("{name:<40} {:>6} ns", least.as_nanos());
}

fn words(words: &[&str]) -> Vec<Bytes> {
    words
        .iter()
        .map(|word| Bytes::copy_from_slice(word.as_bytes()))
        .collect()
}

fn main() {
    let client = ConnectionId(1);
    let now = UnixTime::from_millis(1_700_000_000_000);
    let set = words(&["SET", "lock", "0123456789abcdef0123", "NX", "PX", "30000"]);
    let ping = words(&["PING"]);
    let always = Config {
        persistence: Persistence::Aof {
            fsync: Fsync::Always,
        },
        ..Config::default()
    };
    for (name, config) in [("none", Config::default()), ("always", always)] {
        let mut node = Node::boot(config, Disk::default(), Lua::new(), now);
        let mut call = |request: &[Bytes]| drop(node.handle(now, client, request));
        call(&words(&["SCRIPT", "LOAD", RELEASE]));
        call(&words(&["SCRIPT", "LOAD", "return 0"]));
        let release = sha(RELEASE, &["1", "lock", "0123456789abcdef0123"]);
        let empty = sha("return 0", &["1", "lock", "0123456789abcdef0123"]);
        least(&format!("{name}: PING"), || call(&ping));
        least(&format!("{name}: EVALSHA of an empty script"), || {
            call(&empty)
        });
        least(&format!("{name}: EVALSHA of release, key missing"), || {
            call(&release)
        });
        least(&format!("{name}: SET NX PX and release"), || {
            call(&set);
            call(&release);
        });
    }
}

fn sha(script: &str, rest: &[&str]) -> Vec<Bytes> {
    let name = sha1_smol::Sha1::from(script).digest().to_string();
    [words(&["EVALSHA", &name]), words(rest)].concat()
}
