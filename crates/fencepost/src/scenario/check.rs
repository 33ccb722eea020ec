//! From a file that is well-formed to a scenario that makes sense: names that exist, values that go together.

use std::collections::BTreeSet;
use std::ops::Range;
use std::time::Duration;

use fencepost_checker::history::{Crash as How, Cut, Role};
use fencepost_world::plan::EventPattern;
use toml::Spanned;

use super::error::{Problem, TextProblem};
use super::event::{Hosts, event};
use super::file::{
    Client, ClientCrash, ClockDrift, ClockSlew, ClockStep, Crash, Delay, Evict, File, Flush,
    FsyncStall, Kind, LatePacket, Operate, Partition, Pause, Persistence, Reset, System, Token,
    When,
};
use super::swarm::Swarm;
use super::value::Draw;
use super::{Action, Expect, Fault, Heal, Trigger};
use crate::fact::Fact;

type Checked<T> = Result<T, Problem>;

/// Names that hosts have without being declared.
const RESERVED: [&str; 2] = ["db", "seq"];

/// The client that tries alone after the heal.
pub(crate) const PROBE: &str = "probe";

/// The commands that stand for what happens to a lock's key within a node.
pub(super) const EVICT: [&str; 2] = ["EVICT", crate::workload::KEY];
pub(super) const FLUSH: [&str; 1] = ["FLUSHALL"];

/// The most nodes and clients of a scenario: far more than any claim needs, few enough to run.
const MOST: u32 = 99;

/// All hosts, in the order in which they act within one instant: clients, the probe, nodes, resource, sequence.
pub(super) fn hosts(file: &File) -> Checked<Hosts> {
    client_names(&file.client)?;
    let clients = file
        .client
        .iter()
        .map(|client| (client.name.get_ref().clone(), Role::Client));
    let nodes = (1..=nodes(file.system.get_ref())?).map(|n| (format!("n{n}"), Role::Node));
    let probe = file.heal_at.map(|_| (PROBE.to_owned(), Role::Client));
    let mut hosts: Vec<_> = clients.chain(probe).chain(nodes).collect();
    let sentinels = sentinels(file.system.get_ref())?;
    hosts.extend((1..=sentinels).map(|n| (format!("s{n}"), Role::Sentinel)));
    hosts.push(("db".into(), Role::Resource));
    if file.system.get_ref().token.is_sequence() {
        hosts.push(("seq".into(), Role::Sequence));
    }
    Ok(Hosts(hosts))
}

fn nodes(system: &System) -> Checked<u32> {
    let (nodes, span) = (system.nodes(), system.nodes_span().unwrap_or_default());
    match system.kind {
        Kind::Single if nodes != 1 => {
            let help = r#"leave `nodes` out, or use `kind = "redlock"`"#;
            Err(Problem::new(
                span,
                format!("`kind = \"single\"` has one node, not {nodes}"),
            )
            .help(help))
        }
        _ if nodes == 0 || nodes > MOST => Err(Problem::new(
            span,
            format!("{nodes} nodes: from 1 to {MOST} can be run"),
        )),
        _ => Ok(nodes),
    }
}

fn sentinels(system: &System) -> Checked<u32> {
    match (system.kind, system.failover_keys()) {
        (Kind::Failover, _) => {
            let span = system
                .sentinels
                .as_ref()
                .map(Spanned::span)
                .unwrap_or_default();
            match system.sentinels() {
                number @ 1..=MOST => Ok(number),
                number => Err(Problem::new(
                    span,
                    format!("{number} sentinels: from 1 to {MOST} can be run"),
                )),
            }
        }
        (_, Some((key, span))) => Err(Problem::new(span, format!("`{key}` needs sentinels"))
            .help(r#"use `kind = "failover"`, or leave it out"#)),
        (_, None) => Ok(0),
    }
}

fn client_names(clients: &[Client]) -> Checked<()> {
    let mut seen = BTreeSet::new();
    for Client { name, .. } in clients {
        let text = name.get_ref().as_str();
        if !well_formed(text) {
            let help = "a name is lower-case letters, digits and hyphens, and begins with a letter";
            return Err(
                Problem::new(name.span(), format!("`{text}` cannot name a client")).help(help),
            );
        }
        if text == PROBE {
            let message = "`probe` is the client that tries alone after `heal-at`";
            return Err(Problem::new(name.span(), message));
        }
        if RESERVED.contains(&text) || node_like(text) {
            return Err(Problem::new(
                name.span(),
                format!("`{text}` is the name of a server, not of a client"),
            ));
        }
        if !seen.insert(text) {
            return Err(Problem::new(
                name.span(),
                format!("a second client is called `{text}`"),
            ));
        }
    }
    Ok(())
}

fn well_formed(name: &str) -> bool {
    let inner = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    name.starts_with(|c: char| c.is_ascii_lowercase()) && name.chars().all(inner)
}

fn node_like(name: &str) -> bool {
    name.strip_prefix('n')
        .is_some_and(|rest| !rest.is_empty() && rest.chars().all(|c| c.is_ascii_digit()))
}

/// Everything but hosts, faults and expectations.
pub(super) fn settings(file: &File, hosts: &Hosts) -> Checked<()> {
    if file.client.is_empty() {
        return Err(
            Problem::new(file.system.span(), "a scenario needs a client")
                .help("add a table `[[client]]`"),
        );
    }
    if file.horizon.is_zero() {
        return Err(Problem::new(
            file.claim.span(),
            "a run with `horizon = \"0s\"` is over before it starts",
        ));
    }
    validity(file)?;
    tokens(file)?;
    file.client.iter().try_for_each(counts)?;
    places(file, hosts)
}

/// A TTL that its drift margin eats up can never be acquired: `redlock` refuses to be built with one.
fn validity(file: &File) -> Checked<()> {
    let system = file.system.get_ref();
    let ttl = system.ttl.min();
    let drift = ttl.saturating_mul(system.drift_ppm) / 1_000_000 + system.drift_constant;
    if ttl < Duration::from_millis(1) || ttl <= drift {
        let message =
            format!("a TTL of {ttl:?} leaves nothing once {drift:?} is taken off for drift");
        return Err(Problem::new(file.system.span(), message));
    }
    Ok(())
}

/// A probe that never comes to try shows nothing.
fn probe(file: &File) -> Checked<()> {
    let ttl = file.system.get_ref().ttl.max();
    match file.heal_at {
        Some(heal_at) if heal_at + ttl >= file.horizon => {
            let message = format!(
                "the probe tries a TTL after `heal-at`, at {:?}, and the run is over by {:?}",
                heal_at + ttl,
                file.horizon
            );
            Err(Problem::new(file.claim.span(), message).help("set a later `horizon`"))
        }
        _ => Ok(()),
    }
}

fn tokens(file: &File) -> Checked<()> {
    let system = file.system.get_ref();
    if system.token == Token::Incr && system.kind == Kind::Redlock {
        let help = r#"use `kind = "single"` or `kind = "failover"`, or `token = "sequence"`"#;
        let message =
            "`token = \"incr\"` counts at the server that has the lock, and `redlock` has many";
        return Err(Problem::new(file.system.span(), message).help(help));
    }
    match &file.resource.fencing {
        Some(fencing)
            if fencing.get_ref().checks() && file.system.get_ref().token == Token::None =>
        {
            let help = r#"set `system.token = "sequence"`"#;
            Err(Problem::new(
                fencing.span(),
                "the resource asks for tokens and the lock gives none",
            )
            .help(help))
        }
        _ => Ok(()),
    }
}

/// Keys that say how something is done which is not done at all.
///
/// Not for flips: they can take the thing away, but no key of the file.
pub(super) fn idle(file: &File) -> Checked<()> {
    if let Some(span) = file.system.get_ref().idle_extend_late() {
        let help = r#"set `system.extend = "lua"`, or leave `extend-late` out"#;
        return Err(Problem::new(span, "`extend-late` without any renewal").help(help));
    }
    probe(file)?;
    persistence(file)
}

fn persistence(file: &File) -> Checked<()> {
    match &file.node.fsync {
        Some(fsync) if file.node.persistence.is_always(Persistence::None) => {
            let help = r#"set `node.persistence = "aof"`, or leave `fsync` out"#;
            Err(Problem::new(fsync.span(), "`fsync` without anything to sync").help(help))
        }
        _ => Ok(()),
    }
}

fn counts(client: &Client) -> Checked<()> {
    at_least_one("rounds", Some(&client.rounds))?;
    at_least_one("tries", client.tries.as_ref())
}

fn at_least_one(key: &str, value: Option<&Spanned<u32>>) -> Checked<()> {
    match value {
        Some(value) if *value.get_ref() == 0 => {
            Err(Problem::new(value.span(), format!("`{key}` counts from 1")))
        }
        _ => Ok(()),
    }
}

fn places(file: &File, hosts: &Hosts) -> Checked<()> {
    let mut clocks = BTreeSet::new();
    for clock in &file.clock {
        known(&clock.host, hosts)?;
        if !clocks.insert(clock.host.get_ref()) {
            return Err(Problem::new(
                clock.host.span(),
                format!("a second clock for `{}`", clock.host.get_ref()),
            ));
        }
    }
    let mut links = BTreeSet::new();
    for link in &file.link {
        let (left, right) = &link.get_ref().between;
        let (a, b) = (known(left, hosts)?, known(right, hosts)?);
        if a == b || !links.insert((a.min(b), a.max(b))) {
            return Err(Problem::new(
                right.span(),
                format!("`{a}` and `{b}` are no two hosts, or have a link already"),
            ));
        }
    }
    Ok(())
}

fn known<'a>(host: &'a Spanned<String>, hosts: &Hosts) -> Checked<&'a str> {
    hosts.find(host.get_ref(), host.span())?;
    Ok(host.get_ref())
}

/// All faults, in the order of the file.
pub(super) fn faults(file: &File, hosts: &Hosts, source: &str) -> Checked<Vec<Fault>> {
    let scope = Scope { hosts, source };
    let mut faults: Vec<(usize, Fault)> = Vec::new();
    let found = &mut faults;
    scope.each(&file.pause, Pause::when, Scope::pause, found)?;
    scope.each(&file.crash, Crash::when, Scope::crash, found)?;
    scope.each(
        &file.client_crash,
        ClientCrash::when,
        Scope::client_crash,
        found,
    )?;
    scope.each(&file.partition, Partition::when, Scope::partition, found)?;
    scope.each(&file.delay, Delay::when, Scope::delay, found)?;
    scope.each(
        &file.late_packet,
        LatePacket::when,
        Scope::late_packet,
        found,
    )?;
    scope.each(&file.reset, Reset::when, Scope::reset, found)?;
    scope.each(&file.clock_step, ClockStep::when, Scope::clock_step, found)?;
    scope.each(
        &file.clock_drift,
        ClockDrift::when,
        Scope::clock_drift,
        found,
    )?;
    scope.each(&file.clock_slew, ClockSlew::when, Scope::clock_slew, found)?;
    scope.each(&file.evict, Evict::when, Scope::evict, found)?;
    scope.each(&file.flush, Flush::when, Scope::flush, found)?;
    scope.each(&file.operate, Operate::when, Scope::command, found)?;
    scope.each(
        &file.fsync_stall,
        FsyncStall::when,
        Scope::fsync_stall,
        found,
    )?;
    faults.sort_by_key(|(place, _)| *place);
    Ok(faults.into_iter().map(|(_, fault)| fault).collect())
}

/// Two groups of hosts, as a file gives them.
type Groups = Spanned<(Vec<Spanned<String>>, Vec<Spanned<String>>)>;

#[derive(Clone, Copy)]
struct Scope<'a> {
    hosts: &'a Hosts,
    source: &'a str,
}

impl Scope<'_> {
    fn each<T>(
        self,
        tables: &[Spanned<T>],
        when: fn(&T) -> When,
        action: fn(Self, &T) -> Checked<(Action, Heal)>,
        faults: &mut Vec<(usize, Fault)>,
    ) -> Checked<()> {
        for table in tables {
            let trigger = self.trigger(when(table.get_ref()), table.span())?;
            let (action, heal) = action(self, table.get_ref())?;
            faults.push((
                table.span().start,
                Fault {
                    trigger,
                    action,
                    heal,
                },
            ));
        }
        Ok(())
    }

    fn trigger(self, when: When, table: Range<usize>) -> Checked<Trigger> {
        match when {
            When {
                at: Some(at),
                on: None,
                nth: None,
                after: None,
            } => Ok(Trigger::At(at.into_inner())),
            When {
                at: None,
                on: Some(on),
                nth,
                after,
            } => {
                at_least_one("nth", nth.as_ref())?;
                let after = after.map_or(Draw::fixed(Duration::ZERO), Spanned::into_inner);
                Ok(Trigger::On {
                    event: self.event(&on)?,
                    nth: nth.map_or(1, Spanned::into_inner),
                    after,
                })
            }
            When {
                at: Some(_),
                on: Some(on),
                ..
            } => Err(Problem::new(
                on.span(),
                "`on` beside `at`: a fault has one of them",
            )),
            When {
                at: Some(_),
                nth: Some(nth),
                ..
            } => Err(Problem::new(nth.span(), "`nth` needs an event, `on`")),
            When {
                at: Some(_),
                after: Some(after),
                ..
            } => Err(Problem::new(after.span(), "`after` needs an event, `on`")),
            _ => Err(
                Problem::new(table, "when? the fault has neither `at` nor `on`")
                    .help(r#"such as `at = "2s"` or `on = "c1 acquired"`"#),
            ),
        }
    }

    fn event(self, text: &Spanned<String>) -> Checked<EventPattern> {
        event(text.get_ref(), self.hosts).map_err(|problem| problem.locate(text, self.source))
    }

    fn host(self, host: &Spanned<String>) -> Checked<String> {
        known(host, self.hosts).map(str::to_owned)
    }

    /// A host of that role.
    fn host_of(self, host: &Spanned<String>, wanted: Role, what: &str) -> Checked<String> {
        if self.hosts.find(host.get_ref(), host.span())? == wanted {
            return Ok(host.get_ref().clone());
        }
        let message = format!("`{}` is not a {what}", host.get_ref());
        let known: Vec<&str> = self.hosts.of(wanted).collect();
        Err(Problem::new(host.span(), message).help(format!("there are {}", known.join(", "))))
    }

    fn pause(self, pause: &Pause) -> Checked<(Action, Heal)> {
        let suspend = pause.suspend.unwrap_or(false);
        Ok((
            Action::Pause {
                host: self.host(&pause.host)?,
                suspend,
            },
            Heal::After(pause.r#for),
        ))
    }

    fn crash(self, crash: &Crash) -> Checked<(Action, Heal)> {
        if let (Some(delayed), None) = (&crash.delayed_until, &crash.down_for) {
            return Err(Problem::new(
                delayed.span(),
                "`delayed-until` without `down-for`: when is it started?",
            ));
        }
        let delayed_until = crash
            .delayed_until
            .as_ref()
            .map(|delayed| *delayed.get_ref());
        let action = Action::Crash {
            host: self.host(&crash.host)?,
            how: crash.how,
            delayed_until,
        };
        Ok((action, crash.down_for.map_or(Heal::Never, Heal::After)))
    }

    fn client_crash(self, crash: &ClientCrash) -> Checked<(Action, Heal)> {
        let host = self.host_of(&crash.host, Role::Client, "client")?;
        let action = Action::Crash {
            host,
            how: How::Kill,
            delayed_until: None,
        };
        Ok((action, crash.down_for.map_or(Heal::Never, Heal::After)))
    }

    fn partition(self, partition: &Partition) -> Checked<(Action, Heal)> {
        let (left, right) = self.groups(&partition.between)?;
        let heal = self.heal(partition.r#for.as_ref(), partition.until.as_ref())?;
        let one_way = partition
            .one_way
            .as_ref()
            .is_some_and(|one_way| *one_way.get_ref());
        match &partition.one_way {
            Some(place) if one_way && partition.how != Cut::Drop => Err(Problem::new(
                place.span(),
                "a one-way partition loses messages: it needs `how = \"drop\"`",
            )),
            _ => Ok((
                Action::Partition {
                    left,
                    right,
                    how: partition.how,
                    one_way,
                },
                heal,
            )),
        }
    }

    fn delay(self, delay: &Delay) -> Checked<(Action, Heal)> {
        let (left, right) = self.groups(&delay.between)?;
        let heal = self.heal(delay.r#for.as_ref(), delay.until.as_ref())?;
        Ok((
            Action::Delay {
                left,
                right,
                extra: delay.by,
            },
            heal,
        ))
    }

    fn late_packet(self, late: &LatePacket) -> Checked<(Action, Heal)> {
        let (from, to) = (self.host(&late.from)?, self.host(&late.to)?);
        if from == to {
            return Err(Problem::new(
                late.to.span(),
                format!("`{to}` sends no message to itself"),
            ));
        }
        Ok((
            Action::LatePacket {
                from,
                to,
                extra: late.by,
            },
            Heal::Never,
        ))
    }

    fn reset(self, reset: &Reset) -> Checked<(Action, Heal)> {
        let (left, right) = self.groups(&reset.between)?;
        Ok((Action::Reset { left, right }, Heal::Never))
    }

    fn clock_step(self, step: &ClockStep) -> Checked<(Action, Heal)> {
        Ok((
            Action::ClockStep {
                host: self.host(&step.host)?,
                by: step.by,
            },
            Heal::Never,
        ))
    }

    fn clock_drift(self, drift: &ClockDrift) -> Checked<(Action, Heal)> {
        let action = Action::ClockDrift {
            host: self.host(&drift.host)?,
            ppm: drift.ppm,
        };
        Ok((action, drift.r#for.map_or(Heal::Never, Heal::After)))
    }

    fn clock_slew(self, slew: &ClockSlew) -> Checked<(Action, Heal)> {
        Ok((
            Action::ClockSlew {
                host: self.host(&slew.host)?,
                by: slew.by,
                ppm: slew_rate(&slew.ppm)?,
            },
            Heal::Never,
        ))
    }

    fn operate(
        self,
        host: &Spanned<String>,
        family: &'static str,
        command: &[impl ToString],
    ) -> Checked<(Action, Heal)> {
        let host = self.host_of(host, Role::Node, "node")?;
        let command = command.iter().map(|word| word.to_string()).collect();
        Ok((
            Action::Operate {
                host,
                family,
                command,
            },
            Heal::Never,
        ))
    }

    fn evict(self, evict: &Evict) -> Checked<(Action, Heal)> {
        self.operate(&evict.host, "evict", &EVICT)
    }

    fn flush(self, flush: &Flush) -> Checked<(Action, Heal)> {
        self.operate(&flush.host, "flush", &FLUSH)
    }

    fn command(self, operate: &Operate) -> Checked<(Action, Heal)> {
        let command = operate.command.get_ref();
        if command.is_empty() {
            return Err(Problem::new(operate.command.span(), "an empty command"));
        }
        self.operate(&operate.host, "operate", command)
    }

    fn fsync_stall(self, stall: &FsyncStall) -> Checked<(Action, Heal)> {
        let host = self.host_of(&stall.host, Role::Node, "node")?;
        Ok((Action::FsyncStall { host }, Heal::After(stall.r#for)))
    }

    fn groups(self, between: &Groups) -> Checked<(Vec<String>, Vec<String>)> {
        let (left, right) = between.get_ref();
        if left.is_empty() || right.is_empty() {
            return Err(Problem::new(between.span(), "one side is empty"));
        }
        let mut seen = BTreeSet::new();
        for host in left.iter().chain(right) {
            if !seen.insert(known(host, self.hosts)?) {
                return Err(Problem::new(
                    host.span(),
                    format!("`{}` stands here twice", host.get_ref()),
                )
                .help("a host is on one side"));
            }
        }
        let names =
            |side: &[Spanned<String>]| side.iter().map(|host| host.get_ref().clone()).collect();
        Ok((names(left), names(right)))
    }

    fn heal(
        self,
        lasts: Option<&Spanned<Draw<Duration>>>,
        until: Option<&Spanned<String>>,
    ) -> Checked<Heal> {
        match (lasts, until) {
            (Some(_), Some(until)) => Err(Problem::new(
                until.span(),
                "`until` beside `for`: a fault ends once",
            )),
            (Some(lasts), None) => Ok(Heal::After(*lasts.get_ref())),
            (None, Some(until)) => Ok(Heal::On(self.event(until)?)),
            (None, None) => Ok(Heal::Never),
        }
    }
}

/// A rate at which a clock can be slewed, in parts per million.
pub(super) fn slew_rate(ppm: &Spanned<u32>) -> Checked<u32> {
    match *ppm.get_ref() {
        rate @ 1..1_000_000 => Ok(rate),
        rate => Err(
            Problem::new(ppm.span(), format!("{rate} ppm is no rate to slew at"))
                .help("ntpd slews at 500 ppm, chrony at 83333 by default"),
        ),
    }
}

/// Random faults: families and their ranges.
pub(super) fn swarm(file: &File, hosts: &Hosts) -> Checked<Option<Swarm>> {
    let Some(table) = &file.swarm else {
        return Ok(None);
    };
    let during = &table.during;
    match file.heal_at {
        Some(heal_at) if during.get_ref().max() <= heal_at => table.check(hosts).map(Some),
        _ => Err(Problem::new(
            during.span(),
            "random faults need a later end of all faults",
        )
        .help("set `heal-at`, no earlier than the end of `during`")),
    }
}

/// What is expected: names of properties, and facts.
pub(super) fn expect(file: &File, hosts: &Hosts, source: &str) -> Checked<Expect> {
    let mut expect = Expect {
        min_schedules: min_schedules(file)?,
        ..Expect::default()
    };
    for (name, expectation) in &file.expect.properties {
        let property = crate::expect::property(name.get_ref()).ok_or_else(|| {
            let known = crate::expect::property_names().chain(["facts", "min-schedules"]);
            Problem::unknown(name.span(), "property", name.get_ref(), known)
        })?;
        expect.properties.insert(property, *expectation);
    }
    for text in &file.expect.facts {
        if expect.min_schedules.is_some() {
            return Err(Problem {
                help: Some("leave out the facts, or `[swarm]` and `min-schedules`".to_owned()),
                ..Problem::new(
                    text.span(),
                    "a random scenario has no facts: they speak of what happens in every schedule",
                )
            });
        }
        let locate = |problem: TextProblem| problem.locate(text, source);
        expect
            .facts
            .push(Fact::parse(text.get_ref(), hosts).map_err(locate)?);
    }
    Ok(expect)
}

/// A scenario with random faults is a random one even if it does not say from how many schedules on it is judged.
fn min_schedules(file: &File) -> Checked<Option<u64>> {
    match &file.expect.min_schedules {
        Some(few) if *few.get_ref() == 0 => Err(Problem::new(
            few.span(),
            "from 1 schedule on at least, not 0",
        )),
        Some(number) => Ok(Some(*number.get_ref())),
        None => Ok(file.swarm.is_some().then_some(1)),
    }
}
