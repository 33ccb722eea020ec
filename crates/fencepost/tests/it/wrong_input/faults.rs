//! What a fault does.

use expect_test::expect;

use super::check;

#[test]
fn a_partition_with_a_host_on_both_sides() {
    check(
        r#"
[[partition]]
between = [["c1"], ["n4", "c1"]]
how = "drop"
at = "0s"
"#,
        expect![[r#"
            error: `c1` stands here twice
              --> wrong.toml:15:27
               |
            15 | between = [["c1"], ["n4", "c1"]]
               |                           ^^^^
               |
               = help: a host is on one side
        "#]],
    );
}

#[test]
fn a_partition_with_an_empty_side() {
    check(
        r#"
[[partition]]
between = [["c1"], []]
how = "drop"
at = "0s"
"#,
        expect![[r#"
            error: one side is empty
              --> wrong.toml:15:11
               |
            15 | between = [["c1"], []]
               |           ^^^^^^^^^^^^
        "#]],
    );
}

#[test]
fn a_partition_that_ends_twice() {
    check(
        r#"
[[partition]]
between = [["c1"], ["n4"]]
how = "drop"
at = "0s"
for = "1s"
until = "c1 acquired"
"#,
        expect![[r#"
            error: `until` beside `for`: a fault ends once
              --> wrong.toml:19:9
               |
            19 | until = "c1 acquired"
               |         ^^^^^^^^^^^^^
        "#]],
    );
}

#[test]
fn a_late_packet_to_oneself() {
    check(
        r#"
[[late-packet]]
from = "c1"
to = "c1"
by = "90s"
at = "1s"
"#,
        expect![[r#"
            error: `c1` sends no message to itself
              --> wrong.toml:16:6
               |
            16 | to = "c1"
               |      ^^^^
        "#]],
    );
}

#[test]
fn a_late_packet_without_how_late() {
    check(
        r#"
[[late-packet]]
from = "c1"
to = "db"
at = "1s"
"#,
        expect![[r#"
            error: missing key `by`
              --> wrong.toml:14:1
               |
            14 | [[late-packet]]
               | ^^^^^^^^^^^^^^^
        "#]],
    );
}

#[test]
fn a_reset_within_one_side() {
    check(
        r#"
[[reset]]
between = [["c1"], ["n1", "c1"]]
at = "1s"
"#,
        expect![[r#"
            error: `c1` stands here twice
              --> wrong.toml:15:27
               |
            15 | between = [["c1"], ["n1", "c1"]]
               |                           ^^^^
               |
               = help: a host is on one side
        "#]],
    );
}

#[test]
fn a_drift_that_no_clock_has() {
    check(
        r#"
[[clock-drift]]
host = "n3"
ppm = 2000000
at = "0s"
"#,
        expect![[r#"
            error: wrong value `2000000`: expected a rate in parts per million from -500000 to 500000, or a range such as [-5000, 5000]
              --> wrong.toml:16:7
               |
            16 | ppm = 2000000
               |       ^^^^^^^
        "#]],
    );
}

#[test]
fn a_drift_with_a_unit() {
    check(
        r#"
[[clock-drift]]
host = "n3"
ppm = "9ms"
at = "0s"
"#,
        expect![[r#"
            error: wrong value `9ms`: expected a rate in parts per million from -500000 to 500000, or a range such as [-5000, 5000]
              --> wrong.toml:16:7
               |
            16 | ppm = "9ms"
               |       ^^^^^
        "#]],
    );
}

#[test]
fn a_slew_that_never_ends() {
    check(
        r#"
[[clock-slew]]
host = "n3"
by = "1s"
ppm = 0
at = "0s"
"#,
        expect![[r#"
            error: 0 ppm is no rate to slew at
              --> wrong.toml:17:7
               |
            17 | ppm = 0
               |       ^
               |
               = help: ntpd slews at 500 ppm, chrony at 83333 by default
        "#]],
    );
}

#[test]
fn a_slew_without_a_rate() {
    check(
        r#"
[[clock-slew]]
host = "n3"
by = "1s"
at = "0s"
"#,
        expect![[r#"
            error: missing key `ppm`
              --> wrong.toml:14:1
               |
            14 | [[clock-slew]]
               | ^^^^^^^^^^^^^^
        "#]],
    );
}

#[test]
fn a_client_crash_of_a_node() {
    check(
        r#"
[[client-crash]]
host = "n1"
at = "1s"
"#,
        expect![[r#"
            error: `n1` is not a client
              --> wrong.toml:15:8
               |
            15 | host = "n1"
               |        ^^^^
               |
               = help: there are c1, c2
        "#]],
    );
}

#[test]
fn an_eviction_at_a_client() {
    check(
        r#"
[[evict]]
host = "c2"
at = "1s"
"#,
        expect![[r#"
            error: `c2` is not a node
              --> wrong.toml:15:8
               |
            15 | host = "c2"
               |        ^^^^
               |
               = help: there are n1, n2, n3, n4, n5
        "#]],
    );
}

#[test]
fn a_flush_of_a_node_that_does_not_exist() {
    check(
        r#"
[[flush]]
host = "n6"
at = "1s"
"#,
        expect![[r#"
            error: unknown host `n6`
              --> wrong.toml:15:8
               |
            15 | host = "n6"
               |        ^^^^
               |
               = help: did you mean `n1`?
        "#]],
    );
}

#[test]
fn a_stall_of_a_disk_that_is_none() {
    check(
        r#"
[[fsync-stall]]
host = "db"
for = "1s"
at = "1s"
"#,
        expect![[r#"
            error: `db` is not a node
              --> wrong.toml:15:8
               |
            15 | host = "db"
               |        ^^^^
               |
               = help: there are n1, n2, n3, n4, n5
        "#]],
    );
}

#[test]
fn a_stall_without_an_end() {
    check(
        r#"
[[fsync-stall]]
host = "n1"
at = "1s"
"#,
        expect![[r#"
            error: missing key `for`
              --> wrong.toml:14:1
               |
            14 | [[fsync-stall]]
               | ^^^^^^^^^^^^^^^
        "#]],
    );
}

#[test]
fn a_delayed_restart_of_what_never_starts() {
    check(
        r#"
[[crash]]
host = "n1"
how = "kill"
at = "1s"
delayed-until = "31s"
"#,
        expect![[r#"
            error: `delayed-until` without `down-for`: when is it started?
              --> wrong.toml:18:17
               |
            18 | delayed-until = "31s"
               |                 ^^^^^
        "#]],
    );
}

#[test]
fn a_one_way_partition_that_holds() {
    check(
        r#"
[[partition]]
between = [["c1"], ["n1"]]
how = "hold"
one-way = true
at = "1s"
"#,
        expect![[r#"
            error: a one-way partition loses messages: it needs `how = "drop"`
              --> wrong.toml:17:11
               |
            17 | one-way = true
               |           ^^^^
        "#]],
    );
}

#[test]
fn an_operator_without_a_command() {
    check(
        r#"
[[operate]]
host = "n1"
command = []
at = "1s"
"#,
        expect![[r#"
            error: an empty command
              --> wrong.toml:16:11
               |
            16 | command = []
               |           ^^
        "#]],
    );
}
