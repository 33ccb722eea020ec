//! How clients reach the resource and the sequence: redis-rs commands over a connection of their own.

use std::time::Duration;

use fencepost_checker::history::Attempt;
use fencepost_world::{Connection, Host};
use redis::{Cmd, FromRedisValue, RedisError, RedisResult};

/// The host of the resource.
const RESOURCE: &str = "db";
/// The host of the sequence.
const SEQUENCE: &str = "seq";

/// How long a client waits for the resource: 5 s, after which it does not know whether its write was applied.
const RESOURCE_TIMEOUT: Duration = Duration::from_secs(5);

/// The durable sequence, as one client reaches it. The lock's own timeout for tokens bounds it.
#[derive(Clone, Debug)]
pub(crate) struct SequenceClient {
    from: Host,
    to: Host,
}

impl SequenceClient {
    /// A client on `from`, if the world has a sequence.
    pub(crate) fn new(from: Host) -> Option<Self> {
        Some(Self {
            from,
            to: Host::find(SEQUENCE)?,
        })
    }

    /// The next number of that name.
    ///
    /// # Errors
    /// Why there is none.
    pub(crate) async fn next(&self, name: &[u8]) -> RedisResult<u64> {
        let mut connection = self.from.connect(self.to).await?;
        redis::cmd("NEXT")
            .arg(name)
            .query_async(&mut connection)
            .await
    }
}

/// The resource, as one client reaches it.
pub(crate) struct ResourceClient {
    from: Host,
    to: Host,
    connection: Option<Connection>,
    client: String,
    /// The id of the latest operation.
    operation: u64,
}

/// What one transfer moves, as in document 000.
const AMOUNT: u64 = 10_000;

/// What was read: the value of the counter, or the balances of two accounts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Reading {
    values: Vec<u64>,
    version: u64,
}

impl Reading {
    /// What a client writes that has read this. The values are absolute, so what others have written since is lost.
    fn next(&self) -> Vec<u64> {
        match self.values[..] {
            [from, to] => vec![from.saturating_sub(AMOUNT), to + AMOUNT.min(from)],
            ref counters => counters.iter().map(|value| value + 1).collect(),
        }
    }
}

/// For which acquisition an operation is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct For<'a> {
    pub(crate) key: &'a str,
    pub(crate) attempt: Attempt,
    pub(crate) token: Option<u64>,
}

impl ResourceClient {
    /// A client on `from`, if the world has a resource. Operations of one run have different ids: they begin with the
    /// client's place among the hosts.
    pub(crate) fn new(from: Host, place: usize) -> Option<Self> {
        let operation = u64::try_from(place).ok()? * 1_000_000;
        Some(Self {
            from,
            to: Host::find(RESOURCE)?,
            connection: None,
            client: from.name().to_string(),
            operation,
        })
    }

    pub(crate) async fn read(&mut self, of: For<'_>) -> RedisResult<Reading> {
        let command = self.command("READ", of);
        let mut values: Vec<u64> = self.ask(command).await?;
        let version = values.pop().unwrap_or_default();
        Ok(Reading { values, version })
    }

    /// Writes what follows from what was read.
    pub(crate) async fn write(&mut self, of: For<'_>, computed_from: &Reading) -> RedisResult<()> {
        let mut command = self.command("WRITE", of);
        command.arg(computed_from.version).arg(computed_from.next());
        self.ask(command).await
    }

    fn command(&mut self, name: &str, of: For<'_>) -> Cmd {
        self.operation += 1;
        let token = of
            .token
            .map_or_else(|| "-".to_owned(), |token| token.to_string());
        let mut command = redis::cmd(name);
        command
            .arg(of.key)
            .arg(&self.client)
            .arg(of.attempt.0)
            .arg(self.operation)
            .arg(token);
        command
    }

    async fn ask<T: FromRedisValue>(&mut self, command: Cmd) -> RedisResult<T> {
        let from = self.from;
        let answer = from.timeout(RESOURCE_TIMEOUT, self.send(command)).await;
        let answer = answer.unwrap_or_else(|| Err(timed_out()));
        if answer
            .as_ref()
            .is_err_and(RedisError::is_unrecoverable_error)
        {
            self.connection = None;
        }
        answer
    }

    async fn send<T: FromRedisValue>(&mut self, command: Cmd) -> RedisResult<T> {
        let mut connection = match &self.connection {
            Some(connection) => connection.clone(),
            None => self
                .connection
                .insert(self.from.connect(self.to).await?)
                .clone(),
        };
        command.query_async(&mut connection).await
    }
}

fn timed_out() -> RedisError {
    std::io::Error::new(
        std::io::ErrorKind::TimedOut,
        "the resource did not answer in time",
    )
    .into()
}
