//! One golden message for each kind of wrong input: file, line, caret, and the nearest known name.

mod clients;
mod expectations;
mod faults;
mod system;
mod text;
mod triggers;

use expect_test::Expect;
use fencepost::scenario::Scenario;

use crate::BASE;

/// Reads the base scenario with `extra` behind it, and compares what is said of it.
fn check(extra: &str, expected: Expect) {
    check_whole(&format!("{BASE}{extra}"), expected);
}

fn check_whole(text: &str, expected: Expect) {
    let error = Scenario::parse("wrong", "wrong.toml", text).expect_err("this is wrong");
    expected.assert_eq(&format!("{error}\n"));
}
