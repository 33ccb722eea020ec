//! `no-lost-update`: every applied write was computed from the version that the write before it left.

use expect_test::expect;
use fencepost_checker::Outcome::{Holds, Vacuous, Violated};
use fencepost_checker::Property::NoLostUpdate;

use crate::dsl::{Story, story};

/// c1 holds from 2 s to 10 s and c2 from 20 s on; then `then`.
fn two(then: &str) -> Story {
    story(&format!(
        "1s c1 begins\n2s c1 acquires until 10s\n11s c2 begins\n20s c2 acquires until 50s\n{then}"
    ))
}

#[test]
fn one_after_the_other_is_no_test() {
    two("21s db reads c1\n22s db writes c1 over=0\n23s db reads c2\n24s db writes c2 over=1")
        .is(NoLostUpdate, Vacuous);
}

#[test]
fn a_write_from_an_older_version_is_a_lost_update() {
    let lost = two(
        "21s db reads c1\n22s db reads c2\n23s db writes c2 over=0\n24s db writes c1 read=0 over=1",
    );
    assert_eq!(lost.is(NoLostUpdate, Violated).violations, 1);
    // Also where nothing interleaved.
    two("24s db writes c1 read=0 over=1").is(NoLostUpdate, Violated);
    // From a newer version it cannot be, and it is not what was there.
    two("24s db writes c1 read=2 over=1").is(NoLostUpdate, Violated);
}

#[test]
fn a_refused_write_loses_nothing_and_is_a_test() {
    two("21s db reads c1\n22s db reads c2\n23s db writes c2 over=0\n24s db refuses c1")
        .is(NoLostUpdate, Holds);
}

#[test]
fn what_is_read_again_is_no_lost_update() {
    two("21s db reads c1\n22s db writes c2 over=0\n23s db writes c1 over=1")
        .is(NoLostUpdate, Holds);
}

#[test]
fn a_resend_is_not_judged_again() {
    two("21s db reads c1\n22s db writes c1 op=70 over=0\n23s db writes c2 over=1\n24s db writes c1 op=70 read=0 over=2").is(NoLostUpdate, Holds);
    // The same id of another client, at another resource or of another key is another operation.
    two("22s db writes c1 op=70 over=0\n24s db writes c2 op=70 read=0 over=1")
        .is(NoLostUpdate, Violated);
    two("22s db writes c1 op=70 over=0\n24s db2 writes c1 op=70 read=0 over=1")
        .is(NoLostUpdate, Violated);
    two("22s db writes c1 op=70 over=0\n24s db writes c1 op=70 read=0 over=1 key=z")
        .is(NoLostUpdate, Violated);
}

#[test]
fn each_resource_and_key_interleaves_by_itself() {
    two("21s db reads c1\n22s db2 reads c2\n23s db reads c1").is(NoLostUpdate, Vacuous);
    two("21s db reads c1\n22s db reads c2 key=z\n23s db reads c1").is(NoLostUpdate, Vacuous);
    two("21s db reads c1\n22s db reads c2\n23s db reads c1").is(NoLostUpdate, Holds);
    // Two acquisitions of one client are two.
    story("1s c1 begins\n2s c1 acquires until 3s\n4s c1 begins\n5s c1 acquires until 9s\n6s db reads c1 attempt=1\n7s db reads c1 attempt=2\n8s db reads c1 attempt=1").is(NoLostUpdate, Holds);
    // Who won nothing is no acquisition.
    two("20s c3 begins\n21s db reads c1\n22s db reads c3\n23s db reads c1")
        .is(NoLostUpdate, Vacuous);
}

#[test]
fn the_cause_says_who_was_late() {
    let paused = "1s c1 begins\n2s c1 acquires until 10s\n3s db reads c1\n3s c1 stops\n11s c2 begins\n20s c2 acquires until 50s";
    let shown = |then: &str| {
        let verdict = story(&format!("{paused}\n{then}")).is(NoLostUpdate, Violated);
        format!(
            "{}\n{}",
            verdict.witnesses[0].sentence,
            verdict.witnesses[0].cause.as_ref().unwrap()
        )
    };
    expect![[r#"
        db applied a write of c1 on `k` at 22.000 s that was computed from version 0, over version 1, which c2 had left at 21.000 s
        c1 was stopped for 19.000 s from 3.000 s on; its lease ended at 10.000 s; c2 wrote at 21.000 s and c1 at 22.000 s"#]].assert_eq(&shown(
        "21s db writes c2 over=0\n22s c1 resumes\n22s db writes c1 read=0 over=1",
    ));
    // The late write slipped in between.
    expect![[r#"
        db applied a write of c2 on `k` at 23.000 s that was computed from version 0, over version 1, which c1 had left at 22.000 s
        c1 was stopped for 19.000 s from 3.000 s on; its lease ended at 10.000 s; c2 wrote at 23.000 s and c1 at 22.000 s"#]].assert_eq(&shown(
        "21s db reads c2\n22s c1 resumes\n22s db writes c1 over=0\n23s db writes c2 read=0 over=1",
    ));
    expect![[r#"
        db applied a write of c2 on `k` at 23.000 s that was computed from version 0, over version 1, which c2 had left at 21.000 s
        c2 wrote again from what it had read before its own write"#]].assert_eq(&shown(
        "21s db writes c2 over=0\n23s db writes c2 read=0 over=1",
    ));
}
