//! Renewals, losses and the careless ways of the documents, in small scenarios on both engines.

use fencepost::EngineKind;
use fencepost::expect::{Outcome as Came, Property};
use fencepost::runner::Outcome;
use fencepost::scenario::Scenario;
use fencepost_checker::history::{Did, Event, What};

/// Both kinds of lock, each with these keys.
const KINDS: [&str; 2] = ["redlock", "single"];

/// One run, with what tests ask of it.
struct Run(Outcome);

impl Run {
    fn of(text: &str, seed: u64, engine: EngineKind) -> Self {
        let scenario = Scenario::parse("test", "test.toml", text)
            .unwrap_or_else(|error| panic!("{error}\n{text}"));
        let run = Self(Outcome::of(&scenario, seed, engine));
        assert_eq!(run.0.judgement.unmet, [], "every fault took effect");
        run
    }

    fn came(&self, property: Property) -> Came {
        let verdict = |verdict: &&fencepost::expect::Verdict| verdict.property == property;
        let found = self.0.verdicts.iter().find(verdict);
        found.expect("every property is judged").outcome
    }

    fn holds(&self, property: Property) {
        let came = self.came(property);
        assert_eq!(came, Came::Holds, "{}", property.name());
    }

    fn violated(&self, property: Property) {
        let came = self.came(property);
        assert_eq!(came, Came::Violated, "{}", property.name());
    }

    fn events(&self) -> &[Event] {
        &self.0.history.events
    }

    /// When events of this kind came to a client, in milliseconds.
    fn when(&self, host: &str, kind: fn(&What) -> bool) -> Vec<u128> {
        let of = |event: &&Event| {
            kind(&event.what) && event.what.hosts().iter().any(|name| &***name == host)
        };
        let millis = |event: &Event| u128::from(event.at.0) / 1_000_000;
        self.events().iter().filter(of).map(millis).collect()
    }

    fn extended(&self, client: &str) -> Vec<u128> {
        self.when(client, |what| matches!(what, What::Extended { .. }))
    }

    fn lost(&self, client: &str) -> Vec<u128> {
        self.when(client, |what| matches!(what, What::Lost { .. }))
    }

    fn acquired(&self, client: &str) -> Vec<u128> {
        self.when(client, |what| matches!(what, What::Acquired { .. }))
    }

    fn left(&self, client: &str) -> Vec<u128> {
        self.when(client, |what| matches!(what, What::Left { .. }))
    }

    fn wrote(&self, client: &str) -> usize {
        self.when(client, |what| matches!(what, What::WriteApplied { .. }))
            .len()
    }
}

/// Runs a scenario on both engines, with a few seeds.
fn each(text: &str, check: impl Fn(&Run)) {
    for seed in 0..5 {
        check(&Run::of(text, seed, EngineKind::Event));
    }
    check(&Run::of(text, 0, EngineKind::Turmoil));
}

fn scenario(kind: &str, system: &str, rest: &str) -> String {
    format!(
        "claim = \"a\"\ndocument = \"b\"\nhorizon = \"100s\"\n\n[system]\nkind = \"{kind}\"\n{system}\n{rest}"
    )
}

/// c1 stops for longer than the TTL while it holds, and renews as soon as it goes on; c2 holds the lock by then.
const LATE: &str = r#"
[[client]]
name = "c1"
hold = "20s"

[[client]]
name = "c2"
start = "1s"
hold = "15s"

[[pause]]
host = "c1"
on = "c1 wrote"
for = "35s"
"#;

#[test]
fn a_late_renewal_by_set_xx_takes_the_successors_lock() {
    for kind in KINDS {
        each(&scenario(kind, r#"extend = "set-xx""#, LATE), |run| {
            run.violated(Property::MutualExclusion);
            run.violated(Property::OwnerOnlyRelease);
            let (acquired, extended) = (run.acquired("c2"), run.extended("c1"));
            assert!(extended[0] >= 35_000 && acquired[0] < extended[0]);
        });
    }
}

#[test]
fn a_late_renewal_by_the_script_leaves_the_successors_lock_and_is_answered_lost() {
    let late = "extend = \"lua\"\nextend-late = true";
    for kind in KINDS {
        each(&scenario(kind, late, LATE), |run| {
            run.holds(Property::MutualExclusion);
            run.holds(Property::OwnerOnlyRelease);
            assert_eq!((run.extended("c1").len(), run.lost("c1").len()), (0, 1));
            let asked = |event: &&Event| {
                matches!(&event.what, What::Command { sender: Some(sender), did, creator: Some(creator), .. }
                    if &**sender == "c1" && &*creator.client == "c2" && *did == Did::Read)
            };
            assert!(
                run.events().iter().any(|event| asked(&event)),
                "the nodes were asked"
            );
        });
    }
}

#[test]
fn a_watchdog_that_comes_late_is_stopped_by_its_own_clock_and_asks_nobody() {
    each(&scenario("redlock", r#"extend = "lua""#, LATE), |run| {
        run.holds(Property::MutualExclusion);
        run.violated(Property::ExclusiveAccess);
        assert_eq!((run.extended("c1").len(), run.lost("c1").len()), (0, 1));
    });
}

#[test]
fn a_watchdog_holds_for_many_ttls() {
    let rest = r#"
[[client]]
name = "c1"
hold = "30s"

[[client]]
name = "c2"
start = "1s"
retry = "100ms"
"#;
    for kind in KINDS {
        each(
            &scenario(kind, "ttl = \"3s\"\nextend = \"lua\"", rest),
            |run| {
                run.holds(Property::MutualExclusion);
                run.holds(Property::ExclusiveAccess);
                assert_eq!((run.extended("c1").len(), run.lost("c1").len()), (30, 0));
                assert!(run.acquired("c2")[0] >= 30_000);
            },
        );
    }
}

#[test]
fn a_stop_that_is_longer_than_the_period_and_shorter_than_the_ttl_loses_nothing() {
    let rest = r#"
[[client]]
name = "c1"
hold = "60s"

[[client]]
name = "c2"
start = "1s"

[[pause]]
host = "c1"
on = "c1 wrote"
after = "9s"
for = "15s"
"#;
    each(&scenario("redlock", r#"extend = "lua""#, rest), |run| {
        run.holds(Property::MutualExclusion);
        run.holds(Property::ExclusiveAccess);
        assert_eq!(run.lost("c1"), [0; 0]);
        assert!((24_000..25_000).contains(&run.extended("c1")[0]));
    });
}

/// c1 is cut off from all nodes while it holds for long.
fn cut_off(cancel: bool) -> String {
    format!(
        r#"
[[client]]
name = "c1"
hold = "80s"
cancel-on-loss = {cancel}

[[client]]
name = "c2"
start = "1s"

[[partition]]
between = [["c1"], ["n1", "n2", "n3", "n4", "n5"]]
how = "drop"
on = "c1 wrote"
"#
    )
}

#[test]
fn a_body_that_is_cancelled_at_the_local_deadline_leaves_before_the_successor_comes() {
    let text = scenario("redlock", r#"extend = "lua""#, &cut_off(true));
    each(&text, |run| {
        run.holds(Property::MutualExclusion);
        run.holds(Property::ExclusiveAccess);
        let (lost, left) = (run.lost("c1"), run.left("c1"));
        assert_eq!(lost, left, "in the same millisecond");
        assert!((29_600..29_800).contains(&left[0]), "{left:?}");
        assert!(run.acquired("c2")[0] > left[0]);
    });
}

#[test]
fn a_body_that_is_not_cancelled_stays_inside_though_it_was_told() {
    let text = scenario("redlock", r#"extend = "lua""#, &cut_off(false));
    each(&text, |run| {
        run.holds(Property::MutualExclusion);
        run.violated(Property::ExclusiveAccess);
        assert!(run.lost("c1")[0] < run.acquired("c2")[0]);
    });
}

#[test]
fn a_holder_that_is_told_when_it_goes_on_does_not_write() {
    let rest = |cancel: bool| {
        format!(
            r#"
[[client]]
name = "c1"
cancel-on-loss = {cancel}

[[client]]
name = "c2"
start = "1s"

[[pause]]
host = "c1"
on = "c1 read"
for = "35s"
"#
        )
    };
    each(&scenario("redlock", "", &rest(true)), |run| {
        assert_eq!((run.wrote("c1"), run.lost("c1").len()), (0, 1));
    });
    each(&scenario("redlock", "", &rest(false)), |run| {
        assert_eq!((run.wrote("c1"), run.lost("c1").len()), (1, 0));
    });
}

#[test]
fn faults_are_set_on_renewals_and_losses() {
    let rest = r#"
[[client]]
name = "c1"
hold = "70s"

[[client]]
name = "c2"
start = "1s"

[[pause]]
host = "c1"
on = "c1 extended"
nth = 2
for = "31s"

[[pause]]
host = "c1"
on = "c1 lost"
for = "1s"
"#;
    for system in [r#"extend = "lua""#, "extend = \"lua\"\nextend-late = true"] {
        each(&scenario("redlock", system, rest), |run| {
            assert_eq!((run.extended("c1").len(), run.lost("c1").len()), (2, 1));
        });
    }
}

#[test]
fn a_client_that_dies_between_setnx_and_its_expiry_leaves_a_key_for_ever() {
    let rest = r#"
[[client]]
name = "c1"

[[client]]
name = "c2"
start = "1s"
retry = "1s"

[[crash]]
host = "c1"
how = "kill"
on = "c1 set"
"#;
    let system = r#"acquire = "setnx-then-expire""#;
    each(&scenario("single", system, rest), |run| {
        assert_eq!(run.acquired("c2"), [0; 0]);
    });
}

#[test]
fn setnx_and_expire_make_a_lock_while_nobody_dies() {
    let rest = r#"
[[client]]
name = "c1"
hold = "1s"

[[client]]
name = "c2"
start = "500ms"
"#;
    for kind in KINDS {
        let text = scenario(kind, r#"acquire = "setnx-then-expire""#, rest);
        each(&text, |run| {
            run.holds(Property::MutualExclusion);
            assert_eq!((run.acquired("c1").len(), run.acquired("c2").len()), (1, 1));
        });
    }
}

#[test]
fn a_failed_attempt_that_deletes_on_all_nodes_takes_the_holders_lock_away() {
    let rest = r#"
[[client]]
name = "c1"
hold = "10s"

[[client]]
name = "c2"
start = "1s"
"#;
    each(
        &scenario("redlock", r#"failed-attempt = "del""#, rest),
        |run| {
            run.violated(Property::MutualExclusion);
            run.violated(Property::OwnerOnlyRelease);
        },
    );
    each(&scenario("redlock", "", rest), |run| {
        run.holds(Property::MutualExclusion);
    });
}

#[test]
fn a_holders_own_release_asks_whose_key_it_is_though_failed_attempts_do_not() {
    let rest = r#"
[[client]]
name = "c1"
tries = 1

[[client]]
name = "c2"
start = "32s"
hold = "10s"

[[pause]]
host = "c1"
on = "c1 wrote"
for = "35s"
"#;
    each(
        &scenario("redlock", r#"failed-attempt = "del""#, rest),
        |run| {
            run.holds(Property::OwnerOnlyRelease);
        },
    );
}

#[test]
fn a_value_of_time_and_name_is_another_for_each_client_and_attempt() {
    let rest = "[[client]]\nname = \"c1\"\nrounds = 3\n\n[[client]]\nname = \"c2\"\nrounds = 3\n";
    each(
        &scenario("redlock", r#"value = "time-and-id""#, rest),
        |run| {
            let mut values: Vec<&str> = Vec::new();
            for event in run.events() {
                if let What::Acquired { value, .. } = &event.what {
                    values.push(value);
                }
            }
            let acquired = values.len();
            values.sort_unstable();
            values.dedup();
            assert_eq!((values.len(), acquired), (6, 6));
            run.holds(Property::MutualExclusion);
        },
    );
}
