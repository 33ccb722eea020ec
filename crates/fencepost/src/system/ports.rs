//! The ports of `redlock` on a host of the simulated world.

use std::future::Future;
use std::time::Duration;

use fencepost_checker::ClockKind;
use fencepost_checker::history::{Answer, Name, Vote, What};
use fencepost_world::{Connection, Host};
use redis::RedisResult;
use redlock::{
    AttemptBegun, AttemptEnded, AttemptOutcome, Clock, Entropy, ExtendOutcome, ExtensionEnded,
    NodeError, Observer, Reading, Spawn, Tokens,
};

use crate::remote::SequenceClient;

/// One of a host's clocks, as a lock measures by it. Timers run on the monotonic one in either case.
#[derive(Clone, Copy, Debug)]
pub struct HostClock {
    /// Whose.
    pub host: Host,
    /// Which.
    pub kind: ClockKind,
}

impl Clock for HostClock {
    fn now(&self) -> Reading {
        Reading(Duration::from_nanos(self.host.reading(self.kind)))
    }

    fn sleep(&self, span: Duration) -> impl Future<Output = ()> + Send + 'static {
        self.host.sleep(span)
    }
}

/// A host's random stream.
#[derive(Clone, Copy, Debug)]
pub struct HostEntropy(pub Host);

impl Entropy for HostEntropy {
    fn fill(&self, bytes: &mut [u8]) {
        self.0.fill(bytes);
    }
}

/// A host's tasks.
#[derive(Clone, Copy, Debug)]
pub struct HostSpawn(pub Host);

impl Spawn for HostSpawn {
    fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        self.0.spawn(task);
    }
}

/// The way from a client's host to a server's.
#[derive(Clone, Debug)]
pub struct HostConnect {
    /// The client.
    pub from: Host,
    /// The server.
    pub to: Host,
}

impl redlock::redis::Connect for HostConnect {
    type Connection = Connection;

    fn connect(&self) -> impl Future<Output = RedisResult<Connection>> + Send {
        self.from.connect(self.to)
    }

    fn name(&self) -> String {
        self.to.name().to_string()
    }
}

/// Fencing tokens from the durable sequence, or none.
#[derive(Clone, Debug)]
pub(super) struct HostTokens(pub(super) Option<SequenceClient>);

impl Tokens for HostTokens {
    fn next(
        &self,
        key: &[u8],
        _value: &[u8],
    ) -> impl Future<Output = Result<Option<u64>, NodeError>> + Send {
        let (sequence, key) = (self.0.clone(), key.to_vec());
        async move {
            match sequence {
                None => Ok(None),
                Some(sequence) => sequence
                    .next(&key)
                    .await
                    .map(Some)
                    .map_err(|error| NodeError::Other(error.to_string())),
            }
        }
    }
}

/// Writes what the algorithm does into the history.
#[derive(Clone, Copy, Debug)]
pub(super) struct HostObserver {
    pub(super) host: Host,
    pub(super) clock: ClockKind,
}

impl Observer for HostObserver {
    fn attempt_begun(&self, event: &AttemptBegun<'_>) {
        self.host.attempt_begun(
            event.key,
            event.value.as_bytes(),
            self.clock,
            nanos(event.at),
        );
    }

    fn attempt_ended(&self, event: &AttemptEnded<'_>) {
        let AttemptOutcome::Refused(reason) = event.outcome else {
            return;
        };
        let Some(attempt) = self.host.attempt_with(event.value.as_bytes()) else {
            return;
        };
        self.host.record(What::Refused {
            client: self.host.name(),
            attempt,
            key: text(event.key),
            reason: reason.to_string(),
            votes: votes(event.votes),
        });
    }

    fn extension_ended(&self, event: &ExtensionEnded<'_>) {
        let Some(attempt) = self.host.attempt_with(event.value.as_bytes()) else {
            return;
        };
        let (client, key) = (self.host.name(), text(event.key));
        match event.outcome {
            ExtendOutcome::Extended => self.host.record(What::Extended {
                client,
                attempt,
                key,
                deadline: Some(nanos(event.deadline)),
                clock: self.clock,
                votes: event.answers.iter().map(extension_vote).collect(),
            }),
            ExtendOutcome::Lost => self.host.record(What::Lost {
                client,
                attempt,
                key,
            }),
            _ => {}
        }
    }
}

pub(super) fn nanos(reading: Reading) -> u64 {
    u64::try_from(reading.0.as_nanos()).unwrap_or(u64::MAX)
}

fn text(bytes: &[u8]) -> Name {
    Name::from(String::from_utf8_lossy(bytes))
}

pub(super) fn votes(votes: &[redlock::NodeVote]) -> Vec<Vote> {
    let answer = |vote: &redlock::Vote| match vote {
        redlock::Vote::Granted => Answer::Granted,
        redlock::Vote::Held => Answer::Taken,
        redlock::Vote::TimedOut | redlock::Vote::Abandoned => Answer::TimedOut,
        redlock::Vote::NotAsked => Answer::NotAsked,
        other => Answer::Error(other.to_string()),
    };
    votes
        .iter()
        .map(|vote| Vote {
            node: Name::from(vote.node.as_str()),
            answer: answer(&vote.vote),
        })
        .collect()
}

fn extension_vote(answer: &redlock::NodeAnswer) -> Vote {
    let vote = match &answer.answer {
        redlock::Answer::Done => Answer::Granted,
        redlock::Answer::Foreign => Answer::Taken,
        redlock::Answer::TimedOut => Answer::TimedOut,
        other => Answer::Error(other.to_string()),
    };
    Vote {
        node: Name::from(answer.node.as_str()),
        answer: vote,
    }
}
