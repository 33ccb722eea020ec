//! Keys, values and their expiry, without any rule about when to look or what to tell.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use bytes::Bytes;

use crate::fields::Fields;

/// What a key holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Value {
    String(Bytes),
    /// Shared with a journal that may have to restore it.
    Hash(Arc<Fields>),
}

impl Value {
    /// Itself, if it is a string.
    pub(crate) fn string(&self) -> Option<&Bytes> {
        match self {
            Value::String(string) => Some(string),
            Value::Hash(_) => None,
        }
    }

    /// The name that `TYPE` answers.
    pub(crate) fn kind(&self) -> &'static str {
        match self {
            Value::String(_) => "string",
            Value::Hash(_) => "hash",
        }
    }

    /// An estimate of the memory that it takes.
    pub(crate) fn bytes(&self) -> usize {
        match self {
            Value::String(bytes) => bytes.len(),
            Value::Hash(fields) => fields.bytes(),
        }
    }
}

/// A key's value and its expiry in milliseconds since the Unix epoch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) value: Value,
    pub(crate) expires_at: Option<i64>,
    /// Where the key stands in the order of use, if that is kept.
    used: u64,
}

/// What Redis's two tables, its object and its string headers take for a key, and for its expiry.
const KEY_OVERHEAD: usize = 56;
const EXPIRY_OVERHEAD: usize = 40;

fn bytes(key: &Bytes, entry: &Entry) -> usize {
    let expiry = if entry.expires_at.is_some() {
        EXPIRY_OVERHEAD
    } else {
        0
    };
    KEY_OVERHEAD + key.len() + entry.value.bytes() + expiry
}

/// All keys of a node, with an index by expiry so that the next one to go is found without a scan.
#[derive(Clone, Debug, Default)]
pub(crate) struct Keyspace {
    entries: BTreeMap<Bytes, Entry>,
    by_expiry: BTreeSet<(i64, Bytes)>,
    /// An estimate of what all of it takes.
    bytes: usize,
    /// The order of use, while an eviction policy wants it.
    by_use: Option<BTreeSet<(u64, Bytes)>>,
    uses: u64,
    journal: Option<Journal>,
}

/// How the keys that were changed since [`Keyspace::begin`] had been before.
#[derive(Clone, Debug, Default)]
struct Journal {
    before: BTreeMap<Bytes, Option<Entry>>,
    used: Vec<Bytes>,
}

impl Keyspace {
    pub(crate) fn get(&self, key: &[u8]) -> Option<&Entry> {
        self.entries.get(key)
    }

    /// Changes a value in place: the expiry goes through [`Keyspace::set_expiry`] or the index would lie.
    pub(crate) fn update(&mut self, key: &Bytes, change: impl FnOnce(&mut Value)) {
        self.remember(key);
        if let Some(entry) = self.entries.get_mut(key) {
            self.bytes -= bytes(key, entry);
            change(&mut entry.value);
            self.bytes += bytes(key, entry);
        }
    }

    pub(crate) fn insert(&mut self, key: Bytes, value: Value, expires_at: Option<i64>) {
        self.remember(&key);
        self.put(
            key,
            Entry {
                value,
                expires_at,
                used: 0,
            },
        );
    }

    pub(crate) fn remove(&mut self, key: &Bytes) -> Option<Entry> {
        self.remember(key);
        self.take(key)
    }

    /// Sets or takes away the expiry of a key that exists.
    pub(crate) fn set_expiry(&mut self, key: &Bytes, expires_at: Option<i64>) {
        self.remember(key);
        if let Some(mut entry) = self.entries.remove(key) {
            self.forget(key, &entry);
            entry.expires_at = expires_at;
            self.put(key.clone(), entry);
        }
    }

    /// The key that expires first, and when.
    pub(crate) fn first_to_expire(&self) -> Option<&(i64, Bytes)> {
        self.by_expiry.first()
    }

    /// Keys that have an expiry, by when.
    pub(crate) fn expiries(&self) -> impl ExactSizeIterator<Item = &(i64, Bytes)> {
        self.by_expiry.iter()
    }

    /// Keys in the order in which they were last used; none if that is not kept.
    pub(crate) fn by_use(&self) -> impl Iterator<Item = &Bytes> {
        self.by_use.iter().flatten().map(|(_, key)| key)
    }

    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    /// An estimate of the memory that keys and values take.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&Bytes, &Entry)> {
        self.entries.iter()
    }

    /// Starts or stops to keep the order of use. At the start all keys count as used in order of name.
    pub(crate) fn keep_order_of_use(&mut self, keep: bool) {
        if keep == self.by_use.is_some() {
            return;
        }
        let order = self.entries.iter_mut().map(|(key, entry)| {
            entry.used = 0;
            (0, key.clone())
        });
        self.by_use = if keep { Some(order.collect()) } else { None };
    }

    /// The key counts as used last.
    pub(crate) fn used(&mut self, key: &Bytes) {
        let Some(by_use) = &mut self.by_use else {
            return;
        };
        if let Some(journal) = &mut self.journal {
            journal.used.push(key.clone());
        } else if let Some(entry) = self.entries.get_mut(key) {
            by_use.remove(&(entry.used, key.clone()));
            self.uses += 1;
            entry.used = self.uses;
            by_use.insert((entry.used, key.clone()));
        }
    }

    fn put(&mut self, key: Bytes, mut entry: Entry) {
        if let Some(by_use) = &mut self.by_use {
            self.uses += 1;
            entry.used = self.uses;
            by_use.insert((entry.used, key.clone()));
        }
        if let Some(when) = entry.expires_at {
            self.by_expiry.insert((when, key.clone()));
        }
        self.bytes += bytes(&key, &entry);
        match self.entries.get_mut(&key) {
            Some(place) => {
                let expires_at = entry.expires_at;
                let mut old = std::mem::replace(place, entry);
                self.bytes -= bytes(&key, &old);
                // The new entry in the index must stay.
                old.expires_at = old.expires_at.filter(|when| Some(*when) != expires_at);
                self.unlist(&key, &old);
            }
            None => {
                self.entries.insert(key, entry);
            }
        }
    }

    fn take(&mut self, key: &Bytes) -> Option<Entry> {
        let entry = self.entries.remove(key)?;
        self.forget(key, &entry);
        Some(entry)
    }

    fn forget(&mut self, key: &Bytes, entry: &Entry) {
        self.bytes -= bytes(key, entry);
        self.unlist(key, entry);
    }

    fn unlist(&mut self, key: &Bytes, entry: &Entry) {
        if let Some(when) = entry.expires_at {
            self.by_expiry.remove(&(when, key.clone()));
        }
        if let Some(by_use) = &mut self.by_use {
            by_use.remove(&(entry.used, key.clone()));
        }
    }
}

/// Changes that may have to be undone.
impl Keyspace {
    /// From here on changes can be taken back.
    pub(crate) fn begin(&mut self) {
        self.journal = Some(Journal::default());
    }

    /// What was changed since [`Keyspace::begin`] stays.
    pub(crate) fn commit(&mut self) {
        if let Some(journal) = self.journal.take() {
            for key in &journal.used {
                self.used(key);
            }
        }
    }

    /// Takes back what was changed since [`Keyspace::begin`].
    pub(crate) fn roll_back(&mut self) {
        let Some(journal) = self.journal.take() else {
            return;
        };
        for (key, before) in journal.before {
            self.take(&key);
            if let Some(entry) = before {
                let used = entry.used;
                self.put(key.clone(), entry);
                self.restore_use(&key, used);
            }
        }
    }

    fn restore_use(&mut self, key: &Bytes, used: u64) {
        if let (Some(by_use), Some(entry)) = (&mut self.by_use, self.entries.get_mut(key)) {
            by_use.remove(&(entry.used, key.clone()));
            entry.used = used;
            by_use.insert((used, key.clone()));
        }
    }

    fn remember(&mut self, key: &Bytes) {
        if let Some(journal) = &mut self.journal
            && !journal.before.contains_key(key)
        {
            let before = self.entries.get(key).cloned();
            journal.before.insert(key.clone(), before);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn string(text: &'static str) -> Value {
        Value::String(Bytes::from_static(text.as_bytes()))
    }

    fn key(text: &'static str) -> Bytes {
        Bytes::from_static(text.as_bytes())
    }

    #[test]
    fn the_index_follows_every_change_of_an_expiry() {
        let mut keys = Keyspace::default();
        let first = |keys: &Keyspace| keys.first_to_expire().map(|(when, _)| *when);
        keys.insert(key("k"), string("v"), Some(10));
        assert_eq!(first(&keys), Some(10));
        keys.insert(key("k"), string("v"), Some(10));
        assert_eq!(first(&keys), Some(10));
        keys.insert(key("k"), string("v"), Some(5));
        assert_eq!(first(&keys), Some(5));
        keys.set_expiry(&key("k"), None);
        assert_eq!(first(&keys), None);
        keys.set_expiry(&key("k"), Some(7));
        keys.remove(&key("k"));
        assert_eq!((first(&keys), keys.len(), keys.bytes()), (None, 0, 0));
    }

    #[test]
    fn the_order_of_use_follows_reads_and_writes() {
        let mut keys = Keyspace::default();
        keys.insert(key("a"), string("1"), None);
        keys.keep_order_of_use(true);
        keys.insert(key("b"), string("2"), Some(1));
        keys.insert(key("c"), string("3"), None);
        keys.used(&key("a"));
        keys.insert(key("b"), string("22"), Some(2));
        let order: Vec<_> = keys.by_use().cloned().collect();
        assert_eq!(order, [key("c"), key("a"), key("b")]);
    }

    #[test]
    fn changes_that_are_rolled_back_leave_no_trace() {
        let mut keys = Keyspace::default();
        keys.keep_order_of_use(true);
        keys.insert(key("a"), string("1"), Some(10));
        keys.insert(key("b"), string("2"), None);
        let hash = [(key("f"), key("v"))].into_iter().collect();
        keys.insert(key("h"), Value::Hash(Arc::new(hash)), None);
        let before = keys.clone();
        keys.begin();
        keys.insert(key("a"), string("long"), Some(20));
        keys.remove(&key("b"));
        keys.insert(key("new"), string("x"), Some(1));
        keys.update(&key("h"), |value| {
            if let Value::Hash(fields) = value {
                Arc::make_mut(fields).insert(key("g"), key("w"));
            }
        });
        keys.used(&key("h"));
        assert_ne!(keys.bytes(), before.bytes());
        keys.roll_back();
        assert_eq!(keys.entries, before.entries);
        assert_eq!(keys.by_expiry, before.by_expiry);
        assert_eq!(keys.by_use, before.by_use);
        assert_eq!(keys.bytes, before.bytes);
    }
}
