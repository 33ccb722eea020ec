//! Laws of the pure decisions.

use std::time::Duration;

use proptest::prelude::*;
use redlock::decision::{Standing, Tally, deadline, delay, lease, quorum, validity};
use redlock::{Drift, Reading, Reason};

fn tally(votes: &[bool]) -> Tally {
    let mut tally = Tally::of(votes.len());
    votes.iter().for_each(|&granted| tally.count(granted));
    tally
}

/// All vectors of `n` votes.
fn vectors(n: usize) -> impl Iterator<Item = Vec<bool>> {
    (0..1_u32 << n).map(move |bits| (0..n).map(|index| bits >> index & 1 == 1).collect())
}

#[test]
fn every_vote_is_decided_and_by_the_majority_alone() {
    for nodes in 1..=9 {
        for votes in vectors(nodes) {
            let granted = votes.iter().filter(|&&granted| granted).count();
            let expected = if granted * 2 > nodes {
                Standing::Won
            } else {
                Standing::Impossible
            };
            assert_eq!(tally(&votes).standing(), expected, "{votes:?}");
        }
    }
}

#[test]
fn a_vote_is_open_exactly_while_both_ends_are_possible() {
    for nodes in 1..=9 {
        for votes in vectors(nodes) {
            let mut tally = Tally::of(nodes);
            for (asked, &granted) in votes.iter().enumerate() {
                tally.count(granted);
                let remaining = nodes - asked - 1;
                let can_win = (tally.granted() + remaining) * 2 > nodes;
                let has_won = tally.granted() * 2 > nodes;
                let expected = match (has_won, can_win) {
                    (true, _) => Standing::Won,
                    (false, true) => Standing::Open,
                    (false, false) => Standing::Impossible,
                };
                assert_eq!(tally.standing(), expected, "{votes:?} after {}", asked + 1);
            }
        }
    }
}

#[test]
fn there_are_never_two_majorities() {
    for nodes in 1..=9 {
        for votes in vectors(nodes) {
            // Each node grants to one client: what one has, the other has not.
            let others: Vec<bool> = votes.iter().map(|granted| !granted).collect();
            let both =
                [tally(&votes), tally(&others)].map(|tally| tally.standing() == Standing::Won);
            assert_ne!(both, [true, true], "{votes:?}");
        }
        assert!(quorum(nodes) * 2 > nodes && quorum(nodes) <= nodes);
    }
}

fn durations() -> impl Strategy<Value = Duration> {
    prop_oneof![
        (0_u64..100_000).prop_map(Duration::from_millis),
        any::<u64>().prop_map(Duration::from_nanos),
        (any::<u64>(), 0_u32..1_000_000_000)
            .prop_map(|(seconds, nanos)| Duration::new(seconds, nanos)),
    ]
}

fn drifts() -> impl Strategy<Value = Drift> {
    let usual = Just(Drift::default());
    let any = (any::<u32>(), durations()).prop_map(|(ppm, fixed)| Drift { ppm, fixed });
    prop_oneof![usual, any]
}

proptest! {
    #[test]
    fn validity_is_exact_and_never_exceeds_the_ttl(ttl in durations(), elapsed in durations(), drift in drifts()) {
        let margin = drift.margin(ttl);
        match validity(ttl, elapsed, drift) {
            Some(left) => {
                prop_assert!(!left.is_zero());
                prop_assert_eq!(left + elapsed + margin, ttl);
            }
            None => prop_assert!(elapsed.saturating_add(margin) >= ttl),
        }
    }

    #[test]
    fn validity_only_shrinks_with_time(ttl in durations(), a in durations(), b in durations(), drift in drifts()) {
        let (sooner, later) = (a.min(b), a.max(b));
        prop_assert!(validity(ttl, sooner, drift) >= validity(ttl, later, drift));
    }

    #[test]
    fn margin_is_never_less_than_its_share(ttl in durations(), drift in drifts()) {
        let margin = drift.margin(ttl);
        prop_assert!(margin >= drift.fixed);
        let share = margin.saturating_sub(drift.fixed).as_nanos().saturating_mul(1_000_000);
        let exact = ttl.as_nanos() * u128::from(drift.ppm);
        prop_assert!(margin == Duration::MAX || (exact..exact + 1_000_000).contains(&share));
    }

    #[test]
    fn a_lease_ends_where_its_validity_does(first in durations(), took in durations(), ttl in durations(), drift in drifts()) {
        let Some(second) = Reading(first).checked_add(took) else { return Ok(()) };
        match lease(Reading(first), second, ttl, drift) {
            Ok(lease) => {
                prop_assert_eq!(Some(lease.deadline), second.checked_add(lease.validity));
                prop_assert_eq!(Some(lease.deadline), deadline(Reading(first), ttl, drift));
                prop_assert!(lease.deadline > second && lease.validity <= ttl);
            }
            Err(reason) => {
                let unrepresentable = deadline(Reading(first), ttl, drift).is_none();
                prop_assert!(unrepresentable || validity(ttl, took, drift).is_none(), "{}", reason);
            }
        }
    }

    #[test]
    fn a_clock_that_went_back_gives_no_lease(first in durations(), by in 1_u64.., ttl in durations()) {
        let by = Duration::from_nanos(by);
        let Some(second) = first.checked_sub(by) else { return Ok(()) };
        let refused = lease(Reading(first), Reading(second), ttl, Drift::default());
        prop_assert_eq!(refused, Err(Reason::ClockWentBack { by }));
    }

    #[test]
    fn a_delay_is_within_its_range(a in durations(), b in durations(), random in any::<u64>()) {
        let (least, most) = (a.min(b), a.max(b));
        prop_assert!((least..=most).contains(&delay(least, most, random)));
    }
}
