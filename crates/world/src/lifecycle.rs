//! Hosts that stop and go on, processes that end and start.

use std::time::Duration;

use fencepost_checker::ClockKind;
use fencepost_checker::history::{Crash, What};

use crate::core::{Core, Process, with};
use crate::host::Host;
use crate::queue::Due;

impl Core {
    pub(crate) fn pause(&self, host: Host, suspend: bool) {
        let state = self.of(host);
        state.pauses.set(state.pauses.get() + 1);
        if suspend {
            self.suspend_clock(host, true);
        }
        if state.pauses.get() == 1 {
            self.record(What::Paused {
                host: self.name(host),
            });
        }
    }

    /// One pause ends; the host goes on when it was the last one.
    pub(crate) fn resume(&self, host: Host, suspend: bool) {
        let state = self.of(host);
        state.pauses.set(state.pauses.get() - 1);
        if suspend {
            self.suspend_clock(host, false);
        }
        if state.pauses.get() == 0 {
            self.record(What::Resumed {
                host: self.name(host),
            });
            self.executor.resume(host);
            self.engine.resumed(self, host);
            self.schedule_tick(host);
        }
    }

    /// A host's process ends. `for_good`: nothing will start it again.
    pub(crate) fn crash(&self, host: Host, how: Crash, for_good: bool) {
        let state = self.of(host);
        if state.process.get() != Process::Up {
            return;
        }
        self.record(What::Crashed {
            host: self.name(host),
            how,
        });
        state.crashed_at.set(self.reading(host, ClockKind::Wall));
        state.process.set(if how == Crash::Power {
            Process::Off
        } else {
            Process::Down
        });
        state.owed.borrow_mut().clear();
        self.executor.doom(host);
        if let Some(service) = &state.service {
            service.borrow_mut().stop(how, self.wall(host));
        }
        if state.program.is_some() && for_good && !state.finished.get() {
            state.finished.set(true);
            self.program_over();
        }
        self.engine.ended(self, host, how);
    }

    /// A crash is over: the process starts, at once or when its wall clock has gone on by `delayed_until` since.
    pub(crate) fn restart(&self, host: Host, delayed_until: Option<Duration>) {
        let state = self.of(host);
        let delay = delayed_until.map_or(0, |delay| {
            u64::try_from(delay.as_nanos()).unwrap_or(u64::MAX)
        });
        if delay == 0 {
            return self.start(host);
        }
        if state.process.get() == Process::Off {
            // The machine is on again; it is its process that waits.
            state.process.set(Process::Down);
        }
        state
            .starts_at
            .set(Some(state.crashed_at.get().saturating_add(delay)));
        self.schedule_start(host);
    }

    /// A process that waits is looked at again when its wall clock should have come so far.
    pub(crate) fn schedule_start(&self, host: Host) {
        if let Some(reading) = self.of(host).starts_at.get() {
            self.push(self.when(host, ClockKind::Wall, reading), Due::Start(host));
        }
    }

    pub(crate) fn start_if_due(&self, host: Host) {
        let state = self.of(host);
        if state
            .starts_at
            .get()
            .is_some_and(|reading| self.reading(host, ClockKind::Wall) >= reading)
        {
            state.starts_at.set(None);
            self.start(host);
        }
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
        if let Some(daemon) = &state.daemon {
            self.spawn(host, daemon(host));
        }
        if let Some(program) = &state.program {
            let task = program(host);
            self.spawn(
                host,
                Box::pin(async move {
                    task.await;
                    with(|core| core.finished(host));
                }),
            );
        }
    }

    /// The program of a client has come to its end.
    fn finished(&self, host: Host) {
        self.record(What::Finished {
            client: self.name(host),
        });
        if !self.of(host).finished.replace(true) {
            self.program_over();
        }
    }
}
