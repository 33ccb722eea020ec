//! The facts that need no sentence: each fault of the plan took effect, and ended where an event was to end it.

use fencepost_checker::History;
use fencepost_checker::history::{Event, What};
use fencepost_world::plan::{Action, EventPattern, Fault, Heal, Trigger};

use super::Unmet;

/// The faults of the plan that never took effect, and those that an event was to end which never came.
#[must_use]
pub fn faults_fired(faults: &[Fault], history: &History) -> Vec<Unmet> {
    faults
        .iter()
        .enumerate()
        .filter_map(|(index, fault)| unmet(index, fault, history))
        .collect()
}

fn unmet(index: usize, fault: &Fault, history: &History) -> Option<Unmet> {
    let name = format!("fault {} ({})", index + 1, describe(fault));
    let fired = history
        .events
        .iter()
        .position(|event| is_fault(event, index));
    let Some(fired) = fired else {
        return Some(Unmet {
            fact: format!("{name} took effect"),
            found: never_came(&fault.trigger),
        });
    };
    let (left, right, event) = healed_by(&fault.action)?;
    let healed = history.events[fired..]
        .iter()
        .any(|event| match &event.what {
            What::Healed { from, to } => joins(left, right, from, to),
            What::Delayed { from, to, extra: 0 } => joins(left, right, from, to),
            _ => false,
        });
    let found = format!("the event `{}` never came", pattern(event));
    (!healed).then(|| Unmet {
        fact: format!("{name} ended"),
        found,
    })
}

fn is_fault(event: &Event, index: usize) -> bool {
    matches!(&event.what, What::Fault { fault, .. } if usize::try_from(*fault) == Ok(index))
}

fn healed_by(action: &Action) -> Option<(&[String], &[String], &EventPattern)> {
    match action {
        Action::Partition {
            left,
            right,
            heal: Heal::On(event),
            ..
        }
        | Action::Delay {
            left,
            right,
            heal: Heal::On(event),
            ..
        } => Some((left, right, event)),
        _ => None,
    }
}

fn joins(left: &[String], right: &[String], from: &str, to: &str) -> bool {
    let has = |side: &[String], host: &str| side.iter().any(|name| name == host);
    (has(left, from) && has(right, to)) || (has(right, from) && has(left, to))
}

fn never_came(trigger: &Trigger) -> String {
    match trigger {
        Trigger::At(at) => format!("the run was over before {at:?}"),
        Trigger::On { event, nth: 1, .. } => format!("the event `{}` never came", pattern(event)),
        Trigger::On { event, nth, .. } => {
            format!("the event `{}` did not come {nth} times", pattern(event))
        }
    }
}

fn describe(fault: &Fault) -> String {
    let family = fault.action.family();
    match &fault.action {
        Action::Pause { host, .. }
        | Action::Crash { host, .. }
        | Action::ClockStep { host, .. } => {
            format!("{family} of {host}")
        }
        Action::Partition { left, right, .. } | Action::Delay { left, right, .. } => {
            format!(
                "{family} between {} and {}",
                left.join(" "),
                right.join(" ")
            )
        }
        _ => family.to_owned(),
    }
}

fn pattern(event: &EventPattern) -> String {
    let EventPattern { host, verb, peer } = event;
    match peer {
        // `replied to` and `applied from`: the direction is for the reader only.
        Some(peer) if verb == "replied" => format!("{host} {verb} to {peer}"),
        Some(peer) => format!("{host} {verb} from {peer}"),
        None => format!("{host} {verb}"),
    }
}
