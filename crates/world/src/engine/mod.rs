//! What an engine must do. All the rest (hosts, clocks, tasks, timers, faults, history) is shared.

pub(crate) mod event;
pub(crate) mod turmoil;

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::str::FromStr;
use std::time::Duration;

use fencepost_checker::history::{Crash, Cut};
use redis::RedisResult;
use redis_node::{ConnectionId, LinkEffect};
use serde::{Deserialize, Serialize};

use crate::connection::Connection;
use crate::core::Core;
use crate::host::Host;
use crate::serving::Outgoing;

/// The connection that a client is waiting for.
pub(crate) type Connecting = Pin<Box<dyn Future<Output = RedisResult<Connection>> + Send>>;

/// The transport and the passing of time.
pub(crate) trait Engine {
    /// Opens a connection between two hosts.
    fn connect(&self, core: &Core, from: Host, to: Host) -> Connecting;

    /// A message has come to the end of its way. Only for the engine that puts messages into the queue.
    fn deliver(&self, _core: &Core, _message: usize) {}

    /// A client sends on a connection of the event engine.
    fn send_from_client(&self, _core: &Core, _connection: u64, _payload: event::Payload) {}

    /// The connections of the event engine.
    fn event_connections(&self) -> Option<&event::Connections> {
        None
    }

    /// A server sends a client what is no answer to the request at hand.
    fn reply(&self, core: &Core, server: Host, reply: Outgoing);

    /// A server closes a client's connection, after what it has sent on it.
    fn close(&self, core: &Core, server: Host, connection: ConnectionId);

    /// A server wants something done to a link between servers.
    fn link(&self, core: &Core, host: Host, effect: LinkEffect);

    /// A host's process started; if it is a server, clients may connect.
    fn started(&self, core: &Core, host: Host);

    /// A host's process ended. Its tasks are doomed already; the engine buries them.
    fn ended(&self, core: &Core, host: Host, how: Crash);

    /// A stopped host goes on.
    fn resumed(&self, core: &Core, host: Host);

    /// The links between two hosts were cut, or are a little more cut than before.
    fn cut(&self, core: &Core, a: Host, b: Host);

    /// One of the cuts between two hosts ended.
    fn healed(&self, core: &Core, a: Host, b: Host, how: Cut);

    /// The connections between two hosts are reset.
    fn reset(&self, core: &Core, a: Host, b: Host);

    /// The next message from one host to the other comes later by so much.
    fn late_packet(&self, core: &Core, from: Host, to: Host, extra: Duration);

    /// Messages between two hosts take a different time from now on.
    fn delayed(&self, core: &Core, a: Host, b: Host);

    /// Lets time pass until the run is over ([`Core::over`]).
    fn run(&self, core: &Core);
}

/// The two engines.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum EngineKind {
    /// Discrete events at nanosecond precision; commands travel as arguments. For sweeps; the default.
    #[default]
    Event,
    /// Stock turmoil: ticks of a millisecond, RESP bytes on simulated TCP, read by the real redis-rs client.
    Turmoil,
}

impl EngineKind {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Event, Self::Turmoil];

    /// The name on the command line and in histories.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Event => "event",
            Self::Turmoil => "turmoil",
        }
    }
}

impl fmt::Display for EngineKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Neither `event` nor `turmoil`.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("there is no engine {0:?}; there are \"event\" and \"turmoil\"")]
pub struct UnknownEngine(String);

impl FromStr for EngineKind {
    type Err = UnknownEngine;

    fn from_str(name: &str) -> Result<Self, UnknownEngine> {
        Self::ALL
            .into_iter()
            .find(|kind| kind.name() == name)
            .ok_or_else(|| UnknownEngine(name.to_owned()))
    }
}
