//! Releasing: one round of compare-and-delete on all nodes, and the promise that it will happen.

use std::sync::Arc;

use crate::decision::ReleaseOutcome;
use crate::observe::{Observer, ReleaseBegun, ReleaseCause, ReleaseEnded};
use crate::ports::{Node, Ports, Spawn};
use crate::round::{Claim, Shared, ask_all};
use crate::vote::NodeAnswer;

/// Asks *all* nodes to delete the key if it is this claim's, also those that refused or did not answer:
/// a SET without an answer may have been applied (document 002, step 5 and "락 해제").
pub(crate) async fn release_round<P: Ports>(
    shared: Arc<Shared<P>>,
    claim: Claim,
    cause: ReleaseCause,
) -> Vec<NodeAnswer> {
    let Claim { key, value } = &claim;
    shared.ports.observer().release_begun(&ReleaseBegun {
        key,
        value: *value,
        cause,
    });
    let claim = claim.clone();
    ask_all(shared, move |node: P::Node| {
        let Claim { key, value } = claim.clone();
        async move { node.compare_and_delete(&key, value.as_bytes()).await }
    })
    .await
}

pub(crate) fn report<P: Ports>(
    shared: &Shared<P>,
    claim: &Claim,
    cause: ReleaseCause,
    answers: &[NodeAnswer],
    outcome: Option<ReleaseOutcome>,
) {
    let Claim { key, value } = claim;
    shared.ports.observer().release_ended(&ReleaseEnded {
        key,
        value: *value,
        cause,
        answers,
        outcome,
    });
}

/// A claim that is released when this is dropped, unless it was disarmed.
///
/// Armed *before* the first SET, so that a call of acquire that is dropped half-way releases too. `Drop`
/// only builds a task and spawns it: it reads no clock and waits for nothing.
pub(crate) struct Armed<P: Ports> {
    pub(crate) shared: Arc<Shared<P>>,
    pub(crate) claim: Claim,
    pub(crate) cause: ReleaseCause,
    armed: bool,
}

impl<P: Ports> Armed<P> {
    pub(crate) fn new(shared: Arc<Shared<P>>, claim: Claim) -> Self {
        Armed {
            shared,
            claim,
            cause: ReleaseCause::Dropped,
            armed: true,
        }
    }

    pub(crate) fn disarm(&mut self) {
        self.armed = false;
    }

    /// Releases in the background: dropping is all it takes.
    pub(crate) fn release_detached(mut self) {
        self.cause = ReleaseCause::Refused;
    }

    /// Releases and waits for the answers, at most for the timeout of a node. Dropped half-way, it begins
    /// anew in the background.
    pub(crate) async fn release_refused(mut self) {
        self.cause = ReleaseCause::Refused;
        let answers = release_round(self.shared.clone(), self.claim.clone(), self.cause).await;
        self.disarm();
        report(&self.shared, &self.claim, self.cause, &answers, None);
    }
}

impl<P: Ports> Drop for Armed<P> {
    fn drop(&mut self) {
        if !self.armed {
            return;
        }
        let (shared, claim, cause) = (self.shared.clone(), self.claim.clone(), self.cause);
        self.shared.ports.spawner().spawn(async move {
            let answers = release_round(shared.clone(), claim.clone(), cause).await;
            report(&shared, &claim, cause, &answers, None);
        });
    }
}
