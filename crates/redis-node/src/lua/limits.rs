//! What a script may use up: instructions and memory, both counted from its own start.
//!
//! Redis has no such limits; it answers `BUSY` until somebody sends `SCRIPT KILL`. A simulation has nobody
//! who would, so the node itself stops a script that does not end.

use std::cell::Cell;
use std::rc::Rc;

use mlua::{HookTriggers, Lua, VmState};

/// Instructions of one script: a release script takes about twenty, and ten million take about 0.1 s.
const INSTRUCTIONS: u64 = 10_000_000;
/// How often instructions are counted while there are some left.
const STRIDE: u32 = 10_000;
/// What one script may allocate at all, garbage included: nothing is collected while it runs, since the
/// moment of a collection depends on what other scripts left behind.
const MEMORY: usize = 64 << 20;
/// What one instruction counts, by the memory that the script has taken: joining two strings is one
/// instruction, whatever their size. Steps, not a slope, so that a few bytes more or less, as strings shared
/// with other scripts cause them, do not change the count.
const WEIGHTS: [(usize, u64); 3] = [(64 << 10, 1), (1 << 20, 4), (16 << 20, 64)];
/// With more than that in use, a script is stopped at the next count.
const TOO_MUCH: u64 = INSTRUCTIONS;
/// What a call of a command and an error on its way count.
pub(super) const CALL: u64 = 20;
pub(super) const ERROR: u64 = 500;
/// What may lie around between scripts before it is collected.
const GARBAGE: usize = 1 << 20;

#[derive(Default)]
pub(super) struct Limits {
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
    pub(super) fn start(self: &Rc<Self>, lua: &Lua) -> mlua::Result<()> {
        self.used.set(0);
        self.exhausted.set(false);
        self.resp3.set(false);
        self.reseed(0);
        self.base.set(lua.used_memory());
        lua.set_memory_limit(self.base.get() + MEMORY)?;
        self.arm(lua, STRIDE)
    }

    /// Ends the count. Answers whether the script had to be stopped.
    pub(super) fn finish(&self, lua: &Lua) -> bool {
        // Zero is none. Setting a limit can only fail where the allocator has none.
        let unlimited = lua.set_memory_limit(0);
        debug_assert!(unlimited.is_ok());
        if lua.used_memory() > 2 * self.live.get() + GARBAGE {
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
        if used > INSTRUCTIONS {
            self.exhausted.set(true);
        }
        !self.exhausted.get()
    }

    /// Ends the script at the next instruction.
    pub(super) fn exhaust(&self) {
        self.exhausted.set(true);
    }

    fn weight(&self, lua: &Lua) -> u64 {
        let taken = lua.used_memory().saturating_sub(self.base.get());
        WEIGHTS
            .iter()
            .find(|(bound, _)| taken <= *bound)
            .map_or(TOO_MUCH, |(_, weight)| *weight)
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
