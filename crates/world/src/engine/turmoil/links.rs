//! Links between servers: streams of bytes beside the clients' port.

use std::future::poll_fn;
use std::io;
use std::net::Ipv4Addr;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::{Bytes, BytesMut};
use redis_node::LinkId;
use tokio::io::{AsyncRead, AsyncWriteExt, ReadBuf};
use turmoil::net::{TcpListener, TcpStream};

use super::outbox::{Address, OpenOutbox, Outboxes};
use super::stream::{Sever, Severable, Severs};
use crate::core::with;
use crate::host::Host;

/// Where links arrive; Redis has them on the clients' port, where the first command tells them apart.
const LINK_PORT: u16 = 16_379;

/// Accepts links until the process ends.
pub(super) async fn accept(server: Host, severs: Severs, outboxes: Outboxes) {
    let Ok(listener) = TcpListener::bind((Ipv4Addr::UNSPECIFIED, LINK_PORT)).await else {
        return;
    };
    while let Ok((stream, address)) = listener.accept().await {
        let peer = turmoil::reverse_lookup(address.ip()).and_then(|name| Host::find(&name));
        let Some(peer) = peer else { continue };
        let stream = Severable::new(stream, severs.add(server, peer));
        let link = LinkId::Incoming(with(|core| core.next_connection(peer)));
        server.spawn(carry(server, peer, link, stream, outboxes.clone()));
    }
}

/// Opens a link that `host` asks for.
pub(super) async fn open(host: Host, peer: Host, link: LinkId, sever: Sever, outboxes: Outboxes) {
    let name = peer.name().to_string();
    match sever
        .or_severed(TcpStream::connect((name, LINK_PORT)))
        .await
    {
        Ok(stream) => carry(host, peer, link, Severable::new(stream, sever), outboxes).await,
        Err(_) => with(|core| core.link_closed(host, link)),
    }
}

/// Carries bytes both ways until one end closes.
async fn carry(
    host: Host,
    peer: Host,
    link: LinkId,
    mut stream: Severable<TcpStream>,
    outboxes: Outboxes,
) {
    let outbox = outboxes.open(Address::Link(host, link));
    with(|core| core.link_opened(host, link, peer));
    let told = loop {
        match poll_fn(|context| next(&mut stream, &outbox, context)).await {
            Ok(Next::Received(bytes)) => with(|core| core.link_received(host, link, bytes)),
            Ok(Next::Send(bytes)) => {
                if stream.write_all(&bytes).await.is_err() {
                    break true;
                }
            }
            // The service itself has closed it and wants no word of it.
            Ok(Next::CloseHere) => break false,
            Ok(Next::ClosedThere) | Err(_) => break true,
        }
    };
    drop(outbox);
    if told {
        with(|core| core.link_closed(host, link));
    }
}

enum Next {
    Received(Bytes),
    Send(BytesMut),
    CloseHere,
    ClosedThere,
}

/// What is to be sent goes first.
fn next(
    stream: &mut Severable<TcpStream>,
    outbox: &OpenOutbox,
    context: &mut Context<'_>,
) -> Poll<io::Result<Next>> {
    match outbox.poll(context) {
        Poll::Ready(Some(filled)) => return Poll::Ready(Ok(Next::Send(filled.bytes))),
        Poll::Ready(None) => return Poll::Ready(Ok(Next::CloseHere)),
        Poll::Pending => {}
    }
    let mut bytes = [0; 16 << 10];
    let mut buffer = ReadBuf::new(&mut bytes);
    Pin::new(stream)
        .poll_read(context, &mut buffer)
        .map_ok(|()| match buffer.filled() {
            [] => Next::ClosedThere,
            filled => Next::Received(Bytes::copy_from_slice(filled)),
        })
}
