//! How fast schedules are run, in figures that a busy machine does not bend: everything is measured in one process in
//! turns, and what counts are ratios of medians.
//!
//! `cargo bench -p fencepost` prints JSON Lines; `cargo xtask bench` adds what needs a process of its own.
#![expect(
    clippy::disallowed_types,
    clippy::disallowed_methods,
    clippy::print_stdout,
    reason = "it measures with the machine's clock"
)]

use std::time::{Duration, Instant};

use fencepost::EngineKind;
use fencepost::floor::Floor;
use fencepost::plan::Plan;
use fencepost::runner::{Outcome, run};
use fencepost::scenario::Scenario;
use fencepost_checker::{History, judge};
use serde_json::json;

/// The schedules of each measurement, and how often it is taken.
const SEEDS: std::ops::Range<u64> = 0..40;
const ROUNDS: usize = 7;
/// turmoil needs a second and more for one.
const SEEDS_ON_TURMOIL: std::ops::Range<u64> = 0..2;
const ROUNDS_ON_TURMOIL: usize = 3;

fn main() {
    // Cargo passes `--bench`; a test run passes other things and wants no figures.
    if !std::env::args().any(|argument| argument == "--bench") {
        return;
    }
    let standard = Scenario::find("bench/standard").expect("it is embedded");
    speed(&standard);
    growth("clients", &[3, 10, 30, 100], |text, n| {
        with_clients(text, n)
    });
    growth("nodes", &[1, 5, 9, 15], |text, n| {
        text.replace("nodes = 5", &format!("nodes = {n}"))
    });
    growth("horizon", &[60, 120, 240, 480], |text, n| {
        text.replace("horizon = \"60s\"", &format!("horizon = \"{n}s\""))
    });
}

/// Schedules a second on both engines, and over the floor.
fn speed(standard: &Scenario) {
    let plans: Vec<Plan> = SEEDS.map(|seed| Plan::draw(standard, seed)).collect();
    let (histories, floors): (Vec<History>, Vec<Floor>) = plans
        .iter()
        .map(|plan| Floor::record(plan, EngineKind::Event))
        .unzip();
    let commands: usize = floors.iter().map(Floor::requests).sum();
    let mut taken = Taken::default();
    for _ in 0..ROUNDS {
        taken
            .floor
            .push(time(|| floors.iter().for_each(Floor::replay)));
        taken.run.push(time(|| {
            plans
                .iter()
                .for_each(|plan| drop(run(plan, EngineKind::Event)))
        }));
        taken.digest.push(time(|| {
            histories.iter().for_each(|history| _ = history.digest())
        }));
        taken.judge.push(time(|| {
            histories.iter().for_each(|history| drop(judge(history)))
        }));
        taken.whole.push(time(|| {
            SEEDS.for_each(|seed| drop(Outcome::of(standard, seed, EngineKind::Event)));
        }));
    }
    let turmoil: Vec<Duration> = (0..ROUNDS_ON_TURMOIL)
        .map(|_| {
            time(|| {
                SEEDS_ON_TURMOIL.for_each(|seed| {
                    drop(Outcome::of(standard, seed, EngineKind::Turmoil));
                })
            })
        })
        .collect();
    let schedules = plans.len();
    let floor = median(&taken.floor);
    let each = |times: &[Duration]| median(times).as_secs_f64() / schedules as f64;
    let on_turmoil = median(&turmoil).as_secs_f64() / SEEDS_ON_TURMOIL.count() as f64;
    let virtual_time: u64 = histories
        .iter()
        .filter_map(|history| Some(history.events.last()?.at.0))
        .sum();
    println!(
        "{}",
        json!({
            "kind": "speed",
            "scenario": standard.name,
            "schedules": schedules,
            "commands_per_schedule": commands / schedules,
            "events_per_schedule": histories.iter().map(|history| history.events.len()).sum::<usize>() / schedules,
            "virtual_seconds_per_schedule": virtual_time / 1_000_000_000 / schedules as u64,
            "event_schedules_per_second": rounded(1.0 / each(&taken.whole)),
            "turmoil_schedules_per_second": rounded(1.0 / on_turmoil),
            "ratio": rounded(on_turmoil / each(&taken.whole)),
            "overhead_over_floor": rounded(over(&taken.whole, floor)),
            "run_over_floor": rounded(over(&taken.run, floor)),
            "judge_over_floor": rounded(over(&taken.judge, floor)),
            "digest_over_floor": rounded(over(&taken.digest, floor)),
            "floor_microseconds_per_command": rounded(floor.as_secs_f64() * 1e6 / commands as f64),
        })
    );
}

#[derive(Default)]
struct Taken {
    floor: Vec<Duration>,
    run: Vec<Duration>,
    digest: Vec<Duration>,
    judge: Vec<Duration>,
    whole: Vec<Duration>,
}

fn over(times: &[Duration], floor: Duration) -> f64 {
    median(times).as_secs_f64() / floor.as_secs_f64()
}

/// What a schedule costs as it grows: time for each event of its history, so that 1 is linear.
fn growth(what: &str, sizes: &[u32], change: impl Fn(&str, u32) -> String) {
    let text = Scenario::find("bench/standard")
        .expect("it is embedded")
        .text;
    let mut first = None;
    for &size in sizes {
        let changed = change(&text, size);
        let scenario = Scenario::parse("bench/grown", "grown.toml", &changed)
            .unwrap_or_else(|error| panic!("{error}"));
        let mut events = 0;
        let times: Vec<Duration> = (0..ROUNDS_ON_TURMOIL)
            .map(|_| {
                events = 0;
                time(|| {
                    for seed in 0..4 {
                        events += Outcome::of(&scenario, seed, EngineKind::Event)
                            .history
                            .events
                            .len();
                    }
                })
            })
            .collect();
        let each = median(&times).as_secs_f64() * 1e6 / events as f64;
        let base = *first.get_or_insert(each);
        println!(
            "{}",
            json!({
                "kind": "growth",
                "of": what,
                "size": size,
                "events_per_schedule": events / 4,
                "microseconds_per_event": rounded(each),
                "over_first": rounded(each / base),
            })
        );
    }
}

/// The scenario with that many clients, which together ask for the lock as often as three do.
fn with_clients(text: &str, clients: u32) -> String {
    let (head, rest) = text.split_once("[[client]]").expect("it has clients");
    let (_, tail) = rest.split_once("[swarm]").expect("it has random faults");
    let table = |n| {
        format!(
            "[[client]]\nname = \"c{n}\"\nrounds = 1000\nthink = \"100ms\"\nhold = \"400ms\"\nretry = [\"{}ms\", \"{}ms\"]\n\n",
            100 * clients,
            200 * clients
        )
    };
    let clients: String = (1..=clients).map(table).collect();
    format!("{head}{clients}[swarm]{tail}")
}

fn time(what: impl FnOnce()) -> Duration {
    let start = Instant::now();
    what();
    start.elapsed()
}

fn median(times: &[Duration]) -> Duration {
    let mut sorted = times.to_vec();
    sorted.sort();
    sorted[sorted.len() / 2]
}

fn rounded(number: f64) -> f64 {
    (number * 100.0).round() / 100.0
}
