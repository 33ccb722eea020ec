//! Bundles: what a failing run leaves, so that anybody can run it again.
//!
//! A bundle is a folder with `bundle.json` (scenario, plan, seed, engine, version, verdicts, digest) and
//! `history.jsonl` (every event). The plan alone re-runs: the generator may change.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::{fs, io};

use fencepost_checker::{Digest, History, Outcome, Property};
use fencepost_world::EngineKind;
use serde::{Deserialize, Serialize};

use crate::plan::Plan;
use crate::runner;

/// The version of the format of `bundle.json`.
pub const FORMAT: u32 = 1;

const RECORD: &str = "bundle.json";
const HISTORY: &str = "history.jsonl";

/// What `bundle.json` holds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Bundle {
    /// [`FORMAT`].
    pub format: u32,
    /// The build that wrote it.
    pub origin: Origin,
    /// The engine that it ran on.
    pub engine: EngineKind,
    /// The seed that drew the plan.
    pub seed: u64,
    /// The scenario's name.
    pub scenario: String,
    /// The scenario file's text; of a flip, the text of the file that it stands in.
    pub scenario_text: String,
    /// Every drawn value.
    pub plan: Plan,
    /// How every property came out.
    pub verdicts: BTreeMap<Property, Outcome>,
    /// The digest of `history.jsonl`.
    pub digest: Digest,
    /// The lock, if it was none of those that a plan names.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lock: Option<OwnLock>,
}

/// A lock of somebody's own, which only the test that left the bundle has.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct OwnLock {
    /// The name of its type.
    pub name: String,
    /// The command that runs the test with this seed.
    pub replay: String,
}

/// Which build it was: another one may run otherwise.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Origin {
    /// The version of Fencepost.
    pub version: String,
    /// The commit that it was built from, or `unknown`.
    pub commit: String,
    /// The hash of its lockfile, or `unknown`.
    pub lockfile: String,
}

impl Origin {
    /// This library, wherever it was built.
    #[must_use]
    pub fn of_library() -> Self {
        Self {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            commit: "unknown".to_owned(),
            lockfile: "unknown".to_owned(),
        }
    }
}

/// A bundle that cannot be written or used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BundleError {
    /// A file cannot be written.
    #[error("failed to write {path}: {source}")]
    Write {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A file cannot be read.
    #[error("failed to read {path}: {source}; a bundle is a folder with {RECORD} and {HISTORY}")]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// `bundle.json` is no bundle, or not all of one.
    #[error("{path} is cut off or is no bundle: {source}")]
    Broken {
        /// The file.
        path: PathBuf,
        /// Where and why.
        source: serde_json::Error,
    },
    /// The bundle has another format.
    #[error(
        "{path} has bundle format {found}, and this version reads {FORMAT}; replay it with the version that wrote it"
    )]
    Format {
        /// The file.
        path: PathBuf,
        /// Its format.
        found: u64,
    },
    /// The lock is not here.
    #[error(
        "{path} was run with {name}, which only the test that left it has; run it again with\n  {replay}"
    )]
    OwnLock {
        /// The file.
        path: PathBuf,
        /// The lock's type.
        name: String,
        /// The command.
        replay: String,
    },
    /// The history ends before the run did.
    #[error(
        "{path} is cut off after line {line}; what is there is as it was, but a run cannot be compared with it"
    )]
    CutOff {
        /// The file.
        path: PathBuf,
        /// The last whole line.
        line: usize,
    },
}

/// What came of replaying a bundle.
#[derive(Debug)]
pub enum Replay {
    /// The same history, byte for byte.
    Same(History),
    /// Another history.
    Differs(Differs),
}

/// The first line in which two histories differ.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Differs {
    /// The event's sequence number; `None` for the header.
    pub event: Option<u64>,
    /// The line that is stored; `None` if the stored history ends here.
    pub stored: Option<String>,
    /// The line of the replay; `None` if the replay ends here.
    pub replayed: Option<String>,
}

impl std::fmt::Display for Differs {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.event {
            Some(event) => writeln!(
                f,
                "the replay differs from the stored history, first at event {event}:"
            )?,
            None => writeln!(
                f,
                "the replay differs from the stored history in its header:"
            )?,
        }
        writeln!(
            f,
            "  stored:   {}",
            self.stored.as_deref().unwrap_or("(the end)")
        )?;
        write!(
            f,
            "  replayed: {}",
            self.replayed.as_deref().unwrap_or("(the end)")
        )
    }
}

impl Bundle {
    /// The bundle of a run; `scenario_text` is the text of the file that the scenario, or the flip, stands in.
    #[must_use]
    pub fn new(origin: Origin, scenario_text: &str, outcome: &runner::Outcome) -> Self {
        let runner::Outcome {
            plan,
            engine,
            history,
            verdicts,
            ..
        } = outcome;
        Self {
            format: FORMAT,
            origin,
            engine: *engine,
            seed: plan.world.seed,
            scenario: plan.scenario.clone(),
            scenario_text: scenario_text.to_owned(),
            plan: plan.clone(),
            verdicts: verdicts
                .iter()
                .map(|verdict| (verdict.property, verdict.outcome))
                .collect(),
            digest: history.digest(),
            lock: None,
        }
    }

    /// The name of the folder that it goes to: scenario, seed and engine.
    #[must_use]
    pub fn folder(&self) -> String {
        format!(
            "{}-{}-{}",
            self.scenario.replace('/', "-"),
            self.seed,
            self.engine
        )
    }

    /// Writes the bundle into a folder of its own below `out`; returns that folder. The history goes first: a folder
    /// with a `bundle.json` is whole.
    ///
    /// # Errors
    /// A folder or file cannot be written.
    pub fn write(&self, out: &Path, history: &History) -> Result<PathBuf, BundleError> {
        let folder = out.join(self.folder());
        self.write_to(&folder, history)?;
        Ok(folder)
    }

    /// Writes the bundle into that folder.
    ///
    /// # Errors
    /// A folder or file cannot be written.
    pub fn write_to(&self, folder: &Path, history: &History) -> Result<(), BundleError> {
        fs::create_dir_all(folder).map_err(|source| BundleError::Write {
            path: folder.to_owned(),
            source,
        })?;
        let record = serde_json::to_string_pretty(self).expect("a bundle is plain data");
        for (name, text) in [(HISTORY, history.to_jsonl()), (RECORD, record + "\n")] {
            let path = folder.join(name);
            fs::write(&path, text).map_err(|source| BundleError::Write { path, source })?;
        }
        Ok(())
    }

    /// Reads a bundle from its folder, or from the `bundle.json` in it.
    ///
    /// # Errors
    /// There is none, it is cut off, or it has another format.
    pub fn read(path: &Path) -> Result<Self, BundleError> {
        let path = record_path(path);
        let text = read(&path)?;
        let broken = |source| BundleError::Broken {
            path: path.clone(),
            source,
        };
        // The format first: another one may have other fields.
        let format =
            serde_json::from_str::<serde_json::Value>(&text).map_err(broken)?["format"].as_u64();
        match format {
            Some(format) if format != u64::from(FORMAT) => Err(BundleError::Format {
                path,
                found: format,
            }),
            _ => serde_json::from_str(&text).map_err(broken),
        }
    }

    /// Whether the plan is all that it takes to run the bundle at `path` again.
    ///
    /// # Errors
    /// It was run with a lock of somebody's own.
    pub fn by_plan_alone(&self, path: &Path) -> Result<(), BundleError> {
        match &self.lock {
            None => Ok(()),
            Some(OwnLock { name, replay }) => Err(BundleError::OwnLock {
                path: record_path(path),
                name: name.clone(),
                replay: replay.clone(),
            }),
        }
    }

    /// Runs the plan again and compares with the history that is stored beside the `bundle.json` at `path`.
    ///
    /// # Errors
    /// The stored history cannot be read or is cut off, or the bundle is of a lock of somebody's own.
    pub fn replay(&self, path: &Path) -> Result<Replay, BundleError> {
        self.by_plan_alone(path)?;
        let stored_path = record_path(path).with_file_name(HISTORY);
        let stored = read(&stored_path)?;
        let history = runner::run(&self.plan, self.engine);
        let replayed = history.to_jsonl();
        if stored == replayed {
            return Ok(Replay::Same(history));
        }
        if replayed.starts_with(&stored) {
            let line = stored.matches('\n').count();
            return Err(BundleError::CutOff {
                path: stored_path,
                line,
            });
        }
        Ok(Replay::Differs(first_difference(&stored, &replayed)))
    }
}

fn record_path(path: &Path) -> PathBuf {
    if path.is_dir() {
        path.join(RECORD)
    } else {
        path.to_owned()
    }
}

/// Bytes that are no UTF-8 are shown as what they are not: a history with them differs from every replay.
fn read(path: &Path) -> Result<String, BundleError> {
    let bytes = fs::read(path).map_err(|source| BundleError::Read {
        path: path.to_owned(),
        source,
    })?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// By lines of text, because a byte that was changed need not leave an event behind.
fn first_difference(stored: &str, replayed: &str) -> Differs {
    let (mut stored, mut replayed) = (stored.split('\n'), replayed.split('\n'));
    let mut line = 0_u64;
    loop {
        let (old, new) = (stored.next(), replayed.next());
        if old != new || old.is_none() {
            let whole =
                |line: Option<&str>| line.filter(|line| !line.is_empty()).map(str::to_owned);
            return Differs {
                event: line.checked_sub(1),
                stored: whole(old),
                replayed: whole(new),
            };
        }
        line += 1;
    }
}
