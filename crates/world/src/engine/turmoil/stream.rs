//! TCP streams that can be reset from outside, as a peer does that has given up on them.

use std::cell::RefCell;
use std::future::{Future, poll_fn};
use std::io;
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::task::{Context, Poll, Waker};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::host::Host;

/// All streams of a world.
#[derive(Clone, Default)]
pub(super) struct Severs(Rc<RefCell<Vec<Between>>>);

/// A stream between two hosts, while there is one.
type Between = (Host, Host, Weak<State>);

/// Says of one stream whether it was reset.
#[derive(Clone)]
pub(super) struct Sever(Arc<State>);

#[derive(Default)]
struct State {
    severed: AtomicBool,
    waker: Mutex<Option<Waker>>,
}

impl Severs {
    /// A new stream between two hosts.
    pub(super) fn add(&self, a: Host, b: Host) -> Sever {
        let state = Arc::new(State::default());
        let mut all = self.0.borrow_mut();
        all.retain(|(_, _, state)| state.strong_count() > 0);
        all.push((a, b, Arc::downgrade(&state)));
        Sever(state)
    }

    /// Resets all streams between two hosts.
    pub(super) fn sever(&self, a: Host, b: Host) {
        for (from, to, state) in self.0.borrow().iter() {
            if ((*from, *to) == (a, b) || (*from, *to) == (b, a))
                && let Some(state) = state.upgrade()
            {
                state.severed.store(true, Ordering::Relaxed);
                let waker = state
                    .waker
                    .lock()
                    .unwrap_or_else(PoisonError::into_inner)
                    .take();
                if let Some(waker) = waker {
                    waker.wake();
                }
            }
        }
    }
}

impl Sever {
    fn check(&self, cx: &Context<'_>) -> io::Result<()> {
        if self.0.severed.load(Ordering::Relaxed) {
            return Err(io::Error::new(
                io::ErrorKind::ConnectionReset,
                "the connection was reset",
            ));
        }
        *self.0.waker.lock().unwrap_or_else(PoisonError::into_inner) = Some(cx.waker().clone());
        Ok(())
    }

    /// What `future` says, unless the stream is reset before.
    pub(super) async fn or_severed<T>(
        &self,
        future: impl Future<Output = io::Result<T>>,
    ) -> io::Result<T> {
        let mut future = pin!(future);
        poll_fn(|cx| match self.check(cx) {
            Ok(()) => future.as_mut().poll(cx),
            Err(error) => Poll::Ready(Err(error)),
        })
        .await
    }
}

/// A stream that fails once it was reset.
pub(super) struct Severable<S> {
    stream: S,
    sever: Sever,
}

impl<S> Severable<S> {
    pub(super) fn new(stream: S, sever: Sever) -> Self {
        Self { stream, sever }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Severable<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        self.sever.check(cx)?;
        Pin::new(&mut self.stream).poll_read(cx, buf)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Severable<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.sever.check(cx)?;
        Pin::new(&mut self.stream).poll_write(cx, buf)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}
