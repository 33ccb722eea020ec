//! Deterministic simulation and fault injection for distributed locks.
//!
//! A [`Scenario`](scenario::Scenario) says what a claim about a lock needs, and with a seed becomes a
//! [`Plan`](plan::Plan) in which every value is drawn. A run of the plan leaves a history; the checker judges it, and
//! [`Judgement`](expect::Judgement) measures verdicts and [`fact`]s by what the scenario expects. A
//! [`Sweep`](sweep::Sweep) does so for thousands of seeds.

mod arguments;
pub mod bundle;
pub mod expect;
pub mod experiment;
pub mod fact;
pub mod floor;
pub mod plan;
mod redis_server;
mod remote;
pub mod resource;
pub mod runner;
pub mod scenario;
pub mod sentinel;
pub mod sequence;
pub mod shrink;
pub mod sweep;
pub mod system;
mod workload;

pub use experiment::{Experiment, Failure, Faults, scenario};
pub use fencepost_checker::{ClockKind, Property, history};
pub use fencepost_world::{EngineKind, Host};
/// The client that speaks to the simulated nodes, in the version that does.
pub use redis;
pub use scenario::{Expectation, Fencing};
