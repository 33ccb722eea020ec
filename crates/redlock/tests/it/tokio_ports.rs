//! The ports on tokio: what compiles in generic code, and what never panics.

use std::time::{Duration, UNIX_EPOCH};

use redlock::redis::{
    Elapsed, OsEntropy, RedisNode, TcpConnect, TokioClock, TokioPorts, TokioSpawn, connect,
};
use redlock::{BuildError, Clock, Entropy, Order, Ports, Redlock, Spawn};

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap()
}

/// Code that knows nothing of its ports runs on a runtime of many threads.
#[expect(
    clippy::disallowed_methods,
    reason = "shows that the futures can be spawned on tokio"
)]
async fn spawned_from_generic_code<P: Ports>(lock: Redlock<P>) -> bool {
    let task = tokio::spawn(async move {
        let mut guard = lock.acquire("k").await?;
        guard.extend().await;
        guard.release().await;
        Ok::<_, redlock::Refused>(())
    });
    task.await.expect("no panic").is_ok()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lock_without_servers_is_refused_on_tokio_from_generic_code() {
    // Port 1 of the own machine: nobody listens.
    for order in [Order::Sequential, Order::Parallel] {
        let lock = connect(["redis://127.0.0.1:1"])
            .unwrap()
            .order(order)
            .build()
            .unwrap();
        assert!(!spawned_from_generic_code(lock).await);
    }
}

#[test]
fn a_future_of_acquire_owns_what_it_needs() {
    fn owned<T: Send + 'static>(_: T) {}
    let runtime = runtime();
    let _within = runtime.enter();
    let lock = connect(["redis://127.0.0.1:1"]).unwrap().build().unwrap();
    let acquiring = lock.acquire(String::from("k"));
    drop(lock);
    owned(acquiring);
}

#[test]
fn without_a_runtime_there_is_an_error_and_no_panic() {
    let error = connect(["redis://127.0.0.1:1"]).unwrap_err().to_string();
    assert!(error.starts_with("not within a tokio runtime"), "{error}");
}

#[test]
fn a_url_that_cannot_be_read_is_named_by_its_place() {
    let runtime = runtime();
    let _within = runtime.enter();
    let error = connect(["redis://127.0.0.1:1", "http://:secret@nowhere"])
        .unwrap_err()
        .to_string();
    assert!(
        error.starts_with("URL number 2 of the list") && !error.contains("secret"),
        "{error}"
    );
}

#[test]
fn the_same_server_by_two_databases_is_the_same_node() {
    let runtime = runtime();
    let _within = runtime.enter();
    let built = connect(["redis://127.0.0.1:7001/0", "redis://127.0.0.1:7001/1"])
        .unwrap()
        .build();
    assert!(
        matches!(built, Err(BuildError::SameNodeTwice(node)) if node.as_str() == "127.0.0.1:7001")
    );
}

#[test]
fn spawning_outside_of_the_runtime_runs_and_after_its_end_does_not_panic() {
    let runtime = runtime();
    let spawn = TokioSpawn::new(runtime.handle().clone());
    let (sender, receiver) = std::sync::mpsc::channel();
    let first = sender.clone();
    spawn.spawn(async move { first.send("ran").unwrap() });
    runtime.block_on(async {
        TokioClock::new(runtime.handle().clone(), Elapsed::Monotonic)
            .sleep(Duration::from_millis(1))
            .await
    });
    assert_eq!(receiver.try_recv(), Ok("ran"));
    drop(runtime);
    spawn.spawn(async move { sender.send("never").unwrap() });
    assert!(
        receiver.recv().is_err(),
        "the task was dropped, and its sender with it"
    );
}

#[test]
fn monotonic_starts_at_zero_and_wall_counts_from_the_epoch() {
    let runtime = runtime();
    let clock = |elapsed| TokioClock::new(runtime.handle().clone(), elapsed);
    assert!(clock(Elapsed::Monotonic).now().0 < Duration::from_secs(3_600));
    let year_2020 = UNIX_EPOCH + Duration::from_secs(1_577_836_800);
    assert!(UNIX_EPOCH + clock(Elapsed::Wall).now().0 > year_2020);
}

#[test]
fn the_operating_system_gives_other_bytes_each_time() {
    let draw = || {
        let mut bytes = [0; 20];
        OsEntropy.fill(&mut bytes);
        bytes
    };
    assert_ne!(draw(), draw());
}

#[test]
fn ports_are_built_for_any_runtime() {
    let runtime = runtime();
    let ports: TokioPorts<RedisNode<TcpConnect>> =
        TokioPorts::new(runtime.handle().clone(), Elapsed::Wall);
    let node = RedisNode::new(TcpConnect::new("redis://127.0.0.1:1").unwrap());
    let lock = Redlock::builder(ports).node(node).build().unwrap();
    let refused = runtime.block_on(lock.acquire("k")).unwrap_err();
    assert!(
        refused.to_string().contains("127.0.0.1:1: cannot connect"),
        "{refused}"
    );
}
