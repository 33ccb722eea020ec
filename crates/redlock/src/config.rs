//! Building a lock: what can be set, what it is if it is not, and what is refused.

use std::sync::Arc;
use std::time::Duration;

use crate::decision::{Drift, quorum};
use crate::guard::Redlock;
use crate::ports::{Node, NodeId, Ports};
use crate::watchdog::Watchdog;

/// How the nodes are asked in an attempt.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Order {
    /// One after another, as documents 000 and 002 write the steps down.
    Sequential,
    /// All at once, which document 002 calls ideal ("재시도"). The default.
    #[default]
    Parallel,
}

/// How often and after which delay a refused attempt is repeated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Retry {
    /// Attempts in one call, the first one included. At least 1.
    pub tries: u32,
    /// The shortest delay between two attempts.
    pub delay_least: Duration,
    /// The longest delay between two attempts. The delay is random, so that rivals who split the vote do
    /// not split it again (document 002, "재시도").
    pub delay_most: Duration,
}

impl Default for Retry {
    /// 3 tries, 50 to 200 ms apart.
    fn default() -> Retry {
        Retry {
            tries: 3,
            delay_least: Duration::from_millis(50),
            delay_most: Duration::from_millis(200),
        }
    }
}

/// Why a lock cannot be built.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BuildError {
    /// The list of nodes is empty.
    #[error("no nodes: a lock needs at least one")]
    NoNodes,
    /// One node would vote twice.
    #[error("node {0} is in the list twice: it would vote twice")]
    SameNodeTwice(NodeId),
    /// A lease of this TTL would be over before it began.
    #[error(
        "a TTL of {ttl:?} does not exceed its drift margin of {margin:?}: no lease would ever be valid"
    )]
    TtlWithinDrift {
        /// The TTL that was asked for.
        ttl: Duration,
        /// Its drift margin.
        margin: Duration,
    },
    /// Redis expires by whole milliseconds; a fraction would be cut off and the key die before its lease.
    #[error("a TTL of {0:?} is not a whole number of milliseconds")]
    TtlNotWholeMilliseconds(Duration),
    /// No attempt would ever be made.
    #[error("0 tries: no attempt would ever be made")]
    NoTries,
    /// The shortest delay is longer than the longest.
    #[error("a retry delay of {least:?} to {most:?} is an empty range")]
    EmptyDelayRange {
        /// The shortest delay.
        least: Duration,
        /// The longest delay.
        most: Duration,
    },
    /// Every node would time out.
    #[error("a timeout of zero: every node would time out")]
    NoTimeout,
}

/// What works, but is hardly meant.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Warning {
    /// An even number of nodes: one node fewer survives as many failures.
    EvenNodes(usize),
    /// A node that does not answer eats the whole TTL. Document 002, step 2: the timeout is shorter.
    NodeTimeoutNotBelowTtl,
    /// With so many nodes that do not answer, one after another, nothing of the TTL is left, though a
    /// majority grants.
    SequentialTimeoutsEatTtl,
}

impl std::fmt::Display for Warning {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Warning::EvenNodes(nodes) => write!(
                f,
                "{nodes} nodes survive no more failures than {} and split votes more often",
                nodes - 1
            ),
            Warning::NodeTimeoutNotBelowTtl => {
                f.write_str("the timeout of a node is not below the TTL")
            }
            Warning::SequentialTimeoutsEatTtl => {
                f.write_str("a minority of silent nodes, asked one after another, uses up the TTL")
            }
        }
    }
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Config {
    pub(crate) ttl: Duration,
    pub(crate) order: Order,
    pub(crate) node_timeout: Duration,
    pub(crate) token_timeout: Duration,
    pub(crate) drift: Drift,
    pub(crate) retry: Retry,
    pub(crate) acquire_bound: Option<Duration>,
    pub(crate) watchdog: Option<Watchdog>,
    #[cfg(feature = "unsound")]
    pub(crate) skip_second_reading: bool,
    #[cfg(feature = "unsound")]
    pub(crate) keep_negative_elapsed: bool,
}

/// 5 % of the TTL, as the field's clients have it, within the 5 to 50 ms of documents 000 and 002.
fn default_node_timeout(ttl: Duration) -> Duration {
    (ttl / 20).clamp(Duration::from_millis(5), Duration::from_millis(50))
}

/// Settings of a lock. Made by [`Redlock::builder`].
#[derive(Clone)]
pub struct Builder<P: Ports> {
    ports: P,
    nodes: Vec<P::Node>,
    ttl: Duration,
    order: Order,
    node_timeout: Option<Duration>,
    token_timeout: Option<Duration>,
    drift: Drift,
    retry: Retry,
    acquire_bound: Option<Duration>,
    watchdog: Option<Watchdog>,
    #[cfg(feature = "unsound")]
    skip_second_reading: bool,
    #[cfg(feature = "unsound")]
    keep_negative_elapsed: bool,
}

impl<P: Ports> std::fmt::Debug for Builder<P> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let nodes: Vec<NodeId> = self.nodes.iter().map(Node::id).collect();
        let config = self.config();
        f.debug_struct("Builder")
            .field("nodes", &nodes)
            .field("config", &config)
            .finish_non_exhaustive()
    }
}

impl<P: Ports> Builder<P> {
    pub(crate) fn new(ports: P) -> Self {
        Builder {
            ports,
            nodes: Vec::new(),
            ttl: Duration::from_secs(10),
            order: Order::default(),
            node_timeout: None,
            token_timeout: None,
            drift: Drift::default(),
            retry: Retry::default(),
            acquire_bound: None,
            watchdog: None,
            #[cfg(feature = "unsound")]
            skip_second_reading: false,
            #[cfg(feature = "unsound")]
            keep_negative_elapsed: false,
        }
    }

    /// Adds one node. One node alone is the single-node lock.
    pub fn node(mut self, node: P::Node) -> Self {
        self.nodes.push(node);
        self
    }

    /// Adds nodes, in the order in which `Sequential` asks them.
    pub fn nodes(mut self, nodes: impl IntoIterator<Item = P::Node>) -> Self {
        self.nodes.extend(nodes);
        self
    }

    /// How long a lock lives that nobody releases; whole milliseconds. 10 s if not set.
    pub fn ttl(mut self, ttl: Duration) -> Self {
        self.ttl = ttl;
        self
    }

    /// Sequential or parallel. Parallel if not set.
    pub fn order(mut self, order: Order) -> Self {
        self.order = order;
        self
    }

    /// How long one node may take for one command. 5 % of the TTL, within 5 and 50 ms, if not set.
    ///
    /// Documents 000 and 002, step 2: shorter than the TTL, 5 to 50 ms for a TTL of 10 s. The first command
    /// to a node includes its connecting.
    pub fn node_timeout(mut self, timeout: Duration) -> Self {
        self.node_timeout = Some(timeout);
        self
    }

    /// How long a fencing token may take. Twice the timeout of a node if not set, since a token by ballot
    /// takes two rounds.
    pub fn token_timeout(mut self, timeout: Duration) -> Self {
        self.token_timeout = Some(timeout);
        self
    }

    /// The drift margin. 1 % of the TTL and 2 ms if not set.
    pub fn drift(mut self, drift: Drift) -> Self {
        self.drift = drift;
        self
    }

    /// Tries and delays. 3 tries, 50 to 200 ms apart, if not set.
    pub fn retry(mut self, retry: Retry) -> Self {
        self.retry = retry;
        self
    }

    /// No attempt begins later than this after the call. Without limit if not set.
    ///
    /// The call may take longer by the one attempt that had begun, which the timeouts bound.
    pub fn acquire_bound(mut self, bound: Duration) -> Self {
        self.acquire_bound = Some(bound);
        self
    }

    /// Every guard is watched from its acquisition on: see [`Guard::watch`](crate::Guard::watch). Not if not set.
    pub fn watchdog(mut self, watchdog: Watchdog) -> Self {
        self.watchdog = Some(watchdog);
        self
    }

    /// **Unsound, for demonstration only.** A majority is taken for a lock, *whatever time it took*.
    ///
    /// So do libraries of the field that have neither a drift margin nor a check of elapsed time. A lock
    /// can then be acquired that has long run out, while another client holds it too: replies that were
    /// under way while the client stood still are enough. The deadline is the same as otherwise, and can
    /// lie in the past.
    #[cfg(feature = "unsound")]
    pub fn skip_second_reading(mut self) -> Self {
        self.skip_second_reading = true;
        self
    }

    /// **Unsound, for demonstration only.** An attempt that ends before it began, by a clock that went back meanwhile,
    /// has *gained* that time.
    ///
    /// So do clients that subtract two wall clock readings, as signed numbers, and look no further. The deadline is
    /// the same as otherwise, but by a clock that has to come there once more: the lock is held for longer than its
    /// keys live.
    #[cfg(feature = "unsound")]
    pub fn keep_negative_elapsed(mut self) -> Self {
        self.keep_negative_elapsed = true;
        self
    }

    /// The lock.
    ///
    /// # Errors
    ///
    /// [`BuildError`] for settings under which no lock could be sound or no attempt could succeed.
    pub fn build(self) -> Result<Redlock<P>, BuildError> {
        let ids = distinct_ids(&self.nodes)?;
        let config = self.config();
        validate(&config)?;
        Ok(Redlock::assemble(
            self.ports,
            Arc::from(self.nodes),
            ids,
            config,
        ))
    }

    fn config(&self) -> Config {
        let node_timeout = self
            .node_timeout
            .unwrap_or_else(|| default_node_timeout(self.ttl));
        Config {
            ttl: self.ttl,
            order: self.order,
            node_timeout,
            token_timeout: self
                .token_timeout
                .unwrap_or_else(|| node_timeout.saturating_mul(2)),
            drift: self.drift,
            retry: self.retry,
            acquire_bound: self.acquire_bound,
            watchdog: self.watchdog,
            #[cfg(feature = "unsound")]
            skip_second_reading: self.skip_second_reading,
            #[cfg(feature = "unsound")]
            keep_negative_elapsed: self.keep_negative_elapsed,
        }
    }
}

fn distinct_ids<N: Node>(nodes: &[N]) -> Result<Arc<[NodeId]>, BuildError> {
    let ids: Vec<NodeId> = nodes.iter().map(Node::id).collect();
    let mut sorted: Vec<&NodeId> = ids.iter().collect();
    sorted.sort();
    if let Some(pair) = sorted.windows(2).find(|pair| pair[0] == pair[1]) {
        return Err(BuildError::SameNodeTwice(pair[0].clone()));
    }
    if ids.is_empty() {
        Err(BuildError::NoNodes)
    } else {
        Ok(ids.into())
    }
}

pub(crate) fn validate(config: &Config) -> Result<(), BuildError> {
    let Config {
        ttl, drift, retry, ..
    } = *config;
    let margin = drift.margin(ttl);
    if !ttl.subsec_nanos().is_multiple_of(1_000_000) {
        Err(BuildError::TtlNotWholeMilliseconds(ttl))
    } else if ttl <= margin {
        Err(BuildError::TtlWithinDrift { ttl, margin })
    } else if retry.tries == 0 {
        Err(BuildError::NoTries)
    } else if retry.delay_least > retry.delay_most {
        Err(BuildError::EmptyDelayRange {
            least: retry.delay_least,
            most: retry.delay_most,
        })
    } else if config.node_timeout.is_zero() || config.token_timeout.is_zero() {
        Err(BuildError::NoTimeout)
    } else {
        Ok(())
    }
}

pub(crate) fn warnings(nodes: usize, config: &Config) -> Vec<Warning> {
    let silent = u32::try_from(nodes - quorum(nodes)).unwrap_or(u32::MAX);
    let lost = config.node_timeout.saturating_mul(silent);
    let usable = config.ttl.saturating_sub(config.drift.margin(config.ttl));
    let below = config.node_timeout < config.ttl;
    [
        nodes.is_multiple_of(2).then_some(Warning::EvenNodes(nodes)),
        (!below).then_some(Warning::NodeTimeoutNotBelowTtl),
        (below && config.order == Order::Sequential && lost >= usable)
            .then_some(Warning::SequentialTimeoutsEatTtl),
    ]
    .into_iter()
    .flatten()
    .collect()
}
