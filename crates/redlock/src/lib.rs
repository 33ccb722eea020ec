//! The Redlock algorithm on ports: a lock with a lease, held on a majority of independent Redis nodes.
//!
//! The algorithm never reads a clock, a random number generator or a socket itself. What it needs of the
//! outside is a port ([`Clock`], [`Entropy`], [`Spawn`], [`Node`], and optionally [`Tokens`] and
//! [`Observer`]), so the very same code runs in production (feature `redis`) and in a deterministic
//! simulation.
//!
//! What holds and what does not: mutual exclusion holds from the moment of acquisition to
//! [`Guard::deadline`], *by the clock that was given*, as long as the nodes' clocks run within the drift
//! margin, no node forgets a key before its TTL, and nobody relies on the lock after the deadline. A holder
//! that stops for longer than its TTL and then writes is not stopped by any lock with a lease; that takes a
//! fencing token ([`Tokens`]) which the resource checks.
//!
//! # Where the rules come from
//!
//! Docs cite "document 000" (*Redlock 과 Fencing Token*) and "document 002" (the original article that
//! describes the algorithm, in Korean translation) by the name of their sections.
//!
//! # Map
//!
//! - [`ports`]: the traits. [`decision`]: everything that is decided, as pure functions.
//! - [`Builder`] → [`Redlock`] → [`Guard`]; refusals are [`Refused`], with each node's [`Vote`].
#![cfg_attr(
    feature = "redis",
    doc = "- [`redis`]: the ports on tokio and redis-rs."
)]

mod acquire;
mod config;
pub mod decision;
mod error;
mod extend;
mod guard;
mod holding;
mod observe;
pub mod ports;
mod release;
mod round;
mod value;
mod vote;
mod watchdog;

#[cfg(feature = "redis")]
pub mod redis;

pub use config::{BuildError, Builder, Order, Retry, Warning};
pub use decision::{Drift, ExtendOutcome, ReleaseOutcome};
pub use error::{Loss, Reason, Refused, StoppedBy};
pub use guard::{Guard, Redlock};
pub use observe::{
    AttemptBegun, AttemptEnded, AttemptOutcome, ExtensionBegun, ExtensionEnded, LeaseLost,
    Observer, ReleaseBegun, ReleaseCause, ReleaseEnded,
};
pub use ports::{
    Clock, Compared, Entropy, NoTokens, Node, NodeError, NodeId, PortSet, Ports, Reading, Spawn,
    Tokens,
};
pub use value::Value;
pub use vote::{Answer, NodeAnswer, NodeVote, Vote};
pub use watchdog::Watchdog;

/// The example of the README, compiled.
#[cfg(all(doctest, feature = "redis"))]
#[doc = include_str!("../README.md")]
pub struct Readme;
