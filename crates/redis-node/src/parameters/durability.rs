//! Parameters of persistence and replication.

use std::borrow::Cow;
use std::time::Duration;

use super::{Parameter, Set, choice, fixed, memory, parameter, yes_or_no};
use crate::{Config, Fsync, Persistence, SavePoint};

/// All of them, by name.
pub(super) const PARAMETERS: &[Parameter] = &[
    parameter("appendfsync", |config| policy(config).into(), set_policy),
    fixed("appendonly", |config| {
        yes_or_no(matches!(config.persistence, Persistence::Aof { .. }))
    }),
    renamed(
        "min-replicas-max-lag",
        "min-slaves-max-lag",
        |config| config.replication.min_replicas_max_lag.to_string().into(),
        |config, value| whole(value, 0).map(|lag| config.replication.min_replicas_max_lag = lag),
    ),
    renamed(
        "min-replicas-to-write",
        "min-slaves-to-write",
        |config| config.replication.min_replicas_to_write.to_string().into(),
        |config, value| {
            whole(value, 0).map(|least| config.replication.min_replicas_to_write = least)
        },
    ),
    parameter(
        "repl-backlog-size",
        |config| config.replication.backlog_bytes.to_string().into(),
        set_backlog,
    ),
    renamed(
        "repl-ping-replica-period",
        "repl-ping-slave-period",
        |config| config.replication.ping_period.as_secs().to_string().into(),
        |config, value| seconds(value).map(|period| config.replication.ping_period = period),
    ),
    parameter(
        "repl-timeout",
        |config| config.replication.timeout.as_secs().to_string().into(),
        |config, value| seconds(value).map(|timeout| config.replication.timeout = timeout),
    ),
    renamed(
        "replica-serve-stale-data",
        "slave-serve-stale-data",
        |config| yes_or_no(config.replication.serve_stale_data),
        |config, value| {
            config.replication.serve_stale_data = match value.to_ascii_lowercase().as_str() {
                "yes" => true,
                "no" => false,
                _ => return Err("argument must be 'yes' or 'no'".into()),
            };
            Ok(())
        },
    ),
    parameter("save", |config| save(config).into(), set_save),
    fixed("stop-writes-on-bgsave-error", |_| "yes".into()),
];

const fn renamed(
    name: &'static str,
    alias: &'static str,
    get: fn(&Config) -> Cow<'static, str>,
    set: super::Change,
) -> Parameter {
    Parameter {
        name,
        alias: Some(alias),
        get,
        set: Set::To(set),
    }
}

const POLICIES: [&str; 3] = ["everysec", "always", "no"];

/// Without a log there is no policy; then it is shown as Redis's default.
fn policy(config: &Config) -> &'static str {
    match config.persistence {
        Persistence::Aof {
            fsync: Fsync::Always,
        } => "always",
        Persistence::Aof { fsync: Fsync::No } => "no",
        _ => "everysec",
    }
}

fn set_policy(config: &mut Config, value: &str) -> Result<(), Cow<'static, str>> {
    let chosen = [Fsync::EverySec, Fsync::Always, Fsync::No][choice(value, POLICIES)?];
    if let Persistence::Aof { fsync } = &mut config.persistence {
        *fsync = chosen;
    }
    Ok(())
}

fn save(config: &Config) -> String {
    let points = match config.persistence {
        Persistence::None => &[][..],
        _ => &config.save,
    };
    let points = points
        .iter()
        .map(|point| format!("{} {}", point.seconds, point.changes));
    points.collect::<Vec<_>>().join(" ")
}

/// Save points are persistence: where there was none, now there is.
fn set_save(config: &mut Config, value: &str) -> Result<(), Cow<'static, str>> {
    let invalid = || Cow::Borrowed("Invalid save parameters");
    // One space between two words, as Redis splits them; and the empty text is no word.
    let words: Vec<&str> = value.split(' ').collect();
    let words = if value.is_empty() { &[] } else { &words[..] };
    let mut points = Vec::new();
    for pair in words.chunks(2) {
        let [seconds, changes] = pair else {
            return Err(invalid());
        };
        let seconds = seconds.parse().ok().filter(|seconds| *seconds > 0);
        points.push(SavePoint {
            seconds: seconds.ok_or_else(invalid)?,
            changes: changes.parse().map_err(|_| invalid())?,
        });
    }
    if config.persistence == Persistence::None && !points.is_empty() {
        config.persistence = Persistence::Rdb;
    }
    config.save = points;
    Ok(())
}

/// A whole number that a C `int` holds.
fn whole(value: &str, least: u32) -> Result<u32, Cow<'static, str>> {
    let number: i64 = value
        .parse()
        .map_err(|_| "argument couldn't be parsed into an integer")?;
    u32::try_from(number)
        .ok()
        .filter(|number| (least..=i32::MAX.unsigned_abs()).contains(number))
        .ok_or_else(|| {
            format!(
                "argument must be between {least} and {} inclusive",
                i32::MAX
            )
            .into()
        })
}

fn seconds(value: &str) -> Result<Duration, Cow<'static, str>> {
    whole(value, 1).map(|seconds| Duration::from_secs(seconds.into()))
}

/// Redis keeps at least 16 KiB (`CONFIG_REPL_BACKLOG_MIN_SIZE`).
fn set_backlog(config: &mut Config, value: &str) -> Result<(), Cow<'static, str>> {
    let bytes = memory(value).ok_or("argument must be a memory value")?;
    if !(1..=i64::MAX.unsigned_abs()).contains(&bytes) {
        let text = format!("argument must be between 1 and {} inclusive", i64::MAX);
        return Err(text.into());
    }
    config.replication.backlog_bytes = usize::try_from(bytes).unwrap_or(usize::MAX).max(16 << 10);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn save_points_are_read_and_written_as_pairs() {
        let mut config = Config::default();
        assert_eq!(save(&config), "");
        assert_eq!(set_save(&mut config, "10 2 5 100"), Ok(()));
        assert_eq!(
            (config.persistence, save(&config).as_str()),
            (Persistence::Rdb, "10 2 5 100")
        );
        for invalid in ["10", "0 1", "10 -1", "10 2  5 100", "x 1"] {
            assert!(set_save(&mut config, invalid).is_err(), "{invalid}");
        }
        assert_eq!(set_save(&mut config, ""), Ok(()));
        assert_eq!(save(&config), "");
    }
}
