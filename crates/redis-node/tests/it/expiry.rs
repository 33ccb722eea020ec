//! Time: the boundaries of expiry, the active cycle, clocks that are stepped, time frozen inside a unit.

use proptest::prelude::*;
use redis_node::{Did, UnixTime};

use crate::support::{Bench, START, text};

#[test]
fn a_key_is_seen_until_a_millisecond_after_its_expiry_began() {
    let mut bench = Bench::new();
    bench.ask(&["SET", "k", "v", "PX", "100"]);
    assert_eq!(text(&bench.at(100).ask(&["GET", "k"])), "\"v\"");
    assert_eq!(text(&bench.ask(&["PTTL", "k"])), ":0");
    bench.now = UnixTime(bench.now.0 + 999_999);
    assert_eq!(text(&bench.ask(&["EXISTS", "k"])), ":1");
    assert_eq!(text(&bench.at(101).ask(&["GET", "k"])), "nil");
    assert_eq!(text(&bench.ask(&["PTTL", "k"])), ":-2");
}

#[test]
fn the_active_cycle_removes_at_the_expiry_itself() {
    let mut bench = Bench::new();
    assert_eq!(bench.node.next_deadline(), None);
    bench.ask(&["SET", "k", "v"]);
    assert_eq!(bench.node.next_deadline(), None);
    bench.ask(&["SET", "k", "v", "PX", "100"]);
    assert_eq!(
        bench.node.next_deadline(),
        Some(UnixTime::from_millis(START + 100))
    );
    assert!(
        bench
            .node
            .tick(UnixTime::from_millis(START + 99))
            .touches
            .is_empty()
    );
    let effects = bench.node.tick(UnixTime::from_millis(START + 100));
    assert_eq!(effects.touches.len(), 1);
    assert_eq!(
        (effects.touches[0].did, effects.touches[0].expires_at),
        (Did::Expired, Some(UnixTime::from_millis(START + 100)))
    );
    assert_eq!(bench.node.next_deadline(), None);
}

#[test]
fn the_active_cycle_runs_ten_times_a_second_and_leaves_the_rest_for_later() {
    let mut bench = Bench::new();
    bench.ask(&["SET", "k", "v", "PX", "101"]);
    assert_eq!(
        bench.node.next_deadline(),
        Some(UnixTime::from_millis(START + 200))
    );
    bench.ask(&["DEL", "k"]);
    for key in 0..2_500 {
        bench.ask(&["SET", &key.to_string(), "v", "PX", "50"]);
    }
    let mut removed = Vec::new();
    while let Some(deadline) = bench.node.next_deadline() {
        removed.push((
            deadline.as_millis() - START,
            bench.node.tick(deadline).touches.len(),
        ));
    }
    assert_eq!(removed, [(100, 1000), (200, 1000), (300, 500)]);
}

#[test]
fn an_expiry_beyond_the_end_of_time_asks_for_nothing() {
    let mut bench = Bench::new();
    assert_eq!(
        text(&bench.ask(&["SET", "k", "v", "PXAT", "9223372036854775807"])),
        "+OK"
    );
    assert_eq!(bench.node.next_deadline(), None);
    assert_eq!(
        text(&bench.ask(&["PEXPIRETIME", "k"])),
        ":9223372036854775807"
    );
}

#[test]
fn a_stepped_clock_kills_at_once_or_prolongs() {
    let mut bench = Bench::new();
    bench.ask(&["SET", "k", "v", "PX", "1000"]);
    bench.now = UnixTime::from_millis(START - 60_000);
    assert_eq!(text(&bench.ask(&["PTTL", "k"])), ":61000");
    assert!(bench.node.tick(bench.now).touches.is_empty());
    assert_eq!(text(&bench.at(60_000).ask(&["GET", "k"])), "nil");
}

#[test]
fn time_stands_still_in_a_script_and_a_transaction() {
    let mut bench = Bench::new();
    let script = "redis.call('set', 'k', 'v', 'px', 10) local n = 0 while n < 100000 do n = n + 1 end \
                  return {redis.call('pttl', 'k'), redis.call('time')[2]}";
    assert_eq!(text(&bench.ask(&["EVAL", script, "0"])), "[:10 \"0\"]");
    bench.ask(&["MULTI"]);
    bench.ask(&["SET", "k", "v", "PX", "10"]);
    bench.at(5).ask(&["PTTL", "k"]);
    assert_eq!(text(&bench.at(7).ask(&["EXEC"])), "[+OK :10]");
}

proptest! {
    /// As the clock goes on, what is left only falls, and what is gone does not come back.
    #[test]
    fn ttl_is_monotone_in_the_clock(ttl in 1u64..100_000, mut times in prop::collection::vec(0u64..200_000, 1..20)) {
        times.sort_unstable();
        let mut bench = Bench::new();
        bench.ask(&["SET", "k", "v", "PX", &ttl.to_string()]);
        let mut last = i64::MAX;
        for time in times {
            let reply = text(&bench.at(time).ask(&["PTTL", "k"]));
            let left: i64 = reply.trim_start_matches(':').parse().unwrap();
            prop_assert!(left <= last, "{left} after {last}");
            prop_assert_eq!(left == -2, time > ttl);
            if left >= 0 {
                prop_assert_eq!(left.unsigned_abs(), ttl - time);
            }
            last = left;
        }
    }

    /// Driven by its deadlines alone, the node removes every key in time and then asks for nothing more.
    #[test]
    fn deadlines_come_to_an_end(ttls in prop::collection::vec(1u64..5_000, 1..40)) {
        let mut bench = Bench::new();
        for (key, ttl) in ttls.iter().enumerate() {
            bench.ask(&["SET", &key.to_string(), "v", "PX", &ttl.to_string()]);
        }
        let mut expired = 0;
        while let Some(deadline) = bench.node.next_deadline() {
            for touch in bench.node.tick(deadline).touches {
                let late = deadline.0 - touch.expires_at.unwrap().0;
                prop_assert!(touch.did == Did::Expired && late < 100_000_000);
                expired += 1;
            }
        }
        prop_assert_eq!(expired, ttls.len());
    }
}
