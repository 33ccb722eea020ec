//! When a fault strikes, and at which host.

use expect_test::expect;

use super::check;

#[test]
fn a_host_that_does_not_exist() {
    check(
        r#"
[[pause]]
host = "c3"
at = "1s"
for = "5s"
"#,
        expect![[r#"
            error: unknown host `c3`
              --> wrong.toml:15:8
               |
            15 | host = "c3"
               |        ^^^^
               |
               = help: did you mean `c1`?
        "#]],
    );
}

#[test]
fn an_event_of_a_host_that_does_not_exist() {
    check(
        r#"
[[pause]]
host = "c1"
on = "c9 acquired"
for = "5s"
"#,
        expect![[r#"
            error: unknown host `c9`
              --> wrong.toml:16:7
               |
            16 | on = "c9 acquired"
               |       ^^
               |
               = help: did you mean `c1`?
        "#]],
    );
}

#[test]
fn an_event_that_does_not_exist() {
    check(
        r#"
[[pause]]
host = "c1"
on = "c1 aquired"
for = "5s"
"#,
        expect![[r#"
            error: unknown event of c1 `aquired`
              --> wrong.toml:16:10
               |
            16 | on = "c1 aquired"
               |          ^^^^^^^
               |
               = help: did you mean `acquired`?
        "#]],
    );
}

#[test]
fn a_client_event_on_a_server() {
    check(
        r#"
[[pause]]
host = "c1"
on = "n1 acquired"
for = "5s"
"#,
        expect![[r#"
            error: unknown event of n1 `acquired`
              --> wrong.toml:16:10
               |
            16 | on = "n1 acquired"
               |          ^^^^^^^^
               |
               = help: the nearest known is `applied`; there are `applied`, `replied`
        "#]],
    );
}

#[test]
fn an_event_of_the_wrong_shape() {
    check(
        r#"
[[pause]]
host = "c1"
on = "acquired"
for = "5s"
"#,
        expect![[r#"
            error: `acquired` is not an event
              --> wrong.toml:16:7
               |
            16 | on = "acquired"
               |       ^^^^^^^^
               |
               = help: an event is `HOST VERB`, such as `c1 acquired`, or `HOST VERB to PEER`, such as `n5 replied to c1`
        "#]],
    );
}

#[test]
fn an_event_whose_peer_does_not_exist() {
    check(
        r#"
[[pause]]
host = "c1"
on = "n5 replied to c7"
for = "5s"
"#,
        expect![[r#"
            error: unknown host `c7`
              --> wrong.toml:16:21
               |
            16 | on = "n5 replied to c7"
               |                     ^^
               |
               = help: did you mean `c1`?
        "#]],
    );
}

#[test]
fn a_peer_of_a_client_event() {
    check(
        r#"
[[pause]]
host = "c1"
on = "c1 acquired from n1"
for = "5s"
"#,
        expect![[r#"
            error: an event of the client c1 has no other side
              --> wrong.toml:16:19
               |
            16 | on = "c1 acquired from n1"
               |                   ^^^^^^^
        "#]],
    );
}

#[test]
fn a_fault_without_a_time() {
    check(
        r#"
[[pause]]
host = "c1"
for = "5s"
"#,
        expect![[r#"
            error: when? the fault has neither `at` nor `on`
              --> wrong.toml:14:1
               |
            14 | [[pause]]
               | ^^^^^^^^^
               |
               = help: such as `at = "2s"` or `on = "c1 acquired"`
        "#]],
    );
}

#[test]
fn a_fault_with_two_times() {
    check(
        r#"
[[pause]]
host = "c1"
at = "1s"
on = "c1 read"
for = "5s"
"#,
        expect![[r#"
            error: `on` beside `at`: a fault has one of them
              --> wrong.toml:17:6
               |
            17 | on = "c1 read"
               |      ^^^^^^^^^
        "#]],
    );
}

#[test]
fn after_without_an_event() {
    check(
        r#"
[[pause]]
host = "c1"
at = "1s"
after = "1s"
for = "5s"
"#,
        expect![[r#"
            error: `after` needs an event, `on`
              --> wrong.toml:17:9
               |
            17 | after = "1s"
               |         ^^^^
        "#]],
    );
}

#[test]
fn the_zeroth_occurrence() {
    check(
        r#"
[[pause]]
host = "c1"
on = "c1 read"
nth = 0
for = "5s"
"#,
        expect![[r#"
            error: `nth` counts from 1
              --> wrong.toml:17:7
               |
            17 | nth = 0
               |       ^
        "#]],
    );
}
