//! What faults do to hosts, clocks and links.

use std::time::Duration;

use fencepost_checker::history::{Crash, Cut, Name, What};
use fencepost_checker::{ClockKind, Segment};

use crate::core::{Core, Process};
use crate::director::SetOff;
use crate::host::Host;
use crate::plan::{Action, Heal, Trigger};
use crate::queue::Due;

impl Core {
    /// An event happened at a host: faults that were set on it take effect, now or when their time comes.
    pub(crate) fn notify(&self, host: Host, verb: &str, peer: Option<Host>) {
        let set_off = self.director.borrow_mut().notify(host, verb, peer);
        for item in set_off {
            match item {
                SetOff::Fault(fault, Duration::ZERO) => self.apply(fault),
                SetOff::Fault(fault, after) => self.push_after(after, Due::Fault(fault)),
                SetOff::Heal(fault) => self.heal(fault),
            }
        }
    }

    /// The fault takes effect.
    pub(crate) fn apply(&self, fault: usize) {
        let planned = &self.plan.faults[fault];
        self.record_fault(fault);
        match &planned.action {
            Action::Pause { host, lasts } => self.pause(self.named(host), *lasts),
            Action::Crash {
                host,
                how,
                down_for,
            } => self.crash(self.named(host), *how, *down_for),
            Action::Partition {
                left,
                right,
                how,
                heal,
            } => {
                self.each_pair(left, right, |a, b| self.cut(a, b, *how));
                self.heal_later(fault, heal);
            }
            Action::Delay {
                left,
                right,
                extra,
                heal,
            } => {
                self.each_pair(left, right, |a, b| self.delay(a, b, *extra));
                self.heal_later(fault, heal);
            }
            Action::ClockStep { host, by_ns } => self.step_clock(self.named(host), *by_ns),
        }
    }

    fn record_fault(&self, fault: usize) {
        let planned = &self.plan.faults[fault];
        let on = match &planned.trigger {
            Trigger::At(_) => None,
            Trigger::On { event, .. } => Some(event.to_string()),
        };
        self.record(What::Fault {
            fault: u32::try_from(fault).unwrap_or(u32::MAX),
            family: Name::from(planned.action.family()),
            hosts: planned.action.hosts().into_iter().map(Name::from).collect(),
            on,
        });
    }

    fn heal_later(&self, fault: usize, heal: &Heal) {
        match heal {
            Heal::After(time) => self.push_after(*time, Due::Heal(fault)),
            Heal::On(_) => self.director.borrow_mut().heal_on(fault, heal),
            Heal::Never => {}
        }
    }

    /// A lasting fault ends.
    pub(crate) fn heal(&self, fault: usize) {
        match &self.plan.faults[fault].action {
            Action::Partition {
                left, right, how, ..
            } => self.each_pair(left, right, |a, b| self.heal_cut(a, b, *how)),
            Action::Delay {
                left, right, extra, ..
            } => self.each_pair(left, right, |a, b| self.end_delay(a, b, *extra)),
            Action::Pause { .. } | Action::Crash { .. } | Action::ClockStep { .. } => {}
        }
    }

    /// A plan names hosts that exist: [`World::new`](crate::World::new) has checked it.
    fn named(&self, name: &str) -> Host {
        self.find(name).expect("the plan names hosts of the world")
    }

    fn each_pair(&self, left: &[String], right: &[String], act: impl Fn(Host, Host)) {
        for a in left {
            for b in right {
                act(self.named(a), self.named(b));
            }
        }
    }

    // ---- pause ----

    fn pause(&self, host: Host, lasts: Duration) {
        let state = self.of(host);
        state.pauses.set(state.pauses.get() + 1);
        if state.pauses.get() == 1 {
            self.record(What::Paused {
                host: self.name(host),
            });
        }
        self.push_after(lasts, Due::Resume(host));
    }

    /// One pause ends; the host goes on when it was the last one.
    pub(crate) fn resume(&self, host: Host) {
        let state = self.of(host);
        state.pauses.set(state.pauses.get() - 1);
        if state.pauses.get() == 0 {
            self.record(What::Resumed {
                host: self.name(host),
            });
            self.executor.resume(host);
            self.engine.resumed(self, host);
            self.schedule_tick(host);
        }
    }

    // ---- crash and start ----

    fn crash(&self, host: Host, how: Crash, down_for: Option<Duration>) {
        let state = self.of(host);
        if let Some(time) = down_for {
            self.push_after(time, Due::Start(host));
        }
        if state.process.get() != Process::Up {
            return;
        }
        self.record(What::Crashed {
            host: self.name(host),
            how,
        });
        state.process.set(if how == Crash::Power {
            Process::Off
        } else {
            Process::Down
        });
        self.executor.doom(host);
        if let Some(service) = &state.service {
            service.borrow_mut().stop(how, self.wall(host));
        }
        if state.program.is_some() && down_for.is_none() {
            self.program_over();
        }
        self.engine.ended(self, host, how);
    }

    /// A host's process starts, for the first time or again.
    pub(crate) fn start(&self, host: Host) {
        let state = self.of(host);
        if state.process.get() == Process::Up {
            return;
        }
        state.process.set(Process::Up);
        self.record(What::Started {
            host: self.name(host),
        });
        if let Some(service) = &state.service {
            service.borrow_mut().boot(self.wall(host));
            self.schedule_tick(host);
        }
        self.engine.started(self, host);
        // Wake-ups of the former process may stand in the way of the new one's.
        self.executor.resume(host);
        if let Some(program) = &state.program {
            let task = program(host);
            self.spawn(
                host,
                Box::pin(async move {
                    task.await;
                    crate::core::with(|core| {
                        core.record(What::Finished {
                            client: core.name(host),
                        });
                        core.program_over();
                    });
                }),
            );
        }
    }

    // ---- network ----

    fn cut(&self, a: Host, b: Host, how: Cut) {
        for (from, to) in [(a, b), (b, a)] {
            self.links.borrow_mut().cut(from, to, how);
            self.record(What::Cut {
                from: self.name(from),
                to: self.name(to),
                how,
            });
        }
        self.engine.cut(self, a, b);
    }

    fn heal_cut(&self, a: Host, b: Host, how: Cut) {
        for (from, to) in [(a, b), (b, a)] {
            self.links.borrow_mut().heal(from, to, how);
            self.record(What::Healed {
                from: self.name(from),
                to: self.name(to),
            });
        }
        self.engine.healed(self, a, b, how);
    }

    fn delay(&self, a: Host, b: Host, extra: Duration) {
        for (from, to) in [(a, b), (b, a)] {
            let extra = self.links.borrow_mut().delay(from, to, extra);
            self.record_delay(from, to, extra);
        }
        self.engine.delayed(self, a, b);
    }

    fn end_delay(&self, a: Host, b: Host, extra: Duration) {
        for (from, to) in [(a, b), (b, a)] {
            let extra = self.links.borrow_mut().end_delay(from, to, extra);
            self.record_delay(from, to, extra);
        }
        self.engine.delayed(self, a, b);
    }

    fn record_delay(&self, from: Host, to: Host, extra: Duration) {
        let extra = u64::try_from(extra.as_nanos()).unwrap_or(u64::MAX);
        self.record(What::Delayed {
            from: self.name(from),
            to: self.name(to),
            extra,
        });
    }

    // ---- clocks ----

    fn step_clock(&self, host: Host, by_ns: i64) {
        let now = self.now();
        let old = self.of(host).clock.get();
        let wall = old
            .reading(ClockKind::Wall, now)
            .saturating_add_signed(by_ns);
        let monotonic = old.reading(ClockKind::Monotonic, now);
        self.bend_clock(
            host,
            Segment {
                from: now,
                monotonic,
                wall,
                ..old
            },
        );
    }

    /// From now on the host's clocks run by another segment.
    fn bend_clock(&self, host: Host, segment: Segment) {
        self.of(host).clock.set(segment);
        self.record(What::Clock {
            host: self.name(host),
            segment,
        });
        self.schedule_tick(host);
    }
}
