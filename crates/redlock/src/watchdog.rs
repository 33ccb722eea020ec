//! The watchdog: renews a lease while its guard lives, and tells the holder when it is over.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use futures_util::future::{Either, select};

use crate::decision::ExtendOutcome;
use crate::error::Loss;
use crate::guard::Guard;
use crate::holding::{Holding, over};
use crate::ports::{Ports, Reading, Spawn};

/// After an unknown renewal the next one comes after this part of the period.
const RETRIES_PER_PERIOD: u32 = 4;

/// How a guard is watched.
///
/// A watchdog renews each third of the TTL (document 000, "Lock Extension"), counted from the reading that the
/// lease counts from. A renewal of unknown outcome is repeated while the lease lasts, after a twelfth of the TTL
/// or half of what is left, whichever is less: one network error is no loss. A renewal that is answered "lost",
/// and the deadline by the lock's own clock whether or not anybody answered, end it for good.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Watchdog {
    /// Renewals of unknown outcome in a row after which no further one is sent. 16 if not set, which is more than
    /// a lease has time for. 0 renews never and only tells.
    pub attempts: u32,
    /// No renewal is sent later than this after the watch began, so that a holder that hangs does not keep
    /// everybody else out for ever. Without limit if not set.
    pub longest: Option<Duration>,
}

impl Default for Watchdog {
    fn default() -> Watchdog {
        Watchdog {
            attempts: 16,
            longest: None,
        }
    }
}

impl<P: Ports> Guard<P> {
    /// Renews the lease from now on, in a task of its own, as long as the guard lives; see [`Watchdog`].
    ///
    /// It stops for good when the lease is lost, at the first call of release, and when the guard is dropped or
    /// forgotten. A renewal that is under way then revives nothing, whatever it is answered. A second call
    /// changes nothing: a guard has one watchdog.
    pub fn watch(&mut self, watchdog: Watchdog) {
        if std::mem::replace(&mut self.watched, true) {
            return;
        }
        let task = watch(self.holding.clone(), watchdog);
        self.armed.shared.ports.spawner().spawn(task);
    }

    /// Ends when the lease does: at its deadline by the lock's own clock, when an extension is answered "lost",
    /// or when the lock is given back. Needs no watchdog.
    ///
    /// The clock is read at each poll. A clock other than that of the timers (a wall clock that is stepped) is
    /// looked at each third of the TTL at least.
    pub fn lost(&self) -> impl Future<Output = Loss> + Send + use<P> {
        over(self.holding.clone())
    }

    /// Runs `body` under the lease: if the lease ends first, `body` is dropped where it stands.
    ///
    /// `body` is never polled once the lock's clock has reached the deadline. What it does within one poll, and
    /// what it has sent, this cannot call back: that takes a fencing token which the resource checks.
    ///
    /// # Errors
    ///
    /// [`Loss`] if the lease was over before `body` was.
    pub async fn run<T>(&self, body: impl Future<Output = T>) -> Result<T, Loss> {
        let mut lost = pin!(self.lost());
        let mut body = pin!(body);
        poll_fn(|context| match lost.as_mut().poll(context) {
            Poll::Ready(loss) => Poll::Ready(Err(loss)),
            Poll::Pending => body.as_mut().poll(context).map(Ok),
        })
        .await
    }
}

async fn watch<P: Ports>(holding: Arc<Holding<P>>, watchdog: Watchdog) {
    let mut lost = pin!(over(holding.clone()));
    let (began, mut unknown, mut wait) = (holding.now(), 0, holding.until_due());
    while unknown < watchdog.attempts {
        let sleep = pin!(holding.sleep(wait));
        if let Either::Left(_) = select(lost.as_mut(), sleep).await {
            return;
        }
        if is_too_long(watchdog, began, holding.now()) {
            break;
        }
        wait = match select(lost.as_mut(), pin!(holding.extend())).await {
            Either::Right((ExtendOutcome::Extended, _)) => {
                unknown = 0;
                holding.until_due()
            }
            Either::Right((ExtendOutcome::Unknown, _)) => {
                unknown += 1;
                // Half of what is left at most, so that there is a try shortly before the deadline too.
                (holding.period() / RETRIES_PER_PERIOD).min(holding.look().unwrap_or_default() / 2)
            }
            Either::Right((ExtendOutcome::Lost, _)) => return,
            // The holder has been told. What the nodes answer is only reported.
            Either::Left((_, renewal)) => {
                renewal.await;
                return;
            }
        };
    }
    lost.await;
}

fn is_too_long(watchdog: Watchdog, began: Reading, now: Reading) -> bool {
    let gone = now.checked_since(began).unwrap_or_default();
    watchdog.longest.is_some_and(|longest| gone > longest)
}
