//! `bounded-call`: every call answers within `call-bound`, whatever fails.
//!
//! Time in which the caller's host was stopped does not count: it could not have answered. A call that never returns
//! is judged by the end of the run, if that is beyond the bound already. A call whose process dies is not judged.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::clock::Time;
use crate::history::{Event, Name, Operation, What};
use crate::property::Property;
use crate::run::Run;
use crate::span::Position;
use crate::text::Seconds;
use crate::verdict::{Bench, Verdict, Witness};

pub(super) fn judge(run: &Run<'_>) -> Verdict {
    let mut bench = Bench::new();
    let mut running: BTreeMap<(&Name, u64), Call<'_>> = BTreeMap::new();
    for event in &run.history.events {
        match &event.what {
            What::CallBegun {
                client,
                call,
                operation,
                key,
                ..
            } => {
                running.insert(
                    (client, *call),
                    Call {
                        client,
                        operation: *operation,
                        key,
                        begun: event,
                    },
                );
            }
            What::CallEnded { client, call } => {
                if let Some(call) = running.remove(&(client, *call)) {
                    call.returned(run, event, &mut bench);
                }
            }
            What::Crashed { host, .. } => running.retain(|(client, _), _| *client != host),
            _ => {}
        }
    }
    let mut unanswered: Vec<Call<'_>> = running.into_values().collect();
    unanswered.sort_by_key(|call| call.begun.seq);
    unanswered
        .iter()
        .for_each(|call| call.unanswered(run, &mut bench));
    bench.verdict(
        Property::BoundedCall,
        "no call happened that returned, or that was out for longer than the bound",
    )
}

struct Call<'a> {
    client: &'a Name,
    operation: Operation,
    key: &'a Name,
    begun: &'a Event,
}

impl Call<'_> {
    fn returned(&self, run: &Run<'_>, ended: &Event, bench: &mut Bench) {
        let took = self.lasted(run, ended.at);
        let sentence = || {
            format!(
                "{} returned after {} of running",
                self.named(),
                Seconds(took)
            )
        };
        if took > bound(run) {
            bench.violation(|| self.witness(run, ended.into(), sentence()));
        }
        bench.exercised(|| Witness::new(ended, [self.begun.seq], sentence()));
    }

    fn unanswered(&self, run: &Run<'_>, bench: &mut Bench) {
        let lasted = self.lasted(run, run.end());
        if lasted > bound(run) {
            let sentence = || {
                format!(
                    "{} had not returned when the run ended, after {} of running",
                    self.named(),
                    Seconds(lasted)
                )
            };
            let end = run
                .history
                .events
                .last()
                .map_or(Position::from(self.begun), Position::from);
            bench.violation(|| self.witness(run, end, sentence()));
        }
    }

    fn lasted(&self, run: &Run<'_>, until: Time) -> Duration {
        let stopped = run.hosts.get(self.client).stopped(self.begun.at, until);
        until.since(self.begun.at).saturating_sub(stopped)
    }

    fn witness(&self, run: &Run<'_>, at: Position, sentence: String) -> Witness {
        let sentence = format!("{sentence}; the bound is {}", Seconds(bound(run)));
        Witness::new(at, [self.begun.seq], sentence)
    }

    fn named(&self) -> String {
        let operation = match self.operation {
            Operation::Acquire => "acquire",
            Operation::Extend => "extend",
            Operation::Release => "release",
        };
        format!(
            "{} of `{}` by {}, called at {},",
            operation, self.key, self.client, self.begun.at
        )
    }
}

fn bound(run: &Run<'_>) -> Duration {
    Duration::from_nanos(run.history.header.call_bound)
}
