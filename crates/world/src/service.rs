//! What a server host runs, whatever the engine: requests in, replies out, time passed in.

use bytes::Bytes;
use redis_node::{Address, ConnectionId, Effects, LinkId, Protocol, UnixTime};

use crate::Host;
use fencepost_checker::history::Crash;

/// A server. It speaks Redis's protocol, so that one kind of connection reaches every host.
///
/// One value lives for the whole run; what its process forgets between [`stop`](Service::stop) and
/// [`boot`](Service::boot) is its own affair.
pub trait Service {
    /// The process starts, for the first time or again.
    fn boot(&mut self, now: UnixTime);
    /// The process ends. What it had not stored is lost.
    fn stop(&mut self, how: Crash, now: UnixTime);
    /// A client connected. Connections are numbered from 1, so that a service may use 0 for its operator.
    fn connected(&mut self, connection: ConnectionId, peer: Host);
    /// The connection ended.
    fn disconnected(&mut self, connection: ConnectionId);
    /// Carries out one request.
    fn handle(&mut self, now: UnixTime, connection: ConnectionId, request: &[Bytes]) -> Effects;
    /// When [`tick`](Service::tick) wants to be called, by the host's wall clock.
    fn next_deadline(&self) -> Option<UnixTime> {
        None
    }
    /// Does what time alone brings about.
    fn tick(&mut self, _now: UnixTime) -> Effects {
        Effects::default()
    }
    /// A link to another server, which this one or the other asked for, is open.
    fn link_opened(&mut self, _now: UnixTime, _link: LinkId, _peer: &Address) -> Effects {
        Effects::default()
    }
    /// Bytes have come over a link.
    fn link_received(&mut self, _now: UnixTime, _link: LinkId, _bytes: Bytes) -> Effects {
        Effects::default()
    }
    /// A link is closed, or could not be opened.
    fn link_closed(&mut self, _now: UnixTime, _link: LinkId) -> Effects {
        Effects::default()
    }
    /// Carries out a command of the operator; nobody reads the reply.
    fn operate(&mut self, _now: UnixTime, _command: &[Bytes]) -> Effects {
        Effects::default()
    }
    /// The connections that the service has closed on its own since the last question, after what it sent to them; it
    /// has forgotten them.
    fn take_closed(&mut self) -> Vec<ConnectionId> {
        Vec::new()
    }
    /// The disk stops answering, or answers again.
    fn stall(&mut self, _now: UnixTime, _stalled: bool) {}
    /// The protocol that the connection has agreed on.
    fn protocol(&self, _connection: ConnectionId) -> Protocol {
        Protocol::Resp2
    }
}
