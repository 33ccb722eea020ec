//! `sweep` and `merge` as their users see them.
#![expect(
    clippy::disallowed_types,
    clippy::disallowed_methods,
    reason = "an interruption is a matter of real time"
)]

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::program::{Call, Place, scenario};

/// Random faults on one node; here nobody may ever break its lock, which some do.
fn wrong(place: &Place) -> String {
    let right = "mutual-exclusion = \"violated\"";
    let text = scenario("random/single").replacen(right, "mutual-exclusion = \"holds\"", 1);
    place.write("wrong.toml", &text)
}

fn sweep(place: &Place, arguments: &[&str]) -> Call {
    place.call(&[&["sweep"], arguments].concat())
}

#[test]
fn a_sweep_ends_with_the_summary_and_leaves_its_results() {
    let place = Place::new();
    let call = sweep(&place, &["random/single", "--seeds", "0..250", "--json"]);
    assert_eq!(call.code, 0, "{}", call.text());
    let summary = call.summary();
    assert_eq!(summary["kind"], "summary");
    assert_eq!(summary["scenario"], "random/single");
    assert_eq!(summary["schedules"], 250);
    assert_eq!(summary["as_expected"], true);
    assert_eq!(summary["interrupted"], false);
    let verdicts = &summary["verdicts"]["mutual-exclusion"];
    let count = |outcome: &str| verdicts[outcome].as_u64().expect("a number");
    assert_eq!(count("holds") + count("violated") + count("vacuous"), 250);
    assert!(count("violated") > 0);
    let pauses = &summary["faults"]["pause"];
    assert!(pauses["overlapped"].as_u64() > Some(0), "{pauses}");
    let results = place.path("fencepost-out/random-single-event-0-250.sweep.jsonl");
    let lines = std::fs::read_to_string(results).expect("the results are there");
    assert_eq!(lines.lines().count(), 251);
    assert!(
        call.stderr
            .contains("random-single-event-0-250.sweep.jsonl")
    );
}

#[test]
fn people_read_what_was_violated_why_and_by_which_seed() {
    let place = Place::new();
    let call = sweep(&place, &["random/single", "--seeds", "0..250"]);
    assert_eq!(call.code, 0, "{}", call.text());
    for words in [
        "seeds 0..250",
        "first violated",
        "while a lock was held",
        "are laid on",
        "as expected: 250 schedules",
        "sha256:",
    ] {
        assert!(call.stdout.contains(words), "{words}: {}", call.stdout);
    }
    let few = sweep(&place, &["random/redlock", "--seeds", "0..2"]);
    assert_eq!(few.code, 0, "{}", few.text());
    assert!(
        few.stdout.contains("not judged below 500 schedules"),
        "{}",
        few.stdout
    );
}

#[test]
fn the_lowest_seeds_that_failed_leave_bundles_and_commands() {
    let place = Place::new();
    let path = wrong(&place);
    let call = sweep(&place, &[&path, "--seeds", "0..40", "--json"]);
    assert_eq!(call.code, 1, "{}", call.text());
    let summary = call.summary();
    let failing: Vec<u64> = summary["failing"]
        .as_array()
        .expect("a list")
        .iter()
        .filter_map(serde_json::Value::as_u64)
        .collect();
    assert_eq!(failing.len(), 10, "no more are named");
    assert!(summary["failures"].as_u64() > Some(10));
    for seed in &failing {
        assert!(
            place
                .path(&format!("fencepost-out/wrong-{seed}-event/bundle.json"))
                .exists()
        );
    }
    assert!(call.stderr.contains("bundles of 10 of "), "{}", call.stderr);
    let command = call
        .stderr
        .lines()
        .find_map(|line| line.trim().strip_prefix("replay "))
        .expect("a replay command");
    assert_eq!(place.paste(command.trim()).code, 0);
    // For people there is a command that shows the lowest.
    let call = sweep(&place, &[&path, "--seeds", "0..40", "--stop-on", "first"]);
    assert_eq!(call.code, 1);
    let look = call
        .stdout
        .lines()
        .find_map(|line| line.trim().strip_prefix("look "))
        .expect("a command to look closer");
    assert!(
        look.ends_with(&format!("run wrong.toml --seed {}", failing[0])),
        "{look}"
    );
    let run = place.paste(look.trim());
    assert_eq!(run.code, 1, "{}", run.text());
    assert!(
        call.stdout
            .contains(&format!("{} schedules", failing[0] + 1))
    );
}

/// From the sweep to the few faults that matter, by the commands that are printed.
#[test]
fn a_failure_is_shrunk_to_a_scenario_file() {
    let place = Place::new();
    let path = wrong(&place);
    let call = sweep(&place, &[&path, "--seeds", "0..40", "--stop-on", "first"]);
    let command = call
        .stderr
        .lines()
        .find_map(|line| line.trim().strip_prefix("shrink "))
        .expect("a command to shrink it");
    let shrunk = place.paste(&format!("{} --json", command.trim()));
    assert_eq!(shrunk.code, 0, "{}", shrunk.text());
    let summary = shrunk.summary();
    assert_eq!(summary["kind"], "shrunk");
    assert_eq!(summary["property"], "mutual-exclusion");
    assert!(summary["faults"].as_u64() <= Some(3), "{summary}");
    assert!(summary["runs"].as_u64() > Some(1));
    let scenario = summary["scenario"].as_str().expect("a path");
    let run = place.call(&["run", scenario, "--json"]);
    assert_eq!(run.code, 0, "{}", run.text());
    assert_eq!(run.summary()["verdicts"]["mutual-exclusion"]["violated"], 1);
    let folder = scenario.trim_end_matches(".toml");
    assert_eq!(place.call(&["replay", folder]).code, 0);
    // For people it says what it tried.
    let shrunk = place.paste(command.trim());
    assert!(shrunk.stdout.contains("fewer faults"), "{}", shrunk.stdout);
    let held = place.paste(&format!("{} --property bounded-call", command.trim()));
    assert_eq!(held.code, 96, "{}", held.text());
}

#[test]
fn a_scripted_scenario_counts_each_schedule() {
    let place = Place::new();
    let call = sweep(&place, &["gc-pause", "--seeds", "0..6", "--json"]);
    assert_eq!(call.code, 0, "{}", call.text());
    assert_eq!(call.summary()["verdicts"]["no-stale-write"]["violated"], 6);
    let call = sweep(&place, &["canary/wrong-expectation", "--seeds", "0..3"]);
    assert_eq!(call.code, 1, "{}", call.text());
    assert!(
        call.stdout.contains("3 schedules failed"),
        "{}",
        call.stdout
    );
}

#[test]
fn shards_come_to_the_same_as_the_whole() {
    let place = Place::new();
    let path = wrong(&place);
    let whole = sweep(
        &place,
        &[
            &path,
            "--seeds",
            "7..57",
            "--set",
            "system.ttl=9s",
            "--json",
            "--jobs",
            "2",
        ],
    )
    .summary();
    for (index, variable) in [(0, "JOB_COMPLETION_INDEX"), (1, "SLURM_ARRAY_TASK_ID")] {
        let out = format!("shard-{index}");
        let call = place.call_with(
            &[
                "sweep",
                &path,
                "--seeds",
                "7..57",
                "--set",
                "system.ttl=9s",
                "--shard",
                "auto/2",
                "--out",
                &out,
                "--jobs",
                "1",
            ],
            &[(variable, &index.to_string())],
        );
        assert_eq!(call.code, 1, "{}", call.text());
    }
    let call = place.call(&["merge", "shard-0", "shard-1", "--json"]);
    assert_eq!(call.code, 1, "{}", call.text());
    let merged = call.summary();
    for field in [
        "digest",
        "settings",
        "verdicts",
        "faults",
        "causes",
        "failing",
        "schedules",
        "virtual_seconds",
    ] {
        assert_eq!(merged[field], whole[field], "{field}");
    }
    let missing = place.call(&["merge", "shard-1"]);
    assert_eq!(missing.code, 96, "{}", missing.text());
    assert!(
        missing.stderr.contains("part 0/2 is missing"),
        "{}",
        missing.stderr
    );
    // Of a scenario that has changed since nothing is said.
    place.write("wrong.toml", &scenario("random/single"));
    let changed = place.call(&["merge", "shard-0", "shard-1"]);
    assert_eq!(changed.code, 96, "{}", changed.text());
    assert!(
        changed.stderr.contains("changed since"),
        "{}",
        changed.stderr
    );
}

#[test]
fn wrong_ranges_and_shards_exit_96() {
    let place = Place::new();
    for arguments in [
        &["--seeds", "5"][..],
        &["--seeds", "5..5"],
        &["--seeds", "0..10", "--jobs", "0"],
        &["--seeds", "0..10", "--shard", "2/2"],
        &["--seeds", "0..10", "--shard", "auto/2"],
        &["--seeds", "0..10", "--stop-on", "second"],
    ] {
        let call = sweep(&place, &[&["random/single"], arguments].concat());
        assert_eq!(call.code, 96, "{arguments:?}: {}", call.text());
        assert!(call.stdout.is_empty());
    }
    let call = place.call(&["merge", "nowhere"]);
    assert_eq!(call.code, 96, "{}", call.text());
}

/// A device that is full takes no result; the way out is said.
#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_told() {
    let place = Place::new();
    std::fs::create_dir(place.path("fencepost-out")).expect("there is room");
    let results = place.path("fencepost-out/random-single-event-0-9.sweep.jsonl");
    std::os::unix::fs::symlink("/dev/full", results).expect("there is room");
    let call = sweep(&place, &["random/single", "--seeds", "0..9"]);
    assert_eq!(call.code, 96, "{}", call.text());
    assert!(
        call.stderr.contains("0-9.sweep.jsonl: No space left"),
        "{}",
        call.stderr
    );
}

/// What is done when Ctrl-C comes is in the file, and told.
#[cfg(unix)]
#[test]
fn an_interruption_keeps_what_is_done() {
    let place = Place::new();
    let seeds = "0..100000000";
    let mut child = Command::new(env!("CARGO_BIN_EXE_fencepost"))
        .args(["sweep", "random/single", "--seeds", seeds, "--json"])
        .current_dir(place.path(""))
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the binary was built for this test");
    let results = place.path("fencepost-out/random-single-event-0-100000000.sweep.jsonl");
    let lines = || match std::fs::File::open(&results) {
        Ok(file) => BufReader::new(file).lines().count(),
        Err(_) => 0,
    };
    let patience = Instant::now() + Duration::from_secs(60);
    while lines() < 10 {
        assert!(Instant::now() < patience, "no results in a minute");
        std::thread::sleep(Duration::from_millis(20));
    }
    let killed = Command::new("kill")
        .args(["-INT", &child.id().to_string()])
        .status();
    assert!(killed.expect("kill is there").success());
    let code = child.wait().expect("it ends").code();
    assert_eq!(code, Some(130));
    let mut stdout = child.stdout.take().expect("it is piped");
    let summary: serde_json::Value = serde_json::from_reader(&mut stdout).expect("a summary");
    assert_eq!(summary["interrupted"], true);
    let schedules = summary["schedules"].as_u64().expect("a number");
    assert_eq!(lines() as u64, schedules + 1);
}
