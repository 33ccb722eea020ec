//! The wall clock of a node's host, as the node is told it.

use std::time::Duration;

/// Nanoseconds since the Unix epoch, by the wall clock of the node's host.
///
/// The node never reads a clock: each call brings the time, and a clock that was stepped is simply another
/// number. Redis keeps expiry in whole milliseconds, so the node looks at [`UnixTime::as_millis`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct UnixTime(pub u64);

impl UnixTime {
    /// The instant that many milliseconds after the epoch; the end of time where that does not fit.
    pub const fn from_millis(millis: u64) -> Self {
        UnixTime(millis.saturating_mul(1_000_000))
    }

    /// Whole milliseconds since the epoch, rounded down as Redis does.
    pub const fn as_millis(self) -> u64 {
        self.0 / 1_000_000
    }

    /// The instant that many seconds after the epoch; the end of time where that does not fit.
    pub(crate) const fn from_secs(secs: u64) -> Self {
        UnixTime(secs.saturating_mul(1_000_000_000))
    }

    /// Whole seconds since the epoch, rounded down: Redis's `unixtime`.
    pub(crate) const fn as_secs(self) -> u64 {
        self.0 / 1_000_000_000
    }

    /// So much later, or the end of time.
    pub(crate) fn after(self, duration: Duration) -> Self {
        UnixTime(
            self.0
                .saturating_add(u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)),
        )
    }

    /// Whole microseconds since the epoch, rounded down: what `TIME` reports.
    pub const fn as_micros(self) -> u64 {
        self.0 / 1_000
    }

    /// From Redis's own unit, milliseconds in a signed number; clamped to what can be written in nanoseconds.
    pub(crate) fn from_redis(millis: i64) -> Self {
        UnixTime::from_millis(u64::try_from(millis).unwrap_or(0))
    }
}
