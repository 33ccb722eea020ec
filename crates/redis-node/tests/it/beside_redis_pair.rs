//! A primary and a replica beside a real pair of redis-servers 7.0: what persistence and replication answer, by word.
//!
//! Numbers and addresses differ from run to run, so each run of digits counts as `#`, and each host as `host`.
//! Without the binary the test says so and passes; with `FENCEPOST_REQUIRE_REDIS=1` it fails.
#![expect(
    clippy::disallowed_types,
    clippy::disallowed_methods,
    reason = "the real servers have the machine's clock"
)]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use redis_node::{Config, Persistence};

use crate::cluster::Cluster;
use crate::real_server::RedisServer;

/// A real server and a connection to it.
struct Real {
    server: RedisServer,
    stream: BufReader<TcpStream>,
}

impl Real {
    fn start(options: &[&str]) -> Option<Real> {
        let at_once = ["--repl-diskless-sync-delay", "0"];
        let server = RedisServer::start(&[&at_once, options].concat())?;
        let stream = TcpStream::connect(("127.0.0.1", server.port())).expect("it accepts");
        let stream = BufReader::new(stream);
        Some(Real { server, stream })
    }

    fn ask(&mut self, words: &[&str]) -> String {
        let mut bytes = format!("*{}\r\n", words.len());
        for word in words {
            bytes += &format!("${}\r\n{word}\r\n", word.len());
        }
        self.stream
            .get_mut()
            .write_all(bytes.as_bytes())
            .expect("sent");
        self.value()
    }

    /// In the short form of the tests' own `text`.
    fn value(&mut self) -> String {
        let mut line = String::new();
        assert_ne!(self.stream.read_line(&mut line).expect("read"), 0, "closed");
        let line = line.trim_end();
        let count = || line[1..].parse::<i64>().expect("a length");
        match line.as_bytes()[0] {
            b'$' if count() < 0 => "nil".to_owned(),
            b'*' if count() < 0 => "nil array".to_owned(),
            b'$' => {
                let mut bytes = vec![0; usize::try_from(count()).expect("positive") + 2];
                self.stream.read_exact(&mut bytes).expect("read");
                format!("\"{}\"", bytes[..bytes.len() - 2].escape_ascii())
            }
            b'*' => {
                let items: Vec<_> = (0..count()).map(|_| self.value()).collect();
                format!("[{}]", items.join(" "))
            }
            _ => line.to_owned(),
        }
    }
}

/// Asks again and again, for ten seconds at most.
fn until<T>(what: &str, mut ask: impl FnMut() -> Option<T>) -> T {
    let start = Instant::now();
    while start.elapsed() < Duration::from_secs(10) {
        if let Some(answer) = ask() {
            return answer;
        }
        std::thread::yield_now();
    }
    panic!("waited too long for {what}");
}

fn shape(text: &str) -> String {
    let text = text
        .replace("127.0.0.1", "host")
        .replace("node0", "host")
        .replace("node1", "host");
    let mut shape = String::new();
    for character in text.chars() {
        if !character.is_ascii_digit() {
            shape.push(character);
        } else if !shape.ends_with('#') {
            shape.push('#');
        }
    }
    shape
}

fn compare(theirs: &str, ours: &str, words: &[&str]) {
    assert_eq!(shape(ours), shape(theirs), "{words:?}");
}

const ON_THE_PRIMARY: &[&[&str]] = &[
    &["ROLE"],
    &["ROLE", "x"],
    &["LASTSAVE"],
    &["LASTSAVE", "x"],
    &["SAVE"],
    &["SAVE", "x"],
    &["BGSAVE", "x"],
    &["BGSAVE", "a", "b"],
    &["BGREWRITEAOF", "x"],
    &["WAIT", "1", "-1"],
    &["WAIT", "a", "1"],
    &["WAIT", "1", "a"],
    &["WAIT", "1"],
    &["WAIT", "0", "0"],
    &["REPLICAOF", "127.0.0.1", "x"],
    &["REPLICAOF", "127.0.0.1", "-1"],
    &["REPLICAOF", "127.0.0.1", "70000"],
    &["REPLICAOF", "a"],
    &["REPLICAOF", "NO", "ONE"],
    &["SLAVEOF", "no", "one"],
    &["SHUTDOWN", "x"],
    &["SHUTDOWN", "SAVE", "NOSAVE"],
    &["SHUTDOWN", "ABORT"],
    &["SHUTDOWN", "ABORT", "NOW"],
    &["MULTI"],
    &["SAVE"],
    &["SHUTDOWN"],
    &["BGSAVE"],
    &["EXEC"],
    &["MULTI"],
    &["ROLE"],
    &["LASTSAVE"],
    &["EXEC"],
    &["MULTI"],
    &["SET", "k", "v"],
    &["WAIT", "0", "0"],
    &["EXEC"],
    &["EVAL", "return redis.call('wait', 0, 0)", "0"],
    &["EVAL", "return redis.call('role')", "0"],
    &["CONFIG", "SET", "min-replicas-to-write", "x"],
    &["CONFIG", "SET", "min-replicas-to-write", "-1"],
    &["CONFIG", "SET", "repl-timeout", "0"],
    &["CONFIG", "SET", "repl-timeout", "x"],
    &["CONFIG", "SET", "repl-ping-slave-period", "-1"],
    &["CONFIG", "SET", "repl-backlog-size", "x"],
    &["CONFIG", "SET", "repl-backlog-size", "0"],
    &["CONFIG", "SET", "repl-backlog-size", "100kb"],
    &["CONFIG", "SET", "save", "1"],
    &["CONFIG", "SET", "save", "10 2  5 100"],
    &["CONFIG", "SET", "save", "10 -1"],
    &["CONFIG", "SET", "appendfsync", "often"],
    &["CONFIG", "SET", "appendfsync", "NO"],
    &["CONFIG", "SET", "min-replicas-max-lag", "99999999999"],
    &["CONFIG", "SET", "replica-serve-stale-data", "x"],
    &["CONFIG", "SET", "min-slaves-to-write", "5"],
    &["SET", "k", "v"],
    &["EVAL", "return redis.call('set', 'k', 'v')", "0"],
    &["EVAL", "return redis.pcall('set', 'k', 'v')", "0"],
    &["EVAL", "#!lua\nreturn 1", "0"],
    &["EVAL", "return 1", "0"],
    &["MULTI"],
    &["SET", "k", "v"],
    &["EXEC"],
    &["GET", "k"],
    &["CONFIG", "SET", "min-replicas-to-write", "0"],
];

const ON_THE_REPLICA: &[&[&str]] = &[
    &["ROLE"],
    &["SET", "k", "w"],
    &["DEL", "k"],
    &["FLUSHALL"],
    &["GET", "k"],
    &["EVAL", "return redis.call('set', 'k', 'v')", "0"],
    &["EVAL", "return redis.pcall('set', 'k', 'v')", "0"],
    &["EVAL", "#!lua\nreturn 1", "0"],
    &["EVAL", "#!lua flags=no-writes\nreturn 1", "0"],
    &["EVAL", "return redis.call('get', 'k')", "0"],
    &["MULTI"],
    &["SET", "k", "w"],
    &["EXEC"],
    &["MULTI"],
    &["GET", "k"],
    &["EXEC"],
    &["WAIT", "1", "1"],
    &["CONFIG", "SET", "replica-serve-stale-data", "no"],
    &["GET", "k"],
];

const ON_A_LONELY_REPLICA: &[&[&str]] = &[
    &["GET", "k"],
    &["PING"],
    &["SET", "k", "v"],
    &["EVAL", "return 1", "0"],
    &["WAIT", "1", "1"],
    &["MULTI"],
    &["GET", "k"],
    &["EXEC"],
    &["REPLICAOF", "NO", "ONE"],
    &["GET", "k"],
    &["SET", "k", "w"],
];

#[test]
fn a_pair_answers_like_a_real_one() {
    let save = ["--save", "3600", "1"];
    let Some(mut primary) = Real::start(&save) else {
        return;
    };
    let follows = [
        "--replicaof",
        "127.0.0.1",
        &primary.server.port().to_string(),
    ];
    let Some(mut replica) = Real::start(&[&save[..], &follows].concat()) else {
        return;
    };
    let config = Config {
        persistence: Persistence::Rdb,
        save: vec![redis_node::SavePoint {
            seconds: 3600,
            changes: 1,
        }],
        ..Config::default()
    };
    let mut ours = Cluster::new(&config, 1);
    ours.run(1_000);
    until("the replica", || {
        let follows = replica.ask(&["ROLE"]).contains("\"connected\"");
        (follows && primary.ask(&["ROLE"]).matches('[').count() == 3).then_some(())
    });
    for words in ON_THE_PRIMARY {
        compare(&primary.ask(words), &ours.ask(0, words), words);
    }
    // One of the two replicas that are asked for is there.
    for words in [
        &["SET", "k", "v"][..],
        &["WAIT", "1", "5000"],
        &["WAIT", "2", "100"],
    ] {
        let theirs = primary.ask(words);
        let mut own = ours.ask(0, words);
        if own == "later" {
            ours.run(200);
            own = ours.late.pop().expect("an answer").2;
        }
        assert_eq!(own, theirs, "{words:?}");
    }
    for words in ON_THE_REPLICA {
        compare(&replica.ask(words), &ours.ask(1, words), words);
    }
    let port = primary.server.port().to_string();
    let again = "+OK Already connected to specified master";
    assert_eq!(replica.ask(&["REPLICAOF", "127.0.0.1", &port]), again);
    assert_eq!(ours.ask(1, &["REPLICAOF", "node0", "7000"]), again);
    drop(primary);
    ours.stop(0, redis_node::Stop::Kill);
    until("the lost link", || {
        (!replica.ask(&["ROLE"]).contains("\"connected\"")).then_some(())
    });
    for words in ON_A_LONELY_REPLICA {
        compare(&replica.ask(words), &ours.ask(1, words), words);
    }
}

#[test]
fn a_server_that_cannot_save_answers_like_a_real_one() {
    let Some(mut real) = Real::start(&["--save", "3600", "1"]) else {
        return;
    };
    let config = Config {
        persistence: Persistence::Rdb,
        ..Config::default()
    };
    let mut ours = Cluster::new(&config, 0);
    std::fs::remove_dir_all(real.server.directory()).expect("our own directory");
    ours.node(0).set_disk_full(true);
    for words in [&["SAVE"][..], &["BGSAVE"]] {
        compare(&real.ask(words), &ours.ask(0, words), words);
    }
    until("the failed snapshot", || {
        let info = real.ask(&["INFO", "persistence"]);
        info.contains("rdb_last_bgsave_status:err").then_some(())
    });
    let asked: [&[&str]; 15] = [
        &["SET", "k", "v"],
        &["PING"],
        &["GET", "k"],
        &["EVAL", "return redis.call('set', 'k', 'v')", "0"],
        &["EVAL", "#!lua\nreturn 1", "0"],
        &["EVAL", "return 1", "0"],
        &["MULTI"],
        &["SET", "k", "v"],
        &["EXEC"],
        &["MULTI"],
        &["GET", "k"],
        &["EXEC"],
        &["SAVE"],
        &["BGREWRITEAOF"],
        &["SHUTDOWN"],
    ];
    for words in asked {
        compare(&real.ask(words), &ours.ask(0, words), words);
    }
}
