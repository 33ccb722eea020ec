//! Links between nodes, as the node's owner sees them, and what arrives on them.

use bytes::Bytes;

use crate::command::Run;
use crate::config::Address;
use crate::node::Node;
use crate::replication::{Arrived, LinkId, Serves};
use crate::{Effects, Reply, UnixTime};

/// Something has happened to a link.
#[derive(Debug)]
pub(crate) enum LinkEvent {
    Opened(Address),
    Received(Bytes),
    Closed,
}

/// Replication. The owner opens the links that [`crate::LinkEffect::Connect`] asks for and carries bytes in order;
/// it need not understand them.
impl Node {
    /// A link is open: one that this node asked for, or one that the node at that address asked for.
    pub fn link_opened(&mut self, now: UnixTime, link: LinkId, peer: &Address) -> Effects {
        self.on_link(now, link, LinkEvent::Opened(peer.clone()))
    }

    /// Bytes have arrived, in the order in which they were sent, in pieces of any size.
    pub fn link_received(&mut self, now: UnixTime, link: LinkId, bytes: Bytes) -> Effects {
        self.on_link(now, link, LinkEvent::Received(bytes))
    }

    /// A link is lost, or could not be opened. A replica tries anew a second later.
    pub fn link_closed(&mut self, now: UnixTime, link: LinkId) -> Effects {
        self.on_link(now, link, LinkEvent::Closed)
    }

    /// Whom the node follows now. `REPLICAOF` is not written to any file: whoever restarts the node, and wants what
    /// Sentinel's `CONFIG REWRITE` does, puts this into the next [`crate::ReplicationConfig`].
    pub fn replica_of(&self) -> Option<&Address> {
        self.replication().primary()
    }

    fn on_link(&mut self, now: UnixTime, link: LinkId, event: LinkEvent) -> Effects {
        if self.has_exited() {
            return Effects::default();
        }
        if self.is_still() {
            self.sleep.keep_link(link, event);
            return self.wake(now);
        }
        let mut effects = Effects::default();
        self.act_on_link(now, link, event, &mut effects);
        self.conclude(now, effects)
    }

    pub(crate) fn act_on_link(
        &mut self,
        now: UnixTime,
        link: LinkId,
        event: LinkEvent,
        effects: &mut Effects,
    ) {
        self.database().begin(now);
        let replication = self.replication_mut();
        match (link, event) {
            (LinkId::Outgoing(_), LinkEvent::Opened(_)) => replication.reached(link, now),
            (LinkId::Outgoing(_), LinkEvent::Closed) => replication.lose_upstream(link, now),
            (LinkId::Outgoing(_), LinkEvent::Received(bytes)) => {
                replication.feed_upstream(link, &bytes, now);
                while let Some(arrived) = self.replication_mut().next_arrived(link, now) {
                    self.obey(now, arrived, effects);
                }
            }
            (LinkId::Incoming(_), LinkEvent::Opened(peer)) => replication.accept(link, &peer, now),
            (LinkId::Incoming(_), LinkEvent::Closed) => replication.lose_follower(link),
            (LinkId::Incoming(_), LinkEvent::Received(bytes)) => {
                replication.feed_follower(link, &bytes);
                self.serve_follower(now, link);
                self.release_waiters(now, effects);
            }
        }
    }

    fn serve_follower(&mut self, now: UnixTime, link: LinkId) {
        let serves = if self.is_loading() {
            Serves::Loading
        } else if self.replication().is_replica() && !self.replication().is_connected() {
            Serves::NoPrimary
        } else {
            Serves::Everything
        };
        while let Some(request) = self.replication_mut().next_request(link) {
            let (_, replication, db) = self.parts();
            replication.serve_follower(link, &request, db.keys(), serves, now);
        }
        self.record_if_needed();
    }

    /// Does to the keys what the primary did to its own.
    fn obey(&mut self, now: UnixTime, arrived: Arrived, effects: &mut Effects) {
        match arrived {
            Arrived::Unit { commands, bytes } => {
                self.database().set_obeying(true);
                for command in &commands {
                    self.obey_command(command);
                }
                self.database().set_obeying(false);
                let done = self.finish();
                effects.append(done);
                self.replication_mut().applied(bytes);
            }
            Arrived::Copy {
                commands,
                id,
                offset,
            } => {
                let copy = self.keys_of(&commands);
                self.database().replace_keys(copy);
                let done = self.finish();
                effects.append(done);
                let (keeper, replication, db) = self.parts();
                keeper.restart_log(now, db.keys());
                replication.copied(id, offset, now);
            }
        }
        // Messages that were published on the primary, for those who listen here.
        let messages = self.database().channels_mut().take_outbox();
        effects.replies.extend(messages);
        self.record_if_needed();
    }

    fn obey_command(&mut self, command: &[Bytes]) {
        let known = self.commands().check(command).ok();
        if let Some(Run::Data(run)) = known.map(|command| &command.run) {
            // It succeeded on the primary. A peer that is none may send anything, and is not obeyed in that.
            drop(run(self.database(), command));
        }
    }

    fn keys_of(&self, commands: &[Vec<Bytes>]) -> crate::keyspace::Keyspace {
        let mut scratch = crate::database::Database::default();
        scratch.set_loading(true);
        for command in commands {
            let known = self.commands().check(command).ok();
            if let Some(Run::Data(run)) = known.map(|command| &command.run) {
                drop(run(&mut scratch, command));
            }
        }
        scratch.into_keys()
    }
}

/// What commands about replication need.
impl Node {
    /// `REPLICAOF NO ONE`.
    pub(crate) fn promote(&mut self) {
        if self.replication().is_replica() {
            let now = self.data().now();
            self.replication_mut().promote(now);
            self.database().set_following(false);
        }
    }

    /// `REPLICAOF host port`.
    pub(crate) fn follow(&mut self, primary: Address) {
        let now = self.data().now();
        for connection in self.replication_mut().take_all_waiters() {
            let text = "UNBLOCKED force unblock from blocking operation, instance state changed (master -> replica?)";
            self.database()
                .channels_mut()
                .send(connection, Reply::error(text));
            self.close_other(connection);
        }
        self.replication_mut().follow(primary, now);
        self.database().set_following(true);
        self.record_if_needed();
    }

    /// `WAIT`: zero milliseconds are for ever.
    pub(crate) fn wait_for_replicas(
        &mut self,
        connection: crate::ConnectionId,
        offset: u64,
        replicas: usize,
        millis: u64,
    ) {
        let until = self
            .data()
            .now()
            .after(std::time::Duration::from_millis(millis));
        let until = Some(until).filter(|_| millis > 0);
        self.replication_mut()
            .wait(connection, offset, replicas, until);
    }

    /// Answers those who have waited long enough, and carries out what they asked for meanwhile.
    pub(crate) fn release_waiters(&mut self, now: UnixTime, effects: &mut Effects) {
        if !self.replication().has_waiters() {
            return;
        }
        for released in self.replication_mut().take_released(now) {
            let count = i64::try_from(released.acknowledged).unwrap_or(i64::MAX);
            let reply = (released.connection, Reply::Integer(count));
            effects.replies.push(reply);
            for request in released.queued {
                if self.run_delayed(now, released.connection, request, effects) {
                    self.close_other(released.connection);
                    break;
                }
            }
        }
    }
}
