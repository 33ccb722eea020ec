//! Leases: when a client holds a key, in true time.
//!
//! A lease is half-open. It begins with a decision `acquired` or `extended` and ends with the first of: release
//! called; loss reported to the holder; its process dies; the first instant at which the clock that it measures by
//! reaches the deadline of its latest decision. That instant comes from the clock's segments and never from an event
//! of the client, which may be stopped. Nobody is inside in that instant, whatever the sequence numbers.

use std::collections::BTreeMap;

use crate::acquisitions::{Decision, Owner};
use crate::clock::Time;
use crate::history::{Event, Name, What};
use crate::hosts::Hosts;
use crate::span::{Position, Span};

/// A stretch in which an owner holds a key.
#[derive(Clone, Debug)]
pub struct Lease {
    /// Who holds it.
    pub owner: Owner,
    /// The key.
    pub key: Name,
    /// From the decision to the end.
    pub span: Span,
    /// What ended it.
    pub ended: Ended,
    /// The decisions that it rests on, as places in the list that it was made from; the first one opened it.
    pub decisions: Vec<usize>,
}

/// What ended a lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// The holder called release.
    Released,
    /// The holder was told that it had lost the key.
    Lost,
    /// The holder's process died.
    Died,
    /// The holder's clock reached the deadline.
    Deadline,
    /// Nothing: it states no deadline, or its clock stands still, and the run ended first.
    Nothing,
}

/// Whether a decision comes when its own deadline has passed by its own clock. It opens no lease.
#[must_use]
pub fn is_born_expired(decision: &Decision, hosts: &Hosts) -> bool {
    let reading = hosts
        .get(&decision.owner.client)
        .reading(decision.clock, decision.place);
    matches!((decision.deadline, reading), (Some(deadline), Some(reading)) if reading >= deadline)
}

/// All leases, in order of their beginnings.
#[must_use]
pub fn leases(events: &[Event], decisions: &[Decision], hosts: &Hosts) -> Vec<Lease> {
    let mut keeper = Keeper {
        decisions,
        hosts,
        leases: Vec::new(),
        open: BTreeMap::new(),
    };
    let mut next = 0;
    for event in events {
        let place = Position::from(event);
        if decisions
            .get(next)
            .is_some_and(|decision| decision.place == place)
        {
            keeper.decide(next);
            next += 1;
        }
        match &event.what {
            What::ReleaseCalled {
                client,
                attempt,
                key,
            } => {
                keeper.end(
                    &(Owner::new(client, *attempt), key.clone()),
                    place,
                    Ended::Released,
                );
            }
            What::Lost {
                client,
                attempt,
                key,
            } => {
                keeper.end(
                    &(Owner::new(client, *attempt), key.clone()),
                    place,
                    Ended::Lost,
                );
            }
            What::Crashed { host, .. } => keeper.die(host, place),
            _ => {}
        }
    }
    keeper.finish()
}

type Holding = (Owner, Name);

struct Keeper<'a> {
    decisions: &'a [Decision],
    hosts: &'a Hosts,
    leases: Vec<Lease>,
    /// The lease that an owner has on a key, and when its clock ends it.
    open: BTreeMap<Holding, (usize, Option<Time>)>,
}

impl Keeper<'_> {
    fn decide(&mut self, index: usize) {
        let decision = &self.decisions[index];
        let holding = (decision.owner.clone(), decision.key.clone());
        let running = self.open.get(&holding).copied();
        let running = running.filter(|(_, end)| end.is_none_or(|end| end > decision.place.at));
        let end = self.deadline(decision);
        let alive =
            !is_born_expired(decision, self.hosts) && end.is_none_or(|end| end > decision.place.at);
        match running {
            // The latest decision is the one that counts, also where it takes time away.
            Some(_) if !alive => self.end(&holding, decision.place, Ended::Deadline),
            Some((lease, _)) => {
                self.leases[lease].decisions.push(index);
                self.open.insert(holding, (lease, end));
            }
            None => {
                self.end(&holding, decision.place, Ended::Deadline);
                if alive {
                    self.open.insert(holding, (self.leases.len(), end));
                    self.leases.push(Lease::opened(decision, index));
                }
            }
        }
    }

    fn deadline(&self, decision: &Decision) -> Option<Time> {
        let clock = &self.hosts.get(&decision.owner.client).clock;
        clock.first_reach(decision.clock, decision.deadline?, decision.place.at)
    }

    fn end(&mut self, holding: &Holding, place: Position, why: Ended) {
        if let Some((lease, clock)) = self.open.remove(holding) {
            self.leases[lease].close(Some((place, why)), clock);
        }
    }

    fn die(&mut self, host: &Name, place: Position) {
        let theirs: Vec<Holding> = self
            .open
            .keys()
            .filter(|(owner, _)| owner.client == *host)
            .cloned()
            .collect();
        for holding in theirs {
            self.end(&holding, place, Ended::Died);
        }
    }

    fn finish(mut self) -> Vec<Lease> {
        for (lease, clock) in std::mem::take(&mut self.open).into_values() {
            self.leases[lease].close(None, clock);
        }
        self.leases
    }
}

impl Lease {
    fn opened(decision: &Decision, index: usize) -> Self {
        Self {
            owner: decision.owner.clone(),
            key: decision.key.clone(),
            span: Span {
                from: decision.place,
                end: None,
            },
            ended: Ended::Nothing,
            decisions: vec![index],
        }
    }

    /// Ends the lease by an event or by its clock, whichever comes first.
    fn close(&mut self, event: Option<(Position, Ended)>, clock: Option<Time>) {
        let clock = clock.map(|at| (Position::first_of(at), Ended::Deadline));
        let first = event
            .into_iter()
            .chain(clock)
            .min_by_key(|(place, _)| *place);
        if let Some((place, why)) = first {
            self.span.end = Some(place);
            self.ended = why;
        }
    }
}
