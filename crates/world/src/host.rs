//! A host as the code that runs on it sees it: clocks, timers, tasks, entropy, connections, marks.

use std::future::Future;
use std::pin::{Pin, pin};
use std::task::{Context, Poll};
use std::time::Duration;

use fencepost_checker::history::{Attempt, Name, What};
use fencepost_checker::{ClockKind, Time};
use futures_util::future::{Either, select};
use redis::RedisResult;

use crate::connection::Connection;
use crate::core::{Core, with};
use crate::random::Stream;
use crate::task::Yield;

/// One host of the world that runs on this thread, whatever the engine.
///
/// It is only a number; the world is found through the thread. So it is `Copy` and `Send`, and so are the futures made
/// from it, though they never leave the thread.
///
/// # Panics
/// Every method panics outside of a running world.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Host(pub(crate) u16);

impl Host {
    pub(crate) fn index(self) -> usize {
        usize::from(self.0)
    }

    /// The host's name in the scenario.
    #[must_use]
    pub fn name(self) -> Name {
        with(|core| core.name(self))
    }

    /// The host of that name.
    #[must_use]
    pub fn find(name: &str) -> Option<Self> {
        with(|core| core.find(name))
    }

    /// What one of the host's clocks shows now, in nanoseconds: since the start of the run for the monotonic clock,
    /// since the Unix epoch for the wall clock.
    #[must_use]
    pub fn reading(self, clock: ClockKind) -> u64 {
        with(|core| core.reading(self, clock))
    }

    /// Sleeps on the host's monotonic clock. The deadline is fixed at the call.
    pub fn sleep(self, duration: Duration) -> Sleep {
        let nanos = u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX);
        let deadline = self.reading(ClockKind::Monotonic).saturating_add(nanos);
        Sleep {
            host: self,
            deadline,
            timer: None,
        }
    }

    /// What comes of `call` within that time by the host's monotonic clock, or nothing. The call is asked first.
    pub async fn timeout<T>(self, limit: Duration, call: impl Future<Output = T>) -> Option<T> {
        let limit = self.sleep(limit);
        match select(pin!(call), limit).await {
            Either::Left((came, _)) => Some(came),
            Either::Right(_) => None,
        }
    }

    /// Runs a task on the host. It ends with the process; on a host whose process has ended it is dropped at once.
    pub fn spawn(self, task: impl Future<Output = ()> + 'static) {
        with(|core| core.spawn(self, Box::pin(task)));
    }

    /// Fills `bytes` from the host's own random stream.
    pub fn fill(self, bytes: &mut [u8]) {
        with(|core| core.fill(self, bytes));
    }

    /// Connects to a server host.
    ///
    /// # Errors
    /// Connection refused if the server's process is down, reset if it ends meanwhile. Towards a host that is off or
    /// cut away nothing comes back; the caller's own timeout ends that.
    pub async fn connect(self, to: Host) -> RedisResult<Connection> {
        with(|core| core.engine.connect(core, self, to)).await
    }

    /// Says that `verb` happens here and now. Faults that were set on it take effect: if one of them stops this host,
    /// the future is not ready before the host goes on, so nothing of the host runs after the event it was to stop at.
    pub async fn mark(self, verb: &'static str) {
        with(|core| core.notify(self, verb, None));
        self.gate().await;
    }

    /// Ready when the host is not stopped.
    pub(crate) async fn gate(self) {
        let stopped = with(|core| !core.may_run(self));
        if stopped {
            Yield(false).await;
        }
    }

    /// Writes an event into the history.
    pub fn record(self, what: What) {
        with(|core| core.record(what));
    }

    /// Says that an attempt on `key` with `value` begins, whose first reading of `clock` is `reading`: writes the event
    /// and returns the attempt's number. Commands that carry the value are its own from now on.
    pub fn attempt_begun(
        self,
        key: &[u8],
        value: &[u8],
        clock: ClockKind,
        reading: u64,
    ) -> Attempt {
        with(|core| core.attempt_begun(self, key, value, clock, reading))
    }

    /// The latest attempt of this host that began with that value.
    #[must_use]
    pub fn attempt_with(self, value: &[u8]) -> Option<Attempt> {
        with(|core| {
            core.values
                .borrow()
                .get(&(self, bytes::Bytes::copy_from_slice(value)))
                .copied()
        })
    }

    /// A stream of random numbers of its own, called `label`, that no other draw shifts.
    #[must_use]
    pub fn stream(self, label: &str) -> Stream {
        with(|core| Stream::new(core.plan.seed, &format!("{}/{label}", core.name(self))))
    }
}

/// See [`Host::sleep`].
#[derive(Debug)]
pub struct Sleep {
    host: Host,
    /// By the host's monotonic clock.
    deadline: u64,
    timer: Option<usize>,
}

impl Future for Sleep {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        with(|core| {
            if core.reading(self.host, ClockKind::Monotonic) >= self.deadline {
                return Poll::Ready(());
            }
            match self.timer {
                Some(timer) => core.timers.set_waker(timer, cx.waker()),
                None => {
                    self.timer =
                        Some(core.start_timer(self.host, self.deadline, cx.waker().clone()))
                }
            }
            Poll::Pending
        })
    }
}

impl Drop for Sleep {
    fn drop(&mut self) {
        if let Some(timer) = self.timer {
            Core::if_running(|core| core.timers.remove(timer));
        }
    }
}

/// The true time, for the judge and for tests; code under test must not look at it.
#[must_use]
pub fn true_time() -> Time {
    with(|core| core.now())
}
