//! Why tokens did not grow: who counted them, and when they were fetched.

use crate::acquisitions::Acquisition;
use crate::cause::absence::stopped_for;
use crate::cause::failover::{promoted, went_down};
use crate::history::{Name, What};
use crate::run::Run;
use crate::span::Position;

/// Why an acquisition has no larger token than an older one.
pub(crate) fn token_order(run: &Run<'_>, old: &Acquisition, new: &Acquisition) -> Option<String> {
    forgotten(run, old, new).or_else(|| fetched_late(run, old))
}

/// The counter that the newer one asked did not know of the older one's number.
fn forgotten(run: &Run<'_>, old: &Acquisition, new: &Acquisition) -> Option<String> {
    let (first, second) = (counted(run, old)?, counted(run, new)?);
    let (before, now) = (first.node, second.node);
    let what = format!("what {} had counted for {}", before, old.owner.client);
    if before != now {
        promoted(run, now, second.at)?;
        return Some(format!("{now} was promoted without {what}"));
    }
    let mut downs = run.hosts.get(now).downs.iter().rev();
    let (_, how) = downs.find(|(down, _)| (first.at..second.at).contains(&down.from))?;
    Some(format!(
        "{now} {} and came back without {what}",
        went_down(*how)
    ))
}

/// Where and when a node counted.
struct Count<'a> {
    node: &'a Name,
    at: Position,
}

/// The INCR that an acquisition has its token from: its client's last one before it decided.
fn counted<'a>(run: &'a Run<'_>, acquisition: &Acquisition) -> Option<Count<'a>> {
    let began = acquisition.began?;
    let mut events = run.history.events.iter().rev();
    events.find_map(|event| match &event.what {
        What::Command {
            node,
            sender: Some(sender),
            command,
            ..
        } if *sender == acquisition.owner.client
            && **command == *"INCR"
            && (began..acquisition.decided).contains(&Position::from(event)) =>
        {
            Some(Count {
                node,
                at: event.into(),
            })
        }
        _ => None,
    })
}

/// The older one decided without a token, and was stopped before it had one.
fn fetched_late(run: &Run<'_>, old: &Acquisition) -> Option<String> {
    let mut events = run.history.events.iter();
    let decided = events.find(|event| event.seq == old.decided.seq)?;
    let What::Acquired { token: None, .. } = decided.what else {
        return None;
    };
    let mut operations = run
        .operations()
        .map(|operation| (operation.by, operation.event));
    let (_, first) = operations.find(|(by, _)| by.owner == old.owner)?;
    let client = &old.owner.client;
    let stopped = stopped_for(run.hosts.get(client), old.decided.at, first.at)?;
    Some(format!(
        "{client} {stopped}, between its decision and its token"
    ))
}
