//! The definitions of the properties once more and as literally as can be: no sweeps, every pair looked at.
//! Slow and simple, to hold the judges against.

use fencepost_checker::history::{Attempt, Name};
use fencepost_checker::{ClockKind, Event, History, Outcome, Property, Time, What};

use crate::progress_oracle;

/// How often a property is broken, and whether it was put to the test.
pub(crate) struct Counted {
    pub(crate) violations: u64,
    pub(crate) exercised: bool,
}

impl Counted {
    pub(crate) fn outcome(&self) -> Outcome {
        match self {
            Self {
                violations: 1.., ..
            } => Outcome::Violated,
            Self {
                exercised: true, ..
            } => Outcome::Holds,
            _ => Outcome::Vacuous,
        }
    }
}

pub(crate) type Owner = (Name, Attempt);
pub(crate) type Place = (Time, u64);

pub(crate) fn place(event: &Event) -> Place {
    (event.at, event.seq)
}

pub(crate) fn count(violations: usize, exercised: bool) -> Counted {
    Counted {
        violations: violations as u64,
        exercised: exercised || violations > 0,
    }
}

/// The count of a property, for those that are judged by pairs.
pub(crate) fn counted(property: Property, history: &History) -> Option<Counted> {
    match property {
        Property::MutualExclusion => Some(mutual_exclusion(history)),
        Property::ExclusiveAccess => Some(exclusive_access(history)),
        Property::NoStaleWrite => Some(no_stale_write(history)),
        Property::HolderNotRefused => Some(holder_not_refused(history)),
        Property::NoLostUpdate => Some(no_lost_update(history)),
        Property::MoneyConserved => Some(money_conserved(history)),
        Property::LeaseKept => Some(progress_oracle::lease_kept(history)),
        Property::DeadlockFree => Some(progress_oracle::deadlock_free(history)),
        Property::FaultTolerant => Some(progress_oracle::fault_tolerant(history)),
        _ => None,
    }
}

// ---- who decided what, when ----

pub(crate) struct Decided<'a> {
    pub(crate) owner: Owner,
    pub(crate) key: &'a Name,
    pub(crate) deadline: Option<u64>,
    pub(crate) clock: ClockKind,
    pub(crate) place: Place,
}

pub(crate) fn decided(event: &Event) -> Option<Decided<'_>> {
    let (What::Acquired {
        client,
        attempt,
        key,
        deadline,
        clock,
        ..
    }
    | What::Extended {
        client,
        attempt,
        key,
        deadline,
        clock,
        ..
    }) = &event.what
    else {
        return None;
    };
    Some(Decided {
        owner: (client.clone(), *attempt),
        key,
        deadline: *deadline,
        clock: *clock,
        place: place(event),
    })
}

/// What a clock shows at an instant, as far as the events before `until` tell.
fn reading(history: &History, host: &Name, kind: ClockKind, at: Time, until: Place) -> u64 {
    let mut segments = history
        .events
        .iter()
        .rev()
        .filter(|event| place(event) < until && event.at <= at);
    let segment = segments.find_map(|event| match &event.what {
        What::Clock { host: of, segment } if of == host => Some(segment),
        _ => None,
    });
    segment.unwrap().reading(kind, at)
}

/// Whether `owner` holds `key` in the instant `now`, by the events that `seen` lets through.
pub(crate) fn holds(
    history: &History,
    owner: &Owner,
    key: &Name,
    now: Time,
    seen: impl Fn(&Event) -> bool,
) -> bool {
    let events = || history.events.iter().filter(|event| seen(event));
    let decisions = events()
        .filter_map(decided)
        .filter(|decision| decision.owner == *owner && decision.key == key);
    let Some(latest) = decisions.last() else {
        return false;
    };
    let ended = events()
        .filter(|event| latest.place < place(event))
        .any(|event| match &event.what {
            What::ReleaseCalled {
                client,
                attempt,
                key: of,
            }
            | What::Lost {
                client,
                attempt,
                key: of,
            } => (client, attempt, of) == (&owner.0, &owner.1, key),
            What::Crashed { host, .. } => *host == owner.0,
            _ => false,
        });
    let expired = latest.deadline.is_some_and(|deadline| {
        let at_decision = reading(
            history,
            &owner.0,
            latest.clock,
            latest.place.0,
            latest.place,
        ) >= deadline;
        // Every instant from the decision on, with all that is known of it: an instant has one reading.
        let shows = |at| {
            reading(
                history,
                &owner.0,
                latest.clock,
                Time(at),
                (Time(at), u64::MAX),
            ) >= deadline
        };
        at_decision || (latest.place.0.0..=now.0).any(shows)
    });
    !ended && !expired
}

pub(crate) struct Tried<'a> {
    pub(crate) client: &'a Name,
    pub(crate) key: &'a Name,
    pub(crate) from: Place,
    /// The decision itself is part of the attempt.
    pub(crate) to: Place,
}

pub(crate) fn attempts(history: &History) -> Vec<Tried<'_>> {
    let begun = history.events.iter().filter_map(|event| match &event.what {
        What::AttemptBegun {
            client,
            attempt,
            key,
            ..
        } => Some((event, client, *attempt, key)),
        _ => None,
    });
    begun
        .map(|(event, client, attempt, key)| Tried {
            client,
            key,
            from: place(event),
            to: tried_until(history, event, client, attempt, key),
        })
        .collect()
}

fn tried_until(
    history: &History,
    begun: &Event,
    client: &Name,
    attempt: Attempt,
    key: &Name,
) -> Place {
    let ends = |what: &What| match what {
        What::Acquired {
            client: c,
            attempt: a,
            key: k,
            ..
        }
        | What::Refused {
            client: c,
            attempt: a,
            key: k,
            ..
        } => (c, *a, k) == (client, attempt, key),
        What::Crashed { host, .. } => host == client,
        _ => false,
    };
    history
        .events
        .iter()
        .filter(|event| event.seq > begun.seq)
        .find(|event| ends(&event.what))
        .map_or((Time::MAX, u64::MAX), place)
}

// ---- the properties ----

pub(crate) fn owners(history: &History) -> Vec<Owner> {
    let mut owners: Vec<Owner> = history
        .events
        .iter()
        .filter_map(decided)
        .map(|decision| decision.owner)
        .collect();
    owners.sort();
    owners.dedup();
    owners
}

fn mutual_exclusion(history: &History) -> Counted {
    let owners = owners(history);
    let violations = history.events.iter().filter_map(decided).map(|decision| {
        let (now, seq) = decision.place;
        let holders = owners.iter().filter(|owner| **owner != decision.owner);
        holders
            .filter(|owner| holds(history, owner, decision.key, now, |event| event.seq < seq))
            .count()
    });
    // Leases and attempts begin with events: if two overlap, then right behind one of those.
    let overlapped = attempts(history).iter().any(|tried| {
        let mut during = history
            .events
            .iter()
            .filter(|event| tried.from <= place(event) && place(event) <= tried.to);
        during.any(|now| {
            let mut others = owners.iter().filter(|owner| owner.0 != *tried.client);
            others.any(|owner| {
                holds(history, owner, tried.key, now.at, |event| {
                    event.seq <= now.seq
                })
            })
        })
    });
    count(violations.sum(), overlapped)
}

fn exclusive_access(history: &History) -> Counted {
    let sections: Vec<(Tried<'_>, Place)> = sections(history);
    let mut violations = 0;
    for (index, (inside, left)) in sections.iter().enumerate() {
        let later = sections[index + 1..].iter().map(|(other, _)| other);
        violations += later
            .filter(|other| {
                other.key == inside.key && other.client != inside.client && other.from < *left
            })
            .count();
    }
    let tried = attempts(history);
    let overlapped = sections.iter().any(|(inside, left)| {
        tried.iter().any(|tried| {
            let meets = tried.from < *left && inside.from <= tried.to;
            meets && tried.key == inside.key && tried.client != inside.client
        })
    });
    count(violations, overlapped)
}

fn sections(history: &History) -> Vec<(Tried<'_>, Place)> {
    let entered = history.events.iter().filter_map(|event| match &event.what {
        What::Entered {
            client,
            attempt,
            key,
        } => Some((event, client, *attempt, key)),
        _ => None,
    });
    let leaves = |what: &What, client: &Name, attempt: Attempt, key: &Name| match what {
        What::Left {
            client: c,
            attempt: a,
            key: k,
        } => (c, *a, k) == (client, attempt, key),
        What::Crashed { host, .. } => host == client,
        _ => false,
    };
    entered
        .map(|(event, client, attempt, key)| {
            let mut after = history.events.iter().filter(|later| later.seq > event.seq);
            let left = after
                .find(|later| leaves(&later.what, client, attempt, key))
                .map_or((Time::MAX, u64::MAX), place);
            (
                Tried {
                    client,
                    key,
                    from: place(event),
                    to: left,
                },
                left,
            )
        })
        .collect()
}

struct Won<'a> {
    owner: Owner,
    key: &'a Name,
    began: Option<Place>,
    decided: Place,
}

fn won(history: &History) -> Vec<Won<'_>> {
    let mut all: Vec<Won<'_>> = Vec::new();
    for event in &history.events {
        if let What::Acquired {
            client,
            attempt,
            key,
            ..
        } = &event.what
        {
            let owner = (client.clone(), *attempt);
            let mut before = history
                .events
                .iter()
                .filter(|before| before.seq < event.seq);
            let began = before.find(|before| matches!(&before.what, What::AttemptBegun { client: c, attempt: a, .. } if (c, a) == (client, attempt)));
            if all.iter().all(|won| won.owner != owner) {
                all.push(Won {
                    owner,
                    key,
                    began: began.map(place),
                    decided: place(event),
                });
            }
        }
    }
    all
}

fn older(a: &Won<'_>, b: &Won<'_>) -> bool {
    a.key == b.key && b.began.is_some_and(|began| a.decided < began)
}

#[derive(PartialEq)]
enum Effect {
    Read,
    Written,
    Refused,
}

fn operation(event: &Event) -> Option<(Owner, &Name, Effect, Option<u64>)> {
    match &event.what {
        What::ReadApplied {
            client,
            attempt,
            key,
            token,
            ..
        } => Some(((client.clone(), *attempt), key, Effect::Read, *token)),
        What::WriteApplied {
            client,
            attempt,
            key,
            token,
            ..
        } => Some(((client.clone(), *attempt), key, Effect::Written, *token)),
        What::OperationRefused {
            client,
            attempt,
            key,
            token,
            ..
        } => Some(((client.clone(), *attempt), key, Effect::Refused, *token)),
        _ => None,
    }
}

fn no_stale_write(history: &History) -> Counted {
    let won = won(history);
    let of = |owner: &Owner| won.iter().find(|won| won.owner == *owner);
    let (mut violations, mut exercised) = (0, false);
    for event in &history.events {
        let Some((owner, key, effect, _)) = operation(event) else {
            continue;
        };
        let Some(a) = of(&owner) else { continue };
        let earlier = || {
            let before = history
                .events
                .iter()
                .filter(|before| before.seq < event.seq)
                .filter_map(operation);
            before.filter(|(other, k, _, _)| *k == key && of(other).is_some_and(|b| older(a, b)))
        };
        exercised |= earlier().next().is_some();
        if effect == Effect::Written && earlier().any(|(_, _, effect, _)| effect == Effect::Written)
        {
            violations += 1;
        }
    }
    count(violations, exercised)
}

fn holder_not_refused(history: &History) -> Counted {
    let won = won(history);
    let of = |owner: &Owner| won.iter().find(|won| won.owner == *owner);
    let checks = history.events.iter().any(|event| {
        matches!(
            event.what,
            What::Registered { .. } | What::OperationRefused { .. }
        )
    });
    let (mut violations, mut exercised) = (0, false);
    for event in &history.events {
        let Some((owner, key, effect, token)) = operation(event) else {
            continue;
        };
        let Some(a) = of(&owner) else { continue };
        let newest = won.iter().all(|b| b.decided > place(event) || !older(a, b));
        exercised |= checks && newest && (token.is_some() || effect == Effect::Refused);
        let excused = history
            .events
            .iter()
            .filter(|before| before.seq < event.seq)
            .any(|before| match &before.what {
                What::Registered {
                    client,
                    attempt,
                    key: k,
                    ..
                } if k == key => {
                    let other = (client.clone(), *attempt);
                    other != owner && of(&other).is_none_or(|x| !older(x, a))
                }
                _ => false,
            });
        violations += usize::from(effect == Effect::Refused && !excused);
    }
    count(violations, exercised)
}

fn no_lost_update(history: &History) -> Counted {
    let mut violations = 0;
    for event in &history.events {
        let What::WriteApplied {
            resource,
            key,
            client,
            operation,
            read_version,
            before,
            ..
        } = &event.what
        else {
            continue;
        };
        let resent = history.events.iter().filter(|other| other.seq < event.seq).any(|other| {
            matches!(&other.what, What::WriteApplied { resource: r, key: k, client: c, operation: o, .. }
                if (r, k, c, o) == (resource, key, client, operation))
        });
        violations += usize::from(!resent && read_version != before);
    }
    let won = won(history);
    let operations: Vec<(Owner, &Name)> = history
        .events
        .iter()
        .filter_map(operation)
        .filter(|(owner, ..)| won.iter().any(|won| won.owner == *owner))
        .map(|(owner, key, ..)| (owner, key))
        .collect();
    let interleaved = (0..operations.len()).any(|first| {
        (first..operations.len()).any(|between| {
            (between..operations.len()).any(|second| {
                let [a, b, c] = [first, between, second].map(|index| &operations[index]);
                a == c && a.0 != b.0 && a.1 == b.1
            })
        })
    });
    count(violations, interleaved)
}

fn money_conserved(history: &History) -> Counted {
    let totals = || {
        history.events.iter().filter_map(|event| match &event.what {
            What::Total { key, total, .. } => Some((event.seq, key, total)),
            _ => None,
        })
    };
    let (mut violations, mut exercised) = (0, false);
    for (seq, key, total) in totals() {
        let (first, was) = totals()
            .find(|(_, of, _)| *of == key)
            .map(|(seq, _, was)| (seq, was))
            .unwrap();
        let transferred = history.events.iter().any(|event| {
            first < event.seq && event.seq < seq && matches!(event.what, What::WriteApplied { .. })
        });
        exercised |= transferred;
        violations += usize::from(transferred && was != total);
    }
    count(violations, exercised)
}
