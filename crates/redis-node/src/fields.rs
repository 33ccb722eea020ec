//! The fields of a hash.

use std::collections::BTreeMap;
use std::ops::Deref;

use bytes::Bytes;

/// Fields and their values, with a count of the bytes that they take. Reads like the map that it is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Fields {
    map: BTreeMap<Bytes, Bytes>,
    bytes: usize,
}

/// What a field costs beside its bytes and those of its value: the headers of two list pack entries.
const OVERHEAD: usize = 8;

impl Fields {
    pub(crate) fn insert(&mut self, field: Bytes, value: Bytes) {
        let (of_field, of_value) = (field.len() + OVERHEAD, value.len());
        self.bytes += of_value;
        match self.map.insert(field, value) {
            Some(old) => self.bytes -= old.len(),
            None => self.bytes += of_field,
        }
    }

    pub(crate) fn remove(&mut self, field: &[u8]) {
        if let Some((field, value)) = self.map.remove_entry(field) {
            self.bytes -= field.len() + OVERHEAD + value.len();
        }
    }

    /// An estimate of the memory that the fields take.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }
}

impl Deref for Fields {
    type Target = BTreeMap<Bytes, Bytes>;

    fn deref(&self) -> &Self::Target {
        &self.map
    }
}

impl FromIterator<(Bytes, Bytes)> for Fields {
    fn from_iter<I: IntoIterator<Item = (Bytes, Bytes)>>(pairs: I) -> Self {
        let mut fields = Fields::default();
        for (field, value) in pairs {
            fields.insert(field, value);
        }
        fields
    }
}
