//! What a node is configured with, as far as `redis.conf` goes here.

use std::fmt;
use std::time::Duration;

use crate::Eviction;

/// Configuration of one node. A field's name is that of `redis.conf` where there is one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// What survives which kind of stop.
    pub persistence: Persistence,
    /// `save`: when a snapshot is due, if there is any persistence at all.
    pub save: Vec<SavePoint>,
    /// How the disk of the node behaves.
    pub disk: DiskTimes,
    /// How the node replicates.
    pub replication: ReplicationConfig,
    /// Identifies this run of the server in `INFO` and to replicas; forty hexadecimal digits.
    ///
    /// Redis draws it at random at each start. Here the caller draws it from its own stream, another one for
    /// each node: replication ids are derived from it, and two histories of one name would be taken for one.
    pub run_id: String,
    /// `maxmemory`: how many bytes keys and values may take, by the node's estimate; 0 is no limit.
    pub maxmemory_bytes: u64,
    /// `maxmemory-policy`: what happens at that limit.
    pub eviction: Eviction,
    /// `enable-debug-command`: whether `DEBUG` is answered with more than a refusal.
    pub debug_command: bool,
}

impl Default for Config {
    /// Nothing reaches the disk, so that what survives is always somebody's choice; the rest is Redis's default.
    fn default() -> Self {
        Config {
            persistence: Persistence::None,
            save: SavePoint::REDIS_DEFAULT.into(),
            disk: DiskTimes::default(),
            replication: ReplicationConfig::default(),
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
    /// Nothing does by itself (`save ""`, `appendonly no`): every stop loses every key, unless `SAVE` was sent.
    #[default]
    None,
    /// Redis's own default: snapshots at the save points, and at a clean shutdown.
    Rdb,
    /// The append-only file, and snapshots at the save points, which are not what is loaded.
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
    /// In the background, a second or more after the last one began. A write that meets a running fsync is
    /// put off for up to two seconds, in the process's own memory.
    EverySec,
    /// When the kernel sees fit: see [`DiskTimes::writeback_after`].
    No,
}

/// `save <seconds> <changes>`: a snapshot is due when so many changes are older than so many seconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SavePoint {
    /// Whole seconds since the last snapshot; more than these must have passed.
    pub seconds: u32,
    /// At least that many changes.
    pub changes: u64,
}

impl SavePoint {
    /// `save 3600 1 300 100 60 10000`.
    pub const REDIS_DEFAULT: [SavePoint; 3] = [
        SavePoint {
            seconds: 3600,
            changes: 1,
        },
        SavePoint {
            seconds: 300,
            changes: 100,
        },
        SavePoint {
            seconds: 60,
            changes: 10_000,
        },
    ];
}

/// How long the disk and the kernel take, by the clock that the node is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DiskTimes {
    /// One fsync. With `always` the server stands still for as long. Zero: done as soon as begun.
    pub fsync_takes: Duration,
    /// One snapshot or rewrite of the log, in a process of its own; `SAVE` stands still for as long.
    pub save_takes: Duration,
    /// Reading the disk at the start; until then commands are answered with `LOADING`.
    pub loading_takes: Duration,
    /// After that time the kernel writes dirty pages back by itself; Linux's `dirty_expire_centisecs` is 30 s.
    pub writeback_after: Duration,
}

impl Default for DiskTimes {
    fn default() -> Self {
        DiskTimes {
            fsync_takes: Duration::ZERO,
            save_takes: Duration::ZERO,
            loading_takes: Duration::ZERO,
            writeback_after: Duration::from_secs(30),
        }
    }
}

/// Where a node is found by others.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Address {
    /// A name or a number, as it stands in `REPLICAOF`.
    pub host: String,
    /// Its TCP port.
    pub port: u16,
}

impl Address {
    /// The address of a host's port.
    pub fn new(host: impl Into<String>, port: u16) -> Self {
        Address {
            host: host.into(),
            port,
        }
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.host, self.port)
    }
}

/// Replication, from both ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReplicationConfig {
    /// `replicaof`: whom the node follows from its start.
    pub replica_of: Option<Address>,
    /// The port that a replica tells its primary it listens on.
    pub port: u16,
    /// `min-replicas-to-write`; zero: writes are accepted without any replica.
    pub min_replicas_to_write: u32,
    /// `min-replicas-max-lag`, in whole seconds as in Redis; zero switches the rule off, too.
    pub min_replicas_max_lag: u32,
    /// `repl-backlog-size` in bytes: how far back a replica may be to go on without a full copy.
    pub backlog_bytes: usize,
    /// `replica-serve-stale-data`: whether a replica without a primary answers reads.
    pub serve_stale_data: bool,
    /// `repl-timeout`: a link on which nothing was heard for longer is closed.
    pub timeout: Duration,
    /// `repl-ping-replica-period`: how often a primary says that it is there.
    pub ping_period: Duration,
}

impl Default for ReplicationConfig {
    fn default() -> Self {
        ReplicationConfig {
            replica_of: None,
            port: 6379,
            min_replicas_to_write: 0,
            min_replicas_max_lag: 10,
            backlog_bytes: 1 << 20,
            serve_stale_data: true,
            timeout: Duration::from_secs(60),
            ping_period: Duration::from_secs(10),
        }
    }
}
