//! What is expected, the facts, and flips.

use expect_test::expect;

use super::check;

#[test]
fn a_property_that_does_not_exist() {
    check(
        r#"
[expect]
mutal-exclusion = "holds"
"#,
        expect![[r#"
            error: unknown property `mutal-exclusion`
              --> wrong.toml:15:1
               |
            15 | mutal-exclusion = "holds"
               | ^^^^^^^^^^^^^^^
               |
               = help: did you mean `mutual-exclusion`?
        "#]],
    );
}

#[test]
fn an_expectation_that_does_not_exist() {
    check(
        r#"
[expect]
mutual-exclusion = "hold"
"#,
        expect![[r#"
            error: unknown value `hold`
              --> wrong.toml:15:20
               |
            15 | mutual-exclusion = "hold"
               |                    ^^^^^^
               |
               = help: did you mean `holds`?
        "#]],
    );
}

#[test]
fn a_fact_that_does_not_exist() {
    check(
        r#"
[expect]
facts = ["c1 acquired", "c1 never aquired"]
"#,
        expect![[r#"
            error: unknown fact `c1 never aquired`
              --> wrong.toml:15:26
               |
            15 | facts = ["c1 acquired", "c1 never aquired"]
               |                          ^^^^^^^^^^^^^^^^
               |
               = help: did you mean `CLIENT never acquired`?
        "#]],
    );
}

#[test]
fn a_fact_about_a_client_that_does_not_exist() {
    check(
        r#"
[expect]
facts = ["c7 acquired"]
"#,
        expect![[r#"
            error: unknown client `c7`
              --> wrong.toml:15:11
               |
            15 | facts = ["c7 acquired"]
               |           ^^
               |
               = help: did you mean `c1`?
        "#]],
    );
}

#[test]
fn a_fact_about_a_node_that_does_not_exist() {
    check(
        r#"
[expect]
facts = ["c1's quorum was n1 n2 n9"]
"#,
        expect![[r#"
            error: unknown node `n9`
              --> wrong.toml:15:33
               |
            15 | facts = ["c1's quorum was n1 n2 n9"]
               |                                 ^^
               |
               = help: did you mean `n1`?
        "#]],
    );
}

#[test]
fn a_fact_with_a_wrong_duration() {
    check(
        r#"
[expect]
facts = ["c1 acquired by 5"]
"#,
        expect![[r#"
            error: wrong value `5`: a unit is missing, as in `5ms`
              --> wrong.toml:15:26
               |
            15 | facts = ["c1 acquired by 5"]
               |                          ^
        "#]],
    );
}

#[test]
fn a_wrong_key_inside_a_flip() {
    check(
        r#"
[[flip]]
set = { resource.fencin = "token" }
"#,
        expect![[r#"
            error: unknown key `fencin`
              --> wrong.toml:15:18
               |
            14 | [[flip]]
               | -------- in this flip
            15 | set = { resource.fencin = "token" }
               |                  ^^^^^^
               |
               = help: did you mean `fencing`?
        "#]],
    );
}

#[test]
fn a_wrong_key_of_a_flip() {
    check(
        r#"
[[flip]]
why = "w"
sets = { }
"#,
        expect![[r#"
            error: unknown key `sets`
              --> wrong.toml:16:1
               |
            16 | sets = { }
               | ^^^^
               |
               = help: did you mean `set`?
        "#]],
    );
}

#[test]
fn a_wrong_value_inside_a_flip() {
    check(
        r#"
[[flip]]
set = { system.ttl = "5" }
"#,
        expect![[r#"
            error: wrong value `5`: a unit is missing, as in `5ms`
              --> wrong.toml:15:22
               |
            14 | [[flip]]
               | -------- in this flip
            15 | set = { system.ttl = "5" }
               |                      ^^^
        "#]],
    );
}

#[test]
fn a_wrong_expectation_inside_a_flip() {
    check(
        r#"
[[flip]]
expect = { no-stale-writes = "holds" }
"#,
        expect![[r#"
            error: unknown property `no-stale-writes`
              --> wrong.toml:15:12
               |
            14 | [[flip]]
               | -------- in this flip
            15 | expect = { no-stale-writes = "holds" }
               |            ^^^^^^^^^^^^^^^
               |
               = help: did you mean `no-stale-write`?
        "#]],
    );
}

#[test]
fn a_flip_that_takes_away_what_the_scenario_needs() {
    check(
        r#"
[[pause]]
host = "c2"
at = "1s"
for = "5s"

[[flip]]
set = { client = [{ name = "c1" }] }
"#,
        expect![[r#"
            error: unknown host `c2`
              --> wrong.toml:15:8
               |
            15 | host = "c2"
               |        ^^^^
            ...
            19 | [[flip]]
               | -------- in this flip
               |
               = help: did you mean `c1`?
        "#]],
    );
}
