//! Nodes and the links between them, in memory: what is sent arrives when the test says so, or never.

use std::collections::{BTreeMap, VecDeque};

use bytes::Bytes;
use redis_node::{
    Address, Config, ConnectionId, Disk, Effects, LinkEffect, LinkId, Lua, Node, Reply, Stop,
    Touch, UnixTime,
};

use crate::support::{CLIENT, START, request, text};

/// What is on its way to one end of a link.
#[derive(Debug)]
enum Message {
    Opened,
    Bytes(Bytes),
    Closed,
}

/// A link between two nodes: the one that asked for it first.
#[derive(Debug)]
struct Link {
    ends: [(usize, LinkId); 2],
    /// On its way to each end.
    queues: [VecDeque<Message>; 2],
}

/// Nodes at `node0:7000`, `node1:7000` and so on, on one clock.
pub(crate) struct Cluster {
    pub(crate) now: UnixTime,
    nodes: Vec<Option<Node>>,
    lua: Lua,
    links: BTreeMap<u64, Link>,
    made: u64,
    boots: u64,
    /// No new link is made between these.
    pub(crate) apart: Vec<(usize, usize)>,
    /// Answers that came later than the call that asked.
    pub(crate) late: Vec<(usize, ConnectionId, String)>,
    pub(crate) touches: Vec<(usize, Touch)>,
    pub(crate) closed: Vec<(usize, ConnectionId)>,
}

pub(crate) fn address(node: usize) -> Address {
    Address::new(format!("node{node}"), 7000)
}

impl Cluster {
    /// A primary (node 0) and its replicas, connected.
    pub(crate) fn new(config: &Config, replicas: usize) -> Cluster {
        let mut cluster = Cluster {
            now: UnixTime::from_millis(START),
            nodes: Vec::new(),
            lua: Lua::new(),
            links: BTreeMap::new(),
            made: 0,
            boots: 0,
            apart: Vec::new(),
            late: Vec::new(),
            touches: Vec::new(),
            closed: Vec::new(),
        };
        for node in 0..=replicas {
            cluster.nodes.push(None);
            let follows = (node > 0).then_some(0);
            cluster.boot(node, config, Disk::default(), follows);
        }
        cluster.run(0);
        cluster
    }

    pub(crate) fn boot(
        &mut self,
        node: usize,
        config: &Config,
        disk: Disk,
        follows: Option<usize>,
    ) {
        self.boots += 1;
        let mut config = config.clone();
        config.run_id = format!("{:040x}", self.boots);
        config.replication.replica_of = follows.map(address);
        config.replication.port = 7000;
        self.nodes[node] = Some(Node::boot(config, disk, self.lua.clone(), self.now));
    }

    /// Stops a node; the other ends of its links learn of it.
    pub(crate) fn stop(&mut self, node: usize, how: Stop) -> Disk {
        for link in self.links_of(node) {
            self.break_link(link, Some(node));
        }
        let stopped = self.nodes[node].take().expect("it runs");
        stopped.stop(how, self.now)
    }

    pub(crate) fn node(&mut self, node: usize) -> &mut Node {
        self.nodes[node].as_mut().expect("it runs")
    }

    pub(crate) fn ask(&mut self, node: usize, words: &[&str]) -> String {
        self.ask_as(node, CLIENT, words)
    }

    /// The answer, or `later` if there is none yet.
    pub(crate) fn ask_as(&mut self, node: usize, client: ConnectionId, words: &[&str]) -> String {
        let now = self.now;
        let effects = self.node(node).handle(now, client, &request(words));
        let before = self.late.len();
        self.carry(node, effects);
        let own = (before..self.late.len()).find(|at| self.late[*at].1 == client);
        own.map_or("later".to_owned(), |at| self.late.remove(at).2)
    }

    fn carry(&mut self, node: usize, effects: Effects) {
        for (client, reply) in effects.replies {
            self.late.push((node, client, text(&reply)));
        }
        self.touches
            .extend(effects.touches.into_iter().map(|touch| (node, touch)));
        let closed = self.node(node).take_closed();
        self.closed
            .extend(closed.into_iter().map(|client| (node, client)));
        for effect in effects.links {
            match effect {
                LinkEffect::Connect { link, peer } => self.connect(node, link, &peer),
                LinkEffect::Send { link, bytes } => self.send(node, link, Message::Bytes(bytes)),
                LinkEffect::Close { link } => self.send(node, link, Message::Closed),
            }
        }
    }

    fn connect(&mut self, node: usize, link: LinkId, peer: &Address) {
        let to = (0..self.nodes.len()).find(|other| address(*other) == *peer);
        let to = to.filter(|to| self.nodes[*to].is_some());
        let apart =
            |to: usize| self.apart.contains(&(node, to)) || self.apart.contains(&(to, node));
        let Some(to) = to.filter(|to| !apart(*to)) else {
            let now = self.now;
            let effects = self.node(node).link_closed(now, link);
            return self.carry(node, effects);
        };
        self.made += 1;
        let ends = [(node, link), (to, LinkId::Incoming(self.made))];
        let queues = [
            VecDeque::from([Message::Opened]),
            VecDeque::from([Message::Opened]),
        ];
        self.links.insert(self.made, Link { ends, queues });
    }

    fn send(&mut self, node: usize, link: LinkId, message: Message) {
        for found in self.links.values_mut() {
            for end in [0, 1] {
                if found.ends[end] == (node, link) {
                    found.queues[1 - end].push_back(message);
                    return;
                }
            }
        }
    }

    pub(crate) fn links_of(&self, node: usize) -> Vec<u64> {
        let own = |link: &&Link| link.ends.iter().any(|(end, _)| *end == node);
        self.links
            .iter()
            .filter(|(_, link)| own(link))
            .map(|(id, _)| *id)
            .collect()
    }

    pub(crate) fn links(&self) -> Vec<u64> {
        self.links.keys().copied().collect()
    }

    /// Loses what is on its way, and both ends learn that the link is gone; but not a node that is.
    pub(crate) fn break_link(&mut self, id: u64, gone: Option<usize>) {
        let Some(link) = self.links.remove(&id) else {
            return;
        };
        for (node, link) in link.ends {
            if Some(node) != gone && self.nodes[node].is_some() {
                let now = self.now;
                let effects = self.node(node).link_closed(now, link);
                self.carry(node, effects);
            }
        }
    }

    /// Delivers the next message to one end of a link, bytes in two pieces if so wished. Answers whether there was one.
    pub(crate) fn deliver(&mut self, id: u64, end: usize, split: Option<usize>) -> bool {
        let Some(link) = self.links.get_mut(&id) else {
            return false;
        };
        let Some(message) = link.queues[end].pop_front() else {
            return false;
        };
        let (node, name) = link.ends[end];
        let (other, _) = link.ends[1 - end];
        let now = self.now;
        let effects = match message {
            Message::Opened => self.node(node).link_opened(now, name, &address(other)),
            Message::Bytes(mut bytes) => {
                let rest = bytes.split_off(split.unwrap_or(bytes.len()).min(bytes.len()));
                if !rest.is_empty() {
                    link.queues[end].push_front(Message::Bytes(rest));
                }
                self.node(node).link_received(now, name, bytes)
            }
            Message::Closed => {
                self.links.remove(&id);
                self.node(node).link_closed(now, name)
            }
        };
        self.carry(node, effects);
        true
    }

    /// Delivers all that is on its way, and what that leads to.
    pub(crate) fn settle(&mut self) {
        while let Some((id, end)) = self.first_waiting() {
            self.deliver(id, end, None);
        }
    }

    fn first_waiting(&self) -> Option<(u64, usize)> {
        let waiting = self
            .links
            .iter()
            .flat_map(|(id, link)| [(*id, 0, link), (*id, 1, link)]);
        let mut waiting = waiting.filter(|(_, end, link)| !link.queues[*end].is_empty());
        waiting.next().map(|(id, end, _)| (id, end))
    }

    /// Lets so many milliseconds pass, with every deadline on the way, without delivering anything.
    pub(crate) fn pass(&mut self, millis: u64) {
        let end = UnixTime(self.now.0 + millis * 1_000_000);
        for _ in 0..100_000 {
            let due = (0..self.nodes.len()).filter_map(|node| {
                let deadline = self.nodes[node].as_ref()?.next_deadline()?;
                Some((deadline.max(self.now), node))
            });
            let Some((at, node)) = due.min().filter(|(at, _)| *at <= end) else {
                self.now = end;
                return;
            };
            self.now = at;
            let effects = self.node(node).tick(at);
            self.carry(node, effects);
        }
        panic!("the deadlines do not end");
    }

    /// Lets so many milliseconds pass and delivers everything at once, all along.
    pub(crate) fn run(&mut self, millis: u64) {
        self.pass(0);
        self.settle();
        for _ in 0..millis.div_ceil(100) {
            self.pass(100.min(millis));
            self.settle();
        }
        self.pass(0);
        self.settle();
    }

    /// All keys with values and expiries, without looking at any as a client would.
    pub(crate) fn contents(&mut self, node: usize) -> Vec<String> {
        let mut keys: Vec<String> = match self.ask_reply(node, &["KEYS", "*"]) {
            Reply::Array(keys) => keys.iter().map(text).collect(),
            other => panic!("{other:?}"),
        };
        keys.sort();
        let quoted: Vec<String> = keys
            .iter()
            .map(|key| key.trim_matches('"').to_owned())
            .collect();
        quoted
            .iter()
            .map(|key| {
                let value = match self.ask(node, &["TYPE", key]).as_str() {
                    "+hash" => format!("{:?}", self.ask_reply(node, &["HGETALL", key])),
                    _ => self.ask(node, &["GET", key]),
                };
                format!("{key}={value}@{}", self.ask(node, &["PEXPIRETIME", key]))
            })
            .collect()
    }

    fn ask_reply(&mut self, node: usize, words: &[&str]) -> Reply {
        let now = self.now;
        let mut effects = self.node(node).handle(now, CLIENT, &request(words));
        effects.replies.pop().expect("an answer").1
    }
}
