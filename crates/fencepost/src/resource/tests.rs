use expect_test::{Expect, expect};
use proptest::prelude::*;

use super::*;

fn counter(fencing: Fencing) -> ResourcePlan {
    ResourcePlan {
        fencing,
        workload: Workload::Counter,
    }
}

/// Sends requests to a fresh resource, one a line, and shows what it answered and recorded.
fn check(fencing: Fencing, requests: &[&str], expected: Expect) {
    check_with(counter(fencing), requests, expected);
}

fn check_with(plan: ResourcePlan, requests: &[&str], expected: Expect) {
    let mut resource = Resource::new("db", plan);
    resource.boot(UnixTime::default());
    let mut shown = String::new();
    for request in requests {
        let words: Vec<Bytes> = request
            .split(' ')
            .map(|word| Bytes::copy_from_slice(word.as_bytes()))
            .collect();
        let (reply, events) = resource.carry_out(&words);
        shown += &format!(
            "{request}: {}{}\n",
            reply_text(&reply),
            events.iter().map(event_text).collect::<String>()
        );
    }
    expected.assert_eq(&shown);
}

fn reply_text(reply: &Reply) -> String {
    match reply {
        Reply::Status(text) | Reply::Bulk(text) => String::from_utf8_lossy(text).into_owned(),
        Reply::Error(text) => text.to_string(),
        Reply::Integer(number) => number.to_string(),
        Reply::Array(items) => items.iter().map(reply_text).collect::<Vec<_>>().join(" @ "),
        other => format!("{other:?}"),
    }
}

fn event_text(event: &What) -> String {
    match event {
        What::Registered { token, .. } => format!("; registered {token}"),
        What::ReadApplied { version, .. } => format!("; read {version}"),
        What::WriteApplied {
            read_version,
            before,
            after,
            ..
        } => format!("; {read_version}: {before} -> {after}"),
        What::Total { total, .. } => format!("; total {total}"),
        What::OperationRefused {
            registered, write, ..
        } => format!("; refused after {registered}, write {write}"),
        other => format!("; {other:?}"),
    }
}

#[test]
fn without_fencing_everything_is_applied() {
    check(
        Fencing::None,
        &[
            "READ k c1 1 1 -",
            "WRITE k c1 1 2 - 0 a",
            "WRITE k c2 2 3 7 0 b",
            "READ k c1 1 4 3",
            "READ other c1 1 5 -",
        ],
        expect![[r#"
            READ k c1 1 1 -: 0 @ 0; read 0
            WRITE k c1 1 2 - 0 a: OK; 0: 0 -> 1
            WRITE k c2 2 3 7 0 b: OK; 0: 1 -> 2
            READ k c1 1 4 3: b @ 2; read 2
            READ other c1 1 5 -: 0 @ 0; read 0
        "#]],
    );
}

#[test]
fn a_token_is_registered_by_the_first_operation_and_smaller_ones_are_refused() {
    check(
        Fencing::Token,
        &[
            "READ k c1 1 1 33",
            "READ k c2 2 2 34",
            "WRITE k c1 1 3 33 0 late",
            "READ k c1 1 4 33",
            "WRITE k c2 2 5 34 0 a",
            "WRITE k c2 2 6 34 1 b",
            "READ k c2 2 7 34",
            "WRITE k c1 1 8 - 0 x",
        ],
        expect![[r#"
            READ k c1 1 1 33: 0 @ 0; registered 33; read 0
            READ k c2 2 2 34: 0 @ 0; registered 34; read 0
            WRITE k c1 1 3 33 0 late: FENCED token 33 after 34 was registered; refused after 34, write true
            READ k c1 1 4 33: FENCED token 33 after 34 was registered; refused after 34, write false
            WRITE k c2 2 5 34 0 a: OK; 0: 0 -> 1
            WRITE k c2 2 6 34 1 b: OK; 1: 1 -> 2
            READ k c2 2 7 34: b @ 2; read 2
            WRITE k c1 1 8 - 0 x: NOTOKEN this resource asks for a fencing token
        "#]],
    );
}

#[test]
fn the_documents_own_statement_refuses_the_holders_second_write_and_registers_no_read() {
    check(
        Fencing::TokenStrict,
        &[
            "READ k c1 1 1 33",
            "READ k c2 2 2 34",
            "WRITE k c1 1 3 33 0 slips-in",
            "WRITE k c2 2 4 34 0 a",
            "WRITE k c2 2 5 34 1 b",
            "WRITE k c1 1 6 33 0 late",
        ],
        expect![[r#"
            READ k c1 1 1 33: 0 @ 0; read 0
            READ k c2 2 2 34: 0 @ 0; read 0
            WRITE k c1 1 3 33 0 slips-in: OK; registered 33; 0: 0 -> 1
            WRITE k c2 2 4 34 0 a: OK; registered 34; 0: 1 -> 2
            WRITE k c2 2 5 34 1 b: FENCED token 34 after 34 was registered; refused after 34, write true
            WRITE k c1 1 6 33 0 late: FENCED token 33 after 34 was registered; refused after 34, write true
        "#]],
    );
}

#[test]
fn an_api_that_cannot_check_takes_every_token_and_none() {
    check(
        Fencing::External,
        &[
            "READ k c2 2 1 34",
            "WRITE k c2 2 2 34 0 a",
            "WRITE k c1 1 3 33 0 late",
            "WRITE k c1 1 4 - 0 b",
        ],
        expect![[r#"
            READ k c2 2 1 34: 0 @ 0; read 0
            WRITE k c2 2 2 34 0 a: OK; 0: 0 -> 1
            WRITE k c1 1 3 33 0 late: OK; 0: 1 -> 2
            WRITE k c1 1 4 - 0 b: OK; 0: 2 -> 3
        "#]],
    );
}

#[test]
fn a_transfer_writes_both_accounts_or_neither() {
    let plan = ResourcePlan {
        fencing: Fencing::Token,
        workload: Workload::Transfer,
    };
    check_with(
        plan,
        &[
            "READ k c1 1 1 33",
            "READ k c2 2 2 34",
            "WRITE k c2 2 3 34 0 990000 1010000",
            "WRITE k c1 1 4 33 0 990000 1010000",
            "READ k c2 2 5 34",
            "WRITE k c2 2 6 34 1 0 1",
            "WRITE k c2 2 7 34 1 5",
            "WRITE k c2 2 8 34 1 -1 1",
            "READ other c2 2 9 34",
        ],
        expect![[r#"
            READ k c1 1 1 33: 1000000 @ 1000000 @ 0; total 2000000; registered 33; read 0
            READ k c2 2 2 34: 1000000 @ 1000000 @ 0; registered 34; read 0
            WRITE k c2 2 3 34 0 990000 1010000: OK; 0: 0 -> 1; total 2000000
            WRITE k c1 1 4 33 0 990000 1010000: FENCED token 33 after 34 was registered; refused after 34, write true
            READ k c2 2 5 34: 990000 @ 1010000 @ 1; read 1
            WRITE k c2 2 6 34 1 0 1: OK; 1: 1 -> 2; total 1
            WRITE k c2 2 7 34 1 5: ERR wrong number of arguments for 'write' command
            WRITE k c2 2 8 34 1 -1 1: ERR value is not an integer or out of range
            READ other c2 2 9 34: 1000000 @ 1000000 @ 0; total 2000000; registered 34; read 0
        "#]],
    );
}

#[test]
fn wrong_requests_get_errors() {
    check(
        Fencing::None,
        &[
            "READ k c1 1 1",
            "WRITE k c1 1 1 - 0",
            "READ k c1 x 1 -",
            "READ k c1 1 -1 -",
            "READ k c1 1 1 99999999999999999999",
            "READ k c1 1 +1 -",
            "GET k",
            "PING",
            "CLIENT SETINFO LIB-NAME redis-rs",
            "",
        ],
        expect![[r#"
            READ k c1 1 1: ERR wrong number of arguments for 'read' command
            WRITE k c1 1 1 - 0: ERR wrong number of arguments for 'write' command
            READ k c1 x 1 -: ERR value is not an integer or out of range
            READ k c1 1 -1 -: ERR value is not an integer or out of range
            READ k c1 1 1 99999999999999999999: ERR value is not an integer or out of range
            READ k c1 1 +1 -: ERR value is not an integer or out of range
            GET k: ERR unknown command 'GET'
            PING: PONG
            CLIENT SETINFO LIB-NAME redis-rs: OK
            : ERR unknown command ''
        "#]],
    );
}

#[test]
fn the_data_outlive_the_process_and_not_the_run() {
    let ask = |resource: &mut Resource, request: &str| {
        let words: Vec<Bytes> = request
            .split(' ')
            .map(|word| Bytes::copy_from_slice(word.as_bytes()))
            .collect();
        reply_text(&resource.carry_out(&words).0)
    };
    let mut first = Resource::new("db", counter(Fencing::Token));
    first.boot(UnixTime::default());
    assert_eq!(ask(&mut first, "WRITE k c1 1 1 5 0 a"), "OK");
    first.stop(Crash::Power, UnixTime::default());
    first.boot(UnixTime::default());
    assert_eq!(ask(&mut first, "READ k c1 1 2 5"), "a @ 1");
    let mut second = Resource::new("db", counter(Fencing::Token));
    second.boot(UnixTime::default());
    assert_eq!(ask(&mut second, "READ k c1 1 1 1"), "0 @ 0");
}

proptest! {
    #[test]
    fn no_request_makes_it_panic(request in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..9), 0..9), verb in 0..3_usize) {
        let mut resource = Resource::new("db", counter(Fencing::Token));
        resource.boot(UnixTime::default());
        let mut request: Vec<Bytes> = request.into_iter().map(Bytes::from).collect();
        if let Some(name) = request.first_mut() && verb > 0 {
            *name = Bytes::from_static(["READ", "WRITE"][verb - 1].as_bytes());
        }
        resource.carry_out(&request);
    }

    /// Whatever the order of tokens, the resource never applies one that is smaller than one it has seen.
    #[test]
    fn applied_tokens_never_fall(tokens in prop::collection::vec(0..9_u64, 1..30)) {
        let mut resource = Resource::new("db", counter(Fencing::Token));
        resource.boot(UnixTime::default());
        let mut highest = 0;
        for (id, token) in tokens.into_iter().enumerate() {
            let request = format!("WRITE k c1 1 {id} {token} 0 v");
            let words: Vec<Bytes> = request.split(' ').map(|word| Bytes::copy_from_slice(word.as_bytes())).collect();
            let (reply, _) = resource.carry_out(&words);
            prop_assert_eq!(reply == Reply::ok(), token >= highest);
            highest = highest.max(token);
        }
    }
}
