//! The primary's end: who follows, what they are sent, how far they say they are.

use bytes::{Bytes, BytesMut};

use super::{LinkId, Replication, wire};
use crate::UnixTime;
use crate::command::strict_integer;
use crate::config::Address;
use crate::disk;
use crate::keyspace::Keyspace;
use crate::request::{Decoder, Limits};

/// A node at the other end of an incoming link.
#[derive(Debug)]
pub(crate) struct Follower {
    /// Where it says that others find it; the port is zero until it has said so.
    pub(super) address: Address,
    decoder: Decoder,
    stage: Stage,
    acknowledged: u64,
    heard: UnixTime,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// It has not asked for the stream yet.
    Greeting,
    /// It was sent a full copy and has not said that it has it.
    Copying,
    Online,
}

/// A replica makes requests of a few words.
const LIMITS: Limits = Limits {
    arguments: 64,
    argument_bytes: 4 << 10,
    request_bytes: 64 << 10,
    line_bytes: 4 << 10,
};

impl Follower {
    pub(crate) fn is_fed(&self) -> bool {
        self.stage != Stage::Greeting
    }

    pub(super) fn has_acknowledged(&self, offset: u64) -> bool {
        self.stage == Stage::Online && self.acknowledged >= offset
    }

    pub(super) fn acknowledged(&self) -> u64 {
        self.acknowledged
    }

    pub(super) fn state(&self) -> &'static str {
        match self.stage {
            Stage::Greeting => "wait_bgsave",
            Stage::Copying => "send_bulk",
            Stage::Online => "online",
        }
    }

    /// Whole seconds since it was heard last, as the difference of two readings in whole seconds.
    pub(super) fn lag(&self, now: UnixTime) -> u64 {
        now.as_secs().saturating_sub(self.heard.as_secs())
    }
}

/// Whether a node may serve others now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Serves {
    Everything,
    /// It is still reading its disk.
    Loading,
    /// It is a replica that has no keys of its primary yet.
    NoPrimary,
}

impl Replication {
    pub(crate) fn accept(&mut self, link: LinkId, peer: &Address, now: UnixTime) {
        let follower = Follower {
            address: Address {
                host: peer.host.clone(),
                port: 0,
            },
            decoder: Decoder::new(LIMITS),
            stage: Stage::Greeting,
            acknowledged: 0,
            heard: now,
        };
        self.followers.insert(link, follower);
    }

    pub(crate) fn lose_follower(&mut self, link: LinkId) {
        self.followers.remove(&link);
    }

    pub(crate) fn feed_follower(&mut self, link: LinkId, bytes: &[u8]) {
        if let Some(follower) = self.followers.get_mut(&link) {
            follower.decoder.feed(bytes);
        }
    }

    /// The next request of a follower. What is no request ends the link.
    pub(crate) fn next_request(&mut self, link: LinkId) -> Option<Vec<Bytes>> {
        match self.followers.get_mut(&link)?.decoder.next() {
            Ok(request) => request,
            Err(_) => {
                self.drop_follower(link);
                None
            }
        }
    }

    fn drop_follower(&mut self, link: LinkId) {
        self.followers.remove(&link);
        self.close(link);
    }

    /// Carries out a request that came by a link.
    pub(crate) fn serve_follower(
        &mut self,
        link: LinkId,
        request: &[Bytes],
        keys: &Keyspace,
        serves: Serves,
        now: UnixTime,
    ) {
        let Some(follower) = self.followers.get_mut(&link) else {
            return;
        };
        let name = request[0].to_ascii_lowercase();
        match (name.as_slice(), &request[1..]) {
            (b"replconf", arguments) => {
                let answers = follower.configure(arguments, now);
                if let Some(answer) = answers {
                    self.send(link, answer);
                }
            }
            // A replica says no more than how far it is.
            _ if follower.is_fed() => self.drop_follower(link),
            (b"ping" | b"psync", _) if serves == Serves::Loading => {
                self.send(link, "-LOADING Redis is loading the dataset in memory\r\n");
            }
            (b"ping", []) => self.send(link, "+PONG\r\n"),
            (b"psync", [_, _]) if serves == Serves::NoPrimary => {
                self.send(
                    link,
                    "-NOMASTERLINK Can't SYNC while not connected with my master\r\n",
                );
            }
            (b"psync", [id, next]) => self.synchronize(link, id, next, keys, now),
            _ => self.send(link, "-ERR this is a link for replicas\r\n"),
        }
    }

    /// Goes on where the replica was, if it was on this history and the backlog reaches back so far.
    fn synchronize(
        &mut self,
        link: LinkId,
        id: &Bytes,
        next: &Bytes,
        keys: &Keyspace,
        now: UnixTime,
    ) {
        let next = strict_integer(next)
            .and_then(|next| u64::try_from(next).ok())
            .filter(|next| *next > 0);
        let missing = next.and_then(|next| {
            let id = std::str::from_utf8(id).ok()?;
            let covered = self.history.covers(id, next);
            self.backlog.as_ref().filter(|_| covered)?.after(next - 1)
        });
        match missing {
            Some(missing) => {
                let mut answer =
                    BytesMut::from(format!("+CONTINUE {}\r\n", self.history.id).as_bytes());
                answer.extend_from_slice(&missing);
                self.send(link, answer);
                self.admit(link, Stage::Online, now);
            }
            None => self.copy_to(link, keys, now),
        }
    }

    fn copy_to(&mut self, link: LinkId, keys: &Keyspace, now: UnixTime) {
        if self.backlog.is_none() {
            // What happened before was counted by nobody, so it is no history that anyone could go on with.
            self.history.id = self.history.new_name();
            self.history.former = None;
            self.new_backlog();
        }
        let mut copy = BytesMut::new();
        disk::commands(keys)
            .flatten()
            .for_each(|command| wire::encode(&command, &mut copy));
        let (id, offset) = (&self.history.id, self.history.offset);
        let mut answer =
            BytesMut::from(format!("+FULLRESYNC {id} {offset}\r\n${}\r\n", copy.len()).as_bytes());
        answer.extend_from_slice(&copy);
        self.send(link, answer);
        self.admit(link, Stage::Copying, now);
    }

    fn admit(&mut self, link: LinkId, stage: Stage, now: UnixTime) {
        if let Some(follower) = self.followers.get_mut(&link) {
            follower.stage = stage;
            follower.heard = now;
        }
    }

    /// Ends the links to all replicas: they come back and learn what has changed.
    pub(super) fn drop_followers(&mut self) {
        for link in std::mem::take(&mut self.followers).into_keys() {
            self.close(link);
        }
    }

    /// `min-replicas-to-write`: whether writes may be accepted.
    pub(crate) fn has_enough_replicas(&self, now: UnixTime) -> bool {
        let least = usize::try_from(self.config.min_replicas_to_write).unwrap_or(usize::MAX);
        let most = u64::from(self.config.min_replicas_max_lag);
        if least == 0 || most == 0 || self.is_replica() {
            return true;
        }
        let good =
            |follower: &&Follower| follower.stage == Stage::Online && follower.lag(now) <= most;
        self.followers.values().filter(good).count() >= least
    }

    pub(super) fn followers_deadline(&self) -> Option<UnixTime> {
        let silent = self
            .followers
            .values()
            .map(|follower| follower.heard.after(self.config.timeout))
            .min()?;
        // A replica passes its primary's pings on and sends none of its own.
        let ping = (!self.is_replica()).then(|| self.last_ping.after(self.config.ping_period));
        Some(ping.map_or(silent, |ping| ping.min(silent)))
    }

    /// Ends links on which nothing was heard for too long, and says that this primary is there.
    pub(crate) fn tick_followers(&mut self, now: UnixTime) {
        let timeout = self.config.timeout;
        let silent: Vec<LinkId> = self
            .followers
            .iter()
            .filter(|(_, follower)| follower.heard.after(timeout) <= now)
            .map(|(link, _)| *link)
            .collect();
        silent.into_iter().for_each(|link| self.drop_follower(link));
        if !self.is_replica()
            && !self.followers.is_empty()
            && self.last_ping.after(self.config.ping_period) <= now
        {
            self.last_ping = now;
            self.feed_bytes(wire::words(&["PING"]));
        }
    }
}

impl Follower {
    /// `REPLCONF`: what the replica tells of itself. An acknowledgement is not answered.
    fn configure(&mut self, arguments: &[Bytes], now: UnixTime) -> Option<Bytes> {
        if let [word, offset] = arguments
            && word.eq_ignore_ascii_case(b"ack")
        {
            let offset = strict_integer(offset).and_then(|offset| u64::try_from(offset).ok());
            self.acknowledge(offset.unwrap_or(0), now);
            return None;
        }
        let mut answer = "+OK\r\n".to_owned();
        for pair in arguments.chunks(2) {
            if let Err(error) = self.option(pair) {
                answer = format!("-{error}\r\n");
                break;
            }
        }
        Some(answer.into())
    }

    fn acknowledge(&mut self, offset: u64, now: UnixTime) {
        if self.stage == Stage::Greeting {
            return;
        }
        self.stage = Stage::Online;
        self.acknowledged = self.acknowledged.max(offset);
        self.heard = now;
    }

    fn option(&mut self, pair: &[Bytes]) -> Result<(), String> {
        let [word, value] = pair else {
            return Err("ERR syntax error".to_owned());
        };
        match word.to_ascii_lowercase().as_slice() {
            b"listening-port" => {
                let port = strict_integer(value).and_then(|port| u16::try_from(port).ok());
                self.address.port = port.ok_or("ERR value is not an integer or out of range")?;
            }
            b"ip-address" => {
                let host = std::str::from_utf8(value)
                    .ok()
                    .filter(|host| host.len() <= 255);
                self.address.host = host
                    .ok_or("ERR REPLCONF ip-address provided by replica instance is too long")?
                    .to_owned();
            }
            b"capa" => {}
            _ => {
                let word = String::from_utf8_lossy(word).replace(['\r', '\n'], " ");
                return Err(format!("ERR Unrecognized REPLCONF option: {word}"));
            }
        }
        Ok(())
    }
}
