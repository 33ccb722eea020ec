//! Leases in true time, as far as facts need them.

use fencepost_checker::history::{Event, What};
use fencepost_checker::{ClockKind, ClockLine, History, Time};

/// The clocks of one host.
pub(super) fn clocks(history: &History, name: &str) -> ClockLine {
    let mut line = ClockLine::default();
    for event in &history.events {
        if let What::Clock { host, segment } = &event.what
            && **host == *name
        {
            line.push(*segment);
        }
    }
    line
}

/// The leases of one client: half-open intervals of true time, from the decision to the first of release, loss, death
/// and the instant at which the clock that the lease is measured by reaches its deadline.
pub(super) fn leases(history: &History, name: &str) -> Vec<(Time, Time)> {
    let clocks = clocks(history, name);
    let mut leases = Vec::new();
    let mut open: Option<(Time, Time)> = None;
    for event in &history.events {
        match step(event, name) {
            Step::None => {}
            Step::Until(clock, deadline) => {
                let from = open.filter(|(_, end)| *end > event.at).map_or(event.at, |(from, _)| from);
                leases.extend(open.take().filter(|(_, end)| *end <= event.at));
                open = Some((from, end(&clocks, clock, deadline, event.at)));
            }
            Step::Over => leases.extend(open.take().map(|(from, end)| (from, end.min(event.at)))),
        }
    }
    leases.extend(open);
    leases.retain(|(from, end)| from < end);
    leases
}

enum Step {
    None,
    Until(ClockKind, Option<u64>),
    Over,
}

fn step(event: &Event, name: &str) -> Step {
    match &event.what {
        What::Acquired { client, clock, deadline, .. } | What::Extended { client, clock, deadline, .. }
            if **client == *name =>
        {
            Step::Until(*clock, *deadline)
        }
        What::ReleaseCalled { client, .. } | What::Lost { client, .. } if **client == *name => Step::Over,
        What::Crashed { host, .. } if **host == *name => Step::Over,
        _ => Step::None,
    }
}

fn end(clocks: &ClockLine, clock: ClockKind, deadline: Option<u64>, from: Time) -> Time {
    let reached = deadline.map(|deadline| clocks.first_reach(clock, deadline, from));
    reached.flatten().unwrap_or(Time::MAX)
}
