//! True time and the clocks of hosts as integer piecewise-linear functions of it.

use std::fmt;

use serde::{Deserialize, Serialize};

/// True (virtual) time, in nanoseconds since the start of the run.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Time(pub u64);

impl Time {
    /// The start of the run.
    pub const ZERO: Self = Self(0);
    /// Later than everything.
    pub const MAX: Self = Self(u64::MAX);

    /// This instant, `duration` later; stays at [`Time::MAX`] instead of wrapping.
    #[must_use]
    pub fn after(self, duration: std::time::Duration) -> Self {
        let nanos = u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX);
        Self(self.0.saturating_add(nanos))
    }

    /// The time since `earlier`, zero if that is later.
    #[must_use]
    pub fn since(self, earlier: Self) -> std::time::Duration {
        std::time::Duration::from_nanos(self.0.saturating_sub(earlier.0))
    }
}

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (seconds, nanos) = (self.0 / 1_000_000_000, self.0 % 1_000_000_000);
        if nanos.is_multiple_of(1_000_000) {
            write!(f, "{seconds}.{:03} s", nanos / 1_000_000)
        } else {
            write!(f, "{seconds}.{nanos:09} s")
        }
    }
}

/// Which of a host's two clocks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ClockKind {
    /// Follows the rate only; stands still while the host is suspended.
    #[default]
    Monotonic,
    /// Follows rate and steps; nanoseconds since the Unix epoch.
    Wall,
}

/// A stretch of true time in which a host's clocks run at one rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Segment {
    /// The instant from which this segment holds.
    pub from: Time,
    /// The monotonic clock at `from`, in nanoseconds.
    pub monotonic: u64,
    /// The wall clock at `from`, in nanoseconds since the Unix epoch.
    pub wall: u64,
    /// How much faster than true time the monotonic clock runs, in parts per million. -1,000,000 stands still.
    pub monotonic_ppm: i64,
    /// The same for the wall clock.
    pub wall_ppm: i64,
}

const MILLION: i128 = 1_000_000;

impl Segment {
    /// The reading at `from`, and how many millionths of a nanosecond the clock advances in a nanosecond.
    /// A clock never runs backwards within a segment: what turns it back is a step, hence a new segment.
    fn start(&self, kind: ClockKind) -> (u64, i128) {
        let (base, ppm) = match kind {
            ClockKind::Monotonic => (self.monotonic, self.monotonic_ppm),
            ClockKind::Wall => (self.wall, self.wall_ppm),
        };
        (base, (MILLION + i128::from(ppm)).max(0))
    }

    /// What the clock shows at `at`, an instant of this segment. Rounds down.
    #[must_use]
    pub fn reading(&self, kind: ClockKind, at: Time) -> u64 {
        let (base, rate) = self.start(kind);
        let elapsed = i128::from(at.0.saturating_sub(self.from.0));
        let advance = elapsed.saturating_mul(rate) / MILLION;
        u64::try_from(advance.saturating_add(i128::from(base))).unwrap_or(u64::MAX)
    }

    /// The first instant from `from` on at which the clock shows `reading` or more, if this segment lasts.
    #[must_use]
    pub fn first_reach(&self, kind: ClockKind, reading: u64) -> Option<Time> {
        let (base, rate) = self.start(kind);
        let missing = i128::from(reading) - i128::from(base);
        if missing <= 0 {
            return Some(self.from);
        }
        if rate == 0 {
            return None;
        }
        // The smallest elapsed with floor(elapsed * rate / million) >= missing.
        let elapsed = (missing * MILLION + (rate - 1)) / rate;
        u64::try_from(i128::from(self.from.0) + elapsed)
            .ok()
            .map(Time)
    }
}

/// All segments of one host's clocks, in order of time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClockLine {
    segments: Vec<Segment>,
}

impl ClockLine {
    /// Appends a segment, which holds from its instant on: whatever was said of that instant or later is replaced.
    pub fn push(&mut self, segment: Segment) {
        while self
            .segments
            .last()
            .is_some_and(|last| last.from >= segment.from)
        {
            self.segments.pop();
        }
        self.segments.push(segment);
    }

    /// The segments in order.
    #[must_use]
    pub fn segments(&self) -> &[Segment] {
        &self.segments
    }

    /// The segment in force at `at`: the last one that does not begin later.
    #[must_use]
    pub fn segment_at(&self, at: Time) -> Option<&Segment> {
        let after = self.segments.partition_point(|segment| segment.from <= at);
        after.checked_sub(1).map(|last| &self.segments[last])
    }

    /// What the clock shows at `at`.
    #[must_use]
    pub fn reading(&self, kind: ClockKind, at: Time) -> Option<u64> {
        Some(self.segment_at(at)?.reading(kind, at))
    }

    /// The first instant, `after` or later, at which the clock shows `reading` or more.
    #[must_use]
    pub fn first_reach(&self, kind: ClockKind, reading: u64, after: Time) -> Option<Time> {
        let first = self
            .segments
            .partition_point(|segment| segment.from <= after)
            .saturating_sub(1);
        for (index, segment) in self.segments.iter().enumerate().skip(first) {
            let end = self
                .segments
                .get(index + 1)
                .map_or(Time::MAX, |next| next.from);
            if let Some(reached) = segment.first_reach(kind, reading) {
                let reached = reached.max(after);
                if reached < end {
                    return Some(reached);
                }
            }
        }
        None
    }
}
