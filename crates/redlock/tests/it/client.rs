//! Clients of the test world: its ports, an observer that writes down, and the settings of most tests.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use redlock::{
    AttemptBegun, AttemptEnded, AttemptOutcome, Builder, Clock, ExtendOutcome, ExtensionBegun,
    ExtensionEnded, Guard, LeaseLost, NodeError, Observer, Order, PortSet, Reading, Redlock,
    ReleaseBegun, ReleaseEnded, Retry, Tokens, Vote,
};

use crate::node::TestNode;
use crate::world::{TestClock, TestEntropy, TestSpawn, World, ms};

pub(crate) type TestPorts = PortSet<TestClock, TestEntropy, TestSpawn, TestNode, TestTokens, Diary>;
pub(crate) type TestBuilder = Builder<TestPorts>;
pub(crate) type TestGuard = Guard<TestPorts>;

/// The TTL of most tests. Its drift margin is 12 ms.
pub(crate) const TTL: Duration = Duration::from_secs(1);
pub(crate) const MARGIN: Duration = Duration::from_millis(12);
pub(crate) const NODE_TIMEOUT: Duration = Duration::from_millis(50);
pub(crate) const ORDERS: [Order; 2] = [Order::Sequential, Order::Parallel];

/// A sequence, as slow and as broken as a test wants it.
#[derive(Clone)]
pub(crate) struct TestTokens {
    world: World,
    last: Arc<Mutex<u64>>,
    takes: Duration,
    error: Option<NodeError>,
}

impl Tokens for TestTokens {
    async fn next(&self, _key: &[u8], _value: &[u8]) -> Result<Option<u64>, NodeError> {
        self.world.clock().sleep(self.takes).await;
        if let Some(error) = &self.error {
            return Err(error.clone());
        }
        let mut last = self.last.lock().unwrap();
        *last += 1;
        Ok(Some(*last))
    }
}

/// What an observer saw, a line for each event, and what laws are checked on.
#[derive(Clone, Default)]
pub(crate) struct Diary(Arc<Mutex<(Vec<String>, Vec<Seen>)>>);

/// An event of a lease, with the reading at which it was decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Seen {
    Asked,
    Extension {
        at: Reading,
        outcome: ExtendOutcome,
        deadline: Reading,
    },
    Lost {
        at: Reading,
    },
    Release,
}

impl Diary {
    pub(crate) fn lines(&self) -> Vec<String> {
        self.0.lock().unwrap().0.clone()
    }

    pub(crate) fn seen(&self) -> Vec<Seen> {
        self.0.lock().unwrap().1.clone()
    }

    /// How many extensions came out like this.
    pub(crate) fn extensions(&self, wanted: ExtendOutcome) -> usize {
        let came =
            |seen: &Seen| matches!(seen, Seen::Extension { outcome, .. } if *outcome == wanted);
        self.seen().into_iter().filter(came).count()
    }

    /// When the holder was told that the lease is lost.
    pub(crate) fn lost_at(&self) -> Option<Reading> {
        self.seen().into_iter().find_map(|seen| match seen {
            Seen::Lost { at } => Some(at),
            _ => None,
        })
    }

    fn write(&self, line: String) {
        self.0.lock().unwrap().0.push(line);
    }

    fn note(&self, seen: Seen) {
        self.0.lock().unwrap().1.push(seen);
    }
}

impl Observer for Diary {
    fn attempt_begun(&self, event: &AttemptBegun<'_>) {
        self.write(format!("attempt {} at {}", event.number, event.at));
    }

    fn attempt_ended(&self, event: &AttemptEnded<'_>) {
        let at = event
            .at
            .map_or("no second reading".to_owned(), |at| format!("at {at}"));
        self.write(match event.outcome {
            AttemptOutcome::Acquired { token, deadline } => {
                format!("acquired {at} until {deadline}, token {token:?}")
            }
            AttemptOutcome::Refused(reason) => format!("refused, {at}: {reason}"),
        });
    }

    fn extension_begun(&self, event: &ExtensionBegun<'_>) {
        self.note(Seen::Asked);
        self.write(format!(
            "extension at {} before {}",
            event.at, event.deadline
        ));
    }

    fn extension_ended(&self, event: &ExtensionEnded<'_>) {
        self.write(format!(
            "{:?} at {} until {}",
            event.outcome, event.at, event.deadline
        ));
        self.note(Seen::Extension {
            at: event.at,
            outcome: event.outcome,
            deadline: event.deadline,
        });
    }

    fn lease_lost(&self, event: &LeaseLost<'_>) {
        self.write(format!("told at {}: {}", event.at, event.loss));
        self.note(Seen::Lost { at: event.at });
    }

    fn release_begun(&self, event: &ReleaseBegun<'_>) {
        self.note(Seen::Release);
        self.write(format!("release, {:?}", event.cause));
    }

    fn release_ended(&self, event: &ReleaseEnded<'_>) {
        self.write(format!("released, {:?}: {:?}", event.cause, event.outcome));
    }
}

/// Settings that a test starts from: one try, a timeout of 50 ms for a node.
pub(crate) struct Client {
    pub(crate) world: World,
    pub(crate) diary: Diary,
    pub(crate) nodes: Vec<TestNode>,
    token_takes: Duration,
    token_error: Option<NodeError>,
}

impl Client {
    pub(crate) fn of(world: &World) -> Client {
        let (world, nodes) = (world.clone(), world.nodes());
        Client {
            world,
            diary: Diary::default(),
            nodes,
            token_takes: Duration::ZERO,
            token_error: None,
        }
    }

    /// Cut off from these nodes, counted from 1.
    pub(crate) fn cut_from(mut self, nodes: &[usize]) -> Client {
        for node in nodes {
            self.nodes[node - 1] = self.nodes[node - 1].clone().cut();
        }
        self
    }

    pub(crate) fn token_takes(mut self, span: Duration) -> Client {
        self.token_takes = span;
        self
    }

    pub(crate) fn token_fails(mut self, error: NodeError) -> Client {
        self.token_error = Some(error);
        self
    }

    pub(crate) fn builder(&self) -> TestBuilder {
        let tokens = TestTokens {
            world: self.world.clone(),
            last: Arc::default(),
            takes: self.token_takes,
            error: self.token_error.clone(),
        };
        let ports = PortSet::new(
            self.world.clock(),
            self.world.entropy(),
            self.world.spawner(),
        );
        Redlock::builder(ports.with_tokens(tokens).with_observer(self.diary.clone()))
            .nodes(self.nodes.clone())
            .ttl(TTL)
            .node_timeout(NODE_TIMEOUT)
            .retry(tries(1))
    }

    pub(crate) fn lock(&self) -> Redlock<TestPorts> {
        self.builder().build().unwrap()
    }
}

/// That many tries, 20 ms apart.
pub(crate) fn tries(tries: u32) -> Retry {
    Retry {
        tries,
        delay_least: ms(20),
        delay_most: ms(20),
    }
}

/// A lock that is held by a fresh client of the world.
pub(crate) fn held(world: &World, key: &str) -> TestGuard {
    world
        .run(Client::of(world).lock().acquire(key))
        .expect("the lock is free")
}

/// The votes as a word of letters: granted, held, failed, timed out, abandoned, not asked.
pub(crate) fn letters<'a>(votes: impl IntoIterator<Item = &'a redlock::NodeVote>) -> String {
    let letter = |vote: &Vote| match vote {
        Vote::Granted => 'g',
        Vote::Held => 'h',
        Vote::Failed(_) => 'f',
        Vote::TimedOut => 't',
        Vote::Abandoned => 'a',
        Vote::NotAsked => 'n',
        _ => '?',
    };
    votes.into_iter().map(|vote| letter(&vote.vote)).collect()
}
