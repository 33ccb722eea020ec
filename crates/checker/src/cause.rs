//! How a violation came about, derived from the history: host and fault, in one sentence.

mod absence;
mod clocks;
mod collision;
mod failover;
mod key;
mod progress;
mod tokens;

pub(crate) use absence::{foreign_command, intrusion, late_decision, stale_write};
pub(crate) use collision::collision;
pub(crate) use progress::{blocked, loss, lost_update, refused};
pub(crate) use tokens::token_order;

use std::collections::BTreeSet;

use crate::history::Name;
use crate::run::Reached;

/// How a violation came about.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Cause {
    pub(crate) sentence: String,
    /// The families of the faults that it lays it on.
    pub(crate) faults: BTreeSet<Name>,
}

impl From<String> for Cause {
    fn from(sentence: String) -> Self {
        Self {
            sentence,
            faults: BTreeSet::new(),
        }
    }
}

impl Cause {
    /// Lays it on a fault of this family, too.
    fn laid_on(mut self, family: impl Into<Name>) -> Self {
        self.faults.insert(family.into());
        self
    }

    /// Both at once.
    fn and(mut self, other: Self) -> Self {
        self.sentence = format!("{}; {}", self.sentence, other.sentence);
        self.faults.extend(other.faults);
        self
    }
}

/// Why a resource refused an acquisition than which it had registered only older ones.
pub(crate) fn refusal(operation: &Reached<'_>, registered_itself: bool) -> Option<String> {
    let (resource, client) = (operation.resource, &operation.by.owner.client);
    Some(if registered_itself {
        format!(
            "{resource} had registered this acquisition of {client} itself: its check asks for a larger token each time"
        )
    } else {
        format!(
            "{resource} had a token of an older acquisition that is not smaller than that of {client}: tokens did not grow"
        )
    })
}
