//! One Redis server behind a connection of redis-rs.

use std::future::Future;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use redis::aio::ConnectionLike;
use redis::{Cmd, RedisResult, Script, Value};

use super::answer;
use crate::ports::{Compared, Node, NodeError, NodeId};

/// Deletes the key if it holds the value: 1 done, 0 no such key, -1 another's.
///
/// The script of document 002, which answers 0 in both of the latter cases; a holder wants to know which.
pub const RELEASE_SCRIPT: &str = "\
local held = redis.call('get', KEYS[1])
if held == ARGV[1] then
    return redis.call('del', KEYS[1])
elseif held then
    return -1
else
    return 0
end";

/// Sets the key's time to live, in milliseconds, if it holds the value: 1 done, 0 no such key, -1 another's.
pub const EXTEND_SCRIPT: &str = "\
local held = redis.call('get', KEYS[1])
if held == ARGV[1] then
    return redis.call('pexpire', KEYS[1], ARGV[2])
elseif held then
    return -1
else
    return 0
end";

/// How a node is reached.
pub trait Connect: Clone + Send + Sync + 'static {
    /// A connection whose clones share one pipe. Its own timeouts are off: the lock has its own.
    type Connection: ConnectionLike + Clone + Send + 'static;

    /// Connects once. Dropped if it takes longer than the command that waits for it may take.
    fn connect(&self) -> impl Future<Output = RedisResult<Self::Connection>> + Send;

    /// The node's name, such as `10.0.0.7:6379`; the same for the same server.
    fn name(&self) -> String;
}

/// What becomes of the connection when a command's time is over.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnTimeout {
    /// It is kept, so a late SET still arrives *before* the release that follows it. The default.
    #[default]
    Keep,
    /// It is dropped and the next command connects anew. The release can then overtake a late SET, whose
    /// key stays until its TTL.
    Reconnect,
}

/// A [`Node`] over any asynchronous connection of redis-rs.
///
/// Connects at the first command and keeps the connection; after it broke, the next command connects anew.
/// One connect is in flight at a time. No command is ever sent twice, but for a script whose EVALSHA was
/// answered with `NOSCRIPT`: that one did nothing, and EVAL follows within the same call. A script goes whole,
/// by EVAL, until an answer on the same connection has shown that the server has it: a release whose answer is
/// lost is carried out all the same.
#[derive(Clone)]
pub struct RedisNode<C: Connect> {
    inner: Arc<Inner<C>>,
}

struct Inner<C: Connect> {
    connect: C,
    id: NodeId,
    on_timeout: OnTimeout,
    /// The script of release and that of extension.
    release: OwnScript,
    extend: OwnScript,
    link: Mutex<Link<C::Connection>>,
    connecting: futures_util::lock::Mutex<()>,
}

/// A script, and the generation of the last connection on which the server has answered it; 0 for none.
struct OwnScript {
    code: &'static str,
    hash: String,
    answered_in: AtomicU64,
}

impl OwnScript {
    fn new(code: &'static str) -> Self {
        Self {
            code,
            hash: Script::new(code).get_hash().to_owned(),
            answered_in: AtomicU64::new(0),
        }
    }
}

/// The connection, and a number that grows with each: a command that fails late must not take down the
/// connection that came after its own.
struct Link<T> {
    generation: u64,
    connection: Option<T>,
}

impl<C: Connect> std::fmt::Debug for RedisNode<C> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("RedisNode").field(&self.inner.id).finish()
    }
}

impl<C: Connect> RedisNode<C> {
    /// A node that keeps its connection when a command times out.
    pub fn new(connect: C) -> Self {
        RedisNode::with_on_timeout(connect, OnTimeout::Keep)
    }

    /// A node with that policy for timeouts.
    pub fn with_on_timeout(connect: C, on_timeout: OnTimeout) -> Self {
        let id = NodeId::new(connect.name());
        let link = Mutex::new(Link {
            generation: 0,
            connection: None,
        });
        let connecting = futures_util::lock::Mutex::new(());
        RedisNode {
            inner: Arc::new(Inner {
                connect,
                id,
                on_timeout,
                release: OwnScript::new(RELEASE_SCRIPT),
                extend: OwnScript::new(EXTEND_SCRIPT),
                link,
                connecting,
            }),
        }
    }

    /// Connects now, without a bound of its own, so that the first command need not.
    ///
    /// # Errors
    ///
    /// The reason why there is no connection.
    pub async fn ready(&self) -> Result<(), NodeError> {
        self.inner.connection().await.map(|_| ())
    }

    /// Sends any other command on the node's own connection, behind what was sent before: for fencing counters,
    /// or for a lock of one's own. Bounded by nothing; who calls it has a timeout.
    ///
    /// # Errors
    ///
    /// As of the lock's own commands.
    pub async fn command(&self, command: &Cmd) -> Result<Value, NodeError> {
        self.send(command).await
    }

    async fn send(&self, command: &Cmd) -> Result<Value, NodeError> {
        let pending = self.inner.begin().await?;
        pending.finish(command).await
    }

    async fn eval(
        &self,
        script: &OwnScript,
        key: &[u8],
        arguments: &[&[u8]],
    ) -> Result<Compared, NodeError> {
        let whole = script_command("EVAL", script.code, key, arguments);
        let pending = self.inner.begin().await?;
        let generation = pending.generation;
        let answer = if script.answered_in.load(Ordering::Relaxed) == generation {
            let by_hash = script_command("EVALSHA", &script.hash, key, arguments);
            match pending.finish(&by_hash).await {
                // Forgotten by SCRIPT FLUSH. Nothing was done; EVAL also loads it again.
                Err(error) if is_no_script(&error) => self.send(&whole).await?,
                answer => answer?,
            }
        } else {
            pending.finish(&whole).await?
        };
        script.answered_in.store(generation, Ordering::Relaxed);
        answer::compared(answer)
    }
}

fn script_command(name: &str, script: &str, key: &[u8], arguments: &[&[u8]]) -> Cmd {
    let mut command = redis::cmd(name);
    command.arg(script).arg(1).arg(key);
    for argument in arguments {
        command.arg(*argument);
    }
    command
}

fn is_no_script(error: &NodeError) -> bool {
    matches!(error, NodeError::Server { code, .. } if code == "NOSCRIPT")
}

impl<C: Connect> Node for RedisNode<C> {
    fn id(&self) -> NodeId {
        self.inner.id.clone()
    }

    async fn set_nx_px(&self, key: &[u8], value: &[u8], ttl: Duration) -> Result<bool, NodeError> {
        let mut command = redis::cmd("SET");
        command
            .arg(key)
            .arg(value)
            .arg("NX")
            .arg("PX")
            .arg(milliseconds(ttl));
        answer::granted(self.send(&command).await?)
    }

    async fn compare_and_delete(&self, key: &[u8], value: &[u8]) -> Result<Compared, NodeError> {
        self.eval(&self.inner.release, key, &[value]).await
    }

    async fn compare_and_pexpire(
        &self,
        key: &[u8],
        value: &[u8],
        ttl: Duration,
    ) -> Result<Compared, NodeError> {
        let ttl = milliseconds(ttl).to_string();
        self.eval(&self.inner.extend, key, &[value, ttl.as_bytes()])
            .await
    }
}

/// Cut off to whole milliseconds, as Redis has it. What does not fit is for the server to refuse.
fn milliseconds(span: Duration) -> u64 {
    u64::try_from(span.as_millis()).unwrap_or(u64::MAX)
}

impl<C: Connect> Inner<C> {
    fn link(&self) -> MutexGuard<'_, Link<C::Connection>> {
        // Nothing panics while the link is held, and what it holds is whole at every moment.
        self.link.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn current(&self) -> Option<(u64, C::Connection)> {
        let link = self.link();
        link.connection
            .clone()
            .map(|connection| (link.generation, connection))
    }

    async fn connection(&self) -> Result<(u64, C::Connection), NodeError> {
        if let Some(current) = self.current() {
            return Ok(current);
        }
        let _turn = self.connecting.lock().await;
        if let Some(current) = self.current() {
            return Ok(current);
        }
        let connection = self
            .connect
            .connect()
            .await
            .map_err(|error| answer::connect_error(&error))?;
        let mut link = self.link();
        link.generation += 1;
        link.connection = Some(connection.clone());
        Ok((link.generation, connection))
    }

    async fn begin(&self) -> Result<Pending<'_, C>, NodeError> {
        let (generation, connection) = self.connection().await?;
        Ok(Pending {
            inner: self,
            generation,
            connection,
            answered: false,
        })
    }

    fn forget(&self, generation: u64) {
        let mut link = self.link();
        let dead = if link.generation == generation {
            link.connection.take()
        } else {
            None
        };
        // Closing a connection runs foreign code: not under the lock.
        drop(link);
        drop(dead);
    }
}

/// A command that was begun. Dropped without an answer, its time was over.
struct Pending<'a, C: Connect> {
    inner: &'a Inner<C>,
    generation: u64,
    connection: C::Connection,
    answered: bool,
}

impl<C: Connect> Pending<'_, C> {
    async fn finish(mut self, command: &Cmd) -> Result<Value, NodeError> {
        let answer = self
            .connection
            .req_packed_command(command)
            .await
            .and_then(Value::extract_error);
        self.answered = true;
        if answer.as_ref().is_err_and(answer::breaks_connection) {
            self.inner.forget(self.generation);
        }
        answer.map_err(|error| answer::command_error(&error))
    }
}

impl<C: Connect> Drop for Pending<'_, C> {
    fn drop(&mut self) {
        if !self.answered && self.inner.on_timeout == OnTimeout::Reconnect {
            self.inner.forget(self.generation);
        }
    }
}
