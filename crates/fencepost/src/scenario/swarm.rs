//! `[swarm]`: which families of faults the seed may turn on, and from which ranges it draws them.
//!
//! Every family is a table, `[swarm.pause]`, and every key of it may be left out. A family without a table is never
//! on. See [`crate::plan`] for what is drawn and how.

use std::ops::Range;
use std::time::Duration;

use fencepost_checker::history::{Crash as How, Cut, Role};
use serde::Deserialize;
use toml::Spanned;

use super::check::{EVICT, FLUSH, PROBE, slew_rate};
use super::error::Problem;
use super::event::Hosts;
use super::value::{Draw, Ppm, Step};

/// Random faults, of families that the seed turns on or off.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Swarm {
    /// Faults that strike at a time do so in here.
    pub during: Draw<Duration>,
    /// How much faster than true time the clocks of each host may run from the start on.
    pub rates: Option<Draw<Ppm>>,
    /// The families, in the order of [`Does`].
    pub families: Vec<Family>,
}

/// A family of faults, of which each may be on or off in a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Family {
    /// The name of its kind, as in the scenario file.
    pub name: &'static str,
    /// The most faults of the family in one run.
    pub most: u32,
    /// The hosts that it may hit.
    pub hosts: Vec<String>,
    /// What each of its faults does.
    pub does: Does,
}

/// What the faults of a family do, with what is drawn for each of them.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(
    missing_docs,
    reason = "the fields are the keys of the tables below, and documented there"
)]
pub enum Does {
    Pause {
        suspend: bool,
        lasts: Draw<Duration>,
    },
    Crash {
        how: Vec<How>,
        down_for: Option<Draw<Duration>>,
        delayed_until: Option<Draw<Duration>>,
    },
    Partition {
        how: Vec<Cut>,
        one_way: bool,
        lasts: Draw<Duration>,
    },
    Delay {
        by: Draw<Duration>,
        lasts: Draw<Duration>,
    },
    LatePacket {
        by: Draw<Duration>,
    },
    Reset,
    ClockStep {
        by: Draw<Step>,
    },
    ClockDrift {
        ppm: Draw<Ppm>,
        lasts: Draw<Duration>,
    },
    ClockSlew {
        by: Draw<Step>,
        ppm: u32,
    },
    Operate {
        command: Vec<&'static str>,
    },
    FsyncStall {
        lasts: Draw<Duration>,
    },
}

/// `[swarm]`, as the file gives it.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(super) struct Table {
    /// Faults that strike at a time do so in here. Faults that strike at an event do so whenever it comes.
    pub(super) during: Spanned<Draw<Duration>>,
    /// The clocks of each host run faster by so much, in parts per million, if the seed turns that on.
    rates_ppm: Option<Draw<Ppm>>,
    pause: Option<Spanned<Pause>>,
    suspend: Option<Spanned<Pause>>,
    crash: Option<Spanned<Crash>>,
    client_crash: Option<Spanned<ClientCrash>>,
    partition: Option<Spanned<Partition>>,
    delay: Option<Spanned<Delay>>,
    late_packet: Option<Spanned<LatePacket>>,
    reset: Option<Spanned<Bare>>,
    clock_step: Option<Spanned<ClockStep>>,
    clock_drift: Option<Spanned<ClockDrift>>,
    clock_slew: Option<Spanned<ClockSlew>>,
    evict: Option<Spanned<Bare>>,
    flush: Option<Spanned<Bare>>,
    fsync_stall: Option<Spanned<FsyncStall>>,
}

/// Declares the table of one family: its own keys, and those that all have.
macro_rules! family_table {
    ($(#[$doc:meta])* $name:ident { $($(#[$attribute:meta])* $field:ident: $type:ty,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Debug, Default, Deserialize)]
        #[serde(rename_all = "kebab-case", deny_unknown_fields)]
        struct $name {
            $($(#[$attribute])* $field: Option<$type>,)*
            /// The most faults of this family in one run; 4 if left out. With 0 it is never on.
            most: Option<Spanned<u32>>,
            /// The hosts that it may hit; all that it makes sense for if left out.
            hosts: Option<Spanned<Vec<Spanned<String>>>>,
        }

        impl Common for $name {
            fn most(&self) -> Option<&Spanned<u32>> {
                self.most.as_ref()
            }

            fn hosts(&self) -> Option<&Spanned<Vec<Spanned<String>>>> {
                self.hosts.as_ref()
            }
        }
    };
}

/// The keys that all families have.
trait Common {
    fn most(&self) -> Option<&Spanned<u32>>;
    fn hosts(&self) -> Option<&Spanned<Vec<Spanned<String>>>>;
}

family_table! {
    /// `[swarm.pause]` and `[swarm.suspend]`: clients, nodes and the resource stop.
    Pause {
        /// 10 ms to 40 s if left out.
        r#for: Draw<Duration>,
    }
}

family_table! {
    /// `[swarm.crash]`: servers other than the resource and the sequence, whose data survives everything, end.
    Crash {
        /// All three ways if left out.
        how: Spanned<Vec<How>>,
        /// 1 ms to 10 s if left out.
        down_for: Draw<Duration>,
        /// Nodes that keep nothing (`persistence = "none"`) wait so long from the crash on by their own clocks (002,
        /// edit 1). Others start at once.
        delayed_until: Draw<Duration>,
    }
}

family_table! {
    /// `[swarm.client-crash]`: clients are killed.
    ClientCrash {
        /// Half of them, drawn, begin anew after so long; all stay down if left out.
        down_for: Draw<Duration>,
    }
}

family_table! {
    /// `[swarm.partition]`: a host is cut off, or a client from some of the servers, or the hosts are split.
    Partition {
        /// Both ways if left out.
        how: Spanned<Vec<Cut>>,
        /// Half of those that drop lose messages one way only; not on turmoil. Not at all if left out.
        one_way: bool,
        /// 10 ms to 40 s if left out.
        r#for: Draw<Duration>,
    }
}

family_table! {
    /// `[swarm.delay]`: messages take longer, between the same groups as with a partition.
    Delay {
        /// 1 ms to 10 s if left out.
        by: Draw<Duration>,
        /// 10 ms to 40 s if left out.
        r#for: Draw<Duration>,
    }
}

family_table! {
    /// `[swarm.late-packet]`: one message between a client and a server is late.
    LatePacket {
        /// 100 ms to 90 s if left out.
        by: Draw<Duration>,
    }
}

family_table! {
    /// `[swarm.clock-step]`: the wall clock of a client or a node jumps.
    ClockStep {
        /// 30 s back to 30 s forth if left out.
        by: Draw<Step>,
    }
}

family_table! {
    /// `[swarm.clock-drift]`: the clocks of a client or a node run at another rate.
    ClockDrift {
        /// 50,000 ppm slower to 50,000 ppm faster if left out.
        ppm: Draw<Ppm>,
        /// 10 ms to 40 s if left out.
        r#for: Draw<Duration>,
    }
}

family_table! {
    /// `[swarm.clock-slew]`: the clocks of a client or a node are corrected little by little.
    ClockSlew {
        /// 2 s back to 2 s forth if left out.
        by: Draw<Step>,
        /// chrony's 83,333 if left out.
        ppm: Spanned<u32>,
    }
}

family_table! {
    /// `[swarm.fsync-stall]`: the disk of a node does not answer.
    FsyncStall {
        /// 10 ms to 40 s if left out.
        r#for: Draw<Duration>,
    }
}

family_table! {
    /// `[swarm.reset]`, `[swarm.evict]`, `[swarm.flush]`.
    Bare {}
}

const MOST: u32 = 4;
/// More faults in a run than anybody could read.
const MOST_OF_ALL: u32 = 1000;

const fn millis(min: u64, max: u64) -> (Duration, Duration) {
    (Duration::from_millis(min), Duration::from_millis(max))
}

/// How long what lasts does: from what nobody notices to longer than the default TTL.
const LASTS: (Duration, Duration) = millis(10, 40_000);

fn or<T: super::value::Drawable>(given: Option<Draw<T>>, (min, max): (T, T)) -> Draw<T> {
    given.unwrap_or_else(|| Draw::range(min, max).expect("a default is not empty"))
}

/// What a family may hit if the file does not say.
#[derive(Clone, Copy)]
struct Victims(&'static [Role]);

const CLIENTS: Victims = Victims(&[Role::Client]);
const NODES: Victims = Victims(&[Role::Node]);
const PROCESSES: Victims = Victims(&[Role::Node, Role::Sentinel]);
const CLOCKS: Victims = Victims(&[Role::Client, Role::Node]);
const ALL: Victims = Victims(&[
    Role::Client,
    Role::Node,
    Role::Sentinel,
    Role::Resource,
    Role::Sequence,
]);

impl Table {
    /// The families with every default filled in.
    pub(super) fn check(&self, hosts: &Hosts) -> Result<Swarm, Problem> {
        let Self {
            during,
            rates_ppm,
            pause,
            suspend,
            ..
        } = self;
        let mut found = Families {
            hosts,
            families: Vec::new(),
        };
        found.add("pause", pause, ALL, |table| pausing(table, false))?;
        found.add("suspend", suspend, CLOCKS, |table| pausing(table, true))?;
        found.add("crash", &self.crash, PROCESSES, crashing)?;
        found.add("client-crash", &self.client_crash, CLIENTS, |table| {
            Ok(Does::Crash {
                how: vec![How::Kill],
                down_for: table.down_for,
                delayed_until: None,
            })
        })?;
        found.add("partition", &self.partition, ALL, partitioning)?;
        found.add("delay", &self.delay, ALL, |table| {
            Ok(Does::Delay {
                by: or(table.by, millis(1, 10_000)),
                lasts: or(table.r#for, LASTS),
            })
        })?;
        found.add("late-packet", &self.late_packet, ALL, |table| {
            Ok(Does::LatePacket {
                by: or(table.by, millis(100, 90_000)),
            })
        })?;
        found.add("reset", &self.reset, ALL, |_| Ok(Does::Reset))?;
        found.add("clock-step", &self.clock_step, CLOCKS, |table| {
            Ok(Does::ClockStep {
                by: or(table.by, seconds(30)),
            })
        })?;
        found.add("clock-drift", &self.clock_drift, CLOCKS, |table| {
            Ok(Does::ClockDrift {
                ppm: or(table.ppm, (Ppm(-50_000), Ppm(50_000))),
                lasts: or(table.r#for, LASTS),
            })
        })?;
        found.add("clock-slew", &self.clock_slew, CLOCKS, slewing)?;
        found.add("evict", &self.evict, NODES, |_| {
            Ok(Does::Operate {
                command: EVICT.to_vec(),
            })
        })?;
        found.add("flush", &self.flush, NODES, |_| {
            Ok(Does::Operate {
                command: FLUSH.to_vec(),
            })
        })?;
        found.add("fsync-stall", &self.fsync_stall, NODES, |table| {
            Ok(Does::FsyncStall {
                lasts: or(table.r#for, LASTS),
            })
        })?;
        Ok(Swarm {
            during: *during.get_ref(),
            rates: *rates_ppm,
            families: found.families,
        })
    }
}

const fn seconds(most: i64) -> (Step, Step) {
    (Step(-most * 1_000_000_000), Step(most * 1_000_000_000))
}

fn pausing(table: &Pause, suspend: bool) -> Result<Does, Problem> {
    Ok(Does::Pause {
        suspend,
        lasts: or(table.r#for, LASTS),
    })
}

fn crashing(table: &Crash) -> Result<Does, Problem> {
    Ok(Does::Crash {
        how: one_of(table.how.as_ref(), &[How::Kill, How::Power, How::Shutdown])?,
        down_for: Some(or(table.down_for, millis(1, 10_000))),
        delayed_until: table.delayed_until,
    })
}

fn partitioning(table: &Partition) -> Result<Does, Problem> {
    Ok(Does::Partition {
        how: one_of(table.how.as_ref(), &[Cut::Drop, Cut::Hold])?,
        one_way: table.one_way.unwrap_or(false),
        lasts: or(table.r#for, LASTS),
    })
}

fn slewing(table: &ClockSlew) -> Result<Does, Problem> {
    let ppm = match &table.ppm {
        Some(ppm) => slew_rate(ppm)?,
        None => 83_333,
    };
    Ok(Does::ClockSlew {
        by: or(table.by, seconds(2)),
        ppm,
    })
}

/// What the file lists, or everything.
fn one_of<T: Copy>(given: Option<&Spanned<Vec<T>>>, all: &[T]) -> Result<Vec<T>, Problem> {
    match given {
        Some(given) if given.get_ref().is_empty() => Err(Problem::new(
            given.span(),
            "an empty list: leave it out for all of them",
        )),
        Some(given) => Ok(given.get_ref().clone()),
        None => Ok(all.to_vec()),
    }
}

struct Families<'a> {
    hosts: &'a Hosts,
    families: Vec<Family>,
}

impl Families<'_> {
    /// The family, if the file has it and there is a host that it can hit.
    fn add<T: Common>(
        &mut self,
        name: &'static str,
        table: &Option<Spanned<T>>,
        victims: Victims,
        does: impl Fn(&T) -> Result<Does, Problem>,
    ) -> Result<(), Problem> {
        let Some(table) = table else { return Ok(()) };
        let (span, table) = (table.span(), table.get_ref());
        let most = most(table.most())?;
        if most == 0 {
            return Ok(());
        }
        self.families.push(Family {
            name,
            most,
            hosts: self.victims(name, table.hosts(), victims, span)?,
            does: does(table)?,
        });
        Ok(())
    }

    fn victims(
        &self,
        name: &str,
        given: Option<&Spanned<Vec<Spanned<String>>>>,
        Victims(roles): Victims,
        table: Range<usize>,
    ) -> Result<Vec<String>, Problem> {
        let Some(given) = given else {
            let all = self
                .hosts
                .iter()
                .filter(|(host, role)| roles.contains(role) && *host != PROBE);
            return Ok(all.map(|(host, _)| host.to_owned()).collect());
        };
        if given.get_ref().is_empty() {
            return Err(Problem::new(given.span(), "no hosts: leave the family out"));
        }
        let check = |host: &Spanned<String>| {
            let role = self.hosts.find(host.get_ref(), host.span())?;
            if roles.contains(&role) {
                return Ok(host.get_ref().clone());
            }
            let message = format!("`{name}` cannot hit `{}`", host.get_ref());
            Err(Problem::new(host.span(), message))
        };
        let hosts = given
            .get_ref()
            .iter()
            .map(check)
            .collect::<Result<Vec<_>, _>>()?;
        let links = ["partition", "delay", "late-packet", "reset"].contains(&name);
        if links && hosts.len() < 2 {
            return Err(Problem::new(table, "one host alone has no link"));
        }
        Ok(hosts)
    }
}

fn most(given: Option<&Spanned<u32>>) -> Result<u32, Problem> {
    match given {
        None => Ok(MOST),
        Some(given) if *given.get_ref() <= MOST_OF_ALL => Ok(*given.get_ref()),
        Some(given) => Err(Problem::new(
            given.span(),
            format!(
                "at most {MOST_OF_ALL} faults of a family, not {}",
                given.get_ref()
            ),
        )),
    }
}
