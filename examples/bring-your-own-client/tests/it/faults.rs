//! What becomes of the lock: in peace, while the network holds back, after a partition, and when the node forgets.

use std::time::Duration;

use tokio::time::{sleep, timeout};

use crate::cluster::{Client, Cluster, Trace};

const SEED: u64 = 7;
const PATIENCE: Duration = Duration::from_secs(30);

/// The same seed gives the same trace, and another one another: latencies differ.
#[track_caller]
fn repeats(run: impl Fn(u64) -> Trace) -> Trace {
    let trace = run(SEED);
    assert_eq!(run(SEED).lines(), trace.lines());
    assert_ne!(run(SEED + 1).lines(), trace.lines());
    trace
}

/// Holds the lock until it is lost.
async fn hold(client: Client) -> turmoil::Result {
    let lock = client.lock().await?;
    let mut held = lock
        .acquire(PATIENCE)
        .await
        .expect("the lock is free in time");
    client.says("acquired");
    held.lost().await;
    client.says("lost");
    Ok(())
}

/// The same from a time on.
async fn contend(client: Client, start: Duration) -> turmoil::Result {
    sleep(start).await;
    hold(client).await
}

#[test]
fn acquired_renewed_and_released() {
    let trace = repeats(|seed| {
        let mut cluster = Cluster::new(seed);
        cluster.client("c1", |client| async move {
            let held = client
                .lock()
                .await?
                .acquire(PATIENCE)
                .await
                .expect("it is free");
            client.says("acquired");
            sleep(Duration::from_secs(5)).await;
            assert!(held.is_valid(), "five seconds are longer than the TTL");
            assert!(held.release().await?, "it was its own");
            client.says("released");
            Ok(())
        });
        cluster.client("c2", |client| contend(client, Duration::from_secs(1)));
        cluster.until(4.9);
        assert_eq!(cluster.holder().as_deref(), Some("c1"));
        cluster.until(6.0);
        assert_eq!(cluster.holder().as_deref(), Some("c2"));
        cluster.trace
    });
    // One renewal a second, and the first one twice: redis-rs learnt that the node did not know the script.
    assert_eq!(trace.times("from c1: EVALSHA 1 lock c1 3000").len(), 4 + 1);
    assert!(trace.time("c1 released") > 5_000);
    assert!(trace.time("c2 acquired") - trace.time("c1 released") < 100);
}

/// What turmoil holds back arrives later. The lease runs out meanwhile, and its holder knows before the next one has it.
#[test]
fn the_lease_runs_out_while_the_network_holds_back() {
    let trace = repeats(|seed| {
        let mut cluster = Cluster::new(seed);
        cluster.client("c1", hold);
        cluster.client("c2", |client| contend(client, Duration::from_secs(1)));
        cluster.until(2.5);
        assert_eq!(cluster.holder().as_deref(), Some("c1"));
        cluster.sim.hold("c1", "node");
        cluster.until(10.0);
        assert_eq!(cluster.holder().as_deref(), Some("c2"));
        let expiry = cluster.expiry();
        cluster.sim.release("c1", "node");
        cluster.until(10.005);
        assert_eq!(cluster.expiry(), expiry, "a renewal asks whose the key is");
        cluster.until(12.0);
        assert_eq!(cluster.holder().as_deref(), Some("c2"));
        cluster.trace
    });
    assert!(trace.time("c1 lost") <= trace.time("c2 acquired"));
    assert!(
        trace.time("c2 acquired") < 6_000,
        "the last renewal was before 2.5 s"
    );
    // 2.51 s: what was on its way when the network stopped.
    let renewals = trace.times("lock c1 3000");
    let (early, late): (Vec<u64>, Vec<u64>) = renewals.iter().partition(|time| **time < 2_510);
    assert!(!early.is_empty() && !late.is_empty(), "{renewals:?}");
    assert!(
        late.iter().all(|time| (10_000..10_005).contains(time)),
        "{late:?}"
    );
}

/// turmoil retransmits nothing: after a partition and its repair a connection is neither closed nor of any use.
#[test]
fn a_partition_kills_connections_without_a_word() {
    let trace = repeats(|seed| {
        let mut cluster = Cluster::new(seed);
        cluster.client("c1", |client| async move {
            let mut old = client.connect().await?;
            let ping = redis::cmd("PING");
            let pong: String = ping.query_async(&mut old).await?;
            client.says(&pong);
            sleep(Duration::from_secs(2)).await;
            // Within the partition: lost. From then on the node waits for what will never come again.
            let first = ping.query_async::<String>(&mut old).await;
            assert!(first.is_err_and(|error| error.is_timeout()));
            sleep(Duration::from_secs(2)).await;
            let second = ping.query_async::<String>(&mut old).await;
            assert!(second.is_err_and(|error| error.is_timeout()));
            client.says("still has no answer");
            let pong: String = ping.query_async(&mut client.connect().await?).await?;
            client.says(&format!("{pong} anew"));
            Ok(())
        });
        cluster.until(1.0);
        cluster.sim.partition("c1", "node");
        cluster.until(3.0);
        cluster.sim.repair("c1", "node");
        cluster.until(6.0);
        cluster.trace
    });
    assert!(trace.time("c1 PONG") < 1_000);
    assert!(trace.time("c1 still has no answer") > 4_000);
    assert!(trace.time("c1 PONG anew") > 4_000);
    assert_eq!(
        trace.times("from c1: PING").len(),
        2,
        "{:#?}",
        trace.lines()
    );
}

/// The node has nothing on its disk. It forgets the lock, and gives it to the next one while its holder believes in it.
#[test]
fn a_node_that_forgets_makes_two_holders() {
    let trace = repeats(|seed| {
        let mut cluster = Cluster::new(seed);
        cluster.client("c1", hold);
        cluster.client("c2", |client| contend(client, Duration::from_secs(3)));
        cluster.until(2.5);
        assert_eq!(cluster.holder().as_deref(), Some("c1"));
        cluster.sim.crash("node");
        cluster.until(2.6);
        cluster.sim.bounce("node");
        cluster.until(2.9);
        assert_eq!(cluster.holder(), None, "nothing survived");
        cluster.until(3.5);
        assert_eq!(cluster.holder().as_deref(), Some("c2"));
        cluster.until(8.0);
        cluster.trace
    });
    // Both believed for more than a second.
    assert!(trace.time("c2 acquired") + 1_000 < trace.time("c1 lost"));
    assert_eq!(trace.times("c2 lost").len(), 0);
}

/// turmoil's crash closes what is open, as a kernel does after a kill, and refuses nothing, as a machine without power.
#[test]
fn a_crash_is_neither_a_kill_nor_a_loss_of_power() {
    let trace = repeats(|seed| {
        let mut cluster = Cluster::new(seed);
        cluster.client("c1", |client| async move {
            let mut old = client.connect().await?;
            let ping = redis::cmd("PING");
            let pong: String = ping.query_async(&mut old).await?;
            client.says(&pong);
            sleep(Duration::from_secs(2)).await;
            let answer = ping.query_async::<String>(&mut old).await;
            assert!(answer.is_err_and(|error| error.is_connection_dropped()));
            client.says("was told");
            let connecting = timeout(Duration::from_secs(1), client.connect()).await;
            assert!(connecting.is_err(), "nobody answers");
            client.says("got no answer");
            Ok(())
        });
        cluster.until(1.0);
        cluster.sim.crash("node");
        cluster.until(4.0);
        cluster.trace
    });
    assert_eq!(
        trace.time("c1 got no answer") - trace.time("c1 was told"),
        1_000
    );
}
