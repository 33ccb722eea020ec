//! What `INFO` says of persistence.

use super::{Keeper, Kind};

impl Keeper {
    /// Lines of the section `Persistence`, as names and values.
    pub(crate) fn info(&self, loading: bool) -> Vec<(&'static str, String)> {
        let flag = |flag: bool| u8::from(flag).to_string();
        let status = |ok: bool| if ok { "ok" } else { "err" }.to_owned();
        let kind = self.child_kind();
        vec![
            ("loading", flag(loading)),
            ("rdb_changes_since_last_save", self.dirty.to_string()),
            ("rdb_bgsave_in_progress", flag(kind == Some(Kind::Snapshot))),
            ("rdb_last_save_time", self.last_save.to_string()),
            ("rdb_last_bgsave_status", status(self.save_ok)),
            ("rdb_saves", self.saves.to_string()),
            ("aof_enabled", flag(self.has_log())),
            (
                "aof_rewrite_in_progress",
                flag(matches!(kind, Some(Kind::Log { .. }))),
            ),
            ("aof_rewrite_scheduled", flag(self.rewrite_scheduled)),
            ("aof_rewrites", self.rewrites.to_string()),
            ("aof_last_write_status", status(self.write_failed.is_none())),
            ("aof_current_size", self.disk.bytes().to_string()),
            ("aof_pending_bio_fsync", flag(self.fsync.is_some())),
            ("aof_delayed_fsync", self.delayed_fsyncs.to_string()),
        ]
    }
}
