//! Extending a lease that is still held (document 002, edit 2).

use crate::decision::{self, ExtendOutcome, Lease};
use crate::guard::Guard;
use crate::observe::{ExtensionBegun, ExtensionEnded, Observer};
use crate::ports::{Clock, Node, Ports, Reading};
use crate::round::{Claim, ask_all, plain};
use crate::vote::NodeAnswer;

impl<P: Ports> Guard<P> {
    /// Extends the lease by the lock's TTL from now: one round of compare-and-pexpire on all nodes, each
    /// within its timeout.
    ///
    /// Good only with a majority, and only inside the *old* validity by the lock's own clock. A node that
    /// has lost the key, or holds another's, is never written to: `SET ... XX`, as document 000 has it ("Lock
    /// Extension"), does not ask who owns the key.
    ///
    /// [`ExtendOutcome::Lost`] is final. [`ExtendOutcome::Unknown`] leaves everything as it was and can be
    /// tried again. It is always the lock's TTL: a shorter one, applied by a minority, would take time away
    /// from the lease that still stands.
    pub async fn extend(&mut self) -> ExtendOutcome {
        let first = self.armed.shared.ports.clock().now();
        if self.is_given_up() || first >= self.deadline {
            return self.decided(ExtendOutcome::Lost, &[], first);
        }
        let answers = self.ask_to_extend(first).await;
        let now = self.armed.shared.ports.clock().now();
        let (outcome, lease) = self.judge(&answers, first, now);
        if let Some(lease) = lease {
            self.renew(lease);
        }
        self.decided(outcome, &answers, now)
    }

    async fn ask_to_extend(&self, at: Reading) -> Vec<NodeAnswer> {
        let shared = self.armed.shared.clone();
        let Claim { key, value } = self.armed.claim.clone();
        let begun = ExtensionBegun {
            key: &key,
            value,
            at,
            deadline: self.deadline,
        };
        shared.ports.observer().extension_begun(&begun);
        let ttl = shared.config.ttl;
        ask_all(shared, move |node: P::Node| {
            let key = key.clone();
            async move { node.compare_and_pexpire(&key, value.as_bytes(), ttl).await }
        })
        .await
    }

    fn judge(
        &self,
        answers: &[NodeAnswer],
        first: Reading,
        now: Reading,
    ) -> (ExtendOutcome, Option<Lease>) {
        let config = &self.armed.shared.config;
        let outcome = decision::judge_extension(&plain(answers), now < self.deadline);
        if outcome != ExtendOutcome::Extended {
            return (outcome, None);
        }
        match decision::lease(first, now, config.ttl, config.drift) {
            Ok(lease) if lease.deadline >= self.deadline => (outcome, Some(lease)),
            // The old lease stands, and says more than the new one would.
            _ => (ExtendOutcome::Unknown, None),
        }
    }

    fn decided(
        &mut self,
        outcome: ExtendOutcome,
        answers: &[NodeAnswer],
        at: Reading,
    ) -> ExtendOutcome {
        self.lost |= outcome == ExtendOutcome::Lost;
        let Claim { key, value } = &self.armed.claim;
        let (token, deadline) = (self.token, self.deadline);
        let ended = ExtensionEnded {
            key,
            value: *value,
            token,
            answers,
            at,
            deadline,
            outcome,
        };
        self.armed.shared.ports.observer().extension_ended(&ended);
        outcome
    }
}
