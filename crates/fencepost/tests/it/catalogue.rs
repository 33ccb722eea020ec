//! The scenarios that the crate brings along.

use fencepost::EngineKind;
use fencepost::expect::Standing;
use fencepost::runner::Outcome;
use fencepost::scenario::{Scenario, catalogue, embedded};

const NAMES: &[&str] = &[
    "bench/standard",
    "canary/wrong-expectation",
    "clock-drift-beyond",
    "clock-drift-within",
    "clock-jump",
    "clock-slew-chrony",
    "clock-slew-ntpd",
    "evicted-key",
    "extend-in-time",
    "extend-lua",
    "extend-missed-renewal",
    "extend-outpaused",
    "extend-partitioned",
    "extend-reset",
    "extend-set-xx",
    "external-api",
    "failed-attempt-del",
    "failover-default-timing",
    "failover-empty-primary",
    "failover-loses-lock",
    "flushed-node",
    "gc-pause",
    "gc-pause-failover",
    "gc-pause-fenced",
    "gc-pause-single",
    "holder-crash",
    "late-write",
    "late-write-fenced",
    "majority-down",
    "minority-down",
    "monotonic-clock-back",
    "one-way-partition",
    "partial-contention",
    "random/failover",
    "random/redlock",
    "random/redlock-fenced",
    "random/redlock-in-model",
    "random/single",
    "release-del",
    "release-get-del",
    "release-in-flight",
    "release-lua",
    "repeated-partitions",
    "replies-in-flight",
    "replies-in-flight-suspended",
    "reset-in-flight",
    "restart-all-five",
    "restart-delayed",
    "restart-delayed-clock-jump",
    "restart-everysec-kill",
    "restart-everysec-kill-during-fsync",
    "restart-everysec-power",
    "restart-fsync-always",
    "restart-shutdown",
    "restart-without-fsync",
    "setnx-then-expire",
    "single-down",
    "single-restart",
    "slow-majority",
    "slow-minority",
    "split-brain-renewal",
    "split-vote",
    "stalled-disk",
    "suspended-holder",
    "token-after-lock",
    "token-incr-failover",
    "transfer-fenced",
    "transfer-unfenced",
    "wall-clock-back",
];

#[test]
fn every_file_is_there_and_reads() {
    let names: Vec<_> = embedded().iter().map(|(name, _)| *name).collect();
    for name in NAMES {
        assert!(names.contains(name), "{name}");
        let scenario = Scenario::find(name).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(scenario.name, *name);
    }
}

#[test]
fn each_scenario_expects_something_and_proves_by_a_flip_that_it_tests_something() {
    for scenario in catalogue() {
        let name = &scenario.name;
        assert!(!scenario.name.starts_with("canary/"));
        // A benchmark claims nothing, and what was found by chance is there to be found again.
        if name.starts_with("bench/") || name.starts_with("regressions/") {
            continue;
        }
        assert!(!scenario.expect.properties.is_empty(), "{name}");
        let scripted = scenario.swarm.is_none();
        assert_eq!(scripted, !name.starts_with("random/"), "{name}");
        assert!(!scripted || !scenario.expect.facts.is_empty(), "{name}");
        assert!(!scenario.flips.is_empty(), "{name}");
        for (index, flip) in scenario.flips.iter().enumerate() {
            assert_eq!(flip.scenario.name, format!("{name}/flip-{}", index + 1));
            assert!(flip.why.is_some(), "{name}");
            let same = flip.scenario.expect == scenario.expect;
            // A second flip may show that a variant changes nothing.
            assert!(
                !same || index > 0,
                "{}: the flip expects what the scenario does",
                flip.scenario.name
            );
        }
    }
}

#[test]
fn flips_and_files_are_found_by_name_and_path() {
    let flip = Scenario::find("gc-pause/flip-1").expect("there is one");
    assert_eq!(flip.name, "gc-pause/flip-1");
    let path = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../scenarios/canary/wrong-expectation.toml"
    );
    if std::path::Path::new(path).exists() {
        assert_eq!(
            Scenario::find(path).expect("reads").name,
            "canary/wrong-expectation"
        );
    }
}

#[test]
fn an_unknown_name_gets_the_nearest_one() {
    let error = Scenario::find("gc-puase")
        .expect_err("a typing error")
        .to_string();
    expect_test::expect![[r#"
        error: there is no scenario `gc-puase`
         |
         = help: did you mean `gc-pause`?"#]]
    .assert_eq(&error);
    let error = Scenario::find("gc-pause/flip-9")
        .expect_err("there are fewer")
        .to_string();
    expect_test::expect![[r#"
        error: `gc-pause` has no flip 9
         |
         = help: it has 2"#]]
    .assert_eq(&error);
    let error = Scenario::find("nowhere/none.toml")
        .expect_err("no file")
        .to_string();
    expect_test::expect![
        "error: cannot read `nowhere/none.toml`: No such file or directory (os error 2)"
    ]
    .assert_eq(&error);
}

/// Three sentinels that stood for election in one instant, as those do whose timers keep step, would elect nobody, and
/// would not try again for six minutes.
#[test]
fn sentinels_elect_one_of_them_whatever_the_seed() {
    let scenario = Scenario::find("failover-loses-lock").expect("there is one");
    let split = (0..300).filter(|seed| {
        let outcome = Outcome::of(&scenario, *seed, EngineKind::Event);
        outcome.standing() != Standing::AsExpected
    });
    assert_eq!(split.collect::<Vec<_>>(), Vec::<u64>::new());
}
