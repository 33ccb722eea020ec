//! What a host's clock did wrong between two instants.

use std::time::Duration;

use crate::clock::{ClockKind, Segment, Time};
use crate::hosts::HostLine;

/// Steps below this are the rounding of a rate, in nanoseconds.
const ROUNDING: i128 = 1_000;

/// How a clock strayed from true time, in the way that explains most.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Stray {
    /// It jumped.
    Step(Duration),
    /// It stood still.
    Still(Duration),
    /// It ran at another rate, in ppm of true time.
    Rate(u64),
}

/// What made the clock gain on true time in `from..=to`.
pub(super) fn gain(host: &HostLine, kind: ClockKind, from: Time, to: Time) -> Option<Stray> {
    let step = steps(host, kind, from, to)
        .filter(|step| *step > ROUNDING)
        .max();
    let rate = stretches(host, kind, from, to)
        .map(|(ppm, _)| ppm)
        .filter(|ppm| *ppm > 0)
        .max();
    step.map(|step| Stray::Step(nanos(step)))
        .or_else(|| Some(Stray::Rate(rate?.unsigned_abs())))
}

/// What made the clock fall behind true time in `from..=to`.
pub(super) fn loss(host: &HostLine, kind: ClockKind, from: Time, to: Time) -> Option<Stray> {
    let step = steps(host, kind, from, to)
        .filter(|step| *step < -ROUNDING)
        .min();
    let still: Duration = stretches(host, kind, from, to)
        .filter(|(ppm, _)| *ppm <= -1_000_000)
        .map(|(_, long)| long)
        .sum();
    let rate = stretches(host, kind, from, to)
        .map(|(ppm, _)| ppm)
        .filter(|ppm| *ppm < 0)
        .min();
    if let Some(step) = step {
        Some(Stray::Step(nanos(step)))
    } else if still > Duration::ZERO {
        Some(Stray::Still(still))
    } else {
        Some(Stray::Rate(rate?.unsigned_abs()))
    }
}

fn steps(host: &HostLine, kind: ClockKind, from: Time, to: Time) -> impl Iterator<Item = i128> {
    let pairs = host.clock.segments().windows(2);
    pairs
        .filter(move |pair| from <= pair[1].from && pair[1].from <= to)
        .map(move |pair| {
            let (before, after) = (
                pair[0].reading(kind, pair[1].from),
                pair[1].reading(kind, pair[1].from),
            );
            i128::from(after) - i128::from(before)
        })
}

/// The rates in force between two instants, each with the time for which it was.
fn stretches(
    host: &HostLine,
    kind: ClockKind,
    from: Time,
    to: Time,
) -> impl Iterator<Item = (i64, Duration)> {
    let segments = host.clock.segments();
    let stretch = move |(index, segment): (usize, &Segment)| {
        let end = segments.get(index + 1).map_or(to, |next| next.from.min(to));
        let ppm = match kind {
            ClockKind::Monotonic => segment.monotonic_ppm,
            ClockKind::Wall => segment.wall_ppm,
        };
        (ppm, end.since(segment.from.max(from)))
    };
    segments
        .iter()
        .enumerate()
        .map(stretch)
        .filter(|(_, long)| *long > Duration::ZERO)
}

fn nanos(step: i128) -> Duration {
    Duration::from_nanos(u64::try_from(step.unsigned_abs()).unwrap_or(u64::MAX))
}
