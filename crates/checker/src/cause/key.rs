//! What became of a holder's key at a node, between its creation and the moment at which a rival created its own.

use crate::acquisitions::Owner;
use crate::cause::clocks::{Stray, gain};
use crate::clock::{ClockKind, Time};
use crate::history::{Crash, Creator, Did, Event, Name, What};
use crate::run::Run;
use crate::span::Position;

/// Nodes keep expiry times in whole milliseconds, so a key may go this much early.
const GRANULARITY: u64 = 1_000_000;
const NANOS_PER_MILLI: u64 = 1_000_000;

/// Why a key was not there any more.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    /// A command took it away.
    Removed {
        by: Name,
        command: Name,
        overwritten: bool,
        /// The latest attempt of who sent it won nothing.
        refused: bool,
    },
    /// The node dropped it: by a fault of this family.
    Dropped { family: Name },
    /// Its operator removed it.
    Operated { command: Name },
    /// The node's process ended and came back without it; the wall clock may have stepped while it was down.
    Forgotten { how: Crash, stepped: Option<Stray> },
    /// The node's clock reached its expiry before true time did.
    ExpiredEarly { stray: Stray },
    /// It had lived as long as it was meant to.
    RanOut,
    /// The history does not show why.
    Gone,
}

/// The life of a key at a node.
pub(super) struct Life<'a> {
    node: &'a Name,
    key: &'a Name,
    owner: &'a Owner,
    /// When it was created.
    created: Position,
    /// When its expiry was set last, and to what, in milliseconds of the node's wall clock.
    set: Position,
    expires_at: Option<u64>,
    /// When another, the rival or who came before it, created its own.
    replaced: Position,
    overwritten: bool,
}

impl<'a> Life<'a> {
    /// The key of `owner` at `node`, where `rival` had one later, but before `until`.
    pub(super) fn of(
        run: &'a Run<'_>,
        node: &'a Name,
        key: &'a Name,
        owner: &'a Owner,
        rival: &Name,
        until: Position,
    ) -> Option<Self> {
        let began = run.acquisitions.get(owner).and_then(|won| won.began);
        let created_by = |client: &Name, before: Position| {
            run.history.events.iter().rev().find(|event| {
                Position::from(*event) < before
                    && creates(event, node, key)
                    && sent_by(event, client)
            })
        };
        let rivals = created_by(rival, until)?;
        let created = Position::from(created_by(&owner.client, rivals.into())?);
        if began.is_some_and(|began| created < began) {
            // It was the key of another attempt.
            return None;
        }
        // Others may have had the key in the meantime, and the rival itself: none of that is the life of this one.
        let replacing = run.history.events.iter().find(|event| {
            let others =
                matches!(&event.what, What::Command { sender: Some(by), .. } if *by != owner.client);
            others && created < Position::from(*event) && creates(event, node, key)
        })?;
        let replaced = Position::from(replacing);
        let mut life = Self {
            node,
            key,
            owner,
            created,
            set: created,
            expires_at: None,
            replaced,
            overwritten: false,
        };
        for event in run
            .history
            .events
            .iter()
            .filter(|event| (created..replaced).contains(&Position::from(*event)))
        {
            life.set_expiry(event);
        }
        life.overwritten = matches!(
            &replacing.what,
            What::Command {
                did: Did::Overwritten,
                ..
            }
        );
        Some(life)
    }

    fn set_expiry(&mut self, event: &Event) {
        if let What::Command {
            node,
            key,
            did: Did::Created | Did::Overwritten | Did::ExpiryChanged,
            expires_at,
            ..
        } = &event.what
            && node == self.node
            && key == self.key
        {
            (self.set, self.expires_at) = (event.into(), *expires_at);
        }
    }

    /// When the key would have run out by a true clock.
    pub(super) fn true_end(&self, run: &Run<'_>) -> Option<Time> {
        let wall = run
            .hosts
            .get(self.node)
            .reading(ClockKind::Wall, self.set)?;
        let expiry = self.expires_at?.saturating_mul(NANOS_PER_MILLI);
        Some(Time(
            self.set.at.0.saturating_add(expiry.saturating_sub(wall)),
        ))
    }

    /// When another created its own.
    pub(super) fn replaced_at(&self) -> Time {
        self.replaced.at
    }

    /// Why it was not there any more when the rival came.
    pub(super) fn fate(&self, run: &Run<'_>) -> Fate {
        let lived = self
            .true_end(run)
            .is_some_and(|end| self.replaced.at.0.saturating_add(GRANULARITY) >= end.0);
        self.removed(run)
            .or_else(|| lived.then_some(Fate::RanOut))
            .or_else(|| self.forgotten(run))
            .or_else(|| self.dropped(run))
            .or_else(|| self.expired(run))
            .unwrap_or(Fate::Gone)
    }

    fn between<'h>(&self, run: &Run<'h>) -> impl DoubleEndedIterator<Item = &'h Event> {
        let (from, to) = (self.created, self.replaced);
        run.history
            .events
            .iter()
            .filter(move |event| (from.next()..to.next()).contains(&Position::from(*event)))
    }

    fn removed(&self, run: &Run<'_>) -> Option<Fate> {
        self.between(run).rev().find_map(|event| match &event.what {
            What::Command {
                node,
                key,
                did: did @ (Did::Deleted | Did::Overwritten),
                sender: Some(by),
                command,
                creator,
                ..
            } if node == self.node && key == self.key && self.is_of(creator.as_ref()) => {
                let overwritten = *did == Did::Overwritten;
                Some(Fate::Removed {
                    by: by.clone(),
                    command: command.clone(),
                    overwritten,
                    refused: has_failed(run, by, self.key, event.into()),
                })
            }
            _ => None,
        })
    }

    fn forgotten(&self, run: &Run<'_>) -> Option<Fate> {
        let host = run.hosts.get(self.node);
        let mut downs = host.downs.iter().rev();
        let (down, how) =
            downs.find(|(down, _)| (self.created..self.replaced).contains(&down.from))?;
        let survived = self
            .between(run)
            .filter(|event| Position::from(*event) > down.from)
            .any(|event| self.is_met_by(event));
        let stepped = gain(host, ClockKind::Wall, down.from.at, self.replaced.at);
        (!survived).then(|| Fate::Forgotten {
            how: *how,
            stepped: stepped.filter(|stray| matches!(stray, Stray::Step(_))),
        })
    }

    /// Whether a command, or the node itself, found the key there.
    fn is_met_by(&self, event: &Event) -> bool {
        matches!(&event.what, What::Command { node, key, did, creator, .. }
            if node == self.node
                && key == self.key
                && !matches!(did, Did::Created | Did::Missing)
                && self.is_of(creator.as_ref()))
    }

    /// Whether a key that a command met is this one, as far as the history tells: a node that was restored may have one of
    /// an earlier attempt.
    fn is_of(&self, creator: Option<&Creator>) -> bool {
        creator.is_none_or(|creator| {
            creator.client == self.owner.client
                && creator
                    .attempt
                    .is_none_or(|attempt| attempt == self.owner.attempt)
        })
    }

    fn dropped(&self, run: &Run<'_>) -> Option<Fate> {
        let removed = self.between(run).rev().find_map(|event| match &event.what {
            What::Command {
                node,
                key,
                did: did @ (Did::Deleted | Did::Evicted),
                sender: None,
                command,
                ..
            } if node == self.node && key == self.key => Some((event.at, *did, command)),
            _ => None,
        });
        let fault = |at: Option<Time>| {
            let mut events = self.between(run).rev();
            events.find_map(|event| match &event.what {
                What::Fault { family, hosts, .. }
                    if matches!(&**family, "evict" | "flush")
                        && hosts.contains(self.node)
                        && at.is_none_or(|at| at == event.at) =>
                {
                    Some(Fate::Dropped {
                        family: family.clone(),
                    })
                }
                _ => None,
            })
        };
        match removed {
            Some((_, Did::Evicted, _)) => Some(Fate::Dropped {
                family: "evict".into(),
            }),
            Some((at, _, command)) => fault(Some(at)).or_else(|| {
                Some(if command.to_ascii_uppercase().starts_with("FLUSH") {
                    Fate::Dropped {
                        family: "flush".into(),
                    }
                } else {
                    Fate::Operated {
                        command: command.clone(),
                    }
                })
            }),
            None => fault(None),
        }
    }

    fn expired(&self, run: &Run<'_>) -> Option<Fate> {
        let host = run.hosts.get(self.node);
        let shown = host.reading(ClockKind::Wall, self.replaced)?;
        let due = self.expires_at?.saturating_mul(NANOS_PER_MILLI);
        let recorded = self.between(run).any(|event| {
            matches!(&event.what, What::Command { node, key, did: Did::Expired, .. } if node == self.node && key == self.key)
        });
        if shown < due && !recorded {
            return None;
        }
        gain(host, ClockKind::Wall, self.set.at, self.replaced.at)
            .map(|stray| Fate::ExpiredEarly { stray })
    }
}

/// Whether the latest attempt of a client on a key before a place won nothing.
pub(super) fn has_failed(run: &Run<'_>, client: &Name, key: &Name, before: Position) -> bool {
    let mut attempts = run.acquisitions.attempts.iter().rev();
    let latest = attempts.find(|attempt| {
        attempt.owner.client == *client && attempt.key == *key && attempt.span.from < before
    });
    latest.is_some_and(|latest| run.acquisitions.get(&latest.owner).is_none())
}

/// Whether a client put its value at the key of a node. What was there before is another matter.
fn creates(event: &Event, at: &Name, of: &Name) -> bool {
    matches!(&event.what, What::Command { node, key, sender: Some(_), did: Did::Created | Did::Overwritten, .. }
        if node == at && key == of)
}

fn sent_by(event: &Event, client: &Name) -> bool {
    matches!(&event.what, What::Command { sender: Some(sender), .. } if sender == client)
}
