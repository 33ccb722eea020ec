//! Attempts and what they won: the first clock reading, the decisions, the token, the critical section.

use std::collections::BTreeMap;
use std::fmt;

use crate::clock::ClockKind;
use crate::history::{Attempt, Event, Name, Vote, What};
use crate::span::{Position, Span};

/// Who holds: an attempt of a client. One client that acquires again is another owner, as its value is another.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Owner {
    /// The client's host.
    pub client: Name,
    /// The attempt.
    pub attempt: Attempt,
}

/// An attempt to acquire, won or not.
#[derive(Clone, Debug)]
pub struct Attempted {
    /// Whose attempt.
    pub owner: Owner,
    /// The key that it is about.
    pub key: Name,
    /// From its first clock reading to its decision, or to the death of its process.
    pub span: Span,
}

/// An attempt that won.
#[derive(Clone, Debug)]
pub struct Acquisition {
    /// Whose it is.
    pub owner: Owner,
    /// The key that it is about.
    pub key: Name,
    /// The first clock reading; `None` if the history does not have it, and then it is newer than nothing.
    pub began: Option<Position>,
    /// The decision `acquired`.
    pub decided: Position,
    /// Its fencing token: the decision's, or else the first that an operation carried.
    pub token: Option<u64>,
}

/// The client was told that it holds the key.
#[derive(Clone, Debug)]
pub struct Decision {
    /// Who was told.
    pub owner: Owner,
    /// The key that it is about.
    pub key: Name,
    /// When.
    pub place: Position,
    /// Until when it holds, by `clock`.
    pub deadline: Option<u64>,
    /// The clock that the lock measures by.
    pub clock: ClockKind,
    /// `extended` rather than `acquired`.
    pub extension: bool,
    /// How the nodes answered.
    pub votes: Vec<Vote>,
}

/// A client inside its critical section. One that is stopped is inside, one whose process died is not.
#[derive(Clone, Debug)]
pub struct Section {
    /// Who is inside.
    pub owner: Owner,
    /// The key that guards the section.
    pub key: Name,
    /// From `entered` to `left` or to the death of the process.
    pub span: Span,
}

/// All attempts of a run and what became of them, each list in order of the history.
#[derive(Clone, Debug, Default)]
pub struct Acquisitions {
    /// Every attempt that began.
    pub attempts: Vec<Attempted>,
    /// Every decision `acquired` or `extended`.
    pub decisions: Vec<Decision>,
    /// Every critical section.
    pub sections: Vec<Section>,
    won: BTreeMap<Owner, Acquisition>,
    begun: BTreeMap<Owner, Position>,
    trying: Running,
    inside: Running,
}

/// What an owner has begun and not ended, as places in a list.
type Running = BTreeMap<Owner, Vec<usize>>;

impl Acquisition {
    /// Whether this acquisition is older than `other`: its decision precedes the first clock reading of the attempt
    /// that won `other`, and they are of one key. Of many pairs neither is older.
    #[must_use]
    pub fn older_than(&self, other: &Self) -> bool {
        self.key == other.key && other.began.is_some_and(|began| self.decided < began)
    }
}

impl Acquisitions {
    /// Collects the attempts, decisions and sections.
    #[must_use]
    pub fn of(events: &[Event]) -> Self {
        let mut all = Self::default();
        for event in events {
            all.take(event);
        }
        all
    }

    /// What an attempt won, if it did.
    #[must_use]
    pub fn get(&self, owner: &Owner) -> Option<&Acquisition> {
        self.won.get(owner)
    }

    /// Every acquisition, by owner.
    pub fn won(&self) -> impl Iterator<Item = &Acquisition> {
        self.won.values()
    }

    fn take(&mut self, event: &Event) {
        let place = Position::from(event);
        match &event.what {
            What::AttemptBegun {
                client,
                attempt,
                key,
                ..
            } => self.begin(Owner::new(client, *attempt), key, place),
            What::Acquired {
                client,
                attempt,
                key,
                token,
                ..
            } => {
                let owner = Owner::new(client, *attempt);
                let began = self.begun.get(&owner).copied();
                self.end_attempt(&owner, key, place);
                let won = Acquisition {
                    owner: owner.clone(),
                    key: key.clone(),
                    began,
                    decided: place,
                    token: *token,
                };
                self.won.entry(owner).or_insert(won);
            }
            What::Refused {
                client,
                attempt,
                key,
                ..
            } => self.end_attempt(&Owner::new(client, *attempt), key, place),
            What::Entered {
                client,
                attempt,
                key,
            } => self.enter(Owner::new(client, *attempt), key, place),
            What::Left {
                client,
                attempt,
                key,
            } => self.leave(&Owner::new(client, *attempt), key, place),
            What::Registered {
                client,
                attempt,
                token,
                ..
            } => self.learn_token(&Owner::new(client, *attempt), *token),
            What::ReadApplied {
                client,
                attempt,
                token: Some(token),
                ..
            }
            | What::WriteApplied {
                client,
                attempt,
                token: Some(token),
                ..
            }
            | What::OperationRefused {
                client,
                attempt,
                token: Some(token),
                ..
            } => self.learn_token(&Owner::new(client, *attempt), *token),
            What::Crashed { host, .. } => self.die(host, place),
            _ => {}
        }
        self.decisions.extend(decision(event));
    }

    fn begin(&mut self, owner: Owner, key: &Name, place: Position) {
        self.begun.entry(owner.clone()).or_insert(place);
        self.trying
            .entry(owner.clone())
            .or_default()
            .push(self.attempts.len());
        self.attempts.push(Attempted {
            owner,
            key: key.clone(),
            span: open(place),
        });
    }

    fn enter(&mut self, owner: Owner, key: &Name, place: Position) {
        self.inside
            .entry(owner.clone())
            .or_default()
            .push(self.sections.len());
        self.sections.push(Section {
            owner,
            key: key.clone(),
            span: open(place),
        });
    }

    /// A token that was fetched after the decision is first seen with an operation.
    fn learn_token(&mut self, owner: &Owner, token: u64) {
        if let Some(won) = self.won.get_mut(owner) {
            won.token.get_or_insert(token);
        }
    }

    fn end_attempt(&mut self, owner: &Owner, key: &Name, place: Position) {
        let attempts = &mut self.attempts;
        end(&mut self.trying, owner, |running| {
            let attempt = &mut attempts[running];
            attempt.key == *key && attempt.span.end.replace(place).is_none()
        });
    }

    fn leave(&mut self, owner: &Owner, key: &Name, place: Position) {
        let sections = &mut self.sections;
        end(&mut self.inside, owner, |running| {
            let section = &mut sections[running];
            section.key == *key && section.span.end.replace(place).is_none()
        });
    }

    fn die(&mut self, host: &Name, place: Position) {
        for attempt in of_client(&mut self.trying, host) {
            self.attempts[attempt].span.end = Some(place);
        }
        for section in of_client(&mut self.inside, host) {
            self.sections[section].span.end = Some(place);
        }
    }
}

/// Forgets what of an owner's `ended` says has ended.
fn end(running: &mut Running, owner: &Owner, mut ended: impl FnMut(usize) -> bool) {
    if let Some(theirs) = running.get_mut(owner) {
        theirs.retain(|&index| !ended(index));
    }
}

/// Takes out all that a client has running.
fn of_client(running: &mut Running, client: &Name) -> Vec<usize> {
    let theirs = running
        .iter_mut()
        .filter(|(owner, _)| owner.client == *client);
    theirs
        .flat_map(|(_, indices)| std::mem::take(indices))
        .collect()
}

impl Owner {
    /// An attempt of a client.
    #[must_use]
    pub fn new(client: &Name, attempt: Attempt) -> Self {
        Self {
            client: client.clone(),
            attempt,
        }
    }
}

impl fmt::Display for Owner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (attempt {})", self.client, self.attempt.0)
    }
}

fn open(from: Position) -> Span {
    Span { from, end: None }
}

fn decision(event: &Event) -> Option<Decision> {
    let (client, attempt, key, deadline, clock, votes, extension) = match &event.what {
        What::Acquired {
            client,
            attempt,
            key,
            deadline,
            clock,
            votes,
            ..
        } => (client, attempt, key, deadline, clock, votes, false),
        What::Extended {
            client,
            attempt,
            key,
            deadline,
            clock,
            votes,
        } => (client, attempt, key, deadline, clock, votes, true),
        _ => return None,
    };
    Some(Decision {
        owner: Owner::new(client, *attempt),
        key: key.clone(),
        place: event.into(),
        deadline: *deadline,
        clock: *clock,
        extension,
        votes: votes.clone(),
    })
}
