//! Feeds arbitrary bytes and commands to decoder and node: `cargo run --release -p redis-node --example fuzz -- --seconds 600`.
//!
//! Each round is a node with a memory limit, a few connections and a clock that jumps; its seed is printed if the
//! round fails, and `--seed N` runs that round alone. A round fails by a panic, by a request that is never answered,
//! by more memory than the limit allows, or by taking longer than a script may.
#![expect(
    clippy::disallowed_types,
    clippy::disallowed_methods,
    clippy::print_stdout,
    reason = "it measures the machine's time and memory"
)]

use std::time::{Duration, Instant};

use bytes::{Bytes, BytesMut};
use redis_node::request::{Decoder, Limits};
use redis_node::{
    Config, ConnectionId, Disk, DiskTimes, Effects, Eviction, Fsync, Lua, Node, Persistence, Stop,
    UnixTime,
};

/// What keys, values and scripts may take in a round.
const MAXMEMORY: u64 = 4 << 20;
/// What the process may take beyond what it had after the first rounds: the limit, a log, scripts' own states.
const MOST_RESIDENT: usize = 512 << 20;
/// A script that does not end takes up to seconds, on a busy machine.
const SLOWEST: Duration = Duration::from_secs(60);

const NAMES: &str = "SET GET DEL SETNX SETEX PSETEX GETSET GETDEL GETEX MGET MSET APPEND STRLEN INCR DECR INCRBY DECRBY \
    EXPIRE PEXPIRE EXPIREAT PEXPIREAT TTL PTTL EXPIRETIME PERSIST TYPE EXISTS UNLINK DBSIZE FLUSHALL KEYS SCAN \
    HSET HSETNX HGET HMGET HDEL HEXISTS HINCRBY HLEN HGETALL MULTI EXEC DISCARD WATCH UNWATCH EVAL EVALSHA SCRIPT \
    SUBSCRIBE UNSUBSCRIBE PSUBSCRIBE PUNSUBSCRIBE PUBLISH PUBSUB INFO CONFIG CLIENT COMMAND DEBUG HELLO AUTH RESET \
    QUIT PING ECHO SELECT TIME WAIT ROLE SAVE BGSAVE BGREWRITEAOF LASTSAVE REPLICAOF SHUTDOWN";
const WORDS: &str = "a b c h f 0 1 -1 2 3 10 100 9223372036854775807 -9223372036854775808 1.5 NX XX GT LT GET EX PX \
    EXAT PXAT KEEPTTL PERSIST MATCH COUNT TYPE string hash LOAD EXISTS FLUSH KILL LIST ID ADDR SKIPME no yes SETNAME \
    CHANNELS NUMSUB NUMPAT maxmemory-policy allkeys-lru volatile-ttl noeviction allkeys-random SET SLEEP \
    SET-ACTIVE-EXPIRE everything * [a* ? appendfsync always everysec save repl-backlog-size min-replicas-to-write \
    NO ONE NOSAVE ABORT";
const SCRIPTS: [&str; 12] = [
    "return redis.call(unpack(ARGV))",
    "return redis.pcall(unpack(ARGV))",
    "for i = 1, 50 do redis.pcall(unpack(ARGV)) end return KEYS",
    "return {ARGV, {1, {2}}, true, false, 1.5}",
    "while true do redis.pcall(unpack(ARGV)) end",
    "local s = ARGV[1] or 'x' while true do s = s .. s end",
    "local s = string.rep('x', 1000000) for i = 1, 1e9 do local t = s .. 'a' end",
    "local t = {} for i = 1, 1e9 do t[i] = {i} end",
    "return string.rep(ARGV[1] or 'x', 1000)",
    "return string.find(string.rep('a', 1000), ARGV[1] or '.-b')",
    "#!lua flags=no-writes\nreturn redis.call(unpack(ARGV))",
    "redis.call('publish', 'a', 'x') return redis.call('set', 'a', string.rep('y', 10000))",
];

/// SplitMix64.
struct Dice(u64);

impl Dice {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, bound: usize) -> usize {
        usize::try_from(self.next() % u64::try_from(bound.max(1)).unwrap_or(1)).unwrap_or(0)
    }

    fn one_in(&mut self, bound: usize) -> bool {
        self.below(bound) == 0
    }

    fn bytes(&mut self, most: usize) -> Vec<u8> {
        (0..self.below(most))
            .map(|_| self.next().to_le_bytes()[0])
            .collect()
    }

    fn word(&mut self, words: &str) -> Vec<u8> {
        let count = words.split_whitespace().count();
        let chosen = self.below(count);
        words
            .split_whitespace()
            .nth(chosen)
            .unwrap_or_default()
            .into()
    }

    fn argument(&mut self) -> Vec<u8> {
        match self.below(12) {
            0 => self.bytes(20),
            1 => vec![b'x'; self.below(20_000)],
            _ => self.word(WORDS),
        }
    }

    fn request(&mut self) -> Vec<Vec<u8>> {
        let name = if self.one_in(30) {
            self.argument()
        } else {
            self.word(NAMES)
        };
        let mut request = vec![name.clone()];
        if name == b"EVAL" {
            // Scripts that do not end are slow to try.
            let scripts = if self.one_in(20) { SCRIPTS.len() } else { 4 };
            request.push(SCRIPTS[self.below(scripts)].into());
            request.push(b"0".to_vec());
            request.push(self.word(NAMES));
        }
        request.extend((0..self.below(7)).map(|_| self.argument()));
        request
    }

    /// The request on the wire: mostly as it should be, sometimes inline, sometimes damaged, sometimes nonsense.
    fn wire(&mut self, request: &[Vec<u8>]) -> Vec<u8> {
        let mut bytes = format!("*{}\r\n", request.len()).into_bytes();
        for argument in request {
            bytes.extend(format!("${}\r\n", argument.len()).into_bytes());
            bytes.extend(argument);
            bytes.extend(b"\r\n");
        }
        match self.below(40) {
            0 => self.bytes(200),
            1 => {
                let at = self.below(bytes.len());
                bytes[at] = self.next().to_le_bytes()[0];
                bytes
            }
            2 => [request.join(&b' '), b"\r\n".to_vec()].concat(),
            _ => bytes,
        }
    }
}

/// What a round came to.
#[derive(Default)]
struct Count {
    requests: u64,
    replies: u64,
    protocol_errors: u64,
}

fn config(dice: &mut Dice) -> Config {
    let persistence = match dice.below(6) {
        0 => Persistence::None,
        1 => Persistence::Rdb,
        2 => Persistence::Aof { fsync: Fsync::No },
        3 => Persistence::Aof {
            fsync: Fsync::EverySec,
        },
        _ => Persistence::Aof {
            fsync: Fsync::Always,
        },
    };
    let fsync_takes = Duration::from_millis(dice.next() % 100);
    let disk = DiskTimes {
        fsync_takes,
        save_takes: fsync_takes * 10,
        ..DiskTimes::default()
    };
    Config {
        persistence,
        disk,
        maxmemory_bytes: MAXMEMORY,
        eviction: Eviction::ALL[dice.below(Eviction::ALL.len())],
        debug_command: true,
        ..Config::default()
    }
}

fn round(seed: u64, lua: &Lua, count: &mut Count) {
    const CONNECTIONS: usize = 4;
    let mut dice = Dice(seed);
    let mut now = UnixTime::from_millis(1_700_000_000_000);
    let config = config(&mut dice);
    let mut node = Node::boot(config.clone(), Disk::default(), lua.clone(), now);
    let mut decoders: Vec<Decoder> = (0..CONNECTIONS)
        .map(|_| Decoder::new(Limits::default()))
        .collect();
    let mut out = BytesMut::new();
    for _ in 0..200 {
        now = UnixTime(now.0.saturating_add(dice.next() % 20_000_000));
        if dice.one_in(50) {
            now = UnixTime(now.0 ^ (1 << dice.below(50)));
        }
        if dice.one_in(50) {
            node.stall_fsync(
                now,
                UnixTime(now.0.saturating_add(dice.next() % 5_000_000_000)),
            );
        }
        if dice.one_in(100) {
            node.set_disk_full(dice.one_in(2));
        }
        let client = dice.below(CONNECTIONS);
        let request = dice.request();
        let bytes = dice.wire(&request);
        decoders[client].feed(&bytes);
        let id = ConnectionId(u64::try_from(client).unwrap_or(0));
        let (mut closed, mut exit) = (false, None);
        loop {
            match decoders[client].next() {
                Ok(Some(request)) => {
                    let began = Instant::now();
                    let effects = execute(&mut node, now, id, &request, &mut out, count);
                    closed |= effects.close;
                    exit = exit.or(effects.exit);
                    assert!(
                        began.elapsed() < SLOWEST,
                        "{request:?} took {:?}",
                        began.elapsed()
                    );
                }
                Ok(None) => break,
                Err(_) => {
                    count.protocol_errors += 1;
                    closed = true;
                }
            }
            if closed {
                break;
            }
        }
        let gone = node.take_closed();
        for connection in gone.into_iter().chain(closed.then_some(id)) {
            node.disconnected(connection);
            decoders[usize::try_from(connection.0).unwrap_or(0)] = Decoder::new(Limits::default());
        }
        if let Some(deadline) = node
            .next_deadline()
            .filter(|deadline| *deadline <= now || dice.one_in(10))
        {
            now = now.max(deadline);
            exit = exit.or(node.tick(now).exit);
        }
        if let Some(how) = exit {
            node = Node::boot(config.clone(), node.stop(how, now), lua.clone(), now);
        }
    }
    // What was written can be read again.
    let disk = node.stop(Stop::PowerLoss, now);
    Node::boot(config, disk, lua.clone(), now);
}

fn execute(
    node: &mut Node,
    now: UnixTime,
    id: ConnectionId,
    request: &[Bytes],
    out: &mut BytesMut,
    count: &mut Count,
) -> Effects {
    let effects = node.handle(now, id, request);
    count.requests += 1;
    for (to, reply) in &effects.replies {
        reply.encode(node.protocol(*to), out);
        count.replies += 1;
    }
    assert!(effects.replies.is_empty() || out.ends_with(b"\r\n"));
    out.clear();
    effects
}

/// What the process holds, by the kernel; 0 where it does not say.
fn resident() -> usize {
    const PAGE: usize = 4096;
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    statm
        .split(' ')
        .nth(1)
        .and_then(|pages| pages.parse::<usize>().ok())
        .unwrap_or(0)
        * PAGE
}

fn option(name: &str) -> Option<u64> {
    let mut arguments = std::env::args().skip_while(|argument| argument != name);
    arguments.nth(1)?.parse().ok()
}

fn main() {
    let lua = Lua::new();
    let mut count = Count::default();
    if let Some(seed) = option("--seed") {
        return round(seed, &lua, &mut count);
    }
    let (began, length) = (
        Instant::now(),
        Duration::from_secs(option("--seconds").unwrap_or(10)),
    );
    let (mut rounds, mut most, mut base) = (0u64, 0, 0);
    while began.elapsed() < length {
        let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            round(rounds, &lua, &mut count)
        }));
        assert!(
            result.is_ok(),
            "round {rounds}: run it again with --seed {rounds}"
        );
        rounds += 1;
        let now = resident();
        if rounds == 20 {
            base = now;
        }
        most = most.max(now);
        assert!(
            rounds < 20 || now < base + MOST_RESIDENT,
            "round {rounds}: {now} bytes resident"
        );
        if rounds.is_multiple_of(1000) {
            println!(
                "{rounds} rounds, {} requests, {} MiB resident",
                count.requests,
                now >> 20
            );
        }
    }
    println!(
        "{rounds} rounds in {:?}: {} requests, {} replies and pushes, {} protocol errors, at most {} MiB resident",
        began.elapsed(),
        count.requests,
        count.replies,
        count.protocol_errors,
        most >> 20
    );
}
