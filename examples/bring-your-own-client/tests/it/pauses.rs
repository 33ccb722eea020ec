//! A pause of a process is what stock turmoil cannot show, because tasks that tokio spawned go on; and what it looks like
//! on a host of the `fencepost-world`, where they do not.

use std::cell::RefCell;
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::rc::Rc;
use std::task::Poll;
use std::time::Duration;

use fencepost_checker::history::Role;
use fencepost_world::plan::{Action, Fault, Heal, HostPlan, LatencyPlan, NetworkPlan, Trigger};
use fencepost_world::{EngineKind, Host, World, WorldPlan, true_time};
use tokio::time::sleep;

use crate::cluster::{Cluster, TTL};

const FROM: Duration = Duration::from_secs(2);
const FOR: Duration = Duration::from_secs(10);

/// What one can do on stock turmoil: the program's own future is not polled for a while.
async fn paused<T>(program: impl Future<Output = T>) -> T {
    let (mut program, mut from, mut until) =
        (pin!(program), pin!(sleep(FROM)), pin!(sleep(FROM + FOR)));
    poll_fn(|cx| {
        let begun = from.as_mut().poll(cx).is_ready();
        let ended = until.as_mut().poll(cx).is_ready();
        if begun && !ended {
            return Poll::Pending;
        }
        program.as_mut().poll(cx)
    })
    .await
}

/// The program stands still for three TTLs. A real process would lose its lock; here the renewals go on behind its back.
#[test]
fn on_stock_turmoil_a_paused_program_renews() {
    let mut cluster = Cluster::new(7);
    cluster.client("c1", |client| {
        paused(async move {
            let held = client.lock().await?.acquire(TTL).await.expect("it is free");
            for _ in 0..150 {
                client.says("works");
                sleep(Duration::from_millis(100)).await;
            }
            assert!(held.is_valid());
            Ok(())
        })
    });
    cluster.until(11.9);
    assert_eq!(cluster.holder().as_deref(), Some("c1"));
    let within = |what: &str| {
        let times = cluster.trace.times(what).into_iter();
        times.filter(|time| (2_010..12_000).contains(time)).count()
    };
    assert_eq!(within("c1 works"), 0, "the program was stopped");
    assert!(within("lock c1 3000") >= 9, "what it had spawned was not");
}

fn plan() -> WorldPlan {
    let latency = LatencyPlan {
        min: Duration::from_millis(1),
        max: Duration::from_millis(1),
    };
    let pause = Action::Pause {
        host: "c1".to_owned(),
        suspend: false,
    };
    WorldPlan {
        seed: 7,
        horizon: Duration::from_secs(60),
        settle: Duration::ZERO,
        hosts: vec![HostPlan {
            name: "c1".to_owned(),
            role: Role::Client,
            rate_ppm: 0,
        }],
        network: NetworkPlan {
            latency,
            links: Vec::new(),
        },
        faults: vec![Fault {
            trigger: Trigger::At(FROM),
            action: pause,
            heal: Heal::After(FOR),
        }],
        heal_at: None,
    }
}

/// `Host::spawn` gives a task to the host, and all of a host stops: the renewals that were due come when it goes on.
#[test]
fn on_a_host_of_the_world_all_its_tasks_stop() {
    for engine in [EngineKind::Event, EngineKind::Turmoil] {
        let renewals: Rc<RefCell<Vec<u64>>> = Rc::default();
        let mut world = World::new(plan(), engine).expect("a plan without contradictions");
        let written = Rc::clone(&renewals);
        let program = move |host: Host| {
            let written = Rc::clone(&written);
            async move {
                host.spawn(async move {
                    loop {
                        host.sleep(TTL / 3).await;
                        written.borrow_mut().push(true_time().0 / 1_000_000);
                    }
                });
                host.sleep(Duration::from_secs(15)).await;
            }
        };
        world.program("c1", program).expect("the plan has it");
        drop(world.run());
        let within = |from: u64, until: u64| {
            let renewals = renewals.borrow();
            renewals
                .iter()
                .filter(|time| (from..until).contains(*time))
                .count()
        };
        assert!(within(0, 2_001) > 0, "{engine}: {renewals:?}");
        assert_eq!(within(2_001, 12_000), 0, "{engine}: {renewals:?}");
        assert!(within(12_000, 15_001) > 0, "{engine}: {renewals:?}");
    }
}
