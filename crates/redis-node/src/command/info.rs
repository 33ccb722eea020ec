//! INFO: sections of `name:value` lines, as clients and monitoring read them.

use std::fmt::Write;

use bytes::Bytes;

use super::{Command, Flags, Outcome};
use crate::admission::BASE_MEMORY;
use crate::node::{Node, REDIS_VERSION};
use crate::{ConnectionId, Reply};

const FLAGS: Flags = Flags::LOADING.and(Flags::STALE);

pub(super) const COMMANDS: &[Command] = &[Command::node("info", -1, FLAGS, info)];

/// A section: its title, whether INFO shows it without being asked, and what writes its lines.
struct Section {
    title: &'static str,
    by_default: bool,
    write: fn(&Node, &mut Lines),
}

const fn section(title: &'static str, write: fn(&Node, &mut Lines)) -> Section {
    Section {
        title,
        by_default: true,
        write,
    }
}

/// In Redis's order.
const SECTIONS: &[Section] = &[
    section("Server", server),
    section("Clients", clients),
    section("Memory", memory),
    section("Persistence", persistence),
    section("Stats", stats),
    section("Replication", replication),
    section("CPU", cpu),
    section("Modules", |_, _| {}),
    Section {
        title: "Commandstats",
        by_default: false,
        write: |_, _| {},
    },
    section("Errorstats", |_, _| {}),
    Section {
        title: "Latencystats",
        by_default: false,
        write: |_, _| {},
    },
    section("Cluster", |_, lines| lines.add("cluster_enabled", 0)),
    section("Keyspace", keyspace),
];

/// The lines of a section.
#[derive(Default)]
pub(crate) struct Lines(String);

impl Lines {
    pub(crate) fn add(&mut self, name: &str, value: impl std::fmt::Display) {
        // Writing to a string cannot fail.
        write!(self.0, "{name}:{value}\r\n").ok();
    }
}

fn info(node: &mut Node, connection: ConnectionId, request: &[Bytes]) -> Outcome {
    node.session(connection);
    let asked: Vec<String> = request[1..]
        .iter()
        .map(|word| String::from_utf8_lossy(word).to_ascii_lowercase())
        .collect();
    let wanted = |section: &Section| {
        let named = asked.iter().any(|word| match word.as_str() {
            "all" => section.title != "Modules",
            "everything" => true,
            "default" => section.by_default,
            word => section.title.eq_ignore_ascii_case(word),
        });
        named || asked.is_empty() && section.by_default
    };
    let mut shown = Lines::default();
    for section in SECTIONS.iter().filter(|section| wanted(section)) {
        if !shown.0.is_empty() {
            shown.0 += "\r\n";
        }
        write!(shown.0, "# {}\r\n", section.title).ok();
        (section.write)(node, &mut shown);
    }
    Ok(Reply::bulk(shown.0))
}

fn server(node: &Node, lines: &mut Lines) {
    let uptime = node.data().now().0.saturating_sub(node.booted.0) / 1_000_000_000;
    lines.add("redis_version", REDIS_VERSION);
    lines.add("redis_mode", "standalone");
    lines.add("arch_bits", 64);
    lines.add("process_id", 1);
    lines.add("run_id", &node.config().run_id);
    lines.add("tcp_port", 6379);
    lines.add("server_time_usec", node.data().now().as_micros());
    lines.add("uptime_in_seconds", uptime);
    lines.add("uptime_in_days", uptime / 86_400);
    lines.add("hz", 10);
    lines.add("configured_hz", 10);
    lines.add("config_file", "");
}

fn clients(node: &Node, lines: &mut Lines) {
    lines.add("connected_clients", node.sessions().len());
    lines.add("cluster_connections", 0);
    lines.add("maxclients", 10_000);
    lines.add("blocked_clients", node.replication().waiting());
    lines.add("tracking_clients", 0);
    lines.add("clients_in_timeout_table", 0);
}

fn memory(node: &Node, lines: &mut Lines) {
    let (scripts, dataset) = (node.scripts().bytes(), node.data().keys().bytes());
    let used = BASE_MEMORY + scripts + dataset;
    let limit = node.config().maxmemory_bytes;
    lines.add("used_memory", used);
    lines.add("used_memory_human", human(used as u64));
    lines.add("used_memory_startup", BASE_MEMORY);
    lines.add("used_memory_overhead", BASE_MEMORY + scripts);
    lines.add("used_memory_dataset", dataset);
    lines.add("used_memory_scripts_eval", scripts);
    lines.add("number_of_cached_scripts", node.scripts().len());
    lines.add("maxmemory", limit);
    lines.add("maxmemory_human", human(limit));
    lines.add("maxmemory_policy", node.config().eviction.name());
    lines.add("mem_fragmentation_ratio", "1.00");
    lines.add("mem_not_counted_for_evict", 0);
    lines.add("mem_allocator", "estimate");
}

/// Redis's `bytesToHuman`.
#[expect(clippy::cast_precision_loss, reason = "two decimals are shown")]
fn human(bytes: u64) -> String {
    let units = [
        (1u64 << 40, 'T'),
        (1 << 30, 'G'),
        (1 << 20, 'M'),
        (1 << 10, 'K'),
    ];
    let fitting = units.into_iter().find(|(unit, _)| bytes >= *unit);
    fitting.map_or(format!("{bytes}B"), |(unit, letter)| {
        format!("{:.2}{letter}", bytes as f64 / unit as f64)
    })
}

fn persistence(node: &Node, lines: &mut Lines) {
    for (name, value) in node.keeper().info(node.is_loading()) {
        lines.add(name, value);
    }
}

fn stats(node: &Node, lines: &mut Lines) {
    let (stats, channels) = (node.data().stats(), node.data().channels());
    lines.add("total_connections_received", node.traffic.connections);
    lines.add("total_commands_processed", node.traffic.commands);
    lines.add("rejected_connections", 0);
    lines.add("expired_keys", stats.expired);
    lines.add("evicted_keys", stats.evicted);
    lines.add("keyspace_hits", stats.hits);
    lines.add("keyspace_misses", stats.misses);
    lines.add("pubsub_channels", channels.active().count());
    lines.add("pubsub_patterns", channels.patterns());
    lines.add("total_error_replies", node.traffic.errors);
}

fn replication(node: &Node, lines: &mut Lines) {
    for (name, value) in node.replication().info(node.data().now()) {
        lines.add(&name, value);
    }
}

/// The node takes no time.
fn cpu(_: &Node, lines: &mut Lines) {
    for name in [
        "used_cpu_sys",
        "used_cpu_user",
        "used_cpu_sys_children",
        "used_cpu_user_children",
    ] {
        lines.add(name, "0.000000");
    }
}

fn keyspace(node: &Node, lines: &mut Lines) {
    let (keys, now) = (node.data().keys(), node.data().now_millis());
    if keys.len() == 0 {
        return;
    }
    let expires = keys.expiries().len();
    let left = keys
        .expiries()
        .map(|(when, _)| i128::from(when.saturating_sub(now).max(0)));
    let average = left.sum::<i128>() / i128::try_from(expires.max(1)).unwrap_or(1);
    lines.add(
        "db0",
        format_args!("keys={},expires={expires},avg_ttl={average}", keys.len()),
    );
}
