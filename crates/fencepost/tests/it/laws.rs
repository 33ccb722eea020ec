//! Laws of reading and drawing.

use std::time::Duration;

use fencepost::plan::Plan;
use fencepost::scenario::{Fencing, Scenario, Token, embedded};
use fencepost_world::plan::{Action, Heal, Trigger};
use proptest::prelude::*;

use crate::BASE;

fn read(extra: &str) -> Scenario {
    Scenario::parse("test", "test.toml", &format!("{BASE}{extra}"))
        .unwrap_or_else(|error| panic!("{error}"))
}

proptest! {
    #[test]
    fn no_text_makes_the_reader_panic(text in ".{0,200}") {
        if let Err(error) = Scenario::parse("test", "test.toml", &text) {
            prop_assert!(!error.to_string().is_empty());
        }
    }

    /// Errors in the middle of real files: most are wrong in one place only, so that every message is reached.
    #[test]
    fn no_damage_to_a_scenario_makes_the_reader_panic(
        file in 0..embedded().len(),
        at in any::<prop::sample::Index>(),
        length in 0..12_usize,
        put in "[\\PC\r\n\t\u{0}\"\\[\\]=.{}]{0,8}",
    ) {
        let text: Vec<char> = embedded()[file].1.chars().collect();
        let start = at.index(text.len());
        let end = (start + length).min(text.len());
        let damaged: String = text[..start].iter().copied().chain(put.chars()).chain(text[end..].iter().copied()).collect();
        if let Err(error) = Scenario::parse("test", "test.toml", &damaged) {
            let shown = error.to_string();
            prop_assert!(shown.contains("test.toml:"), "no place: {shown}");
        }
    }

    #[test]
    fn every_draw_is_in_its_range(seed: u64) {
        let scenario = read(r#"
[[pause]]
host = "c1"
at = ["1s", "2s"]
for = ["5s", "40s"]

[[clock-step]]
host = "n1"
on = "c1 acquired"
by = ["-10s", "10s"]
after = ["0ms", "7ns"]
"#);
        let plan = Plan::draw(&scenario, seed);
        let Trigger::At(at) = plan.world.faults[0].trigger else { panic!("at a time") };
        prop_assert!((Duration::from_secs(1)..=Duration::from_secs(2)).contains(&at));
        let Heal::After(lasts) = plan.world.faults[0].heal else { panic!("it ends") };
        prop_assert!((Duration::from_secs(5)..=Duration::from_secs(40)).contains(&lasts));
        let Action::ClockStep { by_ns, .. } = plan.world.faults[1].action else { panic!("a step") };
        prop_assert!((-10_000_000_000..=10_000_000_000).contains(&by_ns));
        let Trigger::On { after, .. } = plan.world.faults[1].trigger else { panic!("on an event") };
        prop_assert!(after <= Duration::from_nanos(7));
    }

    /// A value that is added, widened or taken away shifts no other.
    #[test]
    fn a_draw_does_not_shift_another(seed: u64) {
        let pause = "\n[[pause]]\nhost = \"c1\"\non = \"c1 read\"\nfor = [\"5s\", \"40s\"]\n";
        let alone = Plan::draw(&read(pause), seed);
        let more = format!("{pause}\n[[crash]]\nhost = \"n1\"\nhow = \"kill\"\nat = [\"1s\", \"9s\"]\n\n[[clock]]\nhost = \"n2\"\nrate-ppm = [-9, 9]\n");
        let beside = Plan::draw(&read(&more), seed);
        prop_assert_eq!(&alone.world.faults[0], &beside.world.faults[0]);
        prop_assert_eq!(alone.clients, beside.clients);
        prop_assert_eq!(alone.system, beside.system);
    }

    #[test]
    fn a_plan_is_a_function_of_scenario_and_seed_and_survives_json(seed: u64) {
        let scenario = Scenario::find("release-lua").expect("in the catalogue");
        let plan = Plan::draw(&scenario, seed);
        let json = serde_json::to_string(&plan).expect("serialises");
        prop_assert_eq!(&serde_json::from_str::<Plan>(&json).expect("reads"), &plan);
        prop_assert_eq!(Plan::draw(&scenario, seed), plan);
    }
}

/// A seed must mean the same next year.
#[test]
fn a_seed_means_what_it_meant() {
    let scenario = read("\n[[pause]]\nhost = \"c1\"\non = \"c1 read\"\nfor = [\"5s\", \"40s\"]\n");
    let lasts = |seed| match Plan::draw(&scenario, seed).world.faults[0].heal {
        Heal::After(lasts) => lasts,
        _ => panic!("it ends"),
    };
    expect_test::expect!["32.351954451s 11.707053145s 14.129856718s"].assert_eq(&format!(
        "{:?} {:?} {:?}",
        lasts(0),
        lasts(1),
        lasts(2)
    ));
}

#[test]
fn faults_stand_in_the_order_of_the_file() {
    let scenario = read(concat!(
        "\n[[crash]]\nhost = \"n1\"\nhow = \"kill\"\nat = \"1s\"\n",
        "\n[[pause]]\nhost = \"c1\"\nat = \"2s\"\nfor = \"1s\"\n",
        "\n[[crash]]\nhost = \"n2\"\nhow = \"power\"\nat = \"3s\"\n",
    ));
    let plan = Plan::draw(&scenario, 0);
    let families: Vec<_> = plan
        .world
        .faults
        .iter()
        .map(|fault| fault.action.family())
        .collect();
    assert_eq!(families, ["crash", "pause", "crash"]);
}

#[test]
fn a_flip_merges_tables_and_replaces_the_rest() {
    let scenario = read(
        r#"
[resource]
fencing = "none"

[[pause]]
host = "c1"
on = "c1 read"
for = "35s"

[expect]
mutual-exclusion = "holds"
no-stale-write = "violated"
facts = ["c1 acquired"]

[[flip]]
set = { resource.fencing = "token", system.token = "sequence", system.ttl = "20s" }
expect = { no-stale-write = "holds" }

[[flip]]
set = { pause = [] }
facts = []
"#,
    );
    let first = &scenario.flips[0].scenario;
    assert_eq!(
        (first.resource.fencing(), first.system.token),
        (Fencing::Token, Token::Sequence)
    );
    assert_eq!(first.system.nodes(), 5);
    assert_eq!(first.faults, scenario.faults);
    assert_eq!(first.expect.facts, scenario.expect.facts);
    assert_eq!(first.expect.properties.len(), 2);
    assert_ne!(first.expect.properties, scenario.expect.properties);
    assert!(first.hosts().role("seq").is_some() && scenario.hosts().role("seq").is_none());
    let second = &scenario.flips[1].scenario;
    assert!(second.faults.is_empty() && second.expect.facts.is_empty());
    assert_eq!(second.expect.properties, scenario.expect.properties);
}
