use expect_test::{Expect, expect};
use fencepost_checker::history::{
    Answer, Attempt, Crash, Creator, Did, Event, FORMAT, Header, Name, ReleaseOutcome, Vote, What,
};
use fencepost_checker::{ClockKind, Segment, Time};
use fencepost_world::plan::{Action, EventPattern, Fault, Heal, Trigger};

use super::*;
use crate::scenario::Scenario;

const SCENARIO: &str = r#"
claim = "a"
document = "b"
[system]
kind = "redlock"
[[client]]
name = "c1"
[[client]]
name = "c2"
"#;

fn fact(text: &str) -> Fact {
    let scenario = Scenario::parse("test", "test.toml", SCENARIO).expect("reads");
    Fact::parse(text, scenario.hosts()).unwrap_or_else(|problem| panic!("{problem:?}"))
}

/// A history of events at times in milliseconds.
fn history(events: Vec<(u64, What)>) -> History {
    let header = Header {
        format: FORMAT,
        scenario: "test".into(),
        seed: 1,
        engine: "event".into(),
        call_bound: 0,
        acquire_bound: 0,
        largest_ttl: 0,
        node_timeout: 0,
        latency: 0,
        quorum: 1,
    };
    let event = |(seq, (millis, what))| Event {
        seq,
        at: Time(millis * 1_000_000),
        what,
    };
    History {
        header,
        events: (0..).zip(events).map(event).collect(),
    }
}

fn name(name: &str) -> Name {
    name.into()
}

fn vote(node: &str, answer: Answer) -> Vote {
    Vote {
        node: name(node),
        answer,
    }
}

fn acquired(client: &str, votes: &[&str]) -> What {
    let granted = votes.iter().map(|node| vote(node, Answer::Granted));
    What::Acquired {
        client: name(client),
        attempt: Attempt(1),
        key: name("k"),
        value: "00".into(),
        token: None,
        deadline: Some(30_000_000_000),
        clock: ClockKind::Monotonic,
        votes: granted
            .chain([
                vote("n4", Answer::TimedOut),
                vote("n5", Answer::Error("refused".into())),
            ])
            .collect(),
    }
}

fn command(node: &str, sender: &str, command: &str, did: Did, creator: Option<&str>) -> What {
    What::Command {
        node: name(node),
        sender: Some(name(sender)),
        command: name(command),
        key: name("k"),
        did,
        creator: creator.map(|client| Creator {
            client: name(client),
            attempt: None,
        }),
        expires_at: Some(30_010),
    }
}

fn clock(host: &str) -> What {
    let segment = Segment {
        from: Time::ZERO,
        monotonic: 0,
        wall: 0,
        monotonic_ppm: 0,
        wall_ppm: 0,
    };
    What::Clock {
        host: name(host),
        segment,
    }
}

fn wrote(client: &str) -> What {
    What::WriteApplied {
        resource: name("db"),
        key: name("k"),
        client: name(client),
        attempt: Attempt(1),
        operation: 1,
        token: None,
        read_version: 0,
        before: 0,
        after: 1,
    }
}

fn write_refused(client: &str) -> What {
    What::OperationRefused {
        resource: name("db"),
        key: name("k"),
        client: name(client),
        attempt: Attempt(1),
        operation: 1,
        token: Some(1),
        registered: 2,
        write: true,
    }
}

fn fault(number: u32, family: &str, host: &str) -> What {
    What::Fault {
        fault: number,
        family: name(family),
        hosts: vec![name(host)],
        on: None,
    }
}

/// What is said of each fact: `met`, or what was found instead.
fn check(history: &History, facts: &[&str], expected: Expect) {
    let line = |text: &&str| match fact(text).check(history) {
        Ok(()) => format!("{text}: met\n"),
        Err(unmet) => format!("{unmet}\n"),
    };
    expected.assert_eq(&facts.iter().map(line).collect::<String>());
}

/// A form that nobody looks up would never be met, and a scenario with it for ever vacuous.
#[test]
fn every_form_is_looked_up_and_nothing_has_happened_in_an_empty_history() {
    let example = |form: &str| {
        form.replace("CLIENT", "c1")
            .replace("NODES", "n1 n2")
            .replace("NODE", "n3")
            .replace("HOST", "n3")
            .replace("FAMILY", "crash")
            .replace("DURATION", "5s")
    };
    let facts: Vec<String> = FORMS.iter().map(|form| example(form)).collect();
    let facts: Vec<&str> = facts.iter().map(String::as_str).collect();
    check(
        &history(Vec::new()),
        &facts,
        expect![[r#"
            c1 acquired: c1 never acquired
            c1 never acquired: met
            c1 acquired by 5s: c1 never acquired
            c1 acquired while c1 was stopped: c1 never acquired
            c1 was refused: no attempt of c1 was refused
            c1 released: no release of c1 ended
            c1's write was applied: no write of c1 was applied
            c1's write was refused: no write of c1 reached the resource
            c1 never wrote: met
            c1 wrote before c1: no write of c1 was applied
            c1's quorum was n1 n2: c1 never acquired
            n3 did not answer c1: c1 has no answer of n3 on record
            n3 answered c1 with an error: c1 has no answer of n3 on record
            c1 could not reach n3: c1 has no answer of n3 on record
            n3 lost c1's key: no other client created the key at n3 before its time was over
            n3 refused c1 after its restart: n3 did not crash
            n3 refused a foreign release: no such release met a key that another client had created
            a node refused a foreign release: no such release met a key that another client had created
            a node refused c1's release of c1's key: no such release met a key that another client had created
            c1 deleted c1's key: c1 deleted no live key that c1 had created
            c1 never deleted c1's key: met
            the crash of n3 overlapped c1's lease: there was no crash of n3
            c1 extended: it never extended
            nobody was promoted: met
            n3 was promoted: nobody was promoted
            n3 refused c1: it refused it nothing
            n3 lacked the key when it was promoted: nobody was promoted
            n3 copied the loss of c1's key: its primary took no key of c1 from it
            c1's release was sent to n1 n2: none of its releases arrived at n1
            the first round had no winner: nobody tried
            the lock was unlockable for 5s: it was so for 0ns
            the lock was unlockable for less than 5s: met
            c1 was told of its loss: c1 was told nothing
        "#]],
    );
}

#[test]
fn a_holder_that_stops() {
    let run = history(vec![
        (0, clock("c1")),
        (0, clock("c2")),
        (10, acquired("c1", &["n1", "n2", "n3"])),
        (20, fault(0, "pause", "c1")),
        (20, What::Paused { host: name("c1") }),
        (
            30,
            What::Refused {
                client: name("c2"),
                attempt: Attempt(2),
                key: name("k"),
                reason: "taken".into(),
                votes: vec![],
            },
        ),
        (30_100, acquired("c2", &["n1", "n2", "n3"])),
        (30_200, wrote("c2")),
        (35_000, What::Resumed { host: name("c1") }),
        (35_000, fault(1, "crash", "n3")),
        (35_100, write_refused("c1")),
        (
            35_200,
            What::ReleaseEnded {
                client: name("c1"),
                attempt: Attempt(1),
                key: name("k"),
                outcome: ReleaseOutcome::Expired,
            },
        ),
    ]);
    check(
        &run,
        &[
            "c1 acquired",
            "c1 never acquired",
            "c1 acquired by 10ms",
            "c2 acquired by 30s",
            "c2 acquired while c1 was stopped",
            "c1 acquired while c2 was stopped",
            "c2 was refused",
            "c1 was refused",
            "c1 released",
            "c1's write was refused",
            "c2's write was refused",
            "c1's write was applied",
            "c1 never wrote",
            "c2 never wrote",
            "c2 wrote before c1",
            "c1 wrote before c2",
            "c1's quorum was n3 n2 n1",
            "c1's quorum was n1 n2",
            "n4 did not answer c1",
            "n5 answered c1 with an error",
            "n1 answered c1 with an error",
            "the pause of c1 overlapped c1's lease",
            "the crash of n3 overlapped c1's lease",
        ],
        expect![[r#"
            c1 acquired: met
            c1 never acquired: it acquired at 0.010 s
            c1 acquired by 10ms: met
            c2 acquired by 30s: it acquired at 30.100 s
            c2 acquired while c1 was stopped: met
            c1 acquired while c2 was stopped: c1 acquired first at 0.010 s, when c2 was not stopped
            c2 was refused: met
            c1 was refused: no attempt of c1 was refused
            c1 released: its release came to: Expired
            c1's write was refused: met
            c2's write was refused: it was applied at 30.200 s
            c1's write was applied: no write of c1 was applied
            c1 never wrote: met
            c2 never wrote: it wrote at 30.200 s
            c2 wrote before c1: met
            c1 wrote before c2: no write of c1 was applied
            c1's quorum was n3 n2 n1: met
            c1's quorum was n1 n2: it was n1 n2 n3
            n4 did not answer c1: met
            n5 answered c1 with an error: met
            n1 answered c1 with an error: n1 answered c1: Granted
            the pause of c1 overlapped c1's lease: met
            the crash of n3 overlapped c1's lease: it came at 35.000 s, outside of c1's lease
        "#]],
    );
}

#[test]
fn a_node_that_forgets_and_one_that_does_not() {
    let restart = |answer: What| {
        history(vec![
            (0, clock("n3")),
            (10, command("n3", "c1", "SET", Did::Created, None)),
            (
                2_000,
                What::Crashed {
                    host: name("n3"),
                    how: Crash::Power,
                },
            ),
            (2_010, What::Started { host: name("n3") }),
            (2_020, answer),
        ])
    };
    let facts = ["n3 lost c1's key", "n3 refused c2 after its restart"];
    let forgot = restart(command("n3", "c2", "SET", Did::Created, None));
    check(
        &forgot,
        &facts,
        expect![[r#"
        n3 lost c1's key: met
        n3 refused c2 after its restart: n3 granted it at 2.020 s
    "#]],
    );
    let kept = restart(command("n3", "c2", "SET", Did::Refused, Some("c1")));
    check(
        &kept,
        &facts,
        expect![[r#"
        n3 lost c1's key: no other client created the key at n3 before its time was over
        n3 refused c2 after its restart: met
    "#]],
    );
}

#[test]
fn a_key_whose_time_was_over_or_that_was_deleted_is_not_lost() {
    let then = |at: u64, between: Option<Did>| {
        let mut events = vec![
            (0, clock("n3")),
            (10, command("n3", "c1", "SET", Did::Created, None)),
        ];
        events.extend(between.map(|did| (20, command("n3", "c1", "EVALSHA", did, Some("c1")))));
        events.push((at, command("n3", "c2", "SET", Did::Created, None)));
        fact("n3 lost c1's key").check(&history(events)).is_ok()
    };
    assert!(then(30_009, None));
    assert!(!then(30_010, None));
    assert!(!then(1_000, Some(Did::Deleted)));
    // A stepped clock makes the node itself remove the key before its time.
    assert!(then(1_000, Some(Did::Expired)));
}

#[test]
fn a_late_release() {
    let facts = [
        "n1 refused a foreign release",
        "n2 refused a foreign release",
        "a node refused a foreign release",
        "a node refused c1's release of c2's key",
        "a node refused c2's release of c1's key",
        "c1 deleted c2's key",
        "c1 never deleted c2's key",
    ];
    check(
        &history(vec![(
            1,
            command("n1", "c1", "EVALSHA", Did::Read, Some("c2")),
        )]),
        &facts,
        expect![[r#"
        n1 refused a foreign release: met
        n2 refused a foreign release: no such release met a key that another client had created
        a node refused a foreign release: met
        a node refused c1's release of c2's key: met
        a node refused c2's release of c1's key: no such release met a key that another client had created
        c1 deleted c2's key: c1 deleted no live key that c2 had created
        c1 never deleted c2's key: met
    "#]],
    );
    check(
        &history(vec![(
            1,
            command("n1", "c1", "DEL", Did::Deleted, Some("c2")),
        )]),
        &facts,
        expect![[r#"
        n1 refused a foreign release: no such release met a key that another client had created
        n2 refused a foreign release: no such release met a key that another client had created
        a node refused a foreign release: no such release met a key that another client had created
        a node refused c1's release of c2's key: no such release met a key that another client had created
        a node refused c2's release of c1's key: no such release met a key that another client had created
        c1 deleted c2's key: met
        c1 never deleted c2's key: it deleted it at 0.001 s
    "#]],
    );
}

#[test]
fn a_first_round_and_what_comes_of_it() {
    let refused = |client: &str| What::Refused {
        client: name(client),
        attempt: Attempt(1),
        key: name("k"),
        reason: "split".into(),
        votes: vec![vote("n1", Answer::TimedOut), vote("n2", Answer::Taken)],
    };
    let facts = [
        "the first round had no winner",
        "c1's release was sent to n1",
        "c1's release was sent to n1 n2",
        "c1 could not reach n1",
        "c1 could not reach n2",
        "c2 was told of its loss",
    ];
    let lost = What::Lost {
        client: name("c2"),
        attempt: Attempt(2),
        key: name("k"),
    };
    check(
        &history(vec![
            (1, refused("c1")),
            (1, refused("c2")),
            (2, command("n1", "c1", "EVALSHA", Did::Missing, None)),
            (3, acquired("c2", &["n1"])),
            (4, lost),
        ]),
        &facts,
        expect![[r#"
            the first round had no winner: met
            c1's release was sent to n1: met
            c1's release was sent to n1 n2: none of its releases arrived at n2
            c1 could not reach n1: met
            c1 could not reach n2: n2 answered c1: Taken
            c2 was told of its loss: met
        "#]],
    );
    check(
        &history(vec![(1, refused("c1")), (2, acquired("c2", &["n1"]))]),
        &facts[..1],
        expect![[r#"
            the first round had no winner: c2 won at its first attempt
        "#]],
    );
}

#[test]
fn faults_that_never_came_are_named_with_their_event() {
    let event = |verb: &str, peer: Option<&str>| EventPattern {
        host: "n5".into(),
        verb: verb.into(),
        peer: peer.map(str::to_owned),
    };
    let on = |event: EventPattern, nth| Trigger::On {
        event,
        nth,
        after: Duration::ZERO,
    };
    let pause = Action::Pause {
        host: "c1".into(),
        suspend: false,
    };
    let heal = Heal::After(Duration::from_secs(1));
    let partition = Action::Partition {
        left: vec!["c1".into()],
        right: vec!["n4".into(), "n5".into()],
        how: fencepost_checker::history::Cut::Drop,
        one_way: false,
    };
    let faults = [
        Fault {
            trigger: on(event("replied", Some("c1")), 1),
            action: pause.clone(),
            heal: heal.clone(),
        },
        Fault {
            trigger: on(event("replied", None), 3),
            action: pause.clone(),
            heal: heal.clone(),
        },
        Fault {
            trigger: Trigger::At(Duration::from_secs(9)),
            action: pause,
            heal,
        },
        Fault {
            trigger: Trigger::At(Duration::ZERO),
            action: partition,
            heal: Heal::On(event("applied", Some("c1"))),
        },
    ];
    let lines = |history: &History| {
        faults_fired(&faults, history)
            .iter()
            .map(|unmet| format!("{unmet}\n"))
            .collect::<String>()
    };
    let cut = vec![(0, fault(3, "partition", "c1"))];
    expect![[r#"
        fault 1 (pause of c1) took effect: the event `n5 replied to c1` never came
        fault 2 (pause of c1) took effect: the event `n5 replied` did not come 3 times
        fault 3 (pause of c1) took effect: the run was over before 9s
        fault 4 (partition between c1 and n4 n5) ended: the event `n5 applied from c1` never came
    "#]]
    .assert_eq(&lines(&history(cut.clone())));
    let healed = cut.into_iter().chain([(5, What::FaultEnded { fault: 3 })]);
    assert_eq!(lines(&history(healed.collect())).lines().count(), 3);
}

#[test]
fn a_replica_that_copies_an_empty_primary() {
    let replicated = |did, creator| match command("n2", "", "replicate", did, creator) {
        What::Command {
            node,
            command,
            key,
            did,
            creator,
            expires_at,
            ..
        } => What::Command {
            node,
            sender: None,
            command,
            key,
            did,
            creator,
            expires_at,
        },
        other => other,
    };
    let run = history(vec![
        (10, command("n1", "c1", "SET", Did::Created, None)),
        (11, replicated(Did::Created, None)),
        (90, replicated(Did::Deleted, Some("c1"))),
    ]);
    let facts = [
        "n2 copied the loss of c1's key",
        "n2 copied the loss of c2's key",
        "n1 copied the loss of c1's key",
    ];
    check(
        &run,
        &facts,
        expect![[r#"
            n2 copied the loss of c1's key: met
            n2 copied the loss of c2's key: its primary took no key of c2 from it
            n1 copied the loss of c1's key: its primary took no key of c1 from it
        "#]],
    );
}
