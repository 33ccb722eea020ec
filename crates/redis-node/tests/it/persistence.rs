//! What survives which stop, with which configuration.

use proptest::prelude::*;
use redis_node::{Config, Disk, Fsync, Lua, Persistence, Stop, UnixTime};

use crate::support::{Bench, START, text};

fn always() -> Config {
    Config {
        persistence: Persistence::Aof {
            fsync: Fsync::Always,
        },
        ..Config::default()
    }
}

fn reboot(bench: Bench, config: Config, how: Stop, lua: &Lua) -> Bench {
    let now = bench.now;
    let mut next = Bench::with(config, bench.node.stop(how, now), lua);
    next.now = now;
    next
}

#[test]
fn without_persistence_nothing_survives_any_stop() {
    for how in [Stop::Kill, Stop::PowerLoss, Stop::Shutdown] {
        let lua = Lua::new();
        let mut bench = Bench::with(Config::default(), Disk::default(), &lua);
        bench.ask(&["SET", "k", "v"]);
        let disk = bench.node.stop(how, bench.now);
        assert!(disk.is_empty(), "{how:?}");
    }
}

#[test]
fn time_goes_on_while_the_node_is_down() {
    let lua = Lua::new();
    let mut bench = Bench::with(always(), Disk::default(), &lua);
    bench.ask(&["SET", "short", "v", "PX", "1000"]);
    bench.ask(&["SET", "long", "v", "PX", "60000"]);
    let mut bench = reboot(bench, always(), Stop::PowerLoss, &lua);
    bench.at(30_000);
    // Loading expires nothing; the first look does.
    assert_eq!(text(&bench.ask(&["DBSIZE"])), ":2");
    assert_eq!(text(&bench.ask(&["GET", "short"])), "nil");
    assert_eq!(text(&bench.ask(&["PTTL", "long"])), ":30000");
}

#[test]
fn a_key_that_expired_and_was_set_again_is_loaded_as_it_was() {
    let lua = Lua::new();
    let mut bench = Bench::with(always(), Disk::default(), &lua);
    bench.ask(&["SET", "n", "5", "PX", "10"]);
    bench.at(100).ask(&["INCR", "n"]);
    bench.ask(&["PEXPIRE", "n", "1000"]);
    let mut bench = reboot(bench, always(), Stop::Kill, &lua);
    assert_eq!(text(&bench.ask(&["GET", "n"])), "\"1\"");
    assert_eq!(text(&bench.ask(&["PTTL", "n"])), ":1000");
}

#[test]
fn scripts_survive_as_their_effects_and_are_themselves_forgotten() {
    let lua = Lua::new();
    let mut bench = Bench::with(always(), Disk::default(), &lua);
    let script =
        "redis.call('set', 'a', math.random()) redis.call('incr', 'b') return redis.call('nope')";
    bench.ask(&["EVAL", script, "0"]);
    let sha = text(&bench.ask(&["SCRIPT", "LOAD", "return 1"]));
    let before = text(&bench.ask(&["MGET", "a", "b"]));
    let mut bench = reboot(bench, always(), Stop::PowerLoss, &lua);
    assert_eq!(text(&bench.ask(&["MGET", "a", "b"])), before);
    let reply = text(&bench.ask(&["EVALSHA", sha.trim_matches('"'), "0"]));
    assert_eq!(reply, "-NOSCRIPT No matching script. Please use EVAL.");
}

/// Ten thousand writes of one key: without rewriting, each boot would replay them all.
#[test]
fn the_log_stays_bounded() {
    let mut bench = Bench::with(always(), Disk::default(), &Lua::new());
    let value = "x".repeat(1000);
    for _ in 0..10_000 {
        bench.ask(&["SET", "k", &value]);
    }
    let disk = format!(
        "{:?}",
        bench
            .node
            .stop(Stop::PowerLoss, UnixTime::from_millis(START))
    );
    assert!(disk.len() < 4 << 20, "{} bytes", disk.len());
}

fn write() -> impl Strategy<Value = Vec<String>> {
    let key = prop::sample::select(vec!["a", "b", "c"]);
    let script = "redis.call('set', KEYS[1], ARGV[1], 'PX', 500) redis.call('incr', 'b') return 1";
    let words = |words: &[&str]| {
        words
            .iter()
            .map(|word| (*word).to_owned())
            .collect::<Vec<_>>()
    };
    (key, 0..16usize, 1u64..400).prop_map(move |(key, kind, number)| {
        let number = &number.to_string();
        match kind {
            0 => words(&["SET", key, number]),
            1 => words(&["SET", key, number, "PX", number]),
            2 => words(&["SET", key, number, "NX", "PX", number]),
            3 => words(&["SET", key, number, "XX", "KEEPTTL"]),
            4 => words(&["DEL", key]),
            5 => words(&["INCRBY", key, number]),
            6 => words(&["PEXPIRE", key, number]),
            7 => words(&["PERSIST", key]),
            8 => words(&["APPEND", key, "1"]),
            9 => words(&["EVAL", script, "1", key, number]),
            10 => words(&["GETDEL", key]),
            11 => words(&["MSET", key, number, "a", "1"]),
            12 => words(&["EXPIREAT", key, "1"]),
            13 => words(&["HSET", "h", key, number]),
            14 => words(&["HDEL", "h", key]),
            _ => words(&["HINCRBY", "h", key, number]),
        }
    })
}

fn contents(bench: &mut Bench) -> Vec<String> {
    let mut all = Vec::new();
    for key in ["a", "b", "c"] {
        all.push(text(&bench.ask(&["GET", key])));
        all.push(text(&bench.ask(&["PTTL", key])));
    }
    all.push(text(&bench.ask(&["HGETALL", "h"])));
    all
}

proptest! {
    /// Whatever was acknowledged is there after any stop, at any time.
    #[test]
    fn always_loses_nothing(
        writes in prop::collection::vec((write(), 0u64..300), 1..40),
        how in prop_oneof![Just(Stop::Kill), Just(Stop::PowerLoss), Just(Stop::Shutdown)],
        ticking in any::<bool>(),
    ) {
        let lua = Lua::new();
        let mut bench = Bench::with(always(), Disk::default(), &lua);
        let mut millis = 0;
        for (words, wait) in &writes {
            millis += wait;
            bench.at(millis);
            if ticking {
                bench.node.tick(bench.now);
            }
            bench.ask(&words.iter().map(String::as_str).collect::<Vec<_>>());
        }
        let now = bench.now;
        let disk = bench.node.stop(how, now);
        let mut first = Bench::with(always(), disk.clone(), &lua);
        let mut second = Bench::with(always(), disk, &lua);
        // A node that never stopped knows what the stopped one must know.
        let mut model = Bench::new();
        for (index, (words, wait)) in writes.iter().enumerate() {
            let before = writes[..index].iter().map(|(_, wait)| wait).sum::<u64>();
            model.at(before + wait);
            if ticking {
                // At its expiry a key is seen by a command and removed by the active cycle.
                model.node.tick(model.now);
            }
            model.ask(&words.iter().map(String::as_str).collect::<Vec<_>>());
        }
        first.now = now;
        prop_assert_eq!(contents(&mut first), contents(&mut model));
        second.now = UnixTime::from_millis(START + millis + 250);
        model.now = second.now;
        prop_assert_eq!(contents(&mut second), contents(&mut model));
    }
}
