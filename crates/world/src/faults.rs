//! When faults take effect and end.

use std::time::Duration;

use fencepost_checker::history::{Name, What};

use crate::core::Core;
use crate::director::SetOff;
use crate::host::Host;
use crate::plan::{Action, Heal, Trigger};
use crate::queue::Due;

impl Core {
    /// The plan's timed faults go into the queue.
    pub(crate) fn plan_faults(&self) {
        for (index, fault) in self.plan.faults.iter().enumerate() {
            if let Trigger::At(at) = fault.trigger {
                self.push_after(at, Due::Fault(index));
            }
        }
        if let Some(at) = self.plan.heal_at {
            self.push_after(at, Due::HealAll);
        }
    }

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

    /// The fault takes effect, unless all faults are over.
    pub(crate) fn apply(&self, fault: usize) {
        if self.healed.get() {
            return;
        }
        self.record_fault(fault);
        self.active.borrow_mut().insert(fault);
        match &self.plan.faults[fault].action {
            Action::Pause { host, suspend } => self.pause(self.named(host), *suspend),
            Action::Crash { host, how, .. } => {
                self.crash(self.named(host), *how, self.is_for_good(fault))
            }
            Action::Partition {
                left,
                right,
                how,
                one_way,
            } => {
                self.each_pair(left, right, |a, b| self.cut(a, b, *how, *one_way));
            }
            Action::Delay { left, right, extra } => {
                self.each_pair(left, right, |a, b| self.delay(a, b, *extra))
            }
            Action::LatePacket { from, to, extra } => {
                self.engine
                    .late_packet(self, self.named(from), self.named(to), *extra)
            }
            Action::Reset { left, right } => self.each_pair(left, right, |a, b| self.reset(a, b)),
            Action::ClockStep { host, by_ns } => self.step_clock(self.named(host), *by_ns),
            Action::ClockDrift { host, ppm } => self.drift_clock(self.named(host), *ppm),
            Action::ClockSlew { host, by_ns, ppm } => {
                self.slew_clock(self.named(host), *by_ns, *ppm)
            }
            Action::Operate { host, command, .. } => self.operate(self.named(host), command),
            Action::FsyncStall { host } => self.stall(self.named(host), true),
        }
        match &self.plan.faults[fault].heal {
            Heal::After(time) => self.push_after(*time, Due::Heal(fault)),
            heal @ Heal::On(_) => self.director.borrow_mut().heal_on(fault, heal),
            Heal::Never => {}
        }
    }

    fn is_for_good(&self, fault: usize) -> bool {
        self.plan.faults[fault].heal == Heal::Never
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

    /// A fault ends, if it is in force.
    pub(crate) fn heal(&self, fault: usize) {
        if !self.active.borrow_mut().remove(&fault) {
            return;
        }
        self.record(What::FaultEnded {
            fault: u32::try_from(fault).unwrap_or(u32::MAX),
        });
        match &self.plan.faults[fault].action {
            Action::Pause { host, suspend } => self.resume(self.named(host), *suspend),
            Action::Crash {
                host,
                delayed_until,
                ..
            } => self.restart(self.named(host), *delayed_until),
            Action::Partition {
                left,
                right,
                how,
                one_way,
            } => {
                self.each_pair(left, right, |a, b| self.heal_cut(a, b, *how, *one_way));
            }
            Action::Delay { left, right, extra } => {
                self.each_pair(left, right, |a, b| self.end_delay(a, b, *extra))
            }
            Action::ClockDrift { host, ppm } => self.drift_clock(self.named(host), -ppm),
            Action::FsyncStall { host } => self.stall(self.named(host), false),
            Action::LatePacket { .. }
            | Action::Reset { .. }
            | Action::ClockStep { .. }
            | Action::ClockSlew { .. }
            | Action::Operate { .. } => {}
        }
    }

    /// Every fault ends and none begins any more. A process that was to stay down stays down.
    pub(crate) fn heal_all(&self) {
        let active: Vec<usize> = self.active.borrow().iter().copied().collect();
        let crash = |fault: usize| matches!(self.plan.faults[fault].action, Action::Crash { .. });
        for fault in active
            .into_iter()
            .filter(|fault| !(crash(*fault) && self.is_for_good(*fault)))
        {
            self.heal(fault);
        }
        self.healed.set(true);
        for host in self.all() {
            self.true_clock(host);
        }
        self.record(What::HealBegun {});
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
}
