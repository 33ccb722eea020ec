//! Results as a file: a header and a line for each seed, written as they come, so that nothing is lost.

use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};

use fencepost_checker::{Digest, Property, digest::digest_of};
use fencepost_world::EngineKind;
use serde::{Deserialize, Serialize};

use super::{SeedResult, Shard, StopOn, Sweep};
use crate::bundle::Origin;
use crate::scenario::Scenario;

/// The version of the format.
pub const FORMAT: u32 = 1;

/// How the name of every file of results ends.
const ENDING: &str = ".sweep.jsonl";

/// The first line of a file of results: what was swept, by which build, and which part of it this is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Header {
    /// [`FORMAT`].
    pub format: u32,
    /// The build that ran it.
    pub origin: Origin,
    /// The scenario's name.
    pub scenario: String,
    /// What it is [found](Scenario::find) by.
    pub address: String,
    /// What was [set](Scenario::with) besides.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub settings: Vec<String>,
    /// The digest of the scenario's text.
    pub text: Digest,
    /// The engine that it ran on.
    pub engine: EngineKind,
    /// The seeds of all shards together.
    pub seeds: Range<u64>,
    /// Which part this is.
    pub shard: Shard,
    /// What the letters of each line stand for, in order.
    pub properties: Vec<Property>,
}

/// Results that cannot be written, read or merged.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// A file cannot be written.
    #[error("failed to write {path}: {source}")]
    Write {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A file or folder cannot be read.
    #[error("failed to read {path}: {source}")]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A line is no result, or a first line no header.
    #[error("{path}, line {line}: {source}")]
    Broken {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// What is wrong with it.
        source: serde_json::Error,
    },
    /// There are no results.
    #[error("{path} has no results: they are in files called *{ENDING}")]
    Nothing {
        /// The folder.
        path: PathBuf,
    },
    /// Two files are not of one sweep.
    #[error("{one} and {other} are not parts of one sweep: they differ in {what}")]
    Mixed {
        /// The one file.
        one: PathBuf,
        /// The other file.
        other: PathBuf,
        /// In what.
        what: &'static str,
    },
    /// Two files are the same part.
    #[error("{one} and {other} are both part {shard}")]
    Twice {
        /// The one file.
        one: PathBuf,
        /// The other file.
        other: PathBuf,
        /// Which part.
        shard: Shard,
    },
    /// A part is not there.
    #[error("part {shard} is missing, with the seeds {}..{}: sweep it with --shard {shard}", seeds.start, seeds.end)]
    Missing {
        /// Which part.
        shard: Shard,
        /// Its seeds.
        seeds: Range<u64>,
    },
    /// A part ends too early, or a seed is not where it belongs.
    #[error("{path} has not what should follow from seed {seed} on: sweep part {shard} again")]
    Gap {
        /// The file.
        path: PathBuf,
        /// The seed that should be there.
        seed: u64,
        /// Which part it is.
        shard: Shard,
    },
}

impl Header {
    /// The header of one part of a sweep.
    #[must_use]
    pub fn new(origin: Origin, sweep: &Sweep<'_>, all: Range<u64>, shard: Shard) -> Self {
        Self {
            format: FORMAT,
            origin,
            scenario: sweep.scenario.name.clone(),
            address: sweep.scenario.address(),
            settings: sweep.scenario.settings.clone(),
            text: digest_of(sweep.scenario.text.as_bytes()),
            engine: sweep.engine,
            seeds: all,
            shard,
            properties: Property::ALL.to_vec(),
        }
    }

    /// Whether the results are of this very scenario.
    #[must_use]
    pub fn is_of(&self, scenario: &Scenario) -> bool {
        self.scenario == scenario.name && self.text == digest_of(scenario.text.as_bytes())
    }

    /// The name of the file: scenario, engine, seeds and part.
    #[must_use]
    pub fn file(&self) -> String {
        let part = match self.shard {
            Shard::WHOLE => String::new(),
            shard => format!("-{}of{}", shard.index(), shard.count()),
        };
        format!(
            "{}-{}-{}-{}{part}{ENDING}",
            self.scenario.replace('/', "-"),
            self.engine,
            self.seeds.start,
            self.seeds.end
        )
    }

    /// In what another file is of another sweep.
    fn differs(&self, other: &Self) -> Option<&'static str> {
        let differences = [
            (self.scenario != other.scenario, "their scenario"),
            (self.text != other.text, "the text of their scenario"),
            (self.engine != other.engine, "their engine"),
            (self.seeds != other.seeds, "the range of all seeds"),
            (self.origin != other.origin, "the build that ran them"),
            (
                self.shard.count() != other.shard.count(),
                "the number of parts",
            ),
            (self.properties != other.properties, "their properties"),
        ];
        let mut found = differences.into_iter().filter(|(differs, _)| *differs);
        found.next().map(|(_, what)| what)
    }
}

/// Writes results as they come.
#[derive(Debug)]
pub struct Writer {
    path: PathBuf,
    file: File,
}

impl Writer {
    /// A new file below `folder`, in place of an older one of the same sweep.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn create(folder: &Path, header: &Header) -> Result<Self, StoreError> {
        let path = folder.join(header.file());
        let file = fs::create_dir_all(folder).and_then(|()| File::create(&path));
        let file = file.map_err(|source| StoreError::Write {
            path: path.clone(),
            source,
        })?;
        let mut writer = Self { path, file };
        writer.line(header)?;
        Ok(writer)
    }

    /// The file.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Adds a result. Once this returns, the end of the process loses it no more.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn add(&mut self, result: &SeedResult) -> Result<(), StoreError> {
        self.line(result)
    }

    fn line(&mut self, value: &impl Serialize) -> Result<(), StoreError> {
        let mut line = serde_json::to_vec(value).expect("results are plain data");
        line.push(b'\n');
        // In one piece: what follows a full disk is a whole line too few.
        self.file
            .write_all(&line)
            .map_err(|source| StoreError::Write {
                path: self.path.clone(),
                source,
            })
    }
}

/// A file of results, read line by line.
#[derive(Debug)]
pub struct Results {
    path: PathBuf,
    header: Header,
    lines: io::Lines<BufReader<File>>,
    line: usize,
}

impl Results {
    /// Opens a file.
    ///
    /// # Errors
    /// It cannot be read, or is no file of results.
    pub fn open(path: &Path) -> Result<Self, StoreError> {
        let unreadable = |source| StoreError::Read {
            path: path.to_owned(),
            source,
        };
        let mut lines = BufReader::new(File::open(path).map_err(unreadable)?).lines();
        let first = lines.next().transpose().map_err(unreadable)?;
        let header = serde_json::from_str(&first.unwrap_or_default());
        Ok(Self {
            header: header.map_err(|source| StoreError::Broken {
                path: path.to_owned(),
                line: 1,
                source,
            })?,
            path: path.to_owned(),
            lines,
            line: 1,
        })
    }

    /// All files in a folder, or the one file, by their names.
    ///
    /// # Errors
    /// There is none, or one of them cannot be read.
    pub fn all(path: &Path) -> Result<Vec<Self>, StoreError> {
        if path.is_file() {
            return Ok(vec![Self::open(path)?]);
        }
        let unreadable = |source| StoreError::Read {
            path: path.to_owned(),
            source,
        };
        let entries: Result<Vec<_>, io::Error> = fs::read_dir(path).map_err(unreadable)?.collect();
        let mut files: Vec<PathBuf> = entries
            .map_err(unreadable)?
            .into_iter()
            .map(|entry| entry.path())
            .filter(|path| path.to_string_lossy().ends_with(ENDING))
            .collect();
        files.sort();
        if files.is_empty() {
            return Err(StoreError::Nothing {
                path: path.to_owned(),
            });
        }
        files.iter().map(|file| Self::open(file)).collect()
    }

    /// What was swept.
    #[must_use]
    pub fn header(&self) -> &Header {
        &self.header
    }

    fn gap(&self, seed: u64) -> StoreError {
        StoreError::Gap {
            path: self.path.clone(),
            seed,
            shard: self.header.shard,
        }
    }
}

impl Iterator for Results {
    type Item = Result<SeedResult, StoreError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.line += 1;
        Some(match self.lines.next()? {
            Ok(line) => serde_json::from_str(&line).map_err(|source| StoreError::Broken {
                path: self.path.clone(),
                line: self.line,
                source,
            }),
            Err(source) => Err(StoreError::Read {
                path: self.path.clone(),
                source,
            }),
        })
    }
}

/// All parts of one sweep, in order.
#[derive(Debug)]
pub struct Merge {
    parts: Vec<Results>,
}

impl Merge {
    /// Puts parts together.
    ///
    /// # Errors
    /// They are not all the parts of one sweep, each once. What is missing because an earlier part was to end the sweep
    /// is not told here.
    pub fn of(mut parts: Vec<Results>) -> Result<Self, StoreError> {
        parts.sort_by_key(|part| part.header.shard);
        for pair in parts.windows(2) {
            let (one, other) = (&pair[0], &pair[1]);
            if let Some(what) = one.header.differs(&other.header) {
                return Err(StoreError::Mixed {
                    one: one.path.clone(),
                    other: other.path.clone(),
                    what,
                });
            }
            if one.header.shard == other.header.shard {
                return Err(StoreError::Twice {
                    one: one.path.clone(),
                    other: other.path.clone(),
                    shard: one.header.shard,
                });
            }
        }
        Ok(Self { parts })
    }

    /// What was swept; nothing if there are no parts.
    #[must_use]
    pub fn header(&self) -> Option<&Header> {
        self.parts.first().map(Results::header)
    }

    /// Gives every result to `take` in order of the seeds, up to the failure that ends the sweep.
    ///
    /// # Errors
    /// A part is missing or cut off, or cannot be read.
    pub fn read(self, stop_on: StopOn, mut take: impl FnMut(SeedResult)) -> Result<(), StoreError> {
        let Some(header) = self.header().cloned() else {
            return Ok(());
        };
        let (mut failures, mut parts) = (0, self.parts.into_iter());
        for index in 0..header.shard.count() {
            let shard = Shard::new(index, header.shard.count()).expect("an index below the count");
            let seeds = shard.of(&header.seeds);
            let mut part = parts
                .next()
                .filter(|part| part.header.shard == shard)
                .ok_or_else(|| StoreError::Missing {
                    shard,
                    seeds: seeds.clone(),
                })?;
            for seed in seeds.clone() {
                let result = match part.next() {
                    Some(Ok(result)) if result.seed == seed => result,
                    Some(Ok(_)) | None => return Err(part.gap(seed)),
                    // A line that was cut off is one that was not written.
                    Some(Err(StoreError::Broken { source, .. })) if source.is_eof() => {
                        return Err(part.gap(seed));
                    }
                    Some(Err(error)) => return Err(error),
                };
                failures += u64::from(result.failed());
                take(result);
                if stop_on.reached(failures) {
                    return Ok(());
                }
            }
            if let Some(more) = part.next() {
                return Err(more.err().unwrap_or_else(|| part.gap(seeds.end)));
            }
        }
        Ok(())
    }
}
