//! Which keys stood at which nodes, as far as the commands on them tell.
//!
//! A key that has an expiry is gone when the node's wall clock has passed it, recorded or not. A node that ended its
//! process or became a replica may have lost its keys: what the next command on a key finds says whether it had.

use std::collections::BTreeMap;

use crate::clock::{ClockKind, Time};
use crate::history::{Attempt, Creator, Did, Event, Name, What};
use crate::hosts::Hosts;
use crate::span::{Position, Span};

const NANOS_PER_MILLI: u64 = 1_000_000;
/// The command by which a replica does what its primary did.
const REPLICATE: &str = "replicate";

/// A key at a node, from its creation to its end.
#[derive(Clone, Debug)]
pub struct Key {
    /// The node's host.
    pub node: Name,
    /// The key.
    pub key: Name,
    /// The client whose value it had, if the history tells.
    pub client: Option<Name>,
    /// Its attempt, if a later command on the key tells.
    pub attempt: Option<Attempt>,
    /// From its creation, or from the first command that met it, to its end.
    pub span: Span,
    /// How it came to stand there.
    pub made: Made,
    /// What was said of how long it lives, in order.
    pub expiries: Vec<Expiry>,
    /// How it ended.
    pub gone: Gone,
    /// Since when it may have been lost: the node's process ended, or it became a replica, and no command has met the
    /// key since.
    pub doubtful: Option<Position>,
}

/// How a key came to stand at a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Made {
    /// A command put it there.
    Created,
    /// The node is a replica, and its primary had it.
    Replicated,
    /// It was there when the first command met it.
    Found,
}

/// How long a key is to live.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Expiry {
    /// When it was said.
    pub said: Position,
    /// By which host; `None` for an operator, or if the history shows it by somebody else's command.
    pub by: Option<Name>,
    /// Until when, in milliseconds of the node's wall clock; `None` for ever.
    pub expires_at: Option<u64>,
}

/// How a key ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Gone {
    /// A command removed it or put another value there: of this host, or of the node's operator.
    Removed(Option<Name>),
    /// Its time had come.
    Expired,
    /// The node evicted it.
    Evicted,
    /// The node is a replica, and its primary removed it.
    Copied,
    /// The node is a replica that no longer had it when the next one came from its primary: it had begun anew from what
    /// its primary had.
    Resynced,
    /// The node had it no longer, for a reason that its commands do not show.
    Lost,
    /// It was there when the run ended, as far as the history tells.
    Nothing,
}

/// All keys of a run, in order of their beginnings.
#[must_use]
pub fn keys(events: &[Event], hosts: &Hosts) -> Vec<Key> {
    let mut keeper = Keeper {
        hosts,
        keys: Vec::new(),
        standing: BTreeMap::new(),
    };
    for event in events {
        keeper.take(event);
    }
    keeper.finish()
}

impl Key {
    /// What was said of its expiry last, at `place` or before.
    #[must_use]
    pub fn expiry(&self, place: Position) -> Option<&Expiry> {
        let mut before = self.expiries.iter().rev();
        before.find(|expiry| expiry.said <= place)
    }

    /// When it would run out by a true clock, as was said last.
    #[must_use]
    pub fn true_end(&self, hosts: &Hosts) -> Option<Time> {
        let last = self.expiries.last()?;
        let wall = hosts.get(&self.node).reading(ClockKind::Wall, last.said)?;
        let expiry = last.expires_at?.saturating_mul(NANOS_PER_MILLI);
        let left = expiry.saturating_sub(wall);
        Some(Time(last.said.at.0.saturating_add(left)))
    }

    /// The stretch in which it is certain to have stood there.
    #[must_use]
    pub fn certain(&self) -> Span {
        let ends = [self.span.end, self.doubtful];
        Span {
            end: ends.into_iter().flatten().min(),
            ..self.span
        }
    }
}

struct Standing {
    index: usize,
    /// The last command that met it alive.
    alive: Position,
}

struct Keeper<'a> {
    hosts: &'a Hosts,
    keys: Vec<Key>,
    standing: BTreeMap<Name, BTreeMap<Name, Standing>>,
}

/// A command, without its event.
struct Met<'a> {
    node: &'a Name,
    key: &'a Name,
    sender: Option<&'a Name>,
    command: &'a str,
    creator: Option<&'a Creator>,
    expires_at: Option<u64>,
    place: Position,
}

impl Met<'_> {
    fn is_replicated(&self) -> bool {
        self.sender.is_none() && self.command == REPLICATE
    }

    fn removed(&self) -> Gone {
        if self.is_replicated() {
            Gone::Copied
        } else {
            Gone::Removed(self.sender.cloned())
        }
    }
}

impl Keeper<'_> {
    fn take(&mut self, event: &Event) {
        let place = Position::from(event);
        match &event.what {
            What::Command {
                node,
                sender,
                command,
                key,
                did,
                creator,
                expires_at,
            } => {
                let met = Met {
                    node,
                    key,
                    sender: sender.as_ref(),
                    command,
                    creator: creator.as_ref(),
                    expires_at: *expires_at,
                    place,
                };
                self.command(&met, *did);
            }
            What::Crashed { host: node, .. } | What::Demoted { node, .. } => {
                for standing in self
                    .standing
                    .get(node)
                    .into_iter()
                    .flat_map(BTreeMap::values)
                {
                    self.keys[standing.index].doubtful.get_or_insert(place);
                }
            }
            _ => {}
        }
    }

    fn command(&mut self, met: &Met<'_>, did: Did) {
        match did {
            Did::Created => {
                self.missing(met);
                self.put(met);
            }
            Did::Missing => self.missing(met),
            Did::Overwritten => {
                self.alive(met);
                self.remove(met, met.removed());
                self.put(met);
            }
            Did::Deleted => {
                self.alive(met);
                self.remove(met, met.removed());
            }
            Did::Evicted => {
                self.alive(met);
                self.remove(met, Gone::Evicted);
            }
            Did::Expired => self.remove(met, Gone::Expired),
            Did::ExpiryChanged => {
                let index = self.alive(met);
                self.keys[index].expiries.push(Expiry {
                    said: met.place,
                    by: met.sender.cloned(),
                    expires_at: met.expires_at,
                });
            }
            Did::Read | Did::Refused => {
                self.alive(met);
            }
        }
    }

    /// Somebody's command put a value there; a replica's is that of its primary.
    fn put(&mut self, met: &Met<'_>) {
        if !met.is_replicated() {
            self.stand(met, met.sender, Made::Created);
        } else {
            let index = self.stand(met, None, Made::Replicated);
            let mut before = self.keys[..index].iter().rev();
            let origin = before.find(|one| one.key == *met.key && one.node != *met.node);
            let origin = origin.map(|one| (one.client.clone(), one.attempt));
            (self.keys[index].client, self.keys[index].attempt) = origin.unwrap_or_default();
        }
    }

    fn stand(&mut self, met: &Met<'_>, client: Option<&Name>, made: Made) -> usize {
        let index = self.keys.len();
        self.keys.push(Key {
            node: met.node.clone(),
            key: met.key.clone(),
            client: client.cloned(),
            attempt: None,
            span: Span {
                from: met.place,
                end: None,
            },
            made,
            expiries: vec![Expiry {
                said: met.place,
                by: met.sender.filter(|_| made == Made::Created).cloned(),
                expires_at: met.expires_at,
            }],
            gone: Gone::Nothing,
            doubtful: None,
        });
        let standing = Standing {
            index,
            alive: met.place,
        };
        let of_node = self.standing.entry(met.node.clone()).or_default();
        of_node.insert(met.key.clone(), standing);
        index
    }

    /// A command met the key. One that the history had not shown before is new to it: a replica has it from elsewhere.
    fn alive(&mut self, met: &Met<'_>) -> usize {
        let of_node = self.standing.get_mut(met.node);
        if let Some(standing) = of_node.and_then(|keys| keys.get_mut(met.key)) {
            let key = &mut self.keys[standing.index];
            let same = match (&key.client, met.creator) {
                (Some(client), Some(creator)) => creator.client == *client,
                _ => true,
            };
            if same {
                standing.alive = met.place;
                key.doubtful = None;
                if let Some(creator) = met.creator {
                    key.client.get_or_insert_with(|| creator.client.clone());
                    key.attempt = key.attempt.or(creator.attempt);
                }
                return standing.index;
            }
            self.missing(met);
        }
        let index = self.stand(met, met.creator.map(|creator| &creator.client), Made::Found);
        self.keys[index].attempt = met.creator.and_then(|creator| creator.attempt);
        index
    }

    /// A command that found it alive takes it away, or the node does.
    fn remove(&mut self, met: &Met<'_>, gone: Gone) {
        let Some(standing) = self.take_out(met) else {
            return;
        };
        let due = self.due(&standing).filter(|due| *due < met.place);
        let key = &mut self.keys[standing.index];
        key.doubtful = None;
        (key.span.end, key.gone) = match due {
            Some(due) => (Some(due), Gone::Expired),
            None => (Some(met.place), gone),
        };
    }

    /// A command did not find it.
    fn missing(&mut self, met: &Met<'_>) {
        let Some(standing) = self.take_out(met) else {
            return;
        };
        let due = self.due(&standing);
        let key = &mut self.keys[standing.index];
        let lost = key.doubtful.take().unwrap_or(met.place);
        (key.span.end, key.gone) = match due.filter(|due| *due <= lost) {
            Some(due) => (Some(due), Gone::Expired),
            None if met.is_replicated() => (Some(lost), Gone::Resynced),
            None => (Some(lost), Gone::Lost),
        };
    }

    fn take_out(&mut self, met: &Met<'_>) -> Option<Standing> {
        self.standing.get_mut(met.node)?.remove(met.key)
    }

    /// When the node's clock passes its expiry, after the last command that met it alive.
    fn due(&self, standing: &Standing) -> Option<Position> {
        let key = &self.keys[standing.index];
        let expires_at = key.expiries.last()?.expires_at;
        let passed = expires_at?
            .saturating_add(1)
            .saturating_mul(NANOS_PER_MILLI);
        let clock = &self.hosts.get(&key.node).clock;
        let due: Time = clock.first_reach(ClockKind::Wall, passed, standing.alive.at)?;
        Some(Position::first_of(due).max(standing.alive))
    }

    fn finish(mut self) -> Vec<Key> {
        for standing in std::mem::take(&mut self.standing)
            .into_values()
            .flat_map(BTreeMap::into_values)
        {
            if let Some(due) = self.due(&standing) {
                let key = &mut self.keys[standing.index];
                (key.span.end, key.gone) = (Some(due), Gone::Expired);
            }
        }
        self.keys
    }
}
