//! Laws of a watched lease, over every interleaving of answers, extensions, clock steps and releases.

use std::time::Duration;

use proptest::prelude::*;
use redlock::{ExtendOutcome, Reading, Watchdog};

use crate::client::{Client, NODE_TIMEOUT, Seen, TTL, TestGuard};
use crate::node::Manner;
use crate::world::{World, ms};

/// What happens to a holder.
#[derive(Clone, Debug)]
enum Step {
    Pass(Duration),
    /// How a node treats its next command.
    Node(usize, Manner),
    /// Another client's key takes the place of the holder's, for so long.
    Foreign(usize, Duration),
    /// The node forgets all keys.
    Forgets(usize),
    ClockBack(Duration),
    ClockForward(Duration),
    Extend,
    Release,
}

const NODES: usize = 3;

fn spans() -> impl Strategy<Value = Duration> {
    prop_oneof![
        (0_u64..70).prop_map(ms),
        (0_u64..1_200).prop_map(ms),
        Just(TTL / 3),
    ]
}

fn manners() -> impl Strategy<Value = Manner> {
    prop_oneof![
        Just(Manner::silent()),
        Just(Manner::answer_lost()),
        Just(Manner::error("LOADING")),
        (0_u64..60, 0_u64..60).prop_map(|(there, back)| Manner::takes(ms(there), ms(back))),
    ]
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let node = 1..=NODES;
    let step = prop_oneof![
        6 => spans().prop_map(Step::Pass),
        6 => (node.clone(), manners()).prop_map(|(node, manner)| Step::Node(node, manner)),
        2 => (node.clone(), spans()).prop_map(|(node, span)| Step::Foreign(node, span)),
        1 => node.prop_map(Step::Forgets),
        1 => spans().prop_map(Step::ClockBack),
        1 => spans().prop_map(Step::ClockForward),
        3 => Just(Step::Extend),
        1 => Just(Step::Release),
    ];
    prop::collection::vec(step, 0..40)
}

fn take(step: &Step, world: &World, guard: &mut TestGuard) {
    match step.clone() {
        Step::Pass(span) => world.pass(span),
        Step::Node(node, manner) => world.once(node, manner),
        Step::Foreign(node, span) => world.occupy([node], "k", span),
        Step::Forgets(node) => world.state().nodes[node - 1].keys.clear(),
        Step::ClockBack(by) => world.step_clock_back(by),
        Step::ClockForward(by) => world.step_clock_forward(by),
        Step::Extend => drop(world.run(guard.extend())),
        Step::Release => drop(world.run(guard.release())),
    }
}

/// Runs the steps, and says what an observer saw and what the first deadline was.
fn observe(steps: &[Step], lazily: bool) -> (Vec<Seen>, Reading) {
    let world = World::new(NODES);
    let client = Client::of(&world);
    let watchdog = Watchdog {
        attempts: if lazily { 2 } else { 16 },
        longest: None,
    };
    let lock = client.builder().watchdog(watchdog).build().unwrap();
    let mut guard = world.run(lock.acquire("k")).unwrap();
    let first = guard.deadline();
    let mut told = false;
    for step in steps {
        take(step, &world, &mut guard);
        let expired = guard.is_expired();
        assert!(expired || !told, "a lease came back to life by {step:?}");
        told = expired;
    }
    world.pass(NODE_TIMEOUT);
    (client.diary.seen(), first)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn lost_is_final_for_every_interleaving(steps in steps(), lazily in any::<bool>()) {
        let (seen, _) = observe(&steps, lazily);
        let mut over = false;
        for event in seen {
            match event {
                Seen::Lost { .. } => {
                    prop_assert!(!over, "told twice, or after the release");
                    over = true;
                }
                Seen::Release => over = true,
                Seen::Asked => prop_assert!(!over, "a node was asked for a lease that is over"),
                Seen::Extension { outcome, .. } => {
                    prop_assert!(!over || outcome == ExtendOutcome::Lost, "{:?}", outcome);
                }
            }
        }
    }

    #[test]
    fn deadlines_only_grow_and_only_inside_the_old_validity(steps in steps()) {
        let (seen, first) = observe(&steps, false);
        let mut old = first;
        for event in seen {
            match event {
                Seen::Extension { at, outcome: ExtendOutcome::Extended, deadline } => {
                    prop_assert!(at < old, "extended at {at}, after {old}");
                    prop_assert!(deadline >= old);
                    old = deadline;
                }
                Seen::Extension { deadline, .. } => prop_assert_eq!(deadline, old),
                _ => {}
            }
        }
    }

    #[test]
    fn an_unreachable_holder_is_told_by_its_own_clock(waits in prop::collection::vec(spans(), 0..10)) {
        let world = World::new(NODES);
        let client = Client::of(&world);
        let lock = client.builder().watchdog(Watchdog::default()).build().unwrap();
        let guard = world.run(lock.acquire("k")).unwrap();
        waits.into_iter().for_each(|span| world.pass(span));
        world.set(1..=NODES, Manner::silent());
        world.run(guard.lost());
        prop_assert_eq!(client.diary.lost_at(), Some(guard.deadline()));
        prop_assert!(!world.holding("k").is_empty(), "told before the first key ran out");
    }
}
