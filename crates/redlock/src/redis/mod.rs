//! The ports on tokio and redis-rs, for production.
//!
//! - [`connect`]: a lock on servers, from their URLs.
//! - [`RedisNode`]: a [`Node`](crate::Node) over any connection of redis-rs, generic over [`Connect`]: the
//!   one adapter that knows commands, scripts and answers. [`TcpConnect`] reaches real servers.
//! - [`TokioPorts`]: clock (monotonic or wall), the operating system's random numbers, spawning.

mod answer;
mod node;
mod runtime;
mod tcp;

pub use node::{Connect, EXTEND_SCRIPT, OnTimeout, RELEASE_SCRIPT, RedisNode};
pub use runtime::{Elapsed, NoRuntime, OsEntropy, TokioClock, TokioPorts, TokioSpawn};
pub use tcp::TcpConnect;

use crate::{Builder, Redlock};

/// Why [`connect`] has no lock to build.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConnectError {
    /// Not called within a tokio runtime.
    #[error(transparent)]
    NoRuntime(#[from] NoRuntime),
    /// A URL cannot be read. The text does not show it: it may hold a password.
    #[error("URL number {number} of the list: {source}")]
    Url {
        /// Its place in the list, from 1.
        number: usize,
        /// What redis-rs says of it.
        source: ::redis::RedisError,
    },
}

/// Settings for a lock on real servers by their URLs (`redis://host:port`), measured by the monotonic clock
/// of the current tokio runtime.
///
/// Nothing is connected yet: each node connects when it is first asked, within the timeout of a node.
///
/// # Errors
///
/// [`ConnectError`] outside of a tokio runtime, or for a URL that redis-rs cannot read.
pub fn connect<U>(
    urls: impl IntoIterator<Item = U>,
) -> Result<Builder<TokioPorts<RedisNode<TcpConnect>>>, ConnectError>
where
    U: ::redis::IntoConnectionInfo,
{
    let mut builder = Redlock::builder(TokioPorts::current(Elapsed::Monotonic)?);
    for (index, url) in urls.into_iter().enumerate() {
        let tcp = TcpConnect::new(url).map_err(|source| ConnectError::Url {
            number: index + 1,
            source,
        })?;
        builder = builder.node(RedisNode::new(tcp));
    }
    Ok(builder)
}
