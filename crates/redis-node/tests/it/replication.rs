//! A primary and its replicas, link by link.

use redis_node::{Config, ConnectionId, Did, LinkId, Stop};

use crate::cluster::{Cluster, address};

const OTHER: ConnectionId = ConnectionId(2);

fn pair() -> Cluster {
    Cluster::new(&Config::default(), 1)
}

#[test]
fn a_replica_follows_and_says_so() {
    let mut cluster = pair();
    assert_eq!(cluster.ask(0, &["SET", "k", "v", "PX", "60000"]), "+OK");
    let script = "redis.call('set', 'a', 1) redis.call('incr', 'a') return redis.call('hset', 'h', 'f', 'v')";
    cluster.ask(0, &["EVAL", script, "0"]);
    // In the same turn as the reply it was sent, but it has not arrived.
    assert_eq!(cluster.contents(1), Vec::<String>::new());
    cluster.settle();
    assert_eq!(cluster.contents(1), cluster.contents(0));
    cluster.run(1_000);
    let offset = info(&mut cluster, 0, "master_repl_offset");
    assert_ne!(offset, "0");
    assert_eq!(
        cluster.ask(0, &["ROLE"]),
        format!("[\"master\" :{offset} [[\"node1\" \"7000\" \"{offset}\"]]]")
    );
    assert_eq!(
        cluster.ask(1, &["ROLE"]),
        format!("[\"slave\" \"node0\" :7000 \"connected\" :{offset}]")
    );
    assert_eq!(info(&mut cluster, 1, "master_link_status"), "up");
    assert_eq!(
        info(&mut cluster, 0, "slave0"),
        format!("ip=node1,port=7000,state=online,offset={offset},lag=0")
    );
}

fn info(cluster: &mut Cluster, node: usize, name: &str) -> String {
    let text = cluster.ask(node, &["INFO", "replication"]);
    let start = format!("\\r\\n{name}:");
    let at = text
        .find(&start)
        .unwrap_or_else(|| panic!("{name} in {text}"))
        + start.len();
    text[at..]
        .split("\\r\\n")
        .next()
        .expect("a line")
        .to_owned()
}

#[test]
fn a_replica_refuses_writes_and_takes_reads() {
    let mut cluster = pair();
    cluster.ask(0, &["SET", "k", "v"]);
    cluster.settle();
    let read_only = "-READONLY You can't write against a read only replica.";
    assert_eq!(cluster.ask(1, &["SET", "k", "w"]), read_only);
    assert_eq!(cluster.ask(1, &["GET", "k"]), "\"v\"");
    let by_script = cluster.ask(1, &["EVAL", "return redis.call('del', 'k')", "0"]);
    assert!(
        by_script.starts_with(read_only) && by_script.contains("script: "),
        "{by_script}"
    );
    cluster.ask(1, &["MULTI"]);
    assert_eq!(cluster.ask(1, &["SET", "k", "w"]), read_only);
    let aborted = "-EXECABORT Transaction discarded because of previous errors.";
    assert_eq!(cluster.ask(1, &["EXEC"]), aborted);
    assert!(
        cluster
            .ask(1, &["WAIT", "1", "1"])
            .starts_with("-ERR WAIT cannot be used with replica instances.")
    );
}

#[test]
fn a_key_that_has_run_out_is_missing_on_the_replica_and_waits_for_the_primary() {
    let mut cluster = pair();
    cluster.ask(0, &["SET", "k", "v", "PX", "150"]);
    cluster.settle();
    cluster.pass(151);
    assert_eq!(cluster.ask(1, &["GET", "k"]), "nil");
    assert_eq!(cluster.ask(1, &["EXISTS", "k"]), ":0");
    assert_eq!(cluster.ask(1, &["PTTL", "k"]), ":-2");
    assert_eq!(cluster.ask(1, &["DBSIZE"]), ":1");
    cluster.touches.clear();
    // The active cycle of the primary has it removed at 200 ms.
    cluster.run(100);
    assert_eq!(cluster.ask(1, &["DBSIZE"]), ":0");
    let did: Vec<_> = cluster
        .touches
        .iter()
        .map(|(node, touch)| (*node, touch.did))
        .collect();
    assert_eq!(did, [(0, Did::Expired), (1, Did::Deleted)]);
}

#[test]
fn once_promoted_a_replica_judges_by_its_own_clock_and_lacks_what_had_not_arrived() {
    let mut cluster = pair();
    cluster.ask(0, &["SET", "arrived", "v", "PX", "30000"]);
    cluster.settle();
    for link in cluster.links() {
        cluster.break_link(link, None);
    }
    cluster.apart.push((0, 1));
    assert_eq!(
        cluster.ask(0, &["SET", "lost", "v", "NX", "PX", "30000"]),
        "+OK"
    );
    let before = info(&mut cluster, 1, "master_replid");
    assert_eq!(cluster.ask(1, &["REPLICAOF", "NO", "ONE"]), "+OK");
    assert_eq!(
        cluster.ask(1, &["SET", "lost", "w", "NX", "PX", "30000"]),
        "+OK"
    );
    assert_eq!(info(&mut cluster, 1, "master_replid2"), before);
    assert_ne!(info(&mut cluster, 1, "master_replid"), before);
    assert_eq!(cluster.ask(1, &["PTTL", "arrived"]), ":30000");
    cluster.pass(30_001);
    assert_eq!(cluster.ask(1, &["DBSIZE"]), ":0");
}

#[test]
fn the_old_primary_that_comes_back_loses_what_it_alone_had() {
    let mut cluster = Cluster::new(&Config::default(), 2);
    cluster.ask(0, &["SET", "shared", "v"]);
    cluster.run(1_000);
    for link in cluster.links() {
        cluster.break_link(link, None);
    }
    cluster.apart.extend([(0, 1), (0, 2)]);
    cluster.ask(0, &["SET", "alone", "v"]);
    cluster.ask(1, &["REPLICAOF", "NO", "ONE"]);
    cluster.ask(2, &["REPLICAOF", "node1", "7000"]);
    // So much that the new stream is longer than what the old primary had: only the name tells them apart.
    cluster.ask(1, &["SET", "new", &"v".repeat(1_000)]);
    cluster.run(2_000);
    // The other replica had the same history and goes on without a copy.
    assert_eq!(cluster.contents(2), cluster.contents(1));
    cluster.apart.clear();
    cluster.touches.clear();
    assert_eq!(cluster.ask(0, &["REPLICAOF", "node1", "7000"]), "+OK");
    cluster.run(1_000);
    assert_eq!(cluster.contents(0), cluster.contents(1));
    let did: Vec<_> = cluster
        .touches
        .iter()
        .filter(|(node, touch)| *node == 0 && touch.did != Did::Read)
        .collect();
    let lost = did
        .iter()
        .filter(|(_, touch)| touch.key == "alone" && touch.did == Did::Deleted);
    assert_eq!(lost.count(), 1, "{did:?}");
    let ready = "+OK Already connected to specified master";
    assert_eq!(cluster.ask(0, &["REPLICAOF", "node1", "7000"]), ready);
}

#[test]
fn an_empty_primary_empties_its_replicas() {
    let mut cluster = Cluster::new(&Config::default(), 2);
    cluster.ask(0, &["SET", "k", "v"]);
    cluster.settle();
    let disk = cluster.stop(0, Stop::PowerLoss);
    cluster.run(500);
    assert_eq!(cluster.ask(1, &["GET", "k"]), "\"v\"");
    cluster.boot(0, &Config::default(), disk, None);
    cluster.run(1_500);
    for replica in [1, 2] {
        assert_eq!(cluster.ask(replica, &["DBSIZE"]), ":0");
    }
}

#[test]
fn a_lost_link_is_made_anew_and_only_the_missing_part_is_sent() {
    let mut cluster = pair();
    cluster.ask(0, &["SET", "k", &"v".repeat(10_000)]);
    cluster.settle();
    for link in cluster.links() {
        cluster.break_link(link, None);
    }
    cluster.ask(0, &["SET", "l", "w"]);
    cluster.touches.clear();
    cluster.pass(900);
    assert_eq!(cluster.links(), Vec::<u64>::new());
    cluster.run(200);
    assert_eq!(cluster.ask(1, &["GET", "l"]), "\"w\"");
    let changed: Vec<_> = cluster
        .touches
        .iter()
        .filter(|(_, touch)| touch.did != Did::Read)
        .collect();
    assert_eq!(
        changed.len(),
        1,
        "a copy would have touched more: {changed:?}"
    );
}

#[test]
fn a_backlog_that_is_too_short_leads_to_a_full_copy() {
    let mut config = Config::default();
    config.replication.backlog_bytes = 100;
    let mut cluster = Cluster::new(&config, 1);
    cluster.ask(0, &["SET", "old", "v"]);
    cluster.settle();
    for link in cluster.links() {
        cluster.break_link(link, None);
    }
    cluster.ask(0, &["DEL", "old"]);
    cluster.ask(0, &["SET", "k", &"v".repeat(1_000), "PX", "60000"]);
    cluster.run(1_500);
    assert_eq!(cluster.contents(1), cluster.contents(0));
}

#[test]
fn a_transaction_arrives_whole_or_not_at_all() {
    let mut cluster = pair();
    cluster.ask(0, &["MULTI"]);
    cluster.ask(0, &["SET", "a", "1"]);
    cluster.ask(0, &["SET", "b", "1"]);
    cluster.ask(0, &["EXEC"]);
    let link = cluster.links()[0];
    // All but the last byte.
    while cluster.deliver(link, 0, Some(1)) {
        let both = cluster.ask(1, &["EXISTS", "a", "b"]);
        assert_ne!(both, ":1");
    }
    assert_eq!(cluster.ask(1, &["EXISTS", "a", "b"]), ":2");
}

#[test]
fn wait_answers_when_enough_have_acknowledged_or_the_time_is_over() {
    let mut cluster = Cluster::new(&Config::default(), 2);
    cluster.run(1_000);
    cluster.ask(0, &["SET", "k", "v"]);
    assert_eq!(cluster.ask(0, &["WAIT", "2", "100"]), "later");
    // Its further requests queue; others are served.
    assert_eq!(cluster.ask(0, &["GET", "k"]), "later");
    assert_eq!(cluster.ask_as(0, OTHER, &["GET", "k"]), "\"v\"");
    cluster.settle();
    let late: Vec<_> = cluster.late.drain(..).map(|(_, _, text)| text).collect();
    assert_eq!(late, [":2", "\"v\""]);
    // Nothing written since: answered at once.
    assert_eq!(cluster.ask(0, &["WAIT", "2", "100"]), ":2");
    let link = cluster.links_of(2)[0];
    cluster.break_link(link, None);
    cluster.apart.push((0, 2));
    cluster.ask(0, &["SET", "k", "w"]);
    assert_eq!(cluster.ask(0, &["WAIT", "2", "50"]), "later");
    cluster.settle();
    assert!(cluster.late.is_empty());
    cluster.pass(49);
    assert!(cluster.late.is_empty());
    cluster.pass(1);
    assert_eq!(
        cluster.late.pop().map(|(_, _, text)| text).as_deref(),
        Some(":1")
    );
    // In a transaction there is no waiting.
    cluster.ask(0, &["MULTI"]);
    cluster.ask(0, &["SET", "k", "x"]);
    cluster.ask(0, &["WAIT", "2", "0"]);
    assert_eq!(cluster.ask(0, &["EXEC"]), "[+OK :1]");
}

#[test]
fn whoever_waits_on_a_primary_that_becomes_a_replica_is_sent_away() {
    let mut cluster = pair();
    cluster.ask(0, &["SET", "k", "v"]);
    assert_eq!(cluster.ask(0, &["WAIT", "1", "0"]), "later");
    cluster.ask_as(0, OTHER, &["REPLICAOF", "node1", "7000"]);
    let text = "-UNBLOCKED force unblock from blocking operation, instance state changed (master -> replica?)";
    assert_eq!(cluster.late[0].2, text);
    assert_eq!(cluster.closed.len(), 1);
}

#[test]
fn a_primary_without_enough_good_replicas_refuses_writes() {
    let mut config = Config::default();
    config.replication.min_replicas_to_write = 1;
    config.replication.min_replicas_max_lag = 2;
    let mut cluster = Cluster::new(&config, 1);
    let refused = "-NOREPLICAS Not enough good replicas to write.";
    assert_eq!(cluster.ask(0, &["SET", "k", "v"]), "+OK");
    cluster.run(5_000);
    assert_eq!(cluster.ask(0, &["SET", "k", "v"]), "+OK");
    // Cut off without anybody being told.
    cluster.pass(2_000);
    assert_eq!(cluster.ask(0, &["SET", "k", "v"]), "+OK");
    cluster.pass(1_000);
    assert_eq!(cluster.ask(0, &["SET", "k", "v"]), refused);
    assert_eq!(cluster.ask(0, &["GET", "k"]), "\"v\"");
    let by_script = cluster.ask(0, &["EVAL", "return redis.call('del', 'k')", "0"]);
    assert!(by_script.starts_with(refused), "{by_script}");
    cluster.settle();
    assert_eq!(cluster.ask(0, &["SET", "k", "v"]), "+OK");
}

#[test]
fn a_replica_without_its_primary_answers_as_it_is_configured() {
    for (serve, expected) in [
        (true, "\"v\""),
        (
            false,
            "-MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'.",
        ),
    ] {
        let mut config = Config::default();
        config.replication.serve_stale_data = serve;
        let mut cluster = Cluster::new(&config, 1);
        cluster.ask(0, &["SET", "k", "v"]);
        cluster.settle();
        assert_eq!(cluster.ask(1, &["GET", "k"]), "\"v\"");
        cluster.stop(0, Stop::Kill);
        assert_eq!(cluster.ask(1, &["GET", "k"]), expected);
    }
}

#[test]
fn a_silent_link_is_given_up_at_both_ends() {
    let mut cluster = pair();
    cluster.run(1_000);
    cluster.apart.push((0, 1));
    cluster.pass(58_000);
    assert_eq!(info(&mut cluster, 1, "master_link_status"), "up");
    cluster.pass(3_000);
    assert_eq!(info(&mut cluster, 1, "master_link_status"), "down");
    assert_eq!(info(&mut cluster, 0, "connected_slaves"), "0");
    cluster.apart.clear();
    cluster.run(2_000);
    assert_eq!(info(&mut cluster, 1, "master_link_status"), "up");
}

#[test]
fn messages_reach_those_who_listen_to_a_replica() {
    let mut cluster = pair();
    cluster.ask(1, &["SUBSCRIBE", "news"]);
    cluster.late.clear();
    cluster.ask(0, &["PUBLISH", "news", "hello"]);
    cluster.settle();
    let (node, _, message) = cluster.late.pop().expect("a message");
    assert!(node == 1 && message.contains("hello"), "{message}");
}

#[test]
fn a_replica_passes_the_stream_on_to_its_own_replicas() {
    let mut cluster = Cluster::new(&Config::default(), 2);
    cluster.ask(2, &["REPLICAOF", "node1", "7000"]);
    cluster.run(2_000);
    cluster.ask(0, &["SET", "k", "v"]);
    cluster.run(0);
    assert_eq!(cluster.ask(2, &["GET", "k"]), "\"v\"");
    assert_eq!(
        info(&mut cluster, 2, "master_repl_offset"),
        info(&mut cluster, 0, "master_repl_offset")
    );
}

/// The names that the owner gives are its own affair; a link that the node does not know is closed.
#[test]
fn links_that_nobody_asked_for_are_closed() {
    let mut cluster = pair();
    let now = cluster.now;
    let effects = cluster
        .node(0)
        .link_opened(now, LinkId::Outgoing(77), &address(1));
    assert_eq!(effects.links.len(), 1);
    let nothing = cluster
        .node(0)
        .link_received(now, LinkId::Incoming(99), "PING\r\n".into());
    assert!(nothing.links.is_empty());
}
