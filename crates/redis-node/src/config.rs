//! What a node is configured with, as far as `redis.conf` goes here.

/// Configuration of one node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// What survives which kind of stop.
    pub persistence: Persistence,
    /// Identifies this run of the server in `INFO` and to replicas; forty hexadecimal digits.
    ///
    /// Redis draws it at random at each start. Here the caller draws it from its own stream.
    pub run_id: String,
}

impl Default for Config {
    /// Redis's default as far as locks are concerned: nothing reaches the disk.
    fn default() -> Self {
        Config {
            persistence: Persistence::None,
            run_id: "0".repeat(40),
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
