//! Golden histories as stories: one event a line, `<time> <host> <what it does>`.
//!
//! ```text
//! 1s     c1 begins                      the client's next attempt (numbered from 1 over all clients)
//! 1.1s   c1 acquires until 31s          the deadline as true time, if the clock were true
//! 1.1s   c1 enters
//! ```
//!
//! Hosts `c*` are clients, `n*` nodes, `db` the resource. Later words mean the client's latest attempt unless they
//! say `attempt=N`. Options come last: `key=k2`, `token=33`, `by=wall` (which clock), `from=n1,n2` (who granted).
//!
//! A lock needs three nodes; a message takes 10 ms at most, a client waits 50 ms for a node, 10 s for a call and 20 s
//! for a lock that nobody holds; no key lives longer than 30 s.

use std::collections::BTreeMap;

use fencepost_checker::history::{
    Answer, Attempt, Crash, Creator, Cut, Did, EndReason, FORMAT, Name, Operation, ReleaseOutcome,
    Role, Vote,
};
use fencepost_checker::{
    ClockKind, Event, Header, History, Outcome, Property, Segment, Time, Verdict, What, judge,
};

pub(crate) const SECOND: u64 = 1_000_000_000;
/// The wall clocks of a story show this at its beginning, so that nobody takes one clock for the other.
pub(crate) const EPOCH: u64 = 1_000_000 * SECOND;
const HOSTS: [&str; 11] = [
    "c1", "c2", "c3", "n1", "n2", "n3", "n4", "n5", "db", "db2", "seq",
];

/// A history and what the judges say of it.
pub(crate) struct Story {
    pub(crate) history: History,
}

/// Reads a story. It ends with its last line.
pub(crate) fn story(text: &str) -> Story {
    let mut writer = Writer::new();
    for line in text
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty() && !line.starts_with("//"))
    {
        writer.line(line.split("//").next().unwrap());
    }
    writer.push(What::End {
        reason: EndReason::Finished,
    });
    let history = writer.history;
    history.validate().expect("a story is a history");
    Story { history }
}

impl Story {
    pub(crate) fn verdict(&self, property: Property) -> Verdict {
        judge(&self.history)
            .into_iter()
            .find(|verdict| verdict.property == property)
            .unwrap()
    }

    #[track_caller]
    pub(crate) fn is(&self, property: Property, outcome: Outcome) -> Verdict {
        let verdict = self.verdict(property);
        assert_eq!(verdict.outcome, outcome, "{property}: {verdict:#?}");
        // A verdict shows what it rests on, whichever it is.
        assert_eq!(verdict.witnesses.is_empty(), outcome == Outcome::Vacuous);
        assert_eq!(
            verdict.vacuous_because.is_some(),
            outcome == Outcome::Vacuous
        );
        assert_eq!(verdict.violations > 0, outcome == Outcome::Violated);
        verdict
    }

    /// The cause of the first violation.
    #[track_caller]
    pub(crate) fn cause(&self, property: Property) -> String {
        let verdict = self.is(property, Outcome::Violated);
        verdict.witnesses[0].cause.clone().expect("a cause")
    }
}

struct Writer {
    history: History,
    now: Time,
    attempts: u64,
    latest: BTreeMap<String, u64>,
    segments: BTreeMap<String, Segment>,
    operations: u64,
}

/// The words of a line after the time, and its options.
struct Line<'a> {
    host: &'a str,
    words: Vec<&'a str>,
    options: BTreeMap<&'a str, &'a str>,
}

impl Writer {
    fn new() -> Self {
        let header = Header {
            format: FORMAT,
            scenario: "story".to_owned(),
            seed: 7,
            engine: "event".to_owned(),
            call_bound: 10 * SECOND,
            acquire_bound: 20 * SECOND,
            largest_ttl: 30 * SECOND,
            node_timeout: SECOND / 20,
            latency: SECOND / 100,
            quorum: 3,
        };
        let mut writer = Self {
            history: History {
                header,
                events: Vec::new(),
            },
            now: Time::ZERO,
            attempts: 0,
            latest: BTreeMap::new(),
            segments: BTreeMap::new(),
            operations: 0,
        };
        for host in HOSTS {
            writer.push(What::Host {
                host: host.into(),
                role: role(host),
            });
            let segment = Segment {
                from: Time::ZERO,
                monotonic: 0,
                wall: EPOCH,
                monotonic_ppm: 0,
                wall_ppm: 0,
            };
            writer.clock(host, segment);
        }
        writer
    }

    fn push(&mut self, what: What) {
        let seq = self.history.events.len() as u64;
        self.history.events.push(Event {
            seq,
            at: self.now,
            what,
        });
    }

    fn line(&mut self, text: &str) {
        let mut words = text.split_whitespace();
        self.now = time(words.next().unwrap());
        let host = words.next().unwrap();
        let (options, words): (Vec<&str>, Vec<&str>) = words.partition(|word| word.contains('='));
        let options = options
            .into_iter()
            .map(|option| option.split_once('=').unwrap())
            .collect();
        let line = Line {
            host,
            words,
            options,
        };
        match role(host) {
            _ if self.of_hosts(&line) => {}
            Role::Client => self.of_client(&line),
            Role::Node => self.of_node(&line),
            _ => self.of_resource(&line),
        }
    }

    fn of_hosts(&mut self, line: &Line<'_>) -> bool {
        let host: Name = line.host.into();
        let what = match line.words[..] {
            ["stops"] => What::Paused { host },
            ["resumes"] => What::Resumed { host },
            ["crashes"] => What::Crashed {
                host,
                how: Crash::Kill,
            },
            ["loses-power"] => What::Crashed {
                host,
                how: Crash::Power,
            },
            ["shuts-down"] => What::Crashed {
                host,
                how: Crash::Shutdown,
            },
            ["starts"] => What::Started { host },
            ["suffers", family] => {
                let with = line.options.get("with").map(|&other| other.into());
                What::Fault {
                    fault: line.fault(),
                    family: family.into(),
                    hosts: [host].into_iter().chain(with).collect(),
                    on: None,
                }
            }
            ["recovers"] => What::FaultEnded {
                fault: line.fault(),
            },
            ["heal"] => What::HealBegun {},
            ["heals-to", to] => What::Healed {
                from: host,
                to: to.into(),
            },
            ["drops-to", to] => What::Cut {
                from: host,
                to: to.into(),
                how: Cut::Drop,
            },
            ["resets-with", to] => What::Reset {
                from: host,
                to: to.into(),
            },
            ["is-promoted"] => What::Promoted { node: host },
            ["replicates", of] => What::Demoted {
                node: host,
                of: of.into(),
            },
            ["finishes"] => What::Finished { client: host },
            ["delayed-to", to, extra] => What::Delayed {
                from: host,
                to: to.into(),
                extra: time(extra).0,
            },
            ["cut-from", to] => What::Cut {
                from: host,
                to: to.into(),
                how: Cut::Hold,
            },
            ["clock", ref rest @ ..] => {
                self.change_clock(line.host, rest);
                return true;
            }
            _ => return false,
        };
        self.push(what);
        true
    }

    /// `clock steps +30s`, `clock ppm 500`, `clock monotonic-ppm -1000000`.
    fn change_clock(&mut self, host: &str, words: &[&str]) {
        let old = self.segments[host];
        let mut new = Segment {
            from: self.now,
            monotonic: old.reading(ClockKind::Monotonic, self.now),
            wall: old.reading(ClockKind::Wall, self.now),
            ..old
        };
        match words {
            ["steps", by] => {
                let nanos = i64::try_from(time(&by[1..]).0).unwrap();
                let step = if by.starts_with('-') { -nanos } else { nanos };
                new.wall = new.wall.checked_add_signed(step).unwrap();
            }
            ["ppm", ppm] => {
                (new.monotonic_ppm, new.wall_ppm) = (ppm.parse().unwrap(), ppm.parse().unwrap())
            }
            ["monotonic-ppm", ppm] => new.monotonic_ppm = ppm.parse().unwrap(),
            other => panic!("no such clock change: {other:?}"),
        }
        self.clock(host, new);
    }

    fn clock(&mut self, host: &str, segment: Segment) {
        self.segments.insert(host.to_owned(), segment);
        self.push(What::Clock {
            host: host.into(),
            segment,
        });
    }

    fn of_client(&mut self, line: &Line<'_>) {
        let (client, key): (Name, Name) = (line.host.into(), line.key());
        if line.words[0] == "begins" {
            self.attempts += 1;
            self.latest.insert(line.host.to_owned(), self.attempts);
        }
        let attempt = self.attempt(line.host, line);
        let (clock, votes) = (line.clock(), line.votes());
        let what = match line.words[..] {
            ["begins"] => {
                let reading = self.segments[line.host].reading(clock, self.now);
                What::AttemptBegun {
                    client,
                    attempt,
                    key,
                    clock,
                    reading,
                }
            }
            ["acquires", ref until @ ..] => {
                let (value, token, deadline) = (
                    format!("{:02x}", attempt.0),
                    line.number("token"),
                    line.deadline(until),
                );
                What::Acquired {
                    client,
                    attempt,
                    key,
                    value,
                    token,
                    deadline,
                    clock,
                    votes,
                }
            }
            ["extends", ref until @ ..] => What::Extended {
                client,
                attempt,
                key,
                deadline: line.deadline(until),
                clock,
                votes,
            },
            ["is-refused"] => What::Refused {
                client,
                attempt,
                key,
                reason: "no majority".to_owned(),
                votes,
            },
            ["loses"] => What::Lost {
                client,
                attempt,
                key,
            },
            ["enters"] => What::Entered {
                client,
                attempt,
                key,
            },
            ["leaves"] => What::Left {
                client,
                attempt,
                key,
            },
            ["releases"] => What::ReleaseCalled {
                client,
                attempt,
                key,
            },
            ["released"] => What::ReleaseEnded {
                client,
                attempt,
                key,
                outcome: ReleaseOutcome::Released,
            },
            ["calls", number, operation] => What::CallBegun {
                client,
                call: number.parse().unwrap(),
                operation: operation_of(operation),
                key,
                probe: line.options.contains_key("probe"),
            },
            ["returns", number] => What::CallEnded {
                client,
                call: number.parse().unwrap(),
            },
            ["waits"] => return,
            ref other => panic!("a client does not do this: {other:?}"),
        };
        self.push(what);
    }

    /// `n1 SET by c1 created expires=31s`, `n1 DEL by c1 deleted of=c2 tried=2` (c2's attempt 2), `n1 - expired of=c1`.
    fn of_node(&mut self, line: &Line<'_>) {
        let (command, sender, did) = match line.words[..] {
            [command, "by", sender, did] => (command, Some(sender.into()), did),
            [command, did] => (command, None, did),
            ref other => panic!("a node does not do this: {other:?}"),
        };
        let creator = line.options.get("of").map(|&client| Creator {
            client: client.into(),
            attempt: line.number("tried").map(Attempt),
        });
        let expires_at = line
            .options
            .get("expires")
            .map(|at| (EPOCH + time(at).0) / 1_000_000);
        let (node, command, did) = (line.host.into(), command.into(), did_of(did));
        self.push(What::Command {
            node,
            sender,
            command,
            key: line.key(),
            did,
            creator,
            expires_at,
        });
    }

    /// `db reads c1`, `db writes c1 token=33 read=1 over=2 op=7`, `db totals 100`, `db registers c1 token=33`, `db refuses c1 token=33`.
    fn of_resource(&mut self, line: &Line<'_>) {
        let [verb, who] = line.words[..] else {
            panic!("a resource does not do this: {:?}", line.words)
        };
        let (client, attempt) = (who.into(), self.attempt(who, line));
        let (resource, key, token, operation) = (
            line.host.into(),
            line.key(),
            line.number("token"),
            line.number("op").unwrap_or(self.operations),
        );
        self.operations += 1;
        if verb == "totals" {
            let total = who.parse().unwrap();
            return self.push(What::Total {
                resource,
                key,
                total,
            });
        }
        self.push(match verb {
            "reads" => What::ReadApplied {
                resource,
                key,
                client,
                attempt,
                operation,
                token,
                version: 0,
            },
            "writes" => {
                let before = line.number("over").unwrap_or(0);
                let read_version = line.number("read").unwrap_or(before);
                let after = before + 1;
                What::WriteApplied {
                    resource,
                    key,
                    client,
                    attempt,
                    operation,
                    token,
                    read_version,
                    before,
                    after,
                }
            }
            "registers" => What::Registered {
                resource,
                key,
                client,
                attempt,
                token: token.unwrap(),
            },
            "refuses" => {
                let (registered, write) = (99, true);
                What::OperationRefused {
                    resource,
                    key,
                    client,
                    attempt,
                    operation,
                    token,
                    registered,
                    write,
                }
            }
            other => panic!("a resource does not do this: {other}"),
        });
    }

    fn attempt(&self, client: &str, line: &Line<'_>) -> Attempt {
        let said = line.number("attempt");
        Attempt(said.unwrap_or_else(|| self.latest.get(client).copied().unwrap_or(1_000)))
    }
}

impl Line<'_> {
    fn key(&self) -> Name {
        self.options.get("key").copied().unwrap_or("k").into()
    }

    fn fault(&self) -> u32 {
        let said = self.number("fault").unwrap_or(0);
        u32::try_from(said).unwrap()
    }

    fn number(&self, option: &str) -> Option<u64> {
        self.options
            .get(option)
            .map(|number| number.parse().unwrap())
    }

    fn clock(&self) -> ClockKind {
        match self.options.get("by") {
            Some(&"wall") => ClockKind::Wall,
            _ => ClockKind::Monotonic,
        }
    }

    fn deadline(&self, until: &[&str]) -> Option<u64> {
        let base = if self.clock() == ClockKind::Wall {
            EPOCH
        } else {
            0
        };
        match until {
            ["until", at] => Some(base + time(at).0),
            ["for-ever"] => None,
            other => panic!("say `until 31s` or `for-ever`: {other:?}"),
        }
    }

    fn votes(&self) -> Vec<Vote> {
        let answers = [
            ("from", Answer::Granted),
            ("taken", Answer::Taken),
            ("silent", Answer::TimedOut),
            ("failed", Answer::Error("LOADING".to_owned())),
        ];
        let votes = answers.into_iter().flat_map(|(option, answer)| {
            let nodes = self.options.get(option).copied().unwrap_or_default();
            let nodes = nodes.split(',').filter(|node| !node.is_empty());
            nodes.map(move |node| Vote {
                node: node.into(),
                answer: answer.clone(),
            })
        });
        votes.collect()
    }
}

/// `31s`, `1.5s`, `30s+1ns`, `30s-1ns`.
fn time(text: &str) -> Time {
    let (text, shift) = match text.split_once(['+', '-']) {
        Some((seconds, nanos)) => {
            let nanos: i64 = nanos.strip_suffix("ns").unwrap().parse().unwrap();
            (seconds, if text.contains('-') { -nanos } else { nanos })
        }
        None => (text, 0),
    };
    let seconds = text
        .strip_suffix('s')
        .unwrap_or_else(|| panic!("`{text}` is no time"));
    let (whole, part) = seconds.split_once('.').unwrap_or((seconds, ""));
    let nanos: u64 =
        whole.parse::<u64>().unwrap() * SECOND + format!("{part:0<9}").parse::<u64>().unwrap();
    Time(nanos.checked_add_signed(shift).unwrap())
}

fn role(host: &str) -> Role {
    match host.as_bytes()[0] {
        b'c' => Role::Client,
        b'n' => Role::Node,
        b'd' => Role::Resource,
        _ => Role::Sequence,
    }
}

fn operation_of(word: &str) -> Operation {
    match word {
        "acquire" => Operation::Acquire,
        "extend" => Operation::Extend,
        "release" => Operation::Release,
        other => panic!("no such operation: {other}"),
    }
}

fn did_of(word: &str) -> Did {
    match word {
        "read" => Did::Read,
        "created" => Did::Created,
        "overwritten" => Did::Overwritten,
        "deleted" => Did::Deleted,
        "expiry-changed" => Did::ExpiryChanged,
        "refused" => Did::Refused,
        "missing" => Did::Missing,
        "expired" => Did::Expired,
        "evicted" => Did::Evicted,
        other => panic!("no command does this: {other}"),
    }
}
