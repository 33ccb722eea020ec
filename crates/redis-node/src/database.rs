//! The keyspace under Redis's rules of time, and the record of what is done to it.

use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;
use smallvec::SmallVec;

use crate::channels::Channels;
use crate::command::Failure;
use crate::disk::{Command, Unit};
use crate::keyspace::{Entry, Keyspace, Value};
use crate::{ConnectionId, Did, Eviction, Touch, UnixTime};

/// What every command on data works on: keys, the frozen time, and the notes of the unit that runs.
///
/// A *unit* is the outermost command: a script or transaction is one, with one time for all of it.
#[derive(Debug, Default)]
pub(crate) struct Database {
    keys: Keyspace,
    now: UnixTime,
    /// While the log is replayed nothing expires and nothing is noted.
    loading: bool,
    /// The keys are a primary's: nothing expires here until it says so, but what should have is not seen.
    following: bool,
    /// What runs comes from the primary, who sees all keys.
    obeying: bool,
    /// Why a script must not write.
    refusal: Option<Failure>,
    /// Whether anyone reads the effects.
    recording: bool,
    effects: Unit,
    touches: SmallVec<[Touch; 1]>,
    watchers: Watchers,
    channels: Channels,
    stats: Stats,
    /// The memory limit was exceeded when the unit began, and nothing more could be evicted.
    out_of_memory: bool,
    checkpoint: Checkpoint,
    work: usize,
}

/// What `INFO stats` counts about keys.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Stats {
    pub(crate) hits: u64,
    pub(crate) misses: u64,
    pub(crate) expired: u64,
    pub(crate) evicted: u64,
}

/// Where a script that may have to be undone began.
#[derive(Debug, Default)]
struct Checkpoint {
    effects: usize,
    touches: usize,
    messages: usize,
    stats: Stats,
}

/// What becomes of a key's expiry when its value is set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Expiry {
    Clear,
    Keep,
    At(i64),
}

impl Database {
    /// Freezes the time for a unit.
    pub(crate) fn begin(&mut self, now: UnixTime) {
        self.now = now;
    }

    /// What the unit did: effects for the log, touches for the caller.
    pub(crate) fn finish(&mut self) -> (Unit, SmallVec<[Touch; 1]>) {
        self.watchers.newly_dirty.clear();
        (
            std::mem::take(&mut self.effects),
            std::mem::take(&mut self.touches),
        )
    }

    pub(crate) fn record(&mut self, recording: bool) {
        self.recording = recording;
    }

    pub(crate) fn set_loading(&mut self, loading: bool) {
        self.loading = loading;
    }

    /// Whether an expiry in the past is kept, for whoever decides what it means.
    pub(crate) fn keeps_the_past(&self) -> bool {
        self.loading || self.following
    }

    pub(crate) fn set_following(&mut self, following: bool) {
        self.following = following;
    }

    pub(crate) fn set_obeying(&mut self, obeying: bool) {
        self.obeying = obeying;
    }

    pub(crate) fn refuse_writes(&mut self, why: Option<Failure>) {
        self.refusal = why;
    }

    /// Why writes are refused, if they are.
    pub(crate) fn refusal(&self) -> Option<&Failure> {
        self.refusal.as_ref()
    }

    pub(crate) fn into_keys(self) -> Keyspace {
        self.keys
    }

    /// Takes over all keys of another node, and notes what became of the own ones.
    pub(crate) fn replace_keys(&mut self, keys: Keyspace) {
        let old: Vec<Bytes> = self.keys.iter().map(|(key, _)| key.clone()).collect();
        for key in old.iter().filter(|key| keys.get(key).is_none()) {
            self.remove(key, Did::Deleted);
        }
        for (key, entry) in keys.iter() {
            let same = self
                .keys
                .get(key)
                .is_some_and(|own| own.value == entry.value && own.expires_at == entry.expires_at);
            if !same {
                let expiry = entry.expires_at.map_or(Expiry::Clear, Expiry::At);
                self.set(key, entry.value.clone(), expiry);
            }
        }
    }

    /// Removes the keys whose time has passed, without a word: a snapshot is loaded like that.
    pub(crate) fn drop_expired(&mut self) {
        let now = self.now_millis();
        while let Some((when, key)) = self.keys.first_to_expire().filter(|(when, _)| now > *when) {
            debug_assert!(*when < now);
            let key = key.clone();
            self.keys.remove(&key);
        }
    }

    pub(crate) fn now(&self) -> UnixTime {
        self.now
    }

    /// The frozen time in Redis's unit.
    pub(crate) fn now_millis(&self) -> i64 {
        i64::try_from(self.now.as_millis()).unwrap_or(i64::MAX)
    }

    pub(crate) fn keys(&self) -> &Keyspace {
        &self.keys
    }

    /// The live key. One whose time has passed (now > when) is removed on the way.
    pub(crate) fn lookup(&mut self, key: &Bytes) -> Option<&Entry> {
        if self.has_expired(key) {
            if self.following {
                return None;
            }
            self.expire(key);
        }
        self.keys.used(key);
        self.keys.get(key)
    }

    /// As [`Database::lookup`], and notes that the key was looked at.
    pub(crate) fn read(&mut self, key: &Bytes) -> Option<&Entry> {
        self.keys.used(key);
        self.inspect(key)
    }

    /// As [`Database::read`], but does not count as a use of the key: for questions about it, such as TTL.
    pub(crate) fn inspect(&mut self, key: &Bytes) -> Option<&Entry> {
        if self.has_expired(key) {
            if self.following {
                // It is gone for whoever asks, and waits for the primary to say so.
                self.stats.misses += 1;
                self.note(key, Did::Missing, None, None);
                return None;
            }
            self.expire(key);
        }
        let did = if self.keys.get(key).is_some() {
            self.stats.hits += 1;
            Did::Read
        } else {
            self.stats.misses += 1;
            Did::Missing
        };
        self.touch(key, did);
        self.keys.get(key)
    }

    /// Removes the key if its time has passed. Answers whether a live key is there; notes nothing more.
    pub(crate) fn is_live(&mut self, key: &Bytes) -> bool {
        if self.has_expired(key) {
            if self.following {
                return false;
            }
            self.expire(key);
        }
        self.keys.get(key).is_some()
    }

    /// Whether the key is there but a command must not see it any more.
    pub(crate) fn has_expired(&self, key: &Bytes) -> bool {
        let when = self.keys.get(key).and_then(|entry| entry.expires_at);
        when.is_some_and(|when| !self.loading && !self.obeying && self.now_millis() > when)
    }

    /// Sets a value. The caller has looked the key up before.
    pub(crate) fn set(&mut self, key: &Bytes, value: Value, expiry: Expiry) {
        let old = self.keys.get(key);
        let did = if old.is_some() {
            Did::Overwritten
        } else {
            Did::Created
        };
        let expires_at = match expiry {
            Expiry::Clear => None,
            Expiry::Keep => old.and_then(|entry| entry.expires_at),
            Expiry::At(when) => Some(when),
        };
        self.add_work(value.bytes());
        self.keys.insert(key.clone(), value, expires_at);
        self.changed(key, did);
    }

    /// Changes the value of a key that exists, in place.
    pub(crate) fn update(&mut self, key: &Bytes, change: impl FnOnce(&mut Value)) {
        self.keys.update(key, change);
        self.changed(key, Did::Overwritten);
    }

    /// Sets or takes away the expiry of a key that exists.
    pub(crate) fn set_expiry(&mut self, key: &Bytes, expires_at: Option<i64>) {
        self.keys.set_expiry(key, expires_at);
        self.changed(key, Did::ExpiryChanged);
    }

    /// Removes the key if it is live; notes `Missing` otherwise.
    pub(crate) fn delete(&mut self, key: &Bytes) -> bool {
        if self.lookup(key).is_none() {
            self.touch(key, Did::Missing);
            return false;
        }
        self.remove(key, Did::Deleted);
        true
    }

    /// One round of the active cycle: removes up to `most` keys with now >= when. Answers how many.
    pub(crate) fn expire_due(&mut self, most: usize) -> usize {
        let mut removed = 0;
        while removed < most {
            let Some((when, key)) = self.keys.first_to_expire() else {
                break;
            };
            if self.now_millis() < *when {
                break;
            }
            let key = key.clone();
            self.expire(&key);
            removed += 1;
        }
        removed
    }

    /// Removes every key. Answers how many there were.
    pub(crate) fn clear(&mut self) -> usize {
        let keys: Vec<Bytes> = self.keys.iter().map(|(key, _)| key.clone()).collect();
        self.add_work(keys.len());
        for key in &keys {
            self.remove(key, Did::Deleted);
        }
        keys.len()
    }

    /// Counts bytes or keys that were gone through, where neither request nor reply shows it: scripts pay for that.
    pub(crate) fn add_work(&mut self, amount: usize) {
        self.work = self.work.saturating_add(amount);
    }

    pub(crate) fn take_work(&mut self) -> usize {
        std::mem::take(&mut self.work)
    }

    /// Notes what was done to a key, with its expiry as it is now.
    pub(crate) fn touch(&mut self, key: &Bytes, did: Did) {
        let entry = self.keys.get(key);
        let expires_at = entry.and_then(|entry| entry.expires_at);
        let value = entry.and_then(|entry| entry.value.string()).cloned();
        self.note(key, did, expires_at, value);
    }

    /// Hands an effect to the log.
    pub(crate) fn propagate<const N: usize>(&mut self, command: [&Bytes; N]) {
        if self.recording && !self.loading {
            self.effects.push(command.into_iter().cloned().collect());
        }
    }

    /// Hands a command to the log as it was sent, for those that mean the same at any time.
    pub(crate) fn propagate_verbatim(&mut self, arguments: &[Bytes]) {
        if self.recording && !self.loading {
            self.effects
                .push(Command::from_iter(arguments.iter().cloned()));
        }
    }

    pub(crate) fn watchers(&mut self) -> &mut Watchers {
        &mut self.watchers
    }

    pub(crate) fn channels(&self) -> &Channels {
        &self.channels
    }

    pub(crate) fn channels_mut(&mut self) -> &mut Channels {
        &mut self.channels
    }

    pub(crate) fn stats(&self) -> Stats {
        self.stats
    }

    pub(crate) fn reset_stats(&mut self) {
        self.stats = Stats::default();
    }

    pub(crate) fn keep_order_of_use(&mut self, keep: bool) {
        self.keys.keep_order_of_use(keep);
    }

    fn expire(&mut self, key: &Bytes) {
        self.stats.expired += 1;
        self.remove(key, Did::Expired);
        self.propagate([&Bytes::from_static(b"DEL"), key]);
    }

    fn remove(&mut self, key: &Bytes, did: Did) {
        let Some(entry) = self.keys.remove(key) else {
            return;
        };
        let value = entry.value.string().cloned();
        self.note(key, did, entry.expires_at, value);
        self.watchers.changed(key);
    }

    fn changed(&mut self, key: &Bytes, did: Did) {
        self.touch(key, did);
        self.watchers.changed(key);
    }

    fn note(&mut self, key: &Bytes, did: Did, expires_at: Option<i64>, value: Option<Bytes>) {
        if !self.loading {
            let expires_at = expires_at.map(UnixTime::from_redis);
            self.touches.push(Touch {
                key: key.clone(),
                did,
                expires_at,
                value,
            });
        }
    }
}

/// Memory: which key has to go.
impl Database {
    /// Whether the limit was exceeded when the unit began.
    pub(crate) fn is_out_of_memory(&self) -> bool {
        self.out_of_memory
    }

    /// Evicts by that policy until keys and values take no more than so many bytes, and notes whether they do.
    pub(crate) fn make_room(&mut self, limit: Option<usize>, policy: Eviction) {
        let over = |keys: &Keyspace| limit.is_some_and(|limit| keys.bytes() > limit);
        while over(&self.keys) {
            let Some(key) = self.victim(policy) else {
                break;
            };
            self.stats.evicted += 1;
            self.remove(&key, Did::Evicted);
            self.propagate([&Bytes::from_static(b"DEL"), &key]);
        }
        self.out_of_memory = over(&self.keys);
    }

    /// The limit is exceeded even without any key.
    pub(crate) fn exceed_memory(&mut self) {
        self.out_of_memory = true;
    }

    fn victim(&self, policy: Eviction) -> Option<Bytes> {
        let any =
            |keys: usize| usize::try_from(mixed(self.stats.evicted)).unwrap_or(0) % keys.max(1);
        let volatile = |key: &&Bytes| {
            self.keys
                .get(key)
                .is_some_and(|entry| entry.expires_at.is_some())
        };
        match policy {
            Eviction::NoEviction => None,
            Eviction::AllKeysLru => self.keys.by_use().next().cloned(),
            Eviction::VolatileLru => self.keys.by_use().find(volatile).cloned(),
            Eviction::AllKeysRandom => {
                let (key, _) = self.keys.iter().nth(any(self.keys.len()))?;
                Some(key.clone())
            }
            Eviction::VolatileRandom => {
                let mut keys = self.keys.expiries();
                let chosen = any(keys.len());
                keys.nth(chosen).map(|(_, key)| key.clone())
            }
            Eviction::VolatileTtl => self.keys.first_to_expire().map(|(_, key)| key.clone()),
        }
    }
}

/// SplitMix64's output function: "random" eviction takes the same keys in each run.
fn mixed(number: u64) -> u64 {
    let mixed = number.wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    let mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    (mixed ^ (mixed >> 31)) >> 1
}

/// Scripts that a limit of the node's own stops have never happened.
impl Database {
    /// From here on everything can be taken back.
    pub(crate) fn begin_script(&mut self) {
        self.keys.begin();
        self.watchers.newly_dirty.clear();
        self.checkpoint = Checkpoint {
            effects: self.effects.len(),
            touches: self.touches.len(),
            messages: self.channels.waiting(),
            stats: self.stats,
        };
    }

    /// What was done since [`Database::begin_script`] stays.
    pub(crate) fn commit_script(&mut self) {
        self.keys.commit();
    }

    /// Takes back everything since [`Database::begin_script`].
    pub(crate) fn undo_script(&mut self) {
        self.keys.roll_back();
        self.effects.truncate(self.checkpoint.effects);
        self.touches.truncate(self.checkpoint.touches);
        self.channels.take_back(self.checkpoint.messages);
        self.stats = self.checkpoint.stats;
        for connection in std::mem::take(&mut self.watchers.newly_dirty) {
            self.watchers.dirty.remove(&connection);
        }
    }
}

/// Who watches which key, and whose transaction must fail.
#[derive(Debug, Default)]
pub(crate) struct Watchers {
    by_key: BTreeMap<Bytes, BTreeSet<ConnectionId>>,
    dirty: BTreeSet<ConnectionId>,
    /// Those of `dirty` that a script may have to give back.
    newly_dirty: Vec<ConnectionId>,
}

impl Watchers {
    pub(crate) fn watch(&mut self, connection: ConnectionId, key: Bytes) {
        self.by_key.entry(key).or_default().insert(connection);
    }

    /// Forgets what a connection watched. Answers whether one of its keys had changed.
    pub(crate) fn unwatch<'a>(
        &mut self,
        connection: ConnectionId,
        keys: impl Iterator<Item = &'a Bytes>,
    ) -> bool {
        for key in keys {
            if let Some(watching) = self.by_key.get_mut(key) {
                watching.remove(&connection);
                if watching.is_empty() {
                    self.by_key.remove(key);
                }
            }
        }
        self.dirty.remove(&connection)
    }

    fn changed(&mut self, key: &Bytes) {
        if self.by_key.is_empty() {
            return;
        }
        for connection in self.by_key.get(key).into_iter().flatten() {
            if self.dirty.insert(*connection) {
                self.newly_dirty.push(*connection);
            }
        }
    }
}
