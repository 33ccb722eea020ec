//! Values as scenario files write them: durations, signed steps, rates, and ranges of them that the seed draws from.

use std::fmt;
use std::time::Duration;

use fencepost_world::Stream;
use serde::de::{self, Deserialize, Deserializer, SeqAccess, Visitor};

/// No duration of a scenario is longer, so that no sum of a few of them leaves 64 bits of nanoseconds.
pub const LONGEST: Duration = Duration::from_secs(365 * 24 * 3600);

/// Units of which every one is a whole number of nanoseconds. Months and years are averages, so they are not here.
const UNITS: [&str; 12] = [
    "ns", "us", "µs", "ms", "s", "sec", "secs", "m", "min", "h", "hour", "hours",
];

/// Reads a duration such as `250ms`, `1.5s` or `1m 30s`.
///
/// # Errors
///
/// In words that fit after "wrong duration:", for anything that is no exact number of nanoseconds, has no unit or an
/// averaged one, is negative, or is longer than [`LONGEST`].
pub fn duration(text: &str) -> Result<Duration, String> {
    if text.starts_with('-') {
        return Err("a duration cannot be negative".into());
    }
    if text.trim() != text {
        return Err("there is space around it".into());
    }
    let parsed = humantime::parse_duration(text).map_err(|error| complaint(text, &error))?;
    if !text.contains(char::is_alphabetic) {
        return Err(format!("a unit is missing, as in `{text}ms`"));
    }
    let units = text
        .split(|c: char| !c.is_alphabetic())
        .filter(|unit| !unit.is_empty());
    if let Some(unit) = units.into_iter().find(|unit| !UNITS.contains(unit)) {
        return Err(unit_complaint(unit));
    }
    if parsed > LONGEST {
        return Err("longer than 365 days".into());
    }
    Ok(parsed)
}

fn complaint(text: &str, error: &humantime::DurationError) -> String {
    match error {
        humantime::DurationError::UnknownUnit { unit, .. } if unit.is_empty() => {
            format!("a unit is missing, as in `{text}ms`")
        }
        humantime::DurationError::UnknownUnit { unit, .. } => unit_complaint(unit),
        humantime::DurationError::NumberOverflow => {
            "too large, or no whole number of nanoseconds".into()
        }
        other => other.to_string(),
    }
}

fn unit_complaint(unit: &str) -> String {
    format!("the unit `{unit}` is not one of ns, us, ms, s, m, h")
}

/// A signed time in nanoseconds: how far a clock is moved.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Step(pub i64);

/// A rate: parts per million by which a clock is faster than true time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Ppm(pub i64);

/// What a scenario can give as one value or as a range.
pub trait Drawable: Copy + Ord {
    /// What an error says was expected.
    const EXPECTED: &'static str;
    /// From a string of the file. The error fits after "wrong duration:".
    ///
    /// # Errors
    ///
    /// In words, what is wrong with the string.
    fn from_text(text: &str) -> Result<Self, String>;
    /// From an integer of the file, for values that have no unit.
    fn from_integer(_: i64) -> Option<Self> {
        None
    }
    /// Its distance above `min`, in the smallest unit.
    fn above(self, min: Self) -> u64;
    /// The value at that distance above `self`.
    #[must_use]
    fn plus(self, distance: u64) -> Self;
}

impl Drawable for Duration {
    const EXPECTED: &'static str =
        r#"a duration such as "250ms", or a range such as ["5s", "40s"]"#;
    fn from_text(text: &str) -> Result<Self, String> {
        duration(text)
    }
    fn above(self, min: Self) -> u64 {
        nanos(self.saturating_sub(min))
    }
    fn plus(self, distance: u64) -> Self {
        self + Duration::from_nanos(distance)
    }
}

impl Drawable for Step {
    const EXPECTED: &'static str =
        r#"a step such as "30s" or "-10s", or a range such as ["-10s", "10s"]"#;
    fn from_text(text: &str) -> Result<Self, String> {
        let (sign, size) = match text.strip_prefix('-') {
            Some(size) => (-1, size),
            None => (1, text.strip_prefix('+').unwrap_or(text)),
        };
        let size = i64::try_from(nanos(duration(size)?)).map_err(|_| "too large".to_owned())?;
        Ok(Self(sign * size))
    }
    fn above(self, min: Self) -> u64 {
        self.0.abs_diff(min.0)
    }
    fn plus(self, distance: u64) -> Self {
        Self(self.0.saturating_add_unsigned(distance))
    }
}

impl Ppm {
    /// The fastest and slowest that a clock of a scenario may be: half and one and a half times true time.
    pub const MOST: i64 = 500_000;
}

impl Drawable for Ppm {
    const EXPECTED: &'static str =
        "a rate in parts per million from -500000 to 500000, or a range such as [-5000, 5000]";
    fn from_text(_: &str) -> Result<Self, String> {
        Err(format!("expected {}", Self::EXPECTED))
    }
    fn from_integer(ppm: i64) -> Option<Self> {
        (-Self::MOST..=Self::MOST)
            .contains(&ppm)
            .then_some(Self(ppm))
    }
    fn above(self, min: Self) -> u64 {
        self.0.abs_diff(min.0)
    }
    fn plus(self, distance: u64) -> Self {
        Self(self.0.saturating_add_unsigned(distance))
    }
}

/// A value, or a range with both ends included from which the seed draws one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Draw<T> {
    min: T,
    max: T,
}

impl<T: Drawable> Draw<T> {
    /// One value.
    pub const fn fixed(value: T) -> Self {
        Self {
            min: value,
            max: value,
        }
    }

    /// A range, both ends included; none if it is empty.
    pub fn range(min: T, max: T) -> Option<Self> {
        (min <= max).then_some(Self { min, max })
    }

    /// The smallest value.
    pub const fn min(&self) -> T {
        self.min
    }

    /// The largest value.
    pub const fn max(&self) -> T {
        self.max
    }

    /// The only value, if there is but one: then there is nothing to draw.
    pub fn only(&self) -> Option<T> {
        (self.min == self.max).then_some(self.min)
    }

    /// One value of the range. A single value draws nothing from the stream.
    pub fn draw(&self, stream: &mut Stream) -> T {
        self.min.plus(stream.between(0, self.max.above(self.min)))
    }
}

impl Draw<Duration> {
    /// One value of the range, of which each doubling is as likely as the next.
    pub fn draw_by_doublings(&self, stream: &mut Stream) -> Duration {
        Duration::from_nanos(stream.by_doublings(nanos(self.min), nanos(self.max)))
    }
}

/// One value, or a list of which the seed chooses one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Choice<T>(Vec<T>);

impl<T: Copy + PartialEq> Choice<T> {
    /// Whether it can come out as anything else.
    pub fn is_always(&self, value: T) -> bool {
        self.0.iter().all(|choice| *choice == value)
    }

    /// The only value, if there is but one: then there is nothing to draw.
    pub fn only(&self) -> Option<T> {
        match self.0[..] {
            [only] => Some(only),
            _ => None,
        }
    }

    /// One of the list. A single value draws nothing from the stream.
    pub fn draw(&self, stream: &mut Stream) -> T {
        let last = u64::try_from(self.0.len() - 1).expect("a list fits into memory");
        let index = usize::try_from(stream.between(0, last)).expect("below the length");
        self.0[index]
    }
}

impl<T: Default> Default for Choice<T> {
    fn default() -> Self {
        Self(vec![T::default()])
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Choice<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ChoiceVisitor(std::marker::PhantomData))
    }
}

struct ChoiceVisitor<T>(std::marker::PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for ChoiceVisitor<T> {
    type Value = Choice<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a word, or a list of words of which the seed chooses one")
    }

    fn visit_str<E: de::Error>(self, word: &str) -> Result<Choice<T>, E> {
        T::deserialize(de::value::StrDeserializer::new(word)).map(|value| Choice(vec![value]))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Choice<T>, A::Error> {
        let mut choices = Vec::new();
        while let Some(choice) = seq.next_element()? {
            choices.push(choice);
        }
        if choices.is_empty() {
            return Err(de::Error::custom(
                "an empty list: there is nothing to choose",
            ));
        }
        Ok(Choice(choices))
    }
}

impl<'de, T: Drawable> Deserialize<'de> for Draw<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(DrawVisitor(std::marker::PhantomData))
    }
}

struct DrawVisitor<T>(std::marker::PhantomData<T>);

impl<'de, T: Drawable> Visitor<'de> for DrawVisitor<T> {
    type Value = Draw<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(T::EXPECTED)
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Draw<T>, E> {
        one(text).map(Draw::fixed)
    }

    fn visit_i64<E: de::Error>(self, number: i64) -> Result<Draw<T>, E> {
        integer(number).map(Draw::fixed)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Draw<T>, A::Error> {
        let mut ends = Vec::new();
        while let Some(One(end)) = seq.next_element()? {
            ends.push(end);
        }
        let [min, max] = ends[..] else {
            return Err(de::Error::custom(format!(
                "a range has two ends, not {}",
                ends.len()
            )));
        };
        Draw::range(min, max)
            .ok_or_else(|| de::Error::custom("empty range: the first end is the larger one"))
    }
}

/// One end of a range.
struct One<T>(T);

impl<'de, T: Drawable> Deserialize<'de> for One<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer
            .deserialize_any(OneVisitor(std::marker::PhantomData))
            .map(One)
    }
}

struct OneVisitor<T>(std::marker::PhantomData<T>);

impl<T: Drawable> Visitor<'_> for OneVisitor<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(T::EXPECTED)
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<T, E> {
        one(text)
    }

    fn visit_i64<E: de::Error>(self, number: i64) -> Result<T, E> {
        integer(number)
    }
}

fn one<T: Drawable, E: de::Error>(text: &str) -> Result<T, E> {
    T::from_text(text).map_err(|why| E::custom(format!("wrong value `{text}`: {why}")))
}

fn integer<T: Drawable, E: de::Error>(number: i64) -> Result<T, E> {
    let wrong = || E::custom(format!("wrong value `{number}`: expected {}", T::EXPECTED));
    T::from_integer(number).ok_or_else(wrong)
}

/// A duration that is never drawn.
pub(super) fn exact<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
    One::deserialize(deserializer).map(|One(duration)| duration)
}

/// The same, where the key may be missing.
pub(super) fn exact_or_none<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<Duration>, D::Error> {
    exact(deserializer).map(Some)
}

/// Whole nanoseconds. Nothing that a scenario can say is longer than 64 bits of them.
fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_exact_or_refused() {
        assert_eq!(duration("250ms"), Ok(Duration::from_millis(250)));
        assert_eq!(duration("1.5s"), Ok(Duration::from_millis(1500)));
        assert_eq!(duration("1m 30s"), Ok(Duration::from_secs(90)));
        for wrong in [
            "",
            "5",
            "0",
            "-5s",
            "1month",
            "1y",
            "1day",
            "0.5ns",
            " 5s",
            "5 parsecs",
            "ms",
            "9999999h",
        ] {
            assert!(duration(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn steps_have_signs() {
        assert_eq!(Step::from_text("-10s"), Ok(Step(-10_000_000_000)));
        assert_eq!(Step::from_text("+1ms"), Ok(Step(1_000_000)));
        assert!(Step::from_text("--1ms").is_err());
    }

    #[test]
    fn a_range_across_zero_reaches_both_ends() {
        let range = Draw::range(Step(-1), Step(1)).expect("not empty");
        let mut stream = Stream::new(1, "test");
        let drawn: std::collections::BTreeSet<i64> =
            (0..100).map(|_| range.draw(&mut stream).0).collect();
        assert_eq!(drawn.into_iter().collect::<Vec<_>>(), [-1, 0, 1]);
    }
}
