//! The scenarios that the crate brings along, so that the binary needs no files.

use std::path::Path;

use super::error::{Problem, ScenarioError, nearest};
use super::{Flip, Scenario};

/// `(name, text)` of every file below `scenarios/`, in order of their names; written by `build.rs`.
const FILES: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/catalogue.rs"));

/// Folder of the scenarios that are wrong on purpose, so that the pipeline is known to report.
const CANARIES: &str = "canary/";

/// Every scenario that is to come out as expected: all but the canaries.
///
/// # Panics
///
/// Never in a build whose tests pass: they read every file.
#[must_use]
pub fn catalogue() -> Vec<Scenario> {
    let files = FILES.iter().filter(|(name, _)| !name.starts_with(CANARIES));
    files
        .map(|(name, text)| embedded_one(name, text).unwrap_or_else(|error| panic!("{error}")))
        .collect()
}

/// The scenarios of the catalogue that come out alike in every schedule: all but those with random faults.
#[must_use]
pub fn scripted() -> Vec<Scenario> {
    let mut all = catalogue();
    all.retain(|scenario| scenario.swarm.is_none());
    all
}

/// Names and texts of all files that the crate brings along, canaries included.
#[must_use]
pub fn embedded() -> &'static [(&'static str, &'static str)] {
    FILES
}

fn embedded_one(name: &str, text: &str) -> Result<Scenario, ScenarioError> {
    Scenario::parse(name, &format!("scenarios/{name}.toml"), text)
}

pub(super) fn load(path: &str) -> Result<Scenario, ScenarioError> {
    let text = std::fs::read_to_string(path)
        .map_err(|error| bare(format!("cannot read `{path}`: {error}"), None))?;
    Scenario::parse(&name_of(Path::new(path)), path, &text)
}

/// The stem; below a folder called `scenarios`, with the folders in between.
fn name_of(path: &Path) -> String {
    let stem = path.with_extension("");
    let parts: Vec<String> = stem
        .iter()
        .map(|part| part.to_string_lossy().into_owned())
        .collect();
    let below = parts
        .iter()
        .rposition(|part| part == "scenarios")
        .map_or(parts.len().saturating_sub(1), |at| at + 1);
    parts[below.min(parts.len())..].join("/")
}

pub(super) fn find(name: &str) -> Result<Scenario, ScenarioError> {
    if let Some((known, text)) = FILES.iter().find(|(known, _)| *known == name) {
        return embedded_one(known, text);
    }
    if let Some((base, number)) = name.rsplit_once("/flip-") {
        return flip(find(base)?, number);
    }
    if name.ends_with(".toml") || Path::new(name).is_file() {
        return load(name);
    }
    let known = FILES.iter().map(|(known, _)| *known);
    Err(bare(
        format!("there is no scenario `{name}`"),
        nearest(name, known),
    ))
}

fn flip(scenario: Scenario, number: &str) -> Result<Scenario, ScenarioError> {
    let count = scenario.flips.len();
    let index = number
        .parse::<usize>()
        .ok()
        .and_then(|number| number.checked_sub(1));
    let mut flips = scenario.flips;
    match index.filter(|index| *index < count) {
        Some(index) => {
            let Flip { scenario, .. } = flips.swap_remove(index);
            Ok(scenario)
        }
        None => Err(bare(
            format!("`{}` has no flip {number}", scenario.name),
            Some(format!("it has {count}")),
        )),
    }
}

fn bare(message: String, help: Option<String>) -> ScenarioError {
    ScenarioError::without_place(Problem {
        span: None,
        message,
        help,
        flip: None,
    })
}
