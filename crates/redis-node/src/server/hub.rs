//! One node behind many connections: replies and pushes find their connection, time finds the node.
//!
//! This is what a real server is made of; a simulated one has reasons to do it in its own way.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

use bytes::{Bytes, BytesMut};

use super::{Handler, Next};
use crate::{ConnectionId, Effects, Node, Stop, UnixTime};

/// A node that connections share.
#[derive(Debug)]
pub struct Hub<C> {
    inner: Rc<RefCell<Inner>>,
    clock: C,
}

impl<C: Clone> Clone for Hub<C> {
    fn clone(&self) -> Self {
        Hub {
            inner: Rc::clone(&self.inner),
            clock: self.clock.clone(),
        }
    }
}

#[derive(Debug)]
struct Inner {
    node: Node,
    connections: BTreeMap<ConnectionId, Outgoing>,
    last: u64,
    exit: Option<Stop>,
}

/// What a connection is to be sent.
#[derive(Debug, Default)]
struct Outgoing {
    bytes: BytesMut,
    closed: bool,
    waker: Option<Waker>,
}

impl<C: Fn() -> UnixTime + Clone> Hub<C> {
    /// A node and the wall clock that it goes by.
    pub fn new(node: Node, clock: C) -> Self {
        let inner = Inner {
            node,
            connections: BTreeMap::new(),
            last: 0,
            exit: None,
        };
        Hub {
            inner: Rc::new(RefCell::new(inner)),
            clock,
        }
    }

    /// Accepts a connection; [`super::serve`] drives it.
    pub fn accept(&self) -> HubConnection<C> {
        let mut inner = self.inner.borrow_mut();
        inner.last += 1;
        let id = ConnectionId(inner.last);
        inner.node.connected(id);
        inner.connections.insert(id, Outgoing::default());
        HubConnection {
            hub: self.clone(),
            id,
        }
    }

    /// When [`Hub::tick`] wants to be called; it changes with every request.
    pub fn next_deadline(&self) -> Option<UnixTime> {
        self.inner.borrow().node.next_deadline()
    }

    /// Whether the process wants to end, after `SHUTDOWN`; all connections are closed then.
    ///
    /// Links between nodes are not served here: a hub's node has no replicas.
    pub fn exit(&self) -> Option<Stop> {
        self.inner.borrow().exit
    }

    /// Lets the node do what time alone brings about.
    pub fn tick(&self) {
        let mut inner = self.inner.borrow_mut();
        let effects = inner.node.tick((self.clock)());
        inner.deliver(effects, None);
    }
}

impl Inner {
    /// Hands out replies and pushes. Those of the connection that asked go where it said.
    fn deliver(&mut self, effects: Effects, mut asker: Option<(ConnectionId, &mut BytesMut)>) {
        for (to, reply) in effects.replies {
            let protocol = self.node.protocol(to);
            match &mut asker {
                Some((id, out)) if *id == to => reply.encode(protocol, out),
                _ => {
                    if let Some(outgoing) = self.connections.get_mut(&to) {
                        reply.encode(protocol, &mut outgoing.bytes);
                        outgoing.wake();
                    }
                }
            }
        }
        let mut closed = self.node.take_closed();
        if let Some(exit) = effects.exit {
            self.exit = Some(exit);
            closed = self.connections.keys().copied().collect();
        }
        for closed in closed {
            if let Some(outgoing) = self.connections.get_mut(&closed) {
                outgoing.closed = true;
                outgoing.wake();
            }
        }
    }
}

impl Outgoing {
    fn wake(&mut self) {
        if let Some(waker) = self.waker.take() {
            waker.wake();
        }
    }
}

/// One connection of a [`Hub`]; the node forgets it when it is dropped.
#[derive(Debug)]
pub struct HubConnection<C: Fn() -> UnixTime + Clone> {
    hub: Hub<C>,
    id: ConnectionId,
}

impl<C: Fn() -> UnixTime + Clone> Handler for HubConnection<C> {
    async fn handle(&mut self, request: Vec<Bytes>, out: &mut BytesMut) -> Next {
        let mut inner = self.hub.inner.borrow_mut();
        // What came before the request goes out before its reply.
        if let Some(outgoing) = inner.connections.get_mut(&self.id) {
            out.unsplit(outgoing.bytes.split());
        }
        let effects = inner.node.handle((self.hub.clock)(), self.id, &request);
        let close = effects.close || effects.exit.is_some();
        inner.deliver(effects, Some((self.id, out)));
        if close { Next::Close } else { Next::Continue }
    }

    fn poll_outgoing(&mut self, context: &mut Context<'_>, out: &mut BytesMut) -> Poll<()> {
        let mut inner = self.hub.inner.borrow_mut();
        let Some(outgoing) = inner.connections.get_mut(&self.id) else {
            return Poll::Pending;
        };
        if outgoing.bytes.is_empty() && !outgoing.closed {
            outgoing.waker = Some(context.waker().clone());
            return Poll::Pending;
        }
        out.unsplit(outgoing.bytes.split());
        Poll::Ready(())
    }

    fn is_closed(&self) -> bool {
        let inner = self.hub.inner.borrow();
        let outgoing = inner.connections.get(&self.id);
        outgoing.is_none_or(|outgoing| outgoing.closed && outgoing.bytes.is_empty())
    }
}

impl<C: Fn() -> UnixTime + Clone> Drop for HubConnection<C> {
    fn drop(&mut self) {
        let mut inner = self.hub.inner.borrow_mut();
        inner.connections.remove(&self.id);
        inner.node.disconnected(self.id);
    }
}
