//! A connection to either of the two that are compared, and the node behind a port of its own.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::time::{SystemTime, UNIX_EPOCH};

use redis_node::server::{Hub, serve};
use redis_node::{Config, Disk, Lua, Node, UnixTime};
use tokio::task::LocalSet;

fn now() -> UnixTime {
    let since = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .expect("after 1970");
    UnixTime(u64::try_from(since.as_nanos()).expect("before 2554"))
}

/// The node on a thread of its own, for as long as the process lives. Answers its port.
///
/// Nothing expires by itself during the tests, so nobody calls for its deadlines.
pub(super) fn serve_node() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    listener.set_nonblocking(true).expect("as tokio needs it");
    let port = listener.local_addr().expect("bound").port();
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .expect("a runtime");
        LocalSet::new().block_on(&runtime, async {
            let config = Config {
                debug_command: true,
                ..Config::default()
            };
            let hub = Hub::new(Node::boot(config, Disk::default(), Lua::new(), now()), now);
            let listener = tokio::net::TcpListener::from_std(listener).expect("a listener");
            while let Ok((stream, _)) = listener.accept().await {
                tokio::task::spawn_local(serve(stream, hub.accept()));
            }
        });
    });
    port
}

/// A connection to one of the two.
pub(super) struct Peer(BufReader<TcpStream>);

impl Peer {
    pub(super) fn connect(port: u16) -> Peer {
        let stream = TcpStream::connect(("127.0.0.1", port)).expect("connect");
        stream.set_nodelay(true).expect("a TCP socket");
        Peer(BufReader::new(stream))
    }

    pub(super) fn send(&mut self, request: &[Vec<u8>]) {
        let mut bytes = format!("*{}\r\n", request.len()).into_bytes();
        for argument in request {
            bytes.extend(format!("${}\r\n", argument.len()).into_bytes());
            bytes.extend(argument);
            bytes.extend(b"\r\n");
        }
        self.send_bytes(&bytes);
    }

    pub(super) fn send_bytes(&mut self, bytes: &[u8]) {
        self.0.get_mut().write_all(bytes).expect("write");
    }

    /// One value, as bytes.
    pub(super) fn receive(&mut self) -> Vec<u8> {
        let mut reply = Vec::new();
        self.read_value(&mut reply);
        reply
    }

    pub(super) fn ask(&mut self, request: &[Vec<u8>]) -> Vec<u8> {
        self.send(request);
        self.receive()
    }

    /// What has come or is on its way, up to the answer to a PING of ours.
    pub(super) fn drain(&mut self) -> Vec<Vec<u8>> {
        const TOKEN: &[u8] = b"drained";
        self.send(&[b"PING".to_vec(), TOKEN.to_vec()]);
        let mut values = Vec::new();
        loop {
            let value = self.receive();
            if value.windows(TOKEN.len()).any(|part| part == TOKEN) {
                return values;
            }
            values.push(value);
        }
    }

    fn read_value(&mut self, reply: &mut Vec<u8>) {
        let start = reply.len();
        self.0.read_until(b'\n', reply).expect("read");
        let line = String::from_utf8_lossy(&reply[start..])
            .trim_end()
            .to_owned();
        let count = || line[1..].parse::<i64>().expect("a length");
        match line.as_bytes().first() {
            Some(b'$') if count() >= 0 => {
                let end = reply.len();
                reply.resize(end + usize::try_from(count()).expect("positive") + 2, 0);
                self.0.read_exact(&mut reply[end..]).expect("read");
            }
            Some(b'*' | b'>' | b'~') => (0..count()).for_each(|_| self.read_value(reply)),
            Some(b'%') => (0..2 * count()).for_each(|_| self.read_value(reply)),
            Some(_) => {}
            None => panic!("the connection was closed"),
        }
    }
}
