//! Against real servers, where `redis-server` is installed. `FENCEPOST_REQUIRE_REDIS=1` makes its absence
//! a failure.
#![expect(clippy::print_stderr, reason = "a test that could not run says so")]

use std::net::TcpListener;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use redis::aio::MultiplexedConnection;
use redlock::redis::{Elapsed, RedisNode, TcpConnect, TokioClock, TokioPorts, connect};
use redlock::{Builder, Clock, ExtendOutcome, NodeError, ReleaseOutcome, Retry, Vote};

use crate::world::ms;

type RealBuilder = Builder<TokioPorts<RedisNode<TcpConnect>>>;

/// A server that lives as long as the test.
struct Server {
    process: Child,
    port: u16,
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl Server {
    fn start() -> Option<Server> {
        let port = TcpListener::bind("127.0.0.1:0")
            .unwrap()
            .local_addr()
            .unwrap()
            .port();
        let started = Command::new("redis-server")
            .args([
                "--port",
                &port.to_string(),
                "--bind",
                "127.0.0.1",
                "--save",
                "",
                "--appendonly",
                "no",
            ])
            .args(["--dir", env!("CARGO_TARGET_TMPDIR")])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        match started {
            Ok(process) => Some(Server { process, port }),
            Err(error) => {
                let required =
                    std::env::var_os("FENCEPOST_REQUIRE_REDIS").is_some_and(|value| value == "1");
                assert!(
                    !required,
                    "redis-server is required and does not start: {error}"
                );
                None
            }
        }
    }

    fn url(&self) -> String {
        format!("redis://127.0.0.1:{}", self.port)
    }

    async fn connection(&self) -> MultiplexedConnection {
        let client = redis::Client::open(self.url()).unwrap();
        let mut last = None;
        for _ in 0..500 {
            match client.get_multiplexed_async_connection().await {
                Ok(connection) => return connection,
                Err(error) => last = Some(error),
            }
            pause().await;
        }
        panic!(
            "redis-server on port {} did not come up: {last:?}",
            self.port
        );
    }

    async fn send<T: redis::FromRedisValue>(&self, command: &str) -> T {
        let mut words = command.split(' ');
        let mut send = redis::cmd(words.next().unwrap());
        for word in words {
            send.arg(word);
        }
        send.query_async(&mut self.connection().await)
            .await
            .unwrap()
    }
}

/// 10 ms of real time, for loops that wait for another process.
async fn pause() {
    TokioClock::new(tokio::runtime::Handle::current(), Elapsed::Monotonic)
        .sleep(ms(10))
        .await;
}

/// Servers that answer, or nothing if there is no `redis-server` on this machine.
async fn servers(count: usize) -> Option<Vec<Server>> {
    let servers: Option<Vec<Server>> = (0..count).map(|_| Server::start()).collect();
    match &servers {
        None => eprintln!("skipped: there is no redis-server on this machine"),
        Some(servers) => {
            for server in servers {
                server.connection().await;
            }
        }
    }
    servers
}

fn builder(servers: &[Server]) -> RealBuilder {
    // Generous, since a loaded machine is not what is tested here.
    connect(servers.iter().map(Server::url))
        .unwrap()
        .node_timeout(ms(2_000))
        .ttl(ms(20_000))
}

async fn holders(servers: &[Server], key: &str) -> usize {
    let mut count = 0;
    for server in servers {
        count += server.send::<usize>(&format!("EXISTS {key}")).await;
    }
    count
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_holder_at_a_time() {
    let Some(servers) = servers(3).await else {
        return;
    };
    let retry = Retry {
        tries: 10_000,
        delay_least: ms(1),
        delay_most: ms(20),
    };
    let (inside, entries) = (Arc::new(AtomicU32::new(0)), Arc::new(AtomicU32::new(0)));
    let clients = (0..4).map(|_| {
        let lock = builder(&servers).retry(retry).build().unwrap();
        let (inside, entries) = (inside.clone(), entries.clone());
        async move {
            for _ in 0..5 {
                let mut guard = lock.acquire("shared").await.unwrap();
                assert_eq!(
                    inside.fetch_add(1, Ordering::SeqCst),
                    0,
                    "somebody else is inside"
                );
                pause().await;
                assert_eq!(inside.fetch_sub(1, Ordering::SeqCst), 1);
                entries.fetch_add(1, Ordering::SeqCst);
                assert_eq!(guard.release().await, ReleaseOutcome::Released);
            }
        }
    });
    let tasks: Vec<_> = clients
        .map(|client| tokio::runtime::Handle::current().spawn(client))
        .collect();
    for task in tasks {
        task.await.unwrap();
    }
    assert_eq!(entries.load(Ordering::SeqCst), 20);
    assert_eq!(holders(&servers, "shared").await, 0);
}

#[tokio::test]
async fn held_extended_and_released() {
    let Some(servers) = servers(5).await else {
        return;
    };
    let lock = builder(&servers).build().unwrap();
    let mut guard = lock.acquire("k").await.unwrap();
    assert_eq!(holders(&servers, "k").await, 5);
    let other = builder(&servers)
        .retry(Retry {
            tries: 1,
            ..Retry::default()
        })
        .build()
        .unwrap();
    let refused = other.acquire("k").await.unwrap_err();
    assert!(
        refused.votes.iter().any(|vote| vote.vote == Vote::Held),
        "{refused}"
    );
    for server in &servers {
        assert_eq!(server.send::<i64>("PEXPIRE k 5000").await, 1);
    }
    assert_eq!(guard.extend().await, ExtendOutcome::Extended);
    for server in &servers {
        assert!(server.send::<i64>("PTTL k").await > 5_000);
    }
    assert_eq!(guard.release().await, ReleaseOutcome::Released);
    assert!(other.acquire("k").await.is_ok());
}

#[tokio::test]
async fn anothers_key_is_neither_deleted_nor_prolonged() {
    let Some(servers) = servers(3).await else {
        return;
    };
    let mut guard = builder(&servers)
        .build()
        .unwrap()
        .acquire("k")
        .await
        .unwrap();
    for server in &servers {
        let _: String = server.send("SET k another PX 5000").await;
    }
    assert_eq!(guard.extend().await, ExtendOutcome::Lost);
    assert_eq!(guard.release().await, ReleaseOutcome::Foreign);
    for server in &servers {
        assert_eq!(server.send::<String>("GET k").await, "another");
        assert!(server.send::<i64>("PTTL k").await <= 5_000);
    }
}

#[tokio::test]
async fn scripts_survive_script_flush_and_are_sent_by_hash() {
    let Some(servers) = servers(1).await else {
        return;
    };
    let lock = builder(&servers).build().unwrap();
    for _ in 0..3 {
        assert_eq!(
            lock.acquire("k").await.unwrap().release().await,
            ReleaseOutcome::Released
        );
    }
    let statistics: String = servers[0].send("INFO commandstats").await;
    for expected in ["cmdstat_eval:calls=1,", "cmdstat_evalsha:calls=2,"] {
        assert!(
            statistics.contains(expected),
            "{expected} is not in {statistics}"
        );
    }
    let mut guard = lock.acquire("k").await.unwrap();
    let _: String = servers[0].send("SCRIPT FLUSH").await;
    assert_eq!(guard.release().await, ReleaseOutcome::Released);
}

#[tokio::test]
async fn dropped_guard_is_released_in_the_background() {
    let Some(servers) = servers(3).await else {
        return;
    };
    drop(
        builder(&servers)
            .build()
            .unwrap()
            .acquire("k")
            .await
            .unwrap(),
    );
    for _ in 0..500 {
        if holders(&servers, "k").await == 0 {
            return;
        }
        pause().await;
    }
    panic!("the keys are still there");
}

#[tokio::test]
async fn a_minority_that_dies_is_survived_and_a_majority_is_named() {
    let Some(mut servers) = servers(3).await else {
        return;
    };
    let lock = builder(&servers)
        .retry(Retry {
            tries: 1,
            ..Retry::default()
        })
        .build()
        .unwrap();
    let mut guard = lock.acquire("k").await.unwrap();
    let dead = servers.remove(0);
    drop(dead);
    assert_eq!(guard.release().await, ReleaseOutcome::Released);
    let guard = lock.acquire("k").await.unwrap();
    assert!(
        matches!(&guard.votes()[0].vote, Vote::Failed(_)),
        "{:?}",
        guard.votes()
    );
    drop(servers.remove(0));
    let refused = lock.acquire("other").await.unwrap_err();
    assert_eq!(
        refused
            .votes
            .iter()
            .filter(|vote| matches!(vote.vote, Vote::Failed(_)))
            .count(),
        2,
        "{refused}"
    );
}

#[tokio::test]
async fn a_server_that_comes_back_is_connected_again() {
    let Some(mut servers) = servers(1).await else {
        return;
    };
    let retry = Retry {
        tries: 100,
        delay_least: ms(10),
        delay_most: ms(20),
    };
    let lock = builder(&servers).retry(retry).build().unwrap();
    drop(lock.acquire("k").await.unwrap());
    let port = servers.remove(0).port;
    let again = Command::new("redis-server")
        .args([
            "--port",
            &port.to_string(),
            "--bind",
            "127.0.0.1",
            "--save",
            "",
            "--appendonly",
            "no",
        ])
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let _again = Server {
        process: again,
        port,
    };
    assert!(lock.acquire("k").await.is_ok());
}

#[tokio::test]
async fn a_server_out_of_memory_is_a_failed_vote_with_its_reason() {
    let Some(servers) = servers(3).await else {
        return;
    };
    let _: String = servers[0].send("CONFIG SET maxmemory 1").await;
    let guard = builder(&servers)
        .build()
        .unwrap()
        .acquire("k")
        .await
        .unwrap();
    let Vote::Failed(NodeError::Server { code, .. }) = &guard.votes()[0].vote else {
        panic!("{:?}", guard.votes());
    };
    assert_eq!(code, "OOM");
}

#[tokio::test]
async fn a_key_of_another_type_is_held_by_another() {
    let Some(servers) = servers(1).await else {
        return;
    };
    let _: i64 = servers[0].send("LPUSH k element").await;
    let lock = builder(&servers)
        .retry(Retry {
            tries: 1,
            ..Retry::default()
        })
        .build()
        .unwrap();
    let refused = lock.acquire("k").await.unwrap_err();
    assert_eq!(refused.votes[0].vote, Vote::Held);
    assert_eq!(servers[0].send::<String>("TYPE k").await, "list");
}
