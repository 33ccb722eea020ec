//! One Redis node and its clients on stock turmoil, and a trace of all that they say and do.

use std::cell::{Cell, RefCell};
use std::future::Future;
use std::net::Ipv4Addr;
use std::rc::Rc;
use std::task::{Context, Poll};
use std::time::{Duration, UNIX_EPOCH};

use bring_your_own_client::{Lock, connect};
use bytes::{Bytes, BytesMut};
use futures_util::FutureExt;
use redis::aio::MultiplexedConnection;
use redis_node::request::Limits;
use redis_node::server::{Handler, Hub, Next, serve};
use redis_node::{Config, Disk, Lua, Node, UnixTime};
use turmoil::Sim;
use turmoil::net::{TcpListener, TcpStream};

pub(crate) const TTL: Duration = Duration::from_secs(3);

/// Virtual time begins at 2026-01-01: turmoil's own default is the system's time.
const EPOCH: Duration = Duration::from_secs(1_767_225_600);
const TICK: Duration = Duration::from_millis(1);
const PORT: u16 = 6379;

/// What the simulation has come to, for whoever is in it and for the test.
#[derive(Clone, Default)]
pub(crate) struct Trace {
    now: Rc<Cell<Duration>>,
    lines: Rc<RefCell<Vec<String>>>,
}

impl Trace {
    /// Since the start of the run.
    pub(crate) fn now(&self) -> Duration {
        self.now.get()
    }

    /// Writes down that somebody did something now.
    pub(crate) fn says(&self, who: &str, what: &str) {
        let line = format!("{:>6} {who} {what}", self.now().as_millis());
        self.lines.borrow_mut().push(line);
    }

    pub(crate) fn lines(&self) -> Vec<String> {
        self.lines.borrow().clone()
    }

    /// The times, in milliseconds, of the lines that end so.
    pub(crate) fn times(&self, what: &str) -> Vec<u64> {
        let lines = self.lines.borrow();
        let found = lines.iter().filter(|line| line.ends_with(what));
        let time = |line: &String| line.split_whitespace().next()?.parse().ok();
        found.filter_map(time).collect()
    }

    /// The time of the only line that ends so.
    #[track_caller]
    pub(crate) fn time(&self, what: &str) -> u64 {
        let times = self.times(what);
        assert_eq!(times.len(), 1, "{what}: {:#?}", self.lines());
        times[0]
    }
}

/// The node's process, while there is one: a request in, the reply's bytes out.
type Process = Rc<RefCell<Option<Box<dyn Fn(&[&'static str]) -> String>>>>;

/// The simulation.
pub(crate) struct Cluster {
    pub(crate) sim: Sim<'static>,
    pub(crate) trace: Trace,
    node: Process,
}

impl Cluster {
    pub(crate) fn new(seed: u64) -> Self {
        let mut sim = turmoil::Builder::new()
            .rng_seed(seed)
            .epoch(UNIX_EPOCH + EPOCH)
            .tick_duration(TICK)
            .min_message_latency(Duration::from_millis(1))
            .max_message_latency(Duration::from_millis(10))
            .simulation_duration(Duration::from_secs(60))
            .build();
        let (trace, node) = (Trace::default(), Process::default());
        let (of_host, process) = (trace.clone(), Rc::clone(&node));
        sim.host("node", move || {
            run_node(of_host.clone(), Rc::clone(&process))
        });
        Self { sim, trace, node }
    }

    /// A client that runs `program`.
    pub(crate) fn client<F>(&mut self, name: &'static str, program: impl FnOnce(Client) -> F)
    where
        F: Future<Output = turmoil::Result> + 'static,
    {
        let trace = self.trace.clone();
        self.sim.client(name, program(Client { name, trace }));
    }

    /// Lets time go on.
    pub(crate) fn until(&mut self, seconds: f64) {
        while self.sim.elapsed() < Duration::from_secs_f64(seconds) {
            self.trace.now.set(self.sim.elapsed());
            self.sim.step().expect("no program fails");
        }
    }

    /// Who holds the lock, by what is in the node.
    pub(crate) fn holder(&self) -> Option<String> {
        // `$2\r\nc1\r\n`, or `$-1\r\n`.
        let reply = self.ask(&["GET", "lock"]);
        reply.lines().nth(1).map(str::to_owned)
    }

    /// When the lock expires, in the node's own words.
    pub(crate) fn expiry(&self) -> String {
        self.ask(&["PEXPIRETIME", "lock"])
    }

    fn ask(&self, request: &[&'static str]) -> String {
        let process = self.node.borrow();
        process.as_ref().expect("the node runs")(request)
    }
}

/// What a program on a client's host knows.
#[derive(Clone)]
pub(crate) struct Client {
    name: &'static str,
    pub(crate) trace: Trace,
}

impl Client {
    pub(crate) fn says(&self, what: &str) {
        self.trace.says(self.name, what);
    }

    pub(crate) async fn connect(&self) -> turmoil::Result<MultiplexedConnection> {
        Ok(connect(TcpStream::connect(("node", PORT)).await?).await?)
    }

    /// A lock over a connection of its own.
    pub(crate) async fn lock(&self) -> turmoil::Result<Lock> {
        Ok(Lock::new(self.connect().await?, "lock", self.name, TTL))
    }
}

/// The node's program: a fresh node at each start, as nothing is on its disk.
async fn run_node(trace: Trace, process: Process) -> turmoil::Result {
    let wall = trace.clone();
    let clock = move || {
        let now = EPOCH + wall.now();
        UnixTime(u64::try_from(now.as_nanos()).expect("before 2554"))
    };
    let node = Node::boot(Config::default(), Disk::default(), Lua::new(), clock());
    let hub = Hub::new(node, clock);
    let asked = hub.clone();
    process.replace(Some(Box::new(move |request| ask(asked.accept(), request))));
    tokio::task::spawn_local(keep_time(hub.clone()));
    let listener = TcpListener::bind((Ipv4Addr::UNSPECIFIED, PORT)).await?;
    loop {
        let (stream, address) = listener.accept().await?;
        let watched = Watched {
            inner: hub.accept(),
            client: turmoil::reverse_lookup(address.ip()).unwrap_or_default(),
            trace: trace.clone(),
        };
        tokio::task::spawn_local(serve(stream, watched));
    }
}

/// Redis looks for keys that have expired ten times a second.
async fn keep_time(hub: Hub<impl Fn() -> UnixTime + Clone>) {
    loop {
        tokio::time::sleep(Duration::from_millis(100)).await;
        hub.tick();
    }
}

/// A request without the network.
fn ask(mut connection: impl Handler, request: &[&'static str]) -> String {
    let words = request
        .iter()
        .map(|word| Bytes::from_static(word.as_bytes()));
    let mut reply = BytesMut::new();
    let answered = connection.handle(words.collect(), &mut reply);
    answered.now_or_never().expect("a node answers at once");
    String::from_utf8(reply.to_vec()).expect("nothing here is binary")
}

/// A connection whose requests are written down.
struct Watched<H> {
    inner: H,
    client: String,
    trace: Trace,
}

impl<H: Handler> Handler for Watched<H> {
    async fn handle(&mut self, request: Vec<Bytes>, out: &mut BytesMut) -> Next {
        let words: Vec<&str> = request
            .iter()
            .map(|word| std::str::from_utf8(word).expect("this client sends text"))
            // Scripts and their hashes say nothing to a reader.
            .filter(|word| word.len() < 40)
            .collect();
        self.trace.says(
            "node",
            &format!("from {}: {}", self.client, words.join(" ")),
        );
        self.inner.handle(request, out).await
    }

    fn poll_outgoing(&mut self, context: &mut Context<'_>, out: &mut BytesMut) -> Poll<()> {
        self.inner.poll_outgoing(context, out)
    }

    fn is_closed(&self) -> bool {
        self.inner.is_closed()
    }

    fn limits(&self) -> Limits {
        self.inner.limits()
    }
}
