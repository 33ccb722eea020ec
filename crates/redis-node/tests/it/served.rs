//! The node behind a real TCP port, driven by redis-rs.
#![expect(
    clippy::disallowed_methods,
    reason = "a real socket belongs to the machine"
)]

use std::cell::RefCell;
use std::rc::Rc;
use std::task::{Context, Poll};

use bytes::{Bytes, BytesMut};
use redis::aio::MultiplexedConnection;
use redis_node::request::Limits;
use redis_node::server::{Handler, Next, serve};
use redis_node::{Config, ConnectionId, Disk, Lua, Node, UnixTime};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::LocalSet;

use crate::support::START;

struct Served {
    node: Rc<RefCell<Node>>,
    connection: ConnectionId,
}

impl Handler for Served {
    async fn handle(&mut self, request: Vec<Bytes>, out: &mut BytesMut) -> Next {
        let mut node = self.node.borrow_mut();
        let effects = node.handle(UnixTime::from_millis(START), self.connection, &request);
        for (connection, reply) in &effects.replies {
            reply.encode(node.protocol(*connection), out);
        }
        if effects.close {
            Next::Close
        } else {
            Next::Continue
        }
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        self.node.borrow_mut().disconnected(self.connection);
    }
}

/// Runs `client` against a served node, everything on one thread.
fn with_server<F: Future<Output = ()>>(client: impl FnOnce(u16) -> F) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime");
    let local = LocalSet::new();
    local.block_on(&runtime, async {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let port = listener.local_addr().expect("bound").port();
        let now = UnixTime::from_millis(START);
        let node = Rc::new(RefCell::new(Node::boot(
            Config::default(),
            Disk::default(),
            Lua::new(),
            now,
        )));
        let accepting = tokio::task::spawn_local(async move {
            for id in 1.. {
                let Ok((stream, _)) = listener.accept().await else {
                    return;
                };
                let connection = ConnectionId(id);
                node.borrow_mut().connected(connection);
                let handler = Served {
                    node: Rc::clone(&node),
                    connection,
                };
                tokio::task::spawn_local(serve(stream, handler));
            }
        });
        client(port).await;
        accepting.abort();
    });
}

async fn connect(port: u16, query: &str) -> MultiplexedConnection {
    let client =
        redis::Client::open(format!("redis://127.0.0.1:{port}/{query}")).expect("an address");
    client
        .get_multiplexed_async_connection()
        .await
        .expect("connected")
}

#[test]
fn redis_rs_takes_and_releases_a_lock_in_both_protocols() {
    for query in ["", "?protocol=resp3"] {
        with_server(async |port| {
            let mut one = connect(port, query).await;
            let mut two = connect(port, query).await;
            let lock = |value: &str| {
                let mut command = redis::cmd("SET");
                command
                    .arg("lock")
                    .arg(value)
                    .arg("NX")
                    .arg("PX")
                    .arg(30_000);
                command
            };
            let taken: Option<String> = lock("one").query_async(&mut one).await.expect("a reply");
            let refused: Option<String> = lock("two").query_async(&mut two).await.expect("a reply");
            assert_eq!((taken.as_deref(), refused), (Some("OK"), None));
            let release = redis::Script::new(
                "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) else return 0 end",
            );
            // The first call answers NOSCRIPT; redis-rs loads the script and tries again.
            let foreign: i64 = release
                .key("lock")
                .arg("two")
                .invoke_async(&mut two)
                .await
                .expect("a reply");
            let own: i64 = release
                .key("lock")
                .arg("one")
                .invoke_async(&mut one)
                .await
                .expect("a reply");
            assert_eq!((foreign, own), (0, 1));
            let error = redis::cmd("NOPE")
                .query_async::<()>(&mut one)
                .await
                .expect_err("no such command");
            assert!(
                error.to_string().contains("unknown command 'NOPE'"),
                "{error}"
            );
        });
    }
}

#[test]
fn a_pipeline_is_answered_in_order() {
    with_server(async |port| {
        let mut connection = connect(port, "").await;
        let mut pipeline = redis::pipe();
        for _ in 0..10_000 {
            pipeline.cmd("INCR").arg("n");
        }
        let counted: Vec<i64> = pipeline
            .query_async(&mut connection)
            .await
            .expect("replies");
        assert_eq!(counted, (1..=10_000).collect::<Vec<_>>());
    });
}

async fn exchange(port: u16, bytes: &[u8]) -> String {
    let mut stream = TcpStream::connect(("127.0.0.1", port))
        .await
        .expect("connected");
    stream.write_all(bytes).await.expect("sent");
    let mut reply = String::new();
    stream
        .read_to_string(&mut reply)
        .await
        .expect("closed by the server");
    reply
}

#[test]
fn the_server_closes_after_quit_and_after_a_protocol_error() {
    with_server(async |port| {
        assert_eq!(
            exchange(port, b"PING\r\nQUIT\r\nPING\r\n").await,
            "+PONG\r\n+OK\r\n"
        );
        let reply = exchange(port, b"PING\r\n*1\r\n:1\r\nPING\r\n").await;
        assert_eq!(
            reply,
            "+PONG\r\n-ERR Protocol error: expected '$', got ':'\r\n"
        );
    });
}

#[test]
fn half_a_command_and_silence_is_no_harm_to_others() {
    with_server(async |port| {
        let mut silent = TcpStream::connect(("127.0.0.1", port))
            .await
            .expect("connected");
        silent
            .write_all(b"*3\r\n$3\r\nSET\r\n$400000000\r\nx")
            .await
            .expect("sent");
        assert_eq!(
            exchange(port, b"PING\r\nQUIT\r\n").await,
            "+PONG\r\n+OK\r\n"
        );
    });
}

/// A handler with something to say of its own, and with narrow limits.
struct Talkative {
    left: u32,
}

impl Handler for Talkative {
    async fn handle(&mut self, _: Vec<Bytes>, out: &mut BytesMut) -> Next {
        out.extend_from_slice(b"+reply\r\n");
        Next::Continue
    }

    fn poll_outgoing(&mut self, _: &mut Context<'_>, out: &mut BytesMut) -> Poll<()> {
        if self.left == 0 {
            return Poll::Pending;
        }
        self.left -= 1;
        out.extend_from_slice(b">1\r\n+push\r\n");
        Poll::Ready(())
    }

    fn limits(&self) -> Limits {
        Limits {
            request_bytes: 100,
            ..Limits::default()
        }
    }
}

fn talk(bytes: &[u8]) -> String {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .expect("a runtime");
    runtime.block_on(async {
        // The pipe holds all of it, so one side can be finished before the other begins.
        let (mut client, server) = tokio::io::duplex(1 << 16);
        client.write_all(bytes).await.expect("sent");
        client.shutdown().await.expect("half closed");
        serve(server, Talkative { left: 2 })
            .await
            .expect("no error of the stream");
        let mut reply = String::new();
        client.read_to_string(&mut reply).await.expect("read");
        reply
    })
}

#[test]
fn what_nobody_asked_for_is_sent_between_replies() {
    let pushes = ">1\r\n+push\r\n".repeat(2);
    assert_eq!(talk(b"PING\r\n"), format!("{pushes}+reply\r\n"));
}

#[test]
fn a_request_over_the_limit_of_the_connection_ends_it() {
    let reply = talk(b"*1\r\n$200\r\n");
    assert!(
        reply.ends_with("-ERR Protocol error: too big request\r\n"),
        "{reply}"
    );
}
