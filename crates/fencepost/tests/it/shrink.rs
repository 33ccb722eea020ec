//! Shrinking: few faults are left, the same is violated for the same reason, and a scenario file says it.

use fencepost::EngineKind;
use fencepost::plan::Plan;
use fencepost::runner::{Outcome, run};
use fencepost::scenario::Scenario;
use fencepost::shrink::{Manner, Shrunk, scenario_file, shrink};
use fencepost_checker::{History, Outcome as Came, Property, Verdict, run::Run};

const MOST: u64 = 3_000;

fn judged(plan: &Plan, property: Property) -> Verdict {
    property.judge(&Run::of(&run(plan, EngineKind::Event)))
}

fn on_event(plan: &Plan) -> History {
    run(plan, EngineKind::Event)
}

fn shrunk(plan: &Plan, property: Property) -> Shrunk {
    shrink(plan, property, MOST, on_event, |_, _| {}).expect("it is violated")
}

/// The first violations of a scenario with six faults or more.
fn violations(name: &str, number: usize) -> Vec<Plan> {
    let scenario = Scenario::find(name).expect("it is embedded");
    let plans = (0..).map(|seed| Plan::draw(&scenario, seed));
    plans
        .filter(|plan| plan.world.faults.len() >= 6)
        .filter(|plan| judged(plan, Property::MutualExclusion).outcome == Came::Violated)
        .take(number)
        .collect()
}

/// Not all: a quorum of three that only a chain of faults brings about needs the chain.
#[test]
fn violations_of_many_faults_come_down_to_three_but_for_one_in_eight() {
    let property = Property::MutualExclusion;
    for name in ["random/redlock", "random/failover"] {
        let mut many = Vec::new();
        for plan in violations(name, 8) {
            let seed = plan.world.seed;
            let manner = Manner::of(&judged(&plan, property)).expect("it is violated");
            let shrunk = shrunk(&plan, property);
            assert!(shrunk.runs <= MOST);
            // Anew from the plan, and from the file, it comes to the same for the same reason.
            let verdict = judged(&shrunk.plan, property);
            assert!(
                manner.is_that_of(&verdict),
                "{name}, seed {seed}: {verdict:?}"
            );
            if shrunk.plan.world.faults.len() > 3 {
                many.push(seed);
                continue;
            }
            let file = scenario_file(&shrunk.plan, "shrunk", &verdict)
                .unwrap_or_else(|error| panic!("{name}, seed {seed}: {error}"));
            let own = file.seed.expect("it is about one seed");
            let outcome = Outcome::of(&file, own, EngineKind::Event);
            assert_eq!(outcome.standing().exit_code(), 0, "{name}, seed {seed}");
            assert!(
                file.claim.contains("mutual-exclusion is violated"),
                "{}",
                file.claim
            );
        }
        assert!(many.len() <= 1, "{name}: seeds {many:?}");
    }
}

/// A race takes another seed there: latencies are others.
#[test]
fn what_is_left_shows_on_the_other_engine_too() {
    let property = Property::MutualExclusion;
    let on_turmoil = |plan: &Plan| run(plan, EngineKind::Turmoil);
    for name in ["random/redlock", "random/failover"] {
        for plan in violations(name, 4) {
            let (seed, shrunk) = (plan.world.seed, shrunk(&plan, property));
            let both = shrunk.also_by(property, 500, on_event, on_turmoil);
            let both = both.unwrap_or_else(|| panic!("{name}, seed {seed}: only on one engine"));
            let manner = Manner::of(&judged(&shrunk.plan, property)).expect("it is violated");
            assert!(manner.is_that_of(&judged(&both.plan, property)));
            let there = property.judge(&Run::of(&on_turmoil(&both.plan)));
            assert!(manner.is_that_of(&there), "{name}, seed {seed}: {there:?}");
            assert!(both.plan.world.faults.len() <= shrunk.plan.world.faults.len());
        }
    }
}

/// c1 is away for longer than its TTL and writes late; and nodes drop c3's key while it holds on.
const TWO: &str = r#"claim = "two claims"
document = "000"
horizon = "60s"

[system]
kind = "single"
ttl = "5s"

[[client]]
name = "c1"

[[client]]
name = "c2"
start = "1s"

[[client]]
name = "c3"
start = "20s"
hold = "3s"

[[client]]
name = "c4"
start = "21s"

[[pause]]
host = "c1"
on = "c1 read"
for = "9s"

[[evict]]
host = "n1"
at = "22s"

[[reset]]
between = [["c1", "c2"], ["n1"]]
at = "40s"
"#;

#[test]
fn another_propertys_failure_is_never_what_is_left() {
    let scenario =
        Scenario::parse("two", "two.toml", TWO).unwrap_or_else(|error| panic!("{error}"));
    let plan = Plan::draw(&scenario, 1);
    for (property, family) in [
        (Property::NoStaleWrite, "pause"),
        (Property::MutualExclusion, "evict"),
    ] {
        assert_eq!(
            judged(&plan, property).outcome,
            Came::Violated,
            "{property}"
        );
        let shrunk = shrunk(&plan, property);
        let families: Vec<&str> = shrunk
            .plan
            .world
            .faults
            .iter()
            .map(|fault| fault.action.family())
            .collect();
        assert_eq!(families, [family], "{property}");
        assert_eq!(judged(&shrunk.plan, property).outcome, Came::Violated);
        // Both are violated at first; of the one that is not asked for nothing is left.
        let other = match property {
            Property::NoStaleWrite => Property::MutualExclusion,
            _ => Property::NoStaleWrite,
        };
        assert_ne!(
            judged(&shrunk.plan, other).outcome,
            Came::Violated,
            "{property}"
        );
    }
}

#[test]
fn what_is_not_violated_cannot_be_shrunk() {
    let scenario = Scenario::find("gc-pause").expect("it is embedded");
    let plan = Plan::draw(&scenario, 1);
    let refused = shrink(&plan, Property::MutualExclusion, MOST, on_event, |_, _| {});
    let said = refused.expect_err("it holds").to_string();
    assert_eq!(
        said,
        "the run does not violate mutual-exclusion: there is nothing to shrink"
    );
}

#[test]
fn no_more_is_run_than_was_allowed() {
    let plan = violations("random/redlock", 1).remove(0);
    let property = Property::MutualExclusion;
    let shrunk = shrink(&plan, property, 10, on_event, |_, _| {}).expect("it is violated");
    assert!(shrunk.runs <= 10);
    assert_eq!(judged(&shrunk.plan, property).outcome, Came::Violated);
}
