//! Leases by clocks that are wrong: rates, steps, standing still. And the laws of clocks.

use std::time::Duration;

use fencepost_checker::Outcome::{Holds, Violated};
use fencepost_checker::Property::{MutualExclusion, NotBornExpired};
use fencepost_checker::{ClockKind, ClockLine, Segment, Time};
use proptest::prelude::*;

use crate::dsl::{Story, story};

/// c1's clock does `clock`, c1 acquires at 2 s until 32 s by `by`, and c2 decides at `at`.
fn contender_decides(at: &str, by: &str, clock: &str) -> Story {
    story(&format!(
        "1s c1 begins by={by}\n2s c1 acquires until 32s by={by}\n2s c2 begins\n{clock}\n{at} c2 acquires until 900s"
    ))
}

#[test]
fn a_fast_clock_reaches_the_deadline_early() {
    // From 2 s on at twice the rate: 30 s of the clock are 15 s of true time.
    for by in ["monotonic", "wall"] {
        contender_decides("17s-1ns", by, "2s c1 clock ppm 1000000").is(MutualExclusion, Violated);
        contender_decides("17s", by, "2s c1 clock ppm 1000000").is(MutualExclusion, Holds);
    }
}

#[test]
fn a_slow_clock_reaches_it_late() {
    // At half the rate, 30 s of the clock are 60 s of true time.
    contender_decides("62s-1ns", "monotonic", "2s c1 clock ppm -500000")
        .is(MutualExclusion, Violated);
    contender_decides("62s", "monotonic", "2s c1 clock ppm -500000").is(MutualExclusion, Holds);
}

#[test]
fn a_rate_that_changes_counts_piece_by_piece() {
    // 10 s at the true rate, then twice as fast: 20 s of the clock are left, which are 10 s.
    contender_decides("22s-1ns", "wall", "12s c1 clock ppm 1000000").is(MutualExclusion, Violated);
    contender_decides("22s", "wall", "12s c1 clock ppm 1000000").is(MutualExclusion, Holds);
}

#[test]
fn a_step_forward_ends_a_lease_by_wall_and_not_one_by_monotonic() {
    contender_decides("10s", "wall", "10s c1 clock steps +30s").is(MutualExclusion, Holds);
    contender_decides("10s", "monotonic", "10s c1 clock steps +30s").is(MutualExclusion, Violated);
    // A smaller step takes as much off: the deadline comes at 27 s.
    contender_decides("27s-1ns", "wall", "10s c1 clock steps +5s").is(MutualExclusion, Violated);
    contender_decides("27s", "wall", "10s c1 clock steps +5s").is(MutualExclusion, Holds);
}

#[test]
fn a_step_back_prolongs_it() {
    contender_decides("42s-1ns", "wall", "12s c1 clock steps -10s").is(MutualExclusion, Violated);
    contender_decides("42s", "wall", "12s c1 clock steps -10s").is(MutualExclusion, Holds);
    contender_decides("32s", "monotonic", "12s c1 clock steps -10s").is(MutualExclusion, Holds);
}

#[test]
fn a_step_back_after_the_deadline_does_not_bring_it_to_life() {
    // The first instant at which the clock reaches the deadline is what counts.
    contender_decides("40s", "wall", "33s c1 clock steps -10s").is(MutualExclusion, Holds);
    // A step in the very instant of the deadline comes before the clock can show it.
    contender_decides("40s", "wall", "32s c1 clock steps -10s").is(MutualExclusion, Violated);
}

#[test]
fn a_clock_that_stands_still_never_ends_it() {
    contender_decides("800s", "monotonic", "10s c1 clock monotonic-ppm -1000000")
        .is(MutualExclusion, Violated);
    // The machine slept and its wall clock went on.
    contender_decides("32s", "wall", "10s c1 clock monotonic-ppm -1000000")
        .is(MutualExclusion, Holds);
    // It stood still for 30 s and goes on.
    let slept = "10s c1 clock monotonic-ppm -1000000\n40s c1 clock monotonic-ppm 0";
    contender_decides("62s-1ns", "monotonic", slept).is(MutualExclusion, Violated);
    contender_decides("62s", "monotonic", slept).is(MutualExclusion, Holds);
}

#[test]
fn the_clock_of_another_host_does_not_matter() {
    contender_decides(
        "20s",
        "wall",
        "3s c2 clock steps +100s\n3s n1 clock steps +100s",
    )
    .is(MutualExclusion, Violated);
}

#[test]
fn of_a_step_and_a_decision_in_one_instant_the_smaller_number_came_first() {
    // The step comes first, so the decision is past its own deadline.
    let stepped_before =
        "1s c1 begins by=wall\n2s c1 clock steps +60s\n2s c1 acquires until 32s by=wall";
    story(stepped_before).is(NotBornExpired, Violated);
    // The decision comes first and was good, though its lease is over in the same instant.
    let stepped_after = "1s c1 begins by=wall\n2s c1 acquires until 32s by=wall\n2s c1 clock steps +60s\n2s c2 begins\n2s c2 acquires until 9s";
    story(stepped_after).is(NotBornExpired, Holds);
    assert_eq!(story(stepped_after).verdict(MutualExclusion).violations, 0);
}

#[test]
fn a_decision_past_its_deadline_stays_so_though_the_clock_steps_back_at_once() {
    // It opened no lease, and what the clock does afterwards opens none.
    let story = story(
        "1s  c1 begins by=wall
         1s  c2 begins
         40s c1 acquires until 30s by=wall
         40s c1 clock steps -20s
         41s c2 acquires until 90s",
    );
    story.is(NotBornExpired, Violated);
    assert_eq!(story.verdict(MutualExclusion).violations, 0);
}

prop_compose! {
    fn segment()(gap in 1_u64..1_000_000, monotonic in 0_u64..2_000_000, wall in 0_u64..2_000_000,
                 monotonic_ppm in -1_000_000_i64..3_000_000, wall_ppm in prop_oneof![Just(-1_000_000), Just(0), -999_999_i64..500_000])
                -> (u64, Segment) {
        (gap, Segment { from: Time::ZERO, monotonic, wall, monotonic_ppm, wall_ppm })
    }
}

/// Segments with random bases, so that each border is a step forward or back.
fn line() -> impl Strategy<Value = ClockLine> {
    prop::collection::vec(segment(), 1..6).prop_map(|segments| {
        let mut line = ClockLine::default();
        let mut at = 0;
        for (gap, segment) in segments {
            line.push(Segment {
                from: Time(at),
                ..segment
            });
            at += gap;
        }
        line
    })
}

proptest! {
    #[test]
    fn first_reach_is_the_smallest_instant_that_shows_it(line in line(), wall: bool, after in 0_u64..3_000_000, wanted in 0_u64..4_000_000) {
        let kind = if wall { ClockKind::Wall } else { ClockKind::Monotonic };
        let shows = |at: Time| line.reading(kind, at).unwrap() >= wanted;
        let Some(reached) = line.first_reach(kind, wanted, Time(after)) else {
            // Never: then not at any border, nor in the far future.
            let borders = line.segments().iter().map(|segment| segment.from).filter(|from| from.0 >= after);
            prop_assert!(!borders.chain([Time(after), Time(1 << 60)]).any(shows));
            return Ok(());
        };
        prop_assert!(reached.0 >= after && shows(reached));
        // Within a segment a clock does not go back, so its last instant before `reached` stands for all of it.
        let ends = line.segments().iter().map(|segment| segment.from).chain([reached]);
        let last_instants = ends.filter_map(|end| end.0.checked_sub(1)).filter(|at| (after..reached.0).contains(at));
        for at in last_instants.map(Time) {
            prop_assert!(!shows(at), "shows {wanted} at {at:?} already, not only at {reached:?}");
        }
    }

    #[test]
    fn within_a_segment_a_clock_never_goes_back((_, segment) in segment(), a: u64, b: u64) {
        let (earlier, later) = (a.min(b), a.max(b));
        for kind in [ClockKind::Monotonic, ClockKind::Wall] {
            prop_assert!(segment.reading(kind, Time(earlier)) <= segment.reading(kind, Time(later)));
        }
    }

    #[test]
    fn no_segment_however_absurd_overflows(from: u64, monotonic: u64, wall: u64, monotonic_ppm: i64, wall_ppm: i64, at: u64, wanted: u64) {
        let segment = Segment { from: Time(from), monotonic, wall, monotonic_ppm, wall_ppm };
        let mut line = ClockLine::default();
        line.push(segment);
        for kind in [ClockKind::Monotonic, ClockKind::Wall] {
            let _ = line.reading(kind, Time(at));
            if let Some(reached) = line.first_reach(kind, wanted, Time(at)) {
                prop_assert!(line.reading(kind, reached).is_none_or(|shown| shown >= wanted));
            }
        }
    }
}

#[test]
fn a_segment_of_the_same_instant_replaces_the_one_before() {
    let at = |from, monotonic| Segment {
        from: Time(from),
        monotonic,
        wall: 0,
        monotonic_ppm: 0,
        wall_ppm: 0,
    };
    let mut line = ClockLine::default();
    for segment in [at(0, 0), at(10, 10), at(10, 500)] {
        line.push(segment);
    }
    assert_eq!(line.segments().len(), 2);
    assert_eq!(line.reading(ClockKind::Monotonic, Time(10)), Some(500));
    assert_eq!(
        line.first_reach(ClockKind::Monotonic, 10, Time::ZERO),
        Some(Time(10))
    );
    assert_eq!(Time(10).after(Duration::from_nanos(5)), Time(15));
}
