//! What is known of a lease, by everybody who has a part in it: the guard, its watchdog, and who waits for its
//! end. Lost is final, and every way to it passes through here.

use std::collections::BTreeMap;
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use crate::config::Config;
use crate::decision::{self, ExtendOutcome, Lease};
use crate::error::Loss;
use crate::observe::{ExtensionBegun, ExtensionEnded, LeaseLost, Observer};
use crate::ports::{Clock, Node, Ports, Reading};
use crate::round::{Claim, Shared, ask_all, plain};
use crate::vote::NodeAnswer;

/// A lease, and what it takes to extend it.
pub(crate) struct Holding<P: Ports> {
    shared: Arc<Shared<P>>,
    claim: Claim,
    token: Option<u64>,
    state: Mutex<State>,
}

struct State {
    deadline: Reading,
    granted: Duration,
    /// Why the lease is over, once that was found. Never taken back.
    over: Option<Loss>,
    waiting: Waiting,
    next_waiter: u64,
}

impl State {
    /// What is left of the lease, or why it is over.
    fn left(&self, now: Reading) -> Result<Duration, Loss> {
        match (self.over, self.deadline.checked_since(now)) {
            (Some(loss), _) => Err(loss),
            (None, None | Some(Duration::ZERO)) => Err(Loss::Deadline),
            (None, Some(left)) => Ok(left),
        }
    }
}

impl<P: Ports> Holding<P> {
    pub(crate) fn new(
        shared: Arc<Shared<P>>,
        claim: Claim,
        token: Option<u64>,
        lease: Lease,
    ) -> Self {
        let state = State {
            deadline: lease.deadline,
            granted: lease.validity,
            over: None,
            waiting: Waiting::new(),
            next_waiter: 0,
        };
        Holding {
            shared,
            claim,
            token,
            state: Mutex::new(state),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // What is changed under the lock is changed whole, whatever an observer does.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn now(&self) -> Reading {
        self.shared.ports.clock().now()
    }

    fn ttl(&self) -> Duration {
        self.shared.config.ttl
    }

    /// A third of the TTL (document 000, "Lock Extension").
    pub(crate) fn period(&self) -> Duration {
        self.ttl() / 3
    }

    /// Until a third of the TTL has gone by since the reading that the lease counts from.
    pub(crate) fn until_due(&self) -> Duration {
        let Config { ttl, drift, .. } = self.shared.config;
        let left = self.look().unwrap_or_default();
        let gone = ttl.saturating_sub(drift.margin(ttl)).saturating_sub(left);
        self.period().saturating_sub(gone)
    }

    pub(crate) fn sleep(&self, span: Duration) -> impl Future<Output = ()> + Send + 'static {
        self.shared.ports.clock().sleep(span)
    }

    pub(crate) fn token(&self) -> Option<u64> {
        self.token
    }

    pub(crate) fn deadline(&self) -> Reading {
        self.state().deadline
    }

    pub(crate) fn granted(&self) -> Duration {
        self.state().granted
    }

    /// Whether the lease was lost or its deadline has passed. Only looks: a release that comes late is told so
    /// by its outcome, and is no loss.
    pub(crate) fn is_past(&self) -> bool {
        let now = self.now();
        let state = self.state();
        matches!(state.over, Some(Loss::Deadline | Loss::Answered)) || now >= state.deadline
    }

    /// What is left of the lease by the clock now, or why it is over. Who was told that it is over is never
    /// told otherwise, not even if the clock goes back.
    pub(crate) fn look(&self) -> Result<Duration, Loss> {
        let now = self.now();
        let mut state = self.state();
        let left = state.left(now);
        let woken = match left {
            Ok(_) => Waiting::new(),
            Err(loss) => self.end(&mut state, loss, now),
        };
        drop(state);
        wake(woken);
        left
    }

    /// Released, dropped or forgotten: there is nothing left to lose.
    pub(crate) fn give_back(&self) {
        let mut state = self.state();
        state.over.get_or_insert(Loss::GivenBack);
        let woken = std::mem::take(&mut state.waiting);
        drop(state);
        wake(woken);
    }

    /// One round of compare-and-pexpire, judged inside the old validity. See [`Guard::extend`](crate::Guard::extend).
    pub(crate) async fn extend(&self) -> ExtendOutcome {
        let first = self.now();
        let Some(deadline) = self.may_extend(first) else {
            return ExtendOutcome::Lost;
        };
        let Claim { key, value } = self.claim.clone();
        let begun = ExtensionBegun {
            key: &key,
            value,
            at: first,
            deadline,
        };
        self.shared.ports.observer().extension_begun(&begun);
        let (to, ttl) = (key.clone(), self.ttl());
        let answers = ask_all(self.shared.clone(), move |node: P::Node| {
            let key = to.clone();
            async move { node.compare_and_pexpire(&key, value.as_bytes(), ttl).await }
        })
        .await;
        self.settle(&answers, first, self.now())
    }

    /// The deadline to be inside of, or nothing if the lease is over: then no node is asked.
    fn may_extend(&self, now: Reading) -> Option<Reading> {
        let state = self.state();
        match state.left(now) {
            Ok(_) => Some(state.deadline),
            Err(loss) => {
                self.decide(state, &[], now, Err(loss));
                None
            }
        }
    }

    /// By what is known when the answers are there: a lease that ended while they were under way stays over.
    fn settle(&self, answers: &[NodeAnswer], first: Reading, now: Reading) -> ExtendOutcome {
        let state = self.state();
        let verdict = self.judge(&state, answers, first, now);
        self.decide(state, answers, now, verdict)
    }

    fn judge(
        &self,
        state: &State,
        answers: &[NodeAnswer],
        first: Reading,
        now: Reading,
    ) -> Result<Option<Lease>, Loss> {
        let in_time = state.left(now);
        match decision::judge_extension(&plain(answers), in_time.is_ok()) {
            ExtendOutcome::Lost => Err(in_time.err().unwrap_or(Loss::Answered)),
            ExtendOutcome::Unknown => Ok(None),
            ExtendOutcome::Extended => {
                let config = &self.shared.config;
                let lease = decision::lease(first, now, config.ttl, config.drift).ok();
                // Otherwise the old lease stands, and says more than the new one would.
                Ok(lease.filter(|lease| lease.deadline >= state.deadline))
            }
        }
    }

    fn decide(
        &self,
        mut state: MutexGuard<'_, State>,
        answers: &[NodeAnswer],
        at: Reading,
        verdict: Result<Option<Lease>, Loss>,
    ) -> ExtendOutcome {
        let outcome = match verdict {
            Ok(Some(lease)) => {
                state.deadline = lease.deadline;
                state.granted = lease.validity;
                ExtendOutcome::Extended
            }
            Ok(None) => ExtendOutcome::Unknown,
            Err(_) => ExtendOutcome::Lost,
        };
        let Claim { key, value } = &self.claim;
        self.shared
            .ports
            .observer()
            .extension_ended(&ExtensionEnded {
                key,
                value: *value,
                token: self.token,
                answers,
                at,
                deadline: state.deadline,
                outcome,
            });
        let woken = match verdict {
            Ok(_) => Waiting::new(),
            Err(loss) => self.end(&mut state, loss, at),
        };
        drop(state);
        wake(woken);
        outcome
    }

    /// Ends the lease and returns who is to be woken, outside of the lock: a waker may run foreign code.
    #[must_use]
    fn end(&self, state: &mut State, loss: Loss, at: Reading) -> Waiting {
        if state.over.is_some() {
            return Waiting::new();
        }
        state.over = Some(loss);
        let Claim { key, value } = &self.claim;
        // Under the lock, so that reports come in the order of decisions.
        self.shared.ports.observer().lease_lost(&LeaseLost {
            key,
            value: *value,
            token: self.token,
            at,
            deadline: state.deadline,
            loss,
        });
        std::mem::take(&mut state.waiting)
    }
}

type Waiting = BTreeMap<u64, Waker>;

fn wake(woken: Waiting) {
    woken.into_values().for_each(Waker::wake);
}

/// Ends when the lease does. Looks at the clock whenever it is polled, so that who polls it first never goes on
/// past the deadline; sleeps a third of the TTL at most, since a clock that is not the timers' own may step.
pub(crate) async fn over<P: Ports>(holding: Arc<Holding<P>>) -> Loss {
    let waiter = Waiter::new(holding);
    loop {
        let left = match waiter.holding.look() {
            Ok(left) => left,
            Err(loss) => return loss,
        };
        let mut sleep = pin!(waiter.holding.sleep(left.min(waiter.holding.period())));
        let found = poll_fn(|context| match waiter.look(context) {
            Err(loss) => Poll::Ready(Some(loss)),
            Ok(_) => sleep.as_mut().poll(context).map(|()| None),
        });
        if let Some(loss) = found.await {
            return loss;
        }
    }
}

/// A place among those who are woken at the end.
struct Waiter<P: Ports> {
    holding: Arc<Holding<P>>,
    number: u64,
}

impl<P: Ports> Waiter<P> {
    fn new(holding: Arc<Holding<P>>) -> Self {
        let mut state = holding.state();
        let number = state.next_waiter;
        state.next_waiter += 1;
        drop(state);
        Waiter { holding, number }
    }

    fn look(&self, context: &Context<'_>) -> Result<Duration, Loss> {
        let waker = context.waker().clone();
        self.holding.state().waiting.insert(self.number, waker);
        self.holding.look()
    }
}

impl<P: Ports> Drop for Waiter<P> {
    fn drop(&mut self) {
        let waker = self.holding.state().waiting.remove(&self.number);
        drop(waker);
    }
}
