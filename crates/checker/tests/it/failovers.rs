//! Causes that come of replicas: what was promoted, what it lacked, what it copied.

use expect_test::{Expect, expect};
use fencepost_checker::Property::MutualExclusion;

use crate::dsl::story;

/// c1 has its key at n1 from 2 s on, until 29.7 s; then `then`; then c2 has its own at n2.
fn pair(then: &str) -> String {
    format!(
        "1s c1 begins
         1s n1 SET by c1 created expires=31s
         {then}
         20s c2 begins
         20s n2 SET by c2 created expires=50s
         21s c2 acquires until 49.7s from=n2"
    )
}

#[track_caller]
fn cause(then: &str, expected: Expect) {
    expected.assert_eq(&story(&pair(then)).cause(MutualExclusion));
}

const HOLDS: &str = "2s c1 acquires until 29.7s from=n1";

#[test]
fn a_replica_that_lacked_the_key() {
    cause(
        &format!("{HOLDS}\n3s n1 loses-power\n8s n2 is-promoted"),
        expect!["n2 was promoted without the key of c1, which n1 had not replicated"],
    );
    // Another key came over, or another client's.
    cause(
        &format!("1s n2 replicate created key=z expires=31s\n{HOLDS}\n8s n2 is-promoted"),
        expect!["n2 was promoted without the key of c1, which n1 had not replicated"],
    );
    // Without a promotion it is no failover.
    cause(
        HOLDS,
        expect!["c1 counted n1 as its quorum and c2 counted n2: they have no node in common"],
    );
    cause(
        &format!("{HOLDS}\n8s n3 is-promoted"),
        expect!["c1 counted n1 as its quorum and c2 counted n2: they have no node in common"],
    );
}

#[test]
fn a_primary_that_went_on() {
    let promoted_before = pair(HOLDS).replace("1s c1 begins", "0.5s n2 is-promoted\n1s c1 begins");
    expect!["n2 had been promoted while n1 went on as a primary, where c1 made its key"]
        .assert_eq(&story(&promoted_before).cause(MutualExclusion));
    let copied =
        format!("1.1s n2 replicate created expires=12s\n{HOLDS}").replace("29.7s", "11.7s");
    let renewed = |at: &str, promoted: &str| {
        let renewal = format!(
            "{at} n1 EVALSHA by c1 expiry-changed of=c1 expires=41s\n{at} c1 extends until 40s from=n1"
        );
        let mut lines = [renewal, format!("{promoted} n2 is-promoted")];
        lines.sort_by_key(|line| line.trim_start().starts_with("9s"));
        format!(
            "{copied}\n{}\n12s n2 expire expired of=c1",
            lines.join("\n")
        )
    };
    cause(
        &renewed("9s", "8s"),
        expect!["n2 was promoted while n1 went on as a primary, where c1 renewed its key"],
    );
    cause(
        &renewed("7s", "9s"),
        expect!["n2 was promoted without the renewal of c1, which n1 had not replicated"],
    );
}

#[test]
fn a_replica_that_copied_emptiness() {
    // The rival is at the primary that came back empty, or at the replica that followed it.
    let emptied = "3s n1 loses-power\n3.1s n1 starts\n3.2s n2 replicate deleted of=c1";
    let copied = format!("1.1s n2 replicate created expires=31s\n{HOLDS}\n{emptied}");
    expect!["n1 lost power and came back without the key of c1 (persistence), and n2 copied that"]
        .assert_eq(&story(&pair(&copied).replace("n2 SET", "n1 SET")).cause(MutualExclusion));
    cause(
        &format!("{copied}\n8s n2 is-promoted"),
        expect![
            "n1 lost power and came back without the key of c1 (persistence), and n2 copied that"
        ],
    );
    // Without a command of its own it shows only when the rival's key comes over.
    let unseen = copied.replace("3.2s n2 replicate deleted of=c1", "");
    let rival =
        pair(&unseen).replace("n2 SET", "n1 SET") + "\n21s n2 replicate created expires=50s";
    expect!["n1 lost power and came back without the key of c1 (persistence), and n2 copied that"]
        .assert_eq(&story(&rival).cause(MutualExclusion));
    // Or when the rival finds nothing.
    cause(
        &format!(
            "{}\n8s n2 is-promoted",
            copied.replace("\n3.2s n2 replicate deleted of=c1", "")
        ),
        expect![
            "n1 lost power and came back without the key of c1 (persistence), and n2 copied that"
        ],
    );
}

#[test]
fn a_promoted_replica_judges_by_its_own_clock() {
    let copied = |clock: &str| {
        format!(
            "1s n2 clock {clock}\n1.1s n2 replicate created expires=31s\n{HOLDS}\n8s n2 is-promoted\n9s n2 expire expired of=c1"
        )
    };
    cause(
        &copied("steps +25s"),
        expect![
            "n2's wall clock stepped forward by 25.000 s, so its copy of the key of c1 expired early"
        ],
    );
    cause(
        &copied("ppm 4000000"),
        expect![
            "n2's wall clock runs fast by 4000000 ppm, so its copy of the key of c1 expired early"
        ],
    );
}

#[test]
fn a_holder_that_outlasted_both() {
    let text = "1s c1 begins
         1s n1 SET by c1 created expires=11s
         1.1s n2 replicate created expires=11s
         2s c1 acquires until 29.7s from=n1
         8s n2 is-promoted
         11s n2 expire expired of=c1
         20s c2 begins
         20s n2 SET by c2 created expires=50s
         21s c2 acquires until 49.7s from=n2";
    expect!["c1 counted its lease longer than its key lived: its key at n1 ran out at 11.000 s"]
        .assert_eq(&story(text).cause(MutualExclusion));
}
