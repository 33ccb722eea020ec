//! How long the work took, for the summary alone: no history ever sees this clock.
#![expect(
    clippy::disallowed_types,
    clippy::disallowed_methods,
    reason = "speed is measured in real time"
)]

use std::time::{Duration, Instant};

/// Runs since it was made.
#[derive(Debug)]
pub(crate) struct Stopwatch(Instant);

impl Stopwatch {
    pub(crate) fn start() -> Self {
        Self(Instant::now())
    }

    pub(crate) fn elapsed(&self) -> Duration {
        self.0.elapsed()
    }
}
