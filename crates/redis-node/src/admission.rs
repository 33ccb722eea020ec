//! What is checked before a command runs, in Redis's order; a refusal spoils the transaction it was meant for.

use crate::command::{Command, Failure, Flags};
use crate::node::Node;
use crate::{ConnectionId, Protocol};

/// What an empty Redis 7.0 takes; `maxmemory` counts it, too.
pub(crate) const BASE_MEMORY: usize = 900 << 10;

const OUT_OF_MEMORY: Failure =
    Failure::of("OOM command not allowed when used memory > 'maxmemory'.");

const READ_ONLY: Failure = Failure::of("READONLY You can't write against a read only replica.");
const NOT_ENOUGH_REPLICAS: Failure = Failure::of("NOREPLICAS Not enough good replicas to write.");
const NO_PRIMARY: Failure =
    Failure::of("MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'.");
const LOADING: Failure = Failure::of("LOADING Redis is loading the dataset in memory");

impl Node {
    /// Whether the command may run now, or be queued.
    pub(crate) fn admit(
        &mut self,
        connection: ConnectionId,
        command: &'static Command,
    ) -> Result<(), Failure> {
        if !self.replication().is_replica() {
            self.make_room();
        }
        if self.database().is_out_of_memory() && self.needs_memory(connection, command) {
            return Err(OUT_OF_MEMORY);
        }
        if self.database().refusal().is_some() {
            self.check_write(connection, command)?;
        }
        self.check_subscriber(connection, command)?;
        self.check_state(connection, command)
    }

    /// Why nothing may be written now, if so: for commands here, for those in scripts in the scripts.
    pub(crate) fn refuse_writes(&mut self) {
        let now = self.data().now();
        let why = if self.replication().is_replica() {
            Some(READ_ONLY)
        } else {
            let enough = self.replication().has_enough_replicas(now);
            let replicas = (!enough).then_some(NOT_ENOUGH_REPLICAS);
            self.keeper().refusal().or(replicas)
        };
        self.database().refuse_writes(why);
    }

    fn check_write(
        &mut self,
        connection: ConnectionId,
        command: &'static Command,
    ) -> Result<(), Failure> {
        let why = self.database().refusal().cloned();
        let transaction = &self.session(connection).transaction;
        let writes = command.flags.has(Flags::WRITE)
            || command.name == "exec"
                && transaction
                    .as_ref()
                    .is_some_and(|transaction| transaction.writes);
        // A server that cannot save says so to whoever asks how it is.
        let unwell =
            command.name == "ping" && why.as_ref().is_some_and(|why| why.0.starts_with("MISCONF"));
        match why {
            Some(why) if writes || unwell => Err(why),
            _ => Ok(()),
        }
    }

    /// A server that is not ready yet, and commands that no transaction may hold.
    fn check_state(
        &mut self,
        connection: ConnectionId,
        command: &'static Command,
    ) -> Result<(), Failure> {
        let replication = self.replication();
        if replication.is_replica()
            && !replication.is_connected()
            && !replication.config().serve_stale_data
            && (!command.flags.has(Flags::STALE) || matches!(command.name, "eval" | "evalsha"))
        {
            return Err(NO_PRIMARY);
        }
        if self.is_loading() && !command.flags.has(Flags::LOADING) {
            return Err(LOADING);
        }
        if command.flags.has(Flags::NO_MULTI) && self.session(connection).transaction.is_some() {
            return Err(Failure::of("ERR Command not allowed inside a transaction"));
        }
        Ok(())
    }

    /// Evicts what the policy allows, before each command as Redis does.
    fn make_room(&mut self) {
        let config = self.config();
        let (policy, limit) = (config.eviction, config.maxmemory_bytes);
        if limit == 0 && !self.database().is_out_of_memory() {
            return;
        }
        let limit = usize::try_from(limit).ok().filter(|limit| *limit > 0);
        let other = BASE_MEMORY + self.scripts().bytes();
        let database = self.database();
        database.make_room(limit.map(|limit| limit.saturating_sub(other)), policy);
        if limit.is_some_and(|limit| limit < other) {
            database.exceed_memory();
        }
    }

    fn needs_memory(&mut self, connection: ConnectionId, command: &'static Command) -> bool {
        match &self.session(connection).transaction {
            None => command.flags.has(Flags::DENYOOM),
            Some(transaction) if command.name == "exec" => transaction.needs_memory,
            // Queueing takes memory, whatever the command.
            Some(_) => !matches!(command.name, "discard" | "quit" | "reset"),
        }
    }

    /// In RESP2 a subscriber's connection is for messages only.
    fn check_subscriber(
        &mut self,
        connection: ConnectionId,
        command: &'static Command,
    ) -> Result<(), Failure> {
        if !self.is_resp2_subscriber(connection)
            || matches!(
                command.name,
                "subscribe"
                    | "unsubscribe"
                    | "psubscribe"
                    | "punsubscribe"
                    | "ping"
                    | "quit"
                    | "reset"
            )
        {
            return Ok(());
        }
        let name = command.name;
        let allowed = "only (P|S)SUBSCRIBE / (P|S)UNSUBSCRIBE / PING / QUIT / RESET are allowed in this context";
        Err(Failure(
            format!("ERR Can't execute '{name}': {allowed}").into(),
        ))
    }

    pub(crate) fn is_resp2_subscriber(&mut self, connection: ConnectionId) -> bool {
        self.database().channels().is_subscriber(connection)
            && self.protocol(connection) == Protocol::Resp2
    }
}
