//! Bytes that a service wants sent and that no request asked for, until the task of their stream takes them.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

use bytes::BytesMut;
use redis_node::{ConnectionId, LinkId};

use crate::host::Host;

/// Whose bytes they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Address {
    /// A client's connection.
    Client(ConnectionId),
    /// A link between servers, as the host at this end calls it.
    Link(Host, LinkId),
}

#[derive(Default)]
struct Outbox {
    bytes: BytesMut,
    closed: bool,
    waker: Option<Waker>,
}

/// All outboxes of a world.
#[derive(Clone, Default)]
pub(super) struct Outboxes(Rc<RefCell<BTreeMap<Address, Outbox>>>);

impl Outboxes {
    /// A stream takes its bytes from here from now on.
    pub(super) fn open(&self, address: Address) -> OpenOutbox {
        self.0.borrow_mut().insert(address, Outbox::default());
        OpenOutbox {
            outboxes: self.clone(),
            address,
        }
    }

    /// Adds bytes, if there is a stream to take them.
    pub(super) fn push(&self, address: Address, bytes: &[u8]) {
        self.change(address, |outbox| outbox.bytes.extend_from_slice(bytes));
    }

    /// Lets the stream end after what is there.
    pub(super) fn close(&self, address: Address) {
        self.change(address, |outbox| outbox.closed = true);
    }

    fn change(&self, address: Address, change: impl FnOnce(&mut Outbox)) {
        let waker = self.0.borrow_mut().get_mut(&address).and_then(|outbox| {
            change(outbox);
            outbox.waker.take()
        });
        if let Some(waker) = waker {
            waker.wake();
        }
    }
}

/// The outbox of a stream that exists; it goes with the stream.
pub(super) struct OpenOutbox {
    outboxes: Outboxes,
    address: Address,
}

impl OpenOutbox {
    /// Bytes to send, or `None` when the stream is to end.
    pub(super) fn poll(&self, context: &Context<'_>) -> Poll<Option<BytesMut>> {
        let mut all = self.outboxes.0.borrow_mut();
        let Some(outbox) = all.get_mut(&self.address) else {
            return Poll::Ready(None);
        };
        if !outbox.bytes.is_empty() {
            return Poll::Ready(Some(outbox.bytes.split()));
        }
        if outbox.closed {
            return Poll::Ready(None);
        }
        outbox.waker = Some(context.waker().clone());
        Poll::Pending
    }
}

impl Drop for OpenOutbox {
    fn drop(&mut self) {
        self.outboxes.0.borrow_mut().remove(&self.address);
    }
}
