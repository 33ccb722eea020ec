//! Arbitrary valid histories: few hosts, keys and attempts, many events of one instant, so that they meet often.

use fencepost_checker::history::{
    Answer, Attempt, Crash, Creator, Cut, Did, EndReason, FORMAT, Name, Operation, ReleaseOutcome,
    Role, Vote,
};
use fencepost_checker::{ClockKind, Event, Header, History, Segment, Time, What};
use proptest::prelude::*;

const CLIENTS: [&str; 3] = ["c1", "c2", "c3"];
const NODES: [&str; 3] = ["n1", "n2", "n3"];

/// Any history that `validate` accepts.
pub(crate) fn history() -> impl Strategy<Value = History> {
    prop::collection::vec((0_u64..4, what()), 0..60).prop_map(assemble)
}

/// Histories of attempts, decisions and operations alone, which collide more often.
pub(crate) fn contended() -> impl Strategy<Value = History> {
    prop::collection::vec(
        (
            0_u64..4,
            prop_oneof![3 => of_client(), 2 => of_resource(), 1 => of_host()],
        ),
        0..50,
    )
    .prop_map(assemble)
}

/// Histories of calls, leases, keys and what befalls nodes and links, in which somebody may make no progress.
pub(crate) fn stalled() -> impl Strategy<Value = History> {
    let part = prop_oneof![
        4 => of_calls(),
        2 => of_client(),
        2 => of_node(),
        2 => of_host(),
        3 => of_network(),
        1 => of_failover(),
        1 => Just(What::HealBegun {}),
    ];
    prop::collection::vec((0_u64..6, part), 0..40).prop_map(assemble)
}

fn assemble(parts: Vec<(u64, What)>) -> History {
    let header = Header {
        format: FORMAT,
        scenario: "any".into(),
        seed: 1,
        engine: "event".into(),
        call_bound: 9,
        acquire_bound: 12,
        largest_ttl: 8,
        node_timeout: 6,
        latency: 1,
        quorum: 2,
    };
    let mut history = History {
        header,
        events: Vec::new(),
    };
    let mut now = 0;
    let mut push = |at, what| {
        let seq = history.events.len() as u64;
        history.events.push(Event {
            seq,
            at: Time(at),
            what,
        });
    };
    let roles = CLIENTS
        .map(|host| (host, Role::Client))
        .into_iter()
        .chain(NODES.map(|host| (host, Role::Node)));
    for (host, role) in roles.chain([("db", Role::Resource)]) {
        push(
            0,
            What::Host {
                host: host.into(),
                role,
            },
        );
        push(
            0,
            What::Clock {
                host: host.into(),
                segment: still(Time::ZERO, 0),
            },
        );
    }
    for (gap, mut what) in parts {
        now += gap;
        if let What::Clock { segment, .. } = &mut what {
            segment.from = Time(now);
        }
        push(now, what);
    }
    push(
        now,
        What::End {
            reason: EndReason::Horizon,
        },
    );
    history
}

fn still(from: Time, reading: u64) -> Segment {
    Segment {
        from,
        monotonic: reading,
        wall: reading,
        monotonic_ppm: 0,
        wall_ppm: 0,
    }
}

fn what() -> impl Strategy<Value = What> {
    prop_oneof![3 => of_client(), 1 => of_calls(), 2 => of_node(), 2 => of_resource(), 1 => of_host(), 1 => of_network(), 1 => of_failover()]
}

fn client() -> impl Strategy<Value = Name> {
    prop::sample::select(&CLIENTS[..]).prop_map(Name::from)
}

fn node() -> impl Strategy<Value = Name> {
    prop::sample::select(&NODES[..]).prop_map(Name::from)
}

fn key() -> impl Strategy<Value = Name> {
    prop_oneof![4 => Just("k"), 1 => Just("z")].prop_map(Name::from)
}

fn attempt() -> impl Strategy<Value = Attempt> {
    (0_u64..4).prop_map(Attempt)
}

fn clock() -> impl Strategy<Value = ClockKind> {
    prop_oneof![Just(ClockKind::Monotonic), Just(ClockKind::Wall)]
}

fn votes() -> impl Strategy<Value = Vec<Vote>> {
    let answer = prop_oneof![
        3 => Just(Answer::Granted),
        1 => Just(Answer::Taken),
        1 => Just(Answer::TimedOut),
        1 => "[a-z\"\\\\\n]{0,4}".prop_map(Answer::Error),
    ];
    prop::collection::vec(
        (node(), answer).prop_map(|(node, answer)| Vote { node, answer }),
        0..3,
    )
}

fn of_client() -> impl Strategy<Value = What> {
    let deadline = || prop::option::weighted(0.8, 0_u64..120);
    let token = prop::option::of(0_u64..6);
    let details = (deadline(), token, clock(), votes());
    (0..10, client(), attempt(), key(), details).prop_map(
        |(kind, client, attempt, key, details)| {
            let (deadline, token, clock, votes) = details;
            match kind {
                0 | 1 => What::AttemptBegun {
                    client,
                    attempt,
                    key,
                    clock,
                    reading: deadline.unwrap_or(0),
                },
                2 | 3 => What::Acquired {
                    client,
                    attempt,
                    key,
                    value: "0a".into(),
                    token,
                    deadline,
                    clock,
                    votes,
                },
                4 => What::Extended {
                    client,
                    attempt,
                    key,
                    deadline,
                    clock,
                    votes,
                },
                5 => What::Refused {
                    client,
                    attempt,
                    key,
                    reason: "\u{2028}no".into(),
                    votes,
                },
                6 => What::Lost {
                    client,
                    attempt,
                    key,
                },
                7 => What::Entered {
                    client,
                    attempt,
                    key,
                },
                8 => What::Left {
                    client,
                    attempt,
                    key,
                },
                _ => What::ReleaseCalled {
                    client,
                    attempt,
                    key,
                },
            }
        },
    )
}

fn of_calls() -> impl Strategy<Value = What> {
    let operation = prop::sample::select(vec![
        Operation::Acquire,
        Operation::Extend,
        Operation::Release,
    ]);
    (0..4, client(), attempt(), key(), 0_u64..3, operation).prop_map(
        |(kind, client, attempt, key, call, operation)| match kind {
            0 | 1 => What::CallBegun {
                client,
                call,
                operation,
                key,
                probe: attempt.0 == 3,
            },
            2 => What::CallEnded { client, call },
            _ => What::ReleaseEnded {
                client,
                attempt,
                key,
                outcome: ReleaseOutcome::Unknown,
            },
        },
    )
}

fn of_node() -> impl Strategy<Value = What> {
    let did = prop::sample::select(vec![
        Did::Read,
        Did::Created,
        Did::Overwritten,
        Did::Deleted,
        Did::ExpiryChanged,
        Did::Refused,
        Did::Missing,
        Did::Expired,
        Did::Evicted,
    ]);
    let creator = prop::option::of(
        (client(), prop::option::of(attempt()))
            .prop_map(|(client, attempt)| Creator { client, attempt }),
    );
    let command = prop::sample::select(vec!["SET", "DEL", "EVALSHA", "GET", "replicate"])
        .prop_map(Name::from);
    let expires = prop::option::of(0_u64..3);
    (
        node(),
        prop::option::of(client()),
        command,
        key(),
        did,
        creator,
        expires,
    )
        .prop_map(
            |(node, sender, command, key, did, creator, expires_at)| What::Command {
                node,
                sender,
                command,
                key,
                did,
                creator,
                expires_at,
            },
        )
}

fn of_resource() -> impl Strategy<Value = What> {
    let token = prop::option::of(0_u64..6);
    (0..6, client(), attempt(), key(), token, 0_u64..9).prop_map(
        |(kind, client, attempt, key, token, operation)| {
            let resource = Name::from("db");
            match kind {
                0 => What::Registered {
                    resource,
                    key,
                    client,
                    attempt,
                    token: token.unwrap_or(0),
                },
                1 => What::ReadApplied {
                    resource,
                    key,
                    client,
                    attempt,
                    operation,
                    token,
                    version: 3,
                },
                4 => What::Total {
                    resource,
                    key,
                    total: i64::try_from(operation / 4).unwrap(),
                },
                2 | 5 => {
                    let (read_version, before, after) = (1, 1 + operation % 2, 3);
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
                _ => What::OperationRefused {
                    resource,
                    key,
                    client,
                    attempt,
                    operation,
                    token,
                    registered: 5,
                    write: true,
                },
            }
        },
    )
}

fn of_host() -> impl Strategy<Value = What> {
    let how = prop::sample::select(vec![Crash::Kill, Crash::Power, Crash::Shutdown]);
    let ppm = || prop::sample::select(vec![0, 1_000_000, -1_000_000, -500_000, 7]);
    let segment = (0_u64..120, 0_u64..120, ppm(), ppm()).prop_map(
        |(monotonic, wall, monotonic_ppm, wall_ppm)| Segment {
            from: Time::ZERO,
            monotonic,
            wall,
            monotonic_ppm,
            wall_ppm,
        },
    );
    (0..5, prop_oneof![2 => client(), 1 => node()], how, segment).prop_map(
        |(kind, host, how, segment)| match kind {
            0 => What::Clock { host, segment },
            1 => What::Paused { host },
            2 => What::Resumed { host },
            3 => What::Crashed { host, how },
            _ => What::Started { host },
        },
    )
}

fn of_network() -> impl Strategy<Value = What> {
    let extra = prop::sample::select(vec![0, 2, 4, 5]);
    let hosts = (client(), node(), any::<bool>());
    (0..7, hosts, extra).prop_map(|(kind, (client, node, there), extra)| {
        let (from, to) = if there {
            (client, node)
        } else {
            (node, client)
        };
        match kind {
            0 => What::Cut {
                from,
                to,
                how: Cut::Hold,
            },
            1 | 2 => What::Healed { from, to },
            3 => What::Delayed { from, to, extra },
            4 => What::Reset { from, to },
            5 => {
                let family = ["evict", "fsync-stall", "late-packet"]
                    [usize::from(extra > 2) + usize::from(extra > 4)];
                What::Fault {
                    fault: u32::try_from(extra).unwrap(),
                    family: family.into(),
                    hosts: vec![from, to],
                    on: Some("c1 acquired".into()),
                }
            }
            _ => What::FaultEnded {
                fault: u32::try_from(extra).unwrap(),
            },
        }
    })
}

fn of_failover() -> impl Strategy<Value = What> {
    (0..3, client(), node(), node()).prop_map(|(kind, client, node, of)| match kind {
        0 => What::Promoted { node },
        1 => What::Demoted { node, of },
        _ => What::Finished { client },
    })
}
