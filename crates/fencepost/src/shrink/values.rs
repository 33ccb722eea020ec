//! Every time, amount and rate of a plan that may become round.

use std::time::Duration;

use fencepost_world::plan::{Action, Heal, Trigger};

use crate::plan::Plan;

/// A value to try.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Value {
    Time(Duration),
    Number(i64),
}

/// A place in a plan.
enum Place<'a> {
    Time(&'a mut Duration),
    /// The same in every round of a client, so that a scenario file can say it.
    Times(Vec<&'a mut Duration>),
    /// Signed nanoseconds, or parts per million.
    Number(&'a mut i64),
}

const UNITS: [u64; 7] = [
    10_000_000_000,
    5_000_000_000,
    1_000_000_000,
    100_000_000,
    10_000_000,
    1_000_000,
    100_000,
];

fn places(plan: &mut Plan) -> Vec<Place<'_>> {
    let mut all = Vec::new();
    for fault in &mut plan.world.faults {
        match &mut fault.trigger {
            Trigger::At(at) => all.push(Place::Time(at)),
            Trigger::On { after, .. } => all.push(Place::Time(after)),
        }
        match &mut fault.action {
            Action::Delay { extra, .. } | Action::LatePacket { extra, .. } => {
                all.push(Place::Time(extra));
            }
            Action::Crash {
                delayed_until: Some(until),
                ..
            } => all.push(Place::Time(until)),
            Action::ClockStep { by_ns, .. } | Action::ClockSlew { by_ns, .. } => {
                all.push(Place::Number(by_ns));
            }
            Action::ClockDrift { ppm, .. } => all.push(Place::Number(ppm)),
            _ => {}
        }
        if let Heal::After(after) = &mut fault.heal {
            all.push(Place::Time(after));
        }
    }
    for client in plan.clients.iter_mut().filter(|client| !client.probe) {
        all.push(Place::Time(&mut client.start));
        let alike = client.rounds.windows(2).all(|pair| pair[0] == pair[1]);
        let rounds = client.rounds.iter_mut();
        let (think, hold): (Vec<_>, Vec<_>) = rounds
            .map(|round| (&mut round.think, &mut round.hold))
            .unzip();
        if alike {
            all.extend([Place::Times(think), Place::Times(hold)]);
        } else {
            all.extend(think.into_iter().chain(hold).map(Place::Time));
        }
    }
    all
}

pub(super) fn count(plan: &mut Plan) -> usize {
    places(plan).len()
}

pub(super) fn set(plan: &mut Plan, index: usize, value: Value) {
    match (places(plan).into_iter().nth(index), value) {
        (Some(Place::Time(place)), Value::Time(time)) => *place = time,
        (Some(Place::Times(places)), Value::Time(time)) => {
            places.into_iter().for_each(|place| *place = time);
        }
        (Some(Place::Number(place)), Value::Number(number)) => *place = number,
        _ => {}
    }
}

/// What to try in place of a value, the coarsest first: each rounded down and up; nothing that is not rounder.
pub(super) fn rounder(plan: &mut Plan, index: usize) -> Vec<Value> {
    let times = |time: Duration| {
        let nanos = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        let rounded = coarser(nanos).map(Duration::from_nanos).map(Value::Time);
        rounded.collect()
    };
    match places(plan).into_iter().nth(index) {
        Some(Place::Time(time)) => times(*time),
        Some(Place::Times(alike)) => alike.first().map_or_else(Vec::new, |time| times(**time)),
        Some(Place::Number(number)) => {
            let (size, sign) = (number.unsigned_abs(), number.signum());
            let signed = move |size: u64| i64::try_from(size).ok().map(|size| size * sign);
            coarser(size)
                .filter_map(signed)
                .map(Value::Number)
                .collect()
        }
        None => Vec::new(),
    }
}

fn coarser(nanos: u64) -> impl Iterator<Item = u64> {
    let is_round = move |unit: &u64| !nanos.is_multiple_of(*unit);
    let units = UNITS.into_iter().take_while(is_round);
    let nearest = move |unit: u64| [nanos / unit * unit, nanos.div_ceil(unit) * unit];
    let tried = units.flat_map(nearest).filter(|value| *value > 0);
    // Nothing at all is the roundest.
    std::iter::once(0).filter(move |_| nanos > 0).chain(tried)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_coarsest_comes_first_and_what_is_round_stays() {
        let tried: Vec<u64> = coarser(3_200_000_000).collect();
        assert_eq!(
            tried,
            [
                0,
                10_000_000_000,
                5_000_000_000,
                3_000_000_000,
                4_000_000_000
            ]
        );
        assert_eq!(
            coarser(5_000_000_000).collect::<Vec<_>>(),
            [0, 10_000_000_000]
        );
        assert_eq!(coarser(0).count(), 0);
    }
}
