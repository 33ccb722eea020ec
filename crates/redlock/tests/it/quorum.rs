//! Quorum and nodes.

use redlock::{Order, Reason, Vote};

use crate::client::{Client, MARGIN, NODE_TIMEOUT, ORDERS, TTL, letters};
use crate::node::Manner;
use crate::world::{World, ms};

#[test]
fn quorum_counts_the_configured_nodes_not_the_reachable_ones() {
    for order in ORDERS {
        let world = World::new(5);
        let cut_off = Client::of(&world).cut_from(&[3, 4, 5]);
        let refused = world
            .run(cut_off.builder().order(order).build().unwrap().acquire("k"))
            .unwrap_err();
        assert_eq!(
            refused.reason,
            Reason::MajorityImpossible {
                granted: 2,
                needed: 3,
                nodes: 5
            }
        );
    }
}

#[test]
fn two_clients_on_both_sides_of_a_partition_are_never_both_holders() {
    let world = World::new(5);
    let left = Client::of(&world).cut_from(&[3, 4, 5]);
    let right = Client::of(&world).cut_from(&[1, 2]);
    let refused = world.run(left.lock().acquire("k"));
    let won = world.run(right.lock().acquire("k"));
    assert!(refused.is_err() && won.is_ok());
}

#[test]
fn even_split_is_refused_not_undecided() {
    for (nodes, foreign) in [(2, vec![2]), (4, vec![3, 4])] {
        for order in ORDERS {
            let world = World::new(nodes);
            world.occupy(foreign.clone(), "k", TTL);
            let lock = Client::of(&world).builder().order(order).build().unwrap();
            let refused = world.run(lock.acquire("k")).unwrap_err();
            assert!(
                matches!(refused.reason, Reason::MajorityImpossible { .. }),
                "{refused}"
            );
        }
    }
}

#[test]
fn attempt_ends_as_soon_as_a_majority_is_impossible() {
    let world = World::new(5);
    world.occupy([1, 2, 3], "k", TTL);
    world.set([4, 5], Manner::silent());
    let lock = Client::of(&world)
        .builder()
        .order(Order::Sequential)
        .build()
        .unwrap();
    let refused = world.run(lock.acquire("k")).unwrap_err();
    assert_eq!(letters(&refused.votes), "hhhnn");
    assert_eq!(
        world.now(),
        ms(6),
        "three answers of 2 ms each, and no timeout"
    );

    let lock = Client::of(&world)
        .builder()
        .order(Order::Parallel)
        .build()
        .unwrap();
    let began = world.now();
    let refused = world.run(lock.acquire("k")).unwrap_err();
    assert_eq!(letters(&refused.votes), "hhhaa");
    assert_eq!(world.now() - began, ms(2));
}

#[test]
fn a_won_majority_goes_on_asking_the_remaining_nodes() {
    for order in ORDERS {
        let world = World::new(5);
        let guard = world
            .run(
                Client::of(&world)
                    .builder()
                    .order(order)
                    .build()
                    .unwrap()
                    .acquire("k"),
            )
            .unwrap();
        assert_eq!(letters(guard.votes()), "ggggg");
        assert_eq!(world.holding("k"), [1, 2, 3, 4, 5]);
    }
}

#[test]
fn sequential_asks_one_after_another_and_parallel_all_at_once() {
    for (order, took) in [(Order::Sequential, ms(10)), (Order::Parallel, ms(2))] {
        let world = World::new(5);
        let guard = world
            .run(
                Client::of(&world)
                    .builder()
                    .order(order)
                    .build()
                    .unwrap()
                    .acquire("k"),
            )
            .unwrap();
        assert_eq!(world.now(), took);
        assert_eq!(guard.granted_validity(), TTL - took - MARGIN);
    }
}

#[test]
fn one_node_in_error_is_evidence_and_the_lock_is_held() {
    for error in [
        "LOADING",
        "MISCONF",
        "OOM",
        "READONLY",
        "BUSY",
        "NOREPLICAS",
    ] {
        let world = World::new(3);
        world.set([2], Manner::error(error));
        let guard = world.run(Client::of(&world).lock().acquire("k")).unwrap();
        assert_eq!(letters(guard.votes()), "gfg");
        let Vote::Failed(evidence) = &guard.votes()[1].vote else {
            panic!("a failed vote")
        };
        assert_eq!(evidence.to_string(), format!("{error} told to"));
    }
}

#[test]
fn an_error_is_never_a_yes() {
    let world = World::new(3);
    world.set([1, 2], Manner::error("MISCONF"));
    let refused = world
        .run(Client::of(&world).lock().acquire("k"))
        .unwrap_err();
    assert_eq!(
        refused.reason,
        Reason::MajorityImpossible {
            granted: 0,
            needed: 2,
            nodes: 3
        }
    );
}

#[test]
fn one_node_is_the_single_node_lock() {
    let world = World::new(1);
    let guard = world.run(Client::of(&world).lock().acquire("k")).unwrap();
    let refused = world
        .run(Client::of(&world).lock().acquire("k"))
        .unwrap_err();
    assert_eq!(letters(&refused.votes), "h");
    drop(guard);
    world.pass(ms(5));
    assert!(world.run(Client::of(&world).lock().acquire("k")).is_ok());
}

#[test]
fn a_minority_that_is_silent_costs_its_timeout_only() {
    for (order, took) in [
        (Order::Sequential, ms(6) + NODE_TIMEOUT * 2),
        (Order::Parallel, NODE_TIMEOUT),
    ] {
        let world = World::new(5);
        world.set([1, 2], Manner::silent());
        let guard = world
            .run(
                Client::of(&world)
                    .builder()
                    .order(order)
                    .build()
                    .unwrap()
                    .acquire("k"),
            )
            .unwrap();
        assert_eq!(letters(guard.votes()), "ttggg");
        assert_eq!(world.now(), took);
    }
}
