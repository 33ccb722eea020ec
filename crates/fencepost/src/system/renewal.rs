//! Renewals that are sent whatever the local clock says.
//!
//! `redlock` never sends one after its deadline, so what becomes of those is shown by a loop of its own, as the
//! documents' reader would write it: each third of the TTL, a majority of yes is an extension, and there is no rule
//! about the old validity.

use std::cell::{Cell, RefCell};
use std::future::{Future, poll_fn};
use std::rc::Rc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use fencepost_checker::ClockKind;
use fencepost_checker::history::{Attempt, Vote, What};
use fencepost_world::Host;
use futures_util::future::{Either, join_all, select};
use redlock::decision::judge_extension;
use redlock::{Answer, Compared, ExtendOutcome, Node, NodeAnswer};

use super::node::LockNode;
use super::ports::{ExtendCalls, LastPrimary, extension_vote, text};

/// How a client renews late.
#[derive(Clone, Debug)]
pub(super) struct Late {
    pub(super) host: Host,
    pub(super) clock: ClockKind,
    pub(super) ttl: Duration,
    /// What of the TTL is left once its drift margin is taken off.
    pub(super) usable: Duration,
    pub(super) node_timeout: Duration,
    pub(super) nodes: Vec<LockNode>,
    pub(super) primary: LastPrimary,
    pub(super) calls: ExtendCalls,
    /// `SET .. XX` in place of the script.
    pub(super) set_xx: bool,
}

/// What is renewed.
#[derive(Clone, Debug)]
pub(super) struct Claim {
    pub(super) attempt: Attempt,
    pub(super) key: Vec<u8>,
    pub(super) value: Vec<u8>,
}

/// Renewing in the background, which ends with this.
#[derive(Debug)]
pub(super) struct Renewal(Rc<State>);

impl Drop for Renewal {
    fn drop(&mut self) {
        self.0.end(End::Released);
    }
}

impl Renewal {
    /// Ends when the nodes have told the client that it lost the key.
    pub(super) fn lost(&self) -> impl Future<Output = ()> + use<> {
        let state = Rc::clone(&self.0);
        poll_fn(move |context| state.poll(End::Lost, &state.holder, context))
    }
}

/// Why there is nothing to renew any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    Released,
    Lost,
}

/// What the renewal and the holder know of each other.
#[derive(Debug, Default)]
struct State {
    end: Cell<Option<End>>,
    /// Who waits for a loss.
    holder: RefCell<Option<Waker>>,
    /// The renewal, between two rounds.
    renewal: RefCell<Option<Waker>>,
}

impl State {
    fn end(&self, end: End) {
        if self.end.get().is_none() {
            self.end.set(Some(end));
        }
        for waiting in [&self.holder, &self.renewal] {
            if let Some(waker) = waiting.take() {
                waker.wake();
            }
        }
    }

    fn poll(&self, end: End, waiting: &RefCell<Option<Waker>>, context: &Context<'_>) -> Poll<()> {
        if self.end.get() == Some(end) {
            return Poll::Ready(());
        }
        waiting.replace(Some(context.waker().clone()));
        Poll::Pending
    }
}

impl Late {
    /// Renews in the background from now on.
    pub(super) fn start(&self, claim: Claim) -> Renewal {
        let state = Rc::new(State::default());
        let renewing = self.clone().renew(claim, Rc::clone(&state));
        self.host.spawn(renewing);
        Renewal(state)
    }

    async fn renew(self, claim: Claim, state: Rc<State>) {
        loop {
            let released = poll_fn(|context| state.poll(End::Released, &state.renewal, context));
            let sleep = self.host.sleep(self.ttl / 3);
            if let Either::Left(_) = select(released, sleep).await {
                return;
            }
            let before = self.host.reading(self.clock);
            self.calls.begun(&claim.key);
            let answers = join_all(self.nodes.iter().map(|node| self.ask(node, &claim))).await;
            self.calls.ended();
            if state.end.get().is_some() {
                // It was released meanwhile, and nobody is told anything.
                return;
            }
            match judge(&answers) {
                ExtendOutcome::Extended => {
                    self.extended(&claim, before, &answers);
                    self.host.mark("extended").await;
                }
                ExtendOutcome::Lost => {
                    self.lost(&claim);
                    state.end(End::Lost);
                    self.host.mark("lost").await;
                    return;
                }
                _ => {}
            }
        }
    }

    async fn ask(&self, node: &LockNode, claim: &Claim) -> NodeAnswer {
        let Claim { key, value, .. } = claim;
        let call = async {
            if self.set_xx {
                node.set_xx(key, value, self.ttl).await
            } else {
                node.compare_and_pexpire(key, value, self.ttl).await
            }
        };
        let answer = match self.host.timeout(self.node_timeout, call).await {
            Some(Ok(Compared::Done)) => Answer::Done,
            Some(Ok(Compared::Foreign)) => Answer::Foreign,
            Some(Ok(Compared::Missing)) => Answer::Missing,
            Some(Err(error)) => Answer::Failed(error),
            None => Answer::TimedOut,
        };
        NodeAnswer {
            node: node.id(),
            answer,
        }
    }

    fn extended(&self, claim: &Claim, before: u64, answers: &[NodeAnswer]) {
        let usable = u64::try_from(self.usable.as_nanos()).unwrap_or(u64::MAX);
        let votes: Vec<Vote> = answers
            .iter()
            .map(|answer| extension_vote(answer, &self.primary))
            .collect();
        self.host.record(What::Extended {
            client: self.host.name(),
            attempt: claim.attempt,
            key: text(&claim.key),
            deadline: Some(before.saturating_add(usable)),
            clock: self.clock,
            votes,
        });
    }

    fn lost(&self, claim: &Claim) {
        self.host.record(What::Lost {
            client: self.host.name(),
            attempt: claim.attempt,
            key: text(&claim.key),
        });
    }
}

/// By the answers alone: for this client it is never too late.
fn judge(answers: &[NodeAnswer]) -> ExtendOutcome {
    let plain: Vec<Answer> = answers.iter().map(|one| one.answer.clone()).collect();
    judge_extension(&plain, true)
}
