//! Stored histories: how they look, and what is said of one that is damaged.

use expect_test::{Expect, expect};
use fencepost_checker::digest::Digest;
use fencepost_checker::{History, HistoryError, Property, first_difference};

use crate::dsl::story;

/// The lines of a story, with the 22 that introduce hosts and clocks.
fn lines() -> Vec<String> {
    let history = story("1s c1 begins\n2s c1 acquires until 30s token=33 from=n1\n3s n1 SET by c1 created expires=31s").history;
    history.to_jsonl().lines().map(str::to_owned).collect()
}

fn parse(lines: &[String]) -> Result<History, HistoryError> {
    History::parse(&(lines.join("\n") + "\n"))
}

/// What is said of the lines after a change.
#[track_caller]
fn says(change: impl FnOnce(&mut Vec<String>), expected: Expect) {
    let mut lines = lines();
    change(&mut lines);
    expected.assert_eq(&parse(&lines).unwrap_err().to_string());
}

#[test]
fn the_format_is_one_flat_object_a_line() {
    let lines = lines();
    let shown = [&lines[..3], &lines[23..]].concat().join("\n");
    expect![[r#"
        {"format":1,"scenario":"story","seed":7,"engine":"event","call-bound":10000000000,"acquire-bound":20000000000,"largest-ttl":30000000000,"node-timeout":50000000,"latency":10000000,"quorum":3}
        {"seq":0,"at":0,"kind":"host","host":"c1","role":"client"}
        {"seq":1,"at":0,"kind":"clock","host":"c1","segment":{"from":0,"monotonic":0,"wall":1000000000000000,"monotonic-ppm":0,"wall-ppm":0}}
        {"seq":22,"at":1000000000,"kind":"attempt-begun","client":"c1","attempt":1,"key":"k","clock":"monotonic","reading":1000000000}
        {"seq":23,"at":2000000000,"kind":"acquired","client":"c1","attempt":1,"key":"k","value":"01","token":33,"deadline":30000000000,"clock":"monotonic","votes":[{"node":"n1","answer":"granted"}]}
        {"seq":24,"at":3000000000,"kind":"command","node":"n1","sender":"c1","command":"SET","key":"k","did":"created","creator":null,"expires-at":1000031000}
        {"seq":25,"at":3000000000,"kind":"end","reason":"finished"}"#]]
    .assert_eq(&shown);
}

#[test]
fn what_is_absent_may_be_left_out() {
    let mut lines = lines();
    lines[25] = lines[25].replace(r#""creator":null,"#, "");
    assert!(parse(&lines).is_ok());
}

#[test]
fn nothing_is_no_history() {
    expect!["the history is empty: run the scenario again and keep its bundle"]
        .assert_eq(&History::parse("").unwrap_err().to_string());
    assert!(matches!(History::parse("\n \n"), Err(HistoryError::Empty)));
}

#[test]
fn a_history_that_was_cut_off_says_so() {
    let whole = story("1s c1 begins").history.to_jsonl();
    for length in 1..whole.len() {
        let error = History::parse(&whole[..length]).unwrap_err();
        assert!(
            matches!(
                error,
                HistoryError::CutOff { .. } | HistoryError::NoEnd { .. }
            ),
            "{length}: {error}"
        );
    }
    says(
        |lines| drop(lines.pop()),
        expect![
            "after line 26 an `end` event is missing: the history was cut off; run the scenario again, or copy the file again"
        ],
    );
}

#[test]
fn another_format_says_so_whatever_else_it_has() {
    says(
        |lines| lines[0] = r#"{"format":2,"planet":"mars"}"#.to_owned(),
        expect![
            "line 1: the history has format 2, and this fencepost reads format 1; use the version that its bundle names"
        ],
    );
    says(
        |lines| drop(lines.remove(0)),
        expect![
            "line 1 has no `format` number: a history begins with its header; is this the right file?"
        ],
    );
}

#[test]
fn a_line_that_is_no_event_says_which_and_why() {
    says(
        |lines| lines[23] = "mutual exclusion".to_owned(),
        expect![
            "line 24 is not a JSON object: expected value at line 1 column 1; a history has one object a line"
        ],
    );
    says(
        |lines| lines[23] = lines[23].replace("attempt-begun", "attempt-begum"),
        expect![
            "line 24 is not an event: unknown variant `attempt-begum`, expected one of `call-begun`, `call-ended`, `attempt-begun`, `acquired`, `extended`, `refused`, `lost`, `entered`, `left`, `release-called`, `release-ended`, `command`, `promoted`, `demoted`, `registered`, `read-applied`, `write-applied`, `operation-refused`, `total`, `host`, `clock`, `paused`, `resumed`, `crashed`, `started`, `cut`, `healed`, `delayed`, `reset`, `heal-begun`, `fault`, `fault-ended`, `finished`, `end`; was it edited?"
        ],
    );
    says(
        |lines| lines[0] = lines[0].replace("call-bound", "call-bond"),
        expect![
            "line 1 is not a header: unknown field `call-bond`, expected one of `format`, `scenario`, `seed`, `engine`, `call-bound`, `acquire-bound`, `largest-ttl`, `node-timeout`, `latency`, `quorum`; was it edited?"
        ],
    );
}

#[test]
fn a_field_that_nobody_knows_is_not_passed_over() {
    // A misspelt token would otherwise be judged as none.
    says(
        |lines| lines[24] = lines[24].replace("token", "tokem"),
        expect!["line 25 has a field `tokem`, which this format does not know; was it edited?"],
    );
}

#[test]
fn lines_out_of_place_say_so() {
    says(
        |lines| drop(lines.remove(24)),
        expect![
            "line 25 has sequence number 24 where 23 comes next: a line is missing or out of place"
        ],
    );
    says(
        |lines| lines[25] = lines[25].replace("3000000000,\"kind\"", "1999999999,\"kind\""),
        expect![
            "line 26 is at 1.999999999 s, earlier than the line before it at 2.000 s: lines are out of place, or the recorder is broken"
        ],
    );
    says(
        |lines| lines.push(lines[26].replace("\"seq\":25", "\"seq\":26")),
        expect!["line 28 comes after the `end` event: two histories in one file? Keep one of them"],
    );
}

#[test]
fn hosts_and_clocks_are_introduced_first() {
    says(
        |lines| lines[23] = lines[23].replace("c1", "c9"),
        expect![
            "line 24 names `c9`, and no `host` event before it does: a line is missing, or the recorder is broken"
        ],
    );
    says(
        |lines| lines[2] = r#"{"seq":1,"at":0,"kind":"paused","host":"c1"}"#.to_owned(),
        expect![
            "line 25 needs the clock of `c1`, and no `clock` event before it gives it: a line is missing, or the recorder is broken"
        ],
    );
    says(
        |lines| lines[2] = lines[2].replace("\"from\":0", "\"from\":5"),
        expect![
            "line 3 is at 0.000 s and gives a clock from 0.000000005 s on: a segment begins in the instant of its event"
        ],
    );
}

#[test]
fn the_first_difference_shows_both_events() {
    let one = story("1s c1 begins\n2s c1 is-refused").history;
    let other = story("1s c1 begins\n3s c1 is-refused").history;
    expect![[r#"
        event 23 differs
          first:  {"seq":23,"at":2000000000,"kind":"refused","client":"c1","attempt":1,"key":"k","reason":"no majority","votes":[]}
          second: {"seq":23,"at":3000000000,"kind":"refused","client":"c1","attempt":1,"key":"k","reason":"no majority","votes":[]}"#]]
    .assert_eq(&first_difference(&one, &other).unwrap().to_string());
    let mut shorter = one.clone();
    shorter.events.pop();
    assert!(
        first_difference(&one, &shorter)
            .unwrap()
            .to_string()
            .ends_with("second: (has ended)")
    );
    let mut reseeded = one.clone();
    reseeded.header.seed = 8;
    assert!(
        first_difference(&one, &reseeded)
            .unwrap()
            .to_string()
            .starts_with("the headers differ")
    );
    assert_eq!(first_difference(&one, &one.clone()), None);
}

#[test]
fn a_digest_is_its_text() {
    let digest = story("1s c1 begins").history.digest();
    let text = digest.to_string();
    assert_eq!((text.len(), &text[..7]), (71, "sha256:"));
    assert_eq!(text.parse::<Digest>().unwrap(), digest);
    assert_eq!(
        serde_json::to_string(&digest).unwrap(),
        format!("\"{text}\"")
    );
    assert!("sha256:12".parse::<Digest>().is_err());
    // The digest of no bytes, as everybody knows it.
    let empty = "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
    assert_eq!(fencepost_checker::digest_of(b"").to_string(), empty);
}

#[test]
fn properties_go_by_the_names_of_the_design() {
    let names: Vec<String> = Property::ALL.iter().map(Property::to_string).collect();
    expect!["mutual-exclusion not-born-expired exclusive-access no-stale-write fencing-monotonic holder-not-refused no-lost-update money-conserved owner-only-release every-key-expires lease-kept deadlock-free fault-tolerant bounded-call"]
        .assert_eq(&names.join(" "));
    for (name, property) in names.iter().zip(Property::ALL) {
        assert_eq!(name.parse(), Ok(*property));
        assert_eq!(
            serde_json::to_string(property).unwrap(),
            format!("\"{name}\"")
        );
    }
    assert!(Property::ALL.is_sorted());
    assert!(
        "liveness"
            .parse::<Property>()
            .unwrap_err()
            .to_string()
            .contains("bounded-call")
    );
}
