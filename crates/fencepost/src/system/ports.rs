//! The ports of `redlock` on a host of the simulated world.

use std::future::Future;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use fencepost_checker::ClockKind;
use fencepost_checker::history::{Answer, Name, Operation, Vote, What};
use fencepost_world::{Connection, Host};
use redis::aio::ConnectionLike;
use redis::{Cmd, Pipeline, RedisError, RedisFuture, RedisResult, Value};
use redlock::{
    AttemptBegun, AttemptEnded, AttemptOutcome, Clock, Entropy, ExtendOutcome, ExtensionBegun,
    ExtensionEnded, LeaseLost, NodeError, Observer, Reading, Spawn, Tokens,
};
use sha2::{Digest, Sha256};

use super::node::{LockNode, Refusals};
use crate::remote::SequenceClient;
use crate::scenario::LockValue;

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

/// What lock values are made of: a host's random stream, its wall clock and its name, or its name alone.
#[derive(Clone, Copy, Debug)]
pub(super) struct LockEntropy {
    pub(super) host: Host,
    pub(super) value: LockValue,
}

impl Entropy for LockEntropy {
    fn fill(&self, bytes: &mut [u8]) {
        self.host.fill(bytes);
        if self.value == LockValue::Random || bytes.len() != redlock::Value::LENGTH {
            return;
        }
        let (time, client) = bytes.split_at_mut(size_of::<u64>());
        let micros = match self.value {
            LockValue::TimeAndId => self.host.reading(ClockKind::Wall) / 1_000,
            _ => 0,
        };
        time.copy_from_slice(&micros.to_be_bytes());
        let id = Sha256::digest(self.host.name().as_bytes());
        client.copy_from_slice(&id[..client.len()]);
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

/// The way from a client's host to a server, or to whichever server the sentinels call the primary.
#[derive(Clone, Debug)]
pub struct HostConnect {
    /// The client.
    pub from: Host,
    /// Where to.
    pub to: Target,
}

/// Whom a client locks at.
#[derive(Clone, Debug)]
pub enum Target {
    /// That server.
    Server(Host),
    /// The primary of the moment.
    Primary {
        /// Whom to ask for it, one after another.
        sentinels: Vec<String>,
        /// How long to wait for each of them.
        patience: Duration,
        /// Which server that was last.
        last: LastPrimary,
    },
}

/// The server that was last called the primary: votes are to name it.
#[derive(Clone, Debug, Default)]
pub struct LastPrimary(Arc<Mutex<Option<Host>>>);

impl LastPrimary {
    fn set(&self, host: Host) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(host);
    }

    /// The name for a node that a vote is of.
    fn name_of(&self, node: &redlock::NodeId) -> Name {
        let last = *self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match last.filter(|_| node.as_str() == PRIMARY) {
            Some(host) => host.name(),
            None => Name::from(node.as_str()),
        }
    }
}

/// What a lock calls the one node that it sees of a failover pair.
const PRIMARY: &str = "primary";

impl redlock::redis::Connect for HostConnect {
    type Connection = LockConnection;

    async fn connect(&self) -> RedisResult<LockConnection> {
        match &self.to {
            Target::Server(to) => Ok(LockConnection {
                connection: self.from.connect(*to).await?,
                follows: false,
            }),
            Target::Primary {
                sentinels,
                patience,
                last,
            } => {
                let primary = crate::sentinel::primary(self.from, sentinels, *patience).await;
                let to = primary
                    .ok_or_else(|| error(io::ErrorKind::NotFound, "no sentinel names a primary"))?;
                last.set(to);
                Ok(LockConnection {
                    connection: self.from.connect(to).await?,
                    follows: true,
                })
            }
        }
    }

    fn name(&self) -> String {
        match &self.to {
            Target::Server(to) => to.name().to_string(),
            Target::Primary { .. } => PRIMARY.to_owned(),
        }
    }
}

fn error(kind: io::ErrorKind, text: &'static str) -> RedisError {
    io::Error::new(kind, text).into()
}

/// A connection that counts as broken once its server says that it is no primary any more: the next command asks the
/// sentinels again, as clients of Sentinel do.
#[derive(Clone, Debug)]
pub struct LockConnection {
    connection: Connection,
    follows: bool,
}

impl LockConnection {
    fn followed<T>(&self, answer: RedisResult<T>) -> RedisResult<T> {
        match answer {
            Err(refusal) if self.follows && refusal.code() == Some("READONLY") => Err(error(
                io::ErrorKind::ConnectionReset,
                "READONLY: the server is a replica now",
            )),
            answer => answer,
        }
    }
}

impl ConnectionLike for LockConnection {
    fn req_packed_command<'a>(&'a mut self, cmd: &'a Cmd) -> RedisFuture<'a, Value> {
        Box::pin(async move {
            let answer = self.connection.req_packed_command(cmd).await;
            self.followed(answer.and_then(Value::extract_error))
        })
    }

    fn req_packed_commands<'a>(
        &'a mut self,
        pipeline: &'a Pipeline,
        offset: usize,
        count: usize,
    ) -> RedisFuture<'a, Vec<Value>> {
        Box::pin(async move {
            let answers = self
                .connection
                .req_packed_commands(pipeline, offset, count)
                .await;
            self.followed(answers)
        })
    }

    fn get_db(&self) -> i64 {
        self.connection.get_db()
    }
}

/// Where a client fetches its fencing tokens before it decides, if it does.
#[derive(Clone, Debug)]
pub(super) enum HostTokens {
    /// Nowhere.
    None,
    /// From the durable sequence.
    Sequence(SequenceClient),
    /// From a counter at the server that has the lock, over the connection that the lock uses.
    Incr(LockNode),
}

impl Tokens for HostTokens {
    fn next(
        &self,
        key: &[u8],
        _value: &[u8],
    ) -> impl Future<Output = Result<Option<u64>, NodeError>> + Send {
        let (tokens, key) = (self.clone(), key.to_vec());
        async move {
            match tokens {
                Self::None => Ok(None),
                Self::Sequence(sequence) => sequence
                    .next(&key)
                    .await
                    .map(Some)
                    .map_err(|error| NodeError::Other(error.to_string())),
                Self::Incr(node) => node.count(&key).await.map(Some),
            }
        }
    }
}

/// Writes what the algorithm does into the history.
#[derive(Clone, Debug)]
pub(super) struct HostObserver {
    pub(super) host: Host,
    pub(super) clock: ClockKind,
    pub(super) refusals: Refusals,
    pub(super) primary: LastPrimary,
    pub(super) calls: ExtendCalls,
}

/// Renewals as calls of a client into its lock, which the judges know by their calls. Numbered apart from the calls of
/// the client's program.
#[derive(Clone, Debug)]
pub(super) struct ExtendCalls {
    host: Host,
    last: Arc<AtomicU64>,
}

impl ExtendCalls {
    pub(super) fn of(host: Host) -> Self {
        let last = Arc::new(AtomicU64::new(1_000_000));
        Self { host, last }
    }

    /// A renewal of `key` is about to ask the nodes. One runs at a time.
    pub(super) fn begun(&self, key: &[u8]) {
        self.host.record(What::CallBegun {
            client: self.host.name(),
            call: self.last.fetch_add(1, Ordering::Relaxed) + 1,
            operation: Operation::Extend,
            key: text(key),
            probe: false,
        });
    }

    /// It has heard from them, or waited long enough.
    pub(super) fn ended(&self) {
        self.host.record(What::CallEnded {
            client: self.host.name(),
            call: self.last.load(Ordering::Relaxed),
        });
    }
}

impl HostObserver {
    /// Makes a mark out of a report, which cannot wait: what of the host is ready in this instant may still run.
    fn mark(&self, verb: &'static str) {
        let host = self.host;
        host.spawn(async move { host.mark(verb).await });
    }
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
        self.refusals.add(event.value.as_bytes());
        let Some(attempt) = self.host.attempt_with(event.value.as_bytes()) else {
            return;
        };
        self.host.record(What::Refused {
            client: self.host.name(),
            attempt,
            key: text(event.key),
            reason: reason.to_string(),
            votes: votes(event.votes, &self.primary),
        });
    }

    fn extension_begun(&self, event: &ExtensionBegun<'_>) {
        self.calls.begun(event.key);
    }

    fn extension_ended(&self, event: &ExtensionEnded<'_>) {
        if !event.answers.is_empty() {
            self.calls.ended();
        }
        if event.outcome != ExtendOutcome::Extended {
            return;
        }
        let Some(attempt) = self.host.attempt_with(event.value.as_bytes()) else {
            return;
        };
        self.host.record(What::Extended {
            client: self.host.name(),
            attempt,
            key: text(event.key),
            deadline: Some(nanos(event.deadline)),
            clock: self.clock,
            votes: event
                .answers
                .iter()
                .map(|answer| extension_vote(answer, &self.primary))
                .collect(),
        });
        self.mark("extended");
    }

    fn lease_lost(&self, event: &LeaseLost<'_>) {
        let Some(attempt) = self.host.attempt_with(event.value.as_bytes()) else {
            return;
        };
        self.host.record(What::Lost {
            client: self.host.name(),
            attempt,
            key: text(event.key),
        });
        self.mark("lost");
    }
}

pub(super) fn nanos(reading: Reading) -> u64 {
    u64::try_from(reading.0.as_nanos()).unwrap_or(u64::MAX)
}

pub(super) fn text(bytes: &[u8]) -> Name {
    Name::from(String::from_utf8_lossy(bytes))
}

pub(super) fn votes(votes: &[redlock::NodeVote], primary: &LastPrimary) -> Vec<Vote> {
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
            node: primary.name_of(&vote.node),
            answer: answer(&vote.vote),
        })
        .collect()
}

pub(super) fn extension_vote(answer: &redlock::NodeAnswer, primary: &LastPrimary) -> Vote {
    let vote = match &answer.answer {
        redlock::Answer::Done => Answer::Granted,
        redlock::Answer::Foreign => Answer::Taken,
        redlock::Answer::TimedOut => Answer::TimedOut,
        other => Answer::Error(other.to_string()),
    };
    Vote {
        node: primary.name_of(&answer.node),
        answer: vote,
    }
}
