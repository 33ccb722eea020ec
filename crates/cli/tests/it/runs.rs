//! `list`, `run`, `check` and the tour where all is well, and where it is not.

use crate::program::{Place, scenario};

#[test]
fn list_names_every_scenario_once() {
    let place = Place::new();
    let call = place.call(&["list", "--json"]);
    assert_eq!(call.code, 0);
    let listed: Vec<serde_json::Value> = call
        .stdout
        .lines()
        .map(|line| serde_json::from_str(line).expect("one object a line"))
        .collect();
    let names: Vec<&str> = listed
        .iter()
        .filter_map(|scenario| scenario["name"].as_str())
        .collect();
    for name in [
        "gc-pause",
        "gc-pause-single",
        "gc-pause-fenced",
        "restart-without-fsync",
        "clock-jump",
        "release-del",
    ] {
        assert_eq!(
            names.iter().filter(|listed| **listed == name).count(),
            1,
            "{name}"
        );
    }
    for scenario in &listed {
        for field in ["claim", "document", "path"] {
            assert!(
                scenario[field]
                    .as_str()
                    .is_some_and(|text| !text.is_empty()),
                "{scenario} has a {field}"
            );
        }
    }
    assert!(
        names.iter().all(|name| !name.starts_with("canary/")),
        "a canary is no claim"
    );
}

#[test]
fn a_run_as_expected_exits_0_with_a_summary_on_either_engine() {
    let place = Place::new();
    for engine in ["event", "turmoil"] {
        let call = place.call(&[
            "run", "gc-pause", "--seed", "7", "--engine", engine, "--json",
        ]);
        assert_eq!(call.code, 0, "{}", call.stderr);
        let summary = call.summary();
        assert_eq!(summary["kind"], "summary");
        assert_eq!(summary["scenario"], "gc-pause");
        assert_eq!(summary["engine"], engine);
        assert_eq!(summary["schedules"], 1);
        assert_eq!(summary["as_expected"], true);
        assert_eq!(summary["verdicts"]["no-stale-write"]["violated"], 1);
        assert_eq!(summary["verdicts"]["mutual-exclusion"]["holds"], 1);
        assert!(
            summary["digest"]
                .as_str()
                .is_some_and(|digest| digest.starts_with("sha256:"))
        );
        assert!(
            summary["virtual_seconds"]
                .as_f64()
                .is_some_and(|seconds| seconds > 35.0),
            "c1 is away for 35 s"
        );
    }
    assert!(
        !place.path("fencepost-out").exists(),
        "a run that came out as expected leaves nothing"
    );
}

#[test]
fn people_read_the_claim_the_verdict_and_the_cause() {
    let call = Place::new().call(&["run", "restart-without-fsync"]);
    assert_eq!(call.code, 0, "{}", call.stderr);
    for words in [
        "mutual-exclusion",
        "violated",
        "n3 lost power",
        "as expected",
        "sha256:",
    ] {
        assert!(
            call.stdout.contains(words),
            "{words} is not in\n{}",
            call.stdout
        );
    }
}

#[test]
fn the_canary_fails_with_commands_that_can_be_pasted() {
    let place = Place::new();
    let call = place.call(&["run", "canary/wrong-expectation"]);
    assert_eq!(call.code, 1);
    let command = call
        .stderr
        .lines()
        .find_map(|line| line.trim().strip_prefix("replay "))
        .expect("a replay command");
    let replay = place.paste(command.trim());
    assert_eq!(replay.code, 0, "{}", replay.text());
    assert!(
        replay.stdout.contains("the same history, byte for byte"),
        "{}",
        replay.stdout
    );
    let command = call
        .stderr
        .lines()
        .find_map(|line| line.trim().strip_prefix("judge "))
        .expect("a check command");
    assert_eq!(
        place.paste(command.trim()).code,
        1,
        "judged again, it is as wrong as before"
    );
}

#[test]
fn an_event_that_never_came_is_vacuous_and_named() {
    let place = Place::new();
    let text = scenario("gc-pause").replacen("on = \"c1 read\"", "on = \"c1 read\"\nnth = 9", 1);
    let call = place.call(&["run", &place.write("late.toml", &text), "--json"]);
    // Without the pause c1 is gone before c2 comes: nothing is put to the test.
    assert_eq!(call.code, 2, "{}", call.text());
    assert!(
        call.stderr.contains("`c1 read` did not come 9 times"),
        "the event is named: {}",
        call.stderr
    );
    assert!(
        !call.summary()["unmet"]
            .as_array()
            .expect("a list")
            .is_empty()
    );
}

#[test]
fn a_stored_history_is_judged_again() {
    let place = Place::new();
    place.call(&["run", "gc-pause", "--keep"]);
    let call = place.call(&[
        "check",
        "fencepost-out/gc-pause-1-event/history.jsonl",
        "--json",
    ]);
    assert_eq!(call.code, 0, "{}", call.text());
    let run = place.call(&["run", "gc-pause", "--json"]);
    assert_eq!(call.summary()["verdicts"], run.summary()["verdicts"]);
    assert_eq!(call.summary()["digest"], run.summary()["digest"]);
}

#[test]
fn a_seed_replays_and_says_so() {
    let place = Place::new();
    for engine in ["event", "turmoil"] {
        let call = place.call(&["replay", "gc-pause", "--seed", "7", "--engine", engine]);
        assert_eq!(call.code, 0, "{}", call.stderr);
        assert!(
            call.stdout.contains("the same history, byte for byte"),
            "{}",
            call.stdout
        );
    }
}

#[test]
fn another_seed_is_another_history() {
    let place = Place::new();
    let digest = |seed: &str| {
        place
            .call(&["run", "gc-pause", "--seed", seed, "--json"])
            .summary()["digest"]
            .clone()
    };
    assert_ne!(digest("7"), digest("8"));
}
