//! Timers on the clocks of hosts.

use std::cell::RefCell;
use std::task::Waker;

use crate::host::Host;
use crate::queue::Slab;

/// A task that waits for its host's monotonic clock to reach a reading.
pub(crate) struct Timer {
    pub(crate) host: Host,
    pub(crate) deadline: u64,
    waker: Waker,
    /// Tells the entries of the queue apart that were made for an earlier timer of the same key.
    generation: u64,
}

/// All timers of a world.
#[derive(Default)]
pub(crate) struct Timers {
    slab: RefCell<Slab<Timer>>,
    generation: std::cell::Cell<u64>,
}

impl Timers {
    /// Adds a timer; returns its key and generation.
    pub(crate) fn insert(&self, host: Host, deadline: u64, waker: Waker) -> (usize, u64) {
        let generation = self.generation.get();
        self.generation.set(generation + 1);
        (
            self.slab.borrow_mut().insert(Timer {
                host,
                deadline,
                waker,
                generation,
            }),
            generation,
        )
    }

    pub(crate) fn set_waker(&self, key: usize, waker: &Waker) {
        if let Some(timer) = self.slab.borrow_mut().get_mut(key) {
            timer.waker.clone_from(waker);
        }
    }

    /// The timer, if it is still the one of that generation.
    pub(crate) fn get(&self, key: usize, generation: u64) -> Option<(Host, u64, Waker)> {
        let mut slab = self.slab.borrow_mut();
        let timer = slab
            .get_mut(key)
            .filter(|timer| timer.generation == generation)?;
        Some((timer.host, timer.deadline, timer.waker.clone()))
    }

    /// Key, generation and deadline of every timer of a host.
    pub(crate) fn of(&self, host: Host) -> Vec<(usize, u64, u64)> {
        let slab = self.slab.borrow();
        let own = slab.iter().filter(|(_, timer)| timer.host == host);
        own.map(|(key, timer)| (key, timer.generation, timer.deadline))
            .collect()
    }

    pub(crate) fn remove(&self, key: usize) {
        let timer = self.slab.borrow_mut().remove(key);
        drop(timer);
    }
}
