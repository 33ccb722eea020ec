//! The lock as its user sees it: [`Redlock`] to acquire, [`Guard`] while it is held.

use std::fmt;
use std::future::Future;
use std::ops::Deref;
use std::sync::Arc;
use std::time::Duration;

use crate::acquire;
use crate::config::{self, BuildError, Builder, Config, Warning};
use crate::decision::{self, Lease, ReleaseOutcome};
use crate::error::Refused;
use crate::holding::Holding;
use crate::observe::ReleaseCause;
use crate::ports::{NodeId, Ports, Reading};
use crate::release::{self, Armed, release_round};
use crate::round::{Shared, plain};
use crate::value::Value;
use crate::vote::{Answer, NodeAnswer, NodeVote};

/// A lock on a list of independent nodes. Cheap to clone; clones share the nodes' connections.
#[derive(Clone)]
pub struct Redlock<P: Ports> {
    shared: Arc<Shared<P>>,
}

impl<P: Ports> fmt::Debug for Redlock<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Shared { ids, config, .. } = &*self.shared;
        f.debug_struct("Redlock")
            .field("nodes", ids)
            .field("config", config)
            .finish_non_exhaustive()
    }
}

impl<P: Ports> Redlock<P> {
    /// Settings for a lock on these ports.
    pub fn builder(ports: P) -> Builder<P> {
        Builder::new(ports)
    }

    pub(crate) fn assemble(
        ports: P,
        nodes: Arc<[P::Node]>,
        ids: Arc<[NodeId]>,
        config: Config,
    ) -> Self {
        Redlock {
            shared: Arc::new(Shared {
                ports,
                nodes,
                ids,
                config,
            }),
        }
    }

    /// The same lock with another TTL. All other settings stay, the timeout of a node included.
    ///
    /// # Errors
    ///
    /// [`BuildError`] if the TTL does not exceed its drift margin or is not whole milliseconds.
    pub fn with_ttl(&self, ttl: Duration) -> Result<Self, BuildError> {
        let Shared {
            ports,
            nodes,
            ids,
            config,
        } = &*self.shared;
        let config = Config { ttl, ..*config };
        config::validate(&config)?;
        Ok(Redlock::assemble(
            ports.clone(),
            nodes.clone(),
            ids.clone(),
            config,
        ))
    }

    /// What of the settings works but is hardly meant.
    pub fn warnings(&self) -> Vec<Warning> {
        config::warnings(self.shared.nodes.len(), &self.shared.config)
    }

    /// How many nodes make a majority.
    pub fn quorum(&self) -> usize {
        decision::quorum(self.shared.nodes.len())
    }

    /// Acquires the lock named `key`.
    ///
    /// The future owns what it needs and is `Send`. Dropped before its end, it releases in the background
    /// whatever it had set.
    ///
    /// # Errors
    ///
    /// [`Refused`], with what each node said to the last attempt.
    pub fn acquire(
        &self,
        key: impl AsRef<[u8]>,
    ) -> impl Future<Output = Result<Guard<P>, Refused>> + Send + 'static {
        acquire::acquire(self.shared.clone(), Arc::from(key.as_ref()))
    }
}

/// A lock that is held until its [`deadline`](Guard::deadline), and no longer.
///
/// Dropped without a release, it is released in the background.
#[must_use = "a guard that is dropped releases its lock"]
pub struct Guard<P: Ports> {
    /// Before `armed`: nothing is renewed any more when the release of a dropped guard begins.
    pub(crate) holding: Own<P>,
    pub(crate) armed: Armed<P>,
    pub(crate) watched: bool,
    votes: Vec<NodeVote>,
    given_back: Option<GivenBack>,
}

/// The guard's own share of its holding, which ends with the guard.
pub(crate) struct Own<P: Ports>(Arc<Holding<P>>);

impl<P: Ports> Deref for Own<P> {
    type Target = Arc<Holding<P>>;

    fn deref(&self) -> &Arc<Holding<P>> {
        &self.0
    }
}

impl<P: Ports> Drop for Own<P> {
    fn drop(&mut self) {
        self.0.give_back();
    }
}

impl<P: Ports> fmt::Debug for Guard<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Guard")
            .field("key", &self.key().escape_ascii().to_string())
            .field("value", &self.value())
            .field("token", &self.token())
            .field("deadline", &self.deadline())
            .finish_non_exhaustive()
    }
}

/// What is known since the first call of release.
#[derive(Clone, Debug)]
struct GivenBack {
    /// Of each node, merged over the rounds.
    answers: Vec<Answer>,
    /// Whether the first round was sent while the lease lasted.
    in_time: bool,
}

impl<P: Ports> Guard<P> {
    pub(crate) fn new(
        armed: Armed<P>,
        token: Option<u64>,
        lease: Lease,
        votes: Vec<NodeVote>,
    ) -> Self {
        let holding = Holding::new(armed.shared.clone(), armed.claim.clone(), token, lease);
        Guard {
            holding: Own(Arc::new(holding)),
            armed,
            watched: false,
            votes,
            given_back: None,
        }
    }

    /// The lock's key.
    pub fn key(&self) -> &[u8] {
        &self.armed.claim.key
    }

    /// The random value that the nodes hold for this lock.
    pub fn value(&self) -> Value {
        self.armed.claim.value
    }

    /// The fencing token, for the resource to check. `None` without [`Tokens`](crate::Tokens).
    pub fn token(&self) -> Option<u64> {
        self.holding.token()
    }

    /// The reading of the lock's clock at which the lease ends: the first reading of the attempt that won,
    /// or of the last extension, plus the TTL, less the drift margin.
    pub fn deadline(&self) -> Reading {
        self.holding.deadline()
    }

    /// What was left of the lease when it was granted or last extended.
    pub fn granted_validity(&self) -> Duration {
        self.holding.granted()
    }

    /// What each node said, in the order of the list. A node's error does not spoil a majority, but here it
    /// is to be seen.
    pub fn votes(&self) -> &[NodeVote] {
        &self.votes
    }

    /// What is left of the lease by the clock now; zero if it is over, lost or given back. Zero is final: a
    /// clock that goes back does not revive a lease whose end was told.
    pub fn validity(&self) -> Duration {
        self.holding.look().unwrap_or_default()
    }

    /// Whether the lease is over, lost or given back. A `false` is true only at the moment of asking.
    pub fn is_expired(&self) -> bool {
        self.validity().is_zero()
    }

    /// Releases the lock: one round of compare-and-delete on all nodes, each within its timeout.
    ///
    /// After [`ReleaseOutcome::Unknown`] it can be called again, and is tried once more when the guard is
    /// dropped. After any other outcome there is nothing left to do. From the first call on the lock counts
    /// as given back, whatever comes of it.
    pub async fn release(&mut self) -> ReleaseOutcome {
        let earlier = self.give_back();
        let (shared, claim) = (self.armed.shared.clone(), self.armed.claim.clone());
        let answers = release_round(shared.clone(), claim.clone(), ReleaseCause::Called).await;
        let outcome = self.learn(earlier, &answers);
        if outcome != ReleaseOutcome::Unknown {
            self.armed.disarm();
        }
        release::report(
            &shared,
            &claim,
            ReleaseCause::Called,
            &answers,
            Some(outcome),
        );
        outcome
    }

    /// Marks the lock as given back before anything is sent, for a call that is dropped half-way, and says
    /// what was known before.
    fn give_back(&mut self) -> Option<GivenBack> {
        let earlier = self.given_back.clone();
        if earlier.is_none() {
            let answers = vec![Answer::TimedOut; self.votes.len()];
            self.given_back = Some(GivenBack {
                answers,
                in_time: !self.holding.is_past(),
            });
            self.holding.give_back();
        }
        earlier
    }

    fn learn(&mut self, earlier: Option<GivenBack>, now: &[NodeAnswer]) -> ReleaseOutcome {
        let answers = match earlier {
            None => plain(now),
            Some(earlier) => merge(&earlier, now),
        };
        let outcome = decision::judge_release(&answers, self.holding.is_past());
        if let Some(known) = &mut self.given_back {
            known.answers = answers;
        }
        outcome
    }

    /// Lets go of the lock without releasing it: the keys stay at the nodes until their TTL.
    pub fn forget(mut self) {
        self.armed.disarm();
    }
}

fn merge(earlier: &GivenBack, now: &[NodeAnswer]) -> Vec<Answer> {
    let pairs = earlier.answers.iter().zip(now);
    pairs
        .map(|(before, now)| decision::merge_release(before, now.answer.clone(), earlier.in_time))
        .collect()
}
