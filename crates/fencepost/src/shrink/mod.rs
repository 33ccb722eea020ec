//! Shrinking: from a run that violates a property to the least that still violates it in the same way.
//!
//! It works on plans, which are all that a run needs: faults are taken away first, then clients and rounds, and what is
//! left of times and rates becomes round. Whatever is tried is run and judged; what does not violate the same
//! property for the same reason is put back.

mod file;
mod manner;
mod values;

use std::cell::Cell;
use std::time::Duration;

use fencepost_checker::history::{Role, What};
use fencepost_checker::run::Run;
use fencepost_checker::{History, Property};
use fencepost_world::plan::{Action, Fault, Trigger};

use crate::plan::Plan;

pub use file::{Inexpressible, scenario_file};
pub use manner::Manner;

/// As many faults as one can keep in mind.
const FEW: usize = 3;

/// How many other seeds are tried for each fault that is one too many.
const OTHER_SEEDS: u64 = 60;

/// How a plan was shrunk.
#[derive(Clone, Debug)]
pub struct Shrunk {
    /// The least plan that was found.
    pub plan: Plan,
    /// Its run.
    pub history: History,
    /// How many plans were run.
    pub runs: u64,
    /// What was tried, in order.
    pub tried: Vec<Tried>,
}

/// One kind of change, over all rounds of shrinking.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tried {
    /// What was changed.
    pub what: &'static str,
    /// How often it was tried.
    pub tried: u64,
    /// How often the same violation was left.
    pub taken: u64,
}

/// A plan that does not violate the property that it is to be shrunk by.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the run does not violate {property}: there is nothing to shrink")]
pub struct NotViolated {
    /// The property.
    pub property: Property,
}

/// Shrinks a plan by a property that its run violates. `run` carries a plan out, on whichever engine and with whichever
/// lock; `most` is how often at most. `watch` is told of each plan that is taken.
///
/// # Errors
/// Its run does not violate the property.
pub fn shrink(
    plan: &Plan,
    property: Property,
    most: u64,
    run: impl Fn(&Plan) -> History,
    watch: impl FnMut(&Plan, u64),
) -> Result<Shrunk, NotViolated> {
    let not_violated = NotViolated { property };
    let history = run(plan);
    let verdict = property.judge(&Run::of(&history));
    let manner = Manner::of(&verdict).ok_or(not_violated)?;
    let mut search = Search {
        plan: plan.clone(),
        history,
        property,
        manner,
        most,
        runs: 1,
        tried: Vec::new(),
        run,
        watch,
    };
    search.all();
    Ok(Shrunk {
        plan: search.plan,
        history: search.history,
        runs: search.runs,
        tried: search.tried,
    })
}

impl Shrunk {
    /// The same with another seed, if need be, so that it is violated in the same way where `other` carries it out too: on
    /// the other engine latencies are others, and what a race brings about there takes another race here. Nothing if none
    /// of the next `seeds` seeds is such a one.
    #[must_use]
    pub fn also_by(
        &self,
        property: Property,
        seeds: u64,
        run: impl Fn(&Plan) -> History,
        other: impl Fn(&Plan) -> History,
    ) -> Option<Self> {
        let judged = |history: &History| property.judge(&Run::of(history));
        let manner = Manner::of(&judged(&self.history))?;
        let runs = Cell::new(self.runs);
        let same = |history: &History| {
            runs.set(runs.get() + 1);
            manner.is_that_of(&judged(history))
        };
        let on_both = |plan: Plan| {
            let history = run(&plan);
            (same(&history) && same(&other(&plan))).then_some((plan, history))
        };
        let (mut plan, mut history) = (0..seeds).find_map(|further| {
            let mut plan = self.plan.clone();
            plan.world.seed = plan.world.seed.wrapping_add(further);
            on_both(plan)
        })?;
        // What one seed needs, another may not.
        for fault in (0..plan.world.faults.len()).rev() {
            let mut fewer = plan.clone();
            fewer.world.faults.remove(fault);
            if let Some(found) = on_both(fewer) {
                (plan, history) = found;
            }
        }
        Some(Self {
            plan,
            history,
            runs: runs.get(),
            tried: self.tried.clone(),
        })
    }
}

struct Search<R, W> {
    plan: Plan,
    history: History,
    property: Property,
    manner: Manner,
    most: u64,
    runs: u64,
    tried: Vec<Tried>,
    run: R,
    watch: W,
}

impl<R: Fn(&Plan) -> History, W: FnMut(&Plan, u64)> Search<R, W> {
    /// Until nothing helps any more: what one change leaves may make another possible.
    fn all(&mut self) {
        // In the order of a scenario file, so that one can say it.
        self.attempt_with("faults by family", |plan| {
            let faults = &mut plan.world.faults;
            faults.sort_by_key(|fault| file::family(fault).to_owned());
        });
        loop {
            let before = self.plan.clone();
            self.end_early();
            self.faults();
            self.at_times();
            self.clients();
            self.rounds();
            self.surroundings();
            self.other_seeds();
            self.values();
            if self.plan == before || self.runs >= self.most {
                return;
            }
        }
    }

    /// Runs a changed plan, and keeps it if the same is violated in the same way.
    fn attempt(&mut self, what: &'static str, plan: Plan) -> bool {
        if plan == self.plan || self.runs >= self.most {
            return false;
        }
        self.runs += 1;
        let history = (self.run)(&plan);
        let verdict = self.property.judge(&Run::of(&history));
        let same = self.manner.is_that_of(&verdict);
        let place = self.tried.iter().position(|tried| tried.what == what);
        let place = place.unwrap_or_else(|| {
            self.tried.push(Tried {
                what,
                tried: 0,
                taken: 0,
            });
            self.tried.len() - 1
        });
        self.tried[place].tried += 1;
        if same {
            self.tried[place].taken += 1;
            (self.watch)(&plan, self.runs);
            (self.plan, self.history) = (plan, history);
        }
        same
    }

    fn attempt_with(&mut self, what: &'static str, change: impl FnOnce(&mut Plan)) -> bool {
        let mut plan = self.plan.clone();
        change(&mut plan);
        self.attempt(what, plan)
    }

    /// A property of progress needs the heal and what comes after it; of any other nothing counts after the violation.
    fn end_early(&mut self) {
        if matches!(
            self.property,
            Property::DeadlockFree | Property::FaultTolerant
        ) {
            return;
        }
        let verdict = self.property.judge(&Run::of(&self.history));
        let Some(first) = verdict.witnesses.first() else {
            return;
        };
        let horizon = Duration::from_nanos(first.at.0) + Duration::from_secs(1);
        let whole = Duration::from_secs(horizon.as_secs() + 1);
        let shorter = move |plan: &mut Plan| {
            plan.world.horizon = plan.world.horizon.min(whole);
            plan.world.heal_at = None;
            remove_host(plan, crate::scenario::PROBE);
        };
        self.attempt_with("an earlier end", shorter);
    }

    /// In ever smaller pieces, so that many faults that do not matter cost few runs.
    fn faults(&mut self) {
        let mut size = self.plan.world.faults.len();
        while size > 0 {
            let mut from = 0;
            while from < self.plan.world.faults.len() {
                let end = (from + size).min(self.plan.world.faults.len());
                let without = |plan: &mut Plan| drop(plan.world.faults.drain(from..end));
                if !self.attempt_with("fewer faults", without) {
                    from = end;
                }
            }
            size /= 2;
        }
        for fault in 0..self.plan.world.faults.len() {
            self.hosts_of(fault);
        }
    }

    /// A fault that waits for the n-th event of a kind hangs on all that comes before: at its time it stands alone. Where
    /// few are left that is no gain: an event says more than a time, on another engine too.
    fn at_times(&mut self) {
        if self.plan.world.faults.len() <= FEW {
            return;
        }
        for fault in 0..self.plan.world.faults.len() {
            let mut events = self.history.events.iter();
            let struck = events.find(|event| {
                matches!(event.what, What::Fault { fault: struck, .. } if usize::try_from(struck) == Ok(fault))
            });
            let Some(at) = struck.map(|event| Duration::from_nanos(event.at.0)) else {
                continue;
            };
            self.attempt_with("faults at times", |plan| {
                plan.world.faults[fault].trigger = Trigger::At(at);
            });
        }
    }

    /// With other latencies the same may come of fewer faults: of one alone, or of all but one.
    fn other_seeds(&mut self) {
        if self.plan.world.faults.len() <= FEW {
            return;
        }
        for fault in 0..self.plan.world.faults.len() {
            let alone = |faults: &mut Vec<Fault>| *faults = faults.drain(fault..=fault).collect();
            if self.with_other_seeds(alone) {
                return;
            }
        }
        for fault in (0..self.plan.world.faults.len()).rev() {
            if self.plan.world.faults.len() > FEW {
                self.with_other_seeds(|faults| drop(faults.remove(fault)));
            }
        }
    }

    fn with_other_seeds(&mut self, change: impl Fn(&mut Vec<Fault>)) -> bool {
        let own = self.plan.world.seed;
        (1..=OTHER_SEEDS).any(|further| {
            self.attempt_with("fewer faults, other seed", |plan| {
                plan.world.seed = own.wrapping_add(further);
                change(&mut plan.world.faults);
            })
        })
    }

    /// A partition between two hosts says more than one between two groups.
    fn hosts_of(&mut self, fault: usize) {
        let all = self.plan.world.hosts.clone();
        for host in all {
            self.attempt_with("fewer hosts of a fault", |plan| {
                let (left, right) = match &mut plan.world.faults[fault].action {
                    Action::Partition { left, right, .. }
                    | Action::Delay { left, right, .. }
                    | Action::Reset { left, right } => (left, right),
                    _ => return,
                };
                for side in [left, right] {
                    if side.len() > 1 {
                        side.retain(|name| *name != host.name);
                    }
                }
            });
        }
    }

    fn clients(&mut self) {
        let names: Vec<String> = self
            .plan
            .clients
            .iter()
            .filter(|client| !client.probe)
            .map(|client| client.name.clone())
            .collect();
        for name in names {
            if self.plan.clients.len() > 1 {
                self.attempt_with("fewer clients", |plan| remove_host(plan, &name));
            }
        }
    }

    fn rounds(&mut self) {
        for client in 0..self.plan.clients.len() {
            let mut fewer = self.plan.clients[client].rounds.len() / 2;
            while fewer > 0 {
                let kept = self.plan.clients[client].rounds.len().saturating_sub(fewer);
                let cut = |plan: &mut Plan| plan.clients[client].rounds.truncate(kept.max(1));
                if !self.attempt_with("fewer rounds", cut) {
                    fewer /= 2;
                }
            }
            for round in (0..self.plan.clients[client].rounds.len()).rev() {
                if self.plan.clients[client].rounds.len() > 1 {
                    let cut = |plan: &mut Plan| _ = plan.clients[client].rounds.remove(round);
                    self.attempt_with("fewer rounds", cut);
                }
            }
            // So that a scenario file can say it.
            for like in self.plan.clients[client].rounds.clone() {
                self.attempt_with("rounds that are alike", |plan| {
                    plan.clients[client].rounds.fill(like);
                });
            }
        }
    }

    fn surroundings(&mut self) {
        self.attempt_with("clocks at the true rate", |plan| {
            plan.world
                .hosts
                .iter_mut()
                .for_each(|host| host.rate_ppm = 0);
        });
        for host in 0..self.plan.world.hosts.len() {
            self.attempt_with("clocks at the true rate", |plan| {
                plan.world.hosts[host].rate_ppm = 0;
            });
        }
    }

    /// The coarsest that will do of each time, amount and rate.
    fn values(&mut self) {
        for value in 0..values::count(&mut self.plan.clone()) {
            let mut plan = self.plan.clone();
            for rounder in values::rounder(&mut plan, value) {
                if self.attempt_with("rounder values", |plan| values::set(plan, value, rounder)) {
                    break;
                }
            }
        }
    }
}

/// Takes a client out of the world, and out of the faults that name it. A fault that hit nobody else goes with it.
fn remove_host(plan: &mut Plan, name: &str) {
    let is_client = |role| role == Role::Client;
    let mut hosts = plan.world.hosts.iter();
    if !hosts.any(|host| host.name == name && is_client(host.role)) {
        return;
    }
    plan.world.hosts.retain(|host| host.name != name);
    plan.clients.retain(|client| client.name != name);
    plan.world.network.links.retain(|link| {
        let (a, b) = &link.between;
        a != name && b != name
    });
    plan.world.faults.retain_mut(|fault| {
        if let Action::Partition { left, right, .. }
        | Action::Delay { left, right, .. }
        | Action::Reset { left, right } = &mut fault.action
        {
            left.retain(|host| host != name);
            right.retain(|host| host != name);
            if left.is_empty() || right.is_empty() {
                return false;
            }
        }
        !fault.named_hosts().contains(&name)
    });
}
