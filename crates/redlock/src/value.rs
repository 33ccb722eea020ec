//! The random value that marks a lock as one's own.

use std::fmt;

use crate::ports::Entropy;

/// The value of one attempt: 20 random bytes, fresh for each attempt.
///
/// Fresh for each *attempt*, not for each call: a late SET of an earlier attempt must not look like the
/// lock of this one (document 002: unique over all clients and all lock requests).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Value([u8; Value::LENGTH]);

impl Value {
    /// Bytes of a value (document 002: "20바이트").
    pub const LENGTH: usize = 20;

    pub(crate) fn draw(entropy: &impl Entropy) -> Value {
        let mut bytes = [0; Value::LENGTH];
        entropy.fill(&mut bytes);
        Value(bytes)
    }

    /// The bytes as they are stored at the nodes.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }
}

impl fmt::Display for Value {
    /// In hexadecimal.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Value({self})")
    }
}
