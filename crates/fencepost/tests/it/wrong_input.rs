//! One golden message for each kind of wrong input: file, line, caret, and the nearest known name.

use expect_test::{Expect, expect};
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
