//! What hosts, network and faults do, the same on both engines.

use bytes::Bytes;
use fencepost_checker::history::{Crash, Cut, EndReason, Event, What};
use fencepost_checker::{ClockKind, Time};
use fencepost_world::plan::{Action, EventPattern, Heal, LinkPlan};
use fencepost_world::{EngineKind, Host, Service, true_time};
use futures_util::future::{Either, select};
use redis_node::{ConnectionId, Effects, Reply, UnixTime};
use std::pin::pin;
use std::time::Duration;

use crate::world_dsl::{
    MS, about, at, count, crash, instant, on, partition, pause, plan, run, run_beside, suspend,
};

fn n1() -> Host {
    Host::find("n1").expect("n1 exists")
}

async fn ask_once(c1: Host) -> (redis::RedisResult<i64>, Time) {
    let mut connection = match c1.connect(n1()).await {
        Ok(connection) => connection,
        Err(error) => return (Err(error), true_time()),
    };
    (count(&mut connection).await, true_time())
}

#[test]
fn a_request_takes_a_round_trip_after_the_connect() {
    for engine in EngineKind::ALL {
        let (results, history) = run(engine, plan(vec![]), ask_once);
        let (answer, when) = &results[0];
        assert_eq!(answer.as_ref().ok(), Some(&1));
        // turmoil's redis-rs spends another round trip on CLIENT SETINFO, and ticks round up.
        let latest = if engine == EngineKind::Event {
            MS(20)
        } else {
            MS(45)
        };
        assert!(
            when.since(Time::ZERO) >= MS(20) && when.since(Time::ZERO) <= latest,
            "{engine}: {when}"
        );
        assert!(matches!(
            history.last().map(|event| &event.what),
            Some(What::End {
                reason: EndReason::Finished
            })
        ));
    }
}

#[test]
fn a_paused_host_does_nothing_and_its_clocks_go_on() {
    for engine in EngineKind::ALL {
        let (results, _) = run(
            engine,
            plan(vec![at(MS(50), pause("c1", MS(300)))]),
            |c1| async move {
                let mut woke = Vec::new();
                for _ in 0..3 {
                    c1.sleep(MS(40)).await;
                    woke.push((true_time(), c1.reading(ClockKind::Monotonic)));
                }
                woke
            },
        );
        let woke = &results[0];
        assert!(about(engine, woke[0].0, MS(40)), "{engine}: {woke:?}");
        assert!(about(engine, woke[1].0, MS(350)), "{engine}: {woke:?}");
        assert!(about(engine, woke[2].0, MS(390)), "{engine}: {woke:?}");
        assert!(
            woke.iter().all(|(time, reading)| time.0 == *reading),
            "the clock of a paused host goes on"
        );
    }
}

#[test]
fn nothing_of_a_host_runs_after_the_event_it_was_to_stop_at() {
    for engine in EngineKind::ALL {
        let (results, _) = run(
            engine,
            plan(vec![on("c1", "here", pause("c1", MS(500)))]),
            |c1| async move {
                c1.sleep(MS(10)).await;
                let before = true_time();
                c1.mark("here").await;
                (before, true_time())
            },
        );
        let (before, after) = results[0];
        assert_eq!(after.since(before), MS(500), "{engine}");
    }
}

#[test]
fn a_kill_at_a_mark_never_returns_from_it_and_a_restart_begins_again() {
    for engine in EngineKind::ALL {
        let faults = vec![on("c1", "here", crash("c1", Crash::Kill, MS(100)))];
        let (results, history) = run(engine, plan(faults), |c1| async move {
            c1.mark("here").await;
            true_time()
        });
        assert_eq!(
            results.len(),
            1,
            "{engine}: the first life never came past its mark"
        );
        assert!(about(engine, results[0], MS(100)), "{engine}: {results:?}");
        let started = history
            .iter()
            .filter(|e| matches!(&e.what, What::Started { host } if &**host == "c1"))
            .count();
        assert_eq!(started, 2);
    }
}

#[test]
fn a_killed_server_refuses_and_one_without_power_is_silent() {
    for engine in EngineKind::ALL {
        for how in [Crash::Kill, Crash::Power] {
            let (results, _) = run(
                engine,
                plan(vec![at(MS(1), crash("n1", how, MS(5000)))]),
                |c1| async move {
                    c1.sleep(MS(100)).await;
                    let asked = true_time();
                    let bound = c1.sleep(MS(1000));
                    match select(pin!(ask_once(c1)), pin!(bound)).await {
                        Either::Left(((answer, when), _)) => {
                            Some((answer.is_ok(), when.since(asked)))
                        }
                        Either::Right(_) => None,
                    }
                },
            );
            match (how, results[0]) {
                (Crash::Kill, Some((false, took))) => {
                    assert!(took <= MS(20), "{engine}: one round trip, {took:?}")
                }
                (Crash::Power, None) => {}
                (how, got) => panic!("{engine}, {how:?}: {got:?}"),
            }
        }
    }
}

#[test]
fn a_connection_to_a_former_process_fails_and_a_new_one_works() {
    for engine in EngineKind::ALL {
        for how in [Crash::Kill, Crash::Power] {
            let (results, _) = run(
                engine,
                plan(vec![at(MS(200), crash("n1", how, MS(100)))]),
                |c1| async move {
                    let mut connection = c1.connect(n1()).await.expect("n1 is up");
                    let first = count(&mut connection).await;
                    c1.sleep(MS(400)).await;
                    let second = count(&mut connection).await;
                    let (third, _) = ask_once(c1).await;
                    (first.ok(), second.ok(), third.ok())
                },
            );
            assert_eq!(
                results,
                [(Some(1), None, Some(1))],
                "{engine}, {how:?}: the new process counts from 1"
            );
        }
    }
}

#[test]
fn held_messages_arrive_after_the_heal_and_dropped_ones_never_do() {
    for engine in EngineKind::ALL {
        for how in [Cut::Hold, Cut::Drop] {
            let (results, _) = run(
                engine,
                plan(vec![at(MS(200), partition(how, Heal::After(MS(500))))]),
                |c1| async move {
                    let mut connection = c1.connect(n1()).await.expect("n1 is up");
                    c1.sleep(MS(250)).await;
                    let answer = count(&mut connection).await;
                    let when = true_time();
                    let (again, _) = ask_once(c1).await;
                    (answer.ok(), when, again.ok())
                },
            );
            let (answer, when, again) = results[0];
            assert!(
                when.since(Time::ZERO) >= MS(700) && when.since(Time::ZERO) < MS(730),
                "{engine}, {how:?}: {when}"
            );
            match how {
                Cut::Hold => assert_eq!(
                    (answer, again),
                    (Some(1), Some(2)),
                    "{engine}: late, not lost"
                ),
                Cut::Drop => assert_eq!(
                    (answer, again),
                    (None, Some(1)),
                    "{engine}: lost, and reset after the heal"
                ),
            }
        }
    }
}

#[test]
fn a_partition_heals_on_an_event() {
    for engine in EngineKind::ALL {
        let until = EventPattern {
            host: "c1".into(),
            verb: "ready".into(),
            peer: None,
        };
        let action = partition(Cut::Hold, Heal::On(until));
        let (results, _) = run(engine, plan(vec![at(MS(0), action)]), |c1| async move {
            c1.spawn(async move {
                c1.sleep(MS(300)).await;
                c1.mark("ready").await;
            });
            ask_once(c1).await
        });
        let (answer, when) = &results[0];
        assert_eq!(answer.as_ref().ok(), Some(&1), "{engine}");
        assert!(when.since(Time::ZERO) >= MS(300), "{engine}: {when}");
    }
}

#[test]
fn a_server_stopped_between_applied_and_replied_replies_when_it_goes_on() {
    for engine in EngineKind::ALL {
        let (results, _) = run(
            engine,
            plan(vec![on("n1", "applied", pause("n1", MS(400)))]),
            ask_once,
        );
        let (answer, when) = &results[0];
        assert_eq!(answer.as_ref().ok(), Some(&1), "{engine}");
        assert!(when.since(Time::ZERO) >= MS(400), "{engine}: {when}");
    }
}

#[test]
fn a_server_killed_at_applied_has_done_it_and_never_says_so() {
    for engine in EngineKind::ALL {
        let (results, _) = run(
            engine,
            plan(vec![on(
                "n1",
                "applied",
                crash("n1", Crash::Power, MS(5000)),
            )]),
            |c1| async move {
                let bound = c1.sleep(MS(1000));
                matches!(
                    select(pin!(ask_once(c1)), pin!(bound)).await,
                    Either::Right(_)
                )
            },
        );
        assert_eq!(results, [true], "{engine}: no answer");
    }
}

#[test]
fn bytes_that_were_sent_survive_the_power_loss_of_their_sender() {
    for engine in EngineKind::ALL {
        let (results, _) = run(
            engine,
            plan(vec![on(
                "n1",
                "replied",
                crash("n1", Crash::Power, MS(5000)),
            )]),
            ask_once,
        );
        assert_eq!(results[0].0.as_ref().ok(), Some(&1), "{engine}");
    }
}

#[test]
fn a_delay_makes_messages_late_for_its_time() {
    for engine in EngineKind::ALL {
        let (left, right) = (vec!["c1".into()], vec!["n1".into()]);
        let action = (
            Action::Delay {
                left,
                right,
                extra: MS(200),
            },
            Heal::After(MS(2000)),
        );
        let (results, _) = run(engine, plan(vec![at(MS(100), action)]), |c1| async move {
            let mut took = Vec::new();
            let mut connection = c1.connect(n1()).await.expect("n1 is up");
            for pause in [0, 200, 3000] {
                c1.sleep(MS(pause)).await;
                let asked = true_time();
                count(&mut connection).await.expect("n1 answers");
                took.push(true_time().since(asked));
            }
            took
        });
        let took = &results[0];
        assert!(took[0] < MS(20) && took[2] < MS(20), "{engine}: {took:?}");
        assert!(
            took[1] >= MS(410) && took[1] < MS(420),
            "{engine}: {took:?}"
        );
    }
}

#[test]
fn a_clock_step_moves_the_wall_and_not_the_monotonic_clock() {
    for engine in EngineKind::ALL {
        let step = instant(Action::ClockStep {
            host: "c1".into(),
            by_ns: -3_000_000_000,
        });
        let (results, _) = run(engine, plan(vec![at(MS(50), step)]), |c1| async move {
            let read = move || {
                (
                    c1.reading(ClockKind::Wall),
                    c1.reading(ClockKind::Monotonic),
                )
            };
            let before = read();
            c1.sleep(MS(100)).await;
            let after = read();
            (
                after.0 as i64 - before.0 as i64,
                after.1 as i64 - before.1 as i64,
            )
        });
        let (wall, monotonic) = results[0];
        assert_eq!(wall, monotonic - 3_000_000_000, "{engine}");
        assert!(
            (100_000_000..104_000_000).contains(&monotonic),
            "{engine}: {monotonic}"
        );
    }
}

#[test]
fn a_fast_host_wakes_early() {
    for engine in EngineKind::ALL {
        let mut plan = plan(vec![]);
        plan.hosts[0].rate_ppm = 250_000;
        let (results, _) = run(engine, plan, |c1| async move {
            c1.sleep(MS(1000)).await;
            true_time()
        });
        assert!(
            about(engine, results[0], MS(800)),
            "{engine}: {:?}",
            results[0]
        );
    }
}

#[test]
fn links_have_latencies_of_their_own() {
    for engine in EngineKind::ALL {
        let mut plan = plan(vec![]);
        let latency = fencepost_world::plan::LatencyPlan {
            min: MS(50),
            max: MS(50),
        };
        plan.network.links.push(LinkPlan {
            between: ("n1".into(), "c1".into()),
            latency,
        });
        let (results, _) = run(engine, plan, ask_once);
        let when = results[0].1.since(Time::ZERO);
        assert!(when >= MS(200) && when < MS(320), "{engine}: {when:?}");
    }
}

#[test]
fn the_horizon_ends_a_run_that_does_not_end_itself() {
    for engine in EngineKind::ALL {
        let (results, history) = run(engine, plan(vec![]), |_| std::future::pending::<()>());
        assert!(results.is_empty());
        let last = history.last().expect("a history has an end");
        assert!(
            matches!(
                last.what,
                What::End {
                    reason: EndReason::Horizon | EndReason::Stuck
                }
            ),
            "{engine}: {last:?}"
        );
    }
}

#[test]
fn a_busy_loop_ends_as_stuck() {
    for engine in EngineKind::ALL {
        let (_, history) = run(engine, plan(vec![]), |_| {
            std::future::poll_fn(|cx| {
                cx.waker().wake_by_ref();
                std::task::Poll::<()>::Pending
            })
        });
        let last = history.last().expect("a history has an end");
        assert!(
            matches!(
                last.what,
                What::End {
                    reason: EndReason::Stuck
                }
            ),
            "{engine}: {last:?}"
        );
    }
}

#[test]
fn the_same_plan_gives_the_same_history() {
    for engine in EngineKind::ALL {
        let mut plan = plan(vec![
            at(MS(30), pause("c1", MS(10))),
            at(MS(200), partition(Cut::Drop, Heal::After(MS(100)))),
        ]);
        plan.network.latency.min = MS(1);
        let once = || {
            run(engine, plan.clone(), |c1| async move {
                let mut stream = c1.stream("rounds");
                for _ in 0..20 {
                    let bound = c1.sleep(MS(50));
                    drop(select(pin!(ask_once(c1)), pin!(bound)).await);
                    c1.sleep(Duration::from_nanos(stream.between(0, 50_000_000)))
                        .await;
                    c1.mark("round").await;
                }
            })
            .1
        };
        assert_eq!(once(), once(), "{engine}");
    }
}

#[test]
fn a_suspended_host_has_no_time_on_its_monotonic_clock() {
    for engine in EngineKind::ALL {
        let (results, _) = run(
            engine,
            plan(vec![at(MS(50), suspend("c1", MS(300)))]),
            |c1| async move {
                c1.sleep(MS(100)).await;
                (
                    true_time(),
                    c1.reading(ClockKind::Monotonic),
                    c1.reading(ClockKind::Wall),
                )
            },
        );
        let (woke, monotonic, wall) = results[0];
        assert!(
            about(engine, woke, MS(400)),
            "{engine}: its timers stand still too, {woke}"
        );
        assert_eq!(monotonic, woke.0 - 300_000_000, "{engine}");
        assert_eq!(
            wall,
            fencepost_world::WALL_START + woke.0,
            "{engine}: the wall clock goes on"
        );
    }
}

#[test]
fn a_clock_that_begins_to_run_fast_wakes_who_sleeps_already() {
    for engine in EngineKind::ALL {
        let drift = (
            Action::ClockDrift {
                host: "c1".into(),
                ppm: 500_000,
            },
            Heal::After(MS(200)),
        );
        let (results, _) = run(engine, plan(vec![at(MS(100), drift)]), |c1| async move {
            c1.sleep(MS(1000)).await;
            true_time()
        });
        assert!(
            about(engine, results[0], MS(900)),
            "{engine}: 200 ms were 300 ms to it, {:?}",
            results[0]
        );
    }
}

#[test]
fn a_slew_corrects_by_just_so_much() {
    for engine in EngineKind::ALL {
        let slew = instant(Action::ClockSlew {
            host: "c1".into(),
            by_ns: -50_000_000,
            ppm: 100_000,
        });
        let (results, _) = run(engine, plan(vec![at(MS(100), slew)]), |c1| async move {
            c1.sleep(MS(2000)).await;
            (
                true_time().0,
                c1.reading(ClockKind::Monotonic),
                c1.reading(ClockKind::Wall),
            )
        });
        let (time, monotonic, wall) = results[0];
        assert_eq!(
            time - monotonic,
            50_000_000,
            "{engine}: both clocks are bent"
        );
        assert_eq!(
            time - (wall - fencepost_world::WALL_START),
            50_000_000,
            "{engine}"
        );
    }
}

#[test]
fn a_reset_fails_what_waits_and_a_new_connection_works() {
    for engine in EngineKind::ALL {
        let (left, right) = (vec!["c1".into()], vec!["n1".into()]);
        let faults = vec![
            on("n1", "applied", pause("n1", MS(300))),
            at(MS(150), instant(Action::Reset { left, right })),
        ];
        let (results, _) = run(engine, plan(faults), |c1| async move {
            let mut connection = c1.connect(n1()).await.expect("n1 is up");
            let first = count(&mut connection).await;
            let when = true_time();
            c1.sleep(MS(500)).await;
            (first.ok(), when, ask_once(c1).await.0.ok())
        });
        let (first, when, second) = results[0];
        assert_eq!(
            (first, second),
            (None, Some(2)),
            "{engine}: it was counted, and the answer was lost"
        );
        assert!(about(engine, when, MS(150)), "{engine}: {when}");
    }
}

#[test]
fn one_late_packet_holds_up_its_own_connection_alone() {
    for engine in EngineKind::ALL {
        let late = instant(Action::LatePacket {
            from: "c1".into(),
            to: "n1".into(),
            extra: MS(2000),
        });
        let (results, _) = run(
            engine,
            plan(vec![on("c1", "ready", late)]),
            |c1| async move {
                let mut n1_connection = c1.connect(n1()).await.expect("n1 is up");
                let n2 = Host::find("n2").expect("n2 exists");
                let mut n2_connection = c1.connect(n2).await.expect("n2 is up");
                c1.mark("ready").await;
                c1.sleep(MS(20)).await;
                let asked = true_time();
                count(&mut n2_connection).await.expect("n2 answers");
                let n2_took = true_time().since(asked);
                count(&mut n1_connection).await.expect("n1 answers");
                let n1_took = true_time().since(asked);
                count(&mut n1_connection).await.expect("n1 answers");
                (n2_took, n1_took, true_time().since(asked) - n1_took)
            },
        );
        let (other, late, next) = results[0];
        assert!(
            other < MS(20) && next < MS(20),
            "{engine}: {other:?} {next:?}"
        );
        assert!(late >= MS(1975) && late < MS(2050), "{engine}: {late:?}");
    }
}

#[test]
fn a_one_way_cut_lets_the_other_way_pass() {
    let (left, right) = (vec!["n1".into()], vec!["c1".into()]);
    let cut = (
        Action::Partition {
            left,
            right,
            how: Cut::Drop,
            one_way: true,
        },
        Heal::Never,
    );
    let (results, history) = run(
        EngineKind::Event,
        plan(vec![at(MS(100), cut)]),
        |c1| async move {
            let mut connection = c1.connect(n1()).await.expect("n1 is up");
            c1.sleep(MS(200)).await;
            let bound = c1.sleep(MS(1000));
            matches!(
                select(pin!(count(&mut connection)), pin!(bound)).await,
                Either::Right(_)
            )
        },
    );
    assert_eq!(results, [true], "no answer comes back");
    let cuts = history
        .iter()
        .filter(|event| matches!(event.what, What::Cut { .. }))
        .count();
    assert_eq!(cuts, 1);
}

#[test]
fn a_delayed_restart_waits_by_the_wall_clock_of_its_host() {
    for engine in EngineKind::ALL {
        for jump in [false, true] {
            let crash = Action::Crash {
                host: "n1".into(),
                how: Crash::Power,
                delayed_until: Some(MS(3000)),
            };
            let mut faults = vec![at(MS(100), (crash, Heal::After(MS(200))))];
            if jump {
                faults.push(at(
                    MS(1000),
                    instant(Action::ClockStep {
                        host: "n1".into(),
                        by_ns: 1_500_000_000,
                    }),
                ));
            }
            let (_, history) = run(engine, plan(faults), |c1| c1.sleep(MS(6000)));
            let started = |what: &What| matches!(what, What::Started { host } if &**host == "n1");
            let restarted = history
                .iter()
                .filter(|event| started(&event.what))
                .nth(1)
                .expect("n1 is back")
                .at;
            let expected = if jump { MS(1600) } else { MS(3100) };
            assert!(about(engine, restarted, expected), "{engine}: {restarted}");
        }
    }
}

#[test]
fn the_heal_ends_every_fault_but_a_crash_for_good() {
    for engine in EngineKind::ALL {
        let for_good = (
            Action::Crash {
                host: "n2".into(),
                how: Crash::Kill,
                delayed_until: None,
            },
            Heal::Never,
        );
        let mut plan = plan(vec![
            at(MS(100), partition(Cut::Drop, Heal::Never)),
            at(MS(100), crash("n1", Crash::Power, MS(60_000))),
            at(
                MS(100),
                instant(Action::ClockStep {
                    host: "c1".into(),
                    by_ns: 777,
                }),
            ),
            at(MS(100), for_good),
            at(MS(3000), partition(Cut::Drop, Heal::Never)),
        ]);
        plan.heal_at = Some(MS(2000));
        let (results, history) = run(engine, plan, |c1| async move {
            c1.sleep(MS(3500)).await;
            let n2 = Host::find("n2").expect("n2 exists");
            let wall = c1.reading(ClockKind::Wall) - true_time().0;
            (
                ask_once(c1).await.0.ok(),
                c1.connect(n2).await.is_ok(),
                wall,
            )
        });
        assert_eq!(
            results,
            [(Some(1), false, fencepost_world::WALL_START)],
            "{engine}"
        );
        assert!(
            history
                .iter()
                .any(|event| matches!(event.what, What::HealBegun {}))
        );
    }
}

/// Answers, and then may end, or close what it answered to.
#[derive(Default)]
struct Moody {
    others: Vec<ConnectionId>,
    closed: Vec<ConnectionId>,
}

impl Service for Moody {
    fn boot(&mut self, _now: UnixTime) {
        *self = Self::default();
    }
    fn stop(&mut self, _how: Crash, _now: UnixTime) {}
    fn connected(&mut self, connection: ConnectionId, _peer: Host) {
        self.others.push(connection);
    }
    fn disconnected(&mut self, connection: ConnectionId) {
        self.others.retain(|other| *other != connection);
    }
    fn handle(&mut self, _now: UnixTime, connection: ConnectionId, request: &[Bytes]) -> Effects {
        let mut effects = Effects::default();
        match &*request[0] {
            b"END" => effects.exit = Some(redis_node::Stop::Shutdown),
            b"SILENCE" => {}
            b"KILL" => {
                let own = |other: &ConnectionId| *other == connection;
                let (own, others) = self.others.drain(..).partition(own);
                (self.others, self.closed) = (own, others);
                let last = |other: &ConnectionId| (*other, Reply::Integer(7));
                effects.replies = self.closed.iter().map(last).collect();
                effects.replies.push((connection, Reply::ok()));
            }
            _ => effects.replies.push((connection, Reply::ok())),
        }
        effects
    }
    fn take_closed(&mut self) -> Vec<ConnectionId> {
        std::mem::take(&mut self.closed)
    }
}

async fn say(connection: &mut fencepost_world::Connection, word: &str) -> Option<redis::Value> {
    redis::cmd(word).query_async(connection).await.ok()
}

/// Runs `program` on c1 beside a [`Moody`] server.
fn moody<T, F>(engine: EngineKind, program: fn(Host) -> F) -> (Vec<T>, Vec<Event>)
where
    T: 'static,
    F: Future<Output = T> + 'static,
{
    run_beside(engine, plan(vec![]), Box::new(Moody::default()), program)
}

#[test]
fn a_connection_that_its_server_closes_is_closed_at_the_client_after_what_was_sent_on_it() {
    for engine in EngineKind::ALL {
        let (results, _) = moody(engine, |c1| async move {
            let mut victim = c1.connect(n1()).await.expect("n1 is up");
            let mut killer = c1.connect(n1()).await.expect("n1 is up");
            let waits = async {
                let last = say(&mut victim, "SILENCE").await;
                (last, say(&mut victim, "PING").await.is_some())
            };
            let kills = async {
                c1.sleep(MS(50)).await;
                let said = say(&mut killer, "KILL").await.is_some();
                c1.sleep(MS(50)).await;
                said && say(&mut killer, "PING").await.is_some()
            };
            futures_util::future::join(waits, kills).await
        });
        let last = Some(redis::Value::Int(7));
        assert_eq!(results, [((last, false), true)], "{engine}");
    }
}

#[test]
fn a_server_that_ends_by_itself_is_a_host_whose_process_is_down() {
    for engine in EngineKind::ALL {
        let (results, history) = moody(engine, |c1| async move {
            let mut connection = c1.connect(n1()).await.expect("n1 is up");
            let answer = say(&mut connection, "END").await;
            c1.sleep(MS(50)).await;
            (answer.is_some(), c1.connect(n1()).await.is_ok())
        });
        assert_eq!(results, [(false, false)], "{engine}");
        let crashed = |event: &Event| matches!(&event.what, What::Crashed { host, how: Crash::Shutdown } if &**host == "n1");
        assert!(history.iter().any(crashed), "{engine}");
    }
}
