//! Random faults: what a seed draws, and wrong `[swarm]` tables.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use expect_test::{Expect, expect};
use fencepost::plan::Plan;
use fencepost::scenario::{Hosts, Scenario, catalogue};
use fencepost_checker::history::Role;
use fencepost_world::plan::{Action, Fault, Heal, Trigger};
use fencepost_world::{EngineKind, World};
use sha2::{Digest, Sha256};

use crate::BASE;

const EVERYTHING: &str = r#"
[swarm]
during = ["1s", "9s"]
rates-ppm = [-7, 7]
[swarm.pause]
[swarm.suspend]
[swarm.crash]
[swarm.client-crash]
down-for = ["1s", "2s"]
[swarm.partition]
[swarm.delay]
[swarm.late-packet]
[swarm.reset]
[swarm.clock-step]
[swarm.clock-drift]
[swarm.clock-slew]
[swarm.evict]
[swarm.flush]
[swarm.fsync-stall]
"#;

fn text(swarm: &str) -> String {
    format!("heal-at = \"10s\"\n{BASE}{swarm}")
}

fn read(swarm: &str) -> Scenario {
    Scenario::parse("test", "test.toml", &text(swarm)).unwrap_or_else(|error| panic!("{error}"))
}

fn drawn(scenario: &Scenario, seeds: std::ops::Range<u64>) -> impl Iterator<Item = Vec<Fault>> {
    seeds.map(|seed| Plan::draw(scenario, seed).world.faults)
}

fn of_family<'a>(faults: &'a [Fault], family: &str) -> Vec<&'a Fault> {
    faults
        .iter()
        .filter(|fault| fault.action.family() == family)
        .collect()
}

#[test]
fn a_family_is_on_in_half_of_all_seeds_and_then_there_are_one_to_most_of_it() {
    let scenario = read(EVERYTHING);
    let mut on: BTreeMap<String, BTreeSet<u64>> = BTreeMap::new();
    let mut numbers: BTreeSet<usize> = BTreeSet::new();
    let mut crashes_of_clients = false;
    for (seed, faults) in (0..).zip(drawn(&scenario, 0..400)) {
        for fault in &faults {
            let family = fault.action.family().to_owned();
            on.entry(family).or_default().insert(seed);
        }
        numbers.insert(of_family(&faults, "pause").len());
        crashes_of_clients |= faults.iter().any(
            |fault| matches!(&fault.action, Action::Crash { host, .. } if host.starts_with('c')),
        );
    }
    assert_eq!(on.len(), 13, "{:?}", on.keys());
    assert!(crashes_of_clients);
    // 400 tosses of a coin are 150 to 250 in all but one of a million cases. Two families are crashes.
    for (family, seeds) in &on {
        let range = if family == "crash" {
            250..350
        } else {
            150..250
        };
        assert!(range.contains(&seeds.len()), "{family}: {}", seeds.len());
    }
    assert_eq!(numbers, (0..=4).collect());
    // One family does not hang on another.
    let both = on["pause"].intersection(&on["flush"]).count();
    assert!((60..140).contains(&both), "{both}");
}

#[test]
fn a_family_that_is_added_shifts_no_other() {
    let some = read("[swarm]\nduring = [\"1s\", \"9s\"]\n[swarm.pause]\n[swarm.flush]\n");
    let all = read(EVERYTHING);
    for (few, many) in drawn(&some, 0..50).zip(drawn(&all, 0..50)) {
        assert_eq!(of_family(&few, "pause"), of_family(&many, "pause"));
        assert_eq!(of_family(&few, "flush"), of_family(&many, "flush"));
    }
}

/// What is drawn is a world that can be built, on hosts that there are.
#[test]
fn every_fault_is_sound() {
    let scenario = read(EVERYTHING);
    for seed in 0..300 {
        let plan = Plan::draw(&scenario, seed);
        for fault in &plan.world.faults {
            sound(fault, scenario.hosts());
        }
        World::new(plan.world, EngineKind::Event).expect("the plan names hosts of the world");
    }
}

fn sound(fault: &Fault, hosts: &Hosts) {
    let (clients, nodes): (BTreeSet<_>, BTreeSet<_>) = (
        hosts.of(Role::Client).collect(),
        hosts.of(Role::Node).collect(),
    );
    let hit = fault.action.hosts();
    assert!(
        hit.iter()
            .all(|host| hosts.role(host).is_some() && *host != "probe"),
        "{fault:?}"
    );
    assert_eq!(
        hit.iter().collect::<BTreeSet<_>>().len(),
        hit.len(),
        "{fault:?}"
    );
    if let Trigger::At(at) = fault.trigger {
        assert!(
            (Duration::from_secs(1)..=Duration::from_secs(9)).contains(&at),
            "{fault:?}"
        );
    }
    match &fault.action {
        Action::Partition { left, right, .. }
        | Action::Delay { left, right, .. }
        | Action::Reset { left, right } => assert!(!left.is_empty() && !right.is_empty()),
        Action::LatePacket { from, to, .. } => {
            assert!(
                clients.contains(&**from) != clients.contains(&**to),
                "{fault:?}"
            );
        }
        Action::Operate { host, .. } | Action::FsyncStall { host } => {
            assert!(nodes.contains(&**host), "{fault:?}");
        }
        Action::Crash { host, .. } => {
            assert!(
                clients.contains(&**host) || nodes.contains(&**host),
                "{fault:?}"
            );
        }
        _ => {}
    }
    if let Action::Pause { .. } | Action::Partition { .. } = fault.action {
        let Heal::After(lasts) = fault.heal else {
            panic!("{fault:?}")
        };
        let range = Duration::from_millis(10)..=Duration::from_secs(40);
        assert!(range.contains(&lasts), "{fault:?}");
    }
}

/// Half of the faults strike at points of the protocol, of clients and of servers, and every such event can come.
#[test]
fn faults_are_aimed_at_the_protocol() {
    let scenario = read(EVERYTHING);
    let mut aims = BTreeSet::new();
    let (mut at, mut on) = (0, 0);
    for fault in drawn(&scenario, 0..300).flatten() {
        match fault.trigger {
            Trigger::At(_) => at += 1,
            Trigger::On { event, nth, .. } => {
                on += 1;
                assert!(nth >= 1);
                // Of a scenario file too it would be accepted.
                let pause = format!("\n[[pause]]\nhost = \"n1\"\nfor = \"1s\"\non = \"{event}\"\n");
                read(&pause);
                aims.insert(event.verb);
            }
        }
    }
    assert!(on > at / 2 && at > on / 2, "{on} on events, {at} at times");
    let wanted = [
        "trying",
        "acquired",
        "read",
        "wrote",
        "releasing",
        "applied",
        "replied",
    ];
    assert!(wanted.iter().all(|verb| aims.contains(*verb)), "{aims:?}");
}

#[test]
fn only_nodes_that_keep_nothing_wait_before_they_are_back() {
    let delayed = "[swarm]\nduring = [\"1s\", \"9s\"]\n[swarm.crash]\ndelayed-until = \"31s\"\n";
    let waits = |node: &str| {
        let scenario = read(&format!("{node}{delayed}"));
        drawn(&scenario, 0..40)
            .flatten()
            .map(|fault| match fault.action {
                Action::Crash { delayed_until, .. } => delayed_until,
                other => panic!("{other:?}"),
            })
            .collect::<BTreeSet<_>>()
    };
    assert_eq!(waits(""), BTreeSet::from([Some(Duration::from_secs(31))]));
    assert_eq!(
        waits("[node]\npersistence = \"aof\"\n"),
        BTreeSet::from([None])
    );
    assert_eq!(
        waits("[node]\npersistence = [\"none\", \"aof\"]\n").len(),
        2
    );
}

#[test]
fn rates_are_of_all_hosts_or_of_none() {
    let scenario = read(EVERYTHING);
    let mut runs = BTreeSet::new();
    for seed in 0..50 {
        let hosts = Plan::draw(&scenario, seed).world.hosts;
        assert!(hosts.iter().all(|host| (-7..=7).contains(&host.rate_ppm)));
        assert!(
            hosts
                .iter()
                .all(|host| host.name != "probe" || host.rate_ppm == 0)
        );
        runs.insert(hosts.iter().filter(|host| host.rate_ppm != 0).count() > 1);
    }
    assert_eq!(runs.len(), 2);
}

/// A seed must mean the same next year. If this changes, every seed that somebody wrote down means another run: say so in
/// the changelog.
#[test]
fn a_seed_means_the_same_as_before() {
    let scenario = read(EVERYTHING);
    let mut hasher = Sha256::new();
    for seed in 0..20 {
        let plan = serde_json::to_vec(&Plan::draw(&scenario, seed)).expect("a plan is data");
        hasher.update(plan);
    }
    expect!["1a6ca2e0a91c916bb7bd2642d66dced5010615030cf5f081e0e72ff957ab79df"]
        .assert_eq(&hex::encode(hasher.finalize()));
}

/// The catalogue's random scenarios exercise what they name.
#[test]
fn every_random_scenario_draws_faults_of_all_its_families() {
    for scenario in catalogue() {
        let Some(swarm) = &scenario.swarm else {
            continue;
        };
        let drawn: BTreeSet<_> = drawn(&scenario, 0..100)
            .flatten()
            .map(|fault| fault.action.family().to_owned())
            .collect();
        for family in &swarm.families {
            let name = family.name.strip_prefix("client-").unwrap_or(family.name);
            assert!(drawn.contains(name), "{}: {name}", scenario.name);
        }
    }
}

fn wrong(swarm: &str, expected: Expect) {
    let error = Scenario::parse("wrong", "wrong.toml", &text(swarm)).expect_err("this is wrong");
    expected.assert_eq(&format!("{error}\n"));
}

#[test]
fn a_family_that_there_is_not() {
    wrong(
        "[swarm]\nduring = \"1s\"\n[swarm.pauze]\n",
        expect![[r#"
        error: unknown key `pauze`
          --> wrong.toml:16:8
           |
        16 | [swarm.pauze]
           |        ^^^^^
           |
           = help: did you mean `pause`?
    "#]],
    );
}

#[test]
fn faults_after_the_heal() {
    wrong(
        "[swarm]\nduring = [\"1s\", \"11s\"]\n",
        expect![[r#"
        error: random faults need a later end of all faults
          --> wrong.toml:15:10
           |
        15 | during = ["1s", "11s"]
           |          ^^^^^^^^^^^^^
           |
           = help: set `heal-at`, no earlier than the end of `during`
    "#]],
    );
}

#[test]
fn a_host_that_the_family_cannot_hit() {
    wrong(
        "[swarm]\nduring = \"1s\"\n[swarm.evict]\nhosts = [\"n1\", \"c1\"]\n",
        expect![[r#"
            error: `evict` cannot hit `c1`
              --> wrong.toml:17:16
               |
            17 | hosts = ["n1", "c1"]
               |                ^^^^
        "#]],
    );
}

#[test]
fn a_host_alone_has_no_link() {
    wrong(
        "[swarm]\nduring = \"1s\"\n[swarm.delay]\nhosts = [\"n1\"]\n",
        expect![[r#"
            error: one host alone has no link
              --> wrong.toml:16:1
               |
            16 | [swarm.delay]
               | ^^^^^^^^^^^^^
        "#]],
    );
}

#[test]
fn no_hosts() {
    wrong(
        "[swarm]\nduring = \"1s\"\n[swarm.pause]\nhosts = []\n",
        expect![[r#"
            error: no hosts: leave the family out
              --> wrong.toml:17:9
               |
            17 | hosts = []
               |         ^^
        "#]],
    );
}

#[test]
fn more_faults_than_anybody_could_read() {
    wrong(
        "[swarm]\nduring = \"1s\"\n[swarm.pause]\nmost = 1001\n",
        expect![[r#"
            error: at most 1000 faults of a family, not 1001
              --> wrong.toml:17:8
               |
            17 | most = 1001
               |        ^^^^
        "#]],
    );
}

#[test]
fn no_way_to_crash() {
    wrong(
        "[swarm]\nduring = \"1s\"\n[swarm.crash]\nhow = []\n",
        expect![[r#"
            error: an empty list: leave it out for all of them
              --> wrong.toml:17:7
               |
            17 | how = []
               |       ^^
        "#]],
    );
}

#[test]
fn an_order_that_there_is_not() {
    wrong(
        "[node]\npersistence = [\"none\", \"rbd\"]\n",
        expect![[r#"
        error: unknown value `rbd`
          --> wrong.toml:15:24
           |
        15 | persistence = ["none", "rbd"]
           |                        ^^^^^
           |
           = help: the nearest known is `aof`; there are `none`, `aof`
    "#]],
    );
}

#[test]
fn nothing_to_choose_from() {
    wrong(
        "[node]\npersistence = []\n",
        expect![[r#"
        error: an empty list: there is nothing to choose
          --> wrong.toml:15:15
           |
        15 | persistence = []
           |               ^^
    "#]],
    );
}
