//! Results as JUnit XML, which CI systems show: a suite for each scenario, a case for each property that it judges.

use std::path::Path;
use std::time::Duration;

use anyhow::Context;
use fencepost::expect::{Row, Standing};
use fencepost::runner::Outcome;
use fencepost::scenario::{Expectation, Scenario};
use fencepost_checker::Verdict;
use quick_junit::{NonSuccessKind, Report, TestCase, TestCaseStatus, TestSuite};

use crate::present::{came, evidence, expected, found_by};
use crate::totals::Swept;

/// A report in the making, if it is asked for.
pub(crate) struct Junit<'a> {
    path: Option<&'a Path>,
    report: Report,
}

impl<'a> Junit<'a> {
    /// A report that will be written there.
    pub(crate) fn new(path: Option<&'a Path>) -> Self {
        let report = Report::new("fencepost");
        Self { path, report }
    }

    /// Adds one run.
    pub(crate) fn run(&mut self, scenario: &Scenario, outcome: &Outcome, took: Duration) {
        let (seed, engine) = (outcome.plan.world.seed, outcome.engine);
        let replay = format!(
            "replay {} --seed {seed} --engine {engine}",
            found_by(scenario)
        );
        let rows = outcome.judgement.rows.iter().zip(&outcome.verdicts);
        let judged = rows.filter(|(row, _)| is_judged(row.expected));
        let mut cases: Vec<TestCase> = judged
            .map(|(row, verdict)| case(row.property.name(), of_run(row, verdict, &replay)))
            .collect();
        if !scenario.expect.facts.is_empty() || !outcome.judgement.unmet.is_empty() {
            let not_shown = outcome.judgement.not_shown();
            let status = if not_shown.is_empty() {
                TestCaseStatus::success()
            } else {
                failure(
                    "vacuous",
                    "a fact was not met".to_owned(),
                    &not_shown,
                    &replay,
                )
            };
            cases.push(case("facts", status));
        }
        self.suite(scenario, took, cases);
    }

    /// Adds a sweep.
    pub(crate) fn sweep(&mut self, swept: &Swept<'_>) {
        let scenario = swept.scenario;
        let rows = swept.totals.rows(&scenario.expect);
        let judged = rows.iter().filter(|row| is_judged(row.expected));
        let mut cases: Vec<TestCase> = judged
            .map(|row| {
                let tally = row.totals.tally;
                let message = format!(
                    "expected {}: held in {}, was violated in {}, was vacuous in {} schedules",
                    expected(row.expected),
                    tally.holds,
                    tally.violated,
                    tally.vacuous
                );
                let first = row.totals.first_violated;
                let look = first.map_or_else(String::new, |seed| {
                    format!("run {} --seed {seed}", found_by(scenario))
                });
                let status = match row.standing {
                    None => skipped(format!("too few schedules to judge it: {message}")),
                    Some(Standing::AsExpected) => TestCaseStatus::success(),
                    Some(standing) => failure(&standing.to_string(), message, "", &look),
                };
                case(row.property.name(), status)
            })
            .collect();
        let standing = swept.standing();
        cases.push(case(
            "all schedules",
            match standing {
                Standing::AsExpected => TestCaseStatus::success(),
                standing => failure(&standing.to_string(), swept.ending(), "", ""),
            },
        ));
        self.suite(scenario, swept.took, cases);
    }

    fn suite(&mut self, scenario: &Scenario, took: Duration, cases: Vec<TestCase>) {
        let mut suite = TestSuite::new(&*scenario.name);
        for mut case in cases {
            case.set_classname(&*scenario.name);
            suite.add_test_case(case);
        }
        suite.set_time(took);
        for setting in &scenario.settings {
            suite.add_property(("set", &**setting));
        }
        self.report.add_test_suite(suite);
    }

    /// Writes it.
    ///
    /// # Errors
    /// The file cannot be written.
    pub(crate) fn write(&self) -> anyhow::Result<()> {
        let Some(path) = self.path else { return Ok(()) };
        let text = self.report.to_string().context("no XML can say this")?;
        std::fs::write(path, text).with_context(|| format!("failed to write {}", path.display()))
    }
}

/// Whether a property is judged, and not only reported.
fn is_judged(expectation: Option<Expectation>) -> bool {
    !matches!(expectation, None | Some(Expectation::Any))
}

fn of_run(row: &Row, verdict: &Verdict, replay: &str) -> TestCaseStatus {
    if row.standing == Standing::AsExpected {
        return TestCaseStatus::success();
    }
    let message = format!(
        "expected {}, came out {}",
        expected(row.expected),
        came(row.outcome)
    );
    let why = verdict.vacuous_because.clone().unwrap_or_default();
    let told = evidence(std::slice::from_ref(verdict)) + &why;
    failure(&row.standing.to_string(), message, &told, replay)
}

fn case(name: &str, status: TestCaseStatus) -> TestCase {
    TestCase::new(name, status)
}

fn failure(kind: &str, message: String, told: &str, command: &str) -> TestCaseStatus {
    let mut status = TestCaseStatus::non_success(NonSuccessKind::Failure);
    status.set_type(kind).set_message(message);
    let command = match command {
        "" => String::new(),
        command => format!("\nfencepost {command}\n"),
    };
    let description = format!("{told}{command}");
    if !description.is_empty() {
        status.set_description(description);
    }
    status
}

fn skipped(message: String) -> TestCaseStatus {
    let mut status = TestCaseStatus::skipped();
    status.set_message(message);
    status
}
