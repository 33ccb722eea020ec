//! What a script may use up: instructions and memory, both counted from its own start.
//!
//! Redis has no such limits; it answers `BUSY` until somebody sends `SCRIPT KILL`. A simulation has nobody
//! who would, so the node itself stops a script that does not end.
//!
//! How much memory a script takes from a shared state depends on what is in it: a string that is there already is
//! not allocated again. So a script gets very little on the shared state, [`Budget::SHARED`]; with more it starts
//! again on a new state, where the count is the same each time. A script that keeps to the small budget must never
//! be one that the large one would have stopped. The difference between the two counts is at most what may lie
//! around, [`GARBAGE`], and the strings of compiled scripts: together, with the small budget itself, less than
//! 2.75 MiB. At that much, an instruction counts 87, so that 5,000 of them are far less than ten million.

use std::cell::Cell;
use std::rc::Rc;

use mlua::{HookTriggers, Lua, VmState};

/// What a script may use up on a state.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Budget {
    instructions: u64,
    /// Bytes that it may allocate at all, garbage included: nothing is collected while it runs.
    memory: usize,
    /// How often instructions are counted.
    stride: u32,
    /// Whether an instruction counts the more, the more memory the script has taken: joining two strings is one
    /// instruction, whatever their size, and takes no memory if the result is there already.
    weighted: bool,
}

impl Budget {
    /// A release script takes about twenty instructions, and two commands of twenty each.
    pub(super) const SHARED: Budget = Budget {
        instructions: 5_000,
        memory: 256 << 10,
        stride: 1_000,
        weighted: false,
    };
    /// About 0.1 s of plain instructions.
    pub(super) const OWN: Budget = Budget {
        instructions: 10_000_000,
        memory: 16 << 20,
        stride: 100,
        weighted: true,
    };
}

/// Memory that makes an instruction no more expensive, and how much more of it counts one instruction more.
const FREE: usize = 64 << 10;
const WEIGHT: usize = 32 << 10;
/// What a call of a command and an error on its way count.
pub(super) const CALL: u64 = 20;
/// How many bytes that a command takes, answers or goes through count one instruction more: so a script moves no
/// more than 80 MB in all.
const BYTES: usize = 8;

/// What so many bytes count.
pub(super) fn of_bytes(bytes: usize) -> u64 {
    u64::try_from(bytes / BYTES).unwrap_or(u64::MAX)
}
pub(super) const ERROR: u64 = 500;
/// What may lie around between scripts before it is collected.
const GARBAGE: usize = 1 << 20;

#[derive(Default)]
pub(super) struct Limits {
    budget: Cell<Budget>,
    used: Cell<u64>,
    /// Memory in use when the script began.
    base: Cell<usize>,
    exhausted: Cell<bool>,
    /// What is in use after a collection.
    live: Cell<usize>,
    seed: Cell<u64>,
    resp3: Cell<bool>,
}

impl Limits {
    pub(super) fn start(self: &Rc<Self>, lua: &Lua, budget: Budget) -> mlua::Result<()> {
        self.budget.set(budget);
        self.used.set(0);
        self.exhausted.set(false);
        self.resp3.set(false);
        self.reseed(0);
        self.base.set(lua.used_memory());
        lua.set_memory_limit(self.base.get() + budget.memory)?;
        self.arm(lua, budget.stride)
    }

    /// Ends the count. Answers whether the script had to be stopped.
    pub(super) fn finish(&self, lua: &Lua) -> bool {
        // Zero is none. Setting a limit can only fail where the allocator has none.
        let unlimited = lua.set_memory_limit(0);
        debug_assert!(unlimited.is_ok());
        // A state of the script's own is thrown away as a whole.
        let shared = !self.budget.get().weighted;
        if shared && lua.used_memory() > self.live.get() + GARBAGE {
            self.collect(lua);
        }
        self.exhausted.get()
    }

    /// Collects all garbage. Lua 5.1 turns the collector on again by that.
    pub(super) fn collect(&self, lua: &Lua) {
        lua.remove_global_hook();
        let collected = lua.gc_collect();
        debug_assert!(collected.is_ok(), "no finalizers of our own");
        lua.gc_stop();
        self.live.set(lua.used_memory());
    }

    /// Counts work that no instruction shows. Answers whether the script may go on.
    pub(super) fn charge(&self, instructions: u64) -> bool {
        let used = self.used.get().saturating_add(instructions);
        self.used.set(used);
        if used > self.budget.get().instructions {
            self.exhausted.set(true);
        }
        !self.exhausted.get()
    }

    /// Ends the script at the next instruction.
    pub(super) fn exhaust(&self) {
        self.exhausted.set(true);
    }

    fn weight(&self, lua: &Lua) -> u64 {
        if !self.budget.get().weighted {
            return 1;
        }
        let taken = lua.used_memory().saturating_sub(self.base.get());
        let steps = taken.saturating_sub(FREE) / WEIGHT;
        1 + u64::try_from(steps).unwrap_or(u64::MAX - 1)
    }

    pub(super) fn set_resp3(&self, resp3: bool) {
        self.resp3.set(resp3);
    }

    pub(super) fn resp3(&self) -> bool {
        self.resp3.get()
    }

    pub(super) fn reseed(&self, seed: u64) {
        self.seed.set(seed);
    }

    /// The next random number in [0, 1): SplitMix64, 53 bits of it.
    #[expect(clippy::cast_precision_loss, reason = "53 bits fit")]
    pub(super) fn random(&self) -> f64 {
        let seed = self.seed.get().wrapping_add(0x9E37_79B9_7F4A_7C15);
        self.seed.set(seed);
        let mixed = (seed ^ (seed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((mixed ^ (mixed >> 31)) >> 11) as f64 / (1u64 << 53) as f64
    }

    /// A new hook starts to count at zero; the old one would go on where another script stopped.
    fn arm(self: &Rc<Self>, lua: &Lua, stride: u32) -> mlua::Result<()> {
        let limits = Rc::clone(self);
        lua.set_global_hook(
            HookTriggers::new().every_nth_instruction(stride),
            move |lua, _| {
                if limits.charge(u64::from(stride).saturating_mul(limits.weight(lua))) {
                    return Ok(VmState::Continue);
                }
                // From here on every instruction fails, or a loop around `pcall` would go on for ever.
                if stride > 1 {
                    limits.arm(lua, 1)?;
                }
                Err(mlua::Error::runtime("script took too long"))
            },
        )
    }
}
