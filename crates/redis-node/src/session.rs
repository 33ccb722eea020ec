//! What the node remembers of one connection.

use bytes::Bytes;

use crate::command::{Command, Flags};
use crate::{Protocol, Reply, UnixTime};

/// Names one connection of one node; the caller chooses and never reuses it within a node's life.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ConnectionId(pub u64);

/// State of a connection: protocol, name, and a transaction that is being queued.
#[derive(Debug, Default)]
pub(crate) struct Session {
    /// What `CLIENT ID` answers.
    pub(crate) id: i64,
    pub(crate) protocol: Protocol,
    pub(crate) name: Option<Bytes>,
    pub(crate) transaction: Option<Transaction>,
    /// How far the stream to the replicas had come after its last write: what WAIT waits for.
    pub(crate) written: u64,
    /// Keys of WATCH, with whether each had already expired then.
    pub(crate) watched: Vec<(Bytes, bool)>,
    /// `CLIENT NO-EVICT`; remembered and shown, as clients are never evicted here.
    pub(crate) no_evict: bool,
    /// When it was first heard of, when last, and what it wanted then: for `CLIENT LIST`.
    pub(crate) since: UnixTime,
    pub(crate) last: UnixTime,
    pub(crate) command: &'static str,
}

/// What `CLIENT LIST` shows before the first command.
const NO_COMMAND: &str = "NULL";

impl Session {
    pub(crate) fn new(id: i64, since: UnixTime) -> Session {
        Session {
            id,
            since,
            last: since,
            command: NO_COMMAND,
            ..Session::default()
        }
    }

    pub(crate) fn note(&mut self, command: &'static str, now: UnixTime) {
        if self.command == NO_COMMAND {
            self.since = now;
        }
        self.command = command;
        self.last = now;
    }
}

/// Commands between MULTI and EXEC.
#[derive(Debug, Default)]
pub(crate) struct Transaction {
    pub(crate) queued: Vec<Vec<Bytes>>,
    /// Bytes held by `queued`, so that a client cannot make the node grow without bound.
    pub(crate) bytes: usize,
    /// A command was refused while queueing: EXEC will discard all.
    pub(crate) broken: bool,
    /// A queued command needs memory: EXEC does, too.
    pub(crate) needs_memory: bool,
    /// A queued command writes: EXEC does, too.
    pub(crate) writes: bool,
}

/// What a client may queue in MULTI before it is refused, and what a command counts besides its bytes.
const LARGEST_TRANSACTION: usize = 64 << 20;
const OVERHEAD: usize = 64;

impl Transaction {
    pub(crate) fn queue(&mut self, command: &Command, request: &[Bytes]) -> Reply {
        self.needs_memory |= command.flags.has(Flags::DENYOOM);
        self.writes |= command.flags.has(Flags::WRITE);
        self.bytes += request
            .iter()
            .map(|argument| argument.len() + OVERHEAD)
            .sum::<usize>();
        if self.bytes > LARGEST_TRANSACTION {
            self.broken = true;
            self.queued.clear();
            return Reply::error("ERR transaction is too large");
        }
        self.queued.push(request.to_vec());
        Reply::status("QUEUED")
    }
}
