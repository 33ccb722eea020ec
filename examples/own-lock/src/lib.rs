//! A lock on one Redis server, as many have written it: `SET key value NX PX ttl` to acquire, `DEL key` to release.

use redis::aio::ConnectionLike;
use redis::{RedisResult, Script};

/// Sets the key if it is not there; whether it was not.
///
/// # Errors
/// What the server or the connection said.
pub async fn acquire<C: ConnectionLike>(
    redis: &mut C,
    key: &str,
    value: &str,
    ttl_ms: u64,
) -> RedisResult<bool> {
    let mut set = redis::cmd("SET");
    set.arg(key).arg(value).arg("NX").arg("PX").arg(ttl_ms);
    Ok(set.query_async::<Option<String>>(redis).await?.is_some())
}

/// How a holder gives its lock back.
#[derive(Clone, Copy, Debug)]
pub enum Release {
    /// Deletes the key, whoever has set it: the bug.
    Del,
    /// Deletes the key if it still has the holder's value.
    CompareAndDelete,
}

/// Deletes the key; whether it was there.
///
/// # Errors
/// What the server or the connection said.
pub async fn release<C: ConnectionLike>(
    redis: &mut C,
    how: Release,
    key: &str,
    value: &str,
) -> RedisResult<bool> {
    match how {
        Release::Del => redis::cmd("DEL").arg(key).query_async(redis).await,
        Release::CompareAndDelete => {
            let text =
                "return redis.call('GET', KEYS[1]) == ARGV[1] and redis.call('DEL', KEYS[1]) or 0";
            Script::new(text)
                .key(key)
                .arg(value)
                .invoke_async(redis)
                .await
        }
    }
}
