//! The client, unmodified, on stock turmoil against the simulated Redis node.
#![expect(
    clippy::disallowed_methods,
    reason = "turmoil stands in for the clock and the scheduler of tokio's own timers and tasks"
)]

mod cluster;
mod faults;
mod pauses;
