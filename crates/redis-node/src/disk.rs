//! The node's disk: the append-only file, as the page cache and as the platter know it.

use bytes::Bytes;
use smallvec::SmallVec;

use crate::keyspace::{Keyspace, Value};

/// How a node stops.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// The process dies (`kill -9`): what it had written survives in the page cache.
    Kill,
    /// The machine loses power: only what was forced to the platter survives.
    PowerLoss,
    /// `SHUTDOWN`: everything that persistence is configured for is written first.
    Shutdown,
}

/// What survives a stop. Empty by default, and for ever with [`crate::Persistence::None`].
///
/// The log holds the effects of commands, not their texts as sent: expiries are absolute, a script is the
/// transaction of what it did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Disk {
    log: Vec<Unit>,
    /// That many units of the log are on the platter; the rest is in the page cache only.
    synced: usize,
    /// Size of the log now, and just after the last rewrite.
    bytes: usize,
    base_bytes: usize,
}

/// A command as arguments, the way it is written to the log.
pub(crate) type Command = SmallVec<[Bytes; 5]>;

/// What is applied whole or not at all: a command, or the effects of a transaction or script.
pub(crate) type Unit = SmallVec<[Command; 1]>;

impl Disk {
    /// Whether nothing would survive.
    pub fn is_empty(&self) -> bool {
        self.log.is_empty()
    }

    /// What is left after that kind of stop.
    pub(crate) fn after(mut self, how: Stop) -> Disk {
        if how == Stop::PowerLoss {
            self.log.truncate(self.synced);
            self.bytes = self.log.iter().map(size).sum();
        }
        self.synced = self.log.len();
        self
    }

    pub(crate) fn units(&self) -> &[Unit] {
        &self.log
    }

    /// Writes to the page cache.
    pub(crate) fn append(&mut self, unit: Unit) {
        self.bytes += size(&unit);
        self.log.push(unit);
    }

    /// Forces what was written to the platter.
    pub(crate) fn sync(&mut self) {
        self.synced = self.log.len();
    }

    /// Redis's `auto-aof-rewrite-percentage 100`, with a smaller least size since many nodes share a process.
    pub(crate) fn wants_rewrite(&self) -> bool {
        const LEAST: usize = 1 << 20;
        self.bytes > LEAST && self.bytes > 2 * self.base_bytes
    }

    /// Replaces the log by the shortest one that leads to the same keys, on the platter at once.
    pub(crate) fn rewrite(&mut self, keys: &Keyspace) {
        self.log = keys
            .iter()
            .map(|(key, entry)| snapshot(key, &entry.value, entry.expires_at))
            .collect();
        self.bytes = self.log.iter().map(size).sum();
        self.base_bytes = self.bytes;
        self.sync();
    }
}

fn snapshot(key: &Bytes, value: &Value, expires_at: Option<i64>) -> Unit {
    let mut unit = Unit::new();
    match value {
        Value::String(bytes) => {
            unit.push(Command::from_iter([
                Bytes::from_static(b"SET"),
                key.clone(),
                bytes.clone(),
            ]));
        }
        Value::Hash(fields) => {
            let mut command = Command::from_iter([Bytes::from_static(b"HSET"), key.clone()]);
            command.extend(
                fields
                    .iter()
                    .flat_map(|(field, value)| [field.clone(), value.clone()]),
            );
            unit.push(command);
        }
    }
    if let Some(when) = expires_at {
        unit.push(Command::from_iter([
            Bytes::from_static(b"PEXPIREAT"),
            key.clone(),
            when.to_string().into(),
        ]));
    }
    unit
}

fn size(unit: &Unit) -> usize {
    const OVERHEAD: usize = 32;
    unit.iter()
        .flatten()
        .map(|argument| argument.len() + OVERHEAD)
        .sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unit(text: &'static str) -> Unit {
        Unit::from_iter([Command::from_iter([Bytes::from_static(text.as_bytes())])])
    }

    #[test]
    fn a_power_loss_takes_what_was_not_synced_and_a_kill_does_not() {
        let mut disk = Disk::default();
        disk.append(unit("one"));
        disk.sync();
        disk.append(unit("two"));
        assert_eq!(disk.clone().after(Stop::PowerLoss).units(), [unit("one")]);
        assert_eq!(
            disk.clone().after(Stop::Kill).units(),
            [unit("one"), unit("two")]
        );
        assert_eq!(
            disk.after(Stop::Shutdown).units(),
            [unit("one"), unit("two")]
        );
    }
}
