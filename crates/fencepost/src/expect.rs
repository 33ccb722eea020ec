//! Expectations against what came out: as expected, otherwise, or nothing shown.

use std::fmt::{self, Write};

pub use fencepost_checker::{Outcome, Property, Verdict};
use serde::{Deserialize, Serialize};

use crate::fact::Unmet;
use crate::scenario::{Expect, Expectation, spelled};

/// The property of that name.
pub(crate) fn property(name: &str) -> Option<Property> {
    Property::ALL
        .iter()
        .copied()
        .find(|property| property.name() == name)
}

/// The names of all properties.
pub(crate) fn property_names() -> impl Iterator<Item = &'static str> {
    Property::ALL.iter().map(|property| property.name())
}

/// What a run came to, measured by what its scenario expects.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Standing {
    /// Every property came out as the scenario expects, and every fact was met.
    AsExpected,
    /// A fact was not met, or a property was not put to the test that should have been.
    Vacuous,
    /// A property came out otherwise.
    Otherwise,
}

impl Standing {
    /// Exit codes: 0 as expected, 1 otherwise, 2 vacuous. 1 beats 2.
    #[must_use]
    pub const fn exit_code(self) -> u8 {
        match self {
            Self::AsExpected => 0,
            Self::Otherwise => 1,
            Self::Vacuous => 2,
        }
    }
}

impl fmt::Display for Standing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::AsExpected => "as expected",
            Self::Otherwise => "otherwise",
            Self::Vacuous => "vacuous",
        })
    }
}

/// One property in the table of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// Which.
    pub property: Property,
    /// What the scenario expects; nothing if it does not list the property.
    pub expected: Option<Expectation>,
    /// How it came out.
    pub outcome: Outcome,
    /// What that means.
    pub standing: Standing,
}

/// All of a run, measured by what its scenario expects.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Judgement {
    /// One row for each verdict, in their order.
    pub rows: Vec<Row>,
    /// The facts that the run does not show.
    pub unmet: Vec<Unmet>,
}

impl Judgement {
    /// Measures verdicts and facts by what is expected.
    ///
    /// `unmet` are the facts that were looked for in vain; see [`Fact::check`](crate::fact::Fact::check) and
    /// [`faults_fired`](crate::fact::faults_fired).
    #[must_use]
    pub fn new(expect: &Expect, verdicts: &[Verdict], unmet: Vec<Unmet>) -> Self {
        let row = |verdict: &Verdict| {
            let expected = expect.properties.get(&verdict.property).copied();
            Row {
                property: verdict.property,
                expected,
                outcome: verdict.outcome,
                standing: if expect.min_schedules.is_some() {
                    standing_of_one(expected, verdict.outcome)
                } else {
                    standing(expected, verdict.outcome)
                },
            }
        };
        Self {
            rows: verdicts.iter().map(row).collect(),
            unmet,
        }
    }

    /// What the run came to as a whole. A property that came out otherwise beats one that shows nothing.
    #[must_use]
    pub fn standing(&self) -> Standing {
        let facts = if self.unmet.is_empty() {
            Standing::AsExpected
        } else {
            Standing::Vacuous
        };
        self.rows
            .iter()
            .map(|row| row.standing)
            .fold(facts, Standing::max)
    }

    /// What came out otherwise, in lines of text: each such property with its first witness, and the facts that were not
    /// met. `verdicts` are those that were measured.
    #[must_use]
    pub fn surprises(&self, verdicts: &[Verdict]) -> String {
        let mut text = String::new();
        for (row, verdict) in self.rows.iter().zip(verdicts) {
            if row.standing != Standing::AsExpected {
                row.surprise(verdict, &mut text)
                    .expect("a string can be written to");
            }
        }
        text + &self.not_shown()
    }

    /// The facts that were not met, and what was found in their place, in lines of text.
    #[must_use]
    pub fn not_shown(&self) -> String {
        let line = |unmet: &Unmet| {
            format!(
                "not shown: {}\n  found instead: {}\n",
                unmet.fact, unmet.found
            )
        };
        self.unmet.iter().map(line).collect()
    }
}

impl Row {
    fn surprise(&self, verdict: &Verdict, text: &mut String) -> fmt::Result {
        let expected = self.expected.map_or_else(|| "-".to_owned(), spelled);
        let came = match self.outcome {
            Outcome::Holds => "holds",
            Outcome::Violated => "violated",
            Outcome::Vacuous => "vacuous",
        };
        writeln!(
            text,
            "  {}: expected {expected}, came out {came}",
            self.property
        )?;
        if let Some(why) = &verdict.vacuous_because {
            writeln!(text, "    {why}")?;
        }
        if let Some(first) = verdict.witnesses.first() {
            writeln!(text, "    at {}: {}", first.at, first.sentence)?;
            if let Some(cause) = &first.cause {
                writeln!(text, "    because {cause}")?;
            }
        }
        Ok(())
    }
}

fn standing(expected: Option<Expectation>, outcome: Outcome) -> Standing {
    match (expected, outcome) {
        (None | Some(Expectation::Any), _)
        | (Some(Expectation::Holds), Outcome::Holds)
        | (Some(Expectation::Violated), Outcome::Violated)
        | (Some(Expectation::Vacuous), Outcome::Vacuous) => Standing::AsExpected,
        (Some(_), Outcome::Vacuous) => Standing::Vacuous,
        (Some(_), _) => Standing::Otherwise,
    }
}

/// What one schedule of many says: a promise that must hold in all of them can be broken by one; whether anything is
/// violated at least once, only all of them tell.
fn standing_of_one(expected: Option<Expectation>, outcome: Outcome) -> Standing {
    match (expected, outcome) {
        (Some(Expectation::Holds), Outcome::Violated) => Standing::Otherwise,
        (Some(Expectation::Vacuous), Outcome::Holds | Outcome::Violated) => Standing::Otherwise,
        _ => Standing::AsExpected,
    }
}

/// How often a property came out in which way, over many schedules.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// In how many schedules it held.
    pub holds: u64,
    /// In how many it was violated.
    pub violated: u64,
    /// In how many nothing could have broken it.
    pub vacuous: u64,
}

impl Tally {
    /// Counts one schedule more.
    pub fn add(&mut self, outcome: Outcome) {
        *match outcome {
            Outcome::Holds => &mut self.holds,
            Outcome::Violated => &mut self.violated,
            Outcome::Vacuous => &mut self.vacuous,
        } += 1;
    }

    /// How many schedules there were.
    #[must_use]
    pub const fn schedules(&self) -> u64 {
        self.holds + self.violated + self.vacuous
    }

    /// What that is by what a scripted scenario expects of every schedule.
    #[must_use]
    pub fn standing_of_each(&self, expected: Option<Expectation>) -> Standing {
        let all = [
            (self.holds, Outcome::Holds),
            (self.violated, Outcome::Violated),
            (self.vacuous, Outcome::Vacuous),
        ];
        let came = all.into_iter().filter(|(schedules, _)| *schedules > 0);
        came.map(|(_, outcome)| standing(expected, outcome))
            .max()
            .unwrap_or(Standing::Vacuous)
    }

    /// What that is by what a random scenario expects; `None` where so few schedules say nothing yet.
    #[must_use]
    pub fn standing(&self, expected: Option<Expectation>, min_schedules: u64) -> Option<Standing> {
        let enough = self.schedules() >= min_schedules;
        match expected {
            None | Some(Expectation::Any) => Some(Standing::AsExpected),
            Some(Expectation::Holds) if self.violated > 0 => Some(Standing::Otherwise),
            Some(Expectation::Holds) if self.holds > 0 => Some(Standing::AsExpected),
            Some(Expectation::Violated) if self.violated > 0 => Some(Standing::AsExpected),
            Some(Expectation::Violated) if enough && self.holds > 0 => Some(Standing::Otherwise),
            Some(Expectation::Vacuous) if self.holds + self.violated > 0 => {
                Some(Standing::Otherwise)
            }
            Some(Expectation::Vacuous) => Some(Standing::AsExpected),
            Some(Expectation::Holds | Expectation::Violated) => enough.then_some(Standing::Vacuous),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What was expected against what came, as exit codes.
    #[test]
    fn one_beats_two_beats_zero() {
        use Expectation::{Any, Holds as H, Vacuous as N, Violated as V};
        let table = [
            (None, [0, 0, 0]),
            (Some(Any), [0, 0, 0]),
            (Some(H), [0, 1, 2]),
            (Some(V), [1, 0, 2]),
            (Some(N), [1, 1, 0]),
        ];
        for (expected, codes) in table {
            let came = [Outcome::Holds, Outcome::Violated, Outcome::Vacuous]
                .map(|came| standing(expected, came).exit_code());
            assert_eq!(came, codes, "{expected:?}");
        }
    }

    /// Holds, violated and vacuous in so many of ten schedules that are to be ten, and what that is.
    #[test]
    fn many_schedules_are_judged_together() {
        use Expectation::{Holds, Vacuous, Violated};
        let table = [
            (Holds, [9, 1, 0], Some(Standing::Otherwise)),
            (Holds, [1, 0, 9], Some(Standing::AsExpected)),
            (Holds, [0, 0, 10], Some(Standing::Vacuous)),
            (Holds, [0, 0, 9], None),
            (Holds, [0, 1, 0], Some(Standing::Otherwise)),
            (Violated, [9, 1, 0], Some(Standing::AsExpected)),
            (Violated, [0, 1, 0], Some(Standing::AsExpected)),
            (Violated, [10, 0, 0], Some(Standing::Otherwise)),
            (Violated, [9, 0, 0], None),
            (Violated, [0, 0, 10], Some(Standing::Vacuous)),
            (Vacuous, [0, 0, 10], Some(Standing::AsExpected)),
            (Vacuous, [1, 0, 9], Some(Standing::Otherwise)),
        ];
        for (expected, [holds, violated, vacuous], standing) in table {
            let tally = Tally {
                holds,
                violated,
                vacuous,
            };
            assert_eq!(
                tally.standing(Some(expected), 10),
                standing,
                "{expected:?} {tally:?}"
            );
        }
    }

    #[test]
    fn one_schedule_of_a_random_scenario_breaks_a_promise_and_proves_none() {
        use Expectation::{Any, Holds as H, Vacuous as N, Violated as V};
        let table = [
            (None, [0, 0, 0]),
            (Some(Any), [0, 0, 0]),
            (Some(H), [0, 1, 0]),
            (Some(V), [0, 0, 0]),
            (Some(N), [1, 1, 0]),
        ];
        for (expected, codes) in table {
            let came = [Outcome::Holds, Outcome::Violated, Outcome::Vacuous]
                .map(|came| standing_of_one(expected, came).exit_code());
            assert_eq!(came, codes, "{expected:?}");
        }
    }

    #[test]
    fn an_unmet_fact_makes_a_run_vacuous_unless_a_property_came_out_otherwise() {
        let row = |standing| Row {
            property: Property::MutualExclusion,
            expected: None,
            outcome: Outcome::Holds,
            standing,
        };
        let unmet = Unmet {
            fact: "c1 acquired".into(),
            found: "c1 never acquired".into(),
        };
        let whole = |rows, unmet| Judgement { rows, unmet }.standing().exit_code();
        assert_eq!(whole(vec![row(Standing::AsExpected)], vec![]), 0);
        assert_eq!(
            whole(vec![row(Standing::AsExpected)], vec![unmet.clone()]),
            2
        );
        assert_eq!(
            whole(
                vec![row(Standing::Vacuous), row(Standing::Otherwise)],
                vec![unmet]
            ),
            1
        );
        assert_eq!(whole(vec![row(Standing::Vacuous)], vec![]), 2);
    }
}
