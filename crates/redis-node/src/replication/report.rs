//! What `ROLE` and `INFO` say of replication.

use super::Replication;
use crate::{Reply, UnixTime};

impl Replication {
    /// The reply to `ROLE`.
    pub(crate) fn role(&self) -> Reply {
        let number = |number: u64| i64::try_from(number).unwrap_or(i64::MAX);
        let text = |text: &str| Reply::bulk(text.to_owned());
        if let Some(upstream) = &self.upstream {
            let offset = if upstream.is_connected() {
                number(self.history.offset)
            } else {
                -1
            };
            return Reply::Array(vec![
                text("slave"),
                text(&upstream.address.host),
                Reply::Integer(upstream.address.port.into()),
                text(upstream.state()),
                Reply::Integer(offset),
            ]);
        }
        let online = self
            .followers
            .values()
            .filter(|follower| follower.state() == "online");
        let replicas = online.map(|follower| {
            Reply::Array(vec![
                text(&follower.address.host),
                text(&follower.address.port.to_string()),
                text(&follower.acknowledged().to_string()),
            ])
        });
        Reply::Array(vec![
            text("master"),
            Reply::Integer(number(self.history.offset)),
            Reply::Array(replicas.collect()),
        ])
    }

    /// Lines of the section `Replication` of `INFO`, as names and values.
    pub(crate) fn info(&self, now: UnixTime) -> Vec<(String, String)> {
        let mut lines: Vec<(String, String)> = Vec::new();
        let mut line = |name: &str, value: String| lines.push((name.to_owned(), value));
        line(
            "role",
            if self.is_replica() { "slave" } else { "master" }.to_owned(),
        );
        if let Some(upstream) = &self.upstream {
            let connected = upstream.is_connected();
            let heard = i64::try_from(now.as_secs().saturating_sub(upstream.heard.as_secs()))
                .unwrap_or(i64::MAX);
            line("master_host", upstream.address.host.clone());
            line("master_port", upstream.address.port.to_string());
            line(
                "master_link_status",
                if connected { "up" } else { "down" }.to_owned(),
            );
            line(
                "master_last_io_seconds_ago",
                if connected { heard } else { -1 }.to_string(),
            );
            line(
                "master_sync_in_progress",
                u8::from(upstream.is_copying()).to_string(),
            );
            line("slave_read_repl_offset", self.history.offset.to_string());
            line("slave_repl_offset", self.history.offset.to_string());
            if !connected {
                let down = now.as_secs().saturating_sub(upstream.down_since.as_secs());
                line("master_link_down_since_seconds", down.to_string());
            }
            line("slave_priority", "100".to_owned());
            line("slave_read_only", "1".to_owned());
            line("replica_announced", "1".to_owned());
        }
        let fed = || self.followers.values().filter(|follower| follower.is_fed());
        line("connected_slaves", fed().count().to_string());
        if self.config.min_replicas_to_write > 0 && self.config.min_replicas_max_lag > 0 {
            let most = u64::from(self.config.min_replicas_max_lag);
            let good =
                fed().filter(|follower| follower.state() == "online" && follower.lag(now) <= most);
            line("min_slaves_good_slaves", good.count().to_string());
        }
        for (number, follower) in fed().enumerate() {
            let address = &follower.address;
            let value = format!(
                "ip={},port={},state={},offset={},lag={}",
                address.host,
                address.port,
                follower.state(),
                follower.acknowledged(),
                follower.lag(now)
            );
            line(&format!("slave{number}"), value);
        }
        let (former, until) = match &self.history.former {
            Some((former, until)) => (former.clone(), until.to_string()),
            None => ("0".repeat(40), "-1".to_owned()),
        };
        let (start, held) = self.backlog.as_ref().map_or((0, 0), |backlog| {
            let (before, held) = backlog.range();
            (before + 1, held)
        });
        line("master_failover_state", "no-failover".to_owned());
        line("master_replid", self.history.id.clone());
        line("master_replid2", former);
        line("master_repl_offset", self.history.offset.to_string());
        line("second_repl_offset", until);
        line(
            "repl_backlog_active",
            u8::from(self.backlog.is_some()).to_string(),
        );
        line("repl_backlog_size", self.config.backlog_bytes.to_string());
        line("repl_backlog_first_byte_offset", start.to_string());
        line("repl_backlog_histlen", held.to_string());
        lines
    }
}
