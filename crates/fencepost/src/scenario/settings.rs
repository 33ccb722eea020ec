//! Settings: values laid over a scenario from outside, as a flip lays its own over it.
//!
//! They are written behind the file's text, a table `[[set]]` each, so that the text alone is still the scenario, and an
//! error points at the setting.

use std::fmt::Write;

use sha2::{Digest, Sha256};
use toml::de::{DeTable, DeValue};

use super::ScenarioError;
use super::error::Problem;
use super::flip::{into_table, merge, remove};

/// What stands before each setting.
const TABLE: &str = "\n[[set]]\n";

/// `KEY=VALUE` as a line of TOML. A value that is none by itself is a string: `redlock`, `10s`.
pub(super) fn line(setting: &str) -> Result<String, ScenarioError> {
    let wrong = |message: String| {
        ScenarioError::without_place(Problem {
            span: None,
            message,
            help: Some("a setting is KEY=VALUE, such as system.ttl=10s or pause=[]".to_owned()),
            flip: None,
        })
    };
    let (key, value) = setting
        .split_once('=')
        .map(|(key, value)| (key.trim(), value.trim()))
        .ok_or_else(|| wrong(format!("`{setting}` sets nothing")))?;
    if key.contains(['\n', '\r']) || !is_one_entry(&format!("{key} = 0")) {
        return Err(wrong(format!("`{key}` is no key")));
    }
    let line = format!("{key} = {value}");
    if is_one_entry(&line) {
        return Ok(line);
    }
    if value.starts_with(['[', '{', '"', '\'']) {
        return Err(wrong(format!("`{value}` is no value of TOML")));
    }
    Ok(format!("{key} = {}", toml::Value::from(value)))
}

fn is_one_entry(text: &str) -> bool {
    text.parse::<toml::Table>()
        .is_ok_and(|table| table.len() == 1)
}

/// A text with these lines laid over it.
pub(super) fn append(text: &str, lines: &[String]) -> String {
    let mut text = text.to_owned();
    for line in lines {
        writeln!(text, "{TABLE}{line}").expect("it is a string");
    }
    text
}

/// Whether `text` is `file` with nothing but settings behind it.
pub(super) fn is_of(text: &str, file: &str) -> bool {
    text.strip_prefix(file)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with(TABLE))
}

/// Whether a setting only says what is expected: the runs are those of the scenario without it.
pub(crate) fn is_expectation(line: &str) -> bool {
    let key = line.trim_start_matches(['"', '\'']);
    key.strip_prefix("expect")
        .is_some_and(|rest| rest.starts_with([' ', '.', '"', '\'']))
}

/// What tells the names of a scenario's variants apart, as far as they run otherwise.
pub(super) fn suffix(lines: &[String]) -> String {
    let lines: Vec<&str> = lines
        .iter()
        .map(|line| &**line)
        .filter(|line| !is_expectation(line))
        .collect();
    if lines.is_empty() {
        return String::new();
    }
    let hash = hex::encode(Sha256::digest(lines.join("\n")));
    format!("+{}", &hash[..8])
}

/// Takes the settings out of a document.
pub(super) fn take<'a>(root: &mut DeTable<'a>) -> Result<Vec<DeTable<'a>>, Problem> {
    let Some(settings) = remove(root, "set") else {
        return Ok(Vec::new());
    };
    let span = settings.span();
    match settings.into_inner() {
        DeValue::Array(settings) => settings.into_iter().map(into_table).collect(),
        _ => Err(Problem::new(
            span,
            "wrong type: settings are tables `[[set]]`",
        )),
    }
}

/// Lays settings over a document, the last on top.
pub(super) fn lay<'a>(settings: &[DeTable<'a>], mut over: DeTable<'a>) -> DeTable<'a> {
    for setting in settings {
        merge(&mut over, setting.clone());
    }
    over
}
