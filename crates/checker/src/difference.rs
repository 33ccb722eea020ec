//! Where two histories part.

use std::fmt;

use serde::Serialize;

use crate::history::{Event, Header, History};

/// The first place at which two histories differ.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Difference {
    /// They are not of the same run.
    Header {
        /// The header of the first history.
        first: Box<Header>,
        /// The header of the second.
        second: Box<Header>,
    },
    /// The first event that differs; `None` where a history has ended already.
    Event {
        /// Its place, from 0.
        place: usize,
        /// The event of the first history.
        first: Option<Box<Event>>,
        /// The event of the second.
        second: Option<Box<Event>>,
    },
}

/// The first difference of two histories, or `None` if they are the same.
#[must_use]
pub fn first_difference(a: &History, b: &History) -> Option<Difference> {
    if a.header != b.header {
        let (first, second) = (Box::new(a.header.clone()), Box::new(b.header.clone()));
        return Some(Difference::Header { first, second });
    }
    let longest = a.events.len().max(b.events.len());
    let place = (0..longest).find(|&place| a.events.get(place) != b.events.get(place))?;
    let event = |history: &History| history.events.get(place).cloned().map(Box::new);
    Some(Difference::Event {
        place,
        first: event(a),
        second: event(b),
    })
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Header { first, second } => {
                write!(
                    f,
                    "the headers differ\n  first:  {}\n  second: {}",
                    json(first),
                    json(second)
                )
            }
            Self::Event {
                place,
                first,
                second,
            } => {
                let shown = |event: &Option<Box<Event>>| {
                    event
                        .as_ref()
                        .map_or_else(|| "(has ended)".to_owned(), json)
                };
                write!(
                    f,
                    "event {place} differs\n  first:  {}\n  second: {}",
                    shown(first),
                    shown(second)
                )
            }
        }
    }
}

fn json<T: Serialize>(value: &T) -> String {
    serde_json::to_string(value).unwrap_or_default()
}
