//! Flips: a scenario's own TOML with some of its values replaced, so that an error still points at its place.

use std::borrow::Cow;
use std::ops::Range;

use serde::Deserialize;
use serde::de::IgnoredAny;
use toml::Spanned;
use toml::de::{DeTable, DeValue, ValueDeserializer};

use super::error::Problem;

type Key<'a> = Spanned<Cow<'a, str>>;

/// A flip, taken out of the document that it is laid over.
pub(super) struct Overlay<'a> {
    pub(super) span: Range<usize>,
    pub(super) why: Option<String>,
    table: DeTable<'a>,
}

/// `[[flip]]`: the scenario with one thing changed, and what is to come of it.
#[derive(Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct Head {
    /// Why this shows that the scenario tests something.
    why: Option<String>,
    /// Values by their dotted keys. Tables are merged; everything else, arrays too, is replaced.
    #[serde(rename = "set")]
    _set: Option<IgnoredAny>,
    /// Merged over `[expect]`.
    #[serde(rename = "expect")]
    _expect: Option<IgnoredAny>,
    /// Replaces `expect.facts`.
    #[serde(rename = "facts")]
    _facts: Option<IgnoredAny>,
}

/// Takes the flips out of a document.
pub(super) fn take<'a>(root: &mut DeTable<'a>) -> Result<Vec<Overlay<'a>>, Problem> {
    let Some(flips) = remove(root, "flip") else {
        return Ok(Vec::new());
    };
    let span = flips.span();
    match flips.into_inner() {
        DeValue::Array(flips) => flips.into_iter().map(overlay).collect(),
        _ => Err(Problem::new(
            span,
            "wrong type: flips are tables `[[flip]]`",
        )),
    }
}

fn overlay(flip: Spanned<DeValue<'_>>) -> Result<Overlay<'_>, Problem> {
    let head = Head::deserialize(ValueDeserializer::from(flip.clone())).map_err(Problem::from)?;
    let span = flip.span();
    match flip.into_inner() {
        DeValue::Table(table) => Ok(Overlay {
            span,
            why: head.why,
            table,
        }),
        _ => Err(Problem::new(span, "wrong type: expected a table")),
    }
}

impl<'a> Overlay<'a> {
    /// The document with this flip laid over it.
    pub(super) fn over(mut self, root: &DeTable<'a>) -> Result<DeTable<'a>, Problem> {
        let mut merged = root.clone();
        if let Some(set) = remove(&mut self.table, "set") {
            merge(&mut merged, into_table(set)?);
        }
        for (key, under) in [("expect", &["expect"][..]), ("facts", &["expect", "facts"])] {
            if let Some(value) = remove(&mut self.table, key) {
                merge(&mut merged, nested(under, value));
            }
        }
        Ok(merged)
    }
}

pub(super) fn remove<'a>(table: &mut DeTable<'a>, key: &str) -> Option<Spanned<DeValue<'a>>> {
    let key: Key = table.keys().find(|known| known.get_ref() == key)?.clone();
    table.remove(&key)
}

pub(super) fn into_table(value: Spanned<DeValue<'_>>) -> Result<DeTable<'_>, Problem> {
    let span = value.span();
    match value.into_inner() {
        DeValue::Table(table) => Ok(table),
        other => Err(Problem::new(
            span,
            format!("wrong type: expected a table, not a {}", other.type_str()),
        )),
    }
}

/// `value` as the one entry of tables within tables.
fn nested<'a>(keys: &[&'static str], value: Spanned<DeValue<'a>>) -> DeTable<'a> {
    let (first, rest) = keys.split_first().expect("at least one key");
    let span = value.span();
    let inner = if rest.is_empty() {
        value
    } else {
        Spanned::new(span.clone(), DeValue::Table(nested(rest, value)))
    };
    DeTable::from_iter([(Spanned::new(span, Cow::Borrowed(*first)), inner)])
}

/// Lays `over` on `base`: tables merge, everything else replaces.
pub(super) fn merge<'a>(base: &mut DeTable<'a>, over: DeTable<'a>) {
    for (key, value) in over {
        let Some(known) = base
            .keys()
            .find(|known| known.get_ref() == key.get_ref())
            .cloned()
        else {
            base.insert(key, value);
            continue;
        };
        match (base.get_mut(&known).map(Spanned::get_mut), value.get_ref()) {
            (Some(DeValue::Table(below)), DeValue::Table(_)) => {
                let DeValue::Table(above) = value.into_inner() else {
                    unreachable!("matched just now")
                };
                merge(below, above);
            }
            _ => {
                // The key goes too: an error must point at the flip, not at what it replaced.
                base.remove(&known);
                base.insert(key, value);
            }
        }
    }
}
