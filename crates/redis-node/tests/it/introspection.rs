//! INFO, CONFIG, CLIENT, COMMAND, KEYS and SCAN: what clients read about a server and its keys.

use std::collections::BTreeSet;

use redis_node::{ConnectionId, Reply};

use crate::support::{Bench, CLIENT, text};

const OTHER: ConnectionId = ConnectionId(2);

fn info(bench: &mut Bench, sections: &[&str]) -> String {
    let words: Vec<&str> = ["INFO"]
        .into_iter()
        .chain(sections.iter().copied())
        .collect();
    match bench.ask(&words) {
        Reply::Bulk(bytes) => String::from_utf8(bytes.to_vec()).expect("text"),
        other => panic!("{other:?}"),
    }
}

#[test]
fn info_shows_the_sections_that_were_asked_for() {
    let mut bench = Bench::new();
    bench.ask(&["SET", "a", "1"]);
    bench.ask(&["SET", "b", "1", "PX", "2000"]);
    assert_eq!(
        info(&mut bench, &["KeySpace"]),
        "# Keyspace\r\ndb0:keys=2,expires=1,avg_ttl=2000\r\n"
    );
    assert_eq!(info(&mut bench, &["nope"]), "");
    let titles = |text: &str| -> Vec<String> {
        text.lines()
            .filter_map(|line| line.strip_prefix("# ").map(str::to_owned))
            .collect()
    };
    // The order is Redis's, whatever the order of asking.
    assert_eq!(
        titles(&info(&mut bench, &["keyspace", "clients", "keyspace"])),
        ["Clients", "Keyspace"]
    );
    let all = info(&mut bench, &[]);
    assert_eq!(
        titles(&all),
        [
            "Server",
            "Clients",
            "Memory",
            "Persistence",
            "Stats",
            "Replication",
            "CPU",
            "Modules",
            "Errorstats",
            "Cluster",
            "Keyspace"
        ]
    );
    for field in [
        "redis_version:7.0.15",
        "connected_clients:1",
        "role:master",
        "loading:0",
        "maxmemory:0",
    ] {
        assert!(all.lines().any(|line| line == field), "{field} in {all}");
    }
    assert!(info(&mut bench, &["everything"]).contains("# Commandstats"));
}

#[test]
fn hits_misses_expiries_and_evictions_are_counted_until_the_reset() {
    let mut bench = Bench::new();
    bench.ask(&["SET", "k", "v", "PX", "10"]);
    bench.ask(&["GET", "k"]);
    bench.ask(&["GET", "none"]);
    bench.at(11).ask(&["GET", "k"]);
    let stats = info(&mut bench, &["stats"]);
    for line in [
        "keyspace_hits:1",
        "keyspace_misses:2",
        "expired_keys:1",
        "evicted_keys:0",
    ] {
        assert!(stats.contains(line), "{line} in {stats}");
    }
    bench.ask(&["CONFIG", "RESETSTAT"]);
    assert!(info(&mut bench, &["stats"]).contains("keyspace_hits:0"));
}

/// Replies of redis-server 7.0.15.
#[test]
fn config_is_read_and_changed_as_a_whole() {
    let mut bench = Bench::new();
    let failed = |name: &str, why: &str| {
        format!("-ERR CONFIG SET failed (possibly related to argument '{name}') - {why}")
    };
    let cases: [(&[&str], String); 12] = [
        (
            &[
                "CONFIG",
                "SET",
                "maxmemory",
                "1mb",
                "maxmemory-policy",
                "ALLKEYS-LRU",
            ],
            "+OK".to_owned(),
        ),
        (
            &["CONFIG", "SET", "maxmemory", "x"],
            failed("maxmemory", "argument must be a memory value"),
        ),
        (
            &["CONFIG", "SET", "maxmemory", "0", "maxmemory", "1"],
            failed("maxmemory", "duplicate parameter"),
        ),
        (
            &["CONFIG", "SET", "maxmemory", "0", "hz", "x"],
            failed("hz", "can't set immutable config"),
        ),
        (
            &["CONFIG", "SET", "maxmemory", "0", "nope", "1"],
            "-ERR Unknown option or number of arguments for CONFIG SET - 'nope'".to_owned(),
        ),
        (
            &["CONFIG", "SET", "maxmemory"],
            "-ERR wrong number of arguments for 'config|set' command".to_owned(),
        ),
        (
            &["CONFIG", "SET", "maxmemory", "1", "hz"],
            "-ERR wrong number of arguments for 'config|set' command".to_owned(),
        ),
        (
            &["CONFIG", "SET", "databases", "5"],
            failed("databases", "can't set immutable config"),
        ),
        (&["CONFIG", "SET", "hz", "10"], "+OK".to_owned()),
        (
            &["CONFIG", "REWRITE"],
            "-ERR The server is running without a config file".to_owned(),
        ),
        (
            &["CONFIG", "GET"],
            "-ERR wrong number of arguments for 'config|get' command".to_owned(),
        ),
        (
            &["CONFIG", "nope"],
            "-ERR unknown subcommand 'nope'. Try CONFIG HELP.".to_owned(),
        ),
    ];
    for (words, expected) in cases {
        assert_eq!(text(&bench.ask(words)), expected, "{words:?}");
    }
    let mut get = |words: &[&str]| {
        let Reply::Map(pairs) = bench.ask(&[&["CONFIG", "GET"], words].concat()) else {
            panic!("a map")
        };
        pairs
            .iter()
            .map(|(name, value)| format!("{}={}", text(name), text(value)))
            .collect::<Vec<_>>()
    };
    assert_eq!(get(&["maxmemory"]), ["\"maxmemory\"=\"1048576\""]);
    assert_eq!(get(&["MaxMemory"]), ["\"MaxMemory\"=\"1048576\""]);
    assert_eq!(
        get(&["MAXMEMORY-[p]*", "hz", "nope", "hz"]),
        ["\"hz\"=\"10\"", "\"maxmemory-policy\"=\"allkeys-lru\""]
    );
}

/// Replies of redis-server 7.0.15.
#[test]
fn durability_is_configured_as_well() {
    let mut bench = Bench::new();
    let failed = |name: &str, why: &str| {
        format!("-ERR CONFIG SET failed (possibly related to argument '{name}') - {why}")
    };
    for (name, value, expected) in [
        ("min-replicas-to-write", "1", "+OK".to_owned()),
        (
            "min-slaves-to-write",
            "x",
            failed(
                "min-slaves-to-write",
                "argument couldn't be parsed into an integer",
            ),
        ),
        (
            "min-replicas-to-write",
            "-1",
            failed(
                "min-replicas-to-write",
                "argument must be between 0 and 2147483647 inclusive",
            ),
        ),
        ("save", "foo", failed("save", "Invalid save parameters")),
        ("save", "900 1 60 5", "+OK".to_owned()),
        (
            "appendfsync",
            "foo",
            failed(
                "appendfsync",
                "argument(s) must be one of the following: everysec, always, no",
            ),
        ),
    ] {
        assert_eq!(
            text(&bench.ask(&["CONFIG", "SET", name, value])),
            expected,
            "{name} {value}"
        );
    }
    for (name, expected) in [
        ("min-slaves-to-write", "1"),
        ("save", "900 1 60 5"),
        ("appendonly", "no"),
    ] {
        let reply = format!("{:?}", bench.ask(&["CONFIG", "GET", name]));
        assert!(
            reply.contains(&format!("b\"{expected}\"")),
            "{name}: {reply}"
        );
    }
    assert_eq!(
        text(&bench.ask(&["SET", "k", "v"])),
        "-NOREPLICAS Not enough good replicas to write."
    );
}

#[test]
fn a_new_policy_starts_at_once() {
    let mut bench = Bench::new();
    bench.ask(&["SET", "a", "1"]);
    bench.ask(&[
        "CONFIG",
        "SET",
        "maxmemory",
        "1",
        "maxmemory-policy",
        "allkeys-lru",
    ]);
    assert_eq!(text(&bench.ask(&["DBSIZE"])), ":0");
}

#[test]
fn clients_are_listed_and_killed() {
    let mut bench = Bench::new();
    bench.ask(&["CLIENT", "SETNAME", "one"]);
    bench.ask_as(OTHER, &["SUBSCRIBE", "c"]);
    bench.ask(&["CLIENT", "NO-EVICT", "on"]);
    let list = text(&bench.ask(&["CLIENT", "LIST"]));
    for part in [
        "id=1 addr=127.0.0.1:1 ",
        "name=one",
        "flags=e",
        "cmd=client|list",
        "flags=P",
        "sub=1 psub=0",
        "cmd=subscribe",
    ] {
        assert!(list.contains(part), "{part} in {list}");
    }
    let listed = text(&bench.ask(&["CLIENT", "LIST", "TYPE", "pubsub"]));
    assert!(
        listed.contains("id=2") && !listed.contains("id=1"),
        "{listed}"
    );
    for (words, expected) in [
        (
            &["CLIENT", "KILL", "127.0.0.1:9"][..],
            "-ERR No such client",
        ),
        (
            &["CLIENT", "KILL", "ID", "0"],
            "-ERR client-id should be greater than 0",
        ),
        (&["CLIENT", "KILL", "ID", "1"], ":0"),
        (
            &["CLIENT", "KILL", "TYPE", "nope"],
            "-ERR Unknown client type 'nope'",
        ),
        (
            &["CLIENT", "KILL", "USER", "nobody"],
            "-ERR No such user 'nobody'",
        ),
        (&["CLIENT", "KILL", "ID", "2", "TYPE", "normal"], ":0"),
        (&["CLIENT", "LIST", "ID", "x"], "-ERR Invalid client ID"),
        (&["CLIENT", "KILL", "ID", "2", "TYPE", "pubsub"], ":1"),
        (&["PUBLISH", "c", "x"], ":0"),
    ] {
        assert_eq!(text(&bench.ask(words)), expected, "{words:?}");
    }
    assert_eq!(bench.node.take_closed(), [OTHER]);
    let own = bench.effects(CLIENT, &["CLIENT", "KILL", "ID", "1", "SKIPME", "no"]);
    assert!(own.close && bench.node.take_closed().is_empty());
    assert_eq!(text(&own.replies[0].1), ":1");
}

#[test]
fn commands_describe_themselves() {
    let mut bench = Bench::new();
    assert_eq!(
        text(&bench.ask(&["COMMAND", "INFO", "publish", "nope", "client|id"])),
        "[[\"publish\" :3 [+pubsub +loading +stale +fast] :0 :0 :0 [] [] [] []] nil array \
         [\"client|id\" :2 [+noscript +loading +stale] :0 :0 :0 [] [] [] []]]"
    );
    let Reply::Array(all) = bench.ask(&["COMMAND"]) else {
        panic!("an array")
    };
    assert_eq!(
        bench.ask(&["COMMAND", "COUNT"]),
        Reply::Integer(i64::try_from(all.len()).expect("small"))
    );
}

fn scan(bench: &mut Bench, cursor: &str, options: &[&str]) -> (String, Vec<String>) {
    let Reply::Array(parts) = bench.ask(&[&["SCAN", cursor], options].concat()) else {
        panic!("an array")
    };
    let [Reply::Bulk(next), Reply::Array(keys)] = &parts[..] else {
        panic!("{parts:?}")
    };
    (
        String::from_utf8_lossy(next).into_owned(),
        keys.iter().map(text).collect(),
    )
}

/// What a full iteration promises: a key that is there all the time is answered.
#[test]
fn a_full_scan_sees_every_key_that_stays() {
    let mut bench = Bench::new();
    for number in 0..200 {
        bench.ask(&["SET", &format!("stays:{number}"), "v"]);
        bench.ask(&["SET", &format!("goes:{number}"), "v"]);
    }
    let (mut cursor, mut seen, mut rounds) = ("0".to_owned(), BTreeSet::new(), 0);
    loop {
        let (next, keys) = scan(&mut bench, &cursor, &["COUNT", "7", "MATCH", "stays:*"]);
        assert!(keys.len() <= 7);
        seen.extend(keys);
        bench.ask(&["DEL", &format!("goes:{rounds}")]);
        bench.ask(&["SET", &format!("new:{rounds}"), "v"]);
        rounds += 1;
        if next == "0" {
            break;
        }
        cursor = next;
    }
    assert_eq!(seen.len(), 200);
}

#[test]
fn keys_and_scan_see_live_keys_of_the_type() {
    let mut bench = Bench::new();
    bench.ask(&["SET", "short", "v", "PX", "10"]);
    bench.ask(&["SET", "s", "v"]);
    bench.ask(&["HSET", "h", "f", "v"]);
    bench.at(11);
    assert_eq!(text(&bench.ask(&["KEYS", "*"])), "[\"h\" \"s\"]");
    assert_eq!(text(&bench.ask(&["KEYS", "s*"])), "[\"s\"]");
    assert_eq!(scan(&mut bench, "0", &["TYPE", "HASH"]).1, ["\"h\""]);
    assert_eq!(scan(&mut bench, "0", &["TYPE", "stream"]).1, [""; 0]);
    let touched = bench.touches(&["SCAN", "0"]);
    assert!(
        touched.is_empty(),
        "SCAN had removed it already: {touched:?}"
    );
}
