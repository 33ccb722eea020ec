//! The executor: tasks belong to hosts, and a host that is stopped is not polled.
//!
//! Both engines use it. The event engine runs hosts in the order in which they became ready; on turmoil each host's
//! own runtime runs its tasks, so that sockets work inside them.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Wake, Waker};

use crate::host::Host;
use crate::queue::Slab;

/// A task's future. It stays on the thread of its world.
pub(crate) type LocalTask = Pin<Box<dyn Future<Output = ()>>>;

/// The hosts that have ready tasks, in the order in which they became ready.
type Runnable = Arc<Mutex<VecDeque<Host>>>;

struct Task {
    /// Taken out while it is polled.
    future: Option<LocalTask>,
    waker: Arc<TaskWaker>,
}

struct TaskWaker {
    key: usize,
    queued: AtomicBool,
    ready: Arc<Ready>,
}

/// The ready tasks of one host. Behind a mutex only because a `Waker` must be `Sync`; nothing ever contends for it.
struct Ready {
    host: Host,
    tasks: Mutex<VecDeque<Arc<TaskWaker>>>,
    supervisor: Mutex<Option<Waker>>,
    runnable: Runnable,
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Ready {
    fn announce(&self) {
        lock(&self.runnable).push_back(self.host);
        if let Some(supervisor) = lock(&self.supervisor).as_ref() {
            supervisor.wake_by_ref();
        }
    }
}

impl Wake for TaskWaker {
    fn wake(self: Arc<Self>) {
        if !self.queued.swap(true, Ordering::Relaxed) {
            let ready = Arc::clone(&self.ready);
            let first = {
                let mut tasks = lock(&ready.tasks);
                tasks.push_back(self);
                tasks.len() == 1
            };
            if first {
                ready.announce();
            }
        }
    }
}

/// One host's share of the executor.
struct HostTasks {
    ready: Arc<Ready>,
    tasks: RefCell<Slab<Task>>,
    /// Futures of a process that ended, to be dropped outside of every poll and, on turmoil, in the host's runtime.
    doomed: RefCell<Vec<LocalTask>>,
    /// Counts the processes; a task that is polled while its process ends finds another number afterwards.
    process: Cell<u64>,
}

/// All tasks of a world.
pub(crate) struct Executor {
    hosts: Vec<HostTasks>,
    runnable: Runnable,
    polls: Cell<u64>,
}

impl Executor {
    pub(crate) fn new(hosts: impl Iterator<Item = Host>) -> Self {
        let runnable = Runnable::default();
        let hosts = hosts
            .map(|host| HostTasks {
                ready: Arc::new(Ready {
                    host,
                    tasks: Mutex::default(),
                    supervisor: Mutex::default(),
                    runnable: Arc::clone(&runnable),
                }),
                tasks: RefCell::default(),
                doomed: RefCell::default(),
                process: Cell::new(0),
            })
            .collect();
        Self {
            hosts,
            runnable,
            polls: Cell::new(0),
        }
    }

    fn of(&self, host: Host) -> &HostTasks {
        &self.hosts[host.index()]
    }

    /// Adds a task to a host; it is polled when the host's turn comes.
    pub(crate) fn spawn(&self, host: Host, future: LocalTask) {
        let own = self.of(host);
        let mut waker = None;
        own.tasks.borrow_mut().insert_with(|key| {
            let queued = AtomicBool::new(false);
            let own_waker = waker.insert(Arc::new(TaskWaker {
                key,
                queued,
                ready: Arc::clone(&own.ready),
            }));
            Task {
                future: Some(future),
                waker: Arc::clone(own_waker),
            }
        });
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    /// The next host with ready tasks, for the event engine.
    pub(crate) fn next_runnable(&self) -> Option<Host> {
        lock(&self.runnable).pop_front()
    }

    /// Polls ready tasks of `host` while `may_run` says that the host is not stopped.
    pub(crate) fn run(&self, host: Host, may_run: impl Fn() -> bool) {
        while may_run() && self.run_one(host) {}
    }

    fn run_one(&self, host: Host) -> bool {
        let own = self.of(host);
        let Some(waker) = lock(&own.ready.tasks).pop_front() else {
            return false;
        };
        waker.queued.store(false, Ordering::Relaxed);
        let future = own.tasks.borrow_mut().get_mut(waker.key).and_then(|task| {
            // A key may have been given to another task since this one was woken.
            if Arc::ptr_eq(&task.waker, &waker) {
                task.future.take()
            } else {
                None
            }
        });
        let Some(mut future) = future else {
            return true;
        };
        let process = own.process.get();
        self.polls.set(self.polls.get() + 1);
        let key = waker.key;
        let std_waker = Waker::from(waker);
        let polled = future.as_mut().poll(&mut Context::from_waker(&std_waker));
        if own.process.get() != process {
            own.doomed.borrow_mut().push(future);
        } else if polled.is_ready() {
            let finished = own.tasks.borrow_mut().remove(key);
            drop(finished);
        } else if let Some(task) = own.tasks.borrow_mut().get_mut(key) {
            task.future = Some(future);
        }
        true
    }

    /// Which process of the host this is, counted from 0.
    pub(crate) fn process(&self, host: Host) -> u64 {
        self.of(host).process.get()
    }

    /// How many polls there have been.
    pub(crate) fn polls(&self) -> u64 {
        self.polls.get()
    }

    /// Ends a host's process: none of its tasks is polled again. They are dropped by [`bury`](Self::bury).
    pub(crate) fn doom(&self, host: Host) {
        let own = self.of(host);
        own.process.set(own.process.get() + 1);
        lock(&own.ready.tasks).clear();
        let tasks = std::mem::take(&mut *own.tasks.borrow_mut());
        own.doomed
            .borrow_mut()
            .extend(tasks.into_values().filter_map(|task| task.future));
    }

    /// Drops what [`doom`](Self::doom) left.
    pub(crate) fn bury(&self, host: Host) {
        let doomed = std::mem::take(&mut *self.of(host).doomed.borrow_mut());
        drop(doomed);
    }

    /// Lets a stopped host's ready tasks be run again.
    pub(crate) fn resume(&self, host: Host) {
        self.of(host).ready.announce();
    }

    /// Lets `host`'s own runtime know of its ready tasks from now on, for turmoil.
    pub(crate) fn supervise(&self, host: Host, cx: &Context<'_>) {
        *lock(&self.of(host).ready.supervisor) = Some(cx.waker().clone());
    }
}

/// Ready at its second poll: lets the executor look again whether the host may go on.
pub(crate) struct Yield(pub(crate) bool);

impl Future for Yield {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        if std::mem::replace(&mut self.0, true) {
            return Poll::Ready(());
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    }
}
