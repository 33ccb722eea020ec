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

use crate::run::Reached;

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
