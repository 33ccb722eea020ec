//! A lock as a service may have it: `SET NX PX`, a task that renews, and a script that deletes what is one's own.
//!
//! It knows tokio and redis-rs, and nothing of simulation: timers, tasks and clock are tokio's own.
#![expect(
    clippy::disallowed_types,
    clippy::disallowed_methods,
    reason = "it stands for clients that were written without a thought of simulation"
)]

use std::time::Duration;

use redis::aio::MultiplexedConnection;
use redis::{AsyncConnectionConfig, RedisConnectionInfo, RedisResult, Script};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::watch;
use tokio::task::AbortHandle;
use tokio::time::{Instant, sleep, sleep_until, timeout, timeout_at};

const RENEW: &str = "\
if redis.call('get', KEYS[1]) == ARGV[1] then
    return redis.call('pexpire', KEYS[1], ARGV[2])
end
return 0";

const RELEASE: &str = "\
if redis.call('get', KEYS[1]) == ARGV[1] then
    return redis.call('del', KEYS[1])
end
return 0";

/// How long a contender waits before it asks again.
const RETRY: Duration = Duration::from_millis(50);

/// A connection over any stream. Its driver is a task of the current runtime.
///
/// # Errors
/// What redis-rs says of the greeting.
pub async fn connect<S>(stream: S) -> RedisResult<MultiplexedConnection>
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let (info, config) = (RedisConnectionInfo::default(), AsyncConnectionConfig::new());
    let (connection, driver) =
        MultiplexedConnection::new_with_config(&info, stream, config).await?;
    tokio::spawn(driver);
    Ok(connection)
}

/// A lock on one key of one Redis.
#[derive(Clone, Debug)]
pub struct Lock {
    connection: MultiplexedConnection,
    key: String,
    owner: String,
    ttl: Duration,
}

impl Lock {
    /// A lock on `key` for `owner`, a value that nobody else uses.
    #[must_use]
    pub fn new(connection: MultiplexedConnection, key: &str, owner: &str, ttl: Duration) -> Self {
        Self {
            connection,
            key: key.to_owned(),
            owner: owner.to_owned(),
            ttl,
        }
    }

    /// Asks until it gets the lock; nothing when its patience is at an end.
    pub async fn acquire(&self, patience: Duration) -> Option<Held> {
        timeout(patience, self.contend()).await.ok()
    }

    async fn contend(&self) -> Held {
        loop {
            let asked = Instant::now();
            if self.set().await.unwrap_or(false) {
                return Held::new(self.clone(), asked + self.ttl);
            }
            sleep(RETRY).await;
        }
    }

    async fn set(&self) -> RedisResult<bool> {
        let mut command = redis::cmd("SET");
        command.arg(&self.key).arg(&self.owner);
        command.arg("NX").arg("PX").arg(self.milliseconds());
        let answer: Option<String> = command.query_async(&mut self.connection.clone()).await?;
        Ok(answer.is_some())
    }

    async fn renew(&self) -> RedisResult<bool> {
        let script = Script::new(RENEW);
        let mut call = script.key(&self.key);
        call.arg(&self.owner).arg(self.milliseconds());
        call.invoke_async(&mut self.connection.clone()).await
    }

    async fn release(&self) -> RedisResult<bool> {
        let script = Script::new(RELEASE);
        let mut call = script.key(&self.key);
        call.arg(&self.owner);
        call.invoke_async(&mut self.connection.clone()).await
    }

    fn milliseconds(&self) -> u64 {
        u64::try_from(self.ttl.as_millis()).unwrap_or(u64::MAX)
    }
}

/// A lock that was acquired. A task of its own renews it until it is released, dropped or lost.
#[derive(Debug)]
pub struct Held {
    lock: Lock,
    deadline: watch::Receiver<Instant>,
    renewal: AbortHandle,
}

impl Held {
    fn new(lock: Lock, deadline: Instant) -> Self {
        let (sender, receiver) = watch::channel(deadline);
        let renewal = tokio::spawn(keep(lock.clone(), sender)).abort_handle();
        Self {
            lock,
            deadline: receiver,
            renewal,
        }
    }

    /// Whether its holder may still believe in it, by tokio's clock.
    #[must_use]
    pub fn is_valid(&self) -> bool {
        Instant::now() < *self.deadline.borrow()
    }

    /// Waits until it is not valid any more.
    pub async fn lost(&mut self) {
        loop {
            let deadline = *self.deadline.borrow_and_update();
            match timeout_at(deadline, self.deadline.changed()).await {
                Ok(Ok(())) => {}
                Ok(Err(_nobody_renews)) => return sleep_until(deadline).await,
                Err(_elapsed) => return,
            }
        }
    }

    /// Gives it back. Whether it was still one's own.
    ///
    /// # Errors
    /// What redis-rs says: then the key may stay until its TTL is over.
    pub async fn release(self) -> RedisResult<bool> {
        self.renewal.abort();
        self.lock.release().await
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.renewal.abort();
    }
}

/// Renews three times in each TTL, for as long as the lock is valid. An error is no loss: the next call may get through.
async fn keep(lock: Lock, deadline: watch::Sender<Instant>) {
    while Instant::now() < *deadline.borrow() {
        sleep(lock.ttl / 3).await;
        let asked = Instant::now();
        match lock.renew().await {
            Ok(true) => drop(deadline.send_replace(asked + lock.ttl)),
            Ok(false) => drop(deadline.send_replace(asked)),
            Err(_) => {}
        }
    }
}
