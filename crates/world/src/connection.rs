//! One kind of connection for both engines: what redis-rs sends commands through.

use redis::aio::{ConnectionLike, MultiplexedConnection};
use redis::{Cmd, Pipeline, RedisFuture, Value};

use crate::engine::event::EventConnection;
use crate::engine::turmoil::Lifeline;

/// A connection from one host to another. Clones share it; it closes with the last of them.
#[derive(Clone)]
pub struct Connection(pub(crate) Transport);

#[derive(Clone)]
pub(crate) enum Transport {
    /// Arguments through the event queue.
    Event(EventConnection),
    /// Bytes through turmoil's TCP.
    Turmoil(
        MultiplexedConnection,
        #[expect(dead_code, reason = "held for its destructor")] Lifeline,
    ),
}

impl std::fmt::Debug for Connection {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Connection").finish_non_exhaustive()
    }
}

impl ConnectionLike for Connection {
    fn req_packed_command<'a>(&'a mut self, cmd: &'a Cmd) -> RedisFuture<'a, Value> {
        match &mut self.0 {
            Transport::Event(connection) => connection.request(cmd),
            Transport::Turmoil(connection, _) => connection.req_packed_command(cmd),
        }
    }

    fn req_packed_commands<'a>(
        &'a mut self,
        pipeline: &'a Pipeline,
        offset: usize,
        count: usize,
    ) -> RedisFuture<'a, Vec<Value>> {
        match &mut self.0 {
            Transport::Event(connection) => connection.requests(pipeline, offset, count),
            Transport::Turmoil(connection, _) => {
                connection.req_packed_commands(pipeline, offset, count)
            }
        }
    }

    fn get_db(&self) -> i64 {
        0
    }
}
