//! The node's disk: the append-only file, as the page cache and as the platter know it, and the snapshot.

use std::sync::Arc;

use bytes::Bytes;
use smallvec::SmallVec;

use crate::keyspace::{Keyspace, Value};

/// How a node stops.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// The process dies (`kill -9`): what it had written survives in the page cache. Its children, which write
    /// snapshots, die with it.
    Kill,
    /// The machine loses power: only what was forced to the platter survives.
    PowerLoss,
    /// `SHUTDOWN`: everything that persistence is configured for is written first.
    Shutdown,
}

/// What survives a stop. Empty by default, and for ever with [`crate::Persistence::None`] and no `SAVE`.
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
    /// The last complete snapshot. It is forced to the platter before it gets its name, so it is there whole.
    snapshot: Option<Arc<[Unit]>>,
}

/// A command as arguments, the way it is written to the log.
pub(crate) type Command = SmallVec<[Bytes; 5]>;

/// What is applied whole or not at all: a command, or the effects of a transaction or script.
pub(crate) type Unit = SmallVec<[Command; 1]>;

impl Disk {
    /// Whether nothing would survive.
    pub fn is_empty(&self) -> bool {
        self.log.is_empty() && self.snapshot.is_none()
    }

    /// What is left when the machine loses power.
    pub(crate) fn after_power_loss(mut self) -> Disk {
        self.log.truncate(self.synced);
        self.bytes = self.log.iter().map(size).sum();
        self
    }

    pub(crate) fn units(&self) -> &[Unit] {
        &self.log
    }

    pub(crate) fn snapshot(&self) -> Option<&Arc<[Unit]>> {
        self.snapshot.as_ref()
    }

    /// Writes to the page cache.
    pub(crate) fn append(&mut self, unit: Unit) {
        self.bytes += size(&unit);
        self.log.push(unit);
    }

    /// How many units were written, on the platter or not.
    pub(crate) fn written(&self) -> usize {
        self.log.len()
    }

    pub(crate) fn is_synced(&self) -> bool {
        self.synced == self.log.len()
    }

    /// The first so many units are on the platter now.
    pub(crate) fn sync(&mut self, units: usize) {
        self.synced = self.synced.max(units.min(self.log.len()));
    }

    /// Redis's `auto-aof-rewrite-percentage 100`, with a smaller least size since many nodes share a process.
    pub(crate) fn wants_rewrite(&self) -> bool {
        const LEAST: usize = 1 << 20;
        self.bytes > LEAST && self.bytes > 2 * self.base_bytes
    }

    /// Size of the log in bytes, about.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Replaces the first so many units of the log by the shortest ones that lead to the same keys. The new
    /// base is on the platter at once, as the file gets its name only then. Answers how many units that are.
    pub(crate) fn rewrite(&mut self, snapshot: &[Unit], units: usize) -> usize {
        let mut log = snapshot.to_vec();
        let base = log.len();
        self.base_bytes = log.iter().map(size).sum();
        let rest = self.log.drain(units.min(self.log.len())..);
        log.extend(rest);
        self.synced = base + self.synced.saturating_sub(units);
        self.log = log;
        self.bytes = self.log.iter().map(size).sum();
        base
    }

    /// A snapshot is complete and takes the place of the former one.
    pub(crate) fn save(&mut self, snapshot: Arc<[Unit]>) {
        self.snapshot = Some(snapshot);
    }
}

/// The commands that lead to these keys, key by key.
pub(crate) fn commands(keys: &Keyspace) -> impl Iterator<Item = Unit> {
    keys.iter()
        .map(|(key, entry)| one(key, &entry.value, entry.expires_at))
}

fn one(key: &Bytes, value: &Value, expires_at: Option<i64>) -> Unit {
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
    fn a_power_loss_takes_what_was_not_synced() {
        let mut disk = Disk::default();
        disk.append(unit("one"));
        disk.sync(1);
        disk.append(unit("two"));
        assert_eq!(disk.units(), [unit("one"), unit("two")]);
        assert_eq!(disk.after_power_loss().units(), [unit("one")]);
    }

    #[test]
    fn a_rewrite_keeps_what_was_written_while_it_ran() {
        let mut disk = Disk::default();
        for text in ["one", "two", "three"] {
            disk.append(unit(text));
        }
        disk.sync(1);
        disk.rewrite(&[unit("base")], 2);
        assert_eq!(disk.written(), 2);
        assert_eq!(disk.units(), [unit("base"), unit("three")]);
        // The base is on the platter, what followed is not yet.
        assert_eq!(disk.after_power_loss().written(), 1);
    }
}
