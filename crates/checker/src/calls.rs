//! What clients asked of their locks, and how long they waited for one.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::history::{Event, Name, Operation, What};
use crate::span::{Position, Span};

/// A call of a client into its lock.
#[derive(Clone, Debug)]
pub struct Call {
    /// The client's host.
    pub client: Name,
    /// The lock's key.
    pub key: Name,
    /// What it asked for.
    pub operation: Operation,
    /// Whether it is one of the probe client's.
    pub probe: bool,
    /// The beginning.
    pub begun: Position,
    /// How it ended.
    pub ended: CallEnded,
    /// The decision `acquired` that it led to.
    pub won: Option<Position>,
}

/// How a call ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallEnded {
    /// It returned.
    Returned(Position),
    /// The process of its caller died.
    Died(Position),
    /// It was out when the run ended.
    Out,
}

/// A client's wait for a lock: from its first call to acquire to its success, or to where it gave up.
///
/// Calls may be single tries, so consecutive calls of one client on one key are one wait until one of them succeeds.
/// The client's own delay between two tries is part of it, unless it is longer than the bound of a wait itself: who
/// stays away for so long does not wait.
#[derive(Clone, Debug)]
pub struct Wait {
    /// The client's host.
    pub client: Name,
    /// The lock's key.
    pub key: Name,
    /// From the first call to the end; open if it went on when the run ended.
    pub span: Span,
    /// The calls, as places in the list that the wait was made from.
    pub calls: Vec<usize>,
}

/// All calls of a run, in order of their beginnings.
#[must_use]
pub fn calls(events: &[Event]) -> Vec<Call> {
    let mut keeper = Keeper::default();
    for event in events {
        keeper.take(event);
    }
    keeper.calls
}

#[derive(Default)]
struct Keeper {
    calls: Vec<Call>,
    out: BTreeMap<(Name, u64), usize>,
    /// The latest call of a client to acquire a key.
    latest: BTreeMap<(Name, Name), usize>,
}

impl Keeper {
    fn take(&mut self, event: &Event) {
        let place = Position::from(event);
        match &event.what {
            What::CallBegun {
                client,
                call,
                operation,
                key,
                probe,
            } => {
                let index = self.calls.len();
                self.out.insert((client.clone(), *call), index);
                if *operation == Operation::Acquire {
                    self.latest.insert((client.clone(), key.clone()), index);
                }
                self.calls.push(Call {
                    client: client.clone(),
                    key: key.clone(),
                    operation: *operation,
                    probe: *probe,
                    begun: place,
                    ended: CallEnded::Out,
                    won: None,
                });
            }
            What::CallEnded { client, call } => {
                if let Some(index) = self.out.remove(&(client.clone(), *call)) {
                    self.calls[index].ended = CallEnded::Returned(place);
                }
            }
            What::Acquired { client, key, .. } => {
                // The client is told in the instant in which its call returns.
                if let Some(&index) = self.latest.get(&(client.clone(), key.clone()))
                    && self.calls[index].lasts_to(place)
                {
                    self.calls[index].won.get_or_insert(place);
                }
            }
            What::Crashed { host, .. } => {
                for (_, index) in self.out.extract_if(.., |(client, _), _| client == host) {
                    self.calls[index].ended = CallEnded::Died(place);
                }
            }
            _ => {}
        }
    }
}

impl Call {
    /// From its beginning to its end, both included.
    #[must_use]
    pub fn span(&self) -> Span {
        let end = match self.ended {
            CallEnded::Returned(end) | CallEnded::Died(end) => Some(end.next()),
            CallEnded::Out => None,
        };
        Span {
            from: self.begun,
            end,
        }
    }

    fn lasts_to(&self, place: Position) -> bool {
        match self.ended {
            CallEnded::Returned(end) => end.at == place.at,
            CallEnded::Died(_) => false,
            CallEnded::Out => true,
        }
    }
}

/// The waits that calls make up, in order of their beginnings. `longest_break` is how long a client may stay away
/// between two tries and still be waiting.
#[must_use]
pub fn waits(calls: &[Call], longest_break: Duration) -> Vec<Wait> {
    let mut waits: Vec<Wait> = Vec::new();
    let mut latest: BTreeMap<(&Name, &Name), usize> = BTreeMap::new();
    for (index, call) in calls.iter().enumerate() {
        if call.operation != Operation::Acquire {
            continue;
        }
        let goes_on = latest.get(&(&call.client, &call.key)).copied();
        let goes_on = goes_on.filter(|&wait| {
            let before = waits[wait].calls.last().map(|&last| &calls[last]);
            before.is_some_and(|before| before.is_continued_by(call, longest_break))
        });
        let wait = goes_on.unwrap_or_else(|| {
            waits.push(Wait {
                client: call.client.clone(),
                key: call.key.clone(),
                span: call.span(),
                calls: Vec::new(),
            });
            waits.len() - 1
        });
        waits[wait].calls.push(index);
        waits[wait].span.end = call.won.or(match call.ended {
            CallEnded::Returned(end) | CallEnded::Died(end) => Some(end),
            CallEnded::Out => None,
        });
        latest.insert((&call.client, &call.key), wait);
    }
    waits
}

impl Call {
    fn is_continued_by(&self, next: &Self, longest_break: Duration) -> bool {
        match self.ended {
            _ if self.won.is_some() => false,
            CallEnded::Returned(end) => next.begun.at.since(end.at) <= longest_break,
            CallEnded::Died(_) => false,
            CallEnded::Out => true,
        }
    }
}
