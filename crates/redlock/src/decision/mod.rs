//! Everything that is decided, as pure functions: no clock, no node, no future.

mod outcome;

use std::time::Duration;

use crate::error::Reason;
use crate::ports::Reading;

pub use outcome::{ExtendOutcome, ReleaseOutcome, judge_extension, judge_release, merge_release};

/// How many of the *configured* nodes make a majority: N/2 + 1 (document 002, "분산 버전", step 3).
///
/// Of the configured ones, not of those that are reachable: two clients cut off from each other would both
/// have a majority of what they see.
pub const fn quorum(nodes: usize) -> usize {
    nodes / 2 + 1
}

/// Where a vote stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// A majority granted.
    Won,
    /// A majority is possible and not there yet.
    Open,
    /// A majority is impossible, whatever the remaining nodes say.
    Impossible,
}

/// The count of a vote.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tally {
    nodes: usize,
    granted: usize,
    refused: usize,
}

impl Tally {
    /// No votes yet, of `nodes` configured nodes.
    pub const fn of(nodes: usize) -> Tally {
        Tally {
            nodes,
            granted: 0,
            refused: 0,
        }
    }

    /// Counts one node's vote. An error and a timeout are refusals.
    pub fn count(&mut self, granted: bool) {
        if granted {
            self.granted += 1;
        } else {
            self.refused += 1;
        }
    }

    /// Nodes that granted.
    pub fn granted(&self) -> usize {
        self.granted
    }

    /// Won, open or impossible. Decided at the latest when every node has voted, for even N too: a vote
    /// that is split evenly is lost, not undecided.
    pub fn standing(&self) -> Standing {
        let needed = quorum(self.nodes);
        if self.granted >= needed {
            Standing::Won
        } else if self.refused > self.nodes - needed {
            Standing::Impossible
        } else {
            Standing::Open
        }
    }

    /// The reason of a refusal by this count.
    pub fn impossible(&self) -> Reason {
        let Tally { nodes, granted, .. } = *self;
        Reason::MajorityImpossible {
            granted,
            needed: quorum(nodes),
            nodes,
        }
    }
}

/// The margin for clocks that run at different rates.
///
/// Document 002, "동기식일까, 비동기식일까?": less "a few milliseconds to compensate for clock drift". The
/// default is 1 % of the TTL plus 2 ms: one for the millisecond that Redis's expiry is exact to, one for
/// truncation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Drift {
    /// Parts per million of the TTL.
    pub ppm: u32,
    /// What comes on top, whatever the TTL.
    pub fixed: Duration,
}

impl Default for Drift {
    fn default() -> Drift {
        Drift {
            ppm: 10_000,
            fixed: Duration::from_millis(2),
        }
    }
}

impl Drift {
    /// The margin of `ttl`, rounded up to a nanosecond; `Duration::MAX` where it cannot be represented.
    pub fn margin(&self, ttl: Duration) -> Duration {
        let nanos = ttl
            .as_nanos()
            .checked_mul(u128::from(self.ppm))
            .map(|product| product.div_ceil(1_000_000));
        nanos
            .and_then(from_nanos)
            .and_then(|share| share.checked_add(self.fixed))
            .unwrap_or(Duration::MAX)
    }
}

fn from_nanos(nanos: u128) -> Option<Duration> {
    let seconds = u64::try_from(nanos / 1_000_000_000).ok()?;
    u32::try_from(nanos % 1_000_000_000)
        .ok()
        .map(|rest| Duration::new(seconds, rest))
}

/// `ttl - elapsed - drift`, if more than zero (document 002, "안전성에 대한 논거": MIN_VALIDITY).
///
/// Exactly zero is no validity: a lock that ends as it begins.
pub fn validity(ttl: Duration, elapsed: Duration, drift: Drift) -> Option<Duration> {
    let left = ttl.checked_sub(elapsed)?.checked_sub(drift.margin(ttl))?;
    (!left.is_zero()).then_some(left)
}

/// The reading at which a lease ends that was asked for at `first`: `first + ttl - drift`.
///
/// `None` if it cannot be represented, or if the TTL does not exceed its margin.
pub fn deadline(first: Reading, ttl: Duration, drift: Drift) -> Option<Reading> {
    first.checked_add(ttl.checked_sub(drift.margin(ttl))?)
}

/// A lease: decided to hold until its deadline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lease {
    /// The reading at which it ends.
    pub deadline: Reading,
    /// How much of it was left at the decision.
    pub validity: Duration,
}

/// Decides on a won vote by the two clock readings around the attempt (document 002, steps 3 and 4).
///
/// # Errors
///
/// [`Reason::NoValidity`] if the time is up, [`Reason::ClockWentBack`] if `second` lies before `first`.
pub fn lease(
    first: Reading,
    second: Reading,
    ttl: Duration,
    drift: Drift,
) -> Result<Lease, Reason> {
    let elapsed = second
        .checked_since(first)
        .ok_or_else(|| Reason::ClockWentBack {
            by: first.0.saturating_sub(second.0),
        })?;
    let refusal = || Reason::NoValidity {
        elapsed,
        ttl,
        drift: drift.margin(ttl),
    };
    let validity = validity(ttl, elapsed, drift).ok_or_else(refusal)?;
    let deadline = deadline(first, ttl, drift).ok_or_else(refusal)?;
    Ok(Lease { deadline, validity })
}

/// A delay between `least` and `most`, by 64 random bits. `least` if the range is empty.
pub fn delay(least: Duration, most: Duration, random: u64) -> Duration {
    let span = most.saturating_sub(least).as_nanos();
    // Multiplying and shifting is even to one part in 2^64 / span; a remainder would favour small delays.
    let share = span
        .saturating_add(1)
        .checked_mul(u128::from(random))
        .map_or(span, |product| product >> 64);
    least + from_nanos(share).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEN: Duration = Duration::from_secs(10);

    #[test]
    fn margin_is_one_percent_and_two_milliseconds() {
        assert_eq!(Drift::default().margin(TEN), Duration::from_millis(102));
    }

    #[test]
    fn margin_rounds_up() {
        let drift = Drift {
            ppm: 1,
            fixed: Duration::ZERO,
        };
        assert_eq!(
            drift.margin(Duration::from_nanos(1)),
            Duration::from_nanos(1)
        );
    }

    #[test]
    fn zero_validity_is_none_and_one_nanosecond_is_some() {
        let drift = Drift::default();
        let all = TEN - drift.margin(TEN);
        assert_eq!(validity(TEN, all, drift), None);
        assert_eq!(
            validity(TEN, all - Duration::from_nanos(1), drift),
            Some(Duration::from_nanos(1))
        );
    }

    #[test]
    fn delay_reaches_both_ends() {
        let (least, most) = (Duration::from_millis(10), Duration::from_millis(50));
        assert_eq!(delay(least, most, 0), least);
        assert_eq!(delay(least, most, u64::MAX), most);
        assert_eq!(delay(most, least, u64::MAX), most);
    }
}
