//! Settings: a value laid over a file is as if it stood there, in the scenario and in its flips.

use std::time::Duration;

use fencepost::EngineKind;
use fencepost::plan::Plan;
use fencepost::runner::Outcome;
use fencepost::scenario::{Fencing, Scenario};
use fencepost_checker::{Outcome as Came, Property};

fn find(name: &str) -> Scenario {
    Scenario::find(name).unwrap_or_else(|error| panic!("{error}"))
}

fn with(name: &str, settings: &[&str]) -> Scenario {
    find(name)
        .with(settings)
        .unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn a_setting_is_as_if_it_stood_in_the_file() {
    let set = with(
        "gc-pause",
        &["resource.fencing = \"token\"", "system.token=sequence"],
    );
    // The first flip of this scenario sets the same.
    let flip = find("gc-pause/flip-1");
    let (plan, expected) = (Plan::draw(&set, 3), Plan::draw(&flip, 3));
    assert_eq!(plan.world, expected.world);
    assert_eq!(plan.system, expected.system);
    let of = |scenario| Outcome::of(scenario, 3, EngineKind::Event).verdicts;
    assert_eq!(of(&set), of(&flip));
}

#[test]
fn a_later_setting_is_laid_over_an_earlier_one_and_lists_are_replaced() {
    let ttl = |scenario: &Scenario| Plan::draw(scenario, 1).system.ttl;
    let first = with("gc-pause", &["system.ttl=3s"]);
    assert_eq!(ttl(&first), Duration::from_secs(3));
    let second = first.with(&["system.ttl=4s"]).expect("it reads");
    assert_eq!(ttl(&second), Duration::from_secs(4));
    assert_eq!(second.settings.len(), 2);
    assert!(with("gc-pause", &["pause=[]"]).faults.is_empty());
}

#[test]
fn flips_take_part_and_names_tell_variants_apart() {
    let flip = with("gc-pause/flip-1", &["system.ttl=3s"]);
    assert_eq!(flip.resource.fencing(), Fencing::Token);
    assert_eq!(Plan::draw(&flip, 1).system.ttl, Duration::from_secs(3));
    let whole = with("gc-pause", &["system.ttl=3s"]);
    assert_eq!(whole.flips[0].scenario.name, flip.name);
    assert_ne!(whole.name, "gc-pause");
    assert_ne!(whole.name, with("gc-pause", &["system.ttl=4s"]).name);
    assert_eq!(whole.address(), "gc-pause");
    assert_eq!(flip.address(), "gc-pause/flip-1");
    // The text alone is the scenario.
    let again = Scenario::parse("again", "again.toml", &whole.text).expect("it reads");
    assert_eq!(Plan::draw(&again, 1).world, Plan::draw(&whole, 1).world);
}

#[test]
fn what_holds_without_the_fault_is_vacuous() {
    let outcome = Outcome::of(&with("gc-pause", &["pause=[]"]), 1, EngineKind::Event);
    let stale = outcome
        .verdicts
        .iter()
        .find(|verdict| verdict.property == Property::NoStaleWrite);
    assert_eq!(stale.map(|verdict| verdict.outcome), Some(Came::Vacuous));
}

#[test]
fn a_wrong_setting_is_told_with_its_place_or_with_what_a_setting_is() {
    let error = |setting: &str| {
        let wrong = find("gc-pause").with(&[setting]);
        wrong.expect_err("it is wrong").to_string()
    };
    let unknown = error("system.tll=3s");
    assert!(unknown.contains("system.tll = \"3s\"") && unknown.contains("did you mean `ttl`?"));
    for (setting, what) in [
        ("system.ttl", "sets nothing"),
        ("=3s", "no key"),
        ("a b=3s", "no key"),
        ("system.ttl\n[x]\na=1", "no key"),
        ("pause=[", "no value"),
    ] {
        let told = error(setting);
        assert!(told.contains(what) && told.contains("KEY=VALUE"), "{told}");
    }
    assert!(error("system.ttl=3s\n[[pause]]").contains("3s"));
}
