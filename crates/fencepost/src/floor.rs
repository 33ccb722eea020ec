//! The floor under a run: the same requests, carried out by the same nodes and the same SQL, without clients, network,
//! time or history. What a run costs above that is the simulator's own.

use std::cell::RefCell;
use std::rc::Rc;

use bytes::Bytes;
use fencepost_checker::History;
use fencepost_checker::history::{Crash, Role};
use fencepost_world::{EngineKind, Host, Service};
use redis_node::{ConnectionId, Effects, Protocol, UnixTime};

use crate::plan::Plan;
use crate::redis_server::RedisServer;
use crate::resource::Resource;
use crate::runner::{self, config};
use crate::sequence::Sequence;

/// What was asked of the servers of one run, in order.
#[derive(Debug)]
pub struct Floor {
    plan: Plan,
    calls: Vec<Call>,
}

/// One call of a server.
#[derive(Clone, Debug)]
struct Call {
    /// Its place among the plan's hosts.
    host: usize,
    now: UnixTime,
    what: Asked,
}

#[derive(Clone, Debug)]
enum Asked {
    Boot,
    Stop(Crash),
    Connected(ConnectionId, Host),
    Disconnected(ConnectionId),
    Request(ConnectionId, Vec<Bytes>),
    Tick,
    Operate(Vec<Bytes>),
    Stall(bool),
}

type Tape = Rc<RefCell<Vec<Call>>>;

impl Floor {
    /// Runs a plan and keeps what was asked of its servers. Not for pairs that fail over: what goes between servers is not
    /// kept.
    #[must_use]
    pub fn record(plan: &Plan, engine: EngineKind) -> (History, Self) {
        let tape = Tape::default();
        let history = runner::run_through(plan, engine, |host, service| {
            Box::new(Recorder {
                host,
                service,
                tape: Rc::clone(&tape),
            })
        });
        let calls = tape.take();
        (
            history,
            Self {
                plan: plan.clone(),
                calls,
            },
        )
    }

    /// How many requests there were.
    #[must_use]
    pub fn requests(&self) -> usize {
        let request = |call: &&Call| matches!(call.what, Asked::Request(..));
        self.calls.iter().filter(request).count()
    }

    /// Carries all of it out anew.
    pub fn replay(&self) {
        let hosts = self.plan.world.hosts.iter();
        let mut servers: Vec<Server> = hosts
            .map(|host| match host.role {
                Role::Node => {
                    let config = config(&self.plan, &host.name);
                    Server::Service(Box::new(RedisServer::new(config)))
                }
                Role::Resource => {
                    Server::Resource(Resource::new(&host.name, self.plan.resource.clone()))
                }
                Role::Sequence => Server::Service(Box::new(Sequence::default())),
                Role::Client | Role::Sentinel => Server::Nothing,
            })
            .collect();
        for call in &self.calls {
            servers[call.host].carry_out(call);
        }
    }
}

enum Server {
    Service(Box<dyn Service>),
    /// It writes to the history, which there is none of here.
    Resource(Resource),
    Nothing,
}

impl Server {
    fn carry_out(&mut self, call: &Call) {
        let now = call.now;
        match (self, &call.what) {
            (Self::Resource(resource), Asked::Request(_, request)) => {
                drop(resource.carry_out(request));
            }
            (Self::Resource(resource), what) => play(resource, now, what),
            (Self::Service(service), what) => play(service.as_mut(), now, what),
            (Self::Nothing, _) => {}
        }
    }
}

fn play(service: &mut dyn Service, now: UnixTime, what: &Asked) {
    match what {
        Asked::Boot => service.boot(now),
        Asked::Stop(how) => service.stop(*how, now),
        Asked::Connected(connection, peer) => service.connected(*connection, *peer),
        Asked::Disconnected(connection) => service.disconnected(*connection),
        Asked::Request(connection, request) => {
            drop(service.handle(now, *connection, request));
        }
        Asked::Tick => drop(service.tick(now)),
        Asked::Operate(command) => drop(service.operate(now, command)),
        Asked::Stall(stalled) => service.stall(now, *stalled),
    }
}

/// Passes everything on, and keeps it.
struct Recorder {
    host: usize,
    service: Box<dyn Service>,
    tape: Tape,
}

impl Recorder {
    fn keep(&self, now: UnixTime, what: Asked) {
        self.tape.borrow_mut().push(Call {
            host: self.host,
            now,
            what,
        });
    }
}

impl Service for Recorder {
    fn boot(&mut self, now: UnixTime) {
        self.keep(now, Asked::Boot);
        self.service.boot(now);
    }

    fn stop(&mut self, how: Crash, now: UnixTime) {
        self.keep(now, Asked::Stop(how));
        self.service.stop(how, now);
    }

    fn connected(&mut self, connection: ConnectionId, peer: Host) {
        self.keep(UnixTime(0), Asked::Connected(connection, peer));
        self.service.connected(connection, peer);
    }

    fn disconnected(&mut self, connection: ConnectionId) {
        self.keep(UnixTime(0), Asked::Disconnected(connection));
        self.service.disconnected(connection);
    }

    fn handle(&mut self, now: UnixTime, connection: ConnectionId, request: &[Bytes]) -> Effects {
        self.keep(now, Asked::Request(connection, request.to_vec()));
        self.service.handle(now, connection, request)
    }

    fn next_deadline(&self) -> Option<UnixTime> {
        self.service.next_deadline()
    }

    fn tick(&mut self, now: UnixTime) -> Effects {
        self.keep(now, Asked::Tick);
        self.service.tick(now)
    }

    fn operate(&mut self, now: UnixTime, command: &[Bytes]) -> Effects {
        self.keep(now, Asked::Operate(command.to_vec()));
        self.service.operate(now, command)
    }

    fn stall(&mut self, now: UnixTime, stalled: bool) {
        self.keep(now, Asked::Stall(stalled));
        self.service.stall(now, stalled);
    }

    fn take_closed(&mut self) -> Vec<ConnectionId> {
        self.service.take_closed()
    }

    fn protocol(&self, connection: ConnectionId) -> Protocol {
        self.service.protocol(connection)
    }
}
