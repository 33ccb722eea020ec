//! The simulated world: hosts with their own clocks, a network, and faults, on either of two engines.
//!
//! A [`World`] is built from a [`plan`](WorldPlan) and from what its hosts run: servers are [`Service`]s, clients are
//! programs, futures on a [`Host`]. It runs in virtual time on the thread that calls [`World::run`], and what it
//! returns is a function of the plan, the engine and the code.

mod clocks;
mod connection;
mod core;
mod director;
mod engine;
mod faults;
mod host;
mod lifecycle;
mod link;
mod network;
pub mod plan;
mod queue;
mod random;
mod service;
mod serving;
mod task;
mod timers;
mod world;

pub use connection::Connection;
pub use core::WALL_START;
pub use engine::{EngineKind, UnknownEngine};
pub use host::{Host, Sleep, true_time};
pub use plan::WorldPlan;
pub use random::Stream;
pub use service::Service;
pub use world::{PlanError, World};
