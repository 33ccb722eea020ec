//! What is checked before a command runs, in Redis's order; a refusal spoils the transaction it was meant for.

use crate::command::{Command, Failure, Flags};
use crate::node::Node;
use crate::{ConnectionId, Protocol};

/// What an empty Redis 7.0 takes; `maxmemory` counts it, too.
pub(crate) const BASE_MEMORY: usize = 900 << 10;

const OUT_OF_MEMORY: Failure =
    Failure::of("OOM command not allowed when used memory > 'maxmemory'.");

impl Node {
    /// Whether the command may run now, or be queued.
    pub(crate) fn admit(
        &mut self,
        connection: ConnectionId,
        command: &'static Command,
    ) -> Result<(), Failure> {
        self.make_room();
        if self.database().is_out_of_memory() && self.needs_memory(connection, command) {
            return Err(OUT_OF_MEMORY);
        }
        self.check_subscriber(connection, command)
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
