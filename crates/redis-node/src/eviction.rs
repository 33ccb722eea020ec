//! Which keys go when memory is short.

/// `maxmemory-policy`. Redis's policies by frequency of use are not modelled.
///
/// Redis samples five keys and takes the best of them; here the choice is exact, and the same in each run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Eviction {
    /// None: commands that need memory are refused with `OOM`.
    #[default]
    NoEviction,
    /// The key that was not used for the longest time.
    AllKeysLru,
    /// The same, among keys with an expiry.
    VolatileLru,
    /// Any key, by a fixed sequence.
    AllKeysRandom,
    /// Any key with an expiry, by a fixed sequence.
    VolatileRandom,
    /// The key that expires next.
    VolatileTtl,
}

impl Eviction {
    /// All policies.
    pub const ALL: [Eviction; 6] = [
        Eviction::VolatileLru,
        Eviction::VolatileRandom,
        Eviction::VolatileTtl,
        Eviction::AllKeysLru,
        Eviction::AllKeysRandom,
        Eviction::NoEviction,
    ];

    /// The name in `redis.conf`.
    pub const fn name(self) -> &'static str {
        match self {
            Eviction::NoEviction => "noeviction",
            Eviction::AllKeysLru => "allkeys-lru",
            Eviction::VolatileLru => "volatile-lru",
            Eviction::AllKeysRandom => "allkeys-random",
            Eviction::VolatileRandom => "volatile-random",
            Eviction::VolatileTtl => "volatile-ttl",
        }
    }

    /// Whether the policy goes by when a key was last used.
    pub(crate) const fn needs_order_of_use(self) -> bool {
        matches!(self, Eviction::AllKeysLru | Eviction::VolatileLru)
    }
}
