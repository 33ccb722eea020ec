//! Bundles: replayed, changed by a byte, cut off, of another format.

use std::fs;
use std::path::PathBuf;

use crate::program::Place;

const FOLDER: &str = "fencepost-out/gc-pause-7-event";

fn kept() -> (Place, PathBuf) {
    let place = Place::new();
    let call = place.call(&["run", "gc-pause", "--seed", "7", "--keep"]);
    assert_eq!(call.code, 0, "{}", call.stderr);
    let history = place.path(FOLDER).join("history.jsonl");
    (place, history)
}

#[test]
fn a_bundle_replays_byte_for_byte() {
    let (place, _) = kept();
    for path in [FOLDER.to_owned(), format!("{FOLDER}/bundle.json")] {
        let call = place.call(&["replay", &path, "--json"]);
        assert_eq!(call.code, 0, "{}", call.text());
        assert_eq!(call.summary()["kind"], "summary");
    }
}

#[test]
fn one_byte_changed_makes_it_differ_at_that_event() {
    let (place, path) = kept();
    let whole = fs::read(&path).expect("the history was written");
    let lines: Vec<usize> = whole
        .iter()
        .enumerate()
        .filter(|(_, b)| **b == b'\n')
        .map(|(at, _)| at)
        .collect();
    // In the middle of the lines of the header, of an early event, of a late one, and of the last one.
    for line in [0, 30, lines.len() / 2, lines.len() - 1] {
        let end = lines[line];
        let start = if line == 0 { 0 } else { lines[line - 1] + 1 };
        let mut changed = whole.clone();
        changed[(start + end) / 2] ^= 1;
        fs::write(&path, &changed).expect("the history can be changed");
        let call = place.call(&["replay", FOLDER]);
        assert_eq!(call.code, 3, "line {line}: {}", call.text());
        let names = if line == 0 {
            "header".to_owned()
        } else {
            format!("first at event {}", line - 1)
        };
        assert!(
            call.stderr.contains(&names),
            "{names} is not in\n{}",
            call.stderr
        );
    }
}

#[test]
fn a_history_that_is_cut_off_is_an_error_that_says_so() {
    let (place, path) = kept();
    let whole = fs::read(&path).expect("the history was written");
    for length in [whole.len() / 2, whole.len() - 1, 10, 0] {
        fs::write(&path, &whole[..length]).expect("the history can be cut");
        let replay = place.call(&["replay", FOLDER]);
        assert_eq!(replay.code, 96, "{length}: {}", replay.text());
        assert!(replay.stderr.contains("cut off"), "{}", replay.stderr);
        let check = place.call(&["check", &format!("{FOLDER}/history.jsonl")]);
        assert_eq!(check.code, 96, "{length}: {}", check.text());
        assert!(check.stderr.contains("history.jsonl"), "{}", check.stderr);
    }
}

#[test]
fn a_bundle_of_another_format_or_half_a_bundle_is_an_error_that_says_so() {
    let (place, _) = kept();
    let path = place.path(FOLDER).join("bundle.json");
    let whole = fs::read_to_string(&path).expect("the bundle was written");
    let cases = [
        (whole.replace("\"format\": 1", "\"format\": 2"), "format 2"),
        (whole[..whole.len() / 2].to_owned(), "cut off"),
        (String::new(), "cut off"),
        ("{}".to_owned(), "missing field"),
    ];
    for (text, says) in cases {
        fs::write(&path, &text).expect("the bundle can be changed");
        let call = place.call(&["replay", FOLDER]);
        assert_eq!(call.code, 96, "{}", call.text());
        assert!(
            call.stderr.contains(says),
            "{says} is not in {}",
            call.stderr
        );
    }
    fs::remove_file(&path).expect("the bundle can be removed");
    assert_eq!(place.call(&["replay", FOLDER]).code, 96);
}

#[test]
fn a_bundle_that_cannot_be_written_is_said_and_the_run_is_not_lost() {
    let place = Place::new();
    place.write("occupied", "a file where the folder would go");
    let call = place.call(&[
        "run",
        "canary/wrong-expectation",
        "--out",
        "occupied",
        "--json",
    ]);
    assert_eq!(call.code, 96, "{}", call.text());
    assert!(call.stderr.contains("occupied"), "{}", call.stderr);
    assert_eq!(
        call.summary()["as_expected"],
        false,
        "the summary came first"
    );
}
