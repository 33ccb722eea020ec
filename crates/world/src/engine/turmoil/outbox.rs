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

/// Bytes that are to be sent.
#[derive(Default)]
pub(super) struct Filled {
    pub(super) bytes: BytesMut,
    /// How many replies to commands that met a key are among them.
    pub(super) keyed: u32,
}

#[derive(Default)]
struct Outbox {
    filled: Filled,
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

    /// Adds bytes, if there is a stream to take them. `keyed`: they are the reply to a command that met a key.
    pub(super) fn push(&self, address: Address, bytes: &[u8], keyed: bool) {
        self.change(address, |outbox| {
            outbox.filled.bytes.extend_from_slice(bytes);
            outbox.filled.keyed += u32::from(keyed);
        });
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
    /// What is there to be sent now.
    pub(super) fn take(&self) -> Filled {
        let mut all = self.outboxes.0.borrow_mut();
        all.get_mut(&self.address)
            .map(|outbox| std::mem::take(&mut outbox.filled))
            .unwrap_or_default()
    }

    /// Whether the stream is to end after what is there.
    pub(super) fn is_closed(&self) -> bool {
        let all = self.outboxes.0.borrow();
        all.get(&self.address).is_none_or(|outbox| outbox.closed)
    }

    /// Bytes to send, or `None` when the stream is to end.
    pub(super) fn poll(&self, context: &Context<'_>) -> Poll<Option<Filled>> {
        let mut all = self.outboxes.0.borrow_mut();
        let Some(outbox) = all.get_mut(&self.address) else {
            return Poll::Ready(None);
        };
        if !outbox.filled.bytes.is_empty() {
            return Poll::Ready(Some(std::mem::take(&mut outbox.filled)));
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
