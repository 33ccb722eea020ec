//! `deadlock-free`: after the heal and the largest TTL, with a majority reachable, nobody waits longer than
//! `acquire-bound` while no lease is held (document 002, liveness A).
//!
//! A wait is measured as the longest time on end in which nobody held the key: while others hold it one after the
//! other, it is not locked for ever. [`Wait`] says which calls make up one wait. Of a wait that began before the
//! window only the part inside is judged. A caller that is stopped does not wait.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::calls::{Call, CallEnded, Wait, waits};
use crate::cause;
use crate::clock::Time;
use crate::history::{Event, Name, What};
use crate::property::Property;
use crate::run::Run;
use crate::span::{Position, Span, common, union, without};
use crate::text::{Seconds, list};
use crate::verdict::{Bench, Verdict, Witness};

pub(super) fn judge(run: &Run<'_>) -> Verdict {
    let mut bench = Bench::new();
    if let Some(healed) = healed(run) {
        let largest_ttl = Duration::from_nanos(run.history.header.largest_ttl);
        let window = Span {
            from: Position::first_of(healed.at.after(largest_ttl)),
            end: None,
        };
        let held = Held::of(run);
        let waits = waits(&run.calls, bound(run));
        for wait in waits.iter().filter(|wait| wait.span.meets(&window)) {
            judge_wait(run, healed, &window, wait, &held, &mut bench);
        }
    }
    bench.verdict(
        Property::DeadlockFree,
        "no call to acquire fell into the time after the heal and the largest TTL in which a majority was reachable and nobody held the key",
    )
}

/// From here on nothing fails any more.
fn healed<'a>(run: &Run<'a>) -> Option<&'a Event> {
    let mut events = run.history.events.iter();
    events.find(|event| matches!(event.what, What::HealBegun {}))
}

/// When somebody held a lease, by key.
struct Held(BTreeMap<Name, Vec<Span>>);

impl Held {
    fn of(run: &Run<'_>) -> Self {
        let mut spans: BTreeMap<Name, Vec<Span>> = BTreeMap::new();
        for lease in &run.leases {
            let of_key = spans.entry(lease.key.clone()).or_default();
            of_key.push(lease.span);
        }
        let united = spans.into_iter().map(|(key, spans)| (key, union(spans)));
        Self(united.collect())
    }

    fn key(&self, key: &Name) -> &[Span] {
        self.0.get(key).map_or(&[], Vec::as_slice)
    }
}

fn judge_wait(
    run: &Run<'_>,
    healed: &Event,
    window: &Span,
    wait: &Wait,
    held: &Held,
    bench: &mut Bench,
) {
    let judged = common(&[*window], &[wait.span]);
    let judged = common(&judged, run.reach.majority(&wait.client));
    let judged = without(&judged, held.key(&wait.key));
    let judged = without(
        &judged,
        &union(run.hosts.get(&wait.client).pauses.iter().copied()),
    );
    for stretch in &judged {
        let lasted = stretch.within(Time::ZERO, run.end());
        if lasted > bound(run) {
            bench.violation(|| deadlock(run, wait, stretch, lasted));
        }
    }
    for call in wait.calls.iter().map(|&call| &run.calls[call]) {
        if let CallEnded::Returned(returned) = call.ended
            && judged.iter().any(|stretch| stretch.meets(&call.span()))
        {
            bench.exercised(|| example(healed, call, returned));
        }
    }
}

fn deadlock(run: &Run<'_>, wait: &Wait, stretch: &Span, lasted: Duration) -> Witness {
    let first = &run.calls[wait.calls[0]];
    // What ends such a stretch is an event, or else the end of the run.
    let end = run
        .history
        .events
        .last()
        .map_or(stretch.from, Position::from);
    let end = stretch.end.unwrap_or(end);
    let reachable = run.reach.throughout(&wait.client, stretch);
    let among = if reachable.is_empty() {
        String::new()
    } else {
        format!(", with {} reachable", list(&reachable))
    };
    let sentence = format!(
        "{} waited for `{}` from {} to {}{among}, while nobody held it for {}; the bound is {}",
        wait.client,
        wait.key,
        first.begun.at,
        end.at,
        Seconds(lasted),
        Seconds(bound(run)),
    );
    Witness::new(end, [first.begun.seq], sentence).because(cause::blocked(
        run,
        &wait.client,
        &wait.key,
        end,
    ))
}

fn example(healed: &Event, call: &Call, returned: Position) -> Witness {
    let became = if call.won.is_some() {
        "won"
    } else {
        "was refused"
    };
    let who = if call.probe {
        format!("the probe {}", call.client)
    } else {
        call.client.to_string()
    };
    let sentence = format!(
        "{who} called acquire of `{}` at {}, after the heal at {}, and {became} at {}",
        call.key, call.begun.at, healed.at, returned.at
    );
    Witness::new(returned, [healed.seq, call.begun.seq], sentence)
}

fn bound(run: &Run<'_>) -> Duration {
    Duration::from_nanos(run.history.header.acquire_bound)
}
