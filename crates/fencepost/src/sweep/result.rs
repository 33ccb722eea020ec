//! What is kept of one seed: as little as its sweep, and a merge of sweeps, need.

use std::collections::BTreeMap;

use fencepost_checker::history::{Name, What};
use fencepost_checker::{Digest, Outcome as Came, Property};
use serde::{Deserialize, Serialize};

use crate::expect::Standing;
use crate::runner::Outcome;

/// One schedule of a sweep.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct SeedResult {
    /// The seed.
    pub seed: u64,
    /// The digest of its history.
    pub digest: Digest,
    /// What it came to by itself.
    pub standing: Standing,
    /// How each property came out; in a file one letter for each, since there may be a million lines.
    #[serde(with = "letters")]
    pub verdicts: BTreeMap<Property, Came>,
    /// The families of faults that its plan has.
    pub faults: BTreeMap<Name, SeedFamily>,
    /// Of each violation of mutual exclusion, the families of faults that its cause lays it on, joined by `+`; nothing
    /// if it lies in the lock itself. Of more than ten the first ten.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub causes: Vec<String>,
    /// How many commands nodes carried out on lock keys.
    pub commands: u64,
    /// How long it was in virtual time, in nanoseconds.
    pub virtual_time: u64,
}

/// The faults of one family in one plan: how many there are, how many took effect, and how many did so, or were in
/// force, while somebody held a lock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SeedFamily(pub u64, pub u64, pub u64);

impl SeedResult {
    /// What is kept of a run.
    #[must_use]
    pub fn of(outcome: &Outcome) -> Self {
        let events = &outcome.history.events;
        let command = |what: &What| matches!(what, What::Command { .. });
        Self {
            seed: outcome.plan.world.seed,
            digest: outcome.history.digest(),
            standing: outcome.standing(),
            verdicts: outcome
                .verdicts
                .iter()
                .map(|verdict| (verdict.property, verdict.outcome))
                .collect(),
            faults: families(outcome),
            causes: causes(outcome),
            commands: count(events.iter().filter(|event| command(&event.what)).count()),
            virtual_time: events.last().map_or(0, |event| event.at.0),
        }
    }

    /// Whether the schedule by itself came out otherwise than expected, or shows nothing where it should.
    #[must_use]
    pub fn failed(&self) -> bool {
        self.standing != Standing::AsExpected
    }
}

fn families(outcome: &Outcome) -> BTreeMap<Name, SeedFamily> {
    let mut families: BTreeMap<Name, SeedFamily> = BTreeMap::new();
    for fault in &outcome.plan.world.faults {
        families
            .entry(Name::from(fault.action.family()))
            .or_default()
            .0 += 1;
    }
    for (family, exposure) in &outcome.exposure {
        let family = families.entry(family.clone()).or_default();
        (family.1, family.2) = (exposure.fired, exposure.overlapped);
    }
    families
}

fn causes(outcome: &Outcome) -> Vec<String> {
    let of_leases = outcome
        .verdicts
        .iter()
        .filter(|verdict| verdict.property == Property::MutualExclusion);
    of_leases
        .filter(|verdict| verdict.outcome == Came::Violated)
        .flat_map(|verdict| &verdict.witnesses)
        .map(|witness| witness.faults.join("+"))
        .collect()
}

fn count(number: usize) -> u64 {
    u64::try_from(number).unwrap_or(u64::MAX)
}

/// Verdicts as text: a letter for each property, in the order of [`Property::ALL`].
mod letters {
    use std::collections::BTreeMap;

    use fencepost_checker::{Outcome as Came, Property};
    use serde::{Deserialize, Deserializer, Serializer, de};

    const LETTERS: [(char, Came); 3] = [
        ('h', Came::Holds),
        ('v', Came::Violated),
        ('-', Came::Vacuous),
    ];
    /// Of a property that was not judged.
    const NONE: char = ' ';

    pub(super) fn serialize<S: Serializer>(
        verdicts: &BTreeMap<Property, Came>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        let letter = |property| {
            let came = verdicts.get(property)?;
            let known = LETTERS.iter().find(|(_, known)| known == came)?;
            Some(known.0)
        };
        let all = Property::ALL.iter();
        serializer.collect_str(
            &all.map(|one| letter(one).unwrap_or(NONE))
                .collect::<String>(),
        )
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<BTreeMap<Property, Came>, D::Error> {
        let text = String::deserialize(deserializer)?;
        if text.chars().count() != Property::ALL.len() {
            let expected = format!("{} letters, one a property", Property::ALL.len());
            return Err(de::Error::invalid_length(text.len(), &&*expected));
        }
        let mut verdicts = BTreeMap::new();
        for (property, letter) in Property::ALL.iter().zip(text.chars()) {
            match LETTERS.iter().find(|(known, _)| *known == letter) {
                Some((_, came)) => _ = verdicts.insert(*property, *came),
                None if letter == NONE => {}
                None => {
                    return Err(de::Error::custom(format!(
                        "no verdict is called `{letter}`"
                    )));
                }
            }
        }
        Ok(verdicts)
    }
}
