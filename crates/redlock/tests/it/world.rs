//! A small deterministic world: virtual time, an executor, and Redis nodes that do as they are told.

use std::collections::{BTreeMap, VecDeque};
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

use redlock::{Clock, Entropy, Reading, Spawn};

use crate::node::{Manner, TestNode};

pub(crate) fn ms(milliseconds: u64) -> Duration {
    Duration::from_millis(milliseconds)
}

/// The world. Clones are the same world.
#[derive(Clone)]
pub(crate) struct World(Arc<Mutex<State>>);

type Task = Pin<Box<dyn Future<Output = ()> + Send>>;

/// What a task ends with.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Whose {
    /// The network and the nodes: never.
    World,
    /// The client's process.
    Process,
}

pub(crate) struct State {
    pub(crate) now: Duration,
    sequence: u64,
    timers: BTreeMap<(Duration, u64), Waker>,
    spawned: Vec<(Whose, Task)>,
    running: Vec<(Arc<Flag>, Whose, Task)>,
    pub(crate) nodes: Vec<NodeState>,
    /// How far the clients' clock is ahead of true time; a step is a change of it.
    clock_ahead: Duration,
    clock_readings: u32,
    random: u64,
    /// Whether the client's process can still run tasks.
    pub(crate) process_alive: bool,
}

#[derive(Default)]
pub(crate) struct NodeState {
    /// Value and expiry of each key.
    pub(crate) keys: BTreeMap<Vec<u8>, (Vec<u8>, Duration)>,
    pub(crate) manner: Manner,
    /// The manners of the next commands, before `manner`.
    pub(crate) next: VecDeque<Manner>,
    /// Commands applied, in order: name and value.
    pub(crate) log: Vec<(Duration, &'static str, Vec<u8>)>,
}

struct Flag(AtomicBool);

impl Wake for Flag {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::SeqCst);
    }
}

impl World {
    pub(crate) fn new(nodes: usize) -> World {
        let nodes = (0..nodes).map(|_| NodeState::default()).collect();
        World(Arc::new(Mutex::new(State {
            now: Duration::ZERO,
            sequence: 0,
            timers: BTreeMap::new(),
            spawned: Vec::new(),
            running: Vec::new(),
            nodes,
            clock_ahead: Duration::from_secs(1_000),
            clock_readings: 0,
            random: 0,
            process_alive: true,
        })))
    }

    pub(crate) fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap()
    }

    pub(crate) fn now(&self) -> Duration {
        self.state().now
    }

    pub(crate) fn nodes(&self) -> Vec<TestNode> {
        (0..self.state().nodes.len())
            .map(|index| TestNode::new(self.clone(), index))
            .collect()
    }

    /// How each of these nodes answers from now on. Nodes are counted from 1.
    pub(crate) fn set(&self, nodes: impl IntoIterator<Item = usize>, manner: Manner) {
        for node in nodes {
            self.state().nodes[node - 1].manner = manner.clone();
        }
    }

    /// How a node answers its next command that has no manner of its own yet.
    pub(crate) fn once(&self, node: usize, manner: Manner) {
        self.state().nodes[node - 1].next.push_back(manner);
    }

    /// Another client's key, for `ttl` from now.
    pub(crate) fn occupy(&self, nodes: impl IntoIterator<Item = usize>, key: &str, ttl: Duration) {
        for node in nodes {
            let expires = self.now() + ttl;
            let entry = (b"somebody else's".to_vec(), expires);
            self.state().nodes[node - 1].keys.insert(key.into(), entry);
        }
    }

    /// The nodes, counted from 1, that hold `key` now.
    pub(crate) fn holding(&self, key: &str) -> Vec<usize> {
        let state = self.state();
        let holds = |node: &NodeState| {
            node.keys
                .get(key.as_bytes())
                .is_some_and(|(_, expires)| state.now < *expires)
        };
        (1..=state.nodes.len())
            .filter(|node| holds(&state.nodes[node - 1]))
            .collect()
    }

    /// How often each node applied this command.
    pub(crate) fn applied(&self, command: &str) -> Vec<usize> {
        let count = |node: &NodeState| node.log.iter().filter(|entry| entry.1 == command).count();
        self.state().nodes.iter().map(count).collect()
    }

    pub(crate) fn clock_readings(&self) -> u32 {
        self.state().clock_readings
    }

    pub(crate) fn step_clock_back(&self, by: Duration) {
        self.state().clock_ahead -= by;
    }

    pub(crate) fn step_clock_forward(&self, by: Duration) {
        self.state().clock_ahead += by;
    }

    /// Runs `future` to its end in virtual time, and what was spawned beside it.
    pub(crate) fn run<T>(&self, future: impl Future<Output = T>) -> T {
        let mut future = Box::pin(future);
        let flag = Arc::new(Flag(AtomicBool::new(true)));
        for _ in 0..1_000_000 {
            // What arrives at this instant arrives before anybody looks at the time.
            let mut busy = self.poll_tasks();
            if flag.0.swap(false, Ordering::SeqCst) {
                busy = true;
                if let Poll::Ready(output) = poll(&flag, future.as_mut()) {
                    return output;
                }
            }
            assert!(
                busy || self.next_instant(),
                "stuck: nothing will ever happen again"
            );
        }
        panic!("busy without end");
    }

    /// Lets `span` go by.
    pub(crate) fn pass(&self, span: Duration) {
        self.run(self.clock().sleep(span));
    }

    fn poll_tasks(&self) -> bool {
        let mut tasks = std::mem::take(&mut self.state().running);
        let spawned = std::mem::take(&mut self.state().spawned);
        tasks.extend(
            spawned
                .into_iter()
                .map(|(whose, task)| (Arc::new(Flag(AtomicBool::new(true))), whose, task)),
        );
        let mut busy = false;
        tasks.retain_mut(|(flag, _, task)| {
            let woken = flag.0.swap(false, Ordering::SeqCst);
            busy |= woken;
            !(woken && poll(flag, task.as_mut()).is_ready())
        });
        self.state().running = tasks;
        busy || !self.state().spawned.is_empty()
    }

    fn next_instant(&self) -> bool {
        let mut state = self.state();
        let Some((&(at, _), _)) = state.timers.first_key_value() else {
            return false;
        };
        state.now = at;
        let later = state.timers.split_off(&(at, u64::MAX));
        let due = std::mem::replace(&mut state.timers, later);
        drop(state);
        due.into_values().for_each(Waker::wake);
        true
    }

    pub(crate) fn spawn_task(&self, task: impl Future<Output = ()> + Send + 'static) {
        self.state().spawned.push((Whose::World, Box::pin(task)));
    }

    /// The client's process dies, and every task of it.
    pub(crate) fn kill_process(&self) {
        let mut state = self.state();
        state.process_alive = false;
        let (dead, alive) = std::mem::take(&mut state.running)
            .into_iter()
            .partition::<Vec<_>, _>(|(_, whose, _)| *whose == Whose::Process);
        state.running = alive;
        state.spawned.retain(|(whose, _)| *whose == Whose::World);
        drop(state);
        drop(dead);
    }

    pub(crate) fn clock(&self) -> TestClock {
        TestClock(self.clone())
    }

    pub(crate) fn entropy(&self) -> TestEntropy {
        TestEntropy(self.clone())
    }

    pub(crate) fn spawner(&self) -> TestSpawn {
        TestSpawn(self.clone())
    }
}

fn poll<F: Future + ?Sized>(flag: &Arc<Flag>, future: Pin<&mut F>) -> Poll<F::Output> {
    let waker = Waker::from(flag.clone());
    future.poll(&mut Context::from_waker(&waker))
}

#[derive(Clone)]
pub(crate) struct TestClock(World);

impl Clock for TestClock {
    fn now(&self) -> Reading {
        let mut state = self.0.state();
        state.clock_readings += 1;
        Reading(state.now + state.clock_ahead)
    }

    fn sleep(&self, span: Duration) -> impl Future<Output = ()> + Send + 'static {
        let mut state = self.0.state();
        state.sequence += 1;
        let timer = Timer {
            world: self.0.clone(),
            at: (state.now.saturating_add(span), state.sequence),
        };
        drop(state);
        poll_fn(move |context| timer.poll(context))
    }
}

struct Timer {
    world: World,
    at: (Duration, u64),
}

impl Timer {
    fn poll(&self, context: &Context<'_>) -> Poll<()> {
        let mut state = self.world.state();
        if state.now >= self.at.0 {
            return Poll::Ready(());
        }
        state.timers.insert(self.at, context.waker().clone());
        Poll::Pending
    }
}

impl Drop for Timer {
    fn drop(&mut self) {
        self.world.state().timers.remove(&self.at);
    }
}

#[derive(Clone)]
pub(crate) struct TestEntropy(World);

impl Entropy for TestEntropy {
    fn fill(&self, bytes: &mut [u8]) {
        for chunk in bytes.chunks_mut(8) {
            let mut state = self.0.state();
            state.random = state.random.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mut mixed = state.random;
            mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            chunk.copy_from_slice(&(mixed ^ (mixed >> 31)).to_le_bytes()[..chunk.len()]);
        }
    }
}

#[derive(Clone)]
pub(crate) struct TestSpawn(World);

impl Spawn for TestSpawn {
    fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        let mut state = self.0.state();
        if state.process_alive {
            state.spawned.push((Whose::Process, Box::pin(task)));
        }
    }
}
