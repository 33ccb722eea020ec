//! `money-conserved`: the sum over the accounts is unchanged.

use expect_test::expect;
use fencepost_checker::Outcome::{Holds, Vacuous, Violated};
use fencepost_checker::Property::MoneyConserved;

use crate::dsl::{Story, story};

fn accounts(then: &str) -> Story {
    story(&format!(
        "0s db totals 100\n1s c1 begins\n2s c1 acquires until 30s\n{then}"
    ))
}

#[test]
fn an_unchanged_sum_holds() {
    accounts("3s db writes c1\n3s db totals 100").is(MoneyConserved, Holds);
}

#[test]
fn every_sum_that_differs_from_the_first_breaks_it() {
    accounts("3s db writes c1\n3s db totals 90").is(MoneyConserved, Violated);
    let twice = "3s db writes c1\n3s db totals 110\n4s db writes c1\n4s db totals 110\n5s db writes c1\n5s db totals 100";
    assert_eq!(accounts(twice).is(MoneyConserved, Violated).violations, 2);
    accounts("3s db writes c1\n3s db totals -100").is(MoneyConserved, Violated);
}

#[test]
fn without_a_transfer_it_is_vacuous() {
    accounts("3s c1 waits").is(MoneyConserved, Vacuous);
    accounts("3s db reads c1\n3s db totals 100").is(MoneyConserved, Vacuous);
    // Writes of what has no accounts.
    story("1s c1 begins\n2s c1 acquires until 30s\n3s db writes c1").is(MoneyConserved, Vacuous);
}

#[test]
fn each_resource_has_its_own_sum() {
    accounts("2s db2 totals 7\n3s db2 writes c1\n3s db2 totals 7").is(MoneyConserved, Holds);
    accounts("2s db totals 7 key=z\n3s db writes c1\n3s db totals 7 key=z")
        .is(MoneyConserved, Holds);
}

#[test]
fn the_witness_names_the_write() {
    let verdict = accounts("3s db writes c1\n3s db totals 90").is(MoneyConserved, Violated);
    expect![
        "the accounts of db held 100 at 0.000 s and 90 at 3.000 s, after a write of c1 at 3.000 s"
    ]
    .assert_eq(&verdict.witnesses[0].sentence);
}
