//! A node that lost power brings back a key of an attempt that is over: the key is that attempt's, on both engines.

use fencepost::EngineKind;
use fencepost::runner::Outcome;
use fencepost::scenario::Scenario;
use fencepost_checker::history::{Attempt, Did, What};

/// c1 takes the lock, and after 1.5 s, when its first key has been forced to the disk but neither its release nor its
/// second key, n1 loses power. c2 meets what is restored.
const TEXT: &str = r#"claim = "a claim"
document = "000"

[system]
kind = "single"

[node]
persistence = "aof"
fsync = "everysec"

[[client]]
name = "c1"
rounds = 2
hold = "1500ms"

[[client]]
name = "c2"
start = "1700ms"
retry = "100ms"

[[crash]]
host = "n1"
how = "power"
at = "1600ms"
down-for = "10ms"
"#;

#[test]
fn a_restored_key_is_its_writers() {
    let scenario =
        Scenario::parse("test", "test.toml", TEXT).unwrap_or_else(|error| panic!("{error}"));
    for engine in EngineKind::ALL {
        let history = Outcome::of(&scenario, 1, engine).history;
        let mut acquired: Vec<Attempt> = Vec::new();
        let (mut starts, mut met) = (0, None);
        for event in &history.events {
            match &event.what {
                What::Acquired {
                    client, attempt, ..
                } if **client == *"c1" => {
                    acquired.push(*attempt);
                }
                What::Started { host } if **host == *"n1" => starts += 1,
                What::Command {
                    did: Did::Refused,
                    creator,
                    ..
                } if starts == 2 && met.is_none() => {
                    met = creator.as_ref().and_then(|creator| creator.attempt);
                }
                _ => {}
            }
        }
        assert_eq!(acquired.len(), 2, "{engine}");
        assert_eq!(met, Some(acquired[0]), "{engine}");
    }
}
