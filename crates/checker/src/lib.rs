//! The judge: histories in, verdicts out. No I/O, no engine, nothing of the rest of Fencepost.

pub mod clock;
pub mod history;

pub use clock::{ClockKind, ClockLine, Segment, Time};
pub use history::{Event, Header, History, What};
