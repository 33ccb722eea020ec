//! What the algorithm needs of the outside world, as traits.
//!
//! Every future is bounded by `Send` *in the trait*, so that generic code can be spawned on a
//! multi-threaded runtime. Handles are cheap to clone; a simulator's handles are ids and find their world
//! through the thread.

use std::fmt;
use std::future::Future;
use std::marker::PhantomData;
use std::sync::Arc;
use std::time::Duration;

use crate::observe::Observer;

/// A clock's reading: the time since that clock's own origin. Readings of different clocks do not compare.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Reading(pub Duration);

impl Reading {
    /// This reading plus `span`; `None` where that cannot be represented.
    pub fn checked_add(self, span: Duration) -> Option<Reading> {
        self.0.checked_add(span).map(Reading)
    }

    /// The time from `earlier` to this reading; `None` if the clock stands *before* `earlier`.
    ///
    /// A clock can go back (a wall clock that was stepped). `None` is not zero: who takes it for zero
    /// believes in a validity that may not exist.
    pub fn checked_since(self, earlier: Reading) -> Option<Duration> {
        self.0.checked_sub(earlier.0)
    }
}

impl fmt::Display for Reading {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.0)
    }
}

/// A clock and its timers.
///
/// Whether elapsed time is measured by a monotonic or by a wall clock is the choice of the clock that is
/// given: a wall clock that steps back makes a lease look longer than it is, and a monotonic clock may stand
/// still while the machine sleeps.
pub trait Clock: Clone + Send + Sync + 'static {
    /// The clock's reading now.
    fn now(&self) -> Reading;

    /// Ends after `span`. The deadline is fixed at the call, not at the first poll.
    fn sleep(&self, span: Duration) -> impl Future<Output = ()> + Send + 'static;
}

/// Random bytes. Values of locks are made of them, so in production they come from the operating system
/// (document 002, "먼저 단일 인스턴스에서 올바르게 구현해 보자": 20 bytes from /dev/urandom).
pub trait Entropy: Clone + Send + Sync + 'static {
    /// Fills the whole of `bytes`.
    fn fill(&self, bytes: &mut [u8]);
}

/// Runs a task beside the caller. Called from `Drop`, so it never panics: where nothing can run any more
/// (a dying host, a runtime that has shut down), the task is dropped.
pub trait Spawn: Clone + Send + Sync + 'static {
    /// Starts `task` and forgets it.
    fn spawn(&self, task: impl Future<Output = ()> + Send + 'static);
}

/// The name of a node: what two entries of one list are compared by, and what errors print.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeId(Arc<str>);

impl NodeId {
    /// A node's name, such as `n1` or `10.0.0.7:6379`.
    pub fn new(name: impl Into<Arc<str>>) -> NodeId {
        NodeId(name.into())
    }

    /// The name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for NodeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Why a node's vote failed. For a lock each is a failed vote with its reason, never a success.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NodeError {
    /// No connection could be made. Nothing was sent.
    #[error("cannot connect: {0}")]
    Connect(String),
    /// The connection broke. The command may have been applied.
    #[error("connection lost: {0}")]
    Connection(String),
    /// The server answered with an error: `LOADING`, `MISCONF`, `OOM`, `READONLY`, ...
    #[error("{code} {message}")]
    Server {
        /// The first word of the error, such as `LOADING`.
        code: String,
        /// The rest of it.
        message: String,
    },
    /// The server answered something that this command never answers.
    #[error("unexpected answer: {0}")]
    UnexpectedAnswer(String),
    /// Anything else that a port of one's own has to say.
    #[error("{0}")]
    Other(String),
}

/// What a compare-and-act found under the key.
///
/// Three cases, not a truth value: "gone" and "another's" look the same to a script that returns 0, and a
/// caller needs the difference to tell an expired lock from a foreign one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Compared {
    /// The key held this value, and the action was done.
    Done,
    /// The key holds another value. Nothing was done.
    Foreign,
    /// There is no such key. Nothing was done.
    Missing,
}

/// One independent Redis server.
///
/// Calls are dropped when their time is over; a command that was sent may then still be applied.
pub trait Node: Clone + Send + Sync + 'static {
    /// The node's name. The same name twice in one list is an error when the lock is built.
    fn id(&self) -> NodeId;

    /// `SET key value NX PX ttl`: `true` if it was set, `false` if the key exists. Never sent twice.
    fn set_nx_px(
        &self,
        key: &[u8],
        value: &[u8],
        ttl: Duration,
    ) -> impl Future<Output = Result<bool, NodeError>> + Send;

    /// Deletes the key if it holds `value`, atomically (document 002, "먼저 단일 인스턴스에서 ...").
    fn compare_and_delete(
        &self,
        key: &[u8],
        value: &[u8],
    ) -> impl Future<Output = Result<Compared, NodeError>> + Send;

    /// Sets the key's time to live to `ttl` from now if it holds `value`, atomically. Never creates a key
    /// (document 002, edit 2).
    fn compare_and_pexpire(
        &self,
        key: &[u8],
        value: &[u8],
        ttl: Duration,
    ) -> impl Future<Output = Result<Compared, NodeError>> + Send;
}

/// Where fencing tokens come from (document 000, "Fencing Token").
///
/// A token is obtained after the majority and *before* the second clock reading, so that the decision comes
/// last: a token fetched after the decision lets a late holder get a newer one than its successor. Failing
/// to get one is a refused attempt.
pub trait Tokens: Clone + Send + Sync + 'static {
    /// Whether there are any tokens to ask for. `false` skips the request and its timer.
    const ISSUES: bool = true;

    /// The token of the acquisition of `key` by `value`, larger than that of every acquisition of `key`
    /// completed before. `None` where there are no tokens.
    fn next(
        &self,
        key: &[u8],
        value: &[u8],
    ) -> impl Future<Output = Result<Option<u64>, NodeError>> + Send;
}

/// No fencing tokens, at no cost. The default.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoTokens;

impl Tokens for NoTokens {
    const ISSUES: bool = false;

    async fn next(&self, _key: &[u8], _value: &[u8]) -> Result<Option<u64>, NodeError> {
        Ok(None)
    }
}

/// All ports in one type parameter.
pub trait Ports: Clone + Send + Sync + 'static {
    /// See [`Clock`].
    type Clock: Clock;
    /// See [`Entropy`].
    type Entropy: Entropy;
    /// See [`Spawn`].
    type Spawn: Spawn;
    /// See [`Node`]. The nodes themselves are given to the [`Builder`](crate::Builder).
    type Node: Node;
    /// See [`Tokens`].
    type Tokens: Tokens;
    /// See [`Observer`].
    type Observer: Observer;

    /// The clock that elapsed time, deadlines and timeouts are measured by.
    fn clock(&self) -> &Self::Clock;
    /// Random bytes for values and delays.
    fn entropy(&self) -> &Self::Entropy;
    /// Where releases run that nobody waits for.
    fn spawner(&self) -> &Self::Spawn;
    /// The source of fencing tokens.
    fn tokens(&self) -> &Self::Tokens;
    /// Who sees what the algorithm does.
    fn observer(&self) -> &Self::Observer;
}

/// [`Ports`] put together from its parts. `N` is the type of the nodes.
#[derive(Clone, Debug)]
pub struct PortSet<C, E, S, N, T = NoTokens, O = ()> {
    clock: C,
    entropy: E,
    spawn: S,
    tokens: T,
    observer: O,
    node: PhantomData<fn() -> N>,
}

impl<C, E, S, N> PortSet<C, E, S, N> {
    /// Ports without tokens and without an observer.
    pub fn new(clock: C, entropy: E, spawn: S) -> Self {
        PortSet {
            clock,
            entropy,
            spawn,
            tokens: NoTokens,
            observer: (),
            node: PhantomData,
        }
    }
}

impl<C, E, S, N, T, O> PortSet<C, E, S, N, T, O> {
    /// The same ports with these tokens.
    pub fn with_tokens<T2>(self, tokens: T2) -> PortSet<C, E, S, N, T2, O> {
        let PortSet {
            clock,
            entropy,
            spawn,
            observer,
            node,
            ..
        } = self;
        PortSet {
            clock,
            entropy,
            spawn,
            tokens,
            observer,
            node,
        }
    }

    /// The same ports with this observer.
    pub fn with_observer<O2>(self, observer: O2) -> PortSet<C, E, S, N, T, O2> {
        let PortSet {
            clock,
            entropy,
            spawn,
            tokens,
            node,
            ..
        } = self;
        PortSet {
            clock,
            entropy,
            spawn,
            tokens,
            observer,
            node,
        }
    }
}

impl<C, E, S, N, T, O> Ports for PortSet<C, E, S, N, T, O>
where
    C: Clock,
    E: Entropy,
    S: Spawn,
    N: Node,
    T: Tokens,
    O: Observer,
{
    type Clock = C;
    type Entropy = E;
    type Spawn = S;
    type Node = N;
    type Tokens = T;
    type Observer = O;

    fn clock(&self) -> &C {
        &self.clock
    }

    fn entropy(&self) -> &E {
        &self.entropy
    }

    fn spawner(&self) -> &S {
        &self.spawn
    }

    fn tokens(&self) -> &T {
        &self.tokens
    }

    fn observer(&self) -> &O {
        &self.observer
    }
}
