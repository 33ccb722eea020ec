//! What holds of disks and replicas whatever happens, in whatever order.

use std::time::Duration;

use bytes::Bytes;
use proptest::prelude::*;
use redis_node::{Config, Disk, Fsync, LinkId, Lua, Node, Persistence, Stop, UnixTime};

use crate::cluster::{Cluster, address};
use crate::support::{Bench, START, request, text};

fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

fn write() -> impl Strategy<Value = Vec<String>> {
    let key = prop::sample::select(vec!["a", "b", "c"]);
    let script = "redis.call('set', KEYS[1], ARGV[1], 'PX', 500) redis.call('incr', 'n') return 1";
    (key, 0..10usize, 1u64..3_000).prop_map(move |(key, kind, number)| {
        let number = &number.to_string();
        match kind {
            0 => words(&["SET", key, number]),
            1 => words(&["SET", key, number, "PX", number]),
            2 => words(&["SET", key, number, "NX", "PX", number]),
            3 => words(&["DEL", key]),
            4 => words(&["INCR", "n"]),
            5 => words(&["PEXPIRE", key, number]),
            6 => words(&["PERSIST", key]),
            7 => words(&["EVAL", script, "1", key, number]),
            8 => words(&["HSET", "h", key, number]),
            _ => words(&["MSET", key, number, "c", "1"]),
        }
    })
}

/// Something that happens to a cluster.
#[derive(Clone, Debug)]
enum Step {
    Write(Vec<String>),
    Pass(u64),
    /// A message arrives, at one end of some link, perhaps in pieces.
    Deliver {
        link: usize,
        end: usize,
        split: Option<usize>,
    },
    Break {
        link: usize,
    },
    Settle,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => write().prop_map(Step::Write),
        2 => (1u64..1_500).prop_map(Step::Pass),
        6 => (0..4usize, 0..2usize, prop::option::of(0..200usize))
            .prop_map(|(link, end, split)| Step::Deliver { link, end, split }),
        1 => (0..4usize).prop_map(|link| Step::Break { link }),
        1 => Just(Step::Settle),
    ]
}

fn borrow(words: &[String]) -> Vec<&str> {
    words.iter().map(String::as_str).collect()
}

/// Keys, values and absolute expiries of a node as a client sees them, whatever had expired left out.
fn dump(node: &mut Node, now: UnixTime) -> Vec<String> {
    let mut ask = |words: &[&str]| {
        let effects = node.handle(now, crate::support::CLIENT, &request(words));
        text(&effects.replies[0].1)
    };
    let mut all = Vec::new();
    for key in ["a", "b", "c", "n"] {
        let value = ask(&["GET", key]);
        all.push(format!("{value}@{}", ask(&["PEXPIRETIME", key])));
    }
    all.push(ask(&["HGETALL", "h"]));
    all
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, ..ProptestConfig::default() })]

    /// Whatever is delivered, delayed, cut into pieces or lost: what a replica has is what the primary had at some
    /// time, and each later look is at a later time. So it is when it is promoted, too.
    #[test]
    fn a_replica_is_a_prefix_of_its_primarys_history(
        steps in prop::collection::vec(step(), 1..80),
        backlog in prop_oneof![Just(50usize), Just(1 << 20)],
    ) {
        let mut config = Config::default();
        config.replication.backlog_bytes = backlog;
        let mut cluster = Cluster::new(&config, 2);
        // Everything that the primary ever was, by what is in its keys; nothing expires by looking at a replica.
        let mut history = vec![keys(&mut cluster, 0)];
        let mut seen = [0usize; 3];
        for step in steps {
            match step {
                Step::Write(words) => drop(cluster.ask(0, &borrow(&words))),
                Step::Pass(millis) => {
                    // One deadline at a time, or the primary would pass through states that nobody noted.
                    for _ in 0..millis.div_ceil(10) {
                        cluster.pass(10.min(millis));
                        note(&mut history, keys(&mut cluster, 0));
                    }
                }
                Step::Deliver { link, end, split } => {
                    let links = cluster.links();
                    if !links.is_empty() {
                        cluster.deliver(links[link % links.len()], end, split);
                    }
                }
                Step::Break { link } => {
                    let links = cluster.links();
                    if !links.is_empty() {
                        cluster.break_link(links[link % links.len()], None);
                    }
                }
                Step::Settle => cluster.settle(),
            }
            note(&mut history, keys(&mut cluster, 0));
            for replica in [1, 2] {
                let now = keys(&mut cluster, replica);
                let found = (seen[replica]..history.len()).find(|at| history[*at] == now);
                prop_assert!(found.is_some(), "replica {replica} has {now:?} after {seen:?} of {history:#?}");
                seen[replica] = found.unwrap_or_default();
            }
        }
        // Once all is delivered, they are the same.
        cluster.run(3_000);
        let primary = keys(&mut cluster, 0);
        prop_assert_eq!(&keys(&mut cluster, 1), &primary);
        prop_assert_eq!(&keys(&mut cluster, 2), &primary);
        // Promotion changes who decides, and no key.
        cluster.ask(1, &["REPLICAOF", "NO", "ONE"]);
        prop_assert_eq!(&keys(&mut cluster, 1), &primary);
    }

    /// A primary that comes back empty empties its replicas, whatever they had.
    #[test]
    fn an_empty_primary_empties_its_replicas(steps in prop::collection::vec(step(), 1..30)) {
        let mut cluster = Cluster::new(&Config::default(), 2);
        for step in steps {
            match step {
                Step::Write(words) => drop(cluster.ask(0, &borrow(&words))),
                Step::Pass(millis) => cluster.pass(millis),
                _ => cluster.settle(),
            }
        }
        cluster.stop(0, Stop::Kill);
        cluster.boot(0, &Config::default(), Disk::default(), None);
        cluster.run(2_500);
        for replica in [1, 2] {
            prop_assert_eq!(cluster.ask(replica, &["DBSIZE"]), ":0");
        }
    }

    /// With `everysec` a power loss takes no write that is older than max(1 s, f) + f, where an fsync takes f; a
    /// kill takes none unless an fsync runs, and then none older than f. What is left is a prefix.
    #[test]
    fn everysec_keeps_to_its_window(
        writes in prop::collection::vec((write(), 0u64..700), 1..40),
        rest in 0u64..1_500,
        fsync in prop_oneof![Just(0u64), 1u64..400, 1_000u64..1_900],
        how in prop_oneof![Just(Stop::Kill), Just(Stop::PowerLoss)],
    ) {
        let mut config = Config { persistence: Persistence::Aof { fsync: Fsync::EverySec }, ..Config::default() };
        config.disk.fsync_takes = Duration::from_millis(fsync);
        config.debug_command = true;
        let lua = Lua::new();
        let mut bench = Bench::with(config.clone(), Disk::default(), &lua);
        let mut model = Bench::with(Config { persistence: Persistence::None, ..config.clone() }, Disk::default(), &lua);
        // Without the active cycle the log is what the commands did, and nothing else.
        for node in [&mut bench, &mut model] {
            node.ask(&["DEBUG", "SET-ACTIVE-EXPIRE", "0"]);
        }
        let mut states = vec![(0, dump(&mut model.node, model.now))];
        let mut millis = 0;
        for (words, wait) in &writes {
            millis += wait;
            advance(&mut bench, millis);
            model.now = bench.now;
            advance(&mut model, millis);
            prop_assert_eq!(bench.ask(&borrow(words)), model.ask(&borrow(words)));
            let end = UnixTime::from_millis(START);
            states.push((millis, dump(&mut model.node, end)));
        }
        let end = millis + rest;
        advance(&mut bench, end);
        let stopped = bench.now;
        let disk = bench.node.stop(how, stopped);
        let mut left = Bench::with(config, disk, &lua);
        // At the beginning of time nothing has expired, so the keys are seen as they were written.
        let left = dump(&mut left.node, UnixTime::from_millis(START));
        let window = match how {
            Stop::Kill => fsync,
            _ => fsync.max(1_000) + fsync,
        };
        let safe = states.iter().rposition(|(at, _)| *at == 0 || at + window <= end).unwrap_or(0);
        prop_assert!(
            states[safe..].iter().any(|(_, state)| *state == left),
            "{how:?} at {end} left {left:?}, but {:?} was safe", states[safe]
        );
    }

    /// What is loaded is what was there, from a log and from a snapshot, expiries included.
    #[test]
    fn reloading_changes_nothing(writes in prop::collection::vec(write(), 1..40), aof in any::<bool>(), rewritten in any::<bool>()) {
        let persistence = if aof { Persistence::Aof { fsync: Fsync::EverySec } } else { Persistence::Rdb };
        let config = Config { persistence, ..Config::default() };
        let lua = Lua::new();
        let mut bench = Bench::with(config.clone(), Disk::default(), &lua);
        for words in &writes {
            bench.ask(&borrow(words));
        }
        if rewritten {
            bench.ask(&["BGREWRITEAOF"]);
        }
        let now = bench.now;
        let before = dump(&mut bench.node, now);
        let disk = bench.node.stop(Stop::Shutdown, now);
        let mut next = Bench::with(config.clone(), disk, &lua);
        prop_assert_eq!(dump(&mut next.node, now), before.clone());
        let again = next.node.stop(Stop::Shutdown, now);
        let mut again = Bench::with(config, again, &lua);
        prop_assert_eq!(dump(&mut again.node, now), before);
    }

    /// A peer that is none: any bytes on any link, at both ends. The node lives on and serves its clients.
    #[test]
    fn any_bytes_on_a_link_do_no_harm(
        pieces in prop::collection::vec((0..3u8, piece()), 1..30),
        times in prop::collection::vec(0u64..90_000, 1..10),
    ) {
        let mut cluster = Cluster::new(&Config::default(), 0);
        let now = cluster.now;
        cluster.ask(0, &["SET", "k", "v"]);
        let mut replica = Config::default();
        replica.replication.replica_of = Some(address(0));
        let mut follower = Node::boot(replica, Disk::default(), Lua::new(), now);
        follower.tick(now);
        follower.link_opened(now, LinkId::Outgoing(1), &address(0));
        let primary = cluster.node(0);
        primary.link_opened(now, LinkId::Incoming(1), &address(5));
        let mut at = now;
        let mut times = times.into_iter().cycle();
        for (kind, bytes) in pieces {
            match kind {
                0 => drop(primary.link_received(at, LinkId::Incoming(1), bytes)),
                1 => drop(follower.link_received(at, LinkId::Outgoing(1), bytes)),
                _ => {
                    at = UnixTime(at.0 + times.next().unwrap_or(0) * 1_000_000);
                    primary.tick(at);
                    follower.tick(at);
                }
            }
        }
        let reply = primary.handle(at, crate::support::CLIENT, &request(&["GET", "k"])).replies.remove(0).1;
        prop_assert_eq!(text(&reply), "\"v\"");
        prop_assert_eq!(follower.handle(at, crate::support::CLIENT, &request(&["PING"])).replies.len(), 1);
    }
}

/// Words of the protocol, in and out of order, and bytes that are none.
fn piece() -> impl Strategy<Value = Bytes> {
    let known = prop::sample::select(vec![
        "+PONG\r\n",
        "+OK\r\n",
        "+OK\r\n+OK\r\n",
        "+CONTINUE 0000000000000000000000000000000000000000\r\n",
        "+FULLRESYNC 0000000000000000000000000000000000000000 18446744073709551615\r\n",
        "+FULLRESYNC 0000000000000000000000000000000000000000 9223372036854775807\r\n$0\r\n",
        "+FULLRESYNC 0000000000000000000000000000000000000000 7\r\n$27\r\n*3\r\n$3\r\nSET\r\n$1\r\na\r\n$1\r\nb\r\n",
        "$-1\r\n",
        "$99999999999999999\r\n",
        "*1\r\n$5\r\nMULTI\r\n",
        "*1\r\n$4\r\nEXEC\r\n",
        "*2\r\n$3\r\nGET\r\n$1\r\nk\r\n",
        "*2\r\n$3\r\nSET\r\n$1\r\nk\r\n",
        "*3\r\n$8\r\nREPLCONF\r\n$6\r\nGETACK\r\n$1\r\n*\r\n",
        "PING\r\n",
        "PSYNC ? -1\r\n",
        "PSYNC 0000000000000000000000000000000000000000 9223372036854775807\r\n",
        "REPLCONF ACK 9223372036854775807\r\n",
        "REPLCONF listening-port 1 capa eof\r\n",
        "FLUSHALL\r\n",
        "-LOADING\r\n",
        "\n\n",
    ]);
    prop_oneof![
        4 => known.prop_map(|text| Bytes::from_static(text.as_bytes())),
        1 => prop::collection::vec(any::<u8>(), 0..60).prop_map(Bytes::from),
    ]
}

/// Lets the clock come to so many milliseconds after the start, with every deadline on the way.
fn advance(bench: &mut Bench, millis: u64) {
    let end = UnixTime::from_millis(START + millis);
    while let Some(deadline) = bench
        .node
        .next_deadline()
        .filter(|deadline| *deadline <= end)
    {
        bench.now = bench.now.max(deadline);
        bench.node.tick(bench.now);
    }
    bench.now = end;
}

/// The keys as they are, seen from the beginning of time so that none has expired.
fn keys(cluster: &mut Cluster, node: usize) -> Vec<String> {
    dump(cluster.node(node), UnixTime::from_millis(START))
}

fn note(history: &mut Vec<Vec<String>>, now: Vec<String>) {
    if history.last() != Some(&now) {
        history.push(now);
    }
}
