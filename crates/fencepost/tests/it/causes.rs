//! The causes in the verdicts name the right host and what happened to it, in every scenario that breaks something.

use std::collections::BTreeSet;

use fencepost::EngineKind;
use fencepost::expect::Property;
use fencepost::runner::Outcome;
use fencepost::scenario::{Expectation, Scenario, scripted};

use Property::{
    DeadlockFree, EveryKeyExpires, ExclusiveAccess, FencingMonotonic, MutualExclusion,
    NoLostUpdate, NoStaleWrite, OwnerOnlyRelease,
};

/// The words that the cause of a violation must have: by what the scenario does to whom, not by what came out.
const CAUSES: &[(&str, &[Property], &[&str])] = &[
    (
        "clock-drift-beyond",
        &[MutualExclusion, ExclusiveAccess],
        &["n3", "fast", "20000 ppm", "expired early"],
    ),
    (
        "clock-jump",
        &[MutualExclusion, ExclusiveAccess],
        &["n3", "stepped forward by 30", "expired early"],
    ),
    (
        "clock-slew-chrony",
        &[MutualExclusion, ExclusiveAccess],
        &["n3", "fast by 83333 ppm", "clock-slew", "expired early"],
    ),
    (
        "evicted-key",
        &[MutualExclusion, ExclusiveAccess, NoStaleWrite],
        &["n3 dropped the key of c1", "evict"],
    ),
    (
        "extend-outpaused",
        &[ExclusiveAccess],
        &["c1 was stopped for 35"],
    ),
    (
        "extend-set-xx",
        &[MutualExclusion],
        &["c1 overwrote the key of c2", "SET"],
    ),
    (
        "extend-set-xx",
        &[ExclusiveAccess, OwnerOnlyRelease],
        &["c1 was stopped for 36"],
    ),
    (
        "external-api",
        &[ExclusiveAccess, NoStaleWrite],
        &["c1 was stopped for 35"],
    ),
    (
        "failed-attempt-del",
        &[MutualExclusion, ExclusiveAccess],
        &[
            "c2",
            "own attempt had failed",
            "deleted the key of c1",
            "DEL",
        ],
    ),
    (
        "failed-attempt-del",
        &[OwnerOnlyRelease],
        &["c2", "own attempt had failed"],
    ),
    (
        "failover-empty-primary",
        &[MutualExclusion, ExclusiveAccess],
        &["n1 was killed", "without the key of c1"],
    ),
    (
        "failover-loses-lock",
        &[MutualExclusion, ExclusiveAccess],
        &[
            "n2 was promoted without the key of c1",
            "n1 had not replicated",
        ],
    ),
    (
        "flushed-node",
        &[MutualExclusion, ExclusiveAccess, NoStaleWrite],
        &["n3", "key of c1", "flush"],
    ),
    (
        "gc-pause",
        &[ExclusiveAccess, NoStaleWrite],
        &["c1 was stopped for 35"],
    ),
    (
        "gc-pause-failover",
        &[ExclusiveAccess, NoStaleWrite],
        &["c1 was stopped for 35"],
    ),
    (
        "gc-pause-fenced",
        &[ExclusiveAccess],
        &["c1 was stopped for 35"],
    ),
    (
        "gc-pause-single",
        &[ExclusiveAccess, NoStaleWrite],
        &["c1 was stopped for 35"],
    ),
    (
        "late-write",
        &[NoStaleWrite],
        &["from c1 to db", "late-packet"],
    ),
    (
        "partial-contention",
        &[MutualExclusion, ExclusiveAccess],
        &["n3 lost power", "without the key of c1"],
    ),
    (
        "release-del",
        &[MutualExclusion],
        &["c1 deleted the key of c2", "DEL"],
    ),
    (
        "release-del",
        &[ExclusiveAccess, OwnerOnlyRelease],
        &["c1 was stopped for 35"],
    ),
    (
        "release-get-del",
        &[MutualExclusion, ExclusiveAccess],
        &["c1 deleted the key of c2", "DEL"],
    ),
    (
        "release-get-del",
        &[OwnerOnlyRelease],
        &["c1 was stopped for 35", "called release"],
    ),
    (
        "replies-in-flight-suspended",
        &[MutualExclusion, ExclusiveAccess],
        &["c1's monotonic clock stood still for 35"],
    ),
    (
        "restart-delayed-clock-jump",
        &[MutualExclusion, ExclusiveAccess],
        &["n3 lost power", "stepped forward by 30"],
    ),
    (
        "restart-everysec-kill-during-fsync",
        &[MutualExclusion, ExclusiveAccess, NoStaleWrite],
        &["n3 was killed", "without the key of c1"],
    ),
    (
        "restart-everysec-power",
        &[MutualExclusion, ExclusiveAccess, NoStaleWrite],
        &["n3 lost power", "without the key of c1"],
    ),
    (
        "restart-without-fsync",
        &[MutualExclusion, ExclusiveAccess, NoStaleWrite],
        &["n3 lost power", "without the key of c1"],
    ),
    (
        "setnx-then-expire",
        &[DeadlockFree],
        &["key of c1", "no expiry", "n1"],
    ),
    ("setnx-then-expire", &[EveryKeyExpires], &["c1 died"]),
    (
        "single-restart",
        &[MutualExclusion, ExclusiveAccess, NoStaleWrite],
        &["n1 was killed", "without the key of c1"],
    ),
    (
        "split-brain-renewal",
        &[MutualExclusion, ExclusiveAccess],
        &[
            "n2 was promoted while n1 went on as a primary",
            "c1 renewed",
        ],
    ),
    (
        "suspended-holder",
        &[MutualExclusion, ExclusiveAccess, NoStaleWrite],
        &["c1's monotonic clock stood still for"],
    ),
    (
        "token-after-lock",
        &[ExclusiveAccess, NoStaleWrite],
        &["c1 was stopped for 35"],
    ),
    (
        "token-after-lock",
        &[FencingMonotonic],
        &[
            "c1 was stopped for 35",
            "between its decision and its token",
        ],
    ),
    (
        "token-incr-failover",
        &[FencingMonotonic],
        &["n2 was promoted", "what n1 had counted for c1"],
    ),
    (
        "token-incr-failover",
        &[MutualExclusion, NoStaleWrite],
        &[
            "n2 was promoted without the key of c1",
            "n1 had not replicated",
        ],
    ),
    (
        "transfer-fenced",
        &[ExclusiveAccess],
        &["c1 was stopped for 35"],
    ),
    (
        "transfer-unfenced",
        &[ExclusiveAccess, NoStaleWrite, NoLostUpdate],
        &["c1 was stopped for 35"],
    ),
    (
        "regressions/evicted-while-the-disk-stalled",
        &[MutualExclusion],
        &["dropped the key of c2 (evict)"],
    ),
    (
        "wall-clock-back",
        &[MutualExclusion, ExclusiveAccess, NoStaleWrite],
        &["c1's wall clock stepped back by 10"],
    ),
];

#[test]
fn every_violation_has_the_cause_that_its_scenario_is_about() {
    let mut wrong = String::new();
    let mut violations = BTreeSet::new();
    for scenario in scripted() {
        let violated = violated(&scenario);
        if violated.is_empty() {
            continue;
        }
        let seed = scenario.seed.unwrap_or(1);
        let outcome = Outcome::of(&scenario, seed, EngineKind::Event);
        for property in violated {
            violations.insert((scenario.name.clone(), property.name()));
            let cause = cause(&outcome, property);
            let Some(words) = words(&scenario.name, property) else {
                wrong += &format!(
                    "{}, {property} has no line here: {cause:?}\n",
                    scenario.name
                );
                continue;
            };
            let told = cause.as_deref().unwrap_or_default();
            if words.iter().any(|word| !told.contains(word)) {
                wrong += &format!(
                    "{}, {property}: {words:?}\n    in: {cause:?}\n",
                    scenario.name
                );
            }
        }
    }
    for (scenario, properties, _) in CAUSES {
        for property in *properties {
            if !violations.contains(&((*scenario).to_owned(), property.name())) {
                wrong += &format!("{scenario}, {property} is not expected to be violated\n");
            }
        }
    }
    assert!(wrong.is_empty(), "\n{wrong}");
}

fn violated(scenario: &Scenario) -> Vec<Property> {
    let expected = scenario.expect.properties.iter();
    expected
        .filter(|(_, expectation)| **expectation == Expectation::Violated)
        .map(|(property, _)| *property)
        .collect()
}

fn words(scenario: &str, property: Property) -> Option<&'static [&'static str]> {
    let line = CAUSES
        .iter()
        .find(|(name, properties, _)| *name == scenario && properties.contains(&property))?;
    Some(line.2)
}

fn cause(outcome: &Outcome, property: Property) -> Option<String> {
    let mut verdicts = outcome.verdicts.iter();
    let verdict = verdicts.find(|verdict| verdict.property == property)?;
    verdict.witnesses.first()?.cause.clone()
}
