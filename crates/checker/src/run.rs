//! What the judges share: everything that is derived from a history, once.

use std::collections::{BTreeMap, BTreeSet};

use crate::acquisitions::{Acquisition, Acquisitions, Owner};
use crate::calls::{Call, calls};
use crate::clock::Time;
use crate::history::{Event, History, Name, What};
use crate::hosts::Hosts;
use crate::keys::{Key, keys};
use crate::leases::{Lease, leases};
use crate::reach::Reach;

/// A history with its derived hosts, acquisitions, leases, calls, keys and reachable nodes.
#[derive(Clone, Debug)]
pub struct Run<'h> {
    /// The history itself.
    pub history: &'h History,
    /// Clocks, pauses and crashes.
    pub hosts: Hosts,
    /// Attempts, decisions, sections.
    pub acquisitions: Acquisitions,
    /// Leases, in order of their beginnings.
    pub leases: Vec<Lease>,
    /// Calls, in order of their beginnings.
    pub calls: Vec<Call>,
    /// Keys at nodes, in order of their beginnings.
    pub keys: Vec<Key>,
    /// Which nodes could be reached by which client.
    pub reach: Reach,
}

impl<'h> Run<'h> {
    /// Derives everything from a history.
    #[must_use]
    pub fn of(history: &'h History) -> Self {
        let hosts = Hosts::of(&history.events);
        let acquisitions = Acquisitions::of(&history.events);
        let leases = leases(&history.events, &acquisitions.decisions, &hosts);
        let keys = keys(&history.events, &hosts);
        Self {
            history,
            hosts,
            acquisitions,
            leases,
            calls: calls(&history.events),
            keys,
            reach: Reach::of(&history.header, &history.events),
        }
    }

    /// The keys that are locks. Others, such as counters of tokens, need not expire.
    #[must_use]
    pub fn lock_keys(&self) -> BTreeSet<&'h Name> {
        let events = self.history.events.iter();
        events
            .filter_map(|event| match &event.what {
                What::CallBegun { key, .. }
                | What::AttemptBegun { key, .. }
                | What::Acquired { key, .. } => Some(key),
                _ => None,
            })
            .collect()
    }

    /// How many nodes a lock needs, at least one.
    #[must_use]
    pub fn quorum(&self) -> usize {
        let quorum = usize::try_from(self.history.header.quorum);
        quorum.unwrap_or(usize::MAX).max(1)
    }

    /// When the run ended.
    #[must_use]
    pub fn end(&self) -> Time {
        self.history
            .events
            .last()
            .map_or(Time::ZERO, |event| event.at)
    }

    /// The acquisitions of each key in order of their decisions.
    pub(crate) fn by_key(&self) -> BTreeMap<&Name, Vec<&Acquisition>> {
        let mut keys: BTreeMap<&Name, Vec<&Acquisition>> = BTreeMap::new();
        for acquisition in self.acquisitions.won() {
            keys.entry(&acquisition.key).or_default().push(acquisition);
        }
        for acquisitions in keys.values_mut() {
            acquisitions.sort_by_key(|acquisition| acquisition.decided);
        }
        keys
    }

    /// The operations that reached a resource, of acquisitions only: what an attempt sends that won nothing is judged
    /// by none of the properties of acquisitions.
    pub(crate) fn operations(&self) -> impl Iterator<Item = Reached<'_>> {
        self.history
            .events
            .iter()
            .filter_map(|event| self.reached(event))
    }

    pub(crate) fn reached<'a>(&'a self, event: &'a Event) -> Option<Reached<'a>> {
        let (resource, key, client, attempt, token, effect) = match &event.what {
            What::ReadApplied {
                resource,
                key,
                client,
                attempt,
                token,
                ..
            } => (resource, key, client, attempt, token, Effect::Read),
            What::WriteApplied {
                resource,
                key,
                client,
                attempt,
                token,
                ..
            } => (resource, key, client, attempt, token, Effect::Written),
            What::OperationRefused {
                resource,
                key,
                client,
                attempt,
                token,
                ..
            } => (resource, key, client, attempt, token, Effect::Refused),
            _ => return None,
        };
        let by = self.acquisitions.get(&Owner::new(client, *attempt))?;
        Some(Reached {
            event,
            resource,
            key,
            by,
            token: *token,
            effect,
        })
    }
}

/// An operation of an acquisition that reached a resource.
#[derive(Clone, Copy)]
pub(crate) struct Reached<'a> {
    pub(crate) event: &'a Event,
    pub(crate) resource: &'a Name,
    pub(crate) key: &'a Name,
    pub(crate) by: &'a Acquisition,
    pub(crate) token: Option<u64>,
    pub(crate) effect: Effect,
}

/// What became of an operation.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Effect {
    Read,
    Written,
    Refused,
}
