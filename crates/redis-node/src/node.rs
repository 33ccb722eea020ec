//! The node: requests and the clock in, effects out.

use std::collections::BTreeMap;

use bytes::Bytes;
use smallvec::SmallVec;

use crate::command::{self, Failure, Index, Outcome, Run, Scripts};
use crate::database::Database;
use crate::disk::Unit;
use crate::lua::Sha;
use crate::persistence::Keeper;
use crate::replication::Replication;
use crate::session::Session;
use crate::sleep::Sleep;
use crate::{Config, ConnectionId, Disk, Effects, Lua, Protocol, Reply, Stop, UnixTime};

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
    keeper: Keeper,
    replication: Replication,
    db: Database,
    lua: Lua,
    scripts: Scripts,
    commands: Index,
    sessions: BTreeMap<ConnectionId, Session>,
    last_client: i64,
    /// The active cycle left work behind and goes on then.
    cycle_resumes: Option<UnixTime>,
    /// `DEBUG SET-ACTIVE-EXPIRE 0` switches the active cycle off.
    pub(crate) active_expire: bool,
    close: bool,
    /// The command that runs now is answered later, or not at all.
    silent: bool,
    /// A transaction runs.
    executing: bool,
    /// The disk is being read until then.
    loaded_at: Option<UnixTime>,
    exit: Exit,
    /// Connections that the node closed on its own, until the caller asks for them.
    closed: Vec<ConnectionId>,
    pub(crate) sleep: Sleep,
    pub(crate) traffic: Traffic,
    pub(crate) booted: UnixTime,
}

/// What `INFO stats` counts about clients.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Traffic {
    pub(crate) connections: u64,
    pub(crate) commands: u64,
    pub(crate) errors: u64,
}

/// How the process is about to end by itself.
#[derive(Clone, Copy, Debug, Default)]
struct Exit {
    how: Option<Stop>,
    /// Nobody hears from it any more.
    done: bool,
    /// What `SHUTDOWN` said about a last snapshot.
    saves: Option<bool>,
}

impl Node {
    /// Starts a server on what a former one left on its disk, and loads it.
    ///
    /// Expiry times on the disk are absolute: a key whose time passed while the node was down is loaded, and
    /// is missing for the first command that asks. (A snapshot is loaded without such keys, as Redis does it.)
    pub fn boot(config: Config, disk: Disk, lua: Lua, now: UnixTime) -> Node {
        let mut node = Node {
            keeper: Keeper::new(&config, disk, now),
            replication: Replication::new(config.replication.clone(), &config.run_id, now),
            config,
            db: Database::default(),
            lua,
            scripts: Scripts::default(),
            commands: Index::new(),
            sessions: BTreeMap::new(),
            last_client: 0,
            cycle_resumes: None,
            active_expire: true,
            close: false,
            silent: false,
            executing: false,
            loaded_at: None,
            exit: Exit::default(),
            closed: Vec::new(),
            sleep: Sleep::default(),
            traffic: Traffic::default(),
            booted: now,
        };
        node.db
            .keep_order_of_use(node.config.eviction.needs_order_of_use());
        node.db.set_following(node.replication.is_replica());
        node.load(now);
        node.record_if_needed();
        node
    }

    /// A client has connected. A connection that is first heard of by a request counts as connected, too.
    pub fn connected(&mut self, connection: ConnectionId) {
        self.session(connection);
    }

    /// A connection is gone; what it had queued, watched and subscribed to is forgotten.
    pub fn disconnected(&mut self, connection: ConnectionId) {
        if self.is_still() {
            return self.sleep.disconnected(connection);
        }
        self.replication.forget_waiter(connection);
        if self.sessions.contains_key(&connection) {
            self.unwatch(connection);
            self.db.channels_mut().forget(connection);
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
        if request.is_empty() || self.exit.done {
            return Effects::default();
        }
        if self.is_still() {
            return self.handle_asleep(now, connection, request);
        }
        if self.replication.holds_up(connection) {
            self.replication.put_off(connection, request);
            return Effects {
                kept: true,
                ..Effects::default()
            };
        }
        let effects = self.run(now, connection, request);
        self.conclude(now, effects)
    }

    /// Carries out a request. What it changed is not written yet: see [`Node::conclude`].
    pub(crate) fn run(
        &mut self,
        now: UnixTime,
        connection: ConnectionId,
        request: &[Bytes],
    ) -> Effects {
        self.db.begin(now);
        self.refuse_writes();
        self.close = false;
        let offset = self.replication.offset();
        let reply = self.process(connection, request);
        let effects = self.finish();
        if self.replication.offset() != offset {
            self.session(connection).written = self.replication.offset();
        }
        let mut replies = SmallVec::from_vec(self.db.channels_mut().take_outbox());
        if !std::mem::take(&mut self.silent) {
            replies.push((connection, reply));
        }
        Effects {
            replies,
            close: self.close,
            ..effects
        }
    }

    /// The connections that the node itself has closed since the last question, as `CLIENT KILL` does.
    ///
    /// They are to be closed after what is sent to them; the node has forgotten them. The connection whose
    /// request is answered is not among them: see [`Effects::close`].
    pub fn take_closed(&mut self) -> Vec<ConnectionId> {
        std::mem::take(&mut self.closed)
    }

    /// When [`Node::tick`] wants to be called; `None` while time alone brings nothing about.
    ///
    /// By the node's own wall clock: if the clock is stepped, the instant moves with it. It may lie in the past.
    pub fn next_deadline(&self) -> Option<UnixTime> {
        if self.exit.done {
            return None;
        }
        if self.is_still() {
            return self.still_until();
        }
        if self.loaded_at.is_some() {
            return self.loaded_at;
        }
        let persistence = self.keeper.next_deadline();
        let replication = self.replication.next_deadline();
        let deadlines = [self.expiry_deadline(), persistence, replication];
        deadlines.into_iter().flatten().min()
    }

    fn expiry_deadline(&self) -> Option<UnixTime> {
        let (when, _) = self
            .db
            .keys()
            .first_to_expire()
            .filter(|_| self.active_expire && !self.replication.is_replica())?;
        let due = UnixTime::from_redis(*when).as_millis();
        // An expiry beyond what nanoseconds can say never comes.
        if due == UnixTime(u64::MAX).as_millis() {
            return None;
        }
        let due = UnixTime::from_millis(due.next_multiple_of(CYCLE_MILLIS));
        Some(self.cycle_resumes.map_or(due, |resumes| due.max(resumes)))
    }

    /// Does what time alone brings about: keys expire, the disk has done its work, replicas are heard or not.
    /// Does nothing if called too early.
    pub fn tick(&mut self, now: UnixTime) -> Effects {
        if self.exit.done {
            return Effects::default();
        }
        let mut effects = Effects::default();
        if self.is_still() {
            effects = self.wake(now);
        }
        if self.is_still() || self.loaded_at.is_some_and(|loaded| now < loaded) {
            return effects;
        }
        self.loaded_at = None;
        self.db.begin(now);
        if !self.replication.is_replica() {
            self.expire_actively(now);
        }
        let mut more = self.finish();
        self.replication.tick_upstream(now);
        self.replication.tick_followers(now);
        self.keeper.begin_what_is_due(now, self.db.keys());
        self.release_waiters(now, &mut more);
        effects.append(self.conclude(now, more));
        effects
    }

    fn expire_actively(&mut self, now: UnixTime) {
        let mut rounds = if self.active_expire { 0 } else { ROUNDS };
        while rounds < ROUNDS && self.db.expire_due(KEYS_A_ROUND) == KEYS_A_ROUND {
            rounds += 1;
        }
        let next = (now.as_millis() / CYCLE_MILLIS + 1).saturating_mul(CYCLE_MILLIS);
        self.cycle_resumes =
            (rounds == ROUNDS && self.active_expire).then(|| UnixTime::from_millis(next));
    }

    /// Stops the server; the disk is what the next one boots from.
    pub fn stop(self, how: Stop, now: UnixTime) -> Disk {
        let loading = self.loaded_at.is_some_and(|loaded| now < loaded);
        let saves = if loading {
            Some(false)
        } else {
            self.exit.saves
        };
        self.keeper.stop(how, now, saves, self.db.keys())
    }

    /// The disk stops answering (a fault): no fsync and no snapshot ends before that time, by the node's clock.
    ///
    /// With `always` replies wait for it; with `everysec` writes are put off for two seconds, then they wait, too.
    /// A later call replaces the time of an earlier one; a time that has passed ends the stall.
    pub fn stall_fsync(&mut self, now: UnixTime, until: UnixTime) {
        self.keeper.stall(now, until);
    }

    /// The disk has no space left (a fault), or has some again: with `always` the next write ends the server, else
    /// writes are answered with `MISCONF` once one has failed.
    pub fn set_disk_full(&mut self, full: bool) {
        self.keeper.set_full(full);
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
        if let Err(failure) = self.admit(connection, command) {
            return self.refuse(connection, request, failure);
        }
        let now = self.db.now();
        let session = self.session(connection);
        session.note(command.name, now);
        match &mut session.transaction {
            Some(transaction) if !command::is_immediate(command) => {
                transaction.queue(command, request)
            }
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
        self.traffic.commands += 1;
        self.traffic.errors += u64::from(outcome.is_err());
        let reply = outcome.unwrap_or_else(Reply::from);
        if command.name == "ping" && self.is_resp2_subscriber(connection) {
            return command::pong(reply);
        }
        reply
    }

    /// Hands what the unit did to the log and to the replicas.
    pub(crate) fn finish(&mut self) -> Effects {
        let (mut unit, touches) = self.db.finish();
        if !unit.is_empty() {
            if !self.replication.is_replica() {
                self.replication.feed(&unit);
            }
            if self.keeper.records() {
                // A message is for replicas, and leaves no trace on the disk.
                unit.retain(|command| !command[0].eq_ignore_ascii_case(b"publish"));
                self.keeper.note(unit);
            }
        }
        Effects {
            touches,
            ..Effects::default()
        }
    }

    /// The end of a turn of the server's loop: first the log is written, then what is to go out goes out.
    pub(crate) fn conclude(&mut self, now: UnixTime, mut effects: Effects) -> Effects {
        if self.keeper.has_log() {
            if !self.keeper.flush(now) {
                self.exit.how = Some(Stop::Kill);
                effects.replies.clear();
            }
            self.keeper.rewrite_if_grown(now, self.db.keys());
        }
        self.replication.ask_for_ack();
        self.replication.take_outbox(&mut effects.links);
        if let Some(how) = self.exit.how.take() {
            self.exit.done = true;
            effects.exit = Some(how);
            return effects;
        }
        self.fall_asleep(now, effects)
    }

    /// The log if there is one to be, else the last snapshot.
    fn load(&mut self, now: UnixTime) {
        self.db.begin(now);
        self.db.set_loading(true);
        let disk = self.keeper.disk();
        let from_log = self.keeper.has_log();
        let units: Vec<Unit> = match disk.snapshot() {
            Some(snapshot) if !from_log => snapshot.to_vec(),
            _ => disk.units().to_vec(),
        };
        for command in units.iter().flatten() {
            self.call_for_log(command);
        }
        self.db.set_loading(false);
        if !from_log && !self.replication.is_replica() {
            self.db.drop_expired();
        }
        let loaded = now.after(self.config.disk.loading_takes);
        self.loaded_at = Some(loaded).filter(|loaded| !units.is_empty() && *loaded > now);
    }

    /// Someone has to read what changes: the disk, or replicas.
    pub(crate) fn record_if_needed(&mut self) {
        self.db
            .record(self.keeper.records() || self.replication.records());
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
            self.traffic.connections += 1;
            Session::new(self.last_client, self.db.now())
        })
    }

    /// Executes a command that was checked when it was queued.
    pub(crate) fn execute(&mut self, connection: ConnectionId, request: &[Bytes]) -> Reply {
        match self.commands.check(request) {
            Ok(command) => self.call(connection, command, request),
            Err(failure) => failure.into(),
        }
    }

    /// Executes the commands of a transaction.
    pub(crate) fn execute_all(&mut self, connection: ConnectionId, queued: &[Vec<Bytes>]) -> Reply {
        self.executing = true;
        let replies = queued
            .iter()
            .map(|request| self.execute(connection, request));
        let replies = Reply::Array(replies.collect());
        self.executing = false;
        replies
    }

    /// Whether a transaction runs: what would make it wait must not.
    pub(crate) fn is_executing(&self) -> bool {
        self.executing
    }

    /// The command that runs now is answered later, or not at all.
    pub(crate) fn answer_nothing(&mut self) {
        self.silent = true;
    }

    pub(crate) fn close_after_reply(&mut self) {
        self.close = true;
    }

    /// Closes another connection.
    pub(crate) fn close_other(&mut self, connection: ConnectionId) {
        self.disconnected(connection);
        self.closed.push(connection);
    }

    pub(crate) fn database(&mut self) -> &mut Database {
        &mut self.db
    }

    /// The keys and what is counted about them, for those who only look.
    pub(crate) fn data(&self) -> &Database {
        &self.db
    }

    pub(crate) fn reset_stats(&mut self) {
        self.db.reset_stats();
        self.traffic = Traffic::default();
    }

    pub(crate) fn sessions(&self) -> &BTreeMap<ConnectionId, Session> {
        &self.sessions
    }

    /// Puts a configuration into force that differs from the present one.
    pub(crate) fn reconfigure(&mut self, config: Config) {
        self.keeper.reconfigure(&config);
        self.replication.reconfigure(&config.replication);
        self.db
            .keep_order_of_use(config.eviction.needs_order_of_use());
        self.config = config;
        self.record_if_needed();
    }

    /// As if the connection were new, but for its identity.
    pub(crate) fn reset(&mut self, connection: ConnectionId) {
        self.unwatch(connection);
        self.db.channels_mut().forget(connection);
        let session = self.session(connection);
        *session = Session::new(session.id, session.since);
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

/// Persistence and replication, for the commands that concern them.
impl Node {
    pub(crate) fn keeper(&self) -> &Keeper {
        &self.keeper
    }

    pub(crate) fn keeper_mut(&mut self) -> &mut Keeper {
        &mut self.keeper
    }

    pub(crate) fn replication(&self) -> &Replication {
        &self.replication
    }

    pub(crate) fn replication_mut(&mut self) -> &mut Replication {
        &mut self.replication
    }

    /// Both, with the keys, for what reads the keys.
    pub(crate) fn parts(&mut self) -> (&mut Keeper, &mut Replication, &mut Database) {
        (&mut self.keeper, &mut self.replication, &mut self.db)
    }

    pub(crate) fn commands(&self) -> &Index {
        &self.commands
    }

    /// Whether the disk is still being read.
    pub(crate) fn is_loading(&self) -> bool {
        self.loaded_at.is_some_and(|loaded| self.db.now() < loaded)
    }

    pub(crate) fn has_exited(&self) -> bool {
        self.exit.done
    }

    pub(crate) fn save(&mut self) -> Result<(), Failure> {
        self.keeper.save(self.db.now(), self.db.keys())
    }

    pub(crate) fn begin_save(&mut self) {
        self.keeper.begin_save(self.db.now(), self.db.keys());
    }

    pub(crate) fn begin_rewrite(&mut self) {
        self.keeper.begin_rewrite(self.db.now(), self.db.keys());
    }

    /// `SHUTDOWN`: ends the server after this command, unless a last snapshot is wanted and cannot be written.
    pub(crate) fn shut_down(&mut self, saves: Option<bool>, force: bool) -> bool {
        if !force && self.keeper.is_full() && self.keeper.saves_at_shutdown(saves) {
            return false;
        }
        self.exit.how = Some(Stop::Shutdown);
        self.exit.saves = saves;
        true
    }
}
