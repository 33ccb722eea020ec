//! The turmoil engine: stock turmoil carries RESP bytes over simulated TCP, in ticks of a millisecond.
//!
//! Every host of the world is a turmoil host whose only task is a supervisor. It polls the host's tasks in the host's
//! own runtime, so that sockets work, and not while the host is stopped. Timers, clocks and faults are the world's.
//! turmoil's crash is neither kill nor power loss, and its partitions kill TCP silently and for good; so a kill drops
//! the process's tasks (FIN, then refused), a power loss buries them only at the restart (silence), and after a `drop`
//! the connections of the link are reset by us.

mod clients;
mod links;
mod outbox;
mod stream;

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::future::poll_fn;
use std::rc::Rc;
use std::sync::Arc;
use std::task::Poll;
use std::time::{Duration, UNIX_EPOCH};

use bytes::BytesMut;
use fencepost_checker::Time;
use fencepost_checker::history::{Crash, Cut};
use futures_util::future::{AbortHandle, FutureExt, abortable};
use redis::aio::MultiplexedConnection;
use redis::{AsyncConnectionConfig, RedisConnectionInfo};
use redis_node::{ConnectionId, LinkEffect};
use turmoil::net::TcpStream;

use super::{Connecting, Engine};
use crate::connection::{Connection, Transport};
use crate::core::{Core, WALL_START, with};
use crate::host::Host;
use crate::link::Passage;
use crate::queue::Due;
use crate::serving::{Outgoing, PORT};
use outbox::{Address, Outboxes};
use stream::{Severable, Severs};

const TICK: Duration = Duration::from_millis(1);
const TCP_CAPACITY: usize = 65_536;

/// See the module.
pub(crate) struct TurmoilEngine {
    severs: Severs,
    outboxes: Outboxes,
    /// Changes of the network that wait for the end of the tick, because turmoil takes them only from outside.
    changes: RefCell<Vec<(String, String, Change)>>,
    /// What was drawn for each pair of hosts.
    latencies: RefCell<BTreeMap<(Host, Host), Duration>>,
    /// What supervisors are told.
    orders: Rc<Orders>,
}

#[derive(Default)]
struct Orders {
    /// Hosts whose ended process is to be buried in the host's own runtime.
    to_bury: RefCell<BTreeSet<Host>>,
    /// The tick before the run in which servers bind their ports: no program runs yet.
    booting: Cell<bool>,
}

#[derive(Clone, Copy)]
enum Change {
    Passage(Passage),
    Latency(Duration),
}

/// Ends the driver of a redis-rs connection when its last clone is dropped.
#[derive(Clone)]
pub(crate) struct Lifeline {
    _last_clone_aborts: Arc<AbortOnDrop>,
}

struct AbortOnDrop(AbortHandle);

impl Drop for AbortOnDrop {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl TurmoilEngine {
    pub(crate) fn new() -> Self {
        Self {
            severs: Severs::default(),
            outboxes: Outboxes::default(),
            changes: RefCell::default(),
            latencies: RefCell::default(),
            orders: Rc::default(),
        }
    }

    /// Changes the network, at once where turmoil lets us.
    fn change(&self, core: &Core, a: Host, b: Host, change: Change) {
        let (a, b) = (core.name(a).to_string(), core.name(b).to_string());
        match change {
            Change::Passage(passage) if turmoil::in_simulation() => match passage {
                Passage::Open => turmoil::release(&*a, &*b),
                Passage::Held => turmoil::hold(&*a, &*b),
                Passage::Lost => turmoil::partition(&*a, &*b),
            },
            _ => self.changes.borrow_mut().push((a, b, change)),
        }
    }

    fn flush_changes(&self, sim: &turmoil::Sim<'_>) {
        for (a, b, change) in self.changes.take() {
            match change {
                Change::Passage(Passage::Open) => sim.release(&*a, &*b),
                Change::Passage(Passage::Held) => sim.hold(&*a, &*b),
                Change::Passage(Passage::Lost) => sim.partition(&*a, &*b),
                Change::Latency(latency) => sim.set_link_latency(&*a, &*b, latency),
            }
        }
    }

    /// Lets the servers bind their ports before time begins: a fault at zero meets servers that are up.
    fn boot(&self, core: &Core, sim: &mut turmoil::Sim<'_>) {
        self.orders.booting.set(true);
        step(sim);
        self.orders.booting.set(false);
        core.all().for_each(|host| core.executor.resume(host));
    }

    /// turmoil's links have one latency at a time: the one that was drawn, and what faults add to it.
    fn latency(&self, core: &Core, a: Host, b: Host) -> Duration {
        let mut links = core.links.borrow_mut();
        let mut latencies = self.latencies.borrow_mut();
        let drawn = *latencies
            .entry((a.min(b), a.max(b)))
            .or_insert_with(|| links.drawn_latency(a.min(b), a.max(b)));
        drawn + links.get(a, b).extra()
    }

    fn build(&self, core: &Core) -> turmoil::Sim<'static> {
        let mut sim = turmoil::Builder::new()
            .epoch(UNIX_EPOCH + Duration::from_nanos(WALL_START))
            .rng_seed(core.plan.seed)
            .tick_duration(TICK)
            .simulation_duration(Duration::MAX)
            .tcp_capacity(TCP_CAPACITY)
            .build();
        for host in core.all() {
            let orders = Rc::clone(&self.orders);
            sim.host(&*core.name(host), move || {
                supervise(host, Rc::clone(&orders))
            });
        }
        for a in core.all() {
            for b in core.all().filter(|b| *b > a) {
                self.delayed(core, a, b);
            }
        }
        sim
    }
}

/// Supervisors never end, so the simulation can neither finish nor fail.
fn step(sim: &mut turmoil::Sim<'_>) {
    sim.step().expect("no turmoil host ends");
}

/// turmoil delivers between ticks: less than one tick is none.
fn whole_ticks(latency: Duration) -> Duration {
    let ticks = latency.as_nanos().div_ceil(TICK.as_nanos()).max(1);
    TICK * u32::try_from(ticks).unwrap_or(u32::MAX)
}

/// Runs a host's tasks while the host may run, inside of the host's runtime.
async fn supervise(host: Host, orders: Rc<Orders>) -> turmoil::Result {
    let supervisor = poll_fn(move |cx| {
        with(|core| {
            core.executor.supervise(host, cx);
            let waits = orders.booting.get() && core.of(host).program.is_some();
            loop {
                if orders.to_bury.borrow_mut().remove(&host) {
                    core.executor.bury(host);
                }
                core.executor.run(host, || {
                    !waits && core.may_run(host) && core.over().is_none()
                });
                if !orders.to_bury.borrow().contains(&host) {
                    return Poll::<turmoil::Result>::Pending;
                }
            }
        })
    });
    // Its many tasks are one task to tokio, and must not run out of that one's budget.
    tokio::task::unconstrained(supervisor).await
}

impl Engine for TurmoilEngine {
    fn connect(&self, core: &Core, from: Host, to: Host) -> Connecting {
        let sever = self.severs.add(from, to);
        let name = core.name(to).to_string();
        Box::pin(async move {
            let stream = sever.or_severed(TcpStream::connect((name, PORT))).await?;
            let config = AsyncConnectionConfig::new().set_response_timeout(None);
            let stream = Severable::new(stream, sever);
            let info = RedisConnectionInfo::default();
            let (connection, driver) =
                MultiplexedConnection::new_with_config(&info, stream, config).await?;
            let (driver, abort) = abortable(driver);
            // It ends with the connection or with the last clone: either way there is nobody to tell.
            from.spawn(driver.map(|_| ()));
            let lifeline = Lifeline {
                _last_clone_aborts: Arc::new(AbortOnDrop(abort)),
            };
            Ok(Connection(Transport::Turmoil(connection, lifeline)))
        })
    }

    fn reply(&self, core: &Core, server: Host, reply: Outgoing) {
        let connection = reply.connection;
        let protocol = core
            .of(server)
            .service
            .as_ref()
            .map(|service| service.borrow().protocol(connection));
        let mut bytes = BytesMut::new();
        reply.reply.encode(protocol.unwrap_or_default(), &mut bytes);
        self.outboxes
            .push(Address::Client(connection), &bytes, reply.keyed);
    }

    fn close(&self, _core: &Core, _server: Host, connection: ConnectionId) {
        self.outboxes.close(Address::Client(connection));
    }

    fn link(&self, core: &Core, host: Host, effect: LinkEffect) {
        match effect {
            LinkEffect::Connect { link, peer } => {
                match core.find(&peer.host).filter(|peer| *peer != host) {
                    Some(peer) => {
                        let sever = self.severs.add(host, peer);
                        core.spawn(
                            host,
                            Box::pin(links::open(host, peer, link, sever, self.outboxes.clone())),
                        );
                    }
                    None => core.link_closed(host, link),
                }
            }
            LinkEffect::Send { link, bytes } => {
                self.outboxes.push(Address::Link(host, link), &bytes, false)
            }
            LinkEffect::Close { link } => self.outboxes.close(Address::Link(host, link)),
        }
    }

    fn started(&self, core: &Core, host: Host) {
        self.orders.to_bury.borrow_mut().insert(host);
        if core.of(host).service.is_some() {
            let (severs, outboxes) = (self.severs.clone(), self.outboxes.clone());
            core.spawn(
                host,
                Box::pin(links::accept(host, severs.clone(), outboxes.clone())),
            );
            core.spawn(host, Box::pin(clients::accept(host, severs, outboxes)));
        }
    }

    fn ended(&self, core: &Core, host: Host, how: Crash) {
        // Without power nobody says FIN; what the dead process held is dropped when the host is on again.
        if how != Crash::Power {
            self.orders.to_bury.borrow_mut().insert(host);
            core.executor.resume(host);
        }
    }

    fn resumed(&self, _core: &Core, _host: Host) {}

    fn cut(&self, core: &Core, a: Host, b: Host) {
        let passage = core.links.borrow().get(a, b).passage();
        self.change(core, a, b, Change::Passage(passage));
    }

    fn healed(&self, core: &Core, a: Host, b: Host, how: Cut) {
        self.cut(core, a, b);
        // A one-way cut never comes here.
        if how == Cut::Drop && core.links.borrow().get(a, b).passage() != Passage::Lost {
            self.severs.sever(a, b);
        }
    }

    fn reset(&self, _core: &Core, a: Host, b: Host) {
        self.severs.sever(a, b);
    }

    /// turmoil gives a message its latency when it is sent, and takes changes between ticks. So the link is held back from
    /// now on until the late packet would arrive, whatever else is on it.
    fn late_packet(&self, core: &Core, from: Host, to: Host, extra: Duration) {
        for (from, to) in [(from, to), (to, from)] {
            core.links.borrow_mut().cut(from, to, Cut::Hold);
        }
        self.cut(core, from, to);
        core.push_after(extra, Due::LateArrives(from, to));
    }

    fn delayed(&self, core: &Core, a: Host, b: Host) {
        let latency = self.latency(core, a, b);
        self.change(core, a, b, Change::Latency(whole_ticks(latency)));
    }

    fn run(&self, core: &Core) {
        let mut sim = self.build(core);
        self.boot(core, &mut sim);
        let start = sim.elapsed();
        loop {
            while core.happen_next() {}
            self.flush_changes(&sim);
            if core.over().is_some() {
                return;
            }
            if core.now() >= core.limit() {
                return core.end_at_limit();
            }
            step(&mut sim);
            core.advance(Time::ZERO.after(sim.elapsed() - start));
        }
    }
}
