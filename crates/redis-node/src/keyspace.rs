//! Keys, values and their expiry, without any rule about when to look or what to tell.

use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;

/// What a key holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Value {
    String(Bytes),
    Hash(BTreeMap<Bytes, Bytes>),
}

impl Value {
    /// The name that `TYPE` answers.
    pub(crate) fn kind(&self) -> &'static str {
        match self {
            Value::String(_) => "string",
            Value::Hash(_) => "hash",
        }
    }
}

/// A key's value and its expiry in milliseconds since the Unix epoch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) value: Value,
    pub(crate) expires_at: Option<i64>,
}

/// All keys of a node, with an index by expiry so that the next one to go is found without a scan.
#[derive(Clone, Debug, Default)]
pub(crate) struct Keyspace {
    entries: BTreeMap<Bytes, Entry>,
    by_expiry: BTreeSet<(i64, Bytes)>,
}

impl Keyspace {
    pub(crate) fn get(&self, key: &[u8]) -> Option<&Entry> {
        self.entries.get(key)
    }

    /// The value alone: the expiry goes through [`Keyspace::set_expiry`] or the index would lie.
    pub(crate) fn value_mut(&mut self, key: &[u8]) -> Option<&mut Value> {
        self.entries.get_mut(key).map(|entry| &mut entry.value)
    }

    pub(crate) fn insert(&mut self, key: Bytes, value: Value, expires_at: Option<i64>) {
        if let Some(when) = expires_at {
            self.by_expiry.insert((when, key.clone()));
        }
        let entry = Entry { value, expires_at };
        match self.entries.get_mut(&key) {
            Some(old) => {
                let old = std::mem::replace(old, entry);
                if let Some(when) = old.expires_at.filter(|when| Some(*when) != expires_at) {
                    self.by_expiry.remove(&(when, key));
                }
            }
            None => {
                self.entries.insert(key, entry);
            }
        }
    }

    pub(crate) fn remove(&mut self, key: &Bytes) -> Option<Entry> {
        let entry = self.entries.remove(key)?;
        if let Some(when) = entry.expires_at {
            self.by_expiry.remove(&(when, key.clone()));
        }
        Some(entry)
    }

    /// Sets or takes away the expiry of a key that exists.
    pub(crate) fn set_expiry(&mut self, key: &Bytes, expires_at: Option<i64>) {
        let Some(entry) = self.entries.get_mut(key) else {
            return;
        };
        if let Some(when) = std::mem::replace(&mut entry.expires_at, expires_at) {
            self.by_expiry.remove(&(when, key.clone()));
        }
        if let Some(when) = expires_at {
            self.by_expiry.insert((when, key.clone()));
        }
    }

    /// The key that expires first, and when.
    pub(crate) fn first_to_expire(&self) -> Option<&(i64, Bytes)> {
        self.by_expiry.first()
    }

    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&Bytes, &Entry)> {
        self.entries.iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_index_follows_every_change_of_an_expiry() {
        let mut keys = Keyspace::default();
        let key = Bytes::from_static(b"k");
        let value = || Value::String(Bytes::from_static(b"v"));
        let first = |keys: &Keyspace| keys.first_to_expire().map(|(when, _)| *when);
        keys.insert(key.clone(), value(), Some(10));
        assert_eq!(first(&keys), Some(10));
        keys.insert(key.clone(), value(), Some(10));
        assert_eq!(first(&keys), Some(10));
        keys.insert(key.clone(), value(), Some(5));
        assert_eq!(first(&keys), Some(5));
        keys.set_expiry(&key, None);
        assert_eq!(first(&keys), None);
        keys.set_expiry(&key, Some(7));
        keys.remove(&key);
        assert_eq!((first(&keys), keys.len()), (None, 0));
    }
}
