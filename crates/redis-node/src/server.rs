//! The server loop: bytes in, requests to a handler, replies out, over any stream.
//!
//! The loop knows nothing of nodes. Whoever drives it implements [`Handler`]: a real server around one
//! [`crate::Node`], or a simulated process that can be stopped between a request that was applied and its
//! reply.

mod hub;

use std::future::{Future, poll_fn};
use std::io;
use std::mem::MaybeUninit;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::{Bytes, BytesMut};
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt, ReadBuf};

use crate::request::{Decoder, Limits, ProtocolError};
use crate::{Protocol, Reply};

pub use hub::{Hub, HubConnection};

/// Executes the requests of one connection.
pub trait Handler {
    /// Executes one request and appends the encoded replies to `out`.
    ///
    /// The next request of the connection is looked at when the future is done. Not `Send`: a simulated
    /// process is one thread.
    fn handle(&mut self, request: Vec<Bytes>, out: &mut BytesMut) -> impl Future<Output = Next>;

    /// What this connection is to be sent although it asked for nothing now: messages of a subscription, or
    /// a reply that had to wait. Appends to `out` and says `Ready`, or keeps the waker.
    ///
    /// There is none by default.
    fn poll_outgoing(&mut self, _context: &mut Context<'_>, _out: &mut BytesMut) -> Poll<()> {
        Poll::Pending
    }

    /// Whether the server has given the connection up, for a reason that is not a request of its own.
    ///
    /// Looked at after what is outgoing was sent.
    fn is_closed(&self) -> bool {
        false
    }

    /// What this connection may make the server hold.
    fn limits(&self) -> Limits {
        Limits::default()
    }
}

/// What becomes of the connection after a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// It goes on.
    Continue,
    /// It is closed after what is in `out` was sent.
    Close,
}

/// Replies are sent on before they take more than this, even if more requests are at hand.
const SENT_AT: usize = 64 << 10;
const READ_AT_ONCE: usize = 16 << 10;

/// Serves one connection until the client closes it or the handler says so.
///
/// Requests are executed in order; the replies to requests that arrived together leave together. Bytes that
/// are no request are answered with Redis's protocol error, and the connection is closed.
///
/// # Errors
/// What the stream reports.
pub async fn serve<S, H>(mut stream: S, mut handler: H) -> io::Result<()>
where
    S: AsyncRead + AsyncWrite + Unpin,
    H: Handler,
{
    let mut decoder = Decoder::new(handler.limits());
    let mut out = BytesMut::new();
    loop {
        match execute(&mut stream, &mut handler, &mut decoder, &mut out).await? {
            Next::Continue => {
                flush(&mut stream, &mut out).await?;
                if handler.is_closed() {
                    return stream.shutdown().await;
                }
            }
            Next::Close => {
                flush(&mut stream, &mut out).await?;
                return stream.shutdown().await;
            }
        }
        if poll_fn(|context| wait(&mut stream, &mut handler, &mut decoder, &mut out, context))
            .await?
            == Event::Closed
        {
            return Ok(());
        }
    }
}

/// Executes all complete requests.
async fn execute<S, H>(
    stream: &mut S,
    handler: &mut H,
    decoder: &mut Decoder,
    out: &mut BytesMut,
) -> io::Result<Next>
where
    S: AsyncWrite + Unpin,
    H: Handler,
{
    loop {
        match decoder.next() {
            Ok(None) => return Ok(Next::Continue),
            Ok(Some(request)) => {
                if handler.handle(request, out).await == Next::Close {
                    return Ok(Next::Close);
                }
                if out.len() > SENT_AT {
                    flush(stream, out).await?;
                }
            }
            Err(error) => {
                refuse(&error, out);
                return Ok(Next::Close);
            }
        }
    }
}

fn refuse(error: &ProtocolError, out: &mut BytesMut) {
    // An error looks the same in both protocols.
    Reply::error(error.to_string()).encode(Protocol::Resp2, out);
}

async fn flush<S: AsyncWrite + Unpin>(stream: &mut S, out: &mut BytesMut) -> io::Result<()> {
    if out.is_empty() {
        return Ok(());
    }
    stream.write_all(out).await?;
    out.clear();
    stream.flush().await
}

#[derive(PartialEq, Eq)]
enum Event {
    Bytes,
    Outgoing,
    Closed,
}

/// Waits for bytes of the client or for something to send it, the latter first.
fn wait<S, H>(
    stream: &mut S,
    handler: &mut H,
    decoder: &mut Decoder,
    out: &mut BytesMut,
    context: &mut Context<'_>,
) -> Poll<io::Result<Event>>
where
    S: AsyncRead + Unpin,
    H: Handler,
{
    if handler.poll_outgoing(context, out).is_ready() {
        return Poll::Ready(Ok(Event::Outgoing));
    }
    let mut bytes = [MaybeUninit::uninit(); READ_AT_ONCE];
    let mut buffer = ReadBuf::uninit(&mut bytes);
    let read = Pin::new(stream).poll_read(context, &mut buffer);
    read.map_ok(|()| {
        decoder.feed(buffer.filled());
        if buffer.filled().is_empty() {
            Event::Closed
        } else {
            Event::Bytes
        }
    })
}
