//! The page cache, the platter and the process's own buffer: what is where when a node stops.

use std::time::Duration;

use redis_node::{Config, Disk, Fsync, Lua, Persistence, SavePoint, Stop, UnixTime};

use crate::support::{Bench, CLIENT, START, text};

fn with(fsync: Fsync) -> Config {
    let persistence = Persistence::Aof { fsync };
    Config {
        persistence,
        save: Vec::new(),
        ..Config::default()
    }
}

fn rdb() -> Config {
    Config {
        persistence: Persistence::Rdb,
        ..Config::default()
    }
}

fn slow(mut config: Config, fsync: u64) -> Config {
    config.disk.fsync_takes = Duration::from_millis(fsync);
    config
}

fn boot(config: &Config) -> Bench {
    Bench::with(config.clone(), Disk::default(), &Lua::new())
}

/// Lets the clock come to so many milliseconds after the start, with every deadline on the way.
fn run(bench: &mut Bench, millis: u64) -> Vec<String> {
    let end = UnixTime::from_millis(START + millis);
    let mut replies = Vec::new();
    while let Some(deadline) = bench
        .node
        .next_deadline()
        .filter(|deadline| *deadline <= end)
    {
        bench.now = bench.now.max(deadline);
        let effects = bench.node.tick(bench.now);
        replies.extend(effects.replies.iter().map(|(_, reply)| text(reply)));
    }
    bench.now = end;
    replies
}

/// What a new node on the disk answers to `GET` of these keys, at once.
fn after(bench: Bench, how: Stop, keys: &[&str]) -> Vec<String> {
    let (config, now) = (bench.node.config().clone(), bench.now);
    let mut next = Bench::with(config, bench.node.stop(how, now), &Lua::new());
    next.now = now;
    keys.iter()
        .map(|key| text(&next.ask(&["GET", key])))
        .collect()
}

/// The scenario `restart-everysec-power`.
#[test]
fn everysec_loses_a_write_that_follows_another_within_a_second() {
    for (wait, expected) in [(100, "nil"), (500, "nil"), (999, "nil"), (1_000, "\"v\"")] {
        let mut bench = boot(&with(Fsync::EverySec));
        run(&mut bench, 5_000);
        bench.ask(&["SET", "other", "v"]);
        run(&mut bench, 5_000 + wait);
        assert_eq!(
            text(&bench.ask(&["SET", "lock", "v", "NX", "PX", "30000"])),
            "+OK"
        );
        assert_eq!(
            after(bench, Stop::PowerLoss, &["other", "lock"]),
            ["\"v\"", expected],
            "{wait}"
        );
    }
}

#[test]
fn everysec_forces_a_lone_write_at_once_and_the_rest_a_second_later() {
    let mut bench = boot(&with(Fsync::EverySec));
    run(&mut bench, 1_000);
    bench.ask(&["SET", "a", "v"]);
    assert_eq!(bench.node.next_deadline(), None);
    run(&mut bench, 1_300);
    bench.ask(&["SET", "b", "v"]);
    assert_eq!(
        bench.node.next_deadline(),
        Some(UnixTime::from_millis(START + 2_000))
    );
    run(&mut bench, 2_000);
    assert_eq!(
        after(bench, Stop::PowerLoss, &["a", "b"]),
        ["\"v\"", "\"v\""]
    );
}

/// As redis-server 7.0.15 does: a SET 70 ms after its start was forced when the second was over.
#[test]
fn everysec_counts_the_start_as_an_fsync() {
    let mut bench = boot(&with(Fsync::EverySec));
    run(&mut bench, 100);
    bench.ask(&["SET", "k", "v"]);
    let due = UnixTime::from_millis(START + 1_000);
    assert_eq!(bench.node.next_deadline(), Some(due));
    assert_eq!(after(bench, Stop::PowerLoss, &["k"]), ["nil"]);
}

/// As redis-server 7.0.15 does: it forces before it says OK.
#[test]
fn a_change_to_always_forces_what_was_only_written() {
    let mut bench = boot(&slow(with(Fsync::EverySec), 50));
    run(&mut bench, 5_000);
    bench.ask(&["SET", "a", "v"]);
    run(&mut bench, 5_100);
    bench.ask(&["SET", "b", "v"]);
    let change = ["CONFIG", "SET", "appendfsync", "always"];
    assert!(bench.effects(CLIENT, &change).replies.is_empty());
    assert_eq!(run(&mut bench, 5_150), ["+OK"]);
    assert_eq!(after(bench, Stop::PowerLoss, &["b"]), ["\"v\""]);
}

/// The scenarios `restart-everysec-kill` and `restart-everysec-kill-during-fsync`.
#[test]
fn a_kill_takes_only_what_was_put_off_while_an_fsync_ran() {
    for (wait, expected) in [(0, "nil"), (199, "nil"), (200, "\"v\"")] {
        let mut bench = boot(&slow(with(Fsync::EverySec), 200));
        run(&mut bench, 2_000);
        bench.ask(&["SET", "other", "v"]);
        run(&mut bench, 2_000 + wait);
        assert_eq!(text(&bench.ask(&["SET", "lock", "v"])), "+OK");
        assert_eq!(
            after(bench, Stop::Kill, &["other", "lock"]),
            ["\"v\"", expected],
            "{wait}"
        );
    }
}

#[test]
fn a_write_that_was_put_off_is_written_when_the_fsync_has_ended() {
    let mut bench = boot(&slow(with(Fsync::EverySec), 200));
    run(&mut bench, 2_000);
    bench.ask(&["SET", "other", "v"]);
    run(&mut bench, 2_100);
    bench.ask(&["SET", "lock", "v"]);
    run(&mut bench, 2_200);
    assert_eq!(after(bench, Stop::Kill, &["lock"]), ["\"v\""]);
}

/// The scenario `restart-shutdown`.
#[test]
fn a_shutdown_writes_all_that_is_configured() {
    for config in [
        with(Fsync::EverySec),
        with(Fsync::No),
        slow(with(Fsync::EverySec), 500),
        rdb(),
    ] {
        let mut bench = boot(&config);
        run(&mut bench, 2_000);
        bench.ask(&["SET", "a", "v"]);
        bench.ask(&["SET", "b", "v"]);
        let effects = bench.effects(CLIENT, &["SHUTDOWN"]);
        assert_eq!(
            (effects.exit, effects.replies.len()),
            (Some(Stop::Shutdown), 0)
        );
        // Nobody is answered any more.
        assert_eq!(
            bench.effects(CLIENT, &["PING"]),
            redis_node::Effects::default()
        );
        assert_eq!(
            after(bench, Stop::Shutdown, &["a", "b"]),
            ["\"v\"", "\"v\""]
        );
    }
}

#[test]
fn shutdown_does_what_it_is_told() {
    for (words, config, expected) in [
        (&["SHUTDOWN", "NOSAVE"][..], rdb(), "nil"),
        (&["SHUTDOWN", "SAVE"], Config::default(), "\"v\""),
        (&["SHUTDOWN"], Config::default(), "nil"),
        (
            &["SHUTDOWN", "NOSAVE", "NOW", "FORCE"],
            with(Fsync::EverySec),
            "\"v\"",
        ),
    ] {
        let mut bench = boot(&config);
        bench.ask(&["SET", "k", "v"]);
        assert_eq!(bench.effects(CLIENT, words).exit, Some(Stop::Shutdown));
        assert_eq!(
            after(bench, Stop::Shutdown, &["k"]),
            [expected],
            "{words:?}"
        );
    }
    let mut bench = boot(&Config::default());
    for words in [
        &["SHUTDOWN", "x"][..],
        &["SHUTDOWN", "SAVE", "NOSAVE"],
        &["SHUTDOWN", "ABORT", "NOW"],
    ] {
        assert_eq!(text(&bench.ask(words)), "-ERR syntax error");
    }
    assert_eq!(
        text(&bench.ask(&["SHUTDOWN", "ABORT"])),
        "-ERR No shutdown in progress."
    );
}

#[test]
fn without_fsync_the_kernel_writes_back_in_its_own_time() {
    for (wait, expected) in [(29_999, "nil"), (30_000, "\"v\"")] {
        let mut bench = boot(&with(Fsync::No));
        bench.ask(&["SET", "k", "v"]);
        run(&mut bench, wait);
        assert_eq!(after(bench, Stop::PowerLoss, &["k"]), [expected], "{wait}");
        let mut bench = boot(&with(Fsync::No));
        bench.ask(&["SET", "k", "v"]);
        assert_eq!(after(bench, Stop::Kill, &["k"]), ["\"v\""]);
    }
}

#[test]
fn with_always_replies_wait_for_a_disk_that_stalls_and_so_does_everybody() {
    let mut bench = boot(&with(Fsync::Always));
    bench
        .node
        .stall_fsync(bench.now, UnixTime::from_millis(START + 500));
    let effects = bench.effects(CLIENT, &["SET", "k", "v", "NX"]);
    assert_eq!((effects.replies.len(), effects.touches.len()), (0, 1));
    assert!(!effects.kept, "it was carried out; only its reply waits");
    assert_eq!(
        bench.node.next_deadline(),
        Some(UnixTime::from_millis(START + 500))
    );
    bench.at(100);
    let other = redis_node::ConnectionId(2);
    assert!(
        bench
            .effects(other, &["SET", "k", "w", "NX"])
            .replies
            .is_empty()
    );
    let effects = bench.effects(other, &["GET", "k"]);
    assert!(effects.replies.is_empty() && effects.kept);
    bench.at(500);
    let effects = bench.node.tick(bench.now);
    let replies: Vec<_> = effects
        .replies
        .iter()
        .map(|(client, reply)| (client.0, text(reply)))
        .collect();
    assert_eq!(
        replies,
        [
            (1, "+OK".to_owned()),
            (2, "nil".to_owned()),
            (2, "\"v\"".to_owned())
        ]
    );
    // Whose the touches are that come only now.
    let delayed: Vec<_> = effects
        .delayed
        .iter()
        .map(|delayed| (delayed.connection.0, delayed.touches.clone()))
        .collect();
    assert_eq!(delayed, [(2, 0..1), (2, 1..2)]);
    assert_eq!(bench.node.next_deadline(), None);
}

#[test]
fn a_disk_that_stalls_for_ever_keeps_what_was_written_but_not_forced() {
    for (how, expected) in [(Stop::Kill, "\"v\""), (Stop::PowerLoss, "nil")] {
        let mut bench = boot(&with(Fsync::Always));
        bench.node.stall_fsync(bench.now, UnixTime(u64::MAX));
        assert!(bench.effects(CLIENT, &["SET", "k", "v"]).replies.is_empty());
        bench.at(60_000);
        assert_eq!(after(bench, how, &["k"]), [expected]);
    }
}

#[test]
fn requests_that_waited_for_the_disk_are_forced_together() {
    let mut bench = boot(&slow(with(Fsync::Always), 10));
    assert!(bench.effects(CLIENT, &["SET", "a", "1"]).replies.is_empty());
    bench.at(1);
    for key in ["b", "c", "d"] {
        assert!(bench.effects(CLIENT, &["SET", key, "1"]).replies.is_empty());
    }
    assert_eq!(run(&mut bench, 10), ["+OK"]);
    assert_eq!(run(&mut bench, 20), ["+OK", "+OK", "+OK"]);
}

#[test]
fn with_everysec_writes_are_put_off_for_two_seconds_and_then_wait() {
    let mut bench = boot(&with(Fsync::EverySec));
    run(&mut bench, 2_000);
    bench
        .node
        .stall_fsync(bench.now, UnixTime::from_millis(START + 9_000));
    // This one is written and its fsync does not end.
    assert_eq!(text(&bench.ask(&["SET", "a", "v"])), "+OK");
    run(&mut bench, 3_000);
    assert_eq!(text(&bench.ask(&["SET", "b", "v"])), "+OK");
    run(&mut bench, 4_999);
    assert_eq!(text(&bench.ask(&["SET", "c", "v"])), "+OK");
    run(&mut bench, 5_000);
    assert!(bench.effects(CLIENT, &["GET", "c"]).replies.is_empty());
    assert_eq!(run(&mut bench, 8_999), Vec::<String>::new());
    assert_eq!(run(&mut bench, 9_000), ["\"v\""]);
    assert_eq!(
        after(bench, Stop::PowerLoss, &["a", "b", "c"]),
        ["\"v\"", "\"v\"", "\"v\""]
    );
}

#[test]
fn a_stall_can_end_before_its_time() {
    let mut bench = boot(&with(Fsync::Always));
    bench.node.stall_fsync(bench.now, UnixTime(u64::MAX));
    assert!(bench.effects(CLIENT, &["SET", "k", "v"]).replies.is_empty());
    bench.at(100);
    bench.node.stall_fsync(bench.now, bench.now);
    assert_eq!(run(&mut bench, 100), ["+OK"]);
}

/// The disk is done, and before the node has looked it stalls anew: who waited is answered all the same, first.
#[test]
fn a_stall_that_follows_another_forgets_nobody() {
    let mut bench = boot(&with(Fsync::Always));
    bench
        .node
        .stall_fsync(bench.now, UnixTime::from_millis(START + 100));
    assert!(bench.effects(CLIENT, &["SET", "k", "v"]).replies.is_empty());
    bench.at(100);
    bench
        .node
        .stall_fsync(bench.now, UnixTime::from_millis(START + 200));
    let effects = bench.effects(CLIENT, &["GET", "k"]);
    let replies: Vec<_> = effects
        .replies
        .iter()
        .map(|(_, reply)| text(reply))
        .collect();
    assert_eq!(replies, ["+OK", "\"v\""]);

    let mut bench = boot(&slow(with(Fsync::EverySec), 200));
    run(&mut bench, 2_000);
    bench.ask(&["SET", "a", "v"]);
    run(&mut bench, 2_100);
    bench.ask(&["SET", "b", "v"]);
    bench.at(2_200);
    bench.node.stall_fsync(bench.now, bench.now);
    assert!(bench.node.next_deadline() <= Some(bench.now));
}

#[test]
fn a_full_disk_ends_the_server_with_always_and_refuses_writes_with_everysec() {
    let mut bench = boot(&with(Fsync::Always));
    bench.node.set_disk_full(true);
    let effects = bench.effects(CLIENT, &["SET", "k", "v"]);
    assert_eq!((effects.replies.len(), effects.exit), (0, Some(Stop::Kill)));

    let mut bench = boot(&with(Fsync::EverySec));
    bench.node.set_disk_full(true);
    let refused = "-MISCONF Errors writing to the AOF file: No space left on device";
    assert_eq!(text(&bench.ask(&["SET", "k", "v"])), "+OK");
    assert_eq!(text(&bench.ask(&["SET", "k", "w"])), refused);
    assert_eq!(text(&bench.ask(&["PING"])), refused);
    assert_eq!(text(&bench.ask(&["GET", "k"])), "\"v\"");
    bench.node.set_disk_full(false);
    run(&mut bench, 1_000);
    assert_eq!(text(&bench.ask(&["SET", "k", "w"])), "+OK");
    assert_eq!(after(bench, Stop::Kill, &["k"]), ["\"w\""]);
}

#[test]
fn snapshots_follow_the_save_points() {
    let mut config = rdb();
    config.save = vec![
        SavePoint {
            seconds: 10,
            changes: 3,
        },
        SavePoint {
            seconds: 100,
            changes: 1,
        },
    ];
    for (writes, seconds, expected) in [
        (3, 10, "nil"),
        (3, 11, "\"v\""),
        (2, 100, "nil"),
        (2, 101, "\"v\""),
    ] {
        let mut bench = boot(&config);
        for _ in 0..writes {
            bench.ask(&["SET", "k", "v"]);
        }
        run(&mut bench, seconds * 1_000);
        assert_eq!(
            after(bench, Stop::PowerLoss, &["k"]),
            [expected],
            "{writes} writes, {seconds} s"
        );
    }
}

#[test]
fn a_snapshot_is_of_its_beginning_and_counts_from_its_end() {
    let mut config = rdb();
    config.disk.save_takes = Duration::from_secs(5);
    let mut bench = boot(&config);
    bench.ask(&["SET", "k", "old"]);
    assert_eq!(text(&bench.ask(&["BGSAVE"])), "+Background saving started");
    bench.ask(&["SET", "k", "new"]);
    assert_eq!(
        text(&bench.ask(&["BGSAVE"])),
        "-ERR Background save already in progress"
    );
    assert_eq!(
        text(&bench.ask(&["SAVE"])),
        "-ERR Background save already in progress"
    );
    assert_eq!(
        text(&bench.ask(&["BGREWRITEAOF"])),
        "+Background append only file rewriting scheduled"
    );
    let before = START / 1_000;
    assert_eq!(text(&bench.ask(&["LASTSAVE"])), format!(":{before}"));
    run(&mut bench, 5_000);
    assert_eq!(text(&bench.ask(&["LASTSAVE"])), format!(":{}", before + 5));
    assert_eq!(after(bench, Stop::Kill, &["k"]), ["\"old\""]);
}

#[test]
fn save_stands_still_and_a_kill_before_its_end_leaves_nothing() {
    let mut config = Config::default();
    config.disk.save_takes = Duration::from_secs(5);
    for (millis, replies, expected) in [(4_999, 0, "nil"), (5_000, 1, "\"v\"")] {
        let mut bench = boot(&config);
        bench.ask(&["SET", "k", "v"]);
        assert!(bench.effects(CLIENT, &["SAVE"]).replies.is_empty());
        assert_eq!(run(&mut bench, millis).len(), replies);
        assert_eq!(after(bench, Stop::Kill, &["k"]), [expected]);
    }
}

#[test]
fn a_snapshot_that_fails_makes_the_server_refuse_writes_until_one_succeeds() {
    let mut bench = boot(&rdb());
    bench.node.set_disk_full(true);
    assert_eq!(text(&bench.ask(&["SET", "k", "v"])), "+OK");
    assert_eq!(text(&bench.ask(&["SAVE"])), "-ERR");
    assert_eq!(text(&bench.ask(&["BGSAVE"])), "+Background saving started");
    assert!(
        text(&bench.ask(&["SET", "k", "w"]))
            .starts_with("-MISCONF Redis is configured to save RDB")
    );
    assert_eq!(
        text(&bench.ask(&["SHUTDOWN"])),
        "-ERR Errors trying to SHUTDOWN. Check logs."
    );
    bench.node.set_disk_full(false);
    bench.ask(&["BGSAVE"]);
    assert_eq!(text(&bench.ask(&["SET", "k", "w"])), "+OK");
}

/// Redis leaves out what had expired when it loads a snapshot, and nothing else: a log is replayed whole.
#[test]
fn a_snapshot_is_loaded_without_what_has_expired() {
    let mut bench = boot(&rdb());
    bench.ask(&["SET", "short", "v", "PX", "1000"]);
    bench.ask(&["SET", "long", "v", "PX", "60000"]);
    let disk = bench.node.stop(Stop::Shutdown, bench.now);
    let now = UnixTime::from_millis(START + 1_001);
    let mut node = redis_node::Node::boot(rdb(), disk, Lua::new(), now);
    let reply = node
        .handle(now, CLIENT, &crate::support::request(&["DBSIZE"]))
        .replies
        .remove(0)
        .1;
    assert_eq!(text(&reply), ":1");
}

#[test]
fn while_the_disk_is_read_commands_are_refused_and_nothing_expires() {
    let mut config = with(Fsync::Always);
    config.disk.loading_takes = Duration::from_millis(300);
    let mut bench = boot(&config);
    assert_eq!(text(&bench.ask(&["SET", "k", "v", "PX", "100"])), "+OK");
    let disk = bench.node.stop(Stop::Kill, bench.now);
    let mut bench = Bench::with(config, disk, &Lua::new());
    let loading = "-LOADING Redis is loading the dataset in memory";
    for words in [&["GET", "k"][..], &["PING"], &["EVAL", "return 1", "0"]] {
        assert_eq!(text(&bench.ask(words)), loading);
    }
    assert_eq!(text(&bench.ask(&["ECHO", "x"])), "\"x\"");
    assert_eq!(
        bench.node.next_deadline(),
        Some(UnixTime::from_millis(START + 300))
    );
    assert!(
        bench
            .at(299)
            .node
            .tick(UnixTime::from_millis(START + 299))
            .touches
            .is_empty()
    );
    bench.at(300);
    assert_eq!(text(&bench.ask(&["GET", "k"])), "nil");
}

#[test]
fn a_rewritten_log_leads_to_the_same_keys() {
    let mut config = with(Fsync::EverySec);
    config.disk.save_takes = Duration::from_millis(200);
    let mut bench = boot(&config);
    bench.ask(&["SET", "a", "1"]);
    bench.ask(&["SET", "b", "1", "PX", "60000"]);
    bench.ask(&["HSET", "h", "f", "v"]);
    run(&mut bench, 100);
    assert_eq!(
        text(&bench.ask(&["BGREWRITEAOF"])),
        "+Background append only file rewriting started"
    );
    bench.ask(&["INCR", "a"]);
    run(&mut bench, 400);
    bench.ask(&["INCR", "a"]);
    assert_eq!(after(bench, Stop::Kill, &["a", "b"]), ["\"3\"", "\"1\""]);
}
