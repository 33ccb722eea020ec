//! Clients that mean no good: nothing that they send makes the node panic, hang or grow without bound.

use bytes::{Bytes, BytesMut};
use proptest::prelude::*;
use redis_node::request::{Decoder, Limits};
use redis_node::{Config, Disk, Fsync, Lua, Node, Persistence, Stop, UnixTime};

use crate::support::{Bench, CLIENT, START, text};

fn eval(script: &str) -> String {
    text(&Bench::new().ask(&["EVAL", script, "0"]))
}

const STOPPED: &str = "Script killed by user with SCRIPT KILL";

#[test]
fn a_script_that_does_not_end_is_stopped() {
    for script in [
        "while true do end",
        "while true do pcall(function() while true do end end) end",
        "while true do pcall(error) end",
        "local function f() pcall(f) while true do end end while true do pcall(f) end",
        "while true do xpcall(function() while true do end end, function() while true do end end) end",
        "while true do coroutine.wrap(function() while true do end end)() end",
        "while true do pcall(coroutine.wrap(function() while true do end end)) end",
        "while true do coroutine.resume(coroutine.create(function() while true do end end)) end",
        "local function f() coroutine.resume(coroutine.create(f)) while true do end end while true do f() end",
        "local function f() while true do pcall(coroutine.wrap(f)) end end while true do pcall(f) end",
        "local co = coroutine.wrap(function() while true do coroutine.yield() end end) while true do co() end",
        "while true do redis.pcall('nope') end",
        "while true do pcall(redis.call, 'nope') end",
        "string.gsub(string.rep('x', 100000), 'x', function() while true do end end)",
        "table.sort({3, 2, 1}, function() while true do end end)",
        "setmetatable({}, {__index = function(t, k) return t[k + 1] end})[1] = 1 while true do end",
        "local t = {} for i = 1, 1000000 do t[i] = i end while true do table.insert(t, 1, 0) end",
        "while true do tostring(setmetatable({}, {__tostring = function() while true do end end})) end",
        "for i = 1, 1e9 do local s = ('a'):rep(10000) if s:find('b', 1, true) then return 1 end end",
        "local s = string.rep('x', 5000000) for i = 1, 1e9 do local t = s .. 'a' end",
        "local s = string.rep('x', 100000) for i = 1, 1e9 do local t = s .. 'a' end",
        "local s = string.rep('x', 7000000) local t = s .. 'a' while true do local b = t < s end",
        "local s = string.rep('x', 5000000) for i = 1, 1e9 do local t = string.format('%s', s) end",
        "local s = string.rep('x', 2000000) local t = s .. s while true do local a, b = s .. s, s .. s end",
        "local s = string.rep('x', 5000000) for i = 1, 1e9 do redis.sha1hex(s) end",
        "local s = string.rep('x', 5000000) for i = 1, 1e9 do redis.pcall('get', s) end",
    ] {
        let reply = eval(script);
        assert!(reply.contains(STOPPED), "{script}: {reply}");
    }
}

#[test]
fn a_script_that_swallows_memory_is_stopped_and_the_node_goes_on() {
    let mut bench = Bench::new();
    for script in [
        "local s = 'x' while true do s = s .. s end",
        "return string.rep('x', 1e9)",
        "local t = {} while true do t[#t + 1] = string.rep('x', 1000) .. #t end",
        "local t = {} for i = 1, 1e9 do t[i] = {} end",
        "while true do pcall(function() local s = 'x' while true do s = s .. s end end) end",
        "local s = 'x' return select(2, xpcall(function() while true do s = s .. s end end, function(e) return e end))",
        "return coroutine.resume(coroutine.create(function() local s = 'x' while true do s = s .. s end end))",
    ] {
        let reply = text(&bench.ask(&["EVAL", script, "0"]));
        assert!(reply.contains(STOPPED), "{script}: {reply}");
        assert_eq!(text(&bench.ask(&["EVAL", "return 1", "0"])), ":1");
    }
}

/// The limits are for scripts that do not end, not for those that build a long list.
#[test]
fn twenty_thousand_short_strings_are_no_harm() {
    assert_eq!(
        eval("local t = {} for i = 1, 20000 do t[i] = 'key:' .. i end return #t"),
        ":20000"
    );
    let used = eval("local t = {} for i = 1, 2000000 do t[i] = 'key:' .. i end return #t");
    assert!(used.contains(STOPPED), "{used}");
}

#[test]
fn patterns_that_would_take_for_ever_are_refused() {
    for script in [
        "return string.find(string.rep('a', 1000), string.rep('.-', 20) .. 'b')",
        "return string.rep('a', 100000):match('.-.-.-b')",
        "return string.gsub(string.rep('a', 100000), '.-.-b', '')",
        "return string.find('a', string.rep('a?', 10000))",
    ] {
        assert!(eval(script).contains("pattern too complex"), "{script}");
    }
    assert_eq!(
        eval("return {string.match('10.0.0.1:6379', '^(%d+)%.(%d+)%.(%d+)%.(%d+):(%d+)$')}"),
        "[\"10\" \"0\" \"0\" \"1\" \"6379\"]"
    );
}

#[test]
fn tables_without_end_are_refused() {
    for script in [
        "local t = {} t[1] = t return t",
        "local t = {} for i = 1, 10000 do t = {t} end return t",
        "local t = {1} for i = 1, 40 do t = {t, t} end return t",
    ] {
        assert_eq!(eval(script), "-ERR reached lua stack limit", "{script}");
    }
}

#[test]
fn error_texts_cannot_forge_replies() {
    let reply = eval("return redis.error_reply('a\\r\\n+OK')");
    assert!(!reply.contains('\n') && !reply.contains('\r'), "{reply:?}");
    assert_eq!(eval("return {ok='a\\r\\n+OK'}"), "+a  +OK");
    assert_eq!(
        text(&Bench::new().ask(&["a\r\nb"])),
        "-ERR unknown command 'a  b', with args beginning with: "
    );
}

#[test]
fn a_transaction_cannot_grow_without_bound() {
    let mut bench = Bench::new();
    let large = "x".repeat(1 << 20);
    bench.ask(&["MULTI"]);
    let replies: Vec<_> = (0..100)
        .map(|_| text(&bench.ask(&["SET", "k", &large])))
        .collect();
    assert_eq!(replies[0], "+QUEUED");
    assert_eq!(replies[99], "-ERR transaction is too large");
    assert!(text(&bench.ask(&["EXEC"])).starts_with("-EXECABORT"));
}

const NAMES: &[&str] = &[
    "SET",
    "GET",
    "DEL",
    "PEXPIRE",
    "EXPIRE",
    "INCR",
    "INCRBY",
    "DECRBY",
    "APPEND",
    "MSET",
    "MGET",
    "HSET",
    "HDEL",
    "HINCRBY",
    "MULTI",
    "EXEC",
    "WATCH",
    "DISCARD",
    "EVAL",
    "EVALSHA",
    "SCRIPT",
    "HELLO",
    "CLIENT",
    "COMMAND",
    "SELECT",
    "AUTH",
    "RESET",
    "QUIT",
    "FLUSHALL",
    "TIME",
    "PERSIST",
    "GETDEL",
    "SETEX",
    "PSETEX",
    "PEXPIREAT",
    "EXPIREAT",
    "TTL",
    "GETEX",
    "HMGET",
    "KEYS",
    "SCAN",
    "SUBSCRIBE",
    "UNSUBSCRIBE",
    "PSUBSCRIBE",
    "PUNSUBSCRIBE",
    "PUBLISH",
    "PUBSUB",
    "INFO",
    "CONFIG",
    "DEBUG",
];
const WORDS: &[&str] = &[
    "k",
    "PX",
    "EX",
    "NX",
    "XX",
    "GET",
    "KEEPTTL",
    "PXAT",
    "GT",
    "LT",
    "0",
    "1",
    "-1",
    "3",
    "9223372036854775807",
    "-9223372036854775808",
    "LOAD",
    "EXISTS",
    "FLUSH",
    "return redis.call(unpack(ARGV))",
    "return {KEYS, ARGV}",
    "INFO",
    "DOCS",
    "COUNT",
    "SETNAME",
    "default",
    "",
    "LIST",
    "KILL",
    "ID",
    "maxmemory",
    "maxmemory-policy",
    "allkeys-lru",
    "volatile-ttl",
    "MATCH",
    "TYPE",
    "*",
    "[k*",
    "CHANNELS",
    "NUMSUB",
    "everything",
    "PERSIST",
    "SLEEP",
];

fn argument() -> impl Strategy<Value = Bytes> {
    prop_oneof![
        4 => prop::sample::select(WORDS).prop_map(Bytes::from),
        1 => prop::collection::vec(any::<u8>(), 0..12).prop_map(Bytes::from),
    ]
}

fn any_request() -> impl Strategy<Value = Vec<Bytes>> {
    let name = prop_oneof![9 => prop::sample::select(NAMES).prop_map(Bytes::from), 1 => argument()];
    (name, prop::collection::vec(argument(), 0..7))
        .prop_map(|(name, arguments)| std::iter::once(name).chain(arguments).collect())
}

proptest! {
    /// Whatever the arguments and the clock, there is a reply, and the log can be read again.
    #[test]
    fn any_request_at_any_time_is_answered(
        steps in prop::collection::vec((any_request(), any::<u64>(), any::<bool>()), 1..30),
    ) {
        let config = Config { persistence: Persistence::Aof { fsync: Fsync::Always }, ..Config::default() };
        let lua = Lua::new();
        let mut node = Node::boot(config.clone(), Disk::default(), lua.clone(), UnixTime(0));
        for (request, time, wild) in &steps {
            let now = if *wild { UnixTime(*time) } else { UnixTime::from_millis(START + time % 10) };
            let effects = node.handle(now, CLIENT, request);
            prop_assert!(!effects.replies.is_empty());
            let mut out = BytesMut::new();
            for (to, reply) in &effects.replies {
                prop_assert_eq!(*to, CLIENT);
                reply.encode(node.protocol(CLIENT), &mut out);
            }
            prop_assert!(out.ends_with(b"\r\n"));
            if let Some(deadline) = node.next_deadline() {
                node.tick(deadline);
            }
        }
        let now = UnixTime::from_millis(START);
        Node::boot(config, node.stop(Stop::PowerLoss, now), lua, now);
    }

    /// The whole way of the bytes: whatever they are, decoder and node survive them.
    #[test]
    fn any_bytes_are_survived(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        let mut bench = Bench::new();
        let mut decoder = Decoder::new(Limits::default());
        decoder.feed(&bytes);
        while let Ok(Some(request)) = decoder.next() {
            prop_assert!(!bench.node.handle(bench.now, CLIENT, &request).replies.is_empty());
        }
    }
}
