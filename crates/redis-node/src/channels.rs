//! Pub/sub: who listens to what, and messages on their way out.
//!
//! A message is delivered at most once: to those who listen at the moment of PUBLISH, and to nobody later.

use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;

use crate::{ConnectionId, Reply, glob};

/// What a subscription names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Channel,
    Pattern,
}

/// Subscribers by channel and pattern, in the order in which they subscribed.
type Listeners = BTreeMap<Bytes, Vec<ConnectionId>>;

/// All subscriptions of a node, and what has to be sent for them.
#[derive(Debug, Default)]
pub(crate) struct Channels {
    channels: Listeners,
    patterns: Listeners,
    subscribers: BTreeMap<ConnectionId, Subscriptions>,
    outbox: Vec<(ConnectionId, Reply)>,
}

#[derive(Debug, Default)]
struct Subscriptions {
    channels: BTreeSet<Bytes>,
    patterns: BTreeSet<Bytes>,
}

impl Subscriptions {
    fn of(&mut self, kind: Kind) -> &mut BTreeSet<Bytes> {
        match kind {
            Kind::Channel => &mut self.channels,
            Kind::Pattern => &mut self.patterns,
        }
    }

    fn count(&self) -> usize {
        self.channels.len() + self.patterns.len()
    }
}

impl Channels {
    fn listeners(&mut self, kind: Kind) -> &mut Listeners {
        match kind {
            Kind::Channel => &mut self.channels,
            Kind::Pattern => &mut self.patterns,
        }
    }

    pub(crate) fn subscribe(&mut self, connection: ConnectionId, kind: Kind, name: &Bytes) {
        let subscriptions = self.subscribers.entry(connection).or_default();
        if subscriptions.of(kind).insert(name.clone()) {
            let listeners = self.listeners(kind).entry(name.clone()).or_default();
            listeners.push(connection);
        }
    }

    pub(crate) fn unsubscribe(&mut self, connection: ConnectionId, kind: Kind, name: &Bytes) {
        let Some(subscriptions) = self.subscribers.get_mut(&connection) else {
            return;
        };
        if !subscriptions.of(kind).remove(name) {
            return;
        }
        if subscriptions.count() == 0 {
            self.subscribers.remove(&connection);
        }
        if let Some(listeners) = self.listeners(kind).get_mut(name) {
            listeners.retain(|other| *other != connection);
            if listeners.is_empty() {
                self.listeners(kind).remove(name);
            }
        }
    }

    /// Ends all subscriptions of a connection, without a word to it.
    pub(crate) fn forget(&mut self, connection: ConnectionId) {
        for kind in [Kind::Channel, Kind::Pattern] {
            for name in self.names_of(connection, kind) {
                self.unsubscribe(connection, kind, &name);
            }
        }
    }

    /// What a connection listens to, in order of name.
    pub(crate) fn names_of(&self, connection: ConnectionId, kind: Kind) -> Vec<Bytes> {
        let subscriptions = self.subscribers.get(&connection);
        let names = subscriptions.map(|subscriptions| match kind {
            Kind::Channel => &subscriptions.channels,
            Kind::Pattern => &subscriptions.patterns,
        });
        names.into_iter().flatten().cloned().collect()
    }

    /// How many channels and patterns a connection listens to.
    pub(crate) fn counts_of(&self, connection: ConnectionId) -> (usize, usize) {
        self.subscribers
            .get(&connection)
            .map_or((0, 0), |subscriptions| {
                (subscriptions.channels.len(), subscriptions.patterns.len())
            })
    }

    pub(crate) fn is_subscriber(&self, connection: ConnectionId) -> bool {
        !self.subscribers.is_empty() && self.subscribers.contains_key(&connection)
    }

    /// Sends a message to all who listen. Answers how many deliveries that were.
    pub(crate) fn publish(&mut self, channel: &Bytes, message: &Bytes) -> usize {
        let before = self.outbox.len();
        let word = |word: &'static str| Reply::bulk(Bytes::from_static(word.as_bytes()));
        for to in self.channels.get(channel).into_iter().flatten() {
            let push = [
                word("message"),
                Reply::bulk(channel.clone()),
                Reply::bulk(message.clone()),
            ];
            self.outbox.push((*to, Reply::Push(push.into())));
        }
        let matching = self.patterns.iter();
        for (pattern, listeners) in matching.filter(|(pattern, _)| glob::matches(pattern, channel))
        {
            for to in listeners {
                let push = [
                    word("pmessage"),
                    Reply::bulk(pattern.clone()),
                    Reply::bulk(channel.clone()),
                    Reply::bulk(message.clone()),
                ];
                self.outbox.push((*to, Reply::Push(push.into())));
            }
        }
        self.outbox.len() - before
    }

    /// Puts a push of its own into a connection's way, before the reply to come.
    pub(crate) fn send(&mut self, to: ConnectionId, push: Reply) {
        self.outbox.push((to, push));
    }

    /// What is to be sent now, in order.
    pub(crate) fn take_outbox(&mut self) -> Vec<(ConnectionId, Reply)> {
        std::mem::take(&mut self.outbox)
    }

    /// How many messages wait; [`Channels::take_back`] goes back to there.
    pub(crate) fn waiting(&self) -> usize {
        self.outbox.len()
    }

    /// Forgets messages of a unit that did not happen.
    pub(crate) fn take_back(&mut self, waiting: usize) {
        self.outbox.truncate(waiting);
    }

    /// The channels that somebody listens to by name.
    pub(crate) fn active(&self) -> impl Iterator<Item = &Bytes> {
        self.channels.keys()
    }

    pub(crate) fn listeners_of(&self, channel: &Bytes) -> usize {
        self.channels.get(channel).map_or(0, Vec::len)
    }

    pub(crate) fn patterns(&self) -> usize {
        self.patterns.len()
    }
}
