//! What is wrong with a file whatever it is about: its syntax, its keys, its values.

use expect_test::expect;

use super::{check, check_whole};

#[test]
fn no_toml() {
    check_whole(
        r#"claim = "a" "b"
"#,
        expect![[r#"
            error: unexpected key or value, expected newline, `#`
             --> wrong.toml:1:13
              |
            1 | claim = "a" "b"
              |             ^
        "#]],
    );
}

#[test]
fn a_missing_key() {
    check_whole(
        r#"document = "000"
[system]
kind = "single"
"#,
        expect![[r#"
            error: missing key `claim`
             --> wrong.toml:1:1
              |
            1 | document = "000"
              | ^
        "#]],
    );
}

#[test]
fn an_unknown_key_at_the_top() {
    check_whole(
        r#"claim = "a"
document = "b"
hoirzon = "5s"
[system]
kind = "single"
[[client]]
name = "c1"
"#,
        expect![[r#"
            error: unknown key `hoirzon`
             --> wrong.toml:3:1
              |
            3 | hoirzon = "5s"
              | ^^^^^^^
              |
              = help: did you mean `horizon`?
        "#]],
    );
}

#[test]
fn an_unknown_table() {
    check(
        r#"
[[pasue]]
host = "c1"
"#,
        expect![[r#"
            error: unknown key `pasue`
              --> wrong.toml:14:3
               |
            14 | [[pasue]]
               |   ^^^^^
               |
               = help: did you mean `pause`?
        "#]],
    );
}

#[test]
fn an_unknown_key_of_a_fault() {
    check(
        r#"
[[pause]]
host = "c1"
fro = "5s"
at = "1s"
"#,
        expect![[r#"
            error: unknown key `fro`
              --> wrong.toml:16:1
               |
            16 | fro = "5s"
               | ^^^
               |
               = help: did you mean `for`?
        "#]],
    );
}

#[test]
fn an_unknown_value() {
    check(
        r#"
[resource]
fencing = "tokens"
"#,
        expect![[r#"
            error: unknown value `tokens`
              --> wrong.toml:15:11
               |
            15 | fencing = "tokens"
               |           ^^^^^^^^
               |
               = help: did you mean `token`?
        "#]],
    );
}

#[test]
fn a_wrong_type() {
    check(
        r#"
[[pause]]
host = 5
at = "1s"
for = "5s"
"#,
        expect![[r#"
            error: wrong type: integer `5`, expected a string
              --> wrong.toml:15:8
               |
            15 | host = 5
               |        ^
        "#]],
    );
}

#[test]
fn a_wrong_type_where_a_name_of_a_value_is_wanted() {
    check(
        r#"
[resource]
fencing = 3
"#,
        expect![[r#"
            error: wrong type: expected a string
              --> wrong.toml:15:11
               |
            15 | fencing = 3
               |           ^
        "#]],
    );
}

#[test]
fn a_duration_without_a_unit() {
    check(
        r#"
[[pause]]
host = "c1"
at = "1s"
for = "250"
"#,
        expect![[r#"
            error: wrong value `250`: a unit is missing, as in `250ms`
              --> wrong.toml:17:7
               |
            17 | for = "250"
               |       ^^^^^
        "#]],
    );
}

#[test]
fn a_duration_as_a_number() {
    check(
        r#"
[[pause]]
host = "c1"
at = "1s"
for = 250
"#,
        expect![[r#"
            error: wrong value `250`: expected a duration such as "250ms", or a range such as ["5s", "40s"]
              --> wrong.toml:17:7
               |
            17 | for = 250
               |       ^^^
        "#]],
    );
}

#[test]
fn a_duration_with_an_unknown_unit() {
    check(
        r#"
[[pause]]
host = "c1"
at = "1s"
for = "5 parsecs"
"#,
        expect![[r#"
            error: wrong value `5 parsecs`: the unit `parsecs` is not one of ns, us, ms, s, m, h
              --> wrong.toml:17:7
               |
            17 | for = "5 parsecs"
               |       ^^^^^^^^^^^
        "#]],
    );
}

#[test]
fn a_duration_with_an_averaged_unit() {
    check(
        r#"
[[pause]]
host = "c1"
at = "1s"
for = "1month"
"#,
        expect![[r#"
            error: wrong value `1month`: the unit `month` is not one of ns, us, ms, s, m, h
              --> wrong.toml:17:7
               |
            17 | for = "1month"
               |       ^^^^^^^^
        "#]],
    );
}

#[test]
fn a_negative_duration() {
    check(
        r#"
[[pause]]
host = "c1"
at = "1s"
for = "-5s"
"#,
        expect![[r#"
            error: wrong value `-5s`: a duration cannot be negative
              --> wrong.toml:17:7
               |
            17 | for = "-5s"
               |       ^^^^^
        "#]],
    );
}

#[test]
fn an_empty_range() {
    check(
        r#"
[[pause]]
host = "c1"
at = "1s"
for = ["40s", "5s"]
"#,
        expect![[r#"
            error: empty range: the first end is the larger one
              --> wrong.toml:17:7
               |
            17 | for = ["40s", "5s"]
               |       ^^^^^^^^^^^^^
        "#]],
    );
}

#[test]
fn a_range_of_three() {
    check(
        r#"
[[pause]]
host = "c1"
at = "1s"
for = ["1s", "2s", "3s"]
"#,
        expect![[r#"
            error: a range has two ends, not 3
              --> wrong.toml:17:7
               |
            17 | for = ["1s", "2s", "3s"]
               |       ^^^^^^^^^^^^^^^^^^
        "#]],
    );
}

#[test]
fn a_wrong_end_of_a_range() {
    check(
        r#"
[[pause]]
host = "c1"
at = "1s"
for = ["1s", "2x"]
"#,
        expect![[r#"
            error: wrong value `2x`: the unit `x` is not one of ns, us, ms, s, m, h
              --> wrong.toml:17:14
               |
            17 | for = ["1s", "2x"]
               |              ^^^^
        "#]],
    );
}

#[test]
fn a_rate_out_of_reason() {
    check(
        r#"
[[clock]]
host = "n1"
rate-ppm = 2000000
"#,
        expect![[r#"
            error: wrong value `2000000`: expected a rate in parts per million from -500000 to 500000, or a range such as [-5000, 5000]
              --> wrong.toml:16:12
               |
            16 | rate-ppm = 2000000
               |            ^^^^^^^
        "#]],
    );
}

#[test]
fn letters_of_two_columns() {
    check(
        r#"
[expect]
facts = ["락 c1 acquird"]
"#,
        expect![[r#"
            error: unknown fact `락 c1 acquird`
              --> wrong.toml:15:11
               |
            15 | facts = ["락 c1 acquird"]
               |           ^^^^^^^^^^^^^
               |
               = help: did you mean `CLIENT acquired`?
        "#]],
    );
}
