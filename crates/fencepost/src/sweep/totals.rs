//! What the seeds of a sweep come to together.

use std::collections::BTreeMap;
use std::io::Write;

use fencepost_checker::digest::Hasher;
use fencepost_checker::history::Name;
use fencepost_checker::{Digest, Outcome as Came, Property};

use super::SeedResult;
use crate::expect::{Standing, Tally};
use crate::scenario::{Expect, Expectation};

/// How many failing seeds are named: the lowest ones.
const NAMED: usize = 10;

/// The sum of a sweep's results.
#[derive(Clone, Debug, Default)]
pub struct Totals {
    /// How many schedules there were.
    pub schedules: u64,
    /// Commands that nodes carried out on lock keys.
    pub commands: u64,
    /// Virtual time, in nanoseconds.
    pub virtual_time: u128,
    /// How each property came out.
    pub properties: BTreeMap<Property, PropertyTotals>,
    /// What faults there were.
    pub families: BTreeMap<Name, FamilyTotals>,
    /// How many violations of mutual exclusion are laid on which families of faults, joined by `+`; on none, if they lie
    /// in the lock itself.
    pub causes: BTreeMap<String, u64>,
    /// How many schedules failed by themselves.
    pub failures: u64,
    /// The lowest seeds of these, at most ten.
    pub failing: Vec<u64>,
    worst: Option<Standing>,
    hasher: Hasher,
}

/// One property over all schedules.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PropertyTotals {
    /// How often it came out in which way.
    pub tally: Tally,
    /// The lowest seed that violated it.
    pub first_violated: Option<u64>,
}

/// One family of faults, counted in schedules.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FamilyTotals {
    /// In how many schedules the plan had some.
    pub on: u64,
    /// In how many at least one took effect.
    pub fired: u64,
    /// In how many at least one was in force, or struck, while somebody held a lock.
    pub overlapped: u64,
}

/// One property, measured by what is expected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TotalsRow {
    /// Which.
    pub property: Property,
    /// What the scenario expects; nothing if it does not list the property.
    pub expected: Option<Expectation>,
    /// How it came out.
    pub totals: PropertyTotals,
    /// What that is; `None` where so few schedules say nothing yet.
    pub standing: Option<Standing>,
}

impl Totals {
    /// Adds the result of the next seed.
    pub fn add(&mut self, result: &SeedResult) {
        self.schedules += 1;
        self.commands += result.commands;
        self.virtual_time += u128::from(result.virtual_time);
        for (property, came) in &result.verdicts {
            let totals = self.properties.entry(*property).or_default();
            totals.tally.add(*came);
            if *came == Came::Violated {
                totals.first_violated.get_or_insert(result.seed);
            }
        }
        for (name, seed) in &result.faults {
            let totals = self.families.entry(name.clone()).or_default();
            totals.on += u64::from(seed.0 > 0);
            totals.fired += u64::from(seed.1 > 0);
            totals.overlapped += u64::from(seed.2 > 0);
        }
        for cause in &result.causes {
            *self.causes.entry(cause.clone()).or_default() += 1;
        }
        if result.failed() {
            self.failures += 1;
            if self.failing.len() < NAMED {
                self.failing.push(result.seed);
            }
        }
        self.worst = self.worst.max(Some(result.standing));
        writeln!(self.hasher, "{} {}", result.seed, result.digest).expect("a hasher takes all");
    }

    /// Of the seeds and the digests of their histories, in order.
    #[must_use]
    pub fn digest(&self) -> Digest {
        self.hasher.clone().finish()
    }

    /// Every property, measured by what is expected.
    #[must_use]
    pub fn rows(&self, expect: &Expect) -> Vec<TotalsRow> {
        let row = |(property, totals): (&Property, &PropertyTotals)| {
            let expected = expect.properties.get(property).copied();
            // A scripted scenario is one in which every schedule counts for itself.
            let standing = match expect.min_schedules {
                Some(least) => totals.tally.standing(expected, least),
                None => Some(totals.tally.standing_of_each(expected)),
            };
            TotalsRow {
                property: *property,
                expected,
                totals: *totals,
                standing,
            }
        };
        self.properties.iter().map(row).collect()
    }

    /// What the sweep came to. A scripted scenario is to come out as expected in every schedule, facts included; a random
    /// one in all of them together.
    #[must_use]
    pub fn standing(&self, expect: &Expect) -> Standing {
        match expect.min_schedules {
            None => self.worst.unwrap_or(Standing::Vacuous),
            Some(_) => self
                .rows(expect)
                .into_iter()
                .filter_map(|row| row.standing)
                .max()
                .unwrap_or(Standing::Vacuous),
        }
    }
}
