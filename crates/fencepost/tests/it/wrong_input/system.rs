//! The lock under test and its nodes.

use expect_test::expect;

use super::{check, check_whole};

#[test]
fn a_single_node_system_with_five_nodes() {
    check_whole(
        r#"claim = "a"
document = "b"
[system]
kind = "single"
nodes = 5
[[client]]
name = "c1"
"#,
        expect![[r#"
            error: `kind = "single"` has one node, not 5
             --> wrong.toml:5:9
              |
            5 | nodes = 5
              |         ^
              |
              = help: leave `nodes` out, or use `kind = "redlock"`
        "#]],
    );
}

#[test]
fn a_ttl_that_drift_eats_up() {
    check_whole(
        r#"claim = "a"
document = "b"
[system]
kind = "single"
ttl = "2ms"
[[client]]
name = "c1"
"#,
        expect![[r#"
            error: a TTL of 2ms leaves nothing once 2.02ms is taken off for drift
             --> wrong.toml:3:1
              |
            3 | [system]
              | ^^^^^^^^
        "#]],
    );
}

#[test]
fn tokens_that_nobody_gives() {
    check(
        r#"
[resource]
fencing = "token"
"#,
        expect![[r#"
            error: the resource asks for tokens and the lock gives none
              --> wrong.toml:15:11
               |
            15 | fencing = "token"
               |           ^^^^^^^
               |
               = help: set `system.token = "sequence"`
        "#]],
    );
}

#[test]
fn fsync_without_persistence() {
    check(
        r#"
[node]
fsync = "always"
"#,
        expect![[r#"
            error: `fsync` without anything to sync
              --> wrong.toml:15:9
               |
            15 | fsync = "always"
               |         ^^^^^^^^
               |
               = help: set `node.persistence = "aof"`, or leave `fsync` out
        "#]],
    );
}

#[test]
fn a_way_to_extend_that_does_not_exist() {
    check_whole(
        r#"claim = "a"
document = "b"
[system]
kind = "single"
extend = "setxx"
[[client]]
name = "c1"
"#,
        expect![[r#"
            error: unknown value `setxx`
             --> wrong.toml:5:10
              |
            5 | extend = "setxx"
              |          ^^^^^^^
              |
              = help: did you mean `set-xx`?
        "#]],
    );
}

#[test]
fn late_renewals_that_there_are_not() {
    check_whole(
        r#"claim = "a"
document = "b"
[system]
kind = "single"
extend-late = true
[[client]]
name = "c1"
"#,
        expect![[r#"
            error: `extend-late` without any renewal
             --> wrong.toml:5:15
              |
            5 | extend-late = true
              |               ^^^^
              |
              = help: set `system.extend = "lua"`, or leave `extend-late` out
        "#]],
    );
}

#[test]
fn a_way_to_acquire_that_is_no_command() {
    check_whole(
        r#"claim = "a"
document = "b"
[system]
kind = "single"
acquire = "setnx-px"
[[client]]
name = "c1"
"#,
        expect![[r#"
            error: unknown value `setnx-px`
             --> wrong.toml:5:11
              |
            5 | acquire = "setnx-px"
              |           ^^^^^^^^^^
              |
              = help: did you mean `set-nx-px`?
        "#]],
    );
}

#[test]
fn a_misspelt_failed_attempt() {
    check_whole(
        r#"claim = "a"
document = "b"
[system]
kind = "single"
failed-attempts = "del"
[[client]]
name = "c1"
"#,
        expect![[r#"
            error: unknown key `failed-attempts`
             --> wrong.toml:5:1
              |
            5 | failed-attempts = "del"
              | ^^^^^^^^^^^^^^^
              |
              = help: did you mean `failed-attempt`?
        "#]],
    );
}

#[test]
fn one_counter_of_five_servers() {
    check_whole(
        r#"claim = "a"
document = "b"
[system]
kind = "redlock"
token = "incr"
[[client]]
name = "c1"
"#,
        expect![[r#"
            error: `token = "incr"` counts at the server that has the lock, and `redlock` has many
             --> wrong.toml:3:1
              |
            3 | [system]
              | ^^^^^^^^
              |
              = help: use `kind = "single"` or `kind = "failover"`, or `token = "sequence"`
        "#]],
    );
}
