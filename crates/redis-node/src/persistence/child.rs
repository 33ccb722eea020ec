//! Snapshots and rewrites of the log: what a child process writes while the server goes on.

use std::sync::Arc;
use std::time::Duration;

use super::{Keeper, Waits};
use crate::UnixTime;
use crate::command::Failure;
use crate::disk::{self, Unit};
use crate::keyspace::Keyspace;

/// After a snapshot that failed, the next one is not tried before.
const SAVE_RETRY: Duration = Duration::from_secs(5);

/// A process that writes what the keys were when it began.
#[derive(Debug)]
pub(crate) struct Child {
    kind: Kind,
    began: UnixTime,
    snapshot: Arc<[Unit]>,
    /// Changes since the last snapshot, when this one began.
    dirty: u64,
}

/// What a child writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Snapshot,
    /// A new base for the log, in place of its first so many units.
    Log {
        units: usize,
    },
}

impl Keeper {
    pub(super) fn child_ends(&self, child: &Child) -> UnixTime {
        child
            .began
            .after(self.times.save_takes)
            .max(self.stalled_until)
    }

    pub(crate) fn child_kind(&self) -> Option<Kind> {
        self.child.as_ref().map(|child| child.kind)
    }

    fn begin_child(&mut self, kind: Kind, now: UnixTime, keys: &Keyspace) {
        self.child = Some(Child {
            kind,
            began: now,
            snapshot: disk::commands(keys).collect(),
            dirty: self.dirty,
        });
        if kind == Kind::Snapshot {
            self.last_try = now;
            self.saves += 1;
            self.save_scheduled = false;
        } else {
            self.rewrite_scheduled = false;
        }
        self.settle(now);
    }

    pub(super) fn finish_child(&mut self, child: Child, ended: UnixTime) {
        match child.kind {
            Kind::Snapshot if self.full => self.save_ok = false,
            Kind::Snapshot => {
                self.disk.save(child.snapshot);
                self.dirty = self.dirty.saturating_sub(child.dirty);
                self.last_save = ended.as_secs();
                self.save_ok = true;
            }
            Kind::Log { units } if self.has_log() && !self.full => {
                let base = self.disk.rewrite(&child.snapshot, units);
                self.rewrites += 1;
                // Positions in the old log mean nothing in the new one.
                if let Some(fsync) = &mut self.fsync {
                    fsync.covers = base + fsync.covers.saturating_sub(units);
                }
            }
            Kind::Log { .. } => {}
        }
    }

    /// `BGSAVE`, or a save point that is due.
    pub(crate) fn begin_save(&mut self, now: UnixTime, keys: &Keyspace) {
        self.begin_child(Kind::Snapshot, now, keys);
    }

    /// `SAVE`: the server stands still until it is done.
    pub(crate) fn save(&mut self, now: UnixTime, keys: &Keyspace) -> Result<(), Failure> {
        if self.full {
            return Err(Failure::of("ERR"));
        }
        // A rewrite that runs goes on in Redis; here it is begun anew when the snapshot is done.
        self.rewrite_scheduled |= self.child.take().is_some();
        self.begin_child(Kind::Snapshot, now, keys);
        if self.child.is_some() {
            self.waits_for = Some(Waits::Save);
        }
        Ok(())
    }

    pub(crate) fn schedule_save(&mut self) {
        self.save_scheduled = true;
    }

    pub(crate) fn schedule_rewrite(&mut self) {
        self.rewrite_scheduled = true;
    }

    /// Begins to rewrite the log, if it may: what is still in the process's memory has to be written first.
    pub(crate) fn begin_rewrite(&mut self, now: UnixTime, keys: &Keyspace) -> bool {
        if !self.buffer.is_empty() || self.child.is_some() {
            self.rewrite_scheduled = true;
            return false;
        }
        self.begin_child(
            Kind::Log {
                units: self.disk.written(),
            },
            now,
            keys,
        );
        true
    }

    /// A log that has grown to twice its size is rewritten.
    pub(crate) fn rewrite_if_grown(&mut self, now: UnixTime, keys: &Keyspace) {
        if self.disk.wants_rewrite() && self.child.is_none() && self.buffer.is_empty() {
            self.begin_rewrite(now, keys);
        }
    }

    /// After a full copy the log begins anew with what was copied.
    pub(crate) fn restart_log(&mut self, now: UnixTime, keys: &Keyspace) {
        self.dirty += 1;
        if self.has_log() {
            self.buffer.clear();
            self.postponed_since = None;
            self.child = None;
            self.begin_rewrite(now, keys);
        }
    }

    /// What `serverCron` begins by itself: what was scheduled, a log that has grown, a save point that is due.
    pub(crate) fn begin_what_is_due(&mut self, now: UnixTime, keys: &Keyspace) {
        self.settle(now);
        if self.child.is_some() || self.waits_for.is_some() {
            return;
        }
        if self.rewrite_scheduled && self.begin_rewrite(now, keys) && self.child.is_some() {
            return;
        }
        let due = self.save_deadline().is_some_and(|due| due <= now);
        if self.child.is_none() && due {
            self.begin_save(now, keys);
        }
    }

    /// When the next snapshot is to be begun.
    pub(super) fn save_deadline(&self) -> Option<UnixTime> {
        if self.child.is_some() {
            return None;
        }
        if self.save_scheduled || self.rewrite_scheduled && self.buffer.is_empty() {
            return Some(self.last_try);
        }
        // Redis compares whole seconds and wants more of them than the point says.
        let due = |seconds: u32| {
            UnixTime::from_secs(
                self.last_save
                    .saturating_add(seconds.into())
                    .saturating_add(1),
            )
        };
        let reached = self
            .points
            .iter()
            .filter(|point| self.dirty >= point.changes.max(1));
        let first = reached.map(|point| due(point.seconds)).min()?;
        let retry = self.last_try.after(SAVE_RETRY + Duration::from_secs(1));
        Some(if self.save_ok {
            first
        } else {
            first.max(retry)
        })
    }
}
