//! The node behind a TCP port, for `redis-cli` and curiosity: `cargo run -p redis-node --example serve -- 7777`.
#![expect(
    clippy::disallowed_types,
    clippy::disallowed_methods,
    clippy::print_stderr,
    reason = "it lives in the real world"
)]

use std::io;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use redis_node::server::{Hub, serve};
use redis_node::{Config, Disk, Lua, Node, UnixTime};
use tokio::net::TcpListener;
use tokio::task::LocalSet;

fn now() -> UnixTime {
    let since = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    UnixTime(u64::try_from(since.as_nanos()).unwrap_or(u64::MAX))
}

/// Looks after the deadlines of the node, which change with every request, until it shuts down.
async fn keep_time(hub: Hub<fn() -> UnixTime>) {
    while hub.exit().is_none() {
        tokio::time::sleep(Duration::from_millis(1)).await;
        if hub
            .next_deadline()
            .is_some_and(|deadline| deadline <= now())
        {
            hub.tick();
        }
    }
    std::process::exit(0);
}

fn main() -> io::Result<()> {
    let port = std::env::args().nth(1).unwrap_or_else(|| "7777".to_owned());
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    LocalSet::new().block_on(&runtime, async {
        let listener = TcpListener::bind(format!("127.0.0.1:{port}")).await?;
        eprintln!("listening on {}", listener.local_addr()?);
        let config = Config {
            debug_command: true,
            ..Config::default()
        };
        let node = Node::boot(config, Disk::default(), Lua::new(), now());
        let hub = Hub::new(node, now as fn() -> UnixTime);
        tokio::task::spawn_local(keep_time(hub.clone()));
        loop {
            let (stream, _) = listener.accept().await?;
            tokio::task::spawn_local(serve(stream, hub.accept()));
        }
    })
}
