//! `fencing-monotonic`: tokens of a key differ, and an older acquisition has the smaller one.

use fencepost_checker::Outcome::{Holds, Vacuous, Violated};
use fencepost_checker::Property::FencingMonotonic;

use crate::dsl::story;

/// c1 and then c2, the second beginning after the first has decided.
fn tokens(first: &str, second: &str) -> crate::dsl::Story {
    story(&format!(
        "1s c1 begins\n2s c1 acquires until 9s {first}\n11s c2 begins\n12s c2 acquires until 19s {second}"
    ))
}

#[test]
fn growing_tokens_hold() {
    tokens("token=33", "token=34").is(FencingMonotonic, Holds);
    // Gaps do not matter.
    tokens("token=0", "token=900").is(FencingMonotonic, Holds);
}

#[test]
fn a_smaller_token_breaks_it() {
    // A counter that was lost starts again (KNOWN-BUGS 25).
    assert_eq!(
        tokens("token=41", "token=1")
            .is(FencingMonotonic, Violated)
            .violations,
        1
    );
}

#[test]
fn the_same_token_breaks_it_ordered_or_not() {
    assert_eq!(
        tokens("token=33", "token=33")
            .is(FencingMonotonic, Violated)
            .violations,
        1
    );
    let unordered = "1s c1 begins\n1s c2 begins\n2s c1 acquires until 9s token=5\n2s c2 acquires until 9s token=5";
    assert_eq!(
        story(unordered).is(FencingMonotonic, Violated).violations,
        1
    );
}

#[test]
fn where_neither_is_older_the_tokens_need_only_differ() {
    // c2 decides later with the smaller token, but it had begun before c1 decided.
    story("1s c1 begins\n1s c2 begins\n2s c1 acquires until 9s token=6\n3s c2 acquires until 9s token=5")
        .is(FencingMonotonic, Vacuous);
}

#[test]
fn of_one_instant_the_smaller_number_came_first() {
    story("1s c1 begins\n2s c1 acquires until 9s token=6\n2s c2 begins\n3s c2 acquires until 9s token=5")
        .is(FencingMonotonic, Violated);
    story("1s c1 begins\n2s c2 begins\n2s c1 acquires until 9s token=6\n3s c2 acquires until 9s token=5")
        .is(FencingMonotonic, Vacuous);
}

#[test]
fn without_tokens_or_pairs_it_is_vacuous() {
    tokens("", "").is(FencingMonotonic, Vacuous);
    tokens("token=33", "").is(FencingMonotonic, Vacuous);
    story("1s c1 begins\n2s c1 acquires until 9s token=1").is(FencingMonotonic, Vacuous);
}

#[test]
fn keys_have_their_own_tokens() {
    story("1s c1 begins key=a\n2s c1 acquires until 9s token=7 key=a\n11s c2 begins key=b\n12s c2 acquires until 19s token=7 key=b")
        .is(FencingMonotonic, Vacuous);
}

#[test]
fn the_older_one_need_not_be_the_last_one() {
    // c3 is not ordered with c2, but c1 is older than c2 and has the larger token.
    let verdict = story(
        "1s  c1 begins
         2s  c1 acquires until 9s token=50
         3s  c3 begins
         11s c2 begins
         12s c3 acquires until 19s token=51
         13s c2 acquires until 19s token=40",
    )
    .is(FencingMonotonic, Violated);
    assert!(
        verdict.witnesses[0].sentence.contains("c1"),
        "{:?}",
        verdict.witnesses
    );
}

#[test]
fn every_older_one_counts_and_not_only_the_latest() {
    // c2 is below c1; c3 is above c2 and below c1.
    let verdict = story(
        "1s  c1 begins
         2s  c1 acquires until 9s token=50
         11s c2 begins
         12s c2 acquires until 19s token=40
         21s c3 begins
         22s c3 acquires until 29s token=45",
    )
    .is(FencingMonotonic, Violated);
    assert_eq!(verdict.violations, 2);
}

#[test]
fn acquisitions_of_one_client_are_compared_too() {
    story("1s c1 begins\n2s c1 acquires until 9s token=2\n11s c1 begins\n12s c1 acquires until 19s token=1")
        .is(FencingMonotonic, Violated);
}

#[test]
fn a_token_that_was_fetched_after_the_decision_is_known_by_its_operations() {
    let late = |tokens: [u64; 2]| {
        let [first, second] = tokens;
        story(&format!(
            "1s c1 begins\n2s c1 acquires until 9s\n11s c2 begins\n12s c2 acquires until 19s\n\
             13s db writes c2 token={second}\n20s db writes c1 token={first}"
        ))
    };
    late([34, 33]).is(FencingMonotonic, Violated);
    late([33, 34]).is(FencingMonotonic, Holds);
    // The decision's own token is the acquisition's, whatever an operation carries.
    story("1s c1 begins\n2s c1 acquires until 9s token=33\n11s c2 begins\n12s c2 acquires until 19s token=34\n20s db writes c1 token=35")
        .is(FencingMonotonic, Holds);
}

/// c1 counts at n1, something happens, and c2 counts at `second`: both get 33.
#[track_caller]
fn counted_twice(then: &str, second: &str) -> Option<String> {
    let verdict = story(&format!(
        "1s c1 begins\n1s n1 INCR by c1 overwritten key=k:token\n2s c1 acquires until 9s token=33\n{then}\n\
         11s c2 begins\n11s {second} INCR by c2 overwritten key=k:token\n12s c2 acquires until 19s token=33"
    ))
    .is(FencingMonotonic, Violated);
    verdict.witnesses[0].cause.clone()
}

#[test]
fn a_counter_that_went_back_is_named() {
    let cause = |then, second| counted_twice(then, second).unwrap_or_default();
    assert_eq!(
        cause("5s n2 is-promoted", "n2"),
        "n2 was promoted without what n1 had counted for c1"
    );
    assert_eq!(
        cause("5s n1 loses-power\n6s n1 starts", "n1"),
        "n1 lost power and came back without what n1 had counted for c1"
    );
    // Nobody had promoted n2, or n1 had not been down in between: the history does not show why.
    assert_eq!(cause("5s n3 is-promoted", "n2"), "");
    assert_eq!(cause("5s n2 loses-power", "n1"), "");
}

#[test]
fn a_token_that_came_late_is_named() {
    let cause = |then: &str| {
        let story = story(&format!(
            "1s c1 begins\n2s c1 acquires until 9s\n{then}\n11s c2 begins\n12s c2 acquires until 19s token=33\n\
             20s db writes c1 token=34"
        ));
        let verdict = story.is(FencingMonotonic, Violated);
        verdict.witnesses[0].cause.clone().unwrap_or_default()
    };
    assert_eq!(
        cause("3s c1 stops\n10s c1 resumes"),
        "c1 was stopped for 7.000 s from 3.000 s on, between its decision and its token"
    );
    assert_eq!(cause("3s c2 stops\n10s c2 resumes"), "");
}
