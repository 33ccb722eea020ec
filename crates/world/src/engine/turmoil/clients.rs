//! The server's end of clients' connections.

use std::net::Ipv4Addr;
use std::task::{Context, Poll};

use bytes::{Bytes, BytesMut};
use redis_node::ConnectionId;
use redis_node::server::{Handler, Next};
use turmoil::net::{TcpListener, TcpStream};

use super::outbox::{Address, Filled, OpenOutbox, Outboxes};
use super::stream::{Severable, Severs};
use crate::core::{Core, with};
use crate::host::Host;
use crate::serving::{PORT, Request};

/// Accepts connections until the process ends.
pub(super) async fn accept(server: Host, severs: Severs, outboxes: Outboxes) {
    let Ok(listener) = TcpListener::bind((Ipv4Addr::UNSPECIFIED, PORT)).await else {
        return;
    };
    while let Ok((stream, address)) = listener.accept().await {
        let peer = turmoil::reverse_lookup(address.ip()).and_then(|name| Host::find(&name));
        let Some(peer) = peer else { continue };
        let stream = Severable::new(stream, severs.add(server, peer));
        server.spawn(serve(server, peer, stream, outboxes.clone()));
    }
}

async fn serve(server: Host, peer: Host, stream: Severable<TcpStream>, outboxes: Outboxes) {
    let (connection, process) = with(|core| {
        let connection = ConnectionId(core.next_connection(peer));
        if let Some(service) = &core.of(server).service {
            service.borrow_mut().connected(connection, peer);
        }
        (connection, core.executor.process(server))
    });
    let outbox = outboxes.open(Address::Client(connection));
    let served = Served {
        server,
        peer,
        connection,
        process,
        outbox,
        replied: 0,
    };
    // What the stream reports is what ended the connection; there is nobody to tell.
    drop(redis_node::server::serve(stream, served).await);
}

/// The server's end of a connection.
struct Served {
    server: Host,
    peer: Host,
    connection: ConnectionId,
    /// The process that accepted it.
    process: u64,
    outbox: OpenOutbox,
    /// Replies to commands that met a key, written and not yet announced as sent.
    replied: u32,
}

impl Served {
    fn send(&mut self, filled: &Filled, out: &mut BytesMut) {
        out.extend_from_slice(&filled.bytes);
        self.replied += filled.keyed;
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        Core::if_running(|core| {
            if core.executor.process(self.server) == self.process
                && let Some(service) = &core.of(self.server).service
            {
                service.borrow_mut().disconnected(self.connection);
            }
        });
    }
}

impl Handler for Served {
    async fn handle(&mut self, arguments: Vec<Bytes>, out: &mut BytesMut) -> Next {
        self.server.gate().await;
        if self.outbox.is_closed() {
            let last = self.outbox.take();
            self.send(&last, out);
            return Next::Close;
        }
        let (server, peer, connection) = (self.server, self.peer, self.connection);
        let answered = with(|core| {
            core.serve(&Request {
                server,
                peer,
                connection,
                arguments: &arguments,
            })
        });
        server.gate().await;
        // What came before the request goes out before its reply.
        let before = self.outbox.take();
        self.send(&before, out);
        with(|core| {
            let Some(service) = &core.of(server).service else {
                return;
            };
            let protocol = service.borrow().protocol(connection);
            for answer in &answered.replies {
                answer.reply.encode(protocol, out);
                self.replied += u32::from(answer.keyed);
            }
        });
        if answered.close {
            Next::Close
        } else {
            Next::Continue
        }
    }

    /// The loop asks for more when it has written all: so the replies are out.
    fn poll_outgoing(&mut self, context: &mut Context<'_>, out: &mut BytesMut) -> Poll<()> {
        for _ in 0..std::mem::take(&mut self.replied) {
            with(|core| core.replied(self.server, self.peer));
        }
        match self.outbox.poll(context) {
            Poll::Ready(Some(filled)) => {
                self.send(&filled, out);
                Poll::Ready(())
            }
            Poll::Ready(None) => Poll::Ready(()),
            Poll::Pending => Poll::Pending,
        }
    }

    fn is_closed(&self) -> bool {
        self.outbox.is_closed()
    }
}
