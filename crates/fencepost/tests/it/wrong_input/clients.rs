//! Clients, their workload and their links.

use expect_test::expect;

use super::{check, check_whole};

#[test]
fn no_client() {
    check_whole(
        r#"claim = "a"
document = "b"
[system]
kind = "single"
"#,
        expect![[r#"
            error: a scenario needs a client
             --> wrong.toml:3:1
              |
            3 | [system]
              | ^^^^^^^^
              |
              = help: add a table `[[client]]`
        "#]],
    );
}

#[test]
fn two_clients_of_one_name() {
    check(
        r#"
[[client]]
name = "c2"
"#,
        expect![[r#"
            error: a second client is called `c2`
              --> wrong.toml:15:8
               |
            15 | name = "c2"
               |        ^^^^
        "#]],
    );
}

#[test]
fn a_client_with_a_name_of_a_node() {
    check(
        r#"
[[client]]
name = "n1"
"#,
        expect![[r#"
            error: `n1` is the name of a server, not of a client
              --> wrong.toml:15:8
               |
            15 | name = "n1"
               |        ^^^^
        "#]],
    );
}

#[test]
fn a_client_with_a_name_in_two_words() {
    check(
        r#"
[[client]]
name = "c 3"
"#,
        expect![[r#"
            error: `c 3` cannot name a client
              --> wrong.toml:15:8
               |
            15 | name = "c 3"
               |        ^^^^^
               |
               = help: a name is lower-case letters, digits and hyphens, and begins with a letter
        "#]],
    );
}

#[test]
fn a_link_of_a_host_with_itself() {
    check(
        r#"
[[link]]
between = ["c1", "c1"]
latency = "1ms"
"#,
        expect![[r#"
            error: `c1` and `c1` are no two hosts, or have a link already
              --> wrong.toml:15:18
               |
            15 | between = ["c1", "c1"]
               |                  ^^^^
        "#]],
    );
}

#[test]
fn no_rounds() {
    check(
        r#"
[[client]]
name = "c3"
rounds = 0
"#,
        expect![[r#"
            error: `rounds` counts from 1
              --> wrong.toml:16:10
               |
            16 | rounds = 0
               |          ^
        "#]],
    );
}

#[test]
fn a_loss_that_a_client_is_to_be_cancelled_on_in_words() {
    check(
        r#"
[[client]]
name = "c3"
cancel-on-loss = "yes"
"#,
        expect![[r#"
            error: wrong type: string "yes", expected a boolean
              --> wrong.toml:16:18
               |
            16 | cancel-on-loss = "yes"
               |                  ^^^^^
        "#]],
    );
}

#[test]
fn a_second_probe() {
    check(
        r#"
[[client]]
name = "probe"
"#,
        expect![[r#"
            error: `probe` is the client that tries alone after `heal-at`
              --> wrong.toml:15:8
               |
            15 | name = "probe"
               |        ^^^^^^^
        "#]],
    );
}

#[test]
fn a_workload_that_does_not_exist() {
    check(
        r#"
[workload]
kind = "transfers"
"#,
        expect![[r#"
            error: unknown value `transfers`
              --> wrong.toml:15:8
               |
            15 | kind = "transfers"
               |        ^^^^^^^^^^^
               |
               = help: did you mean `transfer`?
        "#]],
    );
}

#[test]
fn a_probe_that_comes_too_late() {
    check_whole(
        r#"claim = "a"
document = "b"
horizon = "20s"
heal-at = "15s"
[system]
kind = "single"
ttl = "10s"
[[client]]
name = "c1"
"#,
        expect![[r#"
            error: the probe tries a TTL after `heal-at`, at 25s, and the run is over by 20s
             --> wrong.toml:1:9
              |
            1 | claim = "a"
              |         ^^^
              |
              = help: set a later `horizon`
        "#]],
    );
}
