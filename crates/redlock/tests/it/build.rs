//! Building: what is refused, what is warned of, what it is if not set.

use std::time::Duration;

use expect_test::expect;
use redlock::{BuildError, Drift, Order, Retry, Warning};

use crate::client::{Client, TTL, TestBuilder, tries};
use crate::world::{World, ms};

fn error(nodes: usize, change: impl FnOnce(TestBuilder) -> TestBuilder) -> String {
    change(Client::of(&World::new(nodes)).builder())
        .build()
        .expect_err("refused")
        .to_string()
}

#[test]
fn the_same_node_twice_is_an_error() {
    let world = World::new(3);
    let again = world.nodes().remove(1);
    let built = Client::of(&world).builder().node(again).build();
    expect!["node n2 is in the list twice: it would vote twice"]
        .assert_eq(&built.unwrap_err().to_string());
}

#[test]
fn an_empty_list_is_an_error() {
    expect!["no nodes: a lock needs at least one"].assert_eq(&error(0, |builder| builder));
}

#[test]
fn a_ttl_within_its_drift_margin_is_an_error() {
    expect![
        "a TTL of 2ms does not exceed its drift margin of 2.02ms: no lease would ever be valid"
    ]
    .assert_eq(&error(3, |builder| builder.ttl(ms(2))));
    expect!["a TTL of 0ns does not exceed its drift margin of 2ms: no lease would ever be valid"]
        .assert_eq(&error(3, |builder| builder.ttl(ms(0))));
    let all = Drift {
        ppm: 1_000_000,
        fixed: Duration::ZERO,
    };
    assert!(error(3, |builder| builder.drift(all)).contains("does not exceed"));
}

#[test]
fn a_ttl_that_redis_would_cut_is_an_error() {
    expect!["a TTL of 1.5ms is not a whole number of milliseconds"]
        .assert_eq(&error(3, |builder| {
            builder.ttl(Duration::from_micros(1_500))
        }));
}

#[test]
fn settings_under_which_nothing_can_succeed_are_errors() {
    expect!["0 tries: no attempt would ever be made"]
        .assert_eq(&error(3, |builder| builder.retry(tries(0))));
    let empty = Retry {
        tries: 1,
        delay_least: ms(2),
        delay_most: ms(1),
    };
    expect!["a retry delay of 2ms to 1ms is an empty range"]
        .assert_eq(&error(3, |builder| builder.retry(empty)));
    expect!["a timeout of zero: every node would time out"]
        .assert_eq(&error(3, |builder| builder.node_timeout(ms(0))));
}

#[test]
fn extreme_settings_neither_panic_nor_wrap_around() {
    let huge = Duration::from_millis(u64::MAX);
    let world = World::new(1);
    let lock = Client::of(&world).builder().ttl(huge).build();
    assert!(lock.is_ok_and(|lock| lock.warnings().is_empty()));
    let far = Drift {
        ppm: u32::MAX,
        fixed: Duration::MAX,
    };
    assert!(matches!(
        Client::of(&world).builder().drift(far).build(),
        Err(BuildError::TtlWithinDrift { .. })
    ));
}

#[test]
fn an_even_number_of_nodes_is_a_warning() {
    for nodes in 1..=9 {
        let warnings = Client::of(&World::new(nodes)).lock().warnings();
        let even = nodes % 2 == 0;
        assert_eq!(
            warnings,
            Vec::from_iter(even.then_some(Warning::EvenNodes(nodes)))
        );
    }
    expect!["4 nodes survive no more failures than 3 and split votes more often"]
        .assert_eq(&Warning::EvenNodes(4).to_string());
}

#[test]
fn timeouts_that_eat_the_ttl_are_warnings() {
    let world = World::new(5);
    let builder = Client::of(&world).builder().order(Order::Sequential);
    let warnings = |timeout| {
        builder
            .clone()
            .node_timeout(timeout)
            .build()
            .unwrap()
            .warnings()
    };
    assert_eq!(warnings(ms(493)), []);
    assert_eq!(warnings(ms(494)), [Warning::SequentialTimeoutsEatTtl]);
    assert_eq!(warnings(TTL), [Warning::NodeTimeoutNotBelowTtl]);
}

#[test]
fn another_ttl_is_checked_as_well() {
    let lock = Client::of(&World::new(3)).lock();
    assert!(lock.with_ttl(ms(500)).is_ok());
    assert!(matches!(
        lock.with_ttl(ms(1)),
        Err(BuildError::TtlWithinDrift { .. })
    ));
}

#[test]
fn quorum_is_of_all_nodes() {
    let quorums: Vec<usize> = (1..=7)
        .map(|nodes| Client::of(&World::new(nodes)).lock().quorum())
        .collect();
    assert_eq!(quorums, [1, 2, 2, 3, 3, 4, 4]);
}
