//! The keyspace under Redis's rules of time, and the record of what is done to it.

use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;
use smallvec::SmallVec;

use crate::disk::{Command, Unit};
use crate::keyspace::{Entry, Keyspace, Value};
use crate::{ConnectionId, Did, Touch, UnixTime};

/// What every command on data works on: keys, the frozen time, and the notes of the unit that runs.
///
/// A *unit* is the outermost command: a script or transaction is one, with one time for all of it.
#[derive(Debug, Default)]
pub(crate) struct Database {
    keys: Keyspace,
    now: UnixTime,
    /// While the log is replayed nothing expires and nothing is noted.
    loading: bool,
    /// Whether anyone reads the effects.
    recording: bool,
    effects: Unit,
    touches: SmallVec<[Touch; 1]>,
    watchers: Watchers,
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

    pub(crate) fn is_loading(&self) -> bool {
        self.loading
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
            self.expire(key);
        }
        self.keys.get(key)
    }

    /// As [`Database::lookup`], and notes that the key was looked at.
    pub(crate) fn read(&mut self, key: &Bytes) -> Option<&Entry> {
        let did = if self.lookup(key).is_some() {
            Did::Read
        } else {
            Did::Missing
        };
        self.touch(key, did);
        self.keys.get(key)
    }

    /// Whether the key is there but a command must not see it any more.
    pub(crate) fn has_expired(&self, key: &Bytes) -> bool {
        let when = self.keys.get(key).and_then(|entry| entry.expires_at);
        when.is_some_and(|when| !self.loading && self.now_millis() > when)
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
        self.keys.insert(key.clone(), value, expires_at);
        self.changed(key, did);
    }

    /// Changes the value of a key that exists, in place.
    pub(crate) fn update(&mut self, key: &Bytes, change: impl FnOnce(&mut Value)) {
        if let Some(value) = self.keys.value_mut(key) {
            change(value);
        }
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
        for key in &keys {
            self.remove(key, Did::Deleted);
        }
        keys.len()
    }

    /// Notes what was done to a key, with its expiry as it is now.
    pub(crate) fn touch(&mut self, key: &Bytes, did: Did) {
        let expires_at = self.keys.get(key).and_then(|entry| entry.expires_at);
        self.note(key, did, expires_at);
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

    fn expire(&mut self, key: &Bytes) {
        self.remove(key, Did::Expired);
        self.propagate([&Bytes::from_static(b"DEL"), key]);
    }

    fn remove(&mut self, key: &Bytes, did: Did) {
        let Some(entry) = self.keys.remove(key) else {
            return;
        };
        self.note(key, did, entry.expires_at);
        self.watchers.changed(key);
    }

    fn changed(&mut self, key: &Bytes, did: Did) {
        self.touch(key, did);
        self.watchers.changed(key);
    }

    fn note(&mut self, key: &Bytes, did: Did, expires_at: Option<i64>) {
        if !self.loading {
            let expires_at = expires_at.map(UnixTime::from_redis);
            self.touches.push(Touch {
                key: key.clone(),
                did,
                expires_at,
            });
        }
    }
}

/// Who watches which key, and whose transaction must fail.
#[derive(Debug, Default)]
pub(crate) struct Watchers {
    by_key: BTreeMap<Bytes, BTreeSet<ConnectionId>>,
    dirty: BTreeSet<ConnectionId>,
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
        if let Some(watching) = self.by_key.get(key) {
            self.dirty.extend(watching);
        }
    }
}
