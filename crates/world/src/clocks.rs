//! What faults do to the clocks of hosts.

use fencepost_checker::history::What;
use fencepost_checker::{ClockKind, Segment};

use crate::core::{Core, WALL_START};
use crate::host::Host;
use crate::queue::Due;

/// Slower than this no clock runs: it stands still.
const STANDSTILL_PPM: i64 = -1_000_000;

impl Core {
    /// The wall clock jumps.
    pub(crate) fn step_clock(&self, host: Host, by_ns: i64) {
        let wall = self
            .reading(host, ClockKind::Wall)
            .saturating_add_signed(by_ns);
        self.of(host).clock_was_hit.set(true);
        self.bend_clock(host, wall);
    }

    /// Both clocks run faster by so much, or slower again.
    pub(crate) fn drift_clock(&self, host: Host, ppm: i64) {
        let state = self.of(host);
        state.clock_was_hit.set(true);
        state.rate_ppm.set(state.rate_ppm.get() + ppm);
        self.bend_clock(host, self.reading(host, ClockKind::Wall));
    }

    /// Both clocks run at another rate until they have been corrected by `by_ns`.
    pub(crate) fn slew_clock(&self, host: Host, by_ns: i64, ppm: u32) {
        let signed = if by_ns < 0 {
            -i64::from(ppm)
        } else {
            i64::from(ppm)
        };
        self.drift_clock(host, signed);
        let nanos = u128::from(by_ns.unsigned_abs()) * 1_000_000 / u128::from(ppm.max(1));
        let lasts = std::time::Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX));
        self.push_after(lasts, Due::Slewed(host, signed));
    }

    /// The machine goes to sleep, or wakes up: its monotonic clock stands still meanwhile.
    pub(crate) fn suspend_clock(&self, host: Host, suspended: bool) {
        self.of(host).suspended.set(suspended);
        self.bend_clock(host, self.reading(host, ClockKind::Wall));
    }

    /// A correction is complete.
    pub(crate) fn slewed(&self, host: Host, ppm: i64) {
        if !self.healed.get() {
            self.drift_clock(host, -ppm);
        }
    }

    /// From now on the clocks run at the true rate, and a wall clock that a fault has hit shows true time. One that has
    /// but run at the rate of its own since the start is not set: that would be a step, a fault of which its plan may know
    /// nothing.
    pub(crate) fn true_clock(&self, host: Host) {
        let state = self.of(host);
        let shown = self.reading(host, ClockKind::Wall);
        let wall = match state.clock_was_hit.get() {
            true => WALL_START + self.now().0,
            false => shown,
        };
        if state.rate_ppm.get() != 0 || shown != wall {
            state.rate_ppm.set(0);
            self.bend_clock(host, wall);
        }
    }

    /// From now on the host's clocks run by another segment: its timers and deadlines come at other times.
    fn bend_clock(&self, host: Host, wall: u64) {
        let state = self.of(host);
        let ppm = state.rate_ppm.get();
        let monotonic_ppm = if state.suspended.get() {
            STANDSTILL_PPM
        } else {
            ppm
        };
        let monotonic = self.reading(host, ClockKind::Monotonic);
        let segment = Segment {
            from: self.now(),
            monotonic,
            wall,
            monotonic_ppm,
            wall_ppm: ppm,
        };
        state.clock.set(segment);
        self.record(What::Clock {
            host: self.name(host),
            segment,
        });
        self.retime(host);
    }

    fn retime(&self, host: Host) {
        for (key, generation, deadline) in self.timers.of(host) {
            self.push(
                self.when(host, ClockKind::Monotonic, deadline),
                Due::Timer(key, generation),
            );
        }
        self.schedule_tick(host);
        self.schedule_start(host);
    }
}
