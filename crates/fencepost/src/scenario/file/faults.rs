//! The tables of scripted faults, one for each kind.

use std::time::Duration;

use fencepost_checker::history::{Crash as How, Cut};
use serde::Deserialize;
use toml::Spanned;

use crate::scenario::value::{Draw, Ppm, Step};

/// When a fault takes effect, as every fault table spells it. Exactly one of `at` and `on`.
#[derive(Clone, Debug)]
pub(in crate::scenario) struct When {
    pub(in crate::scenario) at: Option<Spanned<Draw<Duration>>>,
    pub(in crate::scenario) on: Option<Spanned<String>>,
    pub(in crate::scenario) nth: Option<Spanned<u32>>,
    pub(in crate::scenario) after: Option<Spanned<Draw<Duration>>>,
}

/// Declares the table of one kind of fault: its own keys, and those of [`When`].
///
/// `#[serde(flatten)]` would lose the place of every error in the table.
macro_rules! fault_table {
    ($(#[$doc:meta])* $name:ident { $($(#[$attribute:meta])* $field:ident: $type:ty,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Debug, Deserialize)]
        #[serde(rename_all = "kebab-case", deny_unknown_fields)]
        pub(in crate::scenario) struct $name {
            $($(#[$attribute])* pub(in crate::scenario) $field: $type,)*
            /// A time since the start of the run.
            at: Option<Spanned<Draw<Duration>>>,
            /// An event: `HOST VERB`, or `HOST VERB to PEER` and `HOST VERB from PEER` for the events of servers.
            on: Option<Spanned<String>>,
            /// Which occurrence of the event; the first if left out.
            nth: Option<Spanned<u32>>,
            /// How long after the event; not at all if left out.
            after: Option<Spanned<Draw<Duration>>>,
        }

        impl $name {
            pub(in crate::scenario) fn when(&self) -> When {
                let Self { at, on, nth, after, .. } = self.clone();
                When { at, on, nth, after }
            }
        }
    };
}

fault_table! {
    /// `[[pause]]`: all of a host stops for a time; its clocks go on.
    Pause {
        host: Spanned<String>,
        /// How long, in true time.
        r#for: Draw<Duration>,
        /// The machine sleeps: its monotonic clock stands still too.
        suspend: Option<bool>,
    }
}

fault_table! {
    /// `[[crash]]`: a host's process ends.
    Crash {
        host: Spanned<String>,
        /// `kill`, `power` or `shutdown`.
        how: How,
        /// When it is started again; never if left out.
        down_for: Option<Draw<Duration>>,
        /// It is started no earlier than so long after the crash by its own wall clock (002, edit 1). Needs `down-for`.
        delayed_until: Option<Spanned<Draw<Duration>>>,
    }
}

fault_table! {
    /// `[[client-crash]]`: a client's process is killed, with all that it runs.
    ClientCrash {
        host: Spanned<String>,
        /// When its program begins anew; never if left out.
        down_for: Option<Draw<Duration>>,
    }
}

fault_table! {
    /// `[[partition]]`: no message passes between two groups of hosts.
    Partition {
        between: Spanned<(Vec<Spanned<String>>, Vec<Spanned<String>>)>,
        /// `drop` or `hold`.
        how: Cut,
        /// Only messages from the first group to the second are lost. Not on turmoil; needs `how = "drop"`.
        one_way: Option<Spanned<bool>>,
        /// How long. At most one of `for` and `until`; to the end of the run without either.
        r#for: Option<Spanned<Draw<Duration>>>,
        /// The event at which it heals.
        until: Option<Spanned<String>>,
    }
}

fault_table! {
    /// `[[delay]]`: messages between two groups of hosts take longer.
    Delay {
        between: Spanned<(Vec<Spanned<String>>, Vec<Spanned<String>>)>,
        /// By how much, one way.
        by: Draw<Duration>,
        /// How long. At most one of `for` and `until`; to the end of the run without either.
        r#for: Option<Spanned<Draw<Duration>>>,
        /// The event at which it ends.
        until: Option<Spanned<String>>,
    }
}

fault_table! {
    /// `[[late-packet]]`: the next message from one host to another is late, and what follows it on its connection.
    LatePacket {
        from: Spanned<String>,
        to: Spanned<String>,
        /// By how much.
        by: Draw<Duration>,
    }
}

fault_table! {
    /// `[[reset]]`: the connections between two groups of hosts are reset.
    Reset {
        between: Spanned<(Vec<Spanned<String>>, Vec<Spanned<String>>)>,
    }
}

fault_table! {
    /// `[[clock-drift]]`: both clocks of a host run at another rate.
    ClockDrift {
        host: Spanned<String>,
        /// How much faster than before, in parts per million.
        ppm: Draw<Ppm>,
        /// How long; to the end of the run if left out.
        r#for: Option<Draw<Duration>>,
    }
}

fault_table! {
    /// `[[clock-slew]]`: a correction spread over time; both clocks run at another rate until it is complete.
    ClockSlew {
        host: Spanned<String>,
        /// By how much, such as `"400ms"` or `"-400ms"`.
        by: Draw<Step>,
        /// How fast, in parts per million: 500 for ntpd, 83,333 for chrony by default.
        ppm: Spanned<u32>,
    }
}

fault_table! {
    /// `[[evict]]`: a node drops the lock's key as its maxmemory policy would.
    Evict {
        host: Spanned<String>,
    }
}

fault_table! {
    /// `[[flush]]`: an operator flushes a node.
    Flush {
        host: Spanned<String>,
    }
}

fault_table! {
    /// `[[operate]]`: an operator's command reaches a node, such as `["SET", "other", "1"]`.
    Operate {
        host: Spanned<String>,
        /// The command and its arguments.
        command: Spanned<Vec<String>>,
    }
}

fault_table! {
    /// `[[fsync-stall]]`: a node's disk does not answer.
    FsyncStall {
        host: Spanned<String>,
        /// How long.
        r#for: Draw<Duration>,
    }
}

fault_table! {
    /// `[[clock-step]]`: a host's wall clock jumps.
    ClockStep {
        host: Spanned<String>,
        /// By how much, such as `"30s"` or `"-10s"`.
        by: Draw<Step>,
    }
}
