//! What a sweep came to: tables for people, and the JSON line for programs.

use std::fmt::Write;
use std::ops::Range;
use std::time::Duration;

use fencepost::EngineKind;
use fencepost::expect::Standing;
use fencepost::scenario::Scenario;
use fencepost::sweep::{Ended, Totals, TotalsRow};
use serde_json::{Map, Value, json};

use crate::present::{expected, line, table};

/// A sweep, or several shards of one.
pub(crate) struct Swept<'a> {
    pub(crate) scenario: &'a Scenario,
    pub(crate) engine: EngineKind,
    pub(crate) seeds: Range<u64>,
    pub(crate) totals: &'a Totals,
    pub(crate) ended: Ended,
    pub(crate) took: Duration,
}

impl Swept<'_> {
    pub(crate) fn standing(&self) -> Standing {
        self.totals.standing(&self.scenario.expect)
    }

    /// The tables.
    pub(crate) fn text(&self) -> String {
        let mut text = String::new();
        let (scenario, totals) = (self.scenario, self.totals);
        let (name, engine, seeds) = (&scenario.name, self.engine, &self.seeds);
        let range = format!("seeds {}..{}", seeds.start, seeds.end);
        line(&mut text, format_args!("{name}  {range}  engine {engine}"));
        for setting in &scenario.settings {
            line(&mut text, format_args!("  with {setting}"));
        }
        line(&mut text, format_args!("{}\n", scenario.claim.trim()));
        line(&mut text, format_args!("{}", self.properties()));
        if !totals.families.is_empty() {
            line(&mut text, format_args!("\n{}", self.families()));
        }
        self.causes(&mut text);
        self.failing(&mut text);
        line(
            &mut text,
            format_args!("\n{}: {}", self.standing(), self.ending()),
        );
        text
    }

    /// How many schedules, how fast, and their digest.
    pub(crate) fn ending(&self) -> String {
        let totals = self.totals;
        let ended = match self.ended {
            Ended::Done => "",
            Ended::Interrupted => ", interrupted",
        };
        format!(
            "{} schedules{ended}, {:.0} s of virtual time in {:.1} s ({:.0} schedules a second), {}",
            totals.schedules,
            virtual_seconds(totals),
            self.took.as_secs_f64(),
            self.rate(),
            totals.digest()
        )
    }

    fn properties(&self) -> impl std::fmt::Display {
        let mut table = table(&[
            "property",
            "expected",
            "holds",
            "violated",
            "vacuous",
            "first violated",
            "",
        ]);
        for row in self.totals.rows(&self.scenario.expect) {
            let tally = row.totals.tally;
            let first = row.totals.first_violated;
            table.add_row([
                row.property.name().to_owned(),
                expected(row.expected).to_owned(),
                tally.holds.to_string(),
                tally.violated.to_string(),
                tally.vacuous.to_string(),
                first.map_or_else(String::new, |seed| format!("seed {seed}")),
                self.note(&row),
            ]);
        }
        table
    }

    fn note(&self, row: &TotalsRow) -> String {
        let least = self.scenario.expect.min_schedules.unwrap_or_default();
        match row.standing {
            None => format!("not judged below {least} schedules"),
            Some(Standing::AsExpected) => String::new(),
            Some(standing) => standing.to_string(),
        }
    }

    /// How many schedules had faults of each family, in which they took effect, and in which while a lock was held.
    fn families(&self) -> impl std::fmt::Display {
        let mut table = table(&["fault", "schedules", "struck", "while a lock was held"]);
        let share = |part: u64| {
            let all = self.totals.schedules.max(1);
            format!("{part} ({:.0} %)", part as f64 * 100.0 / all as f64)
        };
        for (name, family) in &self.totals.families {
            table.add_row([
                name.to_string(),
                family.on.to_string(),
                family.fired.to_string(),
                share(family.overlapped),
            ]);
        }
        table
    }

    fn causes(&self, text: &mut String) {
        if self.totals.causes.is_empty() {
            return;
        }
        line(
            text,
            format_args!("\nviolations of mutual exclusion are laid on"),
        );
        for (families, violations) in &self.totals.causes {
            let families = if families.is_empty() {
                "the lock itself"
            } else {
                families
            };
            line(text, format_args!("  {violations:>7}  {families}"));
        }
    }

    fn failing(&self, text: &mut String) {
        let (totals, scenario) = (self.totals, crate::present::found_by(self.scenario));
        if totals.failures == 0 {
            return;
        }
        let lowest = totals.failing.len();
        write!(text, "\n{} schedules failed", totals.failures).expect("it is a string");
        let which = if totals.failures > totals.failing.len() as u64 {
            format!("; the lowest {lowest} seeds:")
        } else {
            "; their seeds:".to_owned()
        };
        let seeds: Vec<String> = totals.failing.iter().map(u64::to_string).collect();
        line(text, format_args!("{which} {}", seeds.join(", ")));
        line(
            text,
            format_args!(
                "  look    {} run {scenario} --seed {}{}",
                crate::present::program(),
                totals.failing[0],
                match self.engine {
                    EngineKind::Event => String::new(),
                    engine => format!(" --engine {engine}"),
                }
            ),
        );
    }

    fn rate(&self) -> f64 {
        let seconds = self.took.as_secs_f64();
        if seconds > 0.0 {
            self.totals.schedules as f64 / seconds
        } else {
            0.0
        }
    }

    /// The JSON line.
    pub(crate) fn summary(&self) -> Value {
        let (totals, expect) = (self.totals, &self.scenario.expect);
        let verdicts: Map<String, Value> = totals
            .rows(expect)
            .iter()
            .map(|row| {
                let tally = row.totals.tally;
                let counts = json!({
                    "holds": tally.holds,
                    "violated": tally.violated,
                    "vacuous": tally.vacuous,
                    "first_violated": row.totals.first_violated,
                });
                (row.property.name().to_owned(), counts)
            })
            .collect();
        let faults: Map<String, Value> = totals
            .families
            .iter()
            .map(|(name, family)| {
                let counts = json!({
                    "on": family.on,
                    "fired": family.fired,
                    "overlapped": family.overlapped,
                });
                (name.to_string(), counts)
            })
            .collect();
        json!({
            "kind": "summary",
            "scenario": self.scenario.name,
            "settings": self.scenario.settings,
            "engine": self.engine.name(),
            "seeds": [self.seeds.start, self.seeds.end],
            "schedules": totals.schedules,
            "interrupted": self.ended == Ended::Interrupted,
            "as_expected": self.standing() == Standing::AsExpected,
            "standing": self.standing().to_string(),
            "verdicts": verdicts,
            "faults": faults,
            "causes": totals.causes,
            "failures": totals.failures,
            "failing": totals.failing,
            "commands": totals.commands,
            "virtual_seconds": virtual_seconds(totals),
            "wall_seconds": self.took.as_secs_f64(),
            "schedules_per_second": self.rate(),
            "digest": totals.digest().to_string(),
        })
    }
}

fn virtual_seconds(totals: &Totals) -> f64 {
    totals.virtual_time as f64 / 1e9
}
