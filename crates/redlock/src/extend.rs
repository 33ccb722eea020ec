//! Extending a lease that is still held (document 002, edit 2).

use crate::decision::ExtendOutcome;
use crate::guard::Guard;
use crate::ports::Ports;

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
        self.holding.extend().await
    }
}
