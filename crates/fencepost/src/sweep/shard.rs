//! Shards: one of several machines' parts of a sweep.

use std::fmt;
use std::ops::Range;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// Part `index` of `count`, from 0. Parts are stretches of seeds, in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Shard {
    index: u64,
    count: u64,
}

/// A text that is no shard.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no shard: expected I/N with I from 0 to N-1, such as 0/4")]
pub struct WrongShard(pub String);

impl Shard {
    /// All of a sweep.
    pub const WHOLE: Self = Self { index: 0, count: 1 };

    /// Part `index` of `count`.
    ///
    /// # Errors
    /// There is no such part.
    pub fn new(index: u64, count: u64) -> Result<Self, WrongShard> {
        if index < count {
            Ok(Self { index, count })
        } else {
            Err(WrongShard(format!("{index}/{count}")))
        }
    }

    /// Of how many parts it is one.
    #[must_use]
    pub const fn count(self) -> u64 {
        self.count
    }

    /// Which part it is, from 0.
    #[must_use]
    pub const fn index(self) -> u64 {
        self.index
    }

    /// Which of these seeds are its own: parts differ by one seed in length at most.
    #[must_use]
    pub fn of(self, seeds: &Range<u64>) -> Range<u64> {
        let length = u128::from(seeds.end.saturating_sub(seeds.start));
        let edge = |index: u64| {
            let before = length * u128::from(index) / u128::from(self.count);
            seeds.start + u64::try_from(before).expect("no more than all seeds")
        };
        edge(self.index)..edge(self.index + 1)
    }
}

impl FromStr for Shard {
    type Err = WrongShard;

    fn from_str(text: &str) -> Result<Self, WrongShard> {
        let wrong = || WrongShard(text.to_owned());
        let (index, count) = text.split_once('/').ok_or_else(wrong)?;
        let number = |text: &str| text.parse().map_err(|_| wrong());
        Self::new(number(index)?, number(count)?).map_err(|_| wrong())
    }
}

impl fmt::Display for Shard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.index, self.count)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn every_seed_is_in_one_part(start in 0..u64::MAX / 2, length in 0..10_000_u64, count in 1..100_u64) {
            let seeds = start..start + length;
            let mut next = start;
            for index in 0..count {
                let part = Shard::new(index, count).unwrap().of(&seeds);
                prop_assert_eq!(part.start, next);
                prop_assert!((part.end - part.start).abs_diff(length / count) <= 1);
                next = part.end;
            }
            prop_assert_eq!(next, seeds.end);
        }
    }

    #[test]
    fn as_it_is_written() {
        assert_eq!("3/4".parse(), Shard::new(3, 4));
        for wrong in ["4/4", "0/0", "1", "/4", "-1/4", "a/b", "1/2/3"] {
            assert_eq!(wrong.parse::<Shard>(), Err(WrongShard(wrong.to_owned())));
        }
    }
}
