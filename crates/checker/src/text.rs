//! Small words of witnesses and causes: durations, lists, who is who.

use std::fmt;
use std::time::Duration;

use crate::acquisitions::Owner;
use crate::clock::Time;

/// A duration as times are written: `35.000 s`.
pub(crate) struct Seconds(pub(crate) Duration);

impl fmt::Display for Seconds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Time::ZERO.after(self.0).fmt(f)
    }
}

/// Two owners as a sentence calls them: by client, and by attempt where the client is the same.
pub(crate) fn pair(one: &Owner, other: &Owner) -> (String, String) {
    if one.client == other.client {
        (one.to_string(), other.to_string())
    } else {
        (one.client.to_string(), other.client.to_string())
    }
}

/// `n1`, `n1 and n2`, `n1, n2 and n3`.
pub(crate) fn list<T: AsRef<str>>(items: &[T]) -> String {
    match items {
        [] => String::new(),
        [only] => only.as_ref().to_owned(),
        [first @ .., last] => {
            let first: Vec<&str> = first.iter().map(AsRef::as_ref).collect();
            format!("{} and {}", first.join(", "), last.as_ref())
        }
    }
}
