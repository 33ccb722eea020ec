//! How a lock of one's own tells the harness what it does.

use fencepost_checker::ClockKind;
use fencepost_checker::history::{Attempt, Name, What};
use fencepost_world::Host;

use super::{Acquired, Refused};

/// One attempt of a client to acquire a key, from its first clock reading on.
#[derive(Clone, Debug)]
pub struct LockAttempt {
    host: Host,
    key: Name,
    value: Vec<u8>,
    number: Attempt,
    clock: ClockKind,
    began: u64,
}

impl LockAttempt {
    /// Begins one, by the host's monotonic clock. `value` is what is to stand at the nodes: whatever command carries it
    /// counts as this attempt's, so it must be one that no other attempt has.
    #[must_use]
    pub fn begin(host: Host, key: &str, value: impl Into<Vec<u8>>) -> Self {
        Self::begin_by(ClockKind::Monotonic, host, key, value)
    }

    /// Begins one, of a lock that measures by that clock.
    #[must_use]
    pub fn begin_by(clock: ClockKind, host: Host, key: &str, value: impl Into<Vec<u8>>) -> Self {
        let (value, began) = (value.into(), host.reading(clock));
        Self {
            number: host.attempt_begun(key.as_bytes(), &value, clock, began),
            host,
            key: Name::from(key),
            value,
            clock,
            began,
        }
    }

    /// The first reading of its clock, in nanoseconds.
    #[must_use]
    pub fn began(&self) -> u64 {
        self.began
    }

    /// The lock is acquired: `held` is what [`release`](super::LockClient::release) needs. It states no deadline and no
    /// token; see [`Acquired::until`] and [`Acquired::with_token`].
    #[must_use]
    pub fn acquired<H>(&self, held: H) -> Acquired<H> {
        Acquired {
            held,
            attempt: self.number,
            value: self.value.clone(),
            token: None,
            deadline: None,
            clock: self.clock,
            votes: Vec::new(),
        }
    }

    /// The lock is not acquired.
    #[must_use]
    pub fn refused(&self, reason: impl Into<String>) -> Refused {
        let reason = reason.into();
        self.host.record(What::Refused {
            client: self.host.name(),
            attempt: self.number,
            key: self.key.clone(),
            reason: reason.clone(),
            votes: Vec::new(),
        });
        Refused(reason)
    }

    /// The holder is told that its lease now lasts until the attempt's clock reads `deadline`, in nanoseconds.
    pub fn extended(&self, deadline: u64) {
        self.host.record(What::Extended {
            client: self.host.name(),
            attempt: self.number,
            key: self.key.clone(),
            deadline: Some(deadline),
            clock: self.clock,
            votes: Vec::new(),
        });
    }

    /// The holder is told that it holds the lock no longer; see [`LockClient::lost`](super::LockClient::lost).
    pub fn lost(&self) {
        self.host.record(What::Lost {
            client: self.host.name(),
            attempt: self.number,
            key: self.key.clone(),
        });
    }
}

impl<H> Acquired<H> {
    /// States that the lease ends when the attempt's clock reads `deadline`, in nanoseconds.
    #[must_use]
    pub fn until(mut self, deadline: u64) -> Self {
        self.deadline = Some(deadline);
        self
    }

    /// Adds the fencing token that goes with each operation on the resource.
    #[must_use]
    pub fn with_token(mut self, token: u64) -> Self {
        self.token = Some(token);
        self
    }
}
