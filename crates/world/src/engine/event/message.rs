//! What travels between hosts.

use bytes::Bytes;
use redis_node::Reply;

use crate::host::Host;

/// A message on its way.
pub(crate) struct Message {
    pub(crate) connection: u64,
    pub(crate) from: Host,
    pub(crate) to: Host,
    /// How often the link had lost messages when this one was sent.
    pub(crate) drops: u64,
    pub(crate) payload: Payload,
}

pub(crate) enum Payload {
    // From a client.
    Connect,
    Request {
        arguments: Vec<Bytes>,
    },
    Close,
    /// Bytes on a link, from the server that asked for it.
    Up {
        bytes: Bytes,
    },
    // From a server or its kernel.
    Accepted,
    Refused,
    Reply {
        reply: Reply,
    },
    Closed,
    /// Bytes on a link, to the server that asked for it.
    Down {
        bytes: Bytes,
    },
}

impl Message {
    /// A message the other way.
    pub(crate) fn answer(&self, payload: Payload) -> Self {
        Self {
            connection: self.connection,
            from: self.to,
            to: self.from,
            drops: 0,
            payload,
        }
    }

    pub(crate) fn to_client(&self) -> bool {
        matches!(
            self.payload,
            Payload::Accepted
                | Payload::Refused
                | Payload::Reply { .. }
                | Payload::Closed
                | Payload::Down { .. }
        )
    }
}
