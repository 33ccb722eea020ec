use proptest::prelude::*;

use super::*;

/// Everything that comes out of these bytes: requests, then perhaps an error.
fn decode(pieces: &[&[u8]], limits: Limits) -> (Vec<Vec<Bytes>>, Option<String>) {
    let mut decoder = Decoder::new(limits);
    let mut requests = Vec::new();
    for piece in pieces {
        decoder.feed(piece);
        loop {
            match decoder.next() {
                Ok(Some(request)) => requests.push(request),
                Ok(None) => break,
                Err(error) => return (requests, Some(error.to_string())),
            }
        }
    }
    (requests, None)
}

fn whole(bytes: &[u8]) -> (Vec<Vec<Bytes>>, Option<String>) {
    decode(&[bytes], Limits::default())
}

fn error_of(bytes: &[u8]) -> String {
    whole(bytes).1.unwrap_or_else(|| "no error".to_owned())
}

fn encode(request: &[Vec<u8>]) -> Vec<u8> {
    let mut bytes = format!("*{}\r\n", request.len()).into_bytes();
    for argument in request {
        bytes.extend(format!("${}\r\n", argument.len()).into_bytes());
        bytes.extend(argument);
        bytes.extend(b"\r\n");
    }
    bytes
}

#[test]
fn errors_have_the_texts_of_redis() {
    let cases: [(&[u8], &str); 12] = [
        (b"*x\r\n", "invalid multibulk length"),
        (b"*\r\n", "invalid multibulk length"),
        (b"*99999999999\r\n", "invalid multibulk length"),
        (b"*1\r\n:1\r\n", "expected '$', got ':'"),
        (b"*1\r\n*1\r\n", "expected '$', got '*'"),
        (b"*1\r\n\r\n", "expected '$', got ' '"),
        (b"*1\r\n$x\r\n", "invalid bulk length"),
        (b"*1\r\n$-1\r\n", "invalid bulk length"),
        (b"*1\r\n$99999999999999\r\n", "invalid bulk length"),
        (b"get \"k\r\n", "unbalanced quotes in request"),
        (b"get \"k\"x\r\n", "unbalanced quotes in request"),
        (b"get 'k\r\n", "unbalanced quotes in request"),
    ];
    for (bytes, text) in cases {
        assert_eq!(
            error_of(bytes),
            format!("ERR Protocol error: {text}"),
            "{}",
            bytes.escape_ascii()
        );
    }
    assert_eq!(
        error_of(&[b'a'; 70_000]),
        "ERR Protocol error: too big inline request"
    );
    assert_eq!(
        error_of(&[b'*'; 70_000]),
        "ERR Protocol error: too big mbulk count string"
    );
    let mut bulk = b"*1\r\n$".to_vec();
    bulk.extend([b'1'; 70_000]);
    assert_eq!(
        error_of(&bulk),
        "ERR Protocol error: too big bulk count string"
    );
}

#[test]
fn inline_commands_are_split_like_a_shell_would() {
    let cases: [(&[u8], &[&[u8]]); 6] = [
        (b"PING\r\n", &[b"PING"]),
        (b"  set  k\tv \n", &[b"set", b"k", b"v"]),
        (
            b"set k \"a b\\n\\x41\\\"\"\r\n",
            &[b"set", b"k", b"a b\nA\""],
        ),
        (b"set k 'a\\'b\\n'\r\n", &[b"set", b"k", b"a'b\\n"]),
        (b"set k \"\"\r\n", &[b"set", b"k", b""]),
        (b"a\"b c\"\r\n", &[b"ab c"]),
    ];
    for (line, words) in cases {
        assert_eq!(
            whole(line),
            (
                vec![
                    words
                        .iter()
                        .map(|word| Bytes::copy_from_slice(word))
                        .collect()
                ],
                None
            )
        );
    }
}

#[test]
fn empty_requests_are_skipped() {
    let (requests, error) = whole(b"\r\n*0\r\n*-1\r\n  \r\nPING\r\n");
    assert_eq!(
        (requests, error),
        (vec![vec![Bytes::from_static(b"PING")]], None)
    );
}

#[test]
fn a_hundred_thousand_nested_arrays_are_one_error() {
    assert_eq!(
        error_of(&b"*1\r\n".repeat(100_000)),
        "ERR Protocol error: expected '$', got '*'"
    );
}

#[test]
fn a_request_larger_than_the_limit_is_refused_before_it_arrives() {
    let limits = Limits {
        request_bytes: 1000,
        ..Limits::default()
    };
    let (requests, error) = decode(&[b"*3\r\n$500\r\n", &[b'x'; 502], b"$500\r\n"], limits);
    assert_eq!(
        (requests.len(), error.as_deref()),
        (0, Some("ERR Protocol error: too big request"))
    );
}

#[test]
fn an_error_is_final_and_holds_no_memory() {
    let mut decoder = Decoder::new(Limits::default());
    decoder.feed(b"*1\r\n:");
    assert_eq!(decoder.next(), Ok(None));
    decoder.feed(b"1\r\n*1\r\n$4\r\nPING\r\n");
    let error = decoder.next().expect_err("an integer is no bulk string");
    decoder.feed(b"PING\r\n");
    assert_eq!(decoder.next(), Err(error));
    assert!(decoder.buffer.is_empty());
}

/// Each byte is looked at a few times at most: the work for a million pieces is bounded by counting, not by a clock.
#[test]
fn a_long_line_in_tiny_pieces_is_scanned_once() {
    let mut decoder = Decoder::new(Limits {
        line_bytes: usize::MAX,
        ..Limits::default()
    });
    for fed in 1..=1_000_000 {
        decoder.feed(b"x");
        assert_eq!(decoder.next(), Ok(None));
        assert_eq!(decoder.scanned, fed);
    }
}

#[test]
fn a_large_argument_in_tiny_pieces_arrives_whole() {
    let argument = vec![b'v'; 1_000_000];
    let bytes = encode(&[b"ECHO".to_vec(), argument.clone()]);
    let pieces: Vec<&[u8]> = bytes.chunks(1).collect();
    let (requests, error) = decode(&pieces, Limits::default());
    assert_eq!(error, None);
    assert_eq!(requests[0][1], argument);
}

fn likely_bytes() -> impl Strategy<Value = Vec<u8>> {
    let token = prop_oneof![
        Just(b"*1\r\n".to_vec()),
        Just(b"*2\r\n".to_vec()),
        Just(b"*-1\r\n".to_vec()),
        Just(b"$3\r\n".to_vec()),
        Just(b"$0\r\n".to_vec()),
        Just(b"$1000\r\n".to_vec()),
        Just(b"GET\r\n".to_vec()),
        Just(b"\r\n".to_vec()),
        Just(b"\"".to_vec()),
        prop::collection::vec(any::<u8>(), 0..6),
    ];
    prop::collection::vec(token, 0..30).prop_map(|tokens| tokens.concat())
}

proptest! {
    #[test]
    fn however_bytes_are_split_the_same_comes_out(
        bytes in prop_oneof![likely_bytes(), prop::collection::vec(any::<u8>(), 0..300)],
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..20),
    ) {
        let limits = Limits { arguments: 8, argument_bytes: 64, line_bytes: 40, request_bytes: 150 };
        let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut.index(bytes.len() + 1)).collect();
        cuts.extend([0, bytes.len()]);
        cuts.sort_unstable();
        let pieces: Vec<&[u8]> = cuts.windows(2).map(|cut| &bytes[cut[0]..cut[1]]).collect();
        let single: Vec<&[u8]> = bytes.chunks(1).collect();
        let expected = decode(&[&bytes], limits);
        prop_assert_eq!(&decode(&pieces, limits), &expected);
        prop_assert_eq!(&decode(&single, limits), &expected);
    }

    #[test]
    fn encoded_requests_come_back(
        requests in prop::collection::vec(
            prop::collection::vec(prop::collection::vec(any::<u8>(), 0..40), 1..6), 0..6),
        size in 1usize..50,
    ) {
        let bytes: Vec<u8> = requests.iter().flat_map(|request| encode(request)).collect();
        let pieces: Vec<&[u8]> = bytes.chunks(size).collect();
        let (decoded, error) = decode(&pieces, Limits::default());
        prop_assert_eq!(error, None);
        prop_assert_eq!(decoded, requests);
    }
}
