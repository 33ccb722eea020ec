//! Histories as JSON Lines: the header, then one event a line, each line with its newline.

use std::io;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::digest::{Digest, Hasher};
use crate::error::HistoryError;
use crate::history::{Event, FORMAT, Header, History};

impl History {
    /// Writes the history as JSON Lines.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn write_jsonl(&self, out: &mut impl io::Write) -> io::Result<()> {
        self.header.write_jsonl(out)?;
        self.events
            .iter()
            .try_for_each(|event| event.write_jsonl(out))
    }

    /// The history as JSON Lines.
    #[must_use]
    pub fn to_jsonl(&self) -> String {
        let mut bytes = Vec::new();
        self.write_jsonl(&mut bytes)
            .expect("memory takes every write");
        String::from_utf8(bytes).expect("JSON is UTF-8")
    }

    /// The SHA-256 of the history as JSON Lines.
    #[must_use]
    pub fn digest(&self) -> Digest {
        // JSON is written in small pieces, which a hash function takes one by one at some cost.
        let mut hasher = io::BufWriter::with_capacity(1 << 14, Hasher::default());
        let hashed = self.write_jsonl(&mut hasher);
        hashed.expect("a hasher takes every write");
        let hasher = hasher.into_inner().expect("a hasher takes every write");
        hasher.finish()
    }

    /// Reads a history and validates it.
    ///
    /// # Errors
    /// Names the line, what is wrong with it and what to do.
    pub fn parse(text: &str) -> Result<Self, HistoryError> {
        let history = read(text)?;
        history.validate()?;
        Ok(history)
    }
}

impl Header {
    /// Writes the header as the first line of a history.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn write_jsonl(&self, out: &mut impl io::Write) -> io::Result<()> {
        write_line(self, out)
    }
}

impl Event {
    /// Writes the event as a line, so that a recorder can write and hash while the run goes on.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn write_jsonl(&self, out: &mut impl io::Write) -> io::Result<()> {
        write_line(self, out)
    }
}

fn write_line(value: &impl Serialize, out: &mut impl io::Write) -> io::Result<()> {
    serde_json::to_writer(&mut *out, value)?;
    out.write_all(b"\n")
}

fn read(text: &str) -> Result<History, HistoryError> {
    if text.trim().is_empty() {
        return Err(HistoryError::Empty);
    }
    // Before anything else: half a line is not JSON either, and that would be the wrong thing to say.
    if !text.ends_with('\n') {
        return Err(HistoryError::CutOff {
            line: text.lines().count(),
        });
    }
    let mut lines = text.lines().zip(1..);
    let (first, _) = lines.next().ok_or(HistoryError::Empty)?;
    let header = read_header(first)?;
    let events = lines
        .map(|(line, number)| read_line(line, number))
        .collect::<Result<Vec<Event>, _>>()?;
    Ok(History { header, events })
}

fn read_header(line: &str) -> Result<Header, HistoryError> {
    let object = read_object(line, 1)?;
    // Another version may have other fields, so its number is looked at first.
    match object.get("format").and_then(Value::as_u64) {
        None => Err(HistoryError::NoHeader),
        Some(format) if format != u64::from(FORMAT) => Err(HistoryError::OtherFormat { format }),
        Some(_) => read_known(object, 1),
    }
}

fn read_line(line: &str, number: usize) -> Result<Event, HistoryError> {
    read_known(read_object(line, number)?, number)
}

fn read_object(line: &str, number: usize) -> Result<Map<String, Value>, HistoryError> {
    serde_json::from_str(line).map_err(|source| HistoryError::NotJson {
        line: number,
        source,
    })
}

/// Reads a value and refuses fields that it does not have: a misspelt `token` would be judged as none.
fn read_known<T: Serialize + DeserializeOwned>(
    object: Map<String, Value>,
    number: usize,
) -> Result<T, HistoryError> {
    let wrong = |source| HistoryError::NotAnEvent {
        line: number,
        source,
    };
    let value: T = serde_json::from_value(Value::Object(object.clone())).map_err(wrong)?;
    let known = serde_json::to_value(&value).map_err(wrong)?;
    match object
        .keys()
        .find(|field| known.get(field.as_str()).is_none())
    {
        Some(field) => Err(HistoryError::UnknownField {
            line: number,
            field: field.clone(),
        }),
        None => Ok(value),
    }
}
