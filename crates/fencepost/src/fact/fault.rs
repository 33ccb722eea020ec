//! The facts that need no sentence: each fault of the plan took effect, and ended where an event was to end it.

use fencepost_checker::History;
use fencepost_checker::history::{Event, What};
use fencepost_world::plan::{Fault, Heal, Trigger};

use super::Unmet;
use crate::plan::tell;

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
    let name = format!("fault {} ({})", index + 1, tell::name(fault));
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
    let Heal::On(event) = &fault.heal else {
        return None;
    };
    let healed = history.events[fired..]
        .iter()
        .any(|event| is_end(event, index));
    let found = format!("the event `{event}` never came");
    (!healed).then(|| Unmet {
        fact: format!("{name} ended"),
        found,
    })
}

fn is_end(event: &Event, index: usize) -> bool {
    matches!(&event.what, What::FaultEnded { fault } if usize::try_from(*fault) == Ok(index))
}

fn is_fault(event: &Event, index: usize) -> bool {
    matches!(&event.what, What::Fault { fault, .. } if usize::try_from(*fault) == Ok(index))
}

fn never_came(trigger: &Trigger) -> String {
    match trigger {
        Trigger::At(at) => format!("the run was over before {at:?}"),
        Trigger::On { event, nth: 1, .. } => format!("the event `{}` never came", event),
        Trigger::On { event, nth, .. } => {
            format!("the event `{}` did not come {nth} times", event)
        }
    }
}
