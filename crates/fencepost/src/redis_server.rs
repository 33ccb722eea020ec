//! A Redis node as a server host of the simulated world.

use std::cell::RefCell;

use bytes::Bytes;
use fencepost_checker::history::Crash;
use fencepost_world::{Host, Service};
use redis_node::{
    Address, Config, ConnectionId, Did, Disk, Effects, LinkId, Lua, Node, Protocol, Stop, Touch,
    UnixTime,
};

/// The operator's connection; those of clients count from 1.
const OPERATOR: ConnectionId = ConnectionId(0);

/// Keys that leave by the maxmemory policy leave on this one.
const EVICTION: ConnectionId = ConnectionId(u64::MAX);

/// Until somebody says that the disk answers again.
const FOREVER: UnixTime = UnixTime(u64::MAX);

thread_local! {
    /// All nodes of a thread share one Lua state, run after run: a new one costs more than a hundred commands.
    static LUA: RefCell<Option<Lua>> = const { RefCell::new(None) };
}

fn lua() -> Lua {
    LUA.with(|lua| lua.borrow_mut().get_or_insert_with(Lua::new).clone())
}

/// One `redis-server`, its disk, and its process while that runs.
#[derive(Debug)]
pub(crate) struct RedisServer {
    config: Config,
    disk: Disk,
    node: Option<Node>,
}

impl RedisServer {
    /// A server with an empty disk.
    pub(crate) fn new(config: Config) -> Self {
        Self {
            config,
            disk: Disk::default(),
            node: None,
        }
    }
}

impl RedisServer {
    fn with(&mut self, act: impl FnOnce(&mut Node) -> Effects) -> Effects {
        let mut effects = self.node.as_mut().map_or_else(Effects::default, act);
        let waited = effects.delayed.iter();
        for eviction in waited.filter(|delayed| delayed.connection == EVICTION) {
            say_evicted(&mut effects.touches[eviction.touches.clone()]);
        }
        effects
    }
}

fn say_evicted(touches: &mut [Touch]) {
    for touch in touches {
        if touch.did == Did::Deleted {
            touch.did = Did::Evicted;
        }
    }
}

impl Service for RedisServer {
    fn boot(&mut self, now: UnixTime) {
        let disk = std::mem::take(&mut self.disk);
        self.node = Some(Node::boot(self.config.clone(), disk, lua(), now));
    }

    fn stop(&mut self, how: Crash, now: UnixTime) {
        let how = match how {
            Crash::Kill => Stop::Kill,
            Crash::Power => Stop::PowerLoss,
            Crash::Shutdown => Stop::Shutdown,
        };
        if let Some(node) = self.node.take() {
            // Whoever gives out roles lets them be written to the configuration file, as Sentinel does.
            self.config.replication.replica_of = node.replica_of().cloned();
            self.disk = node.stop(how, now);
        }
    }

    fn connected(&mut self, connection: ConnectionId, _peer: Host) {
        if let Some(node) = &mut self.node {
            node.connected(connection);
        }
    }

    fn disconnected(&mut self, connection: ConnectionId) {
        if let Some(node) = &mut self.node {
            node.disconnected(connection);
        }
    }

    fn handle(&mut self, now: UnixTime, connection: ConnectionId, request: &[Bytes]) -> Effects {
        self.with(|node| node.handle(now, connection, request))
    }

    fn next_deadline(&self) -> Option<UnixTime> {
        self.node.as_ref()?.next_deadline()
    }

    fn tick(&mut self, now: UnixTime) -> Effects {
        self.with(|node| node.tick(now))
    }

    fn link_opened(&mut self, now: UnixTime, link: LinkId, peer: &Address) -> Effects {
        self.with(|node| node.link_opened(now, link, peer))
    }

    fn link_received(&mut self, now: UnixTime, link: LinkId, bytes: Bytes) -> Effects {
        self.with(|node| node.link_received(now, link, bytes))
    }

    fn link_closed(&mut self, now: UnixTime, link: LinkId) -> Effects {
        self.with(|node| node.link_closed(now, link))
    }

    fn stall(&mut self, now: UnixTime, stalled: bool) {
        if let Some(node) = &mut self.node {
            node.stall_fsync(now, if stalled { FOREVER } else { now });
        }
    }

    fn operate(&mut self, now: UnixTime, command: &[Bytes]) -> Effects {
        match command {
            // What the maxmemory policy would do, at a moment of the scenario's choice.
            [name, key] if name.eq_ignore_ascii_case(b"EVICT") => {
                let delete = [Bytes::from_static(b"DEL"), key.clone()];
                let mut effects = self.with(|node| node.handle(now, EVICTION, &delete));
                if !effects.kept {
                    say_evicted(&mut effects.touches);
                }
                effects
            }
            _ => self.with(|node| node.handle(now, OPERATOR, command)),
        }
    }

    fn take_closed(&mut self) -> Vec<ConnectionId> {
        self.node.as_mut().map_or_else(Vec::new, Node::take_closed)
    }

    fn protocol(&self, connection: ConnectionId) -> Protocol {
        self.node
            .as_ref()
            .map_or(Protocol::Resp2, |node| node.protocol(connection))
    }
}
