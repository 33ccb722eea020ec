//! A small world for tests: clients c1 and c2, servers n1 and n2 that count.

use std::collections::BTreeMap;
use std::time::Duration;

use bytes::Bytes;
use fencepost_checker::Time;
use fencepost_checker::history::{Crash, Cut, Event, Role};
use fencepost_world::plan::{
    Action, EventPattern, Fault, Heal, HostPlan, LatencyPlan, NetworkPlan, Trigger, WorldPlan,
};
use fencepost_world::{EngineKind, Host, Service, World};
use redis_node::{ConnectionId, Did, Effects, Reply, Touch, UnixTime};

pub(crate) const MS: fn(u64) -> Duration = Duration::from_millis;

/// Answers `COUNT` with how often it was asked since it started.
#[derive(Default)]
pub(crate) struct Counter {
    asked: i64,
    connections: BTreeMap<ConnectionId, Host>,
}

impl Service for Counter {
    fn boot(&mut self, _now: UnixTime) {
        *self = Self::default();
    }
    fn stop(&mut self, _how: Crash, _now: UnixTime) {}
    fn connected(&mut self, connection: ConnectionId, peer: Host) {
        self.connections.insert(connection, peer);
    }
    fn disconnected(&mut self, connection: ConnectionId) {
        self.connections
            .remove(&connection)
            .expect("only what is connected is disconnected");
    }
    fn handle(&mut self, _now: UnixTime, connection: ConnectionId, request: &[Bytes]) -> Effects {
        assert!(
            self.connections.contains_key(&connection),
            "a request on a connection that is not open"
        );
        let mut effects = Effects::default();
        if &*request[0] == b"COUNT" {
            self.asked += 1;
            effects
                .replies
                .push((connection, Reply::Integer(self.asked)));
            effects.touches.push(Touch {
                key: Bytes::from_static(b"count"),
                did: Did::Read,
                expires_at: None,
                value: None,
            });
        } else {
            effects.replies.push((connection, Reply::ok()));
        }
        effects
    }
}

/// Two clients, two servers, every message 5 ms on its way, no fault, ten seconds.
pub(crate) fn plan(faults: Vec<Fault>) -> WorldPlan {
    let host = |name: &str, role| HostPlan {
        name: name.into(),
        role,
        rate_ppm: 0,
    };
    WorldPlan {
        seed: 1,
        horizon: Duration::from_secs(10),
        settle: MS(100),
        hosts: vec![
            host("c1", Role::Client),
            host("c2", Role::Client),
            host("n1", Role::Resource),
            host("n2", Role::Resource),
        ],
        network: NetworkPlan {
            latency: LatencyPlan {
                min: MS(5),
                max: MS(5),
            },
            links: Vec::new(),
        },
        faults,
        heal_at: None,
    }
}

/// What a fault does, and when it ends.
pub(crate) type Doing = (Action, Heal);

pub(crate) fn at(time: Duration, (action, heal): Doing) -> Fault {
    Fault {
        trigger: Trigger::At(time),
        action,
        heal,
    }
}

pub(crate) fn on(host: &str, verb: &str, (action, heal): Doing) -> Fault {
    let event = EventPattern {
        host: host.into(),
        verb: verb.into(),
        peer: None,
    };
    Fault {
        trigger: Trigger::On {
            event,
            nth: 1,
            after: Duration::ZERO,
        },
        action,
        heal,
    }
}

pub(crate) fn pause(host: &str, lasts: Duration) -> Doing {
    (
        Action::Pause {
            host: host.into(),
            suspend: false,
        },
        Heal::After(lasts),
    )
}

pub(crate) fn suspend(host: &str, lasts: Duration) -> Doing {
    (
        Action::Pause {
            host: host.into(),
            suspend: true,
        },
        Heal::After(lasts),
    )
}

pub(crate) fn crash(host: &str, how: Crash, down_for: Duration) -> Doing {
    (
        Action::Crash {
            host: host.into(),
            how,
            delayed_until: None,
        },
        Heal::After(down_for),
    )
}

pub(crate) fn partition(how: Cut, heal: Heal) -> Doing {
    let (left, right) = (vec!["c1".into()], vec!["n1".into()]);
    (
        Action::Partition {
            left,
            right,
            how,
            one_way: false,
        },
        heal,
    )
}

pub(crate) fn instant(action: Action) -> Doing {
    (action, Heal::Never)
}

/// Asks a server once.
pub(crate) async fn count(connection: &mut fencepost_world::Connection) -> redis::RedisResult<i64> {
    redis::cmd("COUNT").query_async(connection).await
}

/// Runs `program` on c1, on that engine; what it returns is returned with the history.
pub(crate) fn run<T, F>(
    engine: EngineKind,
    plan: WorldPlan,
    program: fn(Host) -> F,
) -> (Vec<T>, Vec<Event>)
where
    T: 'static,
    F: Future<Output = T> + 'static,
{
    run_beside(engine, plan, Box::new(Counter::default()), program)
}

/// The same with another service at n1.
pub(crate) fn run_beside<T, F>(
    engine: EngineKind,
    plan: WorldPlan,
    n1: Box<dyn Service>,
    program: fn(Host) -> F,
) -> (Vec<T>, Vec<Event>)
where
    T: 'static,
    F: Future<Output = T> + 'static,
{
    let results = std::rc::Rc::new(std::cell::RefCell::new(Vec::new()));
    let mut world = World::new(plan, engine).expect("the plan is sound");
    world.serve("n1", n1).expect("n1 exists");
    world
        .serve("n2", Box::new(Counter::default()))
        .expect("n2 exists");
    let into = std::rc::Rc::clone(&results);
    let program = move |host| {
        let (into, run) = (std::rc::Rc::clone(&into), program(host));
        async move {
            let result = run.await;
            into.borrow_mut().push(result);
        }
    };
    world.program("c1", program).expect("c1 exists");
    let history = world.run();
    (results.take(), history)
}

/// Within a tick of turmoil, or exactly on the event engine.
pub(crate) fn about(engine: EngineKind, got: Time, expected: Duration) -> bool {
    let slack = if engine == EngineKind::Event {
        Duration::ZERO
    } else {
        MS(4)
    };
    let got = got.since(Time::ZERO);
    expected <= got && got <= expected + slack
}
