//! The judge: histories in, verdicts out. No I/O, no engine, nothing of the rest of Fencepost.
//!
//! [`History`] is what a run leaves; [`judge`] says of each [`Property`] whether it held, with witnesses and their
//! causes. What the judges derive on the way, such as [leases], is public for whoever draws a run.

pub mod acquisitions;
pub mod calls;
mod cause;
pub mod clock;
pub mod difference;
pub mod digest;
pub mod error;
pub mod exposure;
pub mod history;
pub mod hosts;
mod jsonl;
pub mod keys;
pub mod leases;
pub mod metrics;
pub mod property;
pub mod reach;
pub mod run;
pub mod span;
mod text;
mod validate;
pub mod verdict;

pub use clock::{ClockKind, ClockLine, Segment, Time};
pub use difference::{Difference, first_difference};
pub use digest::{Digest, digest_of};
pub use error::HistoryError;
pub use history::{Event, Header, History, What};
pub use property::{Property, UnknownProperty, judge, judge_run};
pub use verdict::{Outcome, Verdict, Witness};
