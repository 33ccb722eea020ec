//! Sentinels: hosts that watch a primary, agree that it is down, elect one of them, and promote a replica.
//!
//! The rules and the timings are Redis Sentinel's, as its documentation has them; what travels between sentinels is
//! three commands instead of a channel at each node. A sentinel keeps what it knows through a crash, as Redis's does
//! in its configuration file.

mod service;
mod view;
mod watch;

use std::ops::Range;
use std::time::Duration;

use serde::{Deserialize, Serialize};

pub use service::Sentinel;
pub(crate) use watch::{primary, watch};

/// The name that clients ask for.
pub const GROUP: &str = "lock";

/// What sentinels are configured with. The periods are Redis's own.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct SentinelPlan {
    /// All sentinels, by name.
    pub sentinels: Vec<String>,
    /// All nodes, the primary first.
    pub nodes: Vec<String>,
    /// `down-after-milliseconds`: without a valid answer for so long, a node is down to this sentinel.
    pub down_after: Duration,
    /// `failover-timeout`: a failover is not tried again before twice that.
    pub failover_timeout: Duration,
    /// How many sentinels must find the primary down.
    pub quorum: u32,
}

/// How often each node and sentinel is asked, or `down-after` if that is shorter.
const PING_PERIOD: Duration = Duration::from_secs(1);
/// How often Redis's sentinels ask for INFO. Ours learn the role with each PING; how patient they are with a wrong one
/// is measured in this.
const INFO_PERIOD: Duration = Duration::from_secs(10);
/// How often a sentinel looks at what it knows, at the least.
const TIMER_PERIOD: Duration = Duration::from_millis(100);
/// How many times a second it does, drawn anew each time (`server.hz` in Redis's `sentinelTimer`): sentinels whose timers
/// kept step would all stand for election at once again and again.
const TIMER_HZ: Range<u64> = 10..20;
/// How often sentinels are asked whether they find the primary down too.
const ASK_PERIOD: Duration = Duration::from_secs(1);
/// How long such an answer is good for.
const ANSWER_LASTS: Duration = Duration::from_secs(5);
/// How often a sentinel tells the others which primary it knows.
const HELLO_PERIOD: Duration = Duration::from_secs(2);
/// A node that claims a wrong role for so long is set right.
const WRONG_ROLE_LASTS: Duration = Duration::from_secs(8);
/// A failover begins up to so much later, drawn at random, lest all sentinels stand at once.
const DESYNC: Duration = Duration::from_secs(1);
/// Without a leader after so long, or after the failover timeout if that is shorter, the attempt is given up.
const ELECTION_TIMEOUT: Duration = Duration::from_secs(10);
