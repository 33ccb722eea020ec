//! Reaching a real server over TCP or a Unix socket.

use redis::aio::MultiplexedConnection;
use redis::{AsyncConnectionConfig, Client, ErrorKind, IntoConnectionInfo, RedisResult};
use tokio::runtime::Handle;

use super::node::Connect;

/// Connects to one server by redis-rs, on the tokio runtime of the caller.
#[derive(Clone, Debug)]
pub struct TcpConnect {
    client: Client,
}

impl TcpConnect {
    /// A server by its URL or connection info. Nothing is connected yet.
    ///
    /// # Errors
    ///
    /// What redis-rs cannot read.
    pub fn new(info: impl IntoConnectionInfo) -> RedisResult<Self> {
        Client::open(info).map(|client| TcpConnect { client })
    }
}

impl Connect for TcpConnect {
    type Connection = MultiplexedConnection;

    async fn connect(&self) -> RedisResult<MultiplexedConnection> {
        if Handle::try_current().is_err() {
            return Err((ErrorKind::InvalidClientConfig, "not within a tokio runtime").into());
        }
        // The lock bounds every command, its connecting included; a second bound below that would only
        // blur which of the two ended it.
        let config = AsyncConnectionConfig::new()
            .set_response_timeout(None)
            .set_connection_timeout(None);
        self.client
            .get_multiplexed_async_connection_with_config(&config)
            .await
    }

    /// Host and port, without the database: two databases of one server fail together, and are one node.
    fn name(&self) -> String {
        self.client.get_connection_info().addr().to_string()
    }
}
