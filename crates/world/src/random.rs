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
    fn ranges_include_both_ends_and_nothing_else() {
        let mut stream = Stream::new(1, "range");
        let drawn: std::collections::BTreeSet<u64> =
            (0..1000).map(|_| stream.between(5, 8)).collect();
        assert_eq!(drawn.into_iter().collect::<Vec<_>>(), [5, 6, 7, 8]);
        assert_eq!(stream.between(9, 9), 9);
        assert_eq!(stream.below(0), 0);
    }
}
