//! Wrong usage and wrong files: exit 96, the place, and the way out.

use crate::program::{Place, scenario};

#[test]
fn wrong_usage_exits_96() {
    let place = Place::new();
    let calls: [&[&str]; 6] = [
        &["rum"],
        &["run"],
        &["run", "gc-pause", "--engine", "steam"],
        &["run", "gc-pause", "--seed", "-1"],
        &["replay", "gc-pause"],
        &["check", "no-such-file.jsonl"],
    ];
    for arguments in calls {
        let call = place.call(arguments);
        assert_eq!(call.code, 96, "{arguments:?}: {}", call.text());
        assert!(
            !call.stderr.is_empty() && call.stdout.is_empty(),
            "{arguments:?}"
        );
    }
    assert!(
        place
            .call(&["run", "gc-pause", "--engine", "steam"])
            .stderr
            .contains("turmoil")
    );
}

#[test]
fn a_one_way_partition_is_not_run_on_turmoil() {
    let place = Place::new();
    let text =
        scenario("clock-jump").replacen("how = \"drop\"", "how = \"drop\"\none-way = true", 1);
    let path = place.write("one-way.toml", &text);
    for command in [
        &["run", &path, "--engine", "turmoil"][..],
        &["replay", &path, "--seed", "1", "--engine", "turmoil"],
    ] {
        let call = place.call(command);
        assert_eq!(call.code, 96, "{}", call.text());
        assert!(call.stderr.contains("one-way"), "{}", call.stderr);
        assert!(call.stderr.contains("engine event"), "{}", call.stderr);
    }
    assert_eq!(place.call(&["run", &path]).code, 0);
}

#[test]
fn help_and_version_are_data() {
    let place = Place::new();
    for arguments in [&["--help"][..], &["run", "--help"], &["--version"]] {
        let call = place.call(arguments);
        assert_eq!(call.code, 0);
        assert!(!call.stdout.is_empty());
    }
}

#[test]
fn an_unknown_scenario_is_answered_with_the_nearest_name() {
    let call = Place::new().call(&["run", "gc-pase"]);
    assert_eq!(call.code, 96);
    assert!(call.stderr.contains("gc-pause"), "{}", call.stderr);
}

#[test]
fn a_wrong_file_shows_file_line_caret_and_the_nearest_name() {
    let place = Place::new();
    let cases = [
        ("ttl = \"30s\"", "ttll = \"30s\"", "`ttl`"),
        ("ttl = \"30s\"", "ttl = \"30 parsecs\"", "30 parsecs"),
        ("host = \"c1\"", "host = \"c9\"", "`c1`"),
        ("on = \"c1 read\"", "on = \"c1 reed\"", "`read`"),
        (
            "mutual-exclusion = ",
            "mutual-exclusoin = ",
            "`mutual-exclusion`",
        ),
    ];
    for (right, wrong, says) in cases {
        let text = scenario("gc-pause").replacen(right, wrong, 1);
        let line = text
            .lines()
            .position(|line| line.contains(wrong))
            .expect("the mistake is in it")
            + 1;
        let call = place.call(&["run", &place.write("wrong.toml", &text)]);
        assert_eq!(call.code, 96, "{wrong}: {}", call.text());
        for part in [
            format!("wrong.toml:{line}"),
            "^".to_owned(),
            says.to_owned(),
        ] {
            assert!(
                call.stderr.contains(&part),
                "{part} is not in\n{}",
                call.stderr
            );
        }
    }
}
