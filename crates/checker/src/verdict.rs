//! What a judge says: the outcome, and the events that show it.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::cause::Cause;
use crate::clock::Time;
use crate::history::Name;
use crate::property::Property;
use crate::span::Position;

/// How many witnesses a verdict carries at most; [`Verdict::violations`] counts them all.
pub const MAX_WITNESSES: usize = 10;

/// How a property came out in one run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// It was put to the test and held.
    Holds,
    /// It was broken at least once.
    Violated,
    /// Nothing in the run could have broken it.
    Vacuous,
}

/// What became of one property.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub struct Verdict {
    /// Which property.
    pub property: Property,
    /// How it came out.
    pub outcome: Outcome,
    /// How often it was broken.
    pub violations: u64,
    /// The first violations, at most [`MAX_WITNESSES`]; or one example of what was put to the test.
    pub witnesses: Vec<Witness>,
    /// What would have had to happen.
    pub vacuous_because: Option<String>,
}

/// Something that happened and what it shows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Witness {
    /// When it showed.
    pub at: Time,
    /// The sequence numbers of the events that show it.
    pub events: Vec<u64>,
    /// What happened.
    pub sentence: String,
    /// How it could come to that, where the history tells.
    pub cause: Option<String>,
    /// The families of faults that the cause lays it on, such as `clock-step`; empty where it lies in the lock itself.
    /// Derived for `mutual-exclusion` alone.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub faults: Vec<Name>,
}

impl Witness {
    /// A witness that shows at `place`, with the events that led to it before it.
    pub(crate) fn new(
        place: impl Into<Position>,
        before: impl IntoIterator<Item = u64>,
        sentence: String,
    ) -> Self {
        let place = place.into();
        let events = before.into_iter().chain([place.seq]).collect();
        Self {
            at: place.at,
            events,
            sentence,
            cause: None,
            faults: Vec::new(),
        }
    }

    pub(crate) fn because(self, cause: Option<impl Into<Cause>>) -> Self {
        let Some(Cause { sentence, faults }) = cause.map(Into::into) else {
            return self;
        };
        Self {
            cause: Some(sentence),
            faults: faults.into_iter().collect(),
            ..self
        }
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Holds => "holds",
            Self::Violated => "violated",
            Self::Vacuous => "vacuous",
        })
    }
}

/// Collects violations while a judge reads a run, and gives the verdict in the end.
pub(crate) struct Bench {
    violations: u64,
    witnesses: Vec<Witness>,
    example: Option<Witness>,
    exercised: bool,
}

impl Bench {
    pub(crate) fn new() -> Self {
        Self {
            violations: 0,
            witnesses: Vec::new(),
            example: None,
            exercised: false,
        }
    }

    /// Takes a violation. The witness is made only if it is kept, since causes cost time.
    pub(crate) fn violation(&mut self, witness: impl FnOnce() -> Witness) {
        self.violations += 1;
        if self.witnesses.len() < MAX_WITNESSES {
            self.witnesses.push(witness());
        }
    }

    /// Notes that the property was put to the test. The first example is kept.
    pub(crate) fn exercised(&mut self, example: impl FnOnce() -> Witness) {
        if !self.exercised {
            self.exercised = true;
            self.example = Some(example());
        }
    }

    pub(crate) fn verdict(self, property: Property, vacuous_because: &str) -> Verdict {
        let (outcome, witnesses) = match self {
            Self {
                violations: 1..,
                witnesses,
                ..
            } => (Outcome::Violated, witnesses),
            Self {
                exercised: true,
                example,
                ..
            } => (Outcome::Holds, example.into_iter().collect()),
            _ => (Outcome::Vacuous, Vec::new()),
        };
        let vacuous_because = (outcome == Outcome::Vacuous).then(|| vacuous_because.to_owned());
        Verdict {
            property,
            outcome,
            violations: self.violations,
            witnesses,
            vacuous_because,
        }
    }
}
