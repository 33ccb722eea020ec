//! What people read: tables of verdicts, and the block of a run that came out otherwise.

use std::fmt::Write;
use std::path::Path;

use comfy_table::{ContentArrangement, LineStyle, Table, TableStyle};
use fencepost::expect::{Judgement, Row, Standing};
use fencepost::runner::Outcome;
use fencepost::scenario::{Expectation, Scenario};
use fencepost_checker::{Outcome as Came, Verdict};

use crate::summary::virtual_time;

/// A table in the one style of this program: columns, and a line below the header.
pub(crate) fn table(header: &[&str]) -> Table {
    let style = TableStyle::new().header_separator(LineStyle::none().fill('─').junction('─'));
    let mut table = Table::new();
    table
        .load_style(style)
        .set_content_arrangement(ContentArrangement::Dynamic)
        .set_header(header);
    table
}

pub(crate) fn came(outcome: Came) -> &'static str {
    match outcome {
        Came::Holds => "holds",
        Came::Violated => "violated",
        Came::Vacuous => "vacuous",
    }
}

pub(crate) fn expected(expectation: Option<Expectation>) -> &'static str {
    match expectation {
        Some(Expectation::Holds) => "holds",
        Some(Expectation::Violated) => "violated",
        Some(Expectation::Vacuous) => "vacuous",
        Some(Expectation::Any) => "any",
        None => "-",
    }
}

/// One run, whole: the claim, every property, what shows it, and how to see it again.
pub(crate) fn run(scenario: &Scenario, outcome: &Outcome) -> String {
    let mut text = String::new();
    let header = &outcome.history.header;
    line(
        &mut text,
        format_args!(
            "{}  seed {}  engine {}",
            scenario.name, header.seed, header.engine
        ),
    );
    for setting in &scenario.settings {
        line(&mut text, format_args!("  with {setting}"));
    }
    line(&mut text, format_args!("{}\n", scenario.claim.trim()));
    line(
        &mut text,
        format_args!("{}", verdicts(&outcome.judgement, &outcome.verdicts)),
    );
    line(&mut text, format_args!("{}", evidence(&outcome.verdicts)));
    text += &outcome.judgement.not_shown();
    let events = outcome.history.events.len();
    line(
        &mut text,
        format_args!(
            "{}: {} events in {} of virtual time, {}",
            outcome.standing(),
            events,
            virtual_time(&outcome.history),
            outcome.history.digest()
        ),
    );
    text
}

/// Every property with what is expected and what came out.
pub(crate) fn verdicts(judgement: &Judgement, verdicts: &[Verdict]) -> Table {
    let mut table = table(&["property", "expected", "came out", ""]);
    for (row, verdict) in judgement.rows.iter().zip(verdicts) {
        let note = match row.standing {
            Standing::AsExpected => verdict.vacuous_because.clone().unwrap_or_default(),
            standing => standing.to_string(),
        };
        table.add_row([
            row.property.name(),
            expected(row.expected),
            came(row.outcome),
            &note,
        ]);
    }
    table
}

/// Of every property that was violated, its first witness and the cause.
pub(crate) fn evidence(verdicts: &[Verdict]) -> String {
    let mut text = String::new();
    for verdict in verdicts
        .iter()
        .filter(|verdict| verdict.outcome == Came::Violated)
    {
        witness(&mut text, verdict);
    }
    text
}

fn witness(text: &mut String, verdict: &Verdict) {
    let Some(first) = verdict.witnesses.first() else {
        return;
    };
    line(
        text,
        format_args!("{} violated at {}", verdict.property.name(), first.at),
    );
    line(text, format_args!("  {}", first.sentence));
    if let Some(cause) = &first.cause {
        line(text, format_args!("  because {cause}"));
    }
    if verdict.violations > 1 {
        line(text, format_args!("  and {} more", verdict.violations - 1));
    }
}

/// The block of a run that came out otherwise, with the commands to paste.
pub(crate) fn failure(outcome: &Outcome, bundle: &Path) -> String {
    let mut text = String::new();
    let header = &outcome.history.header;
    let standing = outcome.standing();
    line(
        &mut text,
        format_args!(
            "{}: {standing} (seed {}, engine {})",
            header.scenario, header.seed, header.engine
        ),
    );
    text += &outcome.judgement.surprises(&outcome.verdicts);
    let program = program();
    line(
        &mut text,
        format_args!("  replay  {program} replay {}", quoted(bundle)),
    );
    let violated =
        |row: &Row| row.standing != Standing::AsExpected && row.outcome == Came::Violated;
    if outcome.judgement.rows.iter().any(violated) {
        line(
            &mut text,
            format_args!("  shrink  {program} shrink {}", quoted(bundle)),
        );
    }
    line(
        &mut text,
        format_args!(
            "  judge   {program} check {}",
            quoted(&bundle.join("history.jsonl"))
        ),
    );
    text
}

/// How this program was called.
pub(crate) fn program() -> String {
    let first = std::env::args().next();
    first.unwrap_or_else(|| "fencepost".to_owned())
}

/// A path as a shell takes it.
pub(crate) fn quoted(path: &Path) -> String {
    word(&path.display().to_string())
}

/// What a command finds a scenario by, with all that was set besides, as a shell takes it.
pub(crate) fn found_by(scenario: &Scenario) -> String {
    let settings = scenario.settings.iter();
    settings.fold(word(&scenario.address()), |words, setting| {
        format!("{words} --set {}", word(setting))
    })
}

fn word(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./+".contains(c);
    if text.chars().all(plain) {
        text.to_owned()
    } else {
        format!("'{}'", text.replace('\'', "'\\''"))
    }
}

pub(crate) fn line(text: &mut String, arguments: std::fmt::Arguments<'_>) {
    writeln!(text, "{arguments}").expect("a string can be written to");
}
