//! The state that both engines share, found through the thread.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use std::task::Waker;
use std::time::Duration;

use bytes::Bytes;
use fencepost_checker::history::{Attempt, EndReason, Event, Name, Role, What};
use fencepost_checker::{ClockKind, Segment, Time};
use redis_node::{ConnectionId, UnixTime};

use crate::director::Director;
use crate::engine::Engine;
use crate::host::Host;
use crate::link::Links;
use crate::plan::WorldPlan;
use crate::queue::{Due, Queue};
use crate::random::Stream;
use crate::service::Service;
use crate::task::{Executor, LocalTask};
use crate::timers::Timers;

/// The wall clocks of all hosts at the start of a run: 2026-01-01T00:00:00Z, in nanoseconds since the Unix epoch.
pub const WALL_START: u64 = 1_767_225_600_000_000_000;

/// More polls than this without time going on are a busy loop.
const POLLS_PER_INSTANT: u64 = 100_000;
/// More happenings than this in one run are a loop that time does not end.
const HAPPENINGS_PER_RUN: u64 = 50_000_000;

thread_local! {
    static CURRENT: RefCell<Option<Rc<Core>>> = const { RefCell::new(None) };
}

/// Calls `f` with the world of this thread.
///
/// # Panics
/// Panics outside of a running world.
pub(crate) fn with<R>(f: impl FnOnce(&Core) -> R) -> R {
    let core = CURRENT.with(|current| current.borrow().clone());
    let core = core.expect("a host is used outside of the world that it belongs to");
    f(&core)
}

/// Makes a world the one of this thread until dropped.
pub(crate) struct Entered;

impl Entered {
    pub(crate) fn new(core: &Rc<Core>) -> Self {
        CURRENT.with(|current| *current.borrow_mut() = Some(Rc::clone(core)));
        Self
    }
}

impl Drop for Entered {
    fn drop(&mut self) {
        CURRENT.with(|current| *current.borrow_mut() = None);
    }
}

/// Makes the task of a client; called again when its host restarts.
pub(crate) type Program = Box<dyn Fn(Host) -> LocalTask>;

/// Whether a host's process runs, and if not, whether its kernel still answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Process {
    Up,
    /// The host is up, its process is not: connections are refused.
    Down,
    /// The host is off: nothing answers.
    Off,
}

pub(crate) struct HostState {
    pub(crate) name: Name,
    pub(crate) role: Role,
    pub(crate) clock: Cell<Segment>,
    pub(crate) pauses: Cell<u32>,
    pub(crate) process: Cell<Process>,
    entropy: RefCell<Stream>,
    pub(crate) service: Option<RefCell<Box<dyn Service>>>,
    pub(crate) program: Option<Program>,
    /// Like the program, but nobody waits for its end.
    pub(crate) daemon: Option<Program>,
    /// How much faster than true time the clocks run, in parts per million, all faults together.
    pub(crate) rate_ppm: Cell<i64>,
    /// A fault has changed the rate of its clocks, or stepped one.
    pub(crate) clock_was_hit: Cell<bool>,
    /// The machine sleeps.
    pub(crate) suspended: Cell<bool>,
    /// The wall clock at the latest crash.
    pub(crate) crashed_at: Cell<u64>,
    /// A crashed process starts when the wall clock shows this.
    pub(crate) starts_at: Cell<Option<u64>>,
    /// The program has come to its end, or died for good.
    pub(crate) finished: Cell<bool>,
    /// Tells the service's deadlines in the queue apart; only the newest counts.
    pub(crate) tick: Cell<u64>,
    /// When the newest deadline in the queue is due.
    pub(crate) tick_at: Cell<Option<Time>>,
    /// Clients whose command met a key and is not answered yet, once for each such command.
    pub(crate) owed: RefCell<Vec<ConnectionId>>,
}

impl HostState {
    pub(crate) fn new(
        plan: &WorldPlan,
        index: usize,
        service: Option<Box<dyn Service>>,
        program: Option<Program>,
        daemon: Option<Program>,
    ) -> Self {
        let host = &plan.hosts[index];
        let clock = Segment {
            from: Time::ZERO,
            monotonic: 0,
            wall: WALL_START,
            monotonic_ppm: host.rate_ppm,
            wall_ppm: host.rate_ppm,
        };
        Self {
            name: Name::from(&*host.name),
            role: host.role,
            clock: Cell::new(clock),
            pauses: Cell::new(0),
            process: Cell::new(Process::Down),
            entropy: RefCell::new(Stream::new(plan.seed, &format!("{}/entropy", host.name))),
            service: service.map(RefCell::new),
            program,
            daemon,
            rate_ppm: Cell::new(host.rate_ppm),
            clock_was_hit: Cell::new(false),
            suspended: Cell::new(false),
            crashed_at: Cell::new(WALL_START),
            starts_at: Cell::new(None),
            finished: Cell::new(false),
            tick: Cell::new(0),
            tick_at: Cell::new(None),
            owed: RefCell::default(),
        }
    }
}

/// Client and attempt by node and key.
pub(crate) type Creators = BTreeMap<(Host, Bytes), Creation>;

/// A client, and the attempt that it acted for.
pub(crate) type Maker = (Host, Option<Attempt>);

/// Who created a key, and the string that it holds since.
#[derive(Clone, Debug)]
pub(crate) struct Creation {
    pub(crate) by: Maker,
    pub(crate) value: Option<Bytes>,
}

pub(crate) struct Core {
    pub(crate) plan: WorldPlan,
    pub(crate) hosts: Vec<HostState>,
    pub(crate) executor: Executor,
    pub(crate) timers: Timers,
    pub(crate) links: RefCell<Links>,
    pub(crate) engine: Box<dyn Engine>,
    now: Cell<Time>,
    pub(crate) queue: RefCell<Queue>,
    pub(crate) director: RefCell<Director>,
    /// The faults in force.
    pub(crate) active: RefCell<BTreeSet<usize>>,
    /// All faults are over.
    pub(crate) healed: Cell<bool>,
    history: RefCell<Vec<Event>>,
    attempts: Cell<u64>,
    /// Which attempt a client's value belongs to.
    pub(crate) values: RefCell<BTreeMap<(Host, Bytes), Attempt>>,
    /// Who created the keys of a node.
    pub(crate) creators: RefCell<Creators>,
    /// Who wrote a value to a key, wherever: a node that was restored, or follows another, has it from there.
    pub(crate) writers: RefCell<BTreeMap<(Bytes, Bytes), Maker>>,
    /// Who opened the connections, the first of which is number 1; those that are closed are not forgotten.
    connections: RefCell<Vec<Host>>,
    /// How many clients' programs have not come to their end.
    running: Cell<usize>,
    /// The run ends here.
    limit: Cell<Time>,
    polls_before: Cell<u64>,
    happenings: Cell<u64>,
    over: Cell<Option<EndReason>>,
}

impl Core {
    pub(crate) fn new(plan: WorldPlan, hosts: Vec<HostState>, engine: Box<dyn Engine>) -> Self {
        let names: Vec<String> = plan.hosts.iter().map(|host| host.name.clone()).collect();
        let find = move |name: &str| position(names.iter().map(String::as_str), name);
        Self {
            executor: Executor::new((0..hosts.len()).map(host_at)),
            timers: Timers::default(),
            links: RefCell::new(Links::new(&plan)),
            engine,
            now: Cell::new(Time::ZERO),
            queue: RefCell::default(),
            director: RefCell::new(Director::new(&plan, find)),
            active: RefCell::default(),
            healed: Cell::new(false),
            history: RefCell::default(),
            attempts: Cell::new(0),
            values: RefCell::default(),
            creators: RefCell::default(),
            writers: RefCell::default(),
            connections: RefCell::default(),
            running: Cell::new(0),
            limit: Cell::new(Time::ZERO.after(plan.horizon)),
            polls_before: Cell::new(0),
            happenings: Cell::new(0),
            over: Cell::new(None),
            hosts,
            plan,
        }
    }

    /// Like [`with`], but does nothing where there is no world any more: for destructors.
    pub(crate) fn if_running(f: impl FnOnce(&Self)) {
        let core = CURRENT
            .try_with(|current| current.try_borrow().ok()?.clone())
            .ok()
            .flatten();
        if let Some(core) = core {
            f(&core);
        }
    }

    // ---- hosts ----

    pub(crate) fn of(&self, host: Host) -> &HostState {
        &self.hosts[host.index()]
    }

    pub(crate) fn all(&self) -> impl Iterator<Item = Host> + use<> {
        (0..self.hosts.len()).map(host_at)
    }

    pub(crate) fn name(&self, host: Host) -> Name {
        Name::clone(&self.of(host).name)
    }

    pub(crate) fn find(&self, name: &str) -> Option<Host> {
        position(self.hosts.iter().map(|host| &*host.name), name)
    }

    pub(crate) fn may_run(&self, host: Host) -> bool {
        let state = self.of(host);
        state.pauses.get() == 0 && state.process.get() == Process::Up
    }

    pub(crate) fn spawn(&self, host: Host, task: LocalTask) {
        if self.of(host).process.get() == Process::Up {
            self.executor.spawn(host, task);
        }
    }

    pub(crate) fn fill(&self, host: Host, bytes: &mut [u8]) {
        self.of(host).entropy.borrow_mut().fill(bytes);
    }

    /// The number of a new connection, which `opener` opens.
    pub(crate) fn next_connection(&self, opener: Host) -> u64 {
        let mut connections = self.connections.borrow_mut();
        connections.push(opener);
        connections.len() as u64
    }

    /// Whose connection it is, also when it is closed already; `None` for number 0, which is nobody's.
    pub(crate) fn client_of(&self, connection: ConnectionId) -> Option<Host> {
        let index = usize::try_from(connection.0.checked_sub(1)?).ok()?;
        self.connections.borrow().get(index).copied()
    }

    // ---- time ----

    pub(crate) fn now(&self) -> Time {
        self.now.get()
    }

    /// Lets the world be at a later instant.
    pub(crate) fn advance(&self, now: Time) {
        debug_assert!(now >= self.now.get(), "time goes forward");
        self.now.set(now);
        self.polls_before.set(self.executor.polls());
    }

    pub(crate) fn reading(&self, host: Host, clock: ClockKind) -> u64 {
        self.of(host).clock.get().reading(clock, self.now())
    }

    pub(crate) fn wall(&self, host: Host) -> UnixTime {
        UnixTime(self.reading(host, ClockKind::Wall))
    }

    /// When a clock of the host will show `reading` if nothing bends it; a clock that stands still never does.
    pub(crate) fn when(&self, host: Host, clock: ClockKind, reading: u64) -> Time {
        self.of(host)
            .clock
            .get()
            .first_reach(clock, reading)
            .unwrap_or(Time::MAX)
            .max(self.now())
    }

    pub(crate) fn start_timer(&self, host: Host, deadline: u64, waker: Waker) -> usize {
        let (key, generation) = self.timers.insert(host, deadline, waker);
        self.push(
            self.when(host, ClockKind::Monotonic, deadline),
            Due::Timer(key, generation),
        );
        key
    }

    pub(crate) fn push(&self, at: Time, due: Due) {
        self.queue.borrow_mut().push(at, due);
    }

    pub(crate) fn push_after(&self, delay: Duration, due: Due) {
        self.push(self.now().after(delay), due);
    }

    /// Carries out all that is due at the current instant, one at a time; false when there is nothing more.
    pub(crate) fn happen_next(&self) -> bool {
        let due = self.queue.borrow_mut().pop_until(self.now());
        let Some(due) = due else { return false };
        self.happenings.set(self.happenings.get() + 1);
        match due {
            Due::Timer(key, generation) => self.timer_due(key, generation),
            Due::Deliver(message) => self.engine.deliver(self, message),
            Due::Fault(fault) => self.apply(fault),
            Due::Heal(fault) => self.heal(fault),
            Due::HealAll => self.heal_all(),
            Due::Start(host) => self.start_if_due(host),
            Due::LateArrives(from, to) => self.late_packet_arrives(from, to),
            Due::Slewed(host, ppm) => self.slewed(host, ppm),
            Due::Tick(host, generation) => self.tick(host, generation),
        }
        true
    }

    fn timer_due(&self, key: usize, generation: u64) {
        let Some((host, deadline, waker)) = self.timers.get(key, generation) else {
            return;
        };
        if self.reading(host, ClockKind::Monotonic) >= deadline {
            waker.wake();
        } else {
            self.push(
                self.when(host, ClockKind::Monotonic, deadline),
                Due::Timer(key, generation),
            );
        }
    }

    pub(crate) fn next_due(&self) -> Option<Time> {
        self.queue.borrow().next_at()
    }

    // ---- the end ----

    /// Counts programs that are still to come to their end.
    pub(crate) fn program_started(&self) {
        self.running.set(self.running.get() + 1);
    }

    /// A program came to its end, or died for good. After the last one the world settles, then ends.
    pub(crate) fn program_over(&self) {
        self.running.set(self.running.get() - 1);
        if self.running.get() == 0 {
            self.limit
                .set(self.limit.get().min(self.now().after(self.plan.settle)));
        }
    }

    /// When the run ends at the latest.
    pub(crate) fn limit(&self) -> Time {
        self.limit.get()
    }

    /// Whether the run is over, and why.
    pub(crate) fn over(&self) -> Option<EndReason> {
        if self.over.get().is_none() {
            let busy = self.executor.polls() - self.polls_before.get() > POLLS_PER_INSTANT
                || self.happenings.get() > HAPPENINGS_PER_RUN;
            if busy {
                self.end(EndReason::Stuck);
            }
        }
        self.over.get()
    }

    /// The limit is reached, or nothing can happen any more.
    pub(crate) fn end_at_limit(&self) {
        self.end(if self.running.get() == 0 {
            EndReason::Finished
        } else {
            EndReason::Horizon
        });
    }

    /// Ends the run, once.
    pub(crate) fn end(&self, reason: EndReason) {
        if self.over.get().is_none() {
            self.over.set(Some(reason));
            self.record(What::End { reason });
        }
    }

    // ---- the history ----

    /// Writes an event down. After the end of the run there are none.
    pub(crate) fn record(&self, what: What) {
        if self.over.get().is_some() && !matches!(what, What::End { .. }) {
            return;
        }
        let mut history = self.history.borrow_mut();
        let seq = history.len() as u64;
        history.push(Event {
            seq,
            at: self.now(),
            what,
        });
    }

    pub(crate) fn take_history(&self) -> Vec<Event> {
        std::mem::take(&mut *self.history.borrow_mut())
    }

    pub(crate) fn attempt_begun(
        &self,
        host: Host,
        key: &[u8],
        value: &[u8],
        clock: ClockKind,
        reading: u64,
    ) -> Attempt {
        let attempt = Attempt(self.attempts.get());
        self.attempts.set(attempt.0 + 1);
        self.values
            .borrow_mut()
            .insert((host, Bytes::copy_from_slice(value)), attempt);
        self.record(What::AttemptBegun {
            client: self.name(host),
            attempt,
            key: text(key),
            clock,
            reading,
        });
        attempt
    }
}

/// Bytes as a name: as they are if they are text, else in a readable form.
pub(crate) fn text(bytes: &[u8]) -> Name {
    match std::str::from_utf8(bytes) {
        Ok(text) => Name::from(text),
        Err(_) => Name::from(bytes.escape_ascii().to_string()),
    }
}

fn host_at(index: usize) -> Host {
    Host(u16::try_from(index).expect("a world has fewer than 65,536 hosts"))
}

fn position<'a>(mut names: impl Iterator<Item = &'a str>, name: &str) -> Option<Host> {
    names.position(|own| own == name).map(host_at)
}
