//! Scenarios as tests: another fencing, other faults, other expectations, and what a failure says.

use fencepost::Expectation::{Any, Holds, Violated};
use fencepost::Property::{BoundedCall, ExclusiveAccess, MutualExclusion, NoStaleWrite};
use fencepost::bundle::Bundle;
use fencepost::{EngineKind, Experiment, Failure, Faults, Fencing, scenario};
use fencepost_checker::Outcome as Came;

fn failing(experiment: Experiment) -> Failure {
    experiment.check().expect_err("it must not come out so")
}

#[test]
fn redlock_alone_does_not_survive_long_pauses_and_fencing_does() {
    let pauses = scenario("gc-pause").schedules(40);
    let totals = pauses.clone().expect(NoStaleWrite, Violated).run();
    assert_eq!(totals.schedules, 40);
    assert_eq!(totals.properties[&NoStaleWrite].tally.violated, 40);
    pauses
        .clone()
        .fencing(Fencing::Token)
        .expect(NoStaleWrite, Holds)
        .expect(ExclusiveAccess, Violated)
        .run();
    // What the file expects, if nothing is expected here.
    pauses.run();
}

#[test]
fn a_failure_says_what_came_out_and_why_and_how_to_see_it_again() {
    let failure = failing(
        scenario("gc-pause")
            .schedules(5)
            .expect(NoStaleWrite, Holds)
            .expect(MutualExclusion, Holds),
    );
    assert_eq!(failure.seed, Some(0));
    let text = failure.to_string();
    for needed in [
        "gc-pause: otherwise with seed 0",
        "no-stale-write: expected holds, came out violated",
        "because c1 was stopped for 35.000 s",
        "shrunk by no-stale-write from 1 faults to 1",
        "pause of c1, on `c1 read`, for ",
        "FENCEPOST_SEED=0 FENCEPOST_SCHEDULES=1 cargo test --release -p fencepost -- --exact \
         experiment::a_failure_says_what_came_out_and_why_and_how_to_see_it_again",
        &failure.digest.expect("one run failed").to_string(),
    ] {
        assert!(text.contains(needed), "`{needed}` is not in\n{text}");
    }
    assert!(!text.contains("mutual-exclusion:"), "{text}");
    let folder = failure.bundle.expect("it was written");
    assert!(text.contains(&folder.display().to_string()));
    let bundle = Bundle::read(&folder).expect("it reads");
    assert_eq!(bundle.verdicts[&NoStaleWrite], Came::Violated);
    assert_eq!(Some(bundle.digest), failure.digest);
}

#[test]
fn only_the_lowest_failing_seed_is_told() {
    let stale = scenario("random/redlock")
        .set("system.ttl=3s")
        .schedules(200)
        .expect(MutualExclusion, Holds);
    let failure = failing(stale.clone());
    let seed = failure.seed.expect("one seed failed");
    // Below it nothing fails, and it fails alone.
    if seed > 0 {
        stale.clone().schedules(seed).expect(BoundedCall, Any).run();
    }
    let alone = failing(stale.seed(seed).schedules(1));
    assert_eq!(alone.digest, failure.digest);
    let (property, plan) = *failure.shrunk.expect("it is a violation");
    assert_eq!(property, MutualExclusion);
    assert!(plan.world.faults.len() <= 3, "{plan:?}");
}

/// With `Violated` a random scenario says at least once.
#[test]
fn what_never_comes_is_a_failure_of_all_schedules() {
    let quiet = scenario("random/redlock-in-model").schedules(50);
    let failure = failing(quiet.clone().expect(MutualExclusion, Violated));
    assert_eq!(failure.seed, None);
    let text = failure.to_string();
    assert!(
        text.contains(
            "50 schedules came out otherwise\n  mutual-exclusion: expected violated, held in"
        ),
        "{text}"
    );
    quiet.expect(MutualExclusion, Holds).run();
}

#[test]
fn faults_are_of_the_families_that_are_named_and_of_no_other() {
    for (name, families) in [
        ("random/redlock", &[Faults::Pause, Faults::Partition][..]),
        ("gc-pause", &[Faults::Crash][..]),
        ("random/redlock", &[][..]),
    ] {
        let totals = scenario(name)
            .faults(families)
            .schedules(40)
            .expect(BoundedCall, Any)
            .run();
        let struck: Vec<&str> = totals.families.keys().map(|name| &**name).collect();
        let mut expected: Vec<String> = families
            .iter()
            .map(|family| format!("{family:?}").to_lowercase())
            .collect();
        if name == "gc-pause" {
            expected.push("pause".to_owned());
        }
        expected.sort();
        assert_eq!(struck, expected, "{name}");
    }
}

#[test]
fn every_family_is_known_to_scenario_files() {
    scenario("gc-pause")
        .faults(&Faults::ALL)
        .schedules(1)
        .expect(BoundedCall, Any)
        .run();
}

#[test]
fn what_cannot_be_run_is_told_when_it_is_run() {
    let misspelt = failing(
        scenario("gc-puase")
            .schedules(3)
            .expect(NoStaleWrite, Holds),
    );
    assert!(misspelt.to_string().contains("did you mean `gc-pause`?"));
    let setting = failing(scenario("gc-pause").set("system.tll=3s"));
    assert!(setting.to_string().contains("did you mean `ttl`?"));
    let fact = failing(scenario("gc-pause").fact("c9 wrote"));
    assert!(fact.to_string().contains("c9"), "{fact}");
    let one_way = scenario("one-way-partition").engine(EngineKind::Turmoil);
    assert!(failing(one_way).to_string().contains("engine event"));
}
