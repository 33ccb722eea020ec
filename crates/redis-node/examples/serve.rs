//! The node behind a TCP port, for `redis-cli` and curiosity: `cargo run -p redis-node --example serve -- 7777`.
#![expect(
    clippy::disallowed_types,
    clippy::disallowed_methods,
    clippy::print_stderr,
    reason = "it lives in the real world"
)]

use std::cell::RefCell;
use std::io;
use std::rc::Rc;
use std::time::{SystemTime, UNIX_EPOCH};

use bytes::{Bytes, BytesMut};
use redis_node::server::{Handler, Next, serve};
use redis_node::{Config, ConnectionId, Disk, Lua, Node, UnixTime};
use tokio::net::TcpListener;
use tokio::task::LocalSet;

struct Connection {
    node: Rc<RefCell<Node>>,
    id: ConnectionId,
}

impl Handler for Connection {
    async fn handle(&mut self, request: Vec<Bytes>, out: &mut BytesMut) -> Next {
        let mut node = self.node.borrow_mut();
        let effects = node.handle(now(), self.id, &request);
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

impl Drop for Connection {
    fn drop(&mut self) {
        self.node.borrow_mut().disconnected(self.id);
    }
}

fn now() -> UnixTime {
    let since = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    UnixTime(u64::try_from(since.as_nanos()).unwrap_or(u64::MAX))
}

fn main() -> io::Result<()> {
    let port = std::env::args().nth(1).unwrap_or_else(|| "7777".to_owned());
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    LocalSet::new().block_on(&runtime, async {
        let listener = TcpListener::bind(format!("127.0.0.1:{port}")).await?;
        eprintln!("listening on {}", listener.local_addr()?);
        let node = Node::boot(Config::default(), Disk::default(), Lua::new(), now());
        let node = Rc::new(RefCell::new(node));
        for id in 1.. {
            let (stream, _) = listener.accept().await?;
            let id = ConnectionId(id);
            node.borrow_mut().connected(id);
            let node = Rc::clone(&node);
            tokio::task::spawn_local(serve(stream, Connection { node, id }));
        }
        Ok(())
    })
}
