//! Labelled random streams: a draw in one stream never shifts another.

use rand_chacha::ChaCha8Rng;
use rand_core::{Rng, SeedableRng};
use sha2::{Digest, Sha256};

/// A ChaCha8 stream that is a function of a seed and a label.
///
/// The mapping to integer ranges is our own, so that a seed means the same whatever becomes of the libraries.
#[derive(Clone, Debug)]
pub struct Stream(ChaCha8Rng);

impl Stream {
    /// The stream called `label` of `seed`.
    #[must_use]
    pub fn new(seed: u64, label: &str) -> Self {
        let mut hasher = Sha256::new();
        hasher.update(seed.to_le_bytes());
        hasher.update(label.as_bytes());
        Self(ChaCha8Rng::from_seed(hasher.finalize().into()))
    }

    /// A number below `n`, every one equally likely: the high half of a 64 by 64 bit product, with the draws that
    /// would favour small numbers rejected (Lemire 2019). Zero if `n` is zero.
    pub fn below(&mut self, n: u64) -> u64 {
        if n == 0 {
            return 0;
        }
        let rejected = n.wrapping_neg() % n;
        loop {
            let product = u128::from(self.0.next_u64()) * u128::from(n);
            let (high, low) = ((product >> 64) as u64, product as u64);
            if low >= rejected {
                return high;
            }
        }
    }

    /// A number from `min` to `max`, both included. `min` if the range is empty. A range of one number draws nothing.
    pub fn between(&mut self, min: u64, max: u64) -> u64 {
        match max.checked_sub(min) {
            None | Some(0) => min,
            Some(u64::MAX) => self.0.next_u64(),
            Some(width) => min + self.below(width + 1),
        }
    }

    /// A number from `min` to `max`, both included, of which each doubling is as likely as the next: 10 to 40,000 is
    /// below 640 in half of all draws. `max` if the range is empty, and a `min` of zero counts as one.
    pub fn by_doublings(&mut self, min: u64, max: u64) -> u64 {
        let min = min.max(1);
        let doublings = (max / min).checked_ilog2().unwrap_or(0);
        let from = min << self.between(0, u64::from(doublings));
        self.between(from.min(max), max.min(from.saturating_mul(2)))
    }

    /// True in half of all draws.
    pub fn coin(&mut self) -> bool {
        self.below(2) == 1
    }

    /// One of the choices, every one equally likely; nothing if there are none.
    pub fn choose<'a, T>(&mut self, choices: &'a [T]) -> Option<&'a T> {
        let index = self.below(u64::try_from(choices.len()).ok()?);
        choices.get(usize::try_from(index).ok()?)
    }

    /// Fills `bytes`.
    pub fn fill(&mut self, bytes: &mut [u8]) {
        self.0.fill_bytes(bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A seed must mean the same next year. The words are those of ChaCha8 keyed with SHA-256(seed, label): computed
    /// by hand from the two primitives, not through `Stream`.
    #[test]
    fn a_stream_is_chacha8_keyed_with_the_hash_of_seed_and_label() {
        let key: [u8; 32] =
            Sha256::digest([&7_u64.to_le_bytes()[..], b"c1/entropy"].concat()).into();
        let mut reference = ChaCha8Rng::from_seed(key);
        let mut stream = Stream::new(7, "c1/entropy");
        for _ in 0..100 {
            assert_eq!(stream.between(0, u64::MAX), reference.next_u64());
        }
    }

    #[test]
    fn each_doubling_is_as_likely_as_the_next() {
        let mut stream = Stream::new(1, "doublings");
        let drawn: Vec<u64> = (0..9000).map(|_| stream.by_doublings(1, 512)).collect();
        for (low, high) in [(1, 2), (8, 16), (256, 512)] {
            let within = drawn.iter().filter(|n| (low..=high).contains(*n)).count();
            assert!((900..2200).contains(&within), "{low} to {high}: {within}");
        }
        assert!(drawn.iter().all(|n| (1..=512).contains(n)));
        assert_eq!(stream.by_doublings(0, 0), 0);
        assert_eq!(stream.by_doublings(7, 7), 7);
        assert!((10..=12).contains(&stream.by_doublings(10, 12)));
        let huge = 1 << 63;
        assert!((huge..=u64::MAX).contains(&stream.by_doublings(huge, u64::MAX)));
    }

    #[test]
    fn choices_are_all_made() {
        let mut stream = Stream::new(1, "choices");
        let chosen: std::collections::BTreeSet<_> = (0..100)
            .filter_map(|_| stream.choose(&["a", "b", "c"]))
            .collect();
        assert_eq!(chosen.len(), 3);
        assert_eq!(stream.choose::<u8>(&[]), None);
        let heads = (0..1000).filter(|_| stream.coin()).count();
        assert!((400..600).contains(&heads), "{heads}");
    }

    #[test]
    fn ranges_include_both_ends_and_nothing_else() {
        let mut stream = Stream::new(1, "range");
        let drawn: std::collections::BTreeSet<u64> =
            (0..1000).map(|_| stream.between(5, 8)).collect();
        assert_eq!(drawn.into_iter().collect::<Vec<_>>(), [5, 6, 7, 8]);
        assert_eq!(stream.between(9, 9), 9);
        assert_eq!(stream.below(0), 0);
    }
}
