//! The turmoil engine: stock turmoil carries RESP bytes over simulated TCP, in ticks of a millisecond.
//!
//! Every host of the world is a turmoil host whose only task is a supervisor. It polls the host's tasks in the host's
//! own runtime, so that sockets work, and not while the host is stopped. Timers, clocks and faults are the world's.
//! turmoil's crash is neither kill nor power loss, and its partitions kill TCP silently and for good; so a kill drops
//! the process's tasks (FIN, then refused), a power loss buries them only at the restart (silence), and after a `drop`
//! the connections of the link are reset by us.

mod stream;

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::future::poll_fn;
use std::net::Ipv4Addr;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::{Duration, UNIX_EPOCH};

use bytes::{Bytes, BytesMut};
use fencepost_checker::Time;
use fencepost_checker::history::{Crash, Cut};
use futures_util::future::{AbortHandle, FutureExt, abortable};
use redis::aio::MultiplexedConnection;
use redis::{AsyncConnectionConfig, RedisConnectionInfo};
use redis_node::ConnectionId;
use redis_node::server::{Handler, Next};
use turmoil::net::{TcpListener, TcpStream};

use super::{Connecting, Engine};
use crate::connection::{Connection, Transport};
use crate::core::{Core, WALL_START, with};
use crate::host::Host;
use crate::link::Passage;
use crate::serving::Request;
use stream::{Severable, Severs};

const TICK: Duration = Duration::from_millis(1);
const PORT: u16 = 6379;
const TCP_CAPACITY: usize = 65_536;

/// See the module.
pub(crate) struct TurmoilEngine {
    severs: Severs,
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
        drawn + links.get(a, b).extra() + links.lateness(a, b).max(links.lateness(b, a))
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

    fn started(&self, core: &Core, host: Host) {
        self.orders.to_bury.borrow_mut().insert(host);
        if core.of(host).service.is_some() {
            core.spawn(host, Box::pin(accept(host, self.severs.clone())));
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

/// Accepts connections until the process ends.
async fn accept(server: Host, severs: Severs) {
    let Ok(listener) = TcpListener::bind((Ipv4Addr::UNSPECIFIED, PORT)).await else {
        return;
    };
    while let Ok((stream, address)) = listener.accept().await {
        let peer = turmoil::reverse_lookup(address.ip()).and_then(|name| Host::find(&name));
        let Some(peer) = peer else { continue };
        let stream = Severable::new(stream, severs.add(server, peer));
        server.spawn(serve(server, peer, stream));
    }
}

async fn serve(server: Host, peer: Host, stream: Severable<TcpStream>) {
    let connection = with(|core| {
        let connection = ConnectionId(core.next_connection());
        if let Some(service) = &core.of(server).service {
            service.borrow_mut().connected(connection, peer);
        }
        connection
    });
    let process = with(|core| core.executor.process(server));
    let served = Served {
        server,
        peer,
        connection,
        process,
        replied: 0,
    };
    // What the stream reports is what ended the connection; there is nobody to tell.
    drop(redis_node::server::serve(stream, served).await);
}

/// The server's end of a connection.
struct Served {
    server: Host,
    peer: Host,
    connection: ConnectionId,
    /// The process that accepted it.
    process: u64,
    /// Replies to commands that met a key, written and not yet announced as sent.
    replied: u32,
}

impl Drop for Served {
    fn drop(&mut self) {
        Core::if_running(|core| {
            let state = core.of(self.server);
            if core.executor.process(self.server) == self.process
                && let Some(service) = &state.service
            {
                service.borrow_mut().disconnected(self.connection);
            }
        });
    }
}

impl Handler for Served {
    async fn handle(&mut self, arguments: Vec<Bytes>, out: &mut BytesMut) -> Next {
        self.server.gate().await;
        let request = Request {
            server: self.server,
            peer: self.peer,
            connection: self.connection,
            arguments: &arguments,
        };
        let effects = with(|core| core.serve(&request));
        self.server.gate().await;
        with(|core| {
            let Some(service) = &core.of(self.server).service else {
                return;
            };
            let protocol = service.borrow().protocol(self.connection);
            for (_, reply) in effects
                .replies
                .iter()
                .filter(|(to, _)| *to == self.connection)
            {
                reply.encode(protocol, out);
            }
        });
        if !effects.touches.is_empty() {
            self.replied += 1;
        }
        if effects.close {
            Next::Close
        } else {
            Next::Continue
        }
    }

    /// The loop asks for more when it has written all: so the replies are out.
    fn poll_outgoing(&mut self, _context: &mut Context<'_>, _out: &mut BytesMut) -> Poll<()> {
        for _ in 0..std::mem::take(&mut self.replied) {
            with(|core| core.replied(self.server, self.peer));
        }
        Poll::Pending
    }
}
