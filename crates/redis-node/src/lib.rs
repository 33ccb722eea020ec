//! One Redis 7.0 server without input or output: keyspace, commands, Lua, persistence, replication.
//!
//! [`Node`] is a state machine. Whoever owns it passes requests and the wall clock in and carries the
//! [`Effects`] out; it reads no clock, draws no randomness, opens no socket and starts no thread. So the
//! same node serves a real TCP port, a simulated one, and an event queue without any bytes in between.
//!
//! The rules are those of Redis 7.0's documentation; error texts are its own, by word.
//!
//! ```
//! use bytes::Bytes;
//! use redis_node::{Config, ConnectionId, Disk, Lua, Node, Reply, UnixTime};
//!
//! let now = UnixTime::from_millis(1_700_000_000_000);
//! let mut node = Node::boot(Config::default(), Disk::default(), Lua::new(), now);
//! let client = ConnectionId(1);
//! node.connected(client);
//! let set = ["SET", "lock", "mine", "NX", "PX", "30000"].map(Bytes::from);
//! let effects = node.handle(now, client, &set);
//! assert_eq!(effects.replies[0], (client, Reply::ok()));
//! ```

mod admission;
mod channels;
mod command;
mod config;
mod database;
mod disk;
mod effects;
mod eviction;
mod fields;
mod glob;
mod keyspace;
mod links;
mod lua;
mod node;
mod number;
mod parameters;
mod persistence;
mod replication;
mod reply;
pub mod request;
pub mod server;
mod session;
mod sleep;
mod time;

pub use command::command_table;
pub use config::{Address, Config, DiskTimes, Fsync, Persistence, ReplicationConfig, SavePoint};
pub use disk::{Disk, Stop};
pub use effects::{Delayed, Did, Effects, Touch};
pub use eviction::Eviction;
pub use lua::Lua;
pub use node::Node;
pub use replication::{LinkEffect, LinkId};
pub use reply::{Protocol, Reply};
pub use session::ConnectionId;
pub use time::UnixTime;
