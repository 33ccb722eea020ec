//! Which faults wait for which events, and what ends them.

use std::time::Duration;

use crate::host::Host;
use crate::plan::{EventPattern, Heal, Trigger, WorldPlan};

/// A pattern with its hosts resolved.
#[derive(Clone, Debug)]
struct Pattern {
    host: Host,
    verb: String,
    peer: Option<Host>,
}

impl Pattern {
    fn matches(&self, host: Host, verb: &str, peer: Option<Host>) -> bool {
        self.host == host && self.verb == verb && self.peer.is_none_or(|own| Some(own) == peer)
    }
}

struct Armed {
    fault: usize,
    pattern: Pattern,
    /// How many occurrences are still to come, this one included.
    remaining: u32,
    after: Duration,
}

/// What an event sets off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SetOff {
    /// The fault takes effect, so long after the event.
    Fault(usize, Duration),
    /// The fault ends now.
    Heal(usize),
}

/// Watches events on behalf of the plan's faults.
pub(crate) struct Director {
    armed: Vec<Armed>,
    healing: Vec<(usize, Pattern)>,
    find: Find,
}

/// Finds a host by its name.
type Find = Box<dyn Fn(&str) -> Option<Host>>;

impl Director {
    pub(crate) fn new(plan: &WorldPlan, find: impl Fn(&str) -> Option<Host> + 'static) -> Self {
        let mut director = Self {
            armed: Vec::new(),
            healing: Vec::new(),
            find: Box::new(find),
        };
        for (fault, planned) in plan.faults.iter().enumerate() {
            if let Trigger::On { event, nth, after } = &planned.trigger
                && let Some(pattern) = director.resolve(event)
            {
                director.armed.push(Armed {
                    fault,
                    pattern,
                    remaining: (*nth).max(1),
                    after: *after,
                });
            }
        }
        director
    }

    fn resolve(&self, event: &EventPattern) -> Option<Pattern> {
        let peer = match &event.peer {
            Some(peer) => Some((self.find)(peer)?),
            None => None,
        };
        Some(Pattern {
            host: (self.find)(&event.host)?,
            verb: event.verb.clone(),
            peer,
        })
    }

    /// From now on watches for the end of a lasting fault.
    pub(crate) fn heal_on(&mut self, fault: usize, heal: &Heal) {
        if let Heal::On(event) = heal
            && let Some(pattern) = self.resolve(event)
        {
            self.healing.push((fault, pattern));
        }
    }

    /// An event happened: what does it set off, in the order of the plan?
    pub(crate) fn notify(&mut self, host: Host, verb: &str, peer: Option<Host>) -> Vec<SetOff> {
        let mut set_off = Vec::new();
        self.healing.retain(|(fault, pattern)| {
            let heals = pattern.matches(host, verb, peer);
            if heals {
                set_off.push(SetOff::Heal(*fault));
            }
            !heals
        });
        self.armed.retain_mut(|armed| {
            if !armed.pattern.matches(host, verb, peer) {
                return true;
            }
            armed.remaining -= 1;
            if armed.remaining == 0 {
                set_off.push(SetOff::Fault(armed.fault, armed.after));
            }
            armed.remaining > 0
        });
        set_off
    }
}
