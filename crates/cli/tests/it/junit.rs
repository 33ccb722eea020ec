//! JUnit XML, as a CI system reads it.

use quick_junit::{Report, TestCaseStatus, XmlString};

use crate::program::{Call, Place};

/// The cases of each suite, with the type and the message of those that failed.
fn read(place: &Place, name: &str) -> Vec<(String, Vec<(String, String)>)> {
    let text = std::fs::read_to_string(place.path(name)).expect("it was written");
    let report = Report::deserialize_from_str(&text).expect("it is JUnit XML");
    let suites = report.test_suites.iter().map(|suite| {
        let cases = suite.test_cases.iter().map(|case| {
            let status = match &case.status {
                TestCaseStatus::Success { .. } => "success".to_owned(),
                TestCaseStatus::NonSuccess { ty, message, .. } => {
                    format!("{}: {}", part(ty), part(message))
                }
                TestCaseStatus::Skipped { message, .. } => format!("skipped: {}", part(message)),
            };
            (case.name.as_str().to_owned(), status)
        });
        (suite.name.as_str().to_owned(), cases.collect())
    });
    suites.collect()
}

fn part(text: &Option<XmlString>) -> &str {
    text.as_ref().map_or("", XmlString::as_str)
}

fn call(place: &Place, arguments: &[&str]) -> Call {
    place.call(&[arguments, &["--junit", "junit.xml"]].concat())
}

#[test]
fn a_run_has_a_case_for_each_property_that_it_judges() {
    let place = Place::new();
    assert_eq!(call(&place, &["run", "canary/wrong-expectation"]).code, 1);
    assert_eq!(
        read(&place, "junit.xml"),
        [(
            "canary/wrong-expectation".to_owned(),
            vec![
                (
                    "exclusive-access".to_owned(),
                    "otherwise: expected holds, came out violated".to_owned()
                ),
                ("facts".to_owned(), "success".to_owned()),
            ]
        )]
    );
    assert_eq!(call(&place, &["run", "gc-pause", "--flips"]).code, 0);
    let suites = read(&place, "junit.xml");
    let names: Vec<&str> = suites.iter().map(|(name, _)| &**name).collect();
    assert_eq!(names, ["gc-pause", "gc-pause/flip-1", "gc-pause/flip-2"]);
    let cases = suites.iter().flat_map(|(_, cases)| cases);
    assert!(cases.clone().count() > 9);
    assert!(cases.clone().all(|(_, status)| status == "success"));
}

#[test]
fn a_fact_that_was_not_met_and_what_is_too_few_are_told() {
    let place = Place::new();
    let unmet = [
        "run",
        "gc-pause",
        "--set",
        "pause=[]",
        "--set",
        "expect.exclusive-access=any",
    ];
    assert_eq!(call(&place, &unmet).code, 2);
    let suites = read(&place, "junit.xml");
    let facts = suites[0].1.last().expect("there are cases");
    assert_eq!(facts.1, "vacuous: a fact was not met");
    let few = ["sweep", "random/redlock", "--seeds", "0..2"];
    assert_eq!(call(&place, &few).code, 0);
    let suites = read(&place, "junit.xml");
    let skipped = suites[0]
        .1
        .iter()
        .find(|(name, _)| name == "mutual-exclusion");
    let (_, status) = skipped.expect("it is judged");
    assert!(status.starts_with("skipped: too few schedules"), "{status}");
}

#[test]
fn a_sweep_that_fails_has_a_case_for_all_of_it() {
    let place = Place::new();
    let wrong = ["sweep", "canary/wrong-expectation", "--seeds", "0..4"];
    assert_eq!(call(&place, &wrong).code, 1);
    let suites = read(&place, "junit.xml");
    let [(property, first), (all, last)] = &suites[0].1[..] else {
        panic!("{suites:?}");
    };
    assert_eq!((&**property, &**all), ("exclusive-access", "all schedules"));
    assert!(
        first.starts_with("otherwise: expected holds: held in 0, was violated in 4"),
        "{first}"
    );
    assert!(last.starts_with("otherwise: 4 schedules"), "{last}");
}

#[test]
fn a_report_that_cannot_be_written_is_told() {
    let place = Place::new();
    let call = place.call(&["run", "gc-pause", "--junit", "nowhere/junit.xml"]);
    assert_eq!(call.code, 101);
    assert!(
        call.stderr.contains("failed to write nowhere/junit.xml"),
        "{}",
        call.stderr
    );
}
