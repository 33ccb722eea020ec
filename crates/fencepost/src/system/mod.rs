//! Lock systems under test: what a scenario's clients lock with.
//!
//! A system of one's own implements [`LockSystem`] and [`LockClient`] on a [`Host`], which gives clock, timers,
//! entropy, tasks and connections, whatever the engine.

mod attempt;
mod node;
mod ports;
mod redlock;
mod renewal;

use std::future::Future;

use fencepost_checker::ClockKind;
use fencepost_checker::history::{Attempt, ReleaseOutcome, Vote};
use fencepost_world::Host;

pub use attempt::LockAttempt;
pub use ports::{
    HostClock, HostConnect, HostEntropy, HostSpawn, LastPrimary, LockConnection, Target,
};
pub use redlock::RedlockSystem;

/// The hosts of the Redis nodes, in order: `n1`, `n2` and so on.
///
/// # Panics
/// Outside of a running world.
#[must_use]
pub fn nodes() -> Vec<Host> {
    let names = (1..).map(|number| format!("n{number}"));
    names.map_while(|name| Host::find(&name)).collect()
}

/// A distributed lock, as the harness sees it.
pub trait LockSystem: 'static {
    /// What one client locks with.
    type Client: LockClient;

    /// A client on that host.
    fn client(&self, host: Host) -> Self::Client;
}

/// One client of a lock. Its futures stay on the thread of the world.
pub trait LockClient: 'static {
    /// What a holder holds; it need not be `Send`.
    type Held: 'static;

    /// Tries once to acquire `key`. A [`LockAttempt`] says when it takes its first clock reading, and what comes of it;
    /// the harness records the acquisition in the poll in which this future is ready.
    ///
    /// # Errors
    /// Why not. What had been set at the nodes is being released.
    fn acquire(&self, key: &str) -> impl Future<Output = Result<Acquired<Self::Held>, Refused>>;

    /// Ends when the client is told that it does not hold the lock any more; never, for a lock that tells nobody.
    ///
    /// A lock that tells records the loss itself, as it records its extensions.
    fn lost(&self, held: &Self::Held) -> impl Future<Output = ()> {
        let _ = held;
        std::future::pending()
    }

    /// Gives the lock back, whatever the clock says.
    fn release(&self, held: &mut Self::Held) -> impl Future<Output = ReleaseOutcome>;
}

/// A lock that was acquired, with what the judge wants to know of it.
#[derive(Debug)]
pub struct Acquired<H> {
    /// What [`LockClient::release`] needs.
    pub held: H,
    /// The attempt that it began as; see [`LockAttempt`].
    pub attempt: Attempt,
    /// The value that stands at the nodes.
    pub value: Vec<u8>,
    /// The fencing token, if there is one.
    pub token: Option<u64>,
    /// The reading of `clock`, in nanoseconds, at which the lease ends; `None` for a lock that states none.
    pub deadline: Option<u64>,
    /// The clock that the client measures by.
    pub clock: ClockKind,
    /// What each node said.
    pub votes: Vec<Vote>,
}

/// A lock that was not acquired, in words.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Refused(pub String);
