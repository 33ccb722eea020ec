//! One Redis node as a client of `redlock` speaks to it, with the ways of the documents beside the crate's own.

use std::collections::BTreeSet;
use std::future::Future;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use fencepost_world::Host;
use redis::{Cmd, Value};
use redlock::redis::RedisNode;
use redlock::{Compared, Node, NodeError, NodeId};

use super::HostConnect;
use crate::plan::SystemPlan;
use crate::scenario::{Acquire, FailedAttempt};

/// The values of attempts that were refused and whose release is on its way: a node must know which release is whose,
/// since a holder's own is another matter.
#[derive(Clone, Debug, Default)]
pub(super) struct Refusals(Arc<Mutex<BTreeSet<Vec<u8>>>>);

impl Refusals {
    fn values(&self) -> MutexGuard<'_, BTreeSet<Vec<u8>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The attempt with that value was refused.
    pub(super) fn add(&self, value: &[u8]) {
        self.values().insert(value.to_vec());
    }

    fn has(&self, value: &[u8]) -> bool {
        self.values().contains(value)
    }
}

/// A node over redis-rs, carelessly where the scenario says so.
#[derive(Clone, Debug)]
pub(super) struct LockNode {
    redis: RedisNode<HostConnect>,
    from: Host,
    acquire: Acquire,
    failed_attempt: FailedAttempt,
    refusals: Refusals,
    /// How many replicas must have the key; zero for none.
    wait: u32,
    /// How long they have for it.
    patience: Duration,
}

impl LockNode {
    pub(super) fn new(connect: HostConnect, plan: &SystemPlan, refusals: Refusals) -> Self {
        Self {
            from: connect.from,
            redis: RedisNode::new(connect),
            acquire: plan.acquire,
            failed_attempt: plan.failed_attempt,
            wait: plan.failover.as_ref().map_or(0, |failover| failover.wait),
            patience: plan.node_timeout,
            refusals,
        }
    }

    /// `SET key value XX PX ttl` (000, "Lock Extension"). It does not ask whose key it is: `Done` says only that there
    /// was one.
    pub(super) async fn set_xx(
        &self,
        key: &[u8],
        value: &[u8],
        ttl: Duration,
    ) -> Result<Compared, NodeError> {
        let mut set = redis::cmd("SET");
        set.arg(key).arg(value).arg("XX").arg("PX").arg(millis(ttl));
        match self.redis.command(&set).await? {
            Value::Okay => Ok(Compared::Done),
            Value::Nil => Ok(Compared::Missing),
            other => Err(unexpected("SET", &other)),
        }
    }

    async fn setnx_then_expire(
        &self,
        key: &[u8],
        value: &[u8],
        ttl: Duration,
    ) -> Result<bool, NodeError> {
        let mut setnx = redis::cmd("SETNX");
        setnx.arg(key).arg(value);
        if self.number(&setnx).await? == 0 {
            return Ok(false);
        }
        self.from.mark("set").await;
        let mut expire = redis::cmd("PEXPIRE");
        expire.arg(key).arg(millis(ttl));
        Ok(self.number(&expire).await? == 1)
    }

    /// Plain DEL (000, step 6).
    async fn delete(&self, key: &[u8]) -> Result<Compared, NodeError> {
        let mut delete = redis::cmd("DEL");
        delete.arg(key);
        Ok(match self.number(&delete).await? {
            0 => Compared::Missing,
            _ => Compared::Done,
        })
    }

    /// Enough replicas have the key, by WAIT; else it does not count as granted.
    async fn acknowledged(&self) -> Result<(), NodeError> {
        let mut wait = redis::cmd("WAIT");
        wait.arg(self.wait).arg(millis(self.patience));
        match self.number(&wait).await? {
            replicas if replicas >= i64::from(self.wait) => Ok(()),
            replicas => Err(NodeError::Other(format!(
                "{replicas} of {} replicas have acknowledged",
                self.wait
            ))),
        }
    }

    /// The next number of the lock's counter, which stands beside its key (000, "Fencing Token").
    pub(super) async fn count(&self, key: &[u8]) -> Result<u64, NodeError> {
        let mut incr = redis::cmd("INCR");
        incr.arg([key, b":token"].concat());
        let number = self.number(&incr).await?;
        u64::try_from(number).map_err(|_| unexpected("INCR", &Value::Int(number)))
    }

    async fn number(&self, command: &Cmd) -> Result<i64, NodeError> {
        match self.redis.command(command).await? {
            Value::Int(number) => Ok(number),
            other => Err(unexpected("the command", &other)),
        }
    }
}

fn millis(span: Duration) -> u64 {
    u64::try_from(span.as_millis()).unwrap_or(u64::MAX)
}

fn unexpected(command: &str, answer: &Value) -> NodeError {
    NodeError::UnexpectedAnswer(format!("{command} answered {answer:?}"))
}

impl Node for LockNode {
    fn id(&self) -> NodeId {
        self.redis.id()
    }

    async fn set_nx_px(&self, key: &[u8], value: &[u8], ttl: Duration) -> Result<bool, NodeError> {
        let set = match self.acquire {
            Acquire::SetNxPx => self.redis.set_nx_px(key, value, ttl).await?,
            Acquire::SetnxThenExpire => self.setnx_then_expire(key, value, ttl).await?,
        };
        if set && self.wait > 0 {
            self.acknowledged().await?;
        }
        Ok(set)
    }

    async fn compare_and_delete(&self, key: &[u8], value: &[u8]) -> Result<Compared, NodeError> {
        match self.failed_attempt {
            FailedAttempt::Del if self.refusals.has(value) => self.delete(key).await,
            FailedAttempt::Del | FailedAttempt::Lua => {
                self.redis.compare_and_delete(key, value).await
            }
        }
    }

    fn compare_and_pexpire(
        &self,
        key: &[u8],
        value: &[u8],
        ttl: Duration,
    ) -> impl Future<Output = Result<Compared, NodeError>> + Send {
        self.redis.compare_and_pexpire(key, value, ttl)
    }
}
