//! Which nodes could be reached by which client, and when.
//!
//! A node is reachable for a client while its process is up and not stopped, messages pass both ways, and a round trip
//! with every delay in force fits into the time that a client waits for a node. A node whose disk does not answer and
//! one to which a late packet may be on its way are not counted. A reset interrupts for an instant, and so does a change
//! between primary and replica. A replica counts: how many nodes a lock needs, whichever of them is the primary, is
//! said by the header.
//! What the client itself does, whether it is stopped or dead, is another matter.

use std::collections::{BTreeMap, BTreeSet};

use crate::history::{Event, Header, Name, Role, What};
use crate::span::{Position, Span, covered};

/// When each client could reach each node.
#[derive(Clone, Debug, Default)]
pub struct Reach {
    nodes: BTreeMap<Name, BTreeMap<Name, Vec<Span>>>,
    majorities: BTreeMap<Name, Vec<Span>>,
}

impl Reach {
    /// Follows hosts, links and faults through a history.
    #[must_use]
    pub fn of(header: &Header, events: &[Event]) -> Self {
        let mut state = State::new(header);
        for event in events {
            state.take(event);
        }
        let nodes = state.spans;
        let quorum = usize::try_from(header.quorum).unwrap_or(usize::MAX).max(1);
        let majority =
            |spans: &BTreeMap<Name, Vec<Span>>| covered(spans.values().flatten().copied(), quorum);
        let majorities = nodes
            .iter()
            .map(|(client, spans)| (client.clone(), majority(spans)))
            .collect();
        Self { nodes, majorities }
    }

    /// The nodes in order of their names, each with the stretches in which the client could reach it.
    pub fn nodes<'a>(&'a self, client: &str) -> impl Iterator<Item = (&'a Name, &'a [Span])> {
        let nodes = self.nodes.get(client).into_iter().flatten();
        nodes.map(|(node, spans)| (node, &spans[..]))
    }

    /// The stretches in which the client could reach as many nodes as a lock needs, whichever they were.
    #[must_use]
    pub fn majority(&self, client: &str) -> &[Span] {
        self.majorities.get(client).map_or(&[], Vec::as_slice)
    }

    /// The nodes that the client could reach during all of a stretch.
    #[must_use]
    pub fn throughout(&self, client: &str, stretch: &Span) -> Vec<&Name> {
        self.nodes(client)
            .filter(|(_, spans)| spans.iter().any(|span| span.covers(stretch)))
            .map(|(node, _)| node)
            .collect()
    }

    /// The clients.
    pub fn clients(&self) -> impl Iterator<Item = &Name> {
        self.nodes.keys()
    }
}

#[derive(Default)]
struct Node {
    down: bool,
    paused: bool,
    /// The faults that keep its disk from answering.
    stalls: BTreeSet<u32>,
}

#[derive(Clone, Copy, Default)]
struct Link {
    cuts: u32,
    extra: u64,
    /// A packet may be late, and those behind it.
    late: bool,
}

struct State {
    latency: u64,
    node_timeout: u64,
    clients: BTreeSet<Name>,
    nodes: BTreeMap<Name, Node>,
    links: BTreeMap<(Name, Name), Link>,
    spans: BTreeMap<Name, BTreeMap<Name, Vec<Span>>>,
}

impl State {
    fn new(header: &Header) -> Self {
        Self {
            latency: header.latency,
            node_timeout: header.node_timeout,
            clients: BTreeSet::new(),
            nodes: BTreeMap::new(),
            links: BTreeMap::new(),
            spans: BTreeMap::new(),
        }
    }

    fn take(&mut self, event: &Event) {
        let place = Position::from(event);
        match &event.what {
            What::Host { host, role } => self.introduce(host, *role, place),
            What::Crashed { host, .. } => self.change_node(host, place, |node| node.down = true),
            What::Started { host } => self.change_node(host, place, |node| node.down = false),
            What::Paused { host } => self.change_node(host, place, |node| node.paused = true),
            What::Resumed { host } => self.change_node(host, place, |node| node.paused = false),
            What::Promoted { node } | What::Demoted { node, .. } => {
                for client in self.clients.clone() {
                    self.interrupt(&client, node, place);
                }
            }
            What::Cut { from, to, .. } => {
                self.change_link(from, to, place, |link| link.cuts += 1);
            }
            What::Healed { from, to } => {
                self.change_link(from, to, place, |link| {
                    link.cuts = link.cuts.saturating_sub(1);
                });
            }
            What::Delayed { from, to, extra } => {
                self.change_link(from, to, place, |link| link.extra = *extra);
            }
            What::Reset { from, to } => {
                self.interrupt(from, to, place);
                self.interrupt(to, from, place);
            }
            What::Fault {
                fault,
                family,
                hosts,
                ..
            } => self.fault(*fault, family, hosts, place),
            What::FaultEnded { fault } => self.each_node(place, |node| {
                node.stalls.remove(fault);
            }),
            What::HealBegun {} => {
                self.links.values_mut().for_each(|link| link.late = false);
                self.each_node(place, |node| node.stalls.clear());
            }
            _ => {}
        }
    }

    fn introduce(&mut self, host: &Name, role: Role, place: Position) {
        match role {
            Role::Client => {
                self.clients.insert(host.clone());
                self.spans.entry(host.clone()).or_default();
            }
            Role::Node => {
                self.nodes.entry(host.clone()).or_default();
            }
            _ => return,
        }
        self.refresh_all(place);
    }

    fn fault(&mut self, fault: u32, family: &str, hosts: &[Name], place: Position) {
        match (family, hosts) {
            ("fsync-stall", hosts) => {
                for host in hosts {
                    self.change_node(host, place, |node| {
                        node.stalls.insert(fault);
                    });
                }
            }
            ("late-packet", [from, to]) => {
                self.change_link(from, to, place, |link| link.late = true);
            }
            _ => {}
        }
    }

    fn change_node(&mut self, host: &Name, place: Position, change: impl FnOnce(&mut Node)) {
        if let Some(node) = self.nodes.get_mut(host) {
            change(node);
            for client in self.clients.clone() {
                self.refresh(&client, host, place);
            }
        }
    }

    fn each_node(&mut self, place: Position, change: impl FnMut(&mut Node)) {
        self.nodes.values_mut().for_each(change);
        self.refresh_all(place);
    }

    fn change_link(
        &mut self,
        from: &Name,
        to: &Name,
        place: Position,
        change: impl FnOnce(&mut Link),
    ) {
        change(self.links.entry((from.clone(), to.clone())).or_default());
        self.refresh(from, to, place);
        self.refresh(to, from, place);
    }

    fn interrupt(&mut self, client: &Name, node: &Name, place: Position) {
        let spans = self.spans.get_mut(client);
        if let Some(last) = spans.and_then(|nodes| nodes.get_mut(node)?.last_mut()) {
            last.end.get_or_insert(place);
            self.refresh(client, node, place.next());
        }
    }

    fn refresh_all(&mut self, place: Position) {
        let nodes: Vec<Name> = self.nodes.keys().cloned().collect();
        for client in self.clients.clone() {
            for node in &nodes {
                self.refresh(&client, node, place);
            }
        }
    }

    /// Opens or closes the stretch of a client and a node, if these are a client and a node.
    fn refresh(&mut self, client: &Name, host: &Name, place: Position) {
        let (true, Some(node)) = (self.clients.contains(client), self.nodes.get(host)) else {
            return;
        };
        let serves = !node.down && !node.paused && node.stalls.is_empty();
        let open = serves && self.passes(client, host);
        let nodes = self.spans.entry(client.clone()).or_default();
        let spans = nodes.entry(host.clone()).or_default();
        let running = spans.last().is_some_and(|last| last.end.is_none());
        match (running, open) {
            (false, true) => spans.push(Span {
                from: place,
                end: None,
            }),
            (true, false) => {
                if let Some(last) = spans.last_mut() {
                    last.end = Some(place);
                }
            }
            _ => {}
        }
    }

    /// Whether an answer of the node comes in time.
    fn passes(&self, client: &Name, node: &Name) -> bool {
        let link = |from: &Name, to: &Name| {
            let link = self.links.get(&(from.clone(), to.clone()));
            link.copied().unwrap_or_default()
        };
        let (there, back) = (link(client, node), link(node, client));
        let extra = there.extra.saturating_add(back.extra);
        let round_trip = self.latency.saturating_mul(2).saturating_add(extra);
        there.cuts == 0
            && back.cuts == 0
            && !there.late
            && !back.late
            && round_trip <= self.node_timeout
    }
}
