//! Requests that a node keeps while its disk stalls stay those of the clients who made them, on both engines.

use fencepost::EngineKind;
use fencepost::expect::{Outcome as Came, Property};
use fencepost::runner::Outcome;
use fencepost::scenario::Scenario;
use fencepost_checker::history::{Did, Event, What};

/// c1 gives its lock back after 2 s, while the disk of n1 stalls until 6 s. c2 and c3, who have their connections already,
/// ask after 3 s, and c3 is dead when n1 comes to that.
fn stalled(system: &str, faults: &str) -> String {
    format!(
        r#"claim = "a claim"
document = "000"

[system]
{system}
order = "parallel"
node-timeout = "20s"

[node]
persistence = "aof"
fsync = "always"

[[client]]
name = "c1"
hold = "2s"

[[client]]
name = "c2"
start = "100ms"
retry = "1500ms"

[[client]]
name = "c3"
start = "300ms"
retry = "1500ms"

[[fsync-stall]]
host = "n1"
at = "1s"
for = "5s"

[[client-crash]]
host = "c3"
at = "5s"

{faults}
"#
    )
}

const SYSTEMS: [&str; 2] = ["kind = \"single\"", "kind = \"redlock\"\nnodes = 3"];

fn outcomes(systems: &[&str], faults: &str) -> impl Iterator<Item = Outcome> {
    let texts: Vec<String> = systems
        .iter()
        .map(|system| stalled(system, faults))
        .collect();
    texts.into_iter().flat_map(|text| {
        let scenario = Scenario::parse("test", "test.toml", &text)
            .unwrap_or_else(|error| panic!("{error}\n{text}"));
        EngineKind::ALL.map(|engine| Outcome::of(&scenario, 1, engine))
    })
}

/// A command at n1 that was more than a look, once c1 was done: the second in which it was applied, sender, what it did,
/// the key's creator.
type Applied = (u64, String, Did, Option<String>);

fn applied(event: &Event) -> Option<Applied> {
    let What::Command {
        node,
        sender,
        did,
        creator,
        ..
    } = &event.what
    else {
        return None;
    };
    let second = event.at.0 / 1_000_000_000;
    if &**node != "n1" || *did == Did::Read || second < 2 {
        return None;
    }
    let sender = sender.as_ref()?.to_string();
    let creator = creator.as_ref().map(|creator| creator.client.to_string());
    Some((second, sender, *did, creator))
}

#[test]
fn commands_that_waited_have_their_sender_and_their_creator() {
    for outcome in outcomes(&SYSTEMS[..1], "") {
        let all: Vec<Applied> = outcome.history.events.iter().filter_map(applied).collect();
        let expected = [
            // It is applied at once; only its reply waits for the disk.
            (2, "c1", Did::Deleted, Some("c1")),
            (6, "c2", Did::Created, None),
            (6, "c3", Did::Refused, Some("c2")),
            (6, "c2", Did::Deleted, Some("c2")),
        ];
        let expected = expected.map(|(second, sender, did, creator)| {
            (second, sender.to_owned(), did, creator.map(str::to_owned))
        });
        assert_eq!(all, expected);
    }
}

#[test]
fn a_release_of_an_own_key_that_was_granted_late_is_no_violation() {
    for outcome in outcomes(&SYSTEMS, "") {
        let verdict = |property: Property| {
            let mut verdicts = outcome.verdicts.iter();
            verdicts.find(|verdict| verdict.property == property)
        };
        let released = verdict(Property::OwnerOnlyRelease).expect("it is judged");
        assert_eq!(released.outcome, Came::Vacuous, "nobody met a foreign key");
    }
}

#[test]
fn faults_strike_at_commands_that_waited() {
    // Its two refused attempts have met the key of c1 four times.
    let pause = |event: &str| {
        format!("[[pause]]\nhost = \"c2\"\non = \"n1 {event} c2\"\nnth = 5\nfor = \"100ms\"\n")
    };
    let faults = [pause("applied from"), pause("replied to")].join("\n");
    for outcome in outcomes(&SYSTEMS, &faults) {
        assert_eq!(outcome.judgement.unmet, [], "every fault took effect");
        let paused = |event: &&Event| matches!(&event.what, What::Fault { family, .. } if &**family == "pause");
        let struck: Vec<u64> = outcome
            .history
            .events
            .iter()
            .filter(paused)
            .map(|event| event.at.0 / 1_000_000_000)
            .collect();
        assert_eq!(struck, [6, 6], "not before n1 came to what it had kept");
    }
}

#[test]
fn a_node_that_dies_when_it_comes_to_a_kept_request_answers_nobody() {
    let crash = "[[crash]]\nhost = \"n1\"\nhow = \"kill\"\non = \"n1 applied from c2\"\nnth = 5\ndown-for = \"1s\"\n";
    for outcome in outcomes(&SYSTEMS[..1], crash) {
        assert_eq!(outcome.judgement.unmet, [], "the crash took effect");
        let events = outcome.history.events.iter();
        let of_c2 = events
            .filter_map(applied)
            .filter(|applied| applied.1 == "c2");
        let first: Vec<_> = of_c2
            .map(|applied| (applied.2, applied.3))
            .take(2)
            .collect();
        let refused = (Did::Refused, Some("c2".to_owned()));
        assert_eq!(
            first,
            [(Did::Created, None), refused],
            "what n1 had written before it died, it has afterwards"
        );
    }
}
