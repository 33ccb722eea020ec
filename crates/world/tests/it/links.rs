//! Links between servers, pushed replies and daemons, the same on both engines.

use std::cell::RefCell;
use std::rc::Rc;

use bytes::Bytes;
use fencepost_checker::Time;
use fencepost_checker::history::{Crash, Cut};
use fencepost_world::plan::{Action, Fault, Heal, WorldPlan};
use fencepost_world::{EngineKind, Host, Service, World, true_time};
use redis_node::{Address, ConnectionId, Effects, LinkEffect, LinkId, Reply, UnixTime};

use crate::world_dsl::{MS, at, crash, plan};

type Log = Rc<RefCell<Vec<(Time, String)>>>;

/// Asks for a link at each start if it has a peer, greets over it, and echoes what it hears with a `!`.
struct Talker {
    peer: Option<&'static str>,
    log: Log,
    name: &'static str,
    starts: u64,
    waiting: Vec<ConnectionId>,
}

impl Talker {
    fn note(&self, what: impl std::fmt::Display) {
        self.log
            .borrow_mut()
            .push((true_time(), format!("{} {what}", self.name)));
    }
}

fn send(link: LinkId, text: &str) -> Effects {
    let bytes = Bytes::copy_from_slice(text.as_bytes());
    Effects {
        links: vec![LinkEffect::Send { link, bytes }],
        ..Effects::default()
    }
}

impl Service for Talker {
    fn boot(&mut self, _now: UnixTime) {
        self.starts += 1;
        self.waiting.clear();
    }
    fn stop(&mut self, _how: Crash, _now: UnixTime) {}
    fn connected(&mut self, _connection: ConnectionId, _peer: Host) {}
    fn disconnected(&mut self, _connection: ConnectionId) {}
    /// `WAIT` is answered when something comes over a link, `LINK` asks for one; everything else at once.
    fn handle(&mut self, _now: UnixTime, connection: ConnectionId, request: &[Bytes]) -> Effects {
        let mut effects = Effects::default();
        match (&*request[0], self.peer) {
            (b"WAIT", _) => self.waiting.push(connection),
            (b"LINK", Some(peer)) => {
                let link = LinkId::Outgoing(self.starts);
                effects.links.push(LinkEffect::Connect {
                    link,
                    peer: Address::new(peer, 6379),
                });
                effects.replies.push((connection, Reply::ok()));
            }
            _ => effects.replies.push((connection, Reply::ok())),
        }
        effects
    }
    fn link_opened(&mut self, _now: UnixTime, link: LinkId, peer: &Address) -> Effects {
        self.note(format_args!("opened to {}", peer.host));
        match link {
            LinkId::Outgoing(_) => send(link, "hello"),
            LinkId::Incoming(_) => Effects::default(),
        }
    }
    fn link_received(&mut self, _now: UnixTime, link: LinkId, bytes: Bytes) -> Effects {
        let text = String::from_utf8_lossy(&bytes).into_owned();
        self.note(format_args!("heard {text}"));
        let mut effects = if text.len() < 7 {
            send(link, &format!("{text}!"))
        } else {
            Effects::default()
        };
        effects.replies.extend(
            self.waiting
                .drain(..)
                .map(|connection| (connection, Reply::Integer(1))),
        );
        effects
    }
    fn link_closed(&mut self, _now: UnixTime, _link: LinkId) -> Effects {
        self.note("closed");
        Effects::default()
    }
}

/// n1 links to n2 when c1 says so; c1 then waits for n1 to hear something.
fn run(engine: EngineKind, plan: WorldPlan) -> Vec<(Time, String)> {
    let log = Log::default();
    let mut world = World::new(plan, engine).expect("the plan is sound");
    for (name, peer) in [("n1", Some("n2")), ("n2", None)] {
        let talker = Talker {
            peer,
            log: Rc::clone(&log),
            name,
            starts: 0,
            waiting: Vec::new(),
        };
        world.serve(name, Box::new(talker)).expect("it exists");
    }
    let own = Rc::clone(&log);
    let program = move |c1: Host| {
        let log = Rc::clone(&own);
        async move {
            c1.sleep(MS(50)).await;
            let n1 = Host::find("n1").expect("n1 exists");
            let mut connection = c1.connect(n1).await.expect("n1 is up");
            let _: () = redis::cmd("LINK")
                .query_async(&mut connection)
                .await
                .expect("n1 answers");
            let waited: redis::RedisResult<i64> =
                redis::cmd("WAIT").query_async(&mut connection).await;
            log.borrow_mut()
                .push((true_time(), format!("c1 waited for {:?}", waited.ok())));
            c1.sleep(MS(1000)).await;
        }
    };
    world.program("c1", program).expect("c1 exists");
    drop(world.run());
    log.take()
}

fn words(log: &[(Time, String)]) -> Vec<&str> {
    log.iter().map(|(_, words)| &**words).collect()
}

fn cut(how: Cut) -> Fault {
    let (left, right) = (vec!["n1".into()], vec!["n2".into()]);
    at(
        MS(0),
        (
            Action::Partition {
                left,
                right,
                how,
                one_way: false,
            },
            Heal::After(MS(500)),
        ),
    )
}

#[test]
fn a_link_carries_bytes_both_ways_and_a_reply_can_wait_for_them() {
    for engine in EngineKind::ALL {
        let log = run(engine, plan(vec![]));
        let expected = [
            "n2 opened to n1",
            "n1 opened to n2",
            "n2 heard hello",
            "n1 heard hello!",
            "c1 waited for Some(1)",
            "n2 heard hello!!",
        ];
        let mut heard = words(&log);
        heard.sort_unstable();
        let mut wanted = expected.to_vec();
        wanted.sort_unstable();
        assert_eq!(heard, wanted, "{engine}");
        let place = |what| log.iter().position(|(_, words)| words == what);
        assert!(
            place("n2 heard hello") < place("n1 heard hello!"),
            "{engine}"
        );
        assert!(
            place("n1 heard hello!") < place("c1 waited for Some(1)"),
            "{engine}"
        );
    }
}

#[test]
fn a_held_link_opens_after_the_heal_and_a_lost_one_does_not() {
    for engine in EngineKind::ALL {
        let held = run(engine, plan(vec![cut(Cut::Hold)]));
        let opened = held
            .iter()
            .find(|(_, words)| words == "n1 opened to n2")
            .expect("it opens")
            .0;
        assert!(opened.since(Time::ZERO) >= MS(500), "{engine}: {held:?}");
        let lost = run(engine, plan(vec![cut(Cut::Drop)]));
        assert!(words(&lost).contains(&"n1 closed"), "{engine}: {lost:?}");
        assert!(
            !words(&lost).contains(&"n1 opened to n2"),
            "{engine}: {lost:?}"
        );
    }
}

#[test]
fn a_killed_peer_closes_its_links_and_one_without_power_says_nothing() {
    for engine in EngineKind::ALL {
        let killed = run(
            engine,
            plan(vec![at(MS(300), crash("n2", Crash::Kill, MS(60_000)))]),
        );
        assert!(
            words(&killed).contains(&"n1 closed"),
            "{engine}: {killed:?}"
        );
        let dark = run(
            engine,
            plan(vec![at(MS(300), crash("n2", Crash::Power, MS(60_000)))]),
        );
        assert!(!words(&dark).contains(&"n1 closed"), "{engine}: {dark:?}");
    }
}

#[test]
fn a_link_to_a_process_that_is_down_is_refused() {
    for engine in EngineKind::ALL {
        let log = run(
            engine,
            plan(vec![at(MS(0), crash("n2", Crash::Kill, MS(60_000)))]),
        );
        assert!(words(&log).contains(&"n1 closed"), "{engine}: {log:?}");
    }
}

#[test]
fn a_daemon_runs_and_nobody_waits_for_it() {
    for engine in EngineKind::ALL {
        let beats = Rc::new(RefCell::new(0));
        let own = Rc::clone(&beats);
        let mut world = World::new(plan(vec![]), engine).expect("the plan is sound");
        let daemon = move |host: Host| {
            let beats = Rc::clone(&own);
            async move {
                loop {
                    host.sleep(MS(100)).await;
                    *beats.borrow_mut() += 1;
                }
            }
        };
        world.daemon("n1", daemon).expect("n1 exists");
        world
            .program("c1", |c1: Host| c1.sleep(MS(1050)))
            .expect("c1 exists");
        drop(world.run());
        let beats = *beats.borrow();
        assert!((10..=12).contains(&beats), "{engine}: {beats}");
    }
}
