//! Deterministic simulation and fault injection for distributed locks.
//!
//! A [`Scenario`](scenario::Scenario) says what a claim about a lock needs, and with a seed becomes a
//! [`Plan`](plan::Plan) in which every value is drawn. A run of the plan leaves a history; the checker judges it, and
//! [`Judgement`](expect::Judgement) measures verdicts and [`fact`]s by what the scenario expects.

pub mod expect;
pub mod fact;
pub mod plan;
pub mod scenario;
