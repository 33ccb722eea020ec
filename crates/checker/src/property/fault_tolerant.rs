//! `fault-tolerant`: a call during which one and the same majority stays up, unpaused, reachable within the per-node
//! timeout and free of foreign keys, with no rival, succeeds within `call-bound` (document 002, liveness B).
//!
//! Calls to acquire are judged. A foreign key is one that another attempt made, also one of the same client; a rival
//! is another client's attempt or lease on the key that overlaps the call. A caller that is stopped reaches nobody, and
//! one that dies is not judged. A call that never returns is judged by the end of the run, once it is beyond the bound.

use std::collections::BTreeSet;
use std::time::Duration;

use crate::acquisitions::Attempted;
use crate::calls::{Call, CallEnded};
use crate::cause;
use crate::history::{Attempt, Name, Operation};
use crate::keys::{Key, Made};
use crate::property::Property;
use crate::run::Run;
use crate::span::{Index, Position, Span};
use crate::text::{Seconds, list};
use crate::verdict::{Bench, Verdict, Witness};

pub(super) fn judge(run: &Run<'_>) -> Verdict {
    let mut bench = Bench::new();
    let among = Among::of(run);
    let acquires = run
        .calls
        .iter()
        .filter(|call| call.operation == Operation::Acquire);
    for call in acquires {
        if let Some(judged) = Judged::of(&among, call) {
            if judged.failed(run) {
                bench.violation(|| judged.failure(run));
            }
            bench.exercised(|| judged.success());
        }
    }
    bench.verdict(
        Property::FaultTolerant,
        "no call to acquire had the same majority up, reachable and free of foreign keys all along, and no rival",
    )
}

/// What may stand in the way of a call, found by time.
struct Among<'a> {
    run: &'a Run<'a>,
    attempts: Index,
    leases: Index,
    keys: Index,
}

impl<'a> Among<'a> {
    fn of(run: &'a Run<'a>) -> Self {
        let attempts = run.acquisitions.attempts.iter();
        Self {
            run,
            attempts: Index::of(attempts.map(|attempt| attempt.span)),
            leases: Index::of(run.leases.iter().map(|lease| lease.span)),
            keys: Index::of(run.keys.iter().map(|key| key.span)),
        }
    }

    fn attempts(&self, span: &'a Span) -> impl Iterator<Item = &Attempted> {
        let meeting = self.attempts.meeting(span);
        meeting.map(|index| &self.run.acquisitions.attempts[index])
    }

    fn has_rival(&self, call: &Call, span: &Span) -> bool {
        let rivals = |client: &Name, key: &Name| *client != call.client && *key == call.key;
        let mut leases = self
            .leases
            .meeting(span)
            .map(|index| &self.run.leases[index]);
        self.attempts(span)
            .any(|attempt| rivals(&attempt.owner.client, &attempt.key))
            || leases.any(|lease| rivals(&lease.owner.client, &lease.key))
    }

    /// The attempts that the call made.
    fn own_attempts(&self, call: &Call, span: &Span) -> BTreeSet<Attempt> {
        let theirs = self.attempts(span).filter(|attempt| {
            attempt.owner.client == call.client
                && attempt.key == call.key
                && span.contains(attempt.span.from)
        });
        theirs.map(|attempt| attempt.owner.attempt).collect()
    }

    fn keys(&self, call: &Call, span: &Span) -> Vec<&Key> {
        let meeting = self.keys.meeting(span).map(|index| &self.run.keys[index]);
        meeting.filter(|key| key.key == call.key).collect()
    }
}

/// A call that had all it needs.
struct Judged<'a> {
    call: &'a Call,
    span: Span,
    end: Position,
    lasted: Duration,
    nodes: Vec<&'a Name>,
}

impl<'a> Judged<'a> {
    fn of(among: &Among<'a>, call: &'a Call) -> Option<Self> {
        let run = among.run;
        let span = call.span();
        let end = match call.ended {
            CallEnded::Returned(end) => end,
            CallEnded::Died(_) => return None,
            CallEnded::Out => run.history.events.last()?.into(),
        };
        let lasted = end.at.since(call.begun.at);
        let undecided = call.ended == CallEnded::Out && call.won.is_none() && lasted <= bound(run);
        if undecided || among.has_rival(call, &span) || was_stopped(run, call, &span) {
            return None;
        }
        let own = among.own_attempts(call, &span);
        let mut nodes = run.reach.throughout(&call.client, &span);
        let keys = among.keys(call, &span);
        nodes.retain(|node| {
            keys.iter()
                .all(|key| key.node != **node || is_own(key, call, &own))
        });
        (nodes.len() >= run.quorum()).then_some(Self {
            call,
            span,
            end,
            lasted,
            nodes,
        })
    }

    fn failed(&self, run: &Run<'_>) -> bool {
        let took = self.call.won.map(|won| won.at.since(self.call.begun.at));
        took.is_none_or(|took| took > bound(run))
    }

    fn failure(&self, run: &Run<'_>) -> Witness {
        let Call {
            client, key, begun, ..
        } = self.call;
        let became = match (self.call.won, self.call.ended) {
            (Some(_), _) => format!("took {}", Seconds(self.lasted)),
            (None, CallEnded::Out) => format!("had not returned after {}", Seconds(self.lasted)),
            (None, _) => format!("failed at {}", self.end.at),
        };
        let sentence = format!(
            "acquire of `{key}` by {client}, called at {}, {became}, although {} could be reached all along and no other client stood in its way; the bound is {}",
            begun.at,
            list(&self.nodes),
            Seconds(bound(run)),
        );
        Witness::new(self.end, [begun.seq], sentence)
            .because(cause::refused(run, client, key, &self.span))
    }

    fn success(&self) -> Witness {
        let Call {
            client, key, begun, ..
        } = self.call;
        let sentence = format!(
            "acquire of `{key}` by {client}, called at {}, succeeded after {} with {} reachable all along",
            begun.at,
            Seconds(self.lasted),
            list(&self.nodes),
        );
        Witness::new(self.end, [begun.seq], sentence)
    }
}

fn was_stopped(run: &Run<'_>, call: &Call, span: &Span) -> bool {
    let host = run.hosts.get(&call.client);
    host.pauses.iter().any(|pause| pause.meets(span))
}

/// Whether the key is one that the call itself made.
fn is_own(key: &Key, call: &Call, attempts: &BTreeSet<Attempt>) -> bool {
    key.made != Made::Found
        && key.client.as_ref() == Some(&call.client)
        && key.span.from > call.begun
        && key
            .attempt
            .is_none_or(|attempt| attempts.contains(&attempt))
}

fn bound(run: &Run<'_>) -> Duration {
    Duration::from_nanos(run.history.header.call_bound)
}
