//! What operators' commands do to a server's process and connections, on both engines.

use fencepost::EngineKind;
use fencepost::runner::Outcome;
use fencepost::scenario::Scenario;
use fencepost_checker::history::{Answer, Crash, ReleaseOutcome, What};

/// c1 holds the only node's lock from the start until 2 s, c2 asks once at 3 s; the operator's command comes at 1 s.
fn runs(command: &str) -> [(EngineKind, Outcome); 2] {
    let text = format!(
        r#"claim = "a claim"
document = "000"

[system]
kind = "single"

[[client]]
name = "c1"
hold = "2s"

[[client]]
name = "c2"
start = "3s"
tries = 1

[[operate]]
host = "n1"
command = {command}
at = "1s"
"#
    );
    let scenario = Scenario::parse("test", "test.toml", &text)
        .unwrap_or_else(|error| panic!("{error}\n{text}"));
    EngineKind::ALL.map(|engine| (engine, Outcome::of(&scenario, 1, engine)))
}

fn release_of_c1(outcome: &Outcome) -> Option<ReleaseOutcome> {
    let mut events = outcome.history.events.iter();
    events.find_map(|event| match &event.what {
        What::ReleaseEnded {
            client, outcome, ..
        } if &**client == "c1" => Some(*outcome),
        _ => None,
    })
}

#[test]
fn shutdown_ends_the_process_for_good() {
    for (engine, outcome) in runs(r#"["SHUTDOWN"]"#) {
        let events = || outcome.history.events.iter().map(|event| &event.what);
        let crashed = |what: &&What| matches!(what, What::Crashed { host, how: Crash::Shutdown } if &**host == "n1");
        assert_eq!(events().filter(crashed).count(), 1, "{engine}");
        let refused = |what: &What| match what {
            What::Refused { client, votes, .. } if &**client == "c2" => {
                matches!(votes[0].answer, Answer::Error(_))
            }
            _ => false,
        };
        assert!(events().any(refused), "{engine}: nobody listens any more");
    }
}

#[test]
fn a_connection_that_the_operator_kills_is_closed_at_the_client() {
    for (engine, outcome) in runs(r#"["CLIENT", "KILL", "TYPE", "normal"]"#) {
        // No command is ever sent twice: what it says on the dead connection comes to nothing.
        let unknown = Some(ReleaseOutcome::Unknown);
        assert_eq!(release_of_c1(&outcome), unknown, "{engine}");
    }
    for (engine, outcome) in runs(r#"["PING"]"#) {
        let released = Some(ReleaseOutcome::Released);
        assert_eq!(release_of_c1(&outcome), released, "{engine}");
    }
}
