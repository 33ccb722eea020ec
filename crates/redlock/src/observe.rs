//! Seeing what the algorithm does, as it does it.

use crate::decision::{ExtendOutcome, ReleaseOutcome};
use crate::error::{Loss, Reason};
use crate::ports::Reading;
use crate::value::Value;
use crate::vote::{NodeAnswer, NodeVote};

/// An attempt is about to send its first SET.
#[derive(Clone, Copy, Debug)]
pub struct AttemptBegun<'a> {
    /// The lock's key.
    pub key: &'a [u8],
    /// The fresh value of this attempt.
    pub value: Value,
    /// The attempt's number within the call, from 1.
    pub number: u32,
    /// The first clock reading.
    pub at: Reading,
}

/// What came of an attempt.
#[derive(Clone, Copy, Debug)]
pub enum AttemptOutcome<'a> {
    /// The lock is held.
    Acquired {
        /// Its fencing token, if there are tokens.
        token: Option<u64>,
        /// The reading at which the lease ends.
        deadline: Reading,
    },
    /// It is not; what was set is being released.
    Refused(&'a Reason),
}

/// An attempt was decided.
#[derive(Clone, Copy, Debug)]
pub struct AttemptEnded<'a> {
    /// The lock's key.
    pub key: &'a [u8],
    /// The value of this attempt.
    pub value: Value,
    /// The attempt's number within the call, from 1.
    pub number: u32,
    /// What each node said, in the order of the list.
    pub votes: &'a [NodeVote],
    /// The second clock reading. `None` where it was not reached, or skipped by an unsound variant.
    pub at: Option<Reading>,
    /// Acquired or refused.
    pub outcome: AttemptOutcome<'a>,
}

/// An extension is about to ask the nodes.
#[derive(Clone, Copy, Debug)]
pub struct ExtensionBegun<'a> {
    /// The lock's key.
    pub key: &'a [u8],
    /// The lock's value.
    pub value: Value,
    /// The clock reading from just before.
    pub at: Reading,
    /// The deadline that the extension has to be inside of.
    pub deadline: Reading,
}

/// An extension was decided.
#[derive(Clone, Copy, Debug)]
pub struct ExtensionEnded<'a> {
    /// The lock's key.
    pub key: &'a [u8],
    /// The lock's value.
    pub value: Value,
    /// The lock's fencing token: an extension does not change it.
    pub token: Option<u64>,
    /// What each node said; empty if none was asked.
    pub answers: &'a [NodeAnswer],
    /// The clock reading that the decision was made at.
    pub at: Reading,
    /// The deadline from here on: the new one if extended, else the old one.
    pub deadline: Reading,
    /// Extended, lost or unknown.
    pub outcome: ExtendOutcome,
}

/// A lease ended while it was held: the holder is told so from now on, finally.
#[derive(Clone, Copy, Debug)]
pub struct LeaseLost<'a> {
    /// The lock's key.
    pub key: &'a [u8],
    /// The lock's value.
    pub value: Value,
    /// The lock's fencing token.
    pub token: Option<u64>,
    /// The clock reading at which it was found.
    pub at: Reading,
    /// The deadline that it had.
    pub deadline: Reading,
    /// By the clock or by the answers; never [`Loss::GivenBack`].
    pub loss: Loss,
}

/// Why a release was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ReleaseCause {
    /// The holder called it.
    Called,
    /// An attempt was refused.
    Refused,
    /// A guard, or a call of acquire that had not ended, was dropped.
    Dropped,
}

/// A release is about to ask the nodes.
#[derive(Clone, Copy, Debug)]
pub struct ReleaseBegun<'a> {
    /// The lock's key.
    pub key: &'a [u8],
    /// The lock's value.
    pub value: Value,
    /// Why it is released.
    pub cause: ReleaseCause,
}

/// A release has heard from every node or waited long enough.
#[derive(Clone, Copy, Debug)]
pub struct ReleaseEnded<'a> {
    /// The lock's key.
    pub key: &'a [u8],
    /// The lock's value.
    pub value: Value,
    /// Why it was released.
    pub cause: ReleaseCause,
    /// What each node said.
    pub answers: &'a [NodeAnswer],
    /// What is said to the holder; `None` where nobody asked.
    pub outcome: Option<ReleaseOutcome>,
}

/// Sees what the algorithm does, synchronously and in the same poll. `()` sees nothing and is the default.
///
/// Nothing is awaited between a decision and its report, so whatever the caller does with an acquired lock
/// comes later in the history. Implementations must not call back into the lock: some reports
/// are made while its state is locked.
pub trait Observer: Clone + Send + Sync + 'static {
    /// Right after the first clock reading, before the first SET.
    fn attempt_begun(&self, _event: &AttemptBegun<'_>) {}
    /// Right after the decision, before anything is released.
    fn attempt_ended(&self, _event: &AttemptEnded<'_>) {}
    /// Right after the clock reading of an extension, before anything is sent.
    fn extension_begun(&self, _event: &ExtensionBegun<'_>) {}
    /// Right after the decision on an extension, the holder's own or a watchdog's. Comes without a beginning if
    /// the lock was lost before.
    fn extension_ended(&self, _event: &ExtensionEnded<'_>) {}
    /// Once for each lease at most, when its loss is first found: by an extension, a watchdog, who waits for the
    /// loss or who asks for the validity.
    fn lease_lost(&self, _event: &LeaseLost<'_>) {}
    /// Before a release is sent; for one by `Drop`, when its task is first polled.
    fn release_begun(&self, _event: &ReleaseBegun<'_>) {}
    /// After a release.
    fn release_ended(&self, _event: &ReleaseEnded<'_>) {}
}

impl Observer for () {}
