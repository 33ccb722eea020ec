//! What a client does: acquire, read, think, write, hold, release. The marks are the events that faults are set on.

use std::cell::Cell;
use std::future::{Future, pending};
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::time::Duration;

use fencepost_checker::history::{Attempt, Name, Operation, What};
use fencepost_world::{Host, Stream};
use futures_util::future::{Either, select};

use crate::plan::{ClientPlan, RoundPlan};
use crate::remote::{For, ResourceClient, SequenceClient};
use crate::system::{Acquired, LockClient, LockSystem};

/// The lock key and the counter that it protects.
pub(crate) const KEY: &str = "counter";

/// Numbers the calls of a run.
pub(crate) type Calls = Rc<Cell<u64>>;

/// The program of one client.
pub(crate) async fn counter<S: LockSystem>(
    host: Host,
    place: usize,
    plan: ClientPlan,
    system: Rc<S>,
    calls: Calls,
) {
    host.mark("started").await;
    host.sleep(plan.start).await;
    let worker = Worker {
        host,
        name: host.name(),
        lock: system.client(host),
        calls,
        probe: plan.probe,
        late_tokens: plan
            .token_after
            .then(|| SequenceClient::new(host))
            .flatten(),
    };
    let mut retry = Retry {
        stream: host.stream("retry"),
        least: plan.retry.0,
        most: plan.retry.1,
    };
    let Some(mut resource) = ResourceClient::new(host, place) else {
        return;
    };
    for round in &plan.rounds {
        if let Some(mut held) = worker.acquire(plan.tries, &mut retry).await {
            if let Some(tokens) = &worker.late_tokens {
                held.token = tokens.next(KEY.as_bytes()).await.ok();
            }
            worker
                .work(&mut resource, &held, round, plan.cancel_on_loss)
                .await;
            worker.release(held).await;
        }
    }
    host.mark("finished").await;
}

/// The random delays between two attempts.
struct Retry {
    stream: Stream,
    least: Duration,
    most: Duration,
}

impl Retry {
    fn next(&mut self) -> Duration {
        let nanos = |duration: Duration| u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX);
        Duration::from_nanos(self.stream.between(nanos(self.least), nanos(self.most)))
    }
}

/// The news that the lock is lost, which a step is cancelled by.
struct Lost<'a>(Pin<Box<dyn Future<Output = ()> + 'a>>);

impl Lost<'_> {
    /// What comes of `step`, or nothing if the lock is lost before: asked first, so that nothing is begun under a lease
    /// that is over.
    async fn or<T>(&mut self, step: impl Future<Output = T>) -> Option<T> {
        match select(&mut self.0, pin!(step)).await {
            Either::Left(_) => None,
            Either::Right((came, _)) => Some(came),
        }
    }
}

struct Worker<C> {
    host: Host,
    name: Name,
    lock: C,
    calls: Calls,
    probe: bool,
    /// Where it fetches tokens after the decision, if it does that.
    late_tokens: Option<SequenceClient>,
}

impl<C: LockClient> Worker<C> {
    /// Tries to acquire, without limit if `tries` sets none.
    async fn acquire(&self, tries: Option<u32>, retry: &mut Retry) -> Option<Acquired<C::Held>> {
        let mut tried = 0;
        loop {
            if tries.is_some_and(|tries| tried >= tries) {
                return None;
            }
            tried += 1;
            self.host.mark("trying").await;
            if let Some(held) = self.try_once().await {
                self.host.mark("acquired").await;
                return Some(held);
            }
            self.host.mark("refused").await;
            self.host.sleep(retry.next()).await;
        }
    }

    /// Acquisition and entry are one poll: nothing can come between the decision and the critical section.
    async fn try_once(&self) -> Option<Acquired<C::Held>> {
        let call = self.call_begun(Operation::Acquire);
        let acquired = self.lock.acquire(KEY).await;
        self.call_ended(call);
        let held = acquired.ok()?;
        self.host.record(What::Acquired {
            client: self.name(),
            attempt: held.attempt,
            key: key(),
            value: hex::encode(&held.value),
            token: held.token,
            deadline: held.deadline,
            clock: held.clock,
            votes: held.votes.clone(),
        });
        self.host.record(What::Entered {
            client: self.name(),
            attempt: held.attempt,
            key: key(),
        });
        Some(held)
    }

    /// One read, some thought, one write of what came of it. Without an answer to the read nothing is written; whether
    /// a write without an answer was applied, the client does not know.
    async fn work(
        &self,
        resource: &mut ResourceClient,
        held: &Acquired<C::Held>,
        round: &RoundPlan,
        cancel_on_loss: bool,
    ) {
        let of = For {
            key: KEY,
            attempt: held.attempt,
            token: held.token,
        };
        let lost: Lost<'_> = if cancel_on_loss {
            Lost(Box::pin(self.lock.lost(&held.held)))
        } else {
            Lost(Box::pin(pending()))
        };
        // Cancelled or at its end: it leaves.
        let _: Option<()> = self.steps(resource, of, round, lost).await;
        self.host.record(What::Left {
            client: self.name(),
            attempt: held.attempt,
            key: key(),
        });
    }

    /// `None` if the loss came first. What was sent to the resource is waited for in any case.
    async fn steps(
        &self,
        resource: &mut ResourceClient,
        of: For<'_>,
        round: &RoundPlan,
        mut lost: Lost<'_>,
    ) -> Option<()> {
        if let Ok(reading) = resource.read(of).await {
            self.host.mark("read").await;
            lost.or(self.host.sleep(round.think)).await?;
            // Refused for its token, or no answer: either way the client is done and the history says which it was.
            drop(resource.write(of, &reading).await);
            self.host.mark("wrote").await;
        }
        lost.or(self.host.sleep(round.hold)).await
    }

    async fn release(&self, mut held: Acquired<C::Held>) {
        self.host.mark("releasing").await;
        let (attempt, call) = (held.attempt, self.call_begun(Operation::Release));
        self.host.record(What::ReleaseCalled {
            client: self.name(),
            attempt,
            key: key(),
        });
        let outcome = self.lock.release(&mut held.held).await;
        self.call_ended(call);
        self.release_ended(attempt, outcome);
        self.host.mark("released").await;
    }

    fn release_ended(&self, attempt: Attempt, outcome: fencepost_checker::history::ReleaseOutcome) {
        self.host.record(What::ReleaseEnded {
            client: self.name(),
            attempt,
            key: key(),
            outcome,
        });
    }

    fn call_begun(&self, operation: Operation) -> u64 {
        let call = self.calls.get();
        self.calls.set(call + 1);
        self.host.record(What::CallBegun {
            client: self.name(),
            call,
            operation,
            key: key(),
            probe: self.probe,
        });
        call
    }

    fn call_ended(&self, call: u64) {
        self.host.record(What::CallEnded {
            client: self.name(),
            call,
        });
    }

    fn name(&self) -> Name {
        Name::clone(&self.name)
    }
}

fn key() -> Name {
    thread_local!(static NAME: Name = Name::from(KEY));
    NAME.with(Name::clone)
}
