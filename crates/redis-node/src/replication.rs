//! Replication: histories and their names, the stream of commands, and both ends of a link.
//!
//! A *link* is an ordered stream of bytes between two nodes, which the owner carries. The protocol on it is
//! Redis's: `PING`, `REPLCONF`, `PSYNC`, then a full copy or the missing part, then commands as they happen.
//! Only the full copy has a format of its own: the commands that lead to it, instead of an RDB file.

mod backlog;
mod primary;
mod replica;
mod report;
mod wait;
mod wire;

use std::collections::BTreeMap;
use std::mem;

use bytes::Bytes;

use crate::config::{Address, ReplicationConfig};
use crate::disk::Unit;
use crate::{ConnectionId, UnixTime};

use backlog::Backlog;
use primary::Follower;
pub(crate) use primary::Serves;
pub(crate) use replica::Arrived;
use replica::Upstream;
use wait::Waiter;

/// Names one end of a link between nodes, as seen by the node at that end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LinkId {
    /// A link that this node asked for. The node chose the number, and uses it once.
    Outgoing(u64),
    /// A link that another node asked for. The owner chose the number, and uses it once in this node's life.
    Incoming(u64),
}

/// What a node wants done to its links, in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LinkEffect {
    /// Open a link to the node at that address. Answer with [`crate::Node::link_opened`] or, if that fails, with
    /// [`crate::Node::link_closed`].
    Connect {
        /// The new link's name at this end.
        link: LinkId,
        /// Whom to reach.
        peer: Address,
    },
    /// Carry these bytes to the other end, after all that was sent before.
    Send {
        /// The link's name at this end.
        link: LinkId,
        /// What to carry; where messages begin and end means nothing.
        bytes: Bytes,
    },
    /// Close the link, after what was sent. The node has forgotten it and is not to be told.
    Close {
        /// The link's name at this end.
        link: LinkId,
    },
}

/// Everything that a node knows about its primary, its replicas and the history that they share.
#[derive(Debug)]
pub(crate) struct Replication {
    config: ReplicationConfig,
    history: History,
    backlog: Option<Backlog>,
    followers: BTreeMap<LinkId, Follower>,
    upstream: Option<Upstream>,
    waiters: Vec<Waiter>,
    outbox: Vec<LinkEffect>,
    last_ping: UnixTime,
    /// Links that were asked for, ever.
    links: u64,
    /// Some WAIT wants to know how far the replicas are.
    asks_for_ack: bool,
}

/// The name of a history of the keys, how far this node has come in it, and the one that it came from.
#[derive(Clone, Debug)]
struct History {
    id: String,
    offset: u64,
    /// A former name, good for those who have not come further than the offset.
    former: Option<(String, u64)>,
    /// What new names are made of.
    seed: String,
    names: u64,
}

impl History {
    fn new(run_id: &str, now: UnixTime) -> History {
        let seed = format!("{run_id}:{}", now.0);
        let mut history = History {
            id: String::new(),
            offset: 0,
            former: None,
            seed,
            names: 0,
        };
        history.id = history.new_name();
        history
    }

    /// Redis draws forty digits at random; here they follow from the run id, which nobody else has.
    fn new_name(&mut self) -> String {
        self.names += 1;
        sha1_smol::Sha1::from(format!("{}:{}", self.seed, self.names))
            .digest()
            .to_string()
    }

    /// A history of its own begins here; whoever is not ahead may follow it from the old one.
    fn branch(&mut self) {
        let new = self.new_name();
        self.former = Some((mem::replace(&mut self.id, new), self.offset + 1));
    }

    /// Whether a replica that was told this name, and wants to go on at that offset, is on this history.
    fn covers(&self, id: &str, next: u64) -> bool {
        self.id == id
            || self
                .former
                .as_ref()
                .is_some_and(|(former, until)| former == id && next <= *until)
    }
}

impl Replication {
    pub(crate) fn new(config: ReplicationConfig, run_id: &str, now: UnixTime) -> Replication {
        Replication {
            upstream: config
                .replica_of
                .clone()
                .map(|address| Upstream::new(address, now)),
            config,
            history: History::new(run_id, now),
            backlog: None,
            followers: BTreeMap::new(),
            waiters: Vec::new(),
            outbox: Vec::new(),
            last_ping: now,
            links: 0,
            asks_for_ack: false,
        }
    }

    pub(crate) fn config(&self) -> &ReplicationConfig {
        &self.config
    }

    /// Obeys a changed configuration, but for whom to follow: that is changed by `REPLICAOF`.
    pub(crate) fn reconfigure(&mut self, config: &ReplicationConfig) {
        self.config = config.clone();
        if let Some(backlog) = &mut self.backlog {
            backlog.resize(config.backlog_bytes);
        }
    }

    /// Whether what changes has to be told to [`Replication::feed`].
    pub(crate) fn records(&self) -> bool {
        self.backlog.is_some()
    }

    pub(crate) fn is_replica(&self) -> bool {
        self.upstream.is_some()
    }

    pub(crate) fn offset(&self) -> u64 {
        self.history.offset
    }

    /// Sends a unit of this primary to whoever follows.
    pub(crate) fn feed(&mut self, unit: &Unit) {
        if self.backlog.is_some() {
            self.feed_bytes(wire::encode_unit(unit));
        }
    }

    fn feed_bytes(&mut self, bytes: Bytes) {
        let Some(backlog) = &mut self.backlog else {
            return;
        };
        self.history.offset += bytes.len() as u64;
        backlog.push(bytes.clone());
        for (link, follower) in &self.followers {
            if follower.is_fed() {
                self.outbox.push(LinkEffect::Send {
                    link: *link,
                    bytes: bytes.clone(),
                });
            }
        }
    }

    /// Moves what is to be done to the links there, in order.
    pub(crate) fn take_outbox(&mut self, links: &mut Vec<LinkEffect>) {
        links.append(&mut self.outbox);
    }

    fn send(&mut self, link: LinkId, bytes: impl Into<Bytes>) {
        self.outbox.push(LinkEffect::Send {
            link,
            bytes: bytes.into(),
        });
    }

    fn close(&mut self, link: LinkId) {
        self.outbox.push(LinkEffect::Close { link });
    }

    fn new_backlog(&mut self) {
        self.backlog = Some(Backlog::new(self.history.offset, self.config.backlog_bytes));
    }

    /// When something is to be done although nobody says anything.
    pub(crate) fn next_deadline(&self) -> Option<UnixTime> {
        let upstream = self
            .upstream
            .as_ref()
            .map(|upstream| upstream.deadline(self.config.timeout));
        [upstream, self.followers_deadline(), self.waiters_deadline()]
            .into_iter()
            .flatten()
            .min()
    }

    pub(crate) fn has_waiters(&self) -> bool {
        !self.waiters.is_empty()
    }

    /// How many connections wait.
    pub(crate) fn waiting(&self) -> usize {
        self.waiters.len()
    }

    /// The connection waits for replicas, so its requests have to wait, too.
    pub(crate) fn holds_up(&self, connection: ConnectionId) -> bool {
        self.has_waiters()
            && self
                .waiters
                .iter()
                .any(|waiter| waiter.connection == connection)
    }
}
