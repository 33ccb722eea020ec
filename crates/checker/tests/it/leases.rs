//! When a lease begins and ends. A contender's decision shows it: inside is a violation of `mutual-exclusion`.

use fencepost_checker::Outcome::{Holds, Violated};
use fencepost_checker::Property::MutualExclusion;
use fencepost_checker::Time;
use fencepost_checker::leases::Ended;
use fencepost_checker::run::Run;

use crate::dsl::story;

/// c1 acquires at 2 s until 30 s, `then` happens, and c2 decides at 20 s (inside) or later.
fn contender_decides(at: &str, then: &str) -> crate::dsl::Story {
    story(&format!(
        "1s c1 begins\n2s c1 acquires until 30s\n2s c2 begins\n{then}\n{at} c2 acquires until 90s"
    ))
}

#[test]
fn release_called_ends_it_and_not_what_release_answers() {
    contender_decides("5s", "4s c1 releases\n5s c1 waits").is(MutualExclusion, Holds);
    contender_decides("20s", "21s c1 waits").is(MutualExclusion, Violated);
}

#[test]
fn being_told_that_it_is_lost_ends_it() {
    contender_decides("20s", "10s c1 loses").is(MutualExclusion, Holds);
}

#[test]
fn the_death_of_the_process_ends_it() {
    contender_decides("20s", "10s c1 crashes").is(MutualExclusion, Holds);
    // Also if it comes back: a process that starts holds nothing.
    contender_decides("20s", "10s c1 crashes\n11s c1 starts").is(MutualExclusion, Holds);
}

#[test]
fn the_death_of_another_host_does_not() {
    contender_decides("20s", "10s n1 crashes\n11s c3 crashes").is(MutualExclusion, Violated);
}

#[test]
fn a_stop_does_not_end_it() {
    contender_decides("20s", "3s c1 stops").is(MutualExclusion, Violated);
}

#[test]
fn leaving_the_section_does_not_end_it() {
    contender_decides("20s", "2s c1 enters\n3s c1 leaves").is(MutualExclusion, Violated);
}

#[test]
fn an_extension_moves_the_deadline_of_the_latest_decision() {
    contender_decides("31s", "20s c1 extends until 50s").is(MutualExclusion, Violated);
    contender_decides("50s", "20s c1 extends until 50s").is(MutualExclusion, Holds);
    // The latest decision counts, also if its deadline is the earlier one.
    contender_decides("26s", "20s c1 extends until 25s").is(MutualExclusion, Holds);
}

#[test]
fn a_later_extension_opens_a_lease_again() {
    let story = contender_decides("45s", "30s c1 waits\n40s c1 extends until 50s");
    story.is(MutualExclusion, Violated);
    let run = Run::of(&story.history);
    let spans: Vec<(Time, Time)> = run
        .leases
        .iter()
        .map(|lease| (lease.span.from.at, lease.span.end.unwrap().at))
        .collect();
    let seconds = |from, to| {
        (
            Time(from * crate::dsl::SECOND),
            Time(to * crate::dsl::SECOND),
        )
    };
    assert_eq!(spans, [seconds(2, 30), seconds(40, 50), seconds(45, 90)]);
    // Between the two it held nothing.
    contender_decides("35s", "34s c1 waits").is(MutualExclusion, Holds);
}

#[test]
fn an_extension_in_the_instant_of_the_deadline_opens_a_new_lease() {
    // At 30 s the old lease is over, so what is decided at 30 s before the extension is inside nothing.
    let text = "1s c1 begins\n2s c1 acquires until 30s\n2s c2 begins\n30s c2 acquires until 31s\n30s c1 extends until 50s";
    let story = story(text);
    // The extension itself then falls into the lease of c2.
    assert_eq!(story.is(MutualExclusion, Violated).violations, 1);
    assert_eq!(Run::of(&story.history).leases.len(), 3);
}

#[test]
fn an_extension_past_its_own_deadline_ends_the_lease() {
    // The latest decision is the one that counts, and its deadline has been reached.
    contender_decides("20s", "10s c1 extends until 9s").is(MutualExclusion, Holds);
}

#[test]
fn an_extension_after_lost_or_released_opens_it_again() {
    contender_decides("20s", "10s c1 loses\n11s c1 extends until 40s")
        .is(MutualExclusion, Violated);
    contender_decides("20s", "10s c1 releases\n11s c1 extends until 40s")
        .is(MutualExclusion, Violated);
}

#[test]
fn without_a_deadline_there_is_no_such_end() {
    let for_ever = |then: &str| {
        story(&format!(
            "1s c1 begins\n2s c1 acquires for-ever\n2s c2 begins\n{then}\n9000s c2 acquires until 9001s"
        ))
    };
    for_ever("3s c1 stops").is(MutualExclusion, Violated);
    for_ever("3s c1 releases").is(MutualExclusion, Holds);
    assert_eq!(
        Run::of(&for_ever("3s c1 stops").history).leases[0].ended,
        Ended::Nothing
    );
    // An extension can take the deadline away, and give one.
    for_ever("3s c1 extends until 30s").is(MutualExclusion, Holds);
}

#[test]
fn what_ends_it_is_the_first_of_all() {
    let ended = |then: &str| Run::of(&contender_decides("80s", then).history).leases[0].ended;
    assert_eq!(
        ended("10s c1 releases\n11s c1 loses\n12s c1 crashes"),
        Ended::Released
    );
    assert_eq!(ended("10s c1 loses\n11s c1 releases"), Ended::Lost);
    assert_eq!(ended("10s c1 crashes"), Ended::Died);
    assert_eq!(ended("31s c1 releases"), Ended::Deadline);
    // In the instant of the deadline the clock is first, whatever the numbers.
    assert_eq!(ended("30s c1 releases"), Ended::Deadline);
}

#[test]
fn only_the_owner_ends_its_lease() {
    // An attempt of the same client that is not the holder.
    contender_decides("20s", "3s c1 begins\n4s c1 loses\n5s c1 is-refused")
        .is(MutualExclusion, Violated);
    contender_decides("20s", "3s c1 releases key=other").is(MutualExclusion, Violated);
}
