//! What the process does with its disk: when it writes, forces, saves, and when it has to stand still for that.
//!
//! The rules are Redis 7.0's (`flushAppendOnlyFile`, `serverCron`, `rdbSaveBackground`), with one difference: a
//! second since the last fsync is a whole second here, where Redis 7.0 compares two readings in seconds and may
//! begin earlier.

mod child;
mod report;

use std::time::Duration;

use crate::command::Failure;
use crate::config::DiskTimes;
use crate::disk::{self, Disk, Unit};
use crate::keyspace::Keyspace;
use crate::{Config, Fsync, Persistence, SavePoint, Stop, UnixTime};

pub(crate) use child::{Child, Kind};

/// `everysec`: the least time between the beginnings of two fsyncs, and the longest that a write is put off.
const FSYNC_PERIOD: Duration = Duration::from_secs(1);
const LONGEST_POSTPONED: Duration = Duration::from_secs(2);
/// A write that the disk refused is tried again after that time.
const WRITE_RETRY: Duration = Duration::from_secs(1);

/// The process's side of persistence, and the disk.
///
/// With `everysec`, what a power loss takes is bounded. Let an fsync take f. A write that meets none is in the page
/// cache at once, and the next fsync begins within a second. One that meets an fsync, begun at b, is written when
/// that ends, at b + f, and the next begins at the later of b + 1 s and b + f. So between a reply and its safety
/// lies at most max(1 s, f) + f. A kill takes only what met an fsync that still runs: at most f.
#[derive(Debug)]
pub(crate) struct Keeper {
    persistence: Persistence,
    points: Vec<SavePoint>,
    times: DiskTimes,
    disk: Disk,
    /// What is to be written to the log and is in the process's memory only.
    buffer: Vec<Unit>,
    /// Since when writes have been put off because an fsync runs.
    postponed_since: Option<UnixTime>,
    /// When the last fsync began. A start counts as one, as in Redis (`initServerConfig` sets `aof_last_fsync` to the
    /// time): a write in the first second waits for the end of that second like one that follows another.
    last_fsync: UnixTime,
    fsync: Option<Fsyncing>,
    /// When the kernel writes back what is dirty now.
    writeback: Option<UnixTime>,
    /// What the server stands still for.
    waits_for: Option<Waits>,
    /// The disk answers nothing before.
    stalled_until: UnixTime,
    /// The disk refuses writes: no space is left.
    full: bool,
    /// The last write to the log failed, then.
    write_failed: Option<UnixTime>,
    child: Option<Child>,
    save_scheduled: bool,
    rewrite_scheduled: bool,
    /// Changes since the last snapshot, and when that was, in whole seconds.
    dirty: u64,
    last_save: u64,
    /// Whether the last snapshot succeeded, and when the last one was tried.
    save_ok: bool,
    last_try: UnixTime,
    saves: u64,
    rewrites: u64,
    delayed_fsyncs: u64,
}

/// An fsync that runs: since when, and how much of the log it covers.
#[derive(Clone, Copy, Debug)]
struct Fsyncing {
    began: UnixTime,
    covers: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Waits {
    Fsync,
    Save,
}

impl Keeper {
    pub(crate) fn new(config: &Config, disk: Disk, now: UnixTime) -> Keeper {
        Keeper {
            persistence: config.persistence,
            points: points(config),
            times: config.disk,
            buffer: Vec::new(),
            postponed_since: None,
            last_fsync: now,
            fsync: None,
            writeback: (!disk.is_synced()).then(|| now.after(config.disk.writeback_after)),
            waits_for: None,
            stalled_until: UnixTime::default(),
            full: false,
            write_failed: None,
            child: None,
            save_scheduled: false,
            rewrite_scheduled: false,
            dirty: 0,
            last_save: now.as_secs(),
            save_ok: true,
            last_try: UnixTime::default(),
            saves: 0,
            rewrites: 0,
            delayed_fsyncs: 0,
            disk,
        }
    }

    /// Whether anything that changes has to be told to [`Keeper::note`].
    pub(crate) fn records(&self) -> bool {
        self.persistence != Persistence::None
    }

    pub(crate) fn has_log(&self) -> bool {
        matches!(self.persistence, Persistence::Aof { .. })
    }

    pub(crate) fn disk(&self) -> &Disk {
        &self.disk
    }

    pub(crate) fn last_save(&self) -> u64 {
        self.last_save
    }

    /// A unit has changed the keys.
    pub(crate) fn note(&mut self, unit: Unit) {
        self.dirty += unit.len() as u64;
        if self.has_log() && !unit.is_empty() {
            self.buffer.push(unit);
        }
    }

    pub(crate) fn reconfigure(&mut self, config: &Config) {
        self.persistence = config.persistence;
        self.times = config.disk;
        self.points = points(config);
    }

    pub(crate) fn is_full(&self) -> bool {
        self.full
    }

    /// Whether SHUTDOWN writes a last snapshot: as it was asked to, or else if there are save points.
    pub(crate) fn saves_at_shutdown(&self, asked: Option<bool>) -> bool {
        asked.unwrap_or(!self.points.is_empty())
    }

    /// Whether the server stands still.
    pub(crate) fn waits(&self) -> bool {
        self.waits_for.is_some()
    }

    /// Until when the server stands still, if it does.
    pub(crate) fn stands_still(&self) -> Option<UnixTime> {
        match self.waits_for? {
            Waits::Fsync => self.fsync.map(|fsync| self.fsync_ends(&fsync)),
            Waits::Save => self.child.as_ref().map(|child| self.child_ends(child)),
        }
    }

    /// The disk answers nothing before that time, which may also be earlier than what was said last.
    pub(crate) fn stall(&mut self, now: UnixTime, until: UnixTime) {
        self.settle(now);
        self.stalled_until = until;
    }

    /// From now on the disk refuses writes, or takes them again.
    pub(crate) fn set_full(&mut self, full: bool) {
        self.full = full;
    }

    /// Why commands that write are refused, if they are.
    pub(crate) fn refusal(&self) -> Option<Failure> {
        if !self.save_ok && !self.points.is_empty() {
            return Some(Failure::of(
                "MISCONF Redis is configured to save RDB snapshots, but it's currently unable to persist to disk. \
                 Commands that may modify the data set are disabled, because this instance is configured to report \
                 errors during writes if RDB snapshotting fails (stop-writes-on-bgsave-error option). Please check \
                 the Redis logs for details about the RDB error.",
            ));
        }
        self.write_failed
            .map(|_| Failure::of("MISCONF Errors writing to the AOF file: No space left on device"))
    }

    /// What the disk has done by itself until now.
    pub(crate) fn settle(&mut self, now: UnixTime) {
        if let Some(fsync) = self.fsync.filter(|fsync| self.fsync_ends(fsync) <= now) {
            self.disk.sync(fsync.covers);
            self.fsync = None;
            self.stop_waiting_for(Waits::Fsync);
        }
        if self
            .writeback
            .is_some_and(|due| due.max(self.stalled_until) <= now)
        {
            // All that was written before: whoever writes later has called this first.
            self.disk.sync(self.disk.written());
            self.writeback = None;
        }
        let ended = self.child.as_ref().map(|child| self.child_ends(child));
        if ended.is_some_and(|ended| ended <= now)
            && let Some(child) = self.child.take()
        {
            self.finish_child(child, ended.unwrap_or(now));
            self.stop_waiting_for(Waits::Save);
        }
    }

    /// Writes and forces what is due, before replies go out. Answers whether the server lives on: with `always`,
    /// it gives up where it cannot write.
    pub(crate) fn flush(&mut self, now: UnixTime) -> bool {
        if let Persistence::Aof { fsync } = self.persistence {
            self.settle(now);
            match fsync {
                Fsync::Always => return self.flush_always(now),
                Fsync::EverySec => self.flush_every_second(now),
                Fsync::No => _ = self.write_out(now),
            }
        }
        true
    }

    fn flush_always(&mut self, now: UnixTime) -> bool {
        // What was written under another policy is forced, too.
        if self.buffer.is_empty() && self.disk.is_synced() {
            return true;
        }
        if !self.write_out(now) {
            return false;
        }
        self.begin_fsync(now);
        if self.fsync.is_some() {
            self.waits_for = Some(Waits::Fsync);
        }
        true
    }

    fn flush_every_second(&mut self, now: UnixTime) {
        if !self.buffer.is_empty() {
            if self.fsync.is_some() {
                let since = *self.postponed_since.get_or_insert(now);
                if now >= since.after(LONGEST_POSTPONED) {
                    // The write goes to the file that is being forced, and the kernel lets it wait.
                    self.waits_for = Some(Waits::Fsync);
                    self.delayed_fsyncs += 1;
                }
                return;
            }
            if !self.write_out(now) {
                return;
            }
        }
        let due = now >= self.last_fsync.after(FSYNC_PERIOD);
        if due && self.fsync.is_none() && !self.disk.is_synced() {
            self.begin_fsync(now);
        }
    }

    /// From the process's memory to the page cache.
    fn write_out(&mut self, now: UnixTime) -> bool {
        if self.buffer.is_empty() {
            return true;
        }
        if self.full {
            self.write_failed = Some(now);
            return false;
        }
        for unit in self.buffer.drain(..) {
            self.disk.append(unit);
        }
        self.write_failed = None;
        self.postponed_since = None;
        let due = now.after(self.times.writeback_after);
        self.writeback.get_or_insert(due);
        true
    }

    fn begin_fsync(&mut self, now: UnixTime) {
        self.last_fsync = now;
        self.fsync = Some(Fsyncing {
            began: now,
            covers: self.disk.written(),
        });
        self.settle(now);
    }

    fn fsync_ends(&self, fsync: &Fsyncing) -> UnixTime {
        fsync
            .began
            .after(self.times.fsync_takes)
            .max(self.stalled_until)
    }

    fn stop_waiting_for(&mut self, what: Waits) {
        if self.waits_for == Some(what) {
            self.waits_for = None;
        }
    }

    /// When the process itself has something to do; what the disk does alone is settled whenever one looks.
    pub(crate) fn next_deadline(&self) -> Option<UnixTime> {
        if let Some(until) = self.stands_still() {
            return Some(until);
        }
        let child = self.child.as_ref().map(|child| self.child_ends(child));
        [self.log_deadline(), child, self.save_deadline()]
            .into_iter()
            .flatten()
            .min()
    }

    fn log_deadline(&self) -> Option<UnixTime> {
        let Persistence::Aof { fsync } = self.persistence else {
            return None;
        };
        if let Some(failed) = self.write_failed {
            return Some(failed.after(WRITE_RETRY));
        }
        if fsync != Fsync::EverySec {
            return None;
        }
        let running = self.fsync.map(|fsync| self.fsync_ends(&fsync));
        if let Some(since) = self.postponed_since {
            let longest = since.after(LONGEST_POSTPONED);
            return Some(running.map_or(since, |ends| ends.min(longest)));
        }
        let covered = self.fsync.map_or(0, |fsync| fsync.covers);
        let dirty = !self.disk.is_synced() && covered < self.disk.written();
        let next = self.last_fsync.after(FSYNC_PERIOD);
        dirty.then(|| running.map_or(next, |ends| ends.max(next)))
    }

    /// Stops. `saves` is what SHUTDOWN asked for; without a word, a snapshot is written if save points are set.
    pub(crate) fn stop(
        mut self,
        how: Stop,
        now: UnixTime,
        saves: Option<bool>,
        keys: &Keyspace,
    ) -> Disk {
        self.settle(now);
        match how {
            Stop::Kill => {}
            Stop::PowerLoss => return self.disk.after_power_loss(),
            Stop::Shutdown => {
                if !self.full {
                    self.buffer
                        .drain(..)
                        .for_each(|unit| self.disk.append(unit));
                }
                self.disk.sync(self.disk.written());
                if self.saves_at_shutdown(saves) && !self.full {
                    self.disk.save(disk::commands(keys).collect());
                }
            }
        }
        self.disk
    }
}

fn points(config: &Config) -> Vec<SavePoint> {
    match config.persistence {
        Persistence::None => Vec::new(),
        _ => config.save.clone(),
    }
}
