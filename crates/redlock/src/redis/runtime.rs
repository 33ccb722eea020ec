//! Clock, entropy and spawning on tokio and the operating system.
#![expect(
    clippy::disallowed_types,
    clippy::disallowed_methods,
    reason = "production's own clock and timers: the one place of this crate that lives in the real world"
)]

use std::future::Future;
use std::marker::PhantomData;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tokio::runtime::Handle;
use tokio::time::Instant;

use crate::ports::{Clock, Entropy, NoTokens, Node, Ports, Reading, Spawn};

/// There is no tokio runtime here.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not within a tokio runtime: timers and releases in the background have nowhere to run")]
pub struct NoRuntime;

/// What elapsed time is measured by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Elapsed {
    /// The monotonic clock: never steps. On Linux it stands still while the machine is suspended, so a
    /// lease looks as long after a suspension as before. The default.
    #[default]
    Monotonic,
    /// The wall clock: goes on while the machine is suspended, and steps when somebody sets it. A step back
    /// makes a lease look longer than it is.
    Wall,
}

/// A clock on tokio's timers. The timers themselves are monotonic either way.
#[derive(Clone, Debug)]
pub struct TokioClock {
    runtime: Handle,
    elapsed: Elapsed,
    origin: Instant,
}

impl TokioClock {
    /// A clock with its timers on `runtime`, whose time must be enabled. The origin of the monotonic clock
    /// is now; that of the wall clock is the Unix epoch.
    pub fn new(runtime: Handle, elapsed: Elapsed) -> Self {
        let origin = {
            let _within = runtime.enter();
            Instant::now()
        };
        TokioClock {
            runtime,
            elapsed,
            origin,
        }
    }
}

impl Clock for TokioClock {
    fn now(&self) -> Reading {
        match self.elapsed {
            Elapsed::Monotonic => Reading(self.origin.elapsed()),
            // Before 1970 the clock stands at its origin.
            Elapsed::Wall => Reading(
                SystemTime::now()
                    .duration_since(UNIX_EPOCH)
                    .unwrap_or_default(),
            ),
        }
    }

    fn sleep(&self, span: Duration) -> impl Future<Output = ()> + Send + 'static {
        let _within = self.runtime.enter();
        tokio::time::sleep(span)
    }
}

/// The operating system's random numbers.
#[derive(Clone, Copy, Debug, Default)]
pub struct OsEntropy;

impl Entropy for OsEntropy {
    /// # Panics
    ///
    /// If the operating system has no random numbers: a lock with a guessable value is worse than none.
    fn fill(&self, bytes: &mut [u8]) {
        getrandom::fill(bytes).expect("the operating system gives random numbers");
    }
}

/// Spawns on a tokio runtime, from any thread, inside of the runtime or not. Once the runtime has shut down,
/// tasks are dropped.
#[derive(Clone, Debug)]
pub struct TokioSpawn(Handle);

impl TokioSpawn {
    /// Spawns on `runtime`.
    pub fn new(runtime: Handle) -> Self {
        TokioSpawn(runtime)
    }
}

impl Spawn for TokioSpawn {
    fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        drop(self.0.spawn(task));
    }
}

/// All ports on a tokio runtime, without tokens and without an observer.
///
/// For tokens, put the parts together: `PortSet::new(TokioClock::new(..), OsEntropy,
/// TokioSpawn::new(..)).with_tokens(..)`.
#[derive(Debug)]
pub struct TokioPorts<N> {
    clock: TokioClock,
    spawn: TokioSpawn,
    node: PhantomData<fn() -> N>,
}

impl<N> Clone for TokioPorts<N> {
    fn clone(&self) -> Self {
        TokioPorts {
            clock: self.clock.clone(),
            spawn: self.spawn.clone(),
            node: PhantomData,
        }
    }
}

impl<N> TokioPorts<N> {
    /// Ports on `runtime`.
    pub fn new(runtime: Handle, elapsed: Elapsed) -> Self {
        let clock = TokioClock::new(runtime.clone(), elapsed);
        TokioPorts {
            clock,
            spawn: TokioSpawn::new(runtime),
            node: PhantomData,
        }
    }

    /// Ports on the runtime that this is called in.
    ///
    /// # Errors
    ///
    /// [`NoRuntime`] outside of one.
    pub fn current(elapsed: Elapsed) -> Result<Self, NoRuntime> {
        Handle::try_current()
            .map(|runtime| TokioPorts::new(runtime, elapsed))
            .map_err(|_| NoRuntime)
    }
}

impl<N: Node> Ports for TokioPorts<N> {
    type Clock = TokioClock;
    type Entropy = OsEntropy;
    type Spawn = TokioSpawn;
    type Node = N;
    type Tokens = NoTokens;
    type Observer = ();

    fn clock(&self) -> &TokioClock {
        &self.clock
    }

    fn entropy(&self) -> &OsEntropy {
        &OsEntropy
    }

    fn spawner(&self) -> &TokioSpawn {
        &self.spawn
    }

    fn tokens(&self) -> &NoTokens {
        &NoTokens
    }

    fn observer(&self) -> &() {
        &()
    }
}
