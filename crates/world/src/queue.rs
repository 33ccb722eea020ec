//! What will happen, in order of true time; of one instant, in the order in which it was decided.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use fencepost_checker::Time;

use crate::host::Host;

/// Something that is due at an instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Due {
    /// A task's timer, by key and generation.
    Timer(usize, u64),
    /// A message of the event engine's network.
    Deliver(usize),
    /// A fault of the plan.
    Fault(usize),
    /// The end of a lasting fault.
    Heal(usize),
    /// The end of all faults.
    HealAll,
    /// A process that was kept waiting after its restart starts.
    Start(Host),
    /// A late packet arrives, on the engine that holds its link back for it.
    LateArrives(Host, Host),
    /// A clock has been corrected.
    Slewed(Host, i64),
    /// A service's own deadline; the number tells stale entries apart.
    Tick(Host, u64),
}

/// The queue of all that is due.
#[derive(Default)]
pub(crate) struct Queue {
    heap: BinaryHeap<Reverse<(Time, u64, Due)>>,
    next: u64,
}

impl Queue {
    pub(crate) fn push(&mut self, at: Time, due: Due) {
        self.heap.push(Reverse((at, self.next, due)));
        self.next += 1;
    }

    /// When the next thing is due.
    pub(crate) fn next_at(&self) -> Option<Time> {
        self.heap.peek().map(|Reverse((at, _, _))| *at)
    }

    /// Takes the next thing that is due at `now` or before.
    pub(crate) fn pop_until(&mut self, now: Time) -> Option<Due> {
        if self.next_at()? > now {
            return None;
        }
        self.heap.pop().map(|Reverse((_, _, due))| due)
    }
}

/// A set of values with small reusable keys.
pub(crate) struct Slab<T> {
    slots: Vec<Option<T>>,
    free: Vec<usize>,
}

impl<T> Default for Slab<T> {
    fn default() -> Self {
        Self {
            slots: Vec::new(),
            free: Vec::new(),
        }
    }
}

impl<T> Slab<T> {
    pub(crate) fn insert(&mut self, value: T) -> usize {
        self.insert_with(|_| value)
    }

    /// Inserts a value that knows its own key.
    pub(crate) fn insert_with(&mut self, value: impl FnOnce(usize) -> T) -> usize {
        let key = self.free.pop().unwrap_or_else(|| {
            self.slots.push(None);
            self.slots.len() - 1
        });
        self.slots[key] = Some(value(key));
        key
    }

    pub(crate) fn get_mut(&mut self, key: usize) -> Option<&mut T> {
        self.slots.get_mut(key)?.as_mut()
    }

    pub(crate) fn remove(&mut self, key: usize) -> Option<T> {
        let value = self.slots.get_mut(key)?.take();
        if value.is_some() {
            self.free.push(key);
        }
        value
    }

    /// All keys and values, smallest key first.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (usize, &T)> {
        self.slots
            .iter()
            .enumerate()
            .filter_map(|(key, slot)| Some((key, slot.as_ref()?)))
    }

    /// All values, smallest key first.
    pub(crate) fn into_values(self) -> impl Iterator<Item = T> {
        self.slots.into_iter().flatten()
    }
}
