//! What a node is configured with, as far as `redis.conf` goes here.

use crate::Eviction;

/// Configuration of one node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// What survives which kind of stop.
    pub persistence: Persistence,
    /// Identifies this run of the server in `INFO` and to replicas; forty hexadecimal digits.
    ///
    /// Redis draws it at random at each start. Here the caller draws it from its own stream.
    pub run_id: String,
    /// `maxmemory`: how many bytes keys and values may take, by the node's estimate; 0 is no limit.
    pub maxmemory_bytes: u64,
    /// `maxmemory-policy`: what happens at that limit.
    pub eviction: Eviction,
    /// `enable-debug-command`: whether `DEBUG` is answered with more than a refusal.
    pub debug_command: bool,
}

impl Default for Config {
    /// Redis's default as far as locks are concerned: nothing reaches the disk.
    fn default() -> Self {
        Config {
            persistence: Persistence::None,
            run_id: "0".repeat(40),
            maxmemory_bytes: 0,
            eviction: Eviction::NoEviction,
            debug_command: false,
        }
    }
}

/// Which changes reach the disk.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Persistence {
    /// Nothing does: every stop loses every key.
    #[default]
    None,
    /// The append-only file: each change is written before its reply goes out.
    Aof {
        /// When what was written is also on the platter.
        fsync: Fsync,
    },
}

/// `appendfsync`: when the append-only file is forced from the page cache to the platter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Fsync {
    /// Before the reply: nothing acknowledged is lost, by kill or by power loss.
    Always,
}
