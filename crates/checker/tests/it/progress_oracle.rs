//! The definitions of progress once more: what is true right behind each event, and nothing derived beforehand.
//!
//! The histories that it is asked about are short in time, so that no key runs out by its node's clock.

use std::collections::BTreeSet;

use fencepost_checker::calls::{self, CallEnded, Wait};
use fencepost_checker::history::{Did, Name, Operation, Role};
use fencepost_checker::{Event, History, Time, What};

use crate::oracle::{Counted, Place, attempts, count, decided, holds, owners, place};

// ---- what is true behind an event ----

fn hosts(history: &History, role: Role) -> Vec<&Name> {
    let of = |event: &'_ Event| matches!(&event.what, What::Host { role: is, .. } if *is == role);
    let hosts = history.events.iter().filter(|event| of(event));
    hosts
        .map(|event| match &event.what {
            What::Host { host, .. } => host,
            _ => unreachable!(),
        })
        .collect()
}

/// Whether the last event up to `seq` for which `says` knows an answer says so.
fn last(history: &History, seq: u64, says: impl Fn(&What) -> Option<bool>) -> Option<bool> {
    let mut events = history.events.iter().rev().filter(|event| event.seq <= seq);
    events.find_map(|event| says(&event.what))
}

fn stopped(history: &History, of: &Name, seq: u64) -> bool {
    let says = |what: &What| match what {
        What::Paused { host } if host == of => Some(true),
        What::Resumed { host } if host == of => Some(false),
        _ => None,
    };
    last(history, seq, says).unwrap_or(false)
}

fn serves(history: &History, of: &Name, seq: u64) -> bool {
    let down = last(history, seq, |what| match what {
        What::Crashed { host, .. } if host == of => Some(true),
        What::Started { host } if host == of => Some(false),
        _ => None,
    });
    let stalled = (0..6).any(|number| {
        let says = |what: &What| match what {
            What::Fault {
                fault,
                family,
                hosts,
                ..
            } if *fault == number && &**family == "fsync-stall" && hosts.contains(of) => Some(true),
            What::FaultEnded { fault } if *fault == number => Some(false),
            What::HealBegun {} => Some(false),
            _ => None,
        };
        last(history, seq, says).unwrap_or(false)
    });
    !down.unwrap_or(false) && !stalled && !stopped(history, of, seq)
}

/// How much longer messages take, or `None` if none pass.
fn extra(history: &History, of: (&Name, &Name), seq: u64) -> Option<u64> {
    let (mut cuts, mut extra, mut late) = (0_u32, 0, false);
    for event in history.events.iter().filter(|event| event.seq <= seq) {
        match &event.what {
            What::Cut { from, to, .. } if (from, to) == of => cuts += 1,
            What::Healed { from, to } if (from, to) == of => cuts = cuts.saturating_sub(1),
            What::Delayed {
                from,
                to,
                extra: by,
            } if (from, to) == of => extra = *by,
            What::Fault { family, hosts, .. }
                if &**family == "late-packet" && (&hosts[0], &hosts[1]) == of =>
            {
                late = true
            }
            What::HealBegun {} => late = false,
            _ => {}
        }
    }
    (cuts == 0 && !late).then_some(extra)
}

/// Whether the client reaches the node behind the event.
fn reaches(history: &History, client: &Name, node: &Name, seq: u64) -> bool {
    let header = &history.header;
    let (there, back) = (
        extra(history, (client, node), seq),
        extra(history, (node, client), seq),
    );
    let in_time = matches!((there, back), (Some(there), Some(back))
        if 2 * header.latency + there + back <= header.node_timeout);
    in_time && serves(history, node, seq)
}

/// Whether the event interrupts the two for its own instant.
fn resets(history: &History, client: &Name, node: &Name, seq: u64) -> bool {
    let event = &history.events[usize::try_from(seq).unwrap()];
    match &event.what {
        What::Reset { from, to } => (from, to) == (client, node) || (to, from) == (client, node),
        What::Promoted { node: of } | What::Demoted { node: of, .. } => of == node,
        _ => false,
    }
}

/// The nodes that the client reaches all the time from behind one event to behind another.
fn reached_all_along<'a>(
    history: &'a History,
    client: &Name,
    from: u64,
    to: u64,
) -> BTreeSet<&'a Name> {
    let mut nodes: BTreeSet<&Name> = hosts(history, Role::Node).into_iter().collect();
    nodes.retain(|node| {
        (from..=to)
            .all(|seq| reaches(history, client, node, seq) && !resets(history, client, node, seq))
    });
    nodes
}

fn quorum(history: &History) -> usize {
    usize::try_from(history.header.quorum).unwrap()
}

// ---- lease-kept ----

pub(crate) fn lease_kept(history: &History) -> Counted {
    let renewed = history.events.iter().any(|event| {
        let extends = matches!(
            event.what,
            What::CallBegun {
                operation: Operation::Extend,
                ..
            }
        );
        extends || matches!(event.what, What::Extended { .. })
    });
    if !renewed {
        return count(0, false);
    }
    let lost = history.events.iter().filter(|event| match &event.what {
        What::Lost {
            client,
            attempt,
            key,
        } => {
            let owner = (client.clone(), *attempt);
            let before = history
                .events
                .iter()
                .rev()
                .filter(|other| other.seq < event.seq);
            let mut before = before.filter_map(decided);
            let Some(latest) = before.find(|one| one.owner == owner && one.key == key) else {
                return false;
            };
            let since = latest.place.1;
            let nodes = reached_all_along(history, client, since, event.seq - 1);
            let too_late = too_late(history, &latest);
            // A stop that had not ended when it was too late.
            let overslept = (since..event.seq).any(|seq| {
                let after = history.events.iter().filter(|other| other.seq > seq);
                let mut ends = after.filter(
                    |other| matches!(&other.what, What::Resumed { host } if host == client),
                );
                stopped(history, client, seq) && ends.next().is_none_or(|end| end.at >= too_late)
            });
            nodes.len() >= quorum(history) && !overslept
        }
        _ => false,
    });
    count(lost.count(), true)
}

fn too_late(history: &History, latest: &crate::oracle::Decided<'_>) -> Time {
    let at = latest.place.0.0;
    let dies = Time(at + history.header.largest_ttl);
    let shows = |at: u64| {
        let segments = history.events.iter().rev().filter(|event| event.at.0 <= at);
        let mut segments = segments.filter_map(|event| match &event.what {
            What::Clock { host, segment } if *host == latest.owner.0 => Some(segment),
            _ => None,
        });
        segments.next().unwrap().reading(latest.clock, Time(at))
    };
    let Some(deadline) = latest.deadline else {
        return dies;
    };
    (at..=dies.0)
        .find(|at| shows(*at) >= deadline)
        .map_or(dies, Time)
}

// ---- calls ----

fn leased(history: &History, key: &Name, now: Place, except: Option<&Name>) -> bool {
    let owners = owners(history);
    owners
        .iter()
        .filter(|owner| Some(&owner.0) != except)
        .any(|owner| holds(history, owner, key, now.0, |event| event.seq <= now.1))
}

pub(crate) fn fault_tolerant(history: &History) -> Counted {
    let (mut violations, mut exercised) = (0, 0);
    let end = history.events.last().unwrap();
    for call in calls::calls(&history.events) {
        let (from, to) = match call.ended {
            CallEnded::Returned(ended) => (call.begun.seq, ended.seq),
            CallEnded::Died(_) => continue,
            CallEnded::Out => (call.begun.seq, end.seq),
        };
        let bound = history.header.call_bound;
        let lasted = history.events[usize::try_from(to).unwrap()].at.0 - call.begun.at.0;
        let undecided = call.ended == CallEnded::Out && call.won.is_none() && lasted <= bound;
        if call.operation != Operation::Acquire || undecided {
            continue;
        }
        let during = || {
            history
                .events
                .iter()
                .filter(|event| (from..=to).contains(&event.seq))
        };
        let rival = attempts(history).iter().any(|tried| {
            *tried.client != call.client
                && *tried.key == call.key
                && tried.from.1 <= to
                && tried.to.1 > from
        });
        // A lease that the clock ends lies behind an event, or in the instant of one before it.
        let rival = rival
            || during().any(|event| leased(history, &call.key, place(event), Some(&call.client)));
        if rival || during().any(|event| stopped(history, &call.client, event.seq)) {
            continue;
        }
        let mut nodes = reached_all_along(history, &call.client, from, to);
        nodes.retain(|node| free(history, node, &call, from, to));
        if nodes.len() < quorum(history) {
            continue;
        }
        exercised += 1;
        violations += usize::from(
            call.won
                .is_none_or(|won| won.at.0 - call.begun.at.0 > bound),
        );
    }
    count(violations, exercised > 0)
}

/// Whether no key stands there during the call but such as the call itself made.
fn free(history: &History, node: &Name, call: &calls::Call, from: u64, to: u64) -> bool {
    let run = fencepost_checker::run::Run::of(history);
    let own: Vec<_> = history
        .events
        .iter()
        .filter(|event| (from..=to).contains(&event.seq))
        .filter_map(|event| match &event.what {
            What::AttemptBegun {
                client,
                attempt,
                key,
                ..
            } if (client, key) == (&call.client, &call.key) => Some(*attempt),
            _ => None,
        })
        .collect();
    run.keys.iter().filter(|key| key.node == *node && key.key == call.key).all(|key| {
        let before = key.span.end.is_some_and(|end| (end.at, end.seq) <= (call.begun.at, from));
        let after = key.span.from.seq > to;
        let event = &history.events[usize::try_from(key.span.from.seq).unwrap()].what;
        let copied = matches!(event, What::Command { sender: None, command, did: Did::Created | Did::Overwritten, .. } if &**command == "replicate");
        let made = copied && key.client.as_ref() == Some(&call.client) || matches!(event,
            What::Command { sender: Some(sender), did: Did::Created | Did::Overwritten, .. } if *sender == call.client);
        let during = key.span.from.seq > from;
        let empty = key.span.end.is_some_and(|end| end <= key.span.from);
        empty || before || after || (made && during && key.attempt.is_none_or(|attempt| own.contains(&attempt)))
    })
}

pub(crate) fn deadlock_free(history: &History) -> Counted {
    let mut healed = history
        .events
        .iter()
        .filter(|event| event.what == What::HealBegun {});
    let Some(healed) = healed.next() else {
        return count(0, false);
    };
    let window = healed.at.0 + history.header.largest_ttl;
    let calls = calls::calls(&history.events);
    let bound = history.header.acquire_bound;
    let waits = calls::waits(&calls, std::time::Duration::from_nanos(bound));
    let (mut violations, mut exercised) = (0, false);
    for wait in &waits {
        let counts: Vec<(u64, u64, bool)> = counts(history, wait, window);
        // The longest runs of instants that count.
        let mut run: Option<(u64, bool)> = None;
        for (at, seq, is) in &counts {
            match (run, is) {
                (None, true) => run = Some((*at, false)),
                (Some((from, reported)), _) => {
                    let reported_now = at - from > bound;
                    violations += usize::from(reported_now && !reported);
                    run = is.then_some((from, reported || reported_now));
                }
                _ => {}
            }
            exercised |= *is && wait.calls.iter().any(|&call| {
                let call = &calls[call];
                let returned = matches!(call.ended, CallEnded::Returned(ended) if *at <= ended.at.0 && *seq <= ended.seq);
                returned && call.begun.at.0 <= *at && call.begun.seq <= *seq
            });
        }
    }
    count(violations, exercised)
}

/// For each place, an instant with the last event up to it: whether the wait counts there.
fn counts(history: &History, wait: &Wait, window: u64) -> Vec<(u64, u64, bool)> {
    let nodes = hosts(history, Role::Node);
    let mut counts = Vec::new();
    for (index, event) in history.events.iter().enumerate() {
        let (client, seq) = (&wait.client, event.seq);
        let waits = wait.span.from.seq <= seq && wait.span.end.is_none_or(|end| seq < end.seq);
        let waits = waits && !stopped(history, client, seq);
        let mut is = |at: u64, among: &dyn Fn(&Name) -> bool| {
            let reached = nodes.iter().filter(|node| among(node)).count();
            let able = waits && reached >= quorum(history) && at >= window;
            let is = able && !leased(history, &wait.key, (Time(at), seq), None);
            counts.push((at, seq, is));
        };
        is(event.at.0, &|node| {
            reaches(history, client, node, seq) && !resets(history, client, node, seq)
        });
        let next = history.events.get(index + 1).unwrap_or(event);
        for at in event.at.0..=next.at.0 {
            // A lease that ends in the instant of the next event ends before it.
            is(at, &|node| reaches(history, client, node, seq));
        }
    }
    counts
}
