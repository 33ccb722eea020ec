//! Causes: which host and which fault, in one sentence, derived from what the history shows.

use expect_test::{Expect, expect};
use fencepost_checker::Property::{
    self, ExclusiveAccess, HolderNotRefused, MutualExclusion, NoStaleWrite, NotBornExpired,
    OwnerOnlyRelease,
};

use crate::dsl::story;

/// c1 has n1 to n3 from 2 s on, until 29.7 s; its keys live to 31 s. Then `then`; then c2 has n3 to n5.
fn n3_fails(then: &str) -> String {
    format!(
        "1s c1 begins
         1s n1 SET by c1 created expires=31s
         1s n2 SET by c1 created expires=31s
         1s n3 SET by c1 created expires=31s
         2s c1 acquires until 29.7s from=n1,n2,n3
         {then}
         10s c2 begins
         10s n3 SET by c2 created expires=40s
         10s n4 SET by c2 created expires=40s
         10s n5 SET by c2 created expires=40s
         11s c2 acquires until 39.7s from=n3,n4,n5"
    )
}

#[track_caller]
fn cause(property: Property, text: &str, expected: Expect) {
    expected.assert_eq(&story(text).cause(property));
}

#[test]
fn a_node_that_lost_power() {
    cause(
        MutualExclusion,
        &n3_fails("5s n3 loses-power\n6s n3 starts"),
        expect!["n3 lost power and came back without the key of c1 (persistence)"],
    );
    cause(
        MutualExclusion,
        &n3_fails("5s n3 crashes\n6s n3 clock steps +90s\n7s n3 starts"),
        expect![
            "n3 was killed and came back without the key of c1 (persistence), after its wall clock had stepped forward by 90.000 s"
        ],
    );
    // Another node's crash is no cause, and neither is one before the key was there.
    cause(
        MutualExclusion,
        &n3_fails("5s n2 loses-power\n6s n2 starts"),
        expect!["the key of c1 was gone from n3 for a reason that the history does not show"],
    );
}

#[test]
fn a_nodes_clock_that_stepped_forward() {
    cause(
        MutualExclusion,
        &n3_fails("5s n3 clock steps +30s\n5s n3 - expired of=c1"),
        expect!["n3's wall clock stepped forward by 30.000 s, so the key of c1 expired early"],
    );
}

#[test]
fn a_nodes_clock_that_runs_fast() {
    cause(
        MutualExclusion,
        &n3_fails("2s n3 clock ppm 4000000"),
        expect!["n3's wall clock runs fast by 4000000 ppm, so the key of c1 expired early"],
    );
}

#[test]
fn a_key_that_somebody_deleted() {
    cause(
        MutualExclusion,
        &n3_fails("5s n2 DEL by c3 deleted of=c1\n5s n3 DEL by c3 deleted of=c1"),
        expect!["c3 deleted the key of c1 at n3 with DEL"],
    );
    cause(
        MutualExclusion,
        &n3_fails("5s n3 EVALSHA by c1 deleted of=c1"),
        expect!["c1 deleted its own key at n3 with EVALSHA"],
    );
    // A release of somebody else before that, which left the key alone.
    cause(
        MutualExclusion,
        &n3_fails("4s n3 EVALSHA by c3 refused of=c1\n5s n3 suffers evict"),
        expect!["n3 dropped the key of c1 (evict)"],
    );
}

#[test]
fn a_key_that_the_node_or_its_operator_removed() {
    cause(
        MutualExclusion,
        &n3_fails("5s n3 evict evicted of=c1"),
        expect!["n3 dropped the key of c1 (evict)"],
    );
    cause(
        MutualExclusion,
        &n3_fails("5s n3 FLUSHALL deleted of=c1"),
        expect!["n3 dropped the key of c1 (flush)"],
    );
    cause(
        MutualExclusion,
        &n3_fails("5s n3 DEL deleted of=c1"),
        expect!["an operator removed the key of c1 at n3 with DEL"],
    );
    // By whichever command the fault was carried out.
    cause(
        MutualExclusion,
        &n3_fails("5s n3 suffers flush\n5s n3 DEL deleted of=c1"),
        expect!["n3 dropped the key of c1 (flush)"],
    );
    // A fault of another time is another matter.
    cause(
        MutualExclusion,
        &n3_fails("4s n3 suffers evict\n5s n3 DEL deleted of=c1"),
        expect!["an operator removed the key of c1 at n3 with DEL"],
    );
    // The key had survived the crash before.
    cause(
        MutualExclusion,
        &n3_fails("3s n3 crashes\n4s n3 starts\n5s n3 evict evicted of=c1"),
        expect!["n3 dropped the key of c1 (evict)"],
    );
    cause(
        MutualExclusion,
        &n3_fails(
            "3s n3 crashes\n4s n3 starts\n5s n3 SET by c3 refused of=c1\n6s n3 clock steps +30s",
        ),
        expect!["n3's wall clock stepped forward by 30.000 s, so the key of c1 expired early"],
    );
}

#[test]
fn a_failed_attempt_that_deletes_whatever_is_there() {
    cause(
        MutualExclusion,
        &n3_fails(
            "4s c3 begins\n4s n3 SET by c3 refused of=c1\n5s n3 DEL by c3 deleted of=c1\n5s c3 is-refused",
        ),
        expect!["c3, whose own attempt had failed, deleted the key of c1 at n3 with DEL"],
    );
    cause(
        OwnerOnlyRelease,
        &n3_fails(
            "4s c3 begins\n4s n3 SET by c3 refused of=c1\n5s n3 DEL by c3 deleted of=c1\n5s c3 is-refused",
        ),
        expect!["c3 had held no lease on `k`: its own attempt had failed"],
    );
}

#[test]
fn a_failed_attempt_that_makes_way_for_the_next() {
    cause(
        MutualExclusion,
        "1s c1 begins
         1s n2 SET by c1 created expires=31s
         1s n1 SET by c1 created expires=31s
         2s c1 acquires until 29s from=n1,n2
         3s c2 begins
         3s n2 DEL by c2 deleted of=c1
         3s n1 DEL by c2 deleted of=c1
         3s c2 is-refused
         4s c2 begins
         4s n1 SET by c2 created expires=34s
         4s n2 SET by c2 created expires=34s
         5s c2 acquires until 33s from=n1,n2",
        expect!["c2, whose own attempt had failed, deleted the key of c1 at n1 and n2 with DEL"],
    );
}

#[test]
fn a_renewal_that_does_not_ask_who_owns_the_key() {
    let late = |command: &str| {
        format!(
            "1s c1 begins
             2s c1 acquires until 30s from=n1
             31s c2 begins
             31s n1 SET by c2 created expires=61s
             32s c2 acquires until 60s from=n1
             40s n1 {command} of=c2 expires=70s
             41s c1 extends until 69s from=n1"
        )
    };
    cause(
        MutualExclusion,
        &late("PEXPIRE by c1 expiry-changed"),
        expect!["c1 changed the expiry of the key of c2 at n1 with PEXPIRE"],
    );
    cause(
        OwnerOnlyRelease,
        &late("SET by c1 overwritten"),
        expect!["its lease ended at 30.000 s; its command came at 40.000 s"],
    );
}

#[test]
fn the_fault_behind_a_rate_is_named() {
    cause(
        MutualExclusion,
        &n3_fails("3s n3 suffers clock-slew\n3s n3 clock ppm 4000000"),
        expect![
            "n3's wall clock runs fast by 4000000 ppm (clock-slew), so the key of c1 expired early"
        ],
    );
    cause(
        MutualExclusion,
        &n3_fails("3s n3 suffers clock-drift\n3s n3 clock ppm 4000000")
            .replace("1s c1 begins", "1s n2 suffers clock-slew\n1s c1 begins"),
        expect![
            "n3's wall clock runs fast by 4000000 ppm (clock-drift), so the key of c1 expired early"
        ],
    );
    cause(
        MutualExclusion,
        &key_ran_out(
            "1s c1 suffers clock-drift\n1s c1 clock ppm -500000",
            "2s c1 acquires until 30s from=n1",
        ),
        expect![
            "c1's monotonic clock runs slow by 500000 ppm (clock-drift), while its key at n1 ran out at 31.000 s"
        ],
    );
}

#[test]
fn a_machine_that_slept() {
    // As the holder.
    cause(
        MutualExclusion,
        &key_ran_out(
            "",
            "2s c1 acquires until 30s from=n1\n3s c1 clock monotonic-ppm -1000000\n3s c1 stops\n28s c1 clock monotonic-ppm 0\n28s c1 resumes",
        ),
        expect![
            "c1's monotonic clock stood still for 25.000 s (suspend), while its key at n1 ran out at 31.000 s"
        ],
    );
    // Between its requests and its decision: the rival was first.
    cause(
        MutualExclusion,
        "1s c1 begins
         1s n1 SET by c1 created expires=31s
         1s c1 clock monotonic-ppm -1000000
         1s c1 stops
         32s c2 begins
         32s n1 SET by c2 created expires=62s
         33s c2 acquires until 60s from=n1
         40s c1 clock monotonic-ppm 0
         40s c1 resumes
         40s c1 acquires until 30.7s from=n1",
        expect![
            "c1's monotonic clock stood still for 39.000 s (suspend), while its key at n1 ran out at 31.000 s"
        ],
    );
}

#[test]
fn a_delayed_restart_by_a_clock_that_jumps() {
    cause(
        MutualExclusion,
        &n3_fails(
            "3s n3 loses-power\n4s n3 suffers clock-step\n4s n3 clock steps +35s\n4s n3 starts",
        ),
        expect![
            "n3 lost power and came back without the key of c1 (persistence), after its wall clock had stepped forward by 35.000 s"
        ],
    );
}

#[test]
fn a_rival_that_overwrote_or_prolonged_the_key() {
    cause(
        MutualExclusion,
        "1s c1 begins
         2s c1 acquires until 30s from=n1
         31s c2 begins
         31s n1 SET by c2 created expires=61s
         32s c2 acquires until 60s from=n1
         40s n1 SET by c1 overwritten of=c2 expires=70s
         41s c1 extends until 69s from=n1",
        expect!["c1 overwrote the key of c2 at n1 with SET"],
    );
}

#[test]
fn quorums_that_do_not_meet() {
    cause(
        MutualExclusion,
        "1s c1 begins\n2s c1 acquires until 30s from=n1,n2\n3s c2 begins\n4s c2 acquires until 30s from=n3,n4,n5",
        expect![
            "c1 counted n1 and n2 as its quorum and c2 counted n3, n4 and n5: they have no node in common"
        ],
    );
}

#[test]
fn a_node_that_lost_the_key_is_named_once_for_each_fate() {
    let two_nodes = "1s c1 begins
         1s n1 SET by c1 created expires=31s
         1s n2 SET by c1 created expires=31s
         1s n3 SET by c1 created expires=31s
         2s c1 acquires until 29s from=n1,n2,n3
         3s n1 loses-power
         3s n2 loses-power
         4s n1 starts
         4s n2 starts
         5s n3 suffers flush
         6s c2 begins
         6s n1 SET by c2 created expires=36s
         6s n2 SET by c2 created expires=36s
         6s n3 SET by c2 created expires=36s
         7s c2 acquires until 35s from=n1,n2,n3";
    cause(
        MutualExclusion,
        two_nodes,
        expect![
            "n1 and n2 lost power and came back without the key of c1 (persistence); n3 dropped the key of c1 (flush)"
        ],
    );
}

/// c1's key at n1 lives its full 30 s, and c2 gets it afterwards. What c1 takes its lease for is another matter.
fn key_ran_out(clock: &str, acquires: &str) -> String {
    format!(
        "1s c1 begins by=wall
         1s n1 SET by c1 created expires=31s
         {clock}
         {acquires}
         32s c2 begins
         32s n1 SET by c2 created expires=62s
         33s c2 acquires until 60s from=n1"
    )
}

#[test]
fn a_holder_whose_own_clock_is_wrong() {
    cause(
        MutualExclusion,
        &key_ran_out(
            "1.5s c1 clock steps -10s",
            "2s c1 acquires until 30s from=n1 by=wall",
        ),
        expect![
            "c1's wall clock stepped back by 10.000 s, while its key at n1 ran out at 31.000 s"
        ],
    );
    cause(
        MutualExclusion,
        &key_ran_out("3s c1 waits", "2s c1 acquires until 30s from=n1\n3s c1 clock monotonic-ppm -1000000\n28s c1 clock monotonic-ppm 0").replace("3s c1 waits", ""),
        expect!["c1's monotonic clock stood still for 25.000 s, while its key at n1 ran out at 31.000 s"],
    );
    cause(
        MutualExclusion,
        &key_ran_out(
            "1s c1 clock ppm -500000",
            "2s c1 acquires until 30s from=n1",
        ),
        expect![
            "c1's monotonic clock runs slow by 500000 ppm, while its key at n1 ran out at 31.000 s"
        ],
    );
    cause(
        MutualExclusion,
        &key_ran_out("", "2s c1 acquires until 90s from=n1"),
        expect![
            "c1 counted its lease longer than its key lived: its key at n1 ran out at 31.000 s"
        ],
    );
    cause(
        MutualExclusion,
        &key_ran_out("", "2s c1 acquires for-ever from=n1\n3s c1 stops"),
        expect![
            "c1 was stopped from 3.000 s to the end of the run; its lock states no deadline, and its key at n1 ran out at 31.000 s"
        ],
    );
}

#[test]
fn a_decision_after_its_own_deadline() {
    let stopped = "1s c1 begins\n2s c1 stops\n37s c1 resumes\n38s c1 acquires until 30s";
    let sentence = "c1 decided after its own deadline: it was stopped for 35.000 s between its first clock reading and its decision";
    assert_eq!(story(stopped).cause(NotBornExpired), sentence);
    // The same is why it fell into somebody's lease.
    let collided = stopped.replace("37s", "33s c2 begins\n34s c2 acquires until 63s\n37s");
    assert_eq!(story(&collided).cause(MutualExclusion), sentence);
    cause(
        NotBornExpired,
        "1s c1 begins\n41s c1 acquires until 30s",
        expect![
            "c1 decided after its own deadline: 40.000 s passed between its first clock reading and its decision"
        ],
    );
    cause(
        NotBornExpired,
        "1s c1 begins\n2s c1 acquires until 30s\n3s c1 stops\n43s c1 resumes\n44s c1 extends until 40s",
        expect![
            "c1 decided after its own deadline: it was stopped for 40.000 s between its decision before and this one"
        ],
    );
}

/// The pause of document 000.
const PAUSED: &str = "1s c1 begins
     1.7s c1 acquires until 29.7s
     1.7s c1 enters
     2s c1 stops
     3s c2 begins
     31s c2 acquires until 60s
     31s c2 enters
     32s db writes c2
     37s c1 resumes
     38s db writes c1";

#[test]
fn how_long_the_holder_was_away() {
    cause(
        ExclusiveAccess,
        PAUSED,
        expect![
            "c1 was stopped for 35.000 s from 2.000 s on; its lease ended at 29.700 s; c2 entered at 31.000 s"
        ],
    );
    // For the order of writes c2 must be the newer one: it begins after c1's decision.
    cause(
        NoStaleWrite,
        PAUSED,
        expect![
            "c1 was stopped for 35.000 s from 2.000 s on; its lease ended at 29.700 s; c2 wrote at 32.000 s and c1 at 38.000 s"
        ],
    );
}

#[test]
fn a_stop_that_did_not_outlast_the_lease_is_no_cause() {
    cause(
        ExclusiveAccess,
        &PAUSED
            .replace("37s c1 resumes", "37s c1 waits")
            .replace("3s c2 begins", "2.5s c1 resumes\n3s c2 begins"),
        expect!["c1 stayed inside; its lease ended at 29.700 s; c2 entered at 31.000 s"],
    );
}

#[test]
fn a_write_that_was_on_its_way() {
    let late = PAUSED
        .replace("2s c1 stops", "2s c1 delayed-to db 90s")
        .replace("37s c1 resumes", "");
    cause(
        NoStaleWrite,
        &late,
        expect![
            "messages from c1 to db took 90.000 s longer; its lease ended at 29.700 s; c2 wrote at 32.000 s and c1 at 38.000 s"
        ],
    );
    cause(
        NoStaleWrite,
        &late.replace(
            "2s c1 delayed-to db 90s",
            "2s c1 suffers late-packet with=db",
        ),
        expect![
            "a packet from c1 to db was late from 2.000 s on (late-packet); its lease ended at 29.700 s; c2 wrote at 32.000 s and c1 at 38.000 s"
        ],
    );
    // A packet to somebody else.
    cause(
        NoStaleWrite,
        &late.replace(
            "2s c1 delayed-to db 90s",
            "2s c1 suffers late-packet with=n1",
        ),
        expect![
            "c1 was not stopped, its write came late; its lease ended at 29.700 s; c2 wrote at 32.000 s and c1 at 38.000 s"
        ],
    );
    cause(
        NoStaleWrite,
        &late.replace("2s c1 delayed-to db 90s", "2s c1 cut-from db"),
        expect![
            "messages from c1 to db were held back from 2.000 s on; its lease ended at 29.700 s; c2 wrote at 32.000 s and c1 at 38.000 s"
        ],
    );
    cause(
        NoStaleWrite,
        &late.replace("2s c1 delayed-to db 90s", "2s c1 releases"),
        expect![
            "c1 was not stopped, its write came late; it had called release at 2.000 s; c2 wrote at 32.000 s and c1 at 38.000 s"
        ],
    );
}

#[test]
fn where_the_lock_itself_failed_the_section_says_so_too() {
    let inside = n3_fails("2s c1 enters\n5s n3 loses-power\n6s n3 starts")
        + "\n11s c2 enters\n12s db writes c2\n13s db writes c1";
    let expected = "the lease of c1 was still running: n3 lost power and came back without the key of c1 (persistence)";
    assert_eq!(story(&inside).cause(ExclusiveAccess), expected);
    assert_eq!(story(&inside).cause(NoStaleWrite), expected);
}

#[test]
fn a_release_that_came_late_or_from_nowhere() {
    cause(
        OwnerOnlyRelease,
        "1s c1 begins\n2s c1 acquires until 30s\n3s c1 stops\n40s c1 resumes\n41s n1 DEL by c1 deleted of=c2",
        expect![
            "c1 was stopped for 37.000 s from 3.000 s on; its lease ended at 30.000 s; its command came at 41.000 s"
        ],
    );
    cause(
        OwnerOnlyRelease,
        "1s c1 begins\n2s c1 is-refused\n3s n1 DEL by c1 deleted of=c2",
        expect!["c1 had held no lease on `k`: its own attempt had failed"],
    );
}

#[test]
fn tokens_that_did_not_grow() {
    cause(
        HolderNotRefused,
        "1s c1 begins\n2s c1 acquires until 9s token=9\n3s db registers c1 token=9\n11s c2 begins\n12s c2 acquires until 19s token=2\n13s db refuses c2 token=2",
        expect![
            "db had a token of an older acquisition that is not smaller than that of c2: tokens did not grow"
        ],
    );
}

/// What a violation is laid on, beside its sentence.
#[track_caller]
fn laid_on(text: &str, faults: &[&str]) {
    let verdict = story(text).verdict(MutualExclusion);
    let found: Vec<&str> = verdict.witnesses[0]
        .faults
        .iter()
        .map(|name| &**name)
        .collect();
    assert_eq!(found, faults, "{:?}", verdict.witnesses[0].cause);
}

#[test]
fn families_of_faults_are_named() {
    laid_on(&n3_fails("5s n3 loses-power\n6s n3 starts"), &["crash"]);
    laid_on(
        &n3_fails("5s n3 crashes\n6s n3 clock steps +90s\n7s n3 starts"),
        &["clock-step", "crash"],
    );
    laid_on(
        &n3_fails("5s n3 clock steps +30s\n5s n3 - expired of=c1"),
        &["clock-step"],
    );
    laid_on(
        &n3_fails("5s n3 suffers flush\n5s n3 DEL deleted of=c1"),
        &["flush"],
    );
    laid_on(&n3_fails("5s n3 DEL deleted of=c1"), &["operator"]);
    // The lock's own doing.
    laid_on(&n3_fails("5s n3 DEL by c2 deleted of=c1"), &[]);
}

#[test]
fn a_second_acquisition_of_the_rival_has_the_cause_of_its_first() {
    let first = key_ran_out("", "2s c1 acquires until 90s from=n1");
    let text = format!(
        "{first}
         34s c2 releases
         34s n1 DEL by c2 deleted of=c2
         35s c2 begins
         35s n1 SET by c2 created expires=65s
         36s c2 acquires until 63s from=n1"
    );
    let verdict = story(&text).verdict(MutualExclusion);
    let causes: Vec<_> = verdict.witnesses.iter().map(|one| &one.cause).collect();
    assert_eq!(causes.len(), 2);
    for cause in causes {
        let cause = cause.as_deref().unwrap_or_default();
        assert!(cause.contains("its key at n1 ran out at 31"), "{cause}");
    }
}

/// c3 had its keys first and decided last, after c1, who had had a key before all that, too.
#[test]
fn a_key_of_another_attempt_explains_nothing() {
    cause(
        MutualExclusion,
        "1s c1 begins
         1s n1 SET by c1 created expires=31s
         1s n1 DEL by c1 deleted of=c1
         2s c3 begins
         2s n1 SET by c3 created expires=32s
         3s c3 clock monotonic-ppm -1000000
         33s c1 begins
         33s n1 SET by c1 created expires=63s
         34s c1 acquires until 62s from=n1
         35s c3 acquires until 31s from=n1",
        expect![
            "c3's monotonic clock stood still for 32.000 s, while its key at n1 ran out at 32.000 s"
        ],
    );
}

#[test]
fn a_key_that_a_restart_brought_back_is_not_the_one_that_it_lost() {
    cause(
        MutualExclusion,
        "1s c1 begins
         1s n1 SET by c1 created expires=31s
         2s c1 acquires until 30s from=n1
         3s c1 releases
         3s n1 DEL by c1 deleted of=c1
         4s c1 begins
         4s n1 SET by c1 created expires=34s
         5s c1 acquires until 33s from=n1
         6s n1 loses-power
         7s n1 starts
         8s n1 SET by c2 refused of=c1 tried=0
         9s n1 - expired of=c1 tried=0
         10s c2 begins
         10s n1 SET by c2 created expires=40s
         11s c2 acquires until 39s from=n1",
        expect!["n1 lost power and came back without the key of c1 (persistence)"],
    );
}

/// n3's clock is 0.1 % fast, and c1 left a margin of more than that: it is c1's clock that was wrong.
#[test]
fn a_rate_within_the_margin_is_no_reason() {
    cause(
        MutualExclusion,
        &n3_fails(
            "2s n3 clock ppm 1000
             3s c1 clock monotonic-ppm -1000000
             30.99s n3 - expired of=c1",
        )
        .replace("10s", "30.99s")
        .replace("11s c2", "31.5s c2"),
        expect![
            "c1's monotonic clock stood still for 28.500 s, while its key at n3 ran out at 31.000 s"
        ],
    );
}
