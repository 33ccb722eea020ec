//! Facts about replicas and what becomes of them.

use fencepost_checker::History;
use fencepost_checker::history::{Did, What};

/// Where in the history the node was promoted.
pub(super) fn promoted(history: &History, node: &str) -> Result<usize, String> {
    let own =
        |what: &What| matches!(what, What::Promoted { node: promoted } if &**promoted == node);
    let place = history.events.iter().position(|event| own(&event.what));
    place.ok_or_else(|| match nobody(history) {
        Ok(()) => "nobody was promoted".to_owned(),
        Err(other) => other,
    })
}

pub(super) fn nobody(history: &History) -> Result<(), String> {
    let found = history.events.iter().find_map(|event| match &event.what {
        What::Promoted { node } => Some(format!("{node} was promoted at {}", event.at)),
        _ => None,
    });
    found.map_or(Ok(()), Err)
}

/// No lock key had come to the node by then, or what had come was gone again.
pub(super) fn lacked(history: &History, node: &str) -> Result<(), String> {
    let place = promoted(history, node)?;
    let last = history.events[..place]
        .iter()
        .rev()
        .find_map(|event| match &event.what {
            What::Command {
                node: own,
                key,
                did,
                ..
            } if &**own == node => match did {
                Did::Created | Did::Overwritten | Did::ExpiryChanged | Did::Read | Did::Refused => {
                    Some(Err(format!("it had `{key}` since {}", event.at)))
                }
                Did::Deleted | Did::Expired | Did::Evicted => Some(Ok(())),
                Did::Missing => None,
            },
            _ => None,
        });
    last.unwrap_or(Ok(()))
}

/// A replica removed a live key that the client had created, because its primary has it no more.
pub(super) fn copied_loss(history: &History, node: &str, client: &str) -> Result<(), String> {
    let copied = history.events.iter().any(|event| match &event.what {
        What::Command {
            node: own,
            sender: None,
            command,
            did: Did::Deleted,
            creator: Some(creator),
            ..
        } => &**own == node && &**command == "replicate" && &*creator.client == client,
        _ => false,
    });
    if copied {
        Ok(())
    } else {
        Err(format!("its primary took no key of {client} from it"))
    }
}
