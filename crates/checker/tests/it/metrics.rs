//! `unlockable`: time in which nobody held the key and nobody could have got it.

use std::time::Duration;

use fencepost_checker::metrics::unlockable;

use crate::dsl::story;

/// Three of five nodes are needed; the run lasts as long as the story.
#[track_caller]
fn lasts(text: &str, seconds: u64) {
    let times = unlockable(&story(&format!("0s c1 begins\n{text}")).history);
    assert_eq!(times["k"], Duration::from_secs(seconds));
}

#[test]
fn free_nodes_can_be_locked() {
    lasts("90s c1 waits", 0);
    lasts("1s n1 crashes\n1s n2 crashes\n90s c2 stops", 0);
}

#[test]
fn keys_of_two_clients_that_neither_won_block_it() {
    // n4 and n5 are down, A has n1 and n2, B has n3: the keys live until a millisecond after their expiry.
    let blocked = "1s n4 crashes\n1s n5 crashes
         10s n1 SET by c1 created expires=40s\n10s n2 SET by c1 created expires=40s\n10s n3 SET by c2 created expires=40s";
    lasts(&format!("{blocked}\n30s c3 stops"), 20);
    lasts(
        &format!(
            "{blocked}\n20s n3 DEL by c2 deleted of=c2\n20s n1 DEL by c1 deleted of=c1\n30s n2 DEL by c1 deleted of=c1\n50s c3 stops"
        ),
        20,
    );
    let times = unlockable(&story(&format!("0s c1 begins\n{blocked}\n90s c3 stops")).history);
    assert_eq!(times["k"], Duration::from_millis(30_001));
}

#[test]
fn a_lease_is_no_loss() {
    let keys = "10s n1 SET by c1 created expires=40s\n10s n2 SET by c1 created expires=40s\n10s n3 SET by c1 created expires=40s";
    lasts(
        &format!("{keys}\n10s c1 acquires until 30s\n35s c2 stops"),
        5,
    );
    lasts(
        &format!("{keys}\n10s c1 acquires until 30s\n20s c1 releases\n35s c2 stops"),
        15,
    );
}

#[test]
fn one_client_that_could_is_enough() {
    let cut = "10s c1 cut-from n1\n10s c1 cut-from n2\n10s c1 cut-from n3";
    lasts(&format!("{cut}\n30s c3 stops"), 0);
    let all = [
        cut.to_owned(),
        cut.replace("c1", "c2"),
        cut.replace("c1", "c3"),
    ]
    .join("\n");
    lasts(&format!("{all}\n30s c3 stops"), 20);
    lasts(&format!("{all}\n15s c2 heals-to n1\n30s c3 stops"), 5);
    lasts(
        "10s n1 stops\n10s n2 crashes\n10s n3 stops\n30s c3 stops",
        20,
    );
}

#[test]
fn each_key_by_itself() {
    let times = unlockable(
        &story("0s c1 begins key=a\n0s c1 begins key=b\n1s n1 SET by c1 created key=a\n1s n2 SET by c1 created key=a\n1s n3 SET by c1 created key=a\n5s c2 stops").history,
    );
    assert_eq!(
        (times["a"], times["b"]),
        (Duration::from_secs(4), Duration::ZERO)
    );
}
