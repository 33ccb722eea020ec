//! `not-born-expired`: every decision has its deadline in the future on its own clock.

use fencepost_checker::Outcome::{Holds, Vacuous, Violated};
use fencepost_checker::Property::NotBornExpired;

use crate::dsl::story;

#[test]
fn a_deadline_in_the_future_holds() {
    story("1s c1 begins\n2s c1 acquires until 30s").is(NotBornExpired, Holds);
}

#[test]
fn a_deadline_in_the_past_or_right_now_breaks_it() {
    story("1s c1 begins\n31s c1 acquires until 30s").is(NotBornExpired, Violated);
    // Zero validity is not in the future (KNOWN-BUGS 8).
    story("1s c1 begins\n30s c1 acquires until 30s").is(NotBornExpired, Violated);
    story("1s c1 begins\n30s-1ns c1 acquires until 30s").is(NotBornExpired, Holds);
}

#[test]
fn an_extension_is_a_decision_too() {
    let verdict = story("1s c1 begins\n2s c1 acquires until 30s\n40s c1 extends until 35s")
        .is(NotBornExpired, Violated);
    assert_eq!(verdict.violations, 1);
}

#[test]
fn its_own_clock_decides_and_not_true_time() {
    // c1's clocks are 40 s behind true time by the decision: the deadline is in their future.
    let slept = "1s c1 begins\n2s c1 clock monotonic-ppm -1000000\n42s c1 clock monotonic-ppm 0\n43s c1 acquires until 30s";
    story(slept).is(NotBornExpired, Holds);
    // The wall clock went on, and a lock that measures by it sees that.
    story(
        &slept
            .replace("begins", "begins by=wall")
            .replace("30s", "30s by=wall"),
    )
    .is(NotBornExpired, Violated);
    // A wall clock that stepped back.
    let stepped = "1s c1 begins by=wall\n2s c1 clock steps -20s\n40s c1 acquires until 30s by=wall";
    story(stepped).is(NotBornExpired, Holds);
}

#[test]
fn without_a_deadline_nothing_expires() {
    story("1s c1 begins\n2s c1 acquires for-ever").is(NotBornExpired, Holds);
}

#[test]
fn without_a_decision_it_is_vacuous() {
    story("1s c1 begins\n2s c1 is-refused").is(NotBornExpired, Vacuous);
}
