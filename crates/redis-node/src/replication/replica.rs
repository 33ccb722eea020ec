//! The replica's end: reaching the primary, the greeting, the copy, and the stream after it.

use bytes::{Bytes, BytesMut};

use super::{LinkEffect, LinkId, Replication, wire};
use crate::UnixTime;
use crate::command::strict_integer;
use crate::config::Address;
use crate::request::{Decoder, Limits};
use std::time::Duration;

/// How often a replica tries to reach its primary, and says how far it is.
const PERIOD: Duration = Duration::from_secs(1);

/// The primary that is followed, and how far the link to it is.
#[derive(Debug)]
pub(crate) struct Upstream {
    pub(super) address: Address,
    stage: Stage,
    link: Option<LinkId>,
    /// What has arrived and is not understood yet, before the stream begins.
    input: BytesMut,
    decoder: Decoder,
    /// A transaction whose end has not arrived; it does not count until then.
    transaction: Option<Transaction>,
    pub(super) heard: UnixTime,
    last_ack: UnixTime,
    /// Since when the stream is interrupted.
    pub(super) down_since: UnixTime,
}

#[derive(Debug, Default)]
struct Transaction {
    commands: Vec<Vec<Bytes>>,
    bytes: BytesMut,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Stage {
    /// There is no link; one is asked for then.
    Down {
        retry: UnixTime,
    },
    Connecting,
    /// An answer to PING is awaited.
    Ping,
    /// So many answers to REPLCONF are.
    Options {
        left: u8,
    },
    /// An answer to PSYNC is.
    Sync,
    /// The length of the copy, or the copy.
    Copy {
        id: String,
        offset: u64,
        length: Option<usize>,
    },
    Connected,
}

/// What has arrived from the primary and is to be done to the keys.
#[derive(Debug)]
pub(crate) enum Arrived {
    /// Replace all keys by what these commands lead to.
    Copy {
        commands: Vec<Vec<Bytes>>,
        id: String,
        offset: u64,
    },
    /// Carry out as one unit; these are its bytes on the link.
    Unit {
        commands: Vec<Vec<Bytes>>,
        bytes: Bytes,
    },
}

/// The link makes no sense any more and is closed.
struct Broken;

type Step<T> = Result<T, Broken>;

/// What a transaction may hold before its end has arrived.
const LARGEST_TRANSACTION: usize = 64 << 20;

impl Upstream {
    pub(super) fn new(address: Address, now: UnixTime) -> Upstream {
        Upstream {
            address,
            stage: Stage::Down { retry: now },
            link: None,
            input: BytesMut::new(),
            decoder: Decoder::new(Limits::default()),
            transaction: None,
            heard: now,
            last_ack: now,
            down_since: now,
        }
    }

    pub(super) fn is_connected(&self) -> bool {
        self.stage == Stage::Connected
    }

    pub(super) fn is_copying(&self) -> bool {
        matches!(self.stage, Stage::Copy { .. })
    }

    /// What `ROLE` says.
    pub(super) fn state(&self) -> &'static str {
        match self.stage {
            Stage::Down { .. } => "connect",
            Stage::Connecting => "connecting",
            Stage::Ping | Stage::Options { .. } | Stage::Sync => "handshake",
            Stage::Copy { .. } => "sync",
            Stage::Connected => "connected",
        }
    }

    pub(super) fn deadline(&self, timeout: Duration) -> UnixTime {
        let silent = self.heard.after(timeout);
        match self.stage {
            Stage::Down { retry } => retry,
            Stage::Connected => silent.min(self.last_ack.after(PERIOD)),
            _ => silent,
        }
    }

    fn go_down(&mut self, now: UnixTime) {
        if self.is_connected() {
            self.down_since = now;
        }
        *self = Upstream {
            stage: Stage::Down {
                retry: now.after(PERIOD),
            },
            down_since: self.down_since,
            heard: self.heard,
            ..Upstream::new(std::mem::take(&mut self.address), now)
        };
    }
}

/// Whom to follow.
impl Replication {
    pub(crate) fn primary(&self) -> Option<&Address> {
        self.upstream.as_ref().map(|upstream| &upstream.address)
    }

    /// Whether this replica hears its primary.
    pub(crate) fn is_connected(&self) -> bool {
        self.upstream.as_ref().is_some_and(Upstream::is_connected)
    }

    /// `REPLICAOF host port`. A node that had a history of its own tries to go on with it at the new primary.
    pub(crate) fn follow(&mut self, address: Address, now: UnixTime) {
        self.leave();
        if self.backlog.is_none() {
            self.new_backlog();
        }
        self.upstream = Some(Upstream::new(address, now));
        self.reach(now);
    }

    /// `REPLICAOF NO ONE`: from here on the history is this node's own.
    pub(crate) fn promote(&mut self, now: UnixTime) {
        self.leave();
        self.upstream = None;
        self.history.branch();
        // Those who follow this node come back and are told the new name.
        self.drop_followers();
        self.last_ping = now;
    }

    fn leave(&mut self) {
        if let Some(link) = self
            .upstream
            .as_mut()
            .and_then(|upstream| upstream.link.take())
        {
            self.close(link);
        }
    }

    /// Asks for a link to the primary.
    fn reach(&mut self, now: UnixTime) {
        self.links += 1;
        let link = LinkId::Outgoing(self.links);
        let Some(upstream) = &mut self.upstream else {
            return;
        };
        upstream.link = Some(link);
        upstream.stage = Stage::Connecting;
        upstream.heard = now;
        self.outbox.push(LinkEffect::Connect {
            link,
            peer: upstream.address.clone(),
        });
    }

    /// The primary's name for the link, if it is the link to the primary.
    fn upstream_of(&mut self, link: LinkId) -> Option<&mut Upstream> {
        self.upstream
            .as_mut()
            .filter(|upstream| upstream.link == Some(link))
    }

    pub(crate) fn reached(&mut self, link: LinkId, now: UnixTime) {
        let Some(upstream) = self
            .upstream_of(link)
            .filter(|upstream| upstream.stage == Stage::Connecting)
        else {
            return self.close(link);
        };
        upstream.stage = Stage::Ping;
        upstream.heard = now;
        self.send(link, wire::words(&["PING"]));
    }

    pub(crate) fn lose_upstream(&mut self, link: LinkId, now: UnixTime) {
        if let Some(upstream) = self.upstream_of(link) {
            upstream.go_down(now);
        }
    }

    fn break_off(&mut self, now: UnixTime) {
        self.leave();
        if let Some(upstream) = &mut self.upstream {
            upstream.go_down(now);
        }
    }

    /// Reaches for the primary, gives a silent link up, says how far this replica is.
    pub(crate) fn tick_upstream(&mut self, now: UnixTime) {
        let timeout = self.config.timeout;
        let Some(upstream) = &mut self.upstream else {
            return;
        };
        match upstream.stage {
            Stage::Down { retry } if retry <= now => self.reach(now),
            Stage::Down { .. } => {}
            _ if upstream.heard.after(timeout) <= now => self.break_off(now),
            Stage::Connected if upstream.last_ack.after(PERIOD) <= now => self.acknowledge(now),
            _ => {}
        }
    }

    /// Tells the primary how far this replica is.
    pub(crate) fn acknowledge(&mut self, now: UnixTime) {
        let offset = self.history.offset.to_string();
        let Some(upstream) = &mut self.upstream else {
            return;
        };
        upstream.last_ack = now;
        if let Some(link) = upstream.link {
            self.send(link, wire::words(&["REPLCONF", "ACK", &offset]));
        }
    }
}

/// What arrives from the primary.
impl Replication {
    /// Takes bytes in; [`Replication::next_arrived`] says what they mean.
    pub(crate) fn feed_upstream(&mut self, link: LinkId, bytes: &[u8], now: UnixTime) {
        let Some(upstream) = self.upstream_of(link) else {
            return;
        };
        upstream.heard = now;
        if upstream.is_connected() {
            upstream.decoder.feed(bytes);
        } else {
            upstream.input.extend_from_slice(bytes);
        }
    }

    /// The next change to the keys. What makes no sense ends the link, which is tried anew later.
    pub(crate) fn next_arrived(&mut self, link: LinkId, now: UnixTime) -> Option<Arrived> {
        loop {
            let stage = self.upstream_of(link)?.stage.clone();
            let step = match stage {
                Stage::Connected => self.next_in_stream(now),
                Stage::Copy { id, offset, length } => self.next_in_copy(&id, offset, length),
                Stage::Down { .. } | Stage::Connecting => return None,
                stage => self.next_in_greeting(link, &stage, now),
            };
            match step {
                Ok(Progress::Arrived(arrived)) => return Some(arrived),
                Ok(Progress::More) => {}
                Ok(Progress::Incomplete) => return None,
                Err(Broken) => {
                    self.break_off(now);
                    return None;
                }
            }
        }
    }

    fn next_in_greeting(&mut self, link: LinkId, stage: &Stage, now: UnixTime) -> Step<Progress> {
        let upstream = self.upstream.as_mut().ok_or(Broken)?;
        let Some(line) = wire::take_line(&mut upstream.input).map_err(|()| Broken)? else {
            return Ok(Progress::Incomplete);
        };
        match *stage {
            Stage::Ping if line.starts_with(b"+") => {
                upstream.stage = Stage::Options { left: 2 };
                let port = self.config.port.to_string();
                self.send(link, wire::words(&["REPLCONF", "listening-port", &port]));
                self.send(
                    link,
                    wire::words(&["REPLCONF", "capa", "eof", "capa", "psync2"]),
                );
            }
            Stage::Options { left: 1 } => {
                upstream.stage = Stage::Sync;
                let next = (self.history.offset + 1).to_string();
                let request = wire::words(&["PSYNC", &self.history.id, &next]);
                self.send(link, request);
            }
            // What it does not know it need not obey.
            Stage::Options { left } => upstream.stage = Stage::Options { left: left - 1 },
            Stage::Sync => return self.synchronized(&line, now),
            _ => return Err(Broken),
        }
        Ok(Progress::More)
    }

    fn synchronized(&mut self, line: &[u8], now: UnixTime) -> Step<Progress> {
        let words: Vec<&str> = std::str::from_utf8(line)
            .map_err(|_| Broken)?
            .split(' ')
            .collect();
        let upstream = self.upstream.as_mut().ok_or(Broken)?;
        match words[..] {
            // An empty line is a primary that is still busy.
            [""] => {}
            ["+FULLRESYNC", id, offset] if id.len() == 40 => {
                let offset =
                    strict_integer(offset.as_bytes()).and_then(|offset| u64::try_from(offset).ok());
                upstream.stage = Stage::Copy {
                    id: id.to_owned(),
                    offset: offset.ok_or(Broken)?,
                    length: None,
                };
            }
            ["+CONTINUE", id] if id.len() == 40 => {
                upstream.begin_stream();
                if id != self.history.id {
                    let former = std::mem::replace(&mut self.history.id, id.to_owned());
                    self.history.former = Some((former, self.history.offset + 1));
                    self.drop_followers();
                }
                self.acknowledge(now);
            }
            _ => return Err(Broken),
        }
        Ok(Progress::More)
    }

    fn next_in_copy(&mut self, id: &str, offset: u64, length: Option<usize>) -> Step<Progress> {
        let upstream = self.upstream.as_mut().ok_or(Broken)?;
        let Some(length) = length else {
            let Some(line) = wire::take_line(&mut upstream.input).map_err(|()| Broken)? else {
                return Ok(Progress::Incomplete);
            };
            if !line.is_empty() {
                let length = line.strip_prefix(b"$").and_then(strict_integer);
                let length = length
                    .and_then(|length| usize::try_from(length).ok())
                    .ok_or(Broken)?;
                upstream.stage = Stage::Copy {
                    id: id.to_owned(),
                    offset,
                    length: Some(length),
                };
            }
            return Ok(Progress::More);
        };
        if upstream.input.len() < length {
            return Ok(Progress::Incomplete);
        }
        let copy = upstream.input.split_to(length);
        upstream.begin_stream();
        let commands = decode_all(&copy)?;
        Ok(Progress::Arrived(Arrived::Copy {
            commands,
            id: id.to_owned(),
            offset,
        }))
    }

    /// The keys are the primary's now, and so is the history.
    pub(crate) fn copied(&mut self, id: String, offset: u64, now: UnixTime) {
        self.history.id = id;
        self.history.offset = offset;
        self.history.former = None;
        self.new_backlog();
        // They followed a history that has ended.
        self.drop_followers();
        self.acknowledge(now);
    }

    fn next_in_stream(&mut self, now: UnixTime) -> Step<Progress> {
        let upstream = self.upstream.as_mut().ok_or(Broken)?;
        let Some(request) = upstream.decoder.next().map_err(|_| Broken)? else {
            return Ok(Progress::Incomplete);
        };
        let bytes = wire::encoded(&request);
        let name = request[0].to_ascii_lowercase();
        if let Some(transaction) = &mut upstream.transaction {
            transaction.bytes.extend_from_slice(&bytes);
            if name != b"exec" {
                transaction.commands.push(request);
                return if transaction.bytes.len() > LARGEST_TRANSACTION {
                    Err(Broken)
                } else {
                    Ok(Progress::More)
                };
            }
            let Transaction { commands, bytes } = upstream.transaction.take().unwrap_or_default();
            return Ok(Progress::Arrived(Arrived::Unit {
                commands,
                bytes: bytes.freeze(),
            }));
        }
        match name.as_slice() {
            b"multi" => {
                upstream.transaction = Some(Transaction {
                    commands: Vec::new(),
                    bytes: BytesMut::from(bytes.as_ref()),
                });
                Ok(Progress::More)
            }
            b"replconf" => {
                // It asks how far this replica is, and counts its question only afterwards.
                self.acknowledge(now);
                self.feed_bytes(bytes);
                Ok(Progress::More)
            }
            b"ping" => {
                self.feed_bytes(bytes);
                Ok(Progress::More)
            }
            _ => Ok(Progress::Arrived(Arrived::Unit {
                commands: vec![request],
                bytes,
            })),
        }
    }

    /// A unit of the primary has been carried out.
    pub(crate) fn applied(&mut self, bytes: Bytes) {
        self.feed_bytes(bytes);
    }
}

enum Progress {
    Arrived(Arrived),
    More,
    Incomplete,
}

impl Upstream {
    /// From here on there are commands; some may have arrived already.
    fn begin_stream(&mut self) {
        self.stage = Stage::Connected;
        self.decoder = Decoder::new(Limits::default());
        self.transaction = None;
        let rest = std::mem::take(&mut self.input);
        self.decoder.feed(&rest);
    }
}

fn decode_all(copy: &[u8]) -> Step<Vec<Vec<Bytes>>> {
    let mut decoder = Decoder::new(Limits::default());
    decoder.feed(copy);
    let mut commands = Vec::new();
    while let Some(command) = decoder.next().map_err(|_| Broken)? {
        commands.push(command);
    }
    Ok(commands)
}
