//! The same random commands on the node and on a real redis-server 7.0: equal bytes come back.
//!
//! Without the binary the test says so and passes; with `FENCEPOST_REQUIRE_REDIS=1` it fails.
#![expect(
    clippy::disallowed_types,
    clippy::disallowed_methods,
    reason = "the real server has the machine's clock"
)]
#![expect(clippy::print_stderr, reason = "a skipped test has to say so")]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::time::{SystemTime, UNIX_EPOCH};

use bytes::{Bytes, BytesMut};
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::{Config as RunnerConfig, RngAlgorithm, TestRng, TestRunner};
use redis_node::{Config, Disk, Lua, Node, UnixTime};

use crate::support::CLIENT;

struct RedisServer {
    process: Child,
    stream: BufReader<TcpStream>,
    _directory: Directory,
}

/// A directory that is removed in the end.
struct Directory(std::path::PathBuf);

impl Drop for Directory {
    fn drop(&mut self) {
        // What is left behind in the system's temporary directory harms nobody.
        std::fs::remove_dir_all(&self.0).ok();
    }
}

impl RedisServer {
    /// `None` where there is no binary.
    fn start() -> Option<RedisServer> {
        let port = TcpListener::bind("127.0.0.1:0")
            .and_then(|listener| listener.local_addr())
            .expect("a port")
            .port();
        let directory = Directory(std::env::temp_dir().join(format!("redis-node-test-{port}")));
        std::fs::create_dir_all(&directory.0).expect("a directory");
        let spawned = Command::new("redis-server")
            .args([
                "--port",
                &port.to_string(),
                "--bind",
                "127.0.0.1",
                "--save",
                "",
                "--appendonly",
                "no",
                "--dir",
            ])
            .arg(&directory.0)
            .stdout(Stdio::piped())
            .spawn();
        let mut process = match spawned {
            Ok(process) => process,
            Err(error) => {
                assert!(
                    std::env::var_os("FENCEPOST_REQUIRE_REDIS").is_none_or(|set| set != "1"),
                    "redis-server: {error}"
                );
                eprintln!("skipped: no redis-server to compare with ({error})");
                return None;
            }
        };
        let mut log = BufReader::new(process.stdout.take().expect("piped"));
        let mut line = String::new();
        while !line.contains("Ready to accept connections") {
            line.clear();
            assert_ne!(
                log.read_line(&mut line).expect("log"),
                0,
                "redis-server did not start"
            );
        }
        // The pipe must stay open, or the server's next line of log would end it.
        process.stdout = Some(log.into_inner());
        let stream = BufReader::new(TcpStream::connect(("127.0.0.1", port)).expect("connect"));
        Some(RedisServer {
            process,
            stream,
            _directory: directory,
        })
    }

    fn ask(&mut self, request: &[Vec<u8>]) -> Vec<u8> {
        let mut bytes = format!("*{}\r\n", request.len()).into_bytes();
        for argument in request {
            bytes.extend(format!("${}\r\n", argument.len()).into_bytes());
            bytes.extend(argument);
            bytes.extend(b"\r\n");
        }
        self.send(&bytes)
    }

    fn send(&mut self, bytes: &[u8]) -> Vec<u8> {
        self.stream.get_mut().write_all(bytes).expect("write");
        let mut reply = Vec::new();
        self.read_value(&mut reply);
        reply
    }

    fn read_value(&mut self, reply: &mut Vec<u8>) {
        let start = reply.len();
        self.stream.read_until(b'\n', reply).expect("read");
        let line = String::from_utf8_lossy(&reply[start..])
            .trim_end()
            .to_owned();
        let count = || line[1..].parse::<i64>().expect("a length");
        match line.as_bytes().first() {
            Some(b'$') if count() >= 0 => {
                let end = reply.len();
                reply.resize(end + usize::try_from(count()).expect("positive") + 2, 0);
                self.stream.read_exact(&mut reply[end..]).expect("read");
            }
            Some(b'*' | b'>' | b'~') => (0..count()).for_each(|_| self.read_value(reply)),
            Some(b'%') => (0..2 * count()).for_each(|_| self.read_value(reply)),
            Some(_) => {}
            None => panic!("redis-server closed the connection"),
        }
    }
}

impl Drop for RedisServer {
    fn drop(&mut self) {
        self.process
            .kill()
            .and_then(|()| self.process.wait())
            .expect("our own child");
    }
}

fn now() -> UnixTime {
    let since = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .expect("after 1970");
    UnixTime(u64::try_from(since.as_nanos()).expect("before 2554"))
}

fn ask(node: &mut Node, request: &[Vec<u8>]) -> Vec<u8> {
    let request: Vec<Bytes> = request
        .iter()
        .map(|argument| Bytes::copy_from_slice(argument))
        .collect();
    let effects = node.handle(now(), CLIENT, &request);
    let mut bytes = BytesMut::new();
    for (connection, reply) in effects.replies {
        reply.encode(node.protocol(connection), &mut bytes);
    }
    bytes.to_vec()
}

fn word(words: &'static [&'static str]) -> BoxedStrategy<String> {
    prop::sample::select(words).prop_map(str::to_owned).boxed()
}

const KEYS: &[&str] = &["a", "b", "c", "h"];
const NUMBERS: &[&str] = &[
    "1",
    "0",
    "-1",
    "5",
    "x",
    "",
    "01",
    "9223372036854775807",
    "-9223372036854775808",
    "100",
];
/// Long enough that nothing expires during the test, and the values that are wrong.
const TIMES: &[&str] = &[
    "100000",
    "200000",
    "0",
    "-5",
    "x",
    "9223372036854775807",
    "1.5",
    "-9223372036854775808",
];

/// A command as its parts: fixed words, and strategies where the text has `%` and a letter.
fn command(template: &'static str) -> BoxedStrategy<Vec<Vec<u8>>> {
    let parts: Vec<BoxedStrategy<String>> = template
        .split(' ')
        .map(|part| match part {
            "%k" => word(KEYS),
            "%n" => word(NUMBERS),
            "%t" => word(TIMES),
            "%v" => word(&["v", "1", "-7", "", "long value", "9223372036854775806"]),
            "%f" => word(&["f", "g"]),
            "%o" => word(&[
                "NX", "XX", "GET", "KEEPTTL", "EX", "PX", "100000", "0", "x", "nx", "PXAT", "EXAT",
            ]),
            "%c" => word(&["NX", "XX", "GT", "LT", "gt", "foo"]),
            fixed => Just(fixed.to_owned()).boxed(),
        })
        .collect();
    parts
        .prop_map(|parts| parts.into_iter().map(String::into_bytes).collect())
        .boxed()
}

const TEMPLATES: &[&str] = &[
    "SET %k %v",
    "SET %k %v %o",
    "SET %k %v %o %o",
    "SET %k %v %o %t",
    "SET %k %v %o %t %o",
    "SET %k %v PX %t %o %o",
    "SETNX %k %v",
    "SETEX %k %t %v",
    "PSETEX %k %t %v",
    "GETSET %k %v",
    "GETDEL %k",
    "GET %k",
    "MGET %k %k",
    "MSET %k %v %k %v",
    "MSET %k %v %k",
    "APPEND %k %v",
    "STRLEN %k",
    "INCR %k",
    "DECR %k",
    "INCRBY %k %n",
    "DECRBY %k %n",
    "DEL %k",
    "DEL %k %k",
    "UNLINK %k",
    "EXISTS %k %k",
    "TYPE %k",
    "PERSIST %k",
    "PTTL %k",
    "TTL %k",
    "EXPIRETIME %k",
    "PEXPIRETIME %k",
    "PEXPIRE %k %t",
    "PEXPIRE %k %t %c",
    "PEXPIRE %k %t %c %c",
    "EXPIRE %k %t",
    "EXPIRE %k %t %c",
    "EXPIREAT %k %t",
    "PEXPIREAT %k %t",
    "DBSIZE",
    "FLUSHALL",
    "FLUSHDB SYNC",
    "FLUSHALL foo",
    "HSET h %f %v",
    "HSET %k %f %v",
    "HSETNX %k %f %v",
    "HGET %k %f",
    "HDEL %k %f %f",
    "HLEN %k",
    "HEXISTS %k %f",
    "HINCRBY %k %f %n",
    "MULTI",
    "EXEC",
    "DISCARD",
    "WATCH %k",
    "UNWATCH",
    "PING",
    "PING %v",
    "ECHO %v",
    "PING a b",
    "SELECT 0",
    "SELECT x",
    "SELECT 99",
    "NOPE %k %v",
    "nope",
    "GET",
    "GET a b",
    "SET a",
    "CLIENT GETNAME",
    "CLIENT SETNAME %v",
    "CLIENT foo",
    "CLIENT",
    "SCRIPT foo",
    "SCRIPT LOAD",
    "SCRIPT EXISTS %v",
    "HELLO 4",
    "HELLO x",
    "HELLO 2 foo",
    "AUTH a",
    "AUTH a b",
    "AUTH default b",
    "AUTH a b c",
    "RESET",
    "EXEC a",
    "TIME a",
    "EVALSHA abc 0",
    "EVALSHA abc x",
    "EVALSHA e0e1f9fabfc9d4800c877a703b823ac0578ff8db 1",
    "SCRIPT FLUSH bad",
    "EVAL return,1 %n",
    "EVAL return,KEYS[1] 1 %k",
    "EVAL return,ARGV 0 %v %n",
    "EVAL return,redis.call('get',KEYS[1]) 1 %k",
    "EVAL return,redis.call('incr',KEYS[1]) 1 %k",
    "EVAL return,redis.pcall('incrby',KEYS[1],ARGV[1]) 1 %k %n",
    "EVAL return,redis.call('set',KEYS[1],ARGV[1],ARGV[2],ARGV[3]) 1 %k %v %o %t",
    "EVAL redis.call('set',KEYS[1],1),return,redis.call('nope') 1 %k",
    "EVAL if,redis.call('get',KEYS[1])==ARGV[1],then,return,redis.call('del',KEYS[1]),else,return,0,end 1 %k %v",
    "EVAL if,redis.call('get',KEYS[1])==ARGV[1],then,return,redis.call('pexpire',KEYS[1],ARGV[2]),else,return,0,end 1 %k %v %t",
    "EVAL return,{1,2.7,'x',false,true,{ok='y'},{err='E,z'}} 0",
    "EVAL syntax,error,here 0",
    "EVAL return,nope 0",
];

/// Replies that depend on the two clocks being read at slightly different times.
fn is_a_time(request: &[Vec<u8>]) -> bool {
    matches!(
        request[0].to_ascii_uppercase().as_slice(),
        b"PTTL" | b"TTL" | b"PEXPIRETIME" | b"EXPIRETIME"
    )
}

fn integer(reply: &[u8]) -> Option<i64> {
    std::str::from_utf8(reply)
        .ok()?
        .strip_prefix(':')?
        .trim_end()
        .parse()
        .ok()
}

#[test]
fn random_commands_have_the_same_replies() {
    let Some(mut redis) = RedisServer::start() else {
        return;
    };
    let mut node = Node::boot(Config::default(), Disk::default(), Lua::new(), now());
    let commands = prop::sample::select(TEMPLATES).prop_flat_map(command);
    let sequence = prop::collection::vec(commands, 1..40);
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &[7; 32]);
    let mut runner = TestRunner::new_with_rng(RunnerConfig::default(), rng);
    for number in 0..2_000 {
        let requests = sequence
            .new_tree(&mut runner)
            .expect("no filters")
            .current();
        for setup in [b"RESET".to_vec(), b"FLUSHALL".to_vec()] {
            redis.ask(std::slice::from_ref(&setup));
            ask(&mut node, &[setup]);
        }
        let mut shown = Vec::new();
        let mut in_transaction_with_times = false;
        for mut request in requests {
            // Scripts are written with commas for blanks, so that templates split at blanks.
            if request[0].eq_ignore_ascii_case(b"EVAL") {
                request[1] = request[1]
                    .split(|byte| *byte == b',')
                    .collect::<Vec<_>>()
                    .join(&b' ');
            }
            shown.push(request.join(&b' ').escape_ascii().to_string());
            in_transaction_with_times |= is_a_time(&request);
            let (theirs, ours) = (redis.ask(&request), ask(&mut node, &request));
            let context = || {
                format!(
                    "sequence {number}: {shown:#?}\nredis: {}\nours:  {}",
                    theirs.escape_ascii(),
                    ours.escape_ascii()
                )
            };
            if is_a_time(&request)
                && let (Some(theirs), Some(ours)) = (integer(&theirs), integer(&ours))
            {
                assert!(
                    (theirs - ours).abs() <= 1000 && (theirs < 0) == (ours < 0),
                    "{}",
                    context()
                );
            } else if request[0].eq_ignore_ascii_case(b"EXEC") && in_transaction_with_times {
                assert_eq!(theirs.first(), ours.first(), "{}", context());
            } else {
                assert_eq!(theirs, ours, "{}", context());
            }
        }
    }
}

/// Bytes that are no request: the same text, then the connection is closed.
#[test]
fn protocol_errors_have_the_same_text() {
    let broken: [&[u8]; 9] = [
        b"*x\r\n",
        b"*99999999999999999999\r\n",
        b"*1\r\n:1\r\n",
        b"*1\r\n*1\r\n",
        b"*1\r\n$-1\r\n",
        b"*1\r\n$99999999999999\r\n",
        b"get \"k\r\n",
        b"get \"k\"x\r\n",
        b"*1\r\n\r\n",
    ];
    for bytes in broken {
        let Some(mut redis) = RedisServer::start() else {
            return;
        };
        let mut decoder = redis_node::request::Decoder::new(redis_node::request::Limits::default());
        decoder.feed(bytes);
        let ours = decoder.next().map(|request| format!("{request:?}"));
        let theirs = String::from_utf8_lossy(&redis.send(bytes))
            .trim_end()
            .to_owned();
        let ours = format!("-{}", ours.expect_err("these bytes are no request"));
        assert_eq!(ours, theirs, "{}", bytes.escape_ascii());
    }
}

#[test]
fn resp3_and_inline_commands_look_the_same() {
    let Some(mut redis) = RedisServer::start() else {
        return;
    };
    let mut node = Node::boot(Config::default(), Disk::default(), Lua::new(), now());
    let script = |text: &str| vec![b"EVAL".to_vec(), text.as_bytes().to_vec(), b"0".to_vec()];
    let words = |text: &str| -> Vec<Vec<u8>> {
        text.split(' ')
            .map(|word| word.as_bytes().to_vec())
            .collect()
    };
    redis.ask(&words("HELLO 3"));
    ask(&mut node, &words("HELLO 3"));
    for request in [
        words("GET none"),
        words("MGET none none"),
        words("SET k v"),
        words("SET k v GET"),
        words("HSET h f v"),
        words("HGETALL h"),
        words("HGETALL none"),
        words("WATCH k"),
        words("SET k w"),
        words("MULTI"),
        words("EXEC"),
        words("MULTI"),
        words("GET k"),
        words("GET none"),
        words("EXEC"),
        words("NOPE"),
        script("return true"),
        script("return false"),
        script("return {true, false, 1}"),
        script("redis.setresp(3) return true"),
        script("redis.setresp(3) return redis.call('get','none') == nil"),
        script("return redis.call('hgetall','h')"),
        script("redis.setresp(3) return redis.call('hgetall','h').map.f"),
        script("redis.setresp(3) return redis.call('hgetall','h')"),
        script("return {map={k='v'}}"),
        script("return {double=1.5}"),
        script("return redis.call('hgetall','none')"),
    ] {
        let (theirs, ours) = (redis.ask(&request), ask(&mut node, &request));
        assert_eq!(
            theirs.escape_ascii().to_string(),
            ours.escape_ascii().to_string(),
            "{:?}",
            request.join(&b' ').escape_ascii().to_string()
        );
    }
    redis.ask(&words("HELLO 2"));
    ask(&mut node, &words("HELLO 2"));
    for request in [
        script("return {map={k='v'}}"),
        script("return {double=0.1}"),
    ] {
        assert_eq!(
            redis.ask(&request).escape_ascii().to_string(),
            ask(&mut node, &request).escape_ascii().to_string()
        );
    }
    let theirs = redis.send(b"set k \"a\\x41 b\"\r\n");
    assert_eq!(theirs.escape_ascii().to_string(), "+OK\\r\\n");
    assert_eq!(redis.ask(&words("GET k")), b"$4\r\naA b\r\n");
}
