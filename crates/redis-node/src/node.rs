//! The node: requests and the clock in, effects out.

use std::collections::BTreeMap;

use bytes::Bytes;
use smallvec::smallvec;

use crate::command::{self, Failure, Index, Outcome, Run, Scripts};
use crate::database::Database;
use crate::disk::Unit;
use crate::lua::Sha;
use crate::session::Session;
use crate::{
    Config, ConnectionId, Disk, Effects, Lua, Persistence, Protocol, Reply, Stop, UnixTime,
};

/// The version that the node answers as.
pub(crate) const REDIS_VERSION: &str = "7.0.15";

/// The active cycle runs ten times a second.
const CYCLE_MILLIS: u64 = 100;
/// Keys in a round of the active cycle, and rounds in a run of it.
const KEYS_A_ROUND: usize = 20;
const ROUNDS: usize = 50;

/// One Redis server as a state machine.
///
/// Calls never block and never fail; whatever the bytes of a request, there is a reply.
#[derive(Debug)]
pub struct Node {
    config: Config,
    disk: Disk,
    db: Database,
    lua: Lua,
    scripts: Scripts,
    commands: Index,
    sessions: BTreeMap<ConnectionId, Session>,
    last_client: i64,
    /// The active cycle left work behind and goes on then.
    cycle_resumes: Option<UnixTime>,
    close: bool,
}

impl Node {
    /// Starts a server on what a former one left on its disk, and loads it.
    ///
    /// Expiry times on the disk are absolute: a key whose time passed while the node was down is loaded, and
    /// is missing for the first command that asks.
    pub fn boot(config: Config, disk: Disk, lua: Lua, now: UnixTime) -> Node {
        let mut node = Node {
            config,
            disk,
            db: Database::default(),
            lua,
            scripts: Scripts::default(),
            commands: Index::new(),
            sessions: BTreeMap::new(),
            last_client: 0,
            cycle_resumes: None,
            close: false,
        };
        if node.config.persistence != Persistence::None {
            node.load(now);
            node.db.record(true);
        }
        node
    }

    /// A client has connected. A connection that is first heard of by a request counts as connected, too.
    pub fn connected(&mut self, connection: ConnectionId) {
        self.session(connection);
    }

    /// A connection is gone; what it had queued and watched is forgotten.
    pub fn disconnected(&mut self, connection: ConnectionId) {
        if self.sessions.contains_key(&connection) {
            self.unwatch(connection);
            self.sessions.remove(&connection);
        }
    }

    /// Executes one request (the command's name and its arguments) at that time.
    pub fn handle(
        &mut self,
        now: UnixTime,
        connection: ConnectionId,
        request: &[Bytes],
    ) -> Effects {
        if request.is_empty() {
            return Effects::default();
        }
        self.db.begin(now);
        self.close = false;
        let reply = self.process(connection, request);
        let effects = self.finish();
        Effects {
            replies: smallvec![(connection, reply)],
            close: self.close,
            ..effects
        }
    }

    /// When [`Node::tick`] wants to be called; `None` while no key will ever expire.
    ///
    /// By the node's own wall clock: if the clock is stepped, the instant moves with it.
    pub fn next_deadline(&self) -> Option<UnixTime> {
        let (when, _) = self.db.keys().first_to_expire()?;
        let due = UnixTime::from_redis(*when).as_millis();
        // An expiry beyond what nanoseconds can say never comes.
        if due == UnixTime(u64::MAX).as_millis() {
            return None;
        }
        let due = UnixTime::from_millis(due.next_multiple_of(CYCLE_MILLIS));
        Some(self.cycle_resumes.map_or(due, |resumes| due.max(resumes)))
    }

    /// Lets the active cycle remove what has expired (now >= when). Does nothing if called too early.
    pub fn tick(&mut self, now: UnixTime) -> Effects {
        self.db.begin(now);
        let mut rounds = 0;
        while rounds < ROUNDS && self.db.expire_due(KEYS_A_ROUND) == KEYS_A_ROUND {
            rounds += 1;
        }
        let next = (now.as_millis() / CYCLE_MILLIS + 1).saturating_mul(CYCLE_MILLIS);
        self.cycle_resumes = (rounds == ROUNDS).then(|| UnixTime::from_millis(next));
        self.finish()
    }

    /// Stops the server; the disk is what the next one boots from.
    pub fn stop(self, how: Stop, _now: UnixTime) -> Disk {
        self.disk.after(how)
    }

    /// The protocol that replies to this connection are to be encoded in.
    pub fn protocol(&self, connection: ConnectionId) -> Protocol {
        self.sessions
            .get(&connection)
            .map_or(Protocol::default(), |session| session.protocol)
    }

    /// What the node was booted with.
    pub fn config(&self) -> &Config {
        &self.config
    }

    fn process(&mut self, connection: ConnectionId, request: &[Bytes]) -> Reply {
        let command = match self.commands.check(request) {
            Ok(command) => command,
            Err(failure) => return self.refuse(connection, request, failure),
        };
        match &mut self.session(connection).transaction {
            Some(transaction) if !command::is_immediate(command) => transaction.queue(request),
            _ => self.call(connection, command, request),
        }
    }

    /// A request that cannot even be tried also spoils the transaction that it was to be a part of.
    fn refuse(&mut self, connection: ConnectionId, request: &[Bytes], failure: Failure) -> Reply {
        let is_exec = self
            .commands
            .find(request)
            .is_some_and(|command| command.name == "exec");
        let session = self.session(connection);
        if is_exec {
            session.transaction = None;
            self.unwatch(connection);
            let reason = failure.0.trim_start_matches("ERR ");
            return Reply::error(format!(
                "EXECABORT Transaction discarded because of: {reason}"
            ));
        }
        if let Some(transaction) = &mut session.transaction {
            transaction.broken = true;
        }
        failure.into()
    }

    fn call(
        &mut self,
        connection: ConnectionId,
        command: &'static command::Command,
        request: &[Bytes],
    ) -> Reply {
        let outcome = match command.run {
            Run::Data(run) => run(&mut self.db, request),
            Run::Node(run) => run(self, connection, request),
            // Without a second argument the parent's arity has failed before.
            Run::Subcommands(_) => Err(Failure::wrong_arguments(command.name)),
        };
        outcome.unwrap_or_else(Reply::from)
    }

    /// Writes what the unit did to the log, before the caller sends the reply.
    fn finish(&mut self) -> Effects {
        let (unit, touches) = self.db.finish();
        if !unit.is_empty() {
            self.disk.append(unit);
            self.disk.sync();
            if self.disk.wants_rewrite() {
                self.disk.rewrite(self.db.keys());
            }
        }
        Effects {
            touches,
            ..Effects::default()
        }
    }

    fn load(&mut self, now: UnixTime) {
        self.db.begin(now);
        self.db.set_loading(true);
        let log: Vec<Unit> = self.disk.units().to_vec();
        for command in log.iter().flatten() {
            self.call_for_log(command);
        }
        self.db.set_loading(false);
    }

    fn call_for_log(&mut self, request: &[Bytes]) {
        if let Some(Run::Data(run)) = self.commands.find(request).map(|command| &command.run) {
            // It succeeded when it was written, on the same keys.
            let replayed = run(&mut self.db, request);
            debug_assert!(replayed.is_ok(), "{request:?} in the log: {replayed:?}");
        }
    }
}

/// What commands that need more than the keys may do.
impl Node {
    pub(crate) fn session(&mut self, connection: ConnectionId) -> &mut Session {
        self.sessions.entry(connection).or_insert_with(|| {
            self.last_client += 1;
            Session {
                id: self.last_client,
                ..Session::default()
            }
        })
    }

    /// Executes a command that was checked when it was queued.
    pub(crate) fn execute(&mut self, connection: ConnectionId, request: &[Bytes]) -> Reply {
        match self.commands.check(request) {
            Ok(command) => self.call(connection, command, request),
            Err(failure) => failure.into(),
        }
    }

    pub(crate) fn close_after_reply(&mut self) {
        self.close = true;
    }

    /// As if the connection were new, but for its identity.
    pub(crate) fn reset(&mut self, connection: ConnectionId) {
        self.unwatch(connection);
        let session = self.session(connection);
        *session = Session {
            id: session.id,
            ..Session::default()
        };
    }

    pub(crate) fn watch(&mut self, connection: ConnectionId, key: &Bytes) {
        let expired = self.db.has_expired(key);
        let watched = &mut self.session(connection).watched;
        if watched.iter().all(|(other, _)| other != key) {
            watched.push((key.clone(), expired));
            self.db.watchers().watch(connection, key.clone());
        }
    }

    /// Forgets what was watched. Answers whether a watched key has changed or expired since.
    pub(crate) fn unwatch(&mut self, connection: ConnectionId) -> bool {
        let watched = std::mem::take(&mut self.session(connection).watched);
        let expired = watched
            .iter()
            .any(|(key, expired)| !expired && self.db.has_expired(key));
        self.db
            .watchers()
            .unwatch(connection, watched.iter().map(|(key, _)| key))
            || expired
    }

    pub(crate) fn scripts(&self) -> &Scripts {
        &self.scripts
    }

    pub(crate) fn forget_scripts(&mut self) {
        self.scripts.forget_all();
    }

    /// Compiles a script and remembers it.
    pub(crate) fn compile(&mut self, sha: Sha, body: &Bytes) -> Result<(), Failure> {
        self.lua.compile(sha, body)?;
        self.scripts.remember(sha, body);
        Ok(())
    }

    /// Runs a script that was sent along, or that is known by its hash.
    pub(crate) fn run_script(
        &mut self,
        sha: Sha,
        sent: Option<&Bytes>,
        keys: &[Bytes],
        values: &[Bytes],
    ) -> Outcome {
        let body = self.scripts.body(sha, sent)?;
        let script = self.lua.compile(sha, &body)?;
        if sent.is_some() {
            self.scripts.remember(sha, &body);
        }
        // The keys go into Lua's hands for the time of the call: without that, no borrow could.
        let db = std::mem::take(&mut self.db);
        let (db, outcome) = self.lua.run(&script, (sha, &body), keys, values, db);
        self.db = db;
        outcome
    }
}
