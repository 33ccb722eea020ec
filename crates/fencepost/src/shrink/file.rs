//! A plan as a scenario file that draws that very plan.

use std::time::Duration;

use fencepost_checker::{Property, Verdict};
use fencepost_world::plan::{Action, Fault, Heal, LatencyPlan, Trigger};
use serde::Serialize;
use toml::{Table, Value};

use crate::plan::tell::signed;
use crate::plan::{ClientPlan, Plan, RoundPlan};
use crate::scenario::{Persistence, Scenario, ScenarioError};

/// A plan that no scenario file says.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Inexpressible {
    /// A file gives all rounds of a client the same times.
    #[error("the rounds of `{client}` are not alike, which a scenario file cannot say")]
    Rounds {
        /// The client.
        client: String,
    },
    /// What was written is refused.
    #[error(transparent)]
    Refused(#[from] ScenarioError),
    /// What was written draws another plan.
    #[error("a scenario file cannot say the order of its faults")]
    Other,
}

/// A scenario file called `name` that draws this plan from its own seed, and expects the violation of `verdict`.
///
/// # Errors
/// There is none.
pub fn scenario_file(
    plan: &Plan,
    name: &str,
    verdict: &Verdict,
) -> Result<Scenario, Inexpressible> {
    let mut plan = plan.clone();
    plan.scenario = name.to_owned();
    if plan.node.persistence == Persistence::None {
        // Nobody looks at it.
        plan.node.fsync = crate::scenario::Fsync::default();
    }
    let text = text(&plan, verdict)?;
    let scenario = Scenario::parse(name, &format!("{name}.toml"), &text)?;
    if Plan::draw(&scenario, plan.world.seed) == plan {
        Ok(scenario)
    } else {
        Err(Inexpressible::Other)
    }
}

fn text(plan: &Plan, verdict: &Verdict) -> Result<String, Inexpressible> {
    let mut file = Table::new();
    put(&mut file, "claim", claim(plan, verdict));
    put(&mut file, "document", "found by random faults");
    put(&mut file, "seed", plan.world.seed);
    put(&mut file, "horizon", time(plan.world.horizon));
    put(&mut file, "settle", time(plan.world.settle));
    put(&mut file, "call-bound", time(plan.call_bound));
    put(&mut file, "acquire-bound", time(plan.acquire_bound));
    if let Some(heal_at) = plan.world.heal_at {
        put(&mut file, "heal-at", time(heal_at));
    }
    put(&mut file, "system", system(plan));
    put(&mut file, "node", node(plan));
    let mut network = Table::new();
    put(
        &mut network,
        "latency",
        latency(&plan.world.network.latency),
    );
    put(&mut file, "network", network);
    let links = plan.world.network.links.iter().map(|link| {
        let mut table = Table::new();
        put(&mut table, "between", [&link.between.0, &link.between.1]);
        put(&mut table, "latency", latency(&link.latency));
        table
    });
    tables(&mut file, "link", links);
    let clocks = plan.world.hosts.iter().filter(|host| host.rate_ppm != 0);
    let clocks = clocks.map(|host| {
        let mut table = Table::new();
        put(&mut table, "host", &host.name);
        put(&mut table, "rate-ppm", host.rate_ppm);
        table
    });
    tables(&mut file, "clock", clocks);
    let (mut resource, mut workload) = (Table::new(), Table::new());
    put(&mut resource, "fencing", plan.resource.fencing);
    put(&mut file, "resource", resource);
    put(&mut workload, "kind", plan.resource.workload);
    put(&mut file, "workload", workload);
    let own = plan.clients.iter().filter(|client| !client.probe);
    let clients: Vec<Table> = own.map(client).collect::<Result<_, _>>()?;
    tables(&mut file, "client", clients);
    for one in &plan.world.faults {
        let list = file
            .entry(family(one))
            .or_insert_with(|| Value::Array(Vec::new()));
        if let Value::Array(list) = list {
            list.push(fault(one).into());
        }
    }
    let mut expect = Table::new();
    put(&mut expect, verdict.property.name(), "violated");
    put(&mut file, "expect", expect);
    Ok(toml::to_string(&file).expect("the tables hold plain values"))
}

fn claim(plan: &Plan, verdict: &Verdict) -> String {
    let first = verdict.witnesses.first();
    let sentence = first.map_or("", |witness| &witness.sentence);
    let cause = first.and_then(|witness| witness.cause.as_deref());
    let because = cause.map_or_else(String::new, |cause| format!(", because {cause}"));
    let property: Property = verdict.property;
    format!(
        "{property} is violated with seed {}: {sentence}{because}",
        plan.world.seed
    )
}

fn system(plan: &Plan) -> Table {
    let (system, mut table) = (&plan.system, Table::new());
    put(&mut table, "kind", system.kind);
    put(&mut table, "nodes", system.nodes);
    put(&mut table, "ttl", time(system.ttl));
    put(&mut table, "order", system.order);
    put(&mut table, "elapsed", system.elapsed);
    put(&mut table, "node-timeout", time(system.node_timeout));
    put(&mut table, "drift-ppm", system.drift_ppm);
    put(&mut table, "drift-constant", time(system.drift_constant));
    put(&mut table, "token", system.token);
    put(&mut table, "release", system.release);
    put(&mut table, "acquire", system.acquire);
    put(&mut table, "failed-attempt", system.failed_attempt);
    put(&mut table, "value", system.value);
    put(&mut table, "extend", system.extend);
    if system.extend_late {
        put(&mut table, "extend-late", true);
    }
    if let Some(failover) = &system.failover {
        let sentinel = &failover.sentinel;
        put(&mut table, "sentinels", sentinel.sentinels.len());
        put(&mut table, "down-after", time(sentinel.down_after));
        put(
            &mut table,
            "failover-timeout",
            time(sentinel.failover_timeout),
        );
        for (key, number) in [
            ("min-replicas", failover.min_replicas),
            ("wait", failover.wait),
        ] {
            if number > 0 {
                put(&mut table, key, number);
            }
        }
    }
    table
}

fn node(plan: &Plan) -> Table {
    let mut table = Table::new();
    put(&mut table, "persistence", plan.node.persistence);
    if plan.node.persistence == Persistence::Aof {
        put(&mut table, "fsync", plan.node.fsync);
    }
    table
}

fn client(client: &ClientPlan) -> Result<Table, Inexpressible> {
    let mut table = Table::new();
    let alike = client.rounds.windows(2).all(|pair| pair[0] == pair[1]);
    let round: &RoundPlan =
        client
            .rounds
            .first()
            .filter(|_| alike)
            .ok_or_else(|| Inexpressible::Rounds {
                client: client.name.clone(),
            })?;
    put(&mut table, "name", &client.name);
    put(&mut table, "start", time(client.start));
    put(&mut table, "rounds", client.rounds.len());
    put(&mut table, "think", time(round.think));
    put(&mut table, "hold", time(round.hold));
    put(&mut table, "retry", range(client.retry.0, client.retry.1));
    if let Some(tries) = client.tries {
        put(&mut table, "tries", tries);
    }
    if client.cancel_on_loss {
        put(&mut table, "cancel-on-loss", true);
    }
    Ok(table)
}

/// The name of a fault's table.
pub(super) fn family(fault: &Fault) -> &str {
    match fault.action.family() {
        "suspend" => "pause",
        family => family,
    }
}

fn fault(fault: &Fault) -> Table {
    let mut table = Table::new();
    match &fault.trigger {
        Trigger::At(at) => put(&mut table, "at", time(*at)),
        Trigger::On { event, nth, after } => {
            put(&mut table, "on", event.to_string());
            put(&mut table, "nth", *nth);
            put(&mut table, "after", time(*after));
        }
    }
    let heal = match &fault.action {
        Action::Crash { .. } => "down-for",
        _ => "for",
    };
    match &fault.heal {
        Heal::After(after) => put(&mut table, heal, time(*after)),
        Heal::On(event) => put(&mut table, "until", event.to_string()),
        Heal::Never => {}
    }
    action(&mut table, &fault.action);
    table
}

fn action(table: &mut Table, action: &Action) {
    match action {
        Action::Pause { host, suspend } => {
            put(table, "host", host);
            if *suspend {
                put(table, "suspend", true);
            }
        }
        Action::Crash {
            host,
            how,
            delayed_until,
        } => {
            put(table, "host", host);
            put(table, "how", how);
            if let Some(until) = delayed_until {
                put(table, "delayed-until", time(*until));
            }
        }
        Action::Partition {
            left,
            right,
            how,
            one_way,
        } => {
            put(table, "between", [left, right]);
            put(table, "how", how);
            if *one_way {
                put(table, "one-way", true);
            }
        }
        Action::Delay { left, right, extra } => {
            put(table, "between", [left, right]);
            put(table, "by", time(*extra));
        }
        Action::LatePacket { from, to, extra } => {
            put(table, "from", from);
            put(table, "to", to);
            put(table, "by", time(*extra));
        }
        Action::Reset { left, right } => put(table, "between", [left, right]),
        Action::ClockStep { host, by_ns } => {
            put(table, "host", host);
            put(table, "by", signed(*by_ns));
        }
        Action::ClockDrift { host, ppm } => {
            put(table, "host", host);
            put(table, "ppm", *ppm);
        }
        Action::ClockSlew { host, by_ns, ppm } => {
            put(table, "host", host);
            put(table, "by", signed(*by_ns));
            put(table, "ppm", *ppm);
        }
        Action::Operate {
            host,
            family,
            command,
        } => {
            put(table, "host", host);
            if family == "operate" {
                put(table, "command", command);
            }
        }
        Action::FsyncStall { host } => put(table, "host", host),
        // What a later version adds is refused when the file is read.
        _ => {}
    }
}

fn put(table: &mut Table, key: &str, value: impl Serialize) {
    let value = Value::try_from(value).expect("plans hold plain values");
    table.insert(key.to_owned(), value);
}

/// An empty list is a table that is left out.
fn tables(file: &mut Table, key: &str, tables: impl IntoIterator<Item = Table>) {
    let tables: Vec<Table> = tables.into_iter().collect();
    if !tables.is_empty() {
        put(file, key, tables);
    }
}

fn time(time: Duration) -> String {
    humantime::format_duration(time).to_string()
}

fn latency(latency: &LatencyPlan) -> Value {
    range(latency.min, latency.max)
}

fn range(least: Duration, most: Duration) -> Value {
    if least == most {
        time(least).into()
    } else {
        vec![time(least), time(most)].into()
    }
}
