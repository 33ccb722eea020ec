//! What can be wrong with a history: the line, what is wrong and what to do.

use crate::clock::Time;
use crate::history::{FORMAT, Name};

/// Why a text is not a history, or why events are not one.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum HistoryError {
    /// Nothing is there.
    #[error("the history is empty: run the scenario again and keep its bundle")]
    Empty,
    /// The text ends in the middle of a line.
    #[error(
        "line {line} ends without a newline: the history was cut off; run the scenario again, or copy the file again"
    )]
    CutOff {
        /// The last line, from 1.
        line: usize,
    },
    /// The events stop before the run did.
    #[error(
        "after line {line} an `end` event is missing: the history was cut off; run the scenario again, or copy the file again"
    )]
    NoEnd {
        /// The last line, from 1.
        line: usize,
    },
    /// Something is said to have happened after the end.
    #[error("line {line} comes after the `end` event: two histories in one file? Keep one of them")]
    AfterEnd {
        /// The line, from 1.
        line: usize,
    },
    /// The first line does not say that this is a history.
    #[error(
        "line 1 has no `format` number: a history begins with its header; is this the right file?"
    )]
    NoHeader,
    /// Written by another version of the format.
    #[error(
        "line 1: the history has format {format}, and this fencepost reads format {FORMAT}; use the version that its bundle names"
    )]
    OtherFormat {
        /// The version that stands in the header.
        format: u64,
    },
    /// Not a JSON object.
    #[error("line {line} is not a JSON object: {source}; a history has one object a line")]
    NotJson {
        /// The line, from 1.
        line: usize,
        /// What the JSON reader says.
        source: serde_json::Error,
    },
    /// JSON, but no header or event of this format.
    #[error("line {line} is not {}: {source}; was it edited?", if *line == 1 { "a header" } else { "an event" })]
    NotAnEvent {
        /// The line, from 1.
        line: usize,
        /// What is wrong with it.
        source: serde_json::Error,
    },
    /// A field that this format does not have.
    #[error("line {line} has a field `{field}`, which this format does not know; was it edited?")]
    UnknownField {
        /// The line, from 1.
        line: usize,
        /// The field.
        field: String,
    },
    /// An event is missing, doubled or out of place.
    #[error(
        "line {line} has sequence number {found} where {expected} comes next: a line is missing or out of place"
    )]
    SequenceGap {
        /// The line, from 1.
        line: usize,
        /// The number that would follow.
        expected: u64,
        /// The number that is there.
        found: u64,
    },
    /// An event is earlier than the one before it.
    #[error(
        "line {line} is at {found}, earlier than the line before it at {before}: lines are out of place, or the recorder is broken"
    )]
    TimeBackwards {
        /// The line, from 1.
        line: usize,
        /// The time of the line before.
        before: Time,
        /// The time of this line.
        found: Time,
    },
    /// An event names a host that was never introduced.
    #[error(
        "line {line} names `{host}`, and no `host` event before it does: a line is missing, or the recorder is broken"
    )]
    UnknownHost {
        /// The line, from 1.
        line: usize,
        /// The name.
        host: Name,
    },
    /// A decision is measured by a clock of which nothing is known.
    #[error(
        "line {line} needs the clock of `{host}`, and no `clock` event before it gives it: a line is missing, or the recorder is broken"
    )]
    NoClock {
        /// The line, from 1.
        line: usize,
        /// The host.
        host: Name,
    },
    /// A clock's segment begins at another instant than its event.
    #[error(
        "line {line} is at {at} and gives a clock from {from} on: a segment begins in the instant of its event"
    )]
    ClockElsewhere {
        /// The line, from 1.
        line: usize,
        /// The event's time.
        at: Time,
        /// The segment's beginning.
        from: Time,
    },
}
