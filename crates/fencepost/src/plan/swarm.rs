//! Random faults. The seed first draws which families are on at all (each with even chances), then how many faults of
//! each there are, then each fault from a stream of its own: one more or less shifts no other.
//!
//! Families that are off make those that are on count: with everything on at once, crashes hide what pauses would have
//! shown (swarm testing, Groce and others 2012). Half of the faults strike at a time, half at a point of the protocol,
//! of which most are over in a moment that a random time would never hit. What lasts is drawn by doublings.

use std::time::Duration;

use fencepost_checker::history::{Cut, Role};
use fencepost_world::Stream;
use fencepost_world::plan::{
    Action as DrawnAction, EventPattern, Fault as DrawnFault, Heal as DrawnHeal, SERVER_VERBS,
    Trigger as DrawnTrigger,
};

use super::{Drawing, NodePlan};
use crate::scenario::{Does, Draw, Family, Hosts, PROBE, Persistence, Scenario};

/// The points of a client's program that faults are aimed at: around the decision, the guarded work and the release.
const AIMS: [&str; 6] = [
    "trying",
    "acquired",
    "read",
    "wrote",
    "releasing",
    "extended",
];

/// Faults on an event come as late as its so-many-th occurrence: of a client's marks, and of a server's events, of
/// which there are some for each of its clients' attempts.
const LAST_MARK: u64 = 8;
const LAST_SERVED: u64 = 64;

/// How long after an event a fault strikes that does not strike at once.
const AFTER: (u64, u64) = (1_000, 1_000_000_000);

/// By how much faster than true time the host's clocks run.
pub(super) fn rate(draw: Drawing, scenario: &Scenario, host: &str) -> i64 {
    let rates = scenario.swarm.as_ref().and_then(|swarm| swarm.rates);
    match rates {
        Some(rates) if host != PROBE && draw.stream("swarm/rates").coin() => {
            rates
                .draw(&mut draw.stream(format!("swarm/rates/{host}")))
                .0
        }
        _ => 0,
    }
}

/// All random faults of a run, family by family.
pub(super) fn faults(draw: Drawing, scenario: &Scenario, node: &NodePlan) -> Vec<DrawnFault> {
    let Some(swarm) = &scenario.swarm else {
        return Vec::new();
    };
    let target = Target {
        hosts: scenario.hosts(),
        during: swarm.during,
        forgetful: node.persistence == Persistence::None,
    };
    let drawn = swarm.families.iter().flat_map(|family| {
        let mut stream = draw.stream(format!("swarm/{}", family.name));
        let number = match stream.coin() {
            true => stream.between(1, u64::from(family.most)),
            false => 0,
        };
        (0..number).filter_map(move |n| {
            let stream = draw.stream(format!("swarm/{}/{n}", family.name));
            Shot {
                family,
                target,
                stream,
            }
            .fault()
        })
    });
    drawn.collect()
}

/// What all faults of a run are aimed at.
#[derive(Clone, Copy)]
struct Target<'a> {
    hosts: &'a Hosts,
    during: Draw<Duration>,
    /// Whether nodes keep nothing.
    forgetful: bool,
}

/// One fault in the making.
struct Shot<'a> {
    family: &'a Family,
    target: Target<'a>,
    stream: Stream,
}

impl Shot<'_> {
    /// `None` if the family can hit nothing, such as a late packet where all hosts are clients.
    fn fault(mut self) -> Option<DrawnFault> {
        let (action, heal) = self.action()?;
        let trigger = self.trigger(&action);
        Some(DrawnFault {
            trigger,
            action,
            heal,
        })
    }

    fn action(&mut self) -> Option<(DrawnAction, DrawnHeal)> {
        Some(match &self.family.does {
            Does::Pause { suspend, lasts } => (
                DrawnAction::Pause {
                    host: self.host()?,
                    suspend: *suspend,
                },
                self.lasting(lasts),
            ),
            Does::Crash {
                how,
                down_for,
                delayed_until,
            } => {
                let host = self.host()?;
                let how = *self.stream.choose(how)?;
                let heal = match down_for {
                    // A client that is killed may be gone for good; a server is started again.
                    Some(_) if self.is(&host, Role::Client) && self.stream.coin() => {
                        DrawnHeal::Never
                    }
                    Some(down_for) => self.lasting(down_for),
                    None => DrawnHeal::Never,
                };
                let waits = self.target.forgetful && self.is(&host, Role::Node);
                let delayed_until = delayed_until.filter(|_| waits);
                let delayed_until = delayed_until.map(|range| range.draw(&mut self.stream));
                (
                    DrawnAction::Crash {
                        host,
                        how,
                        delayed_until,
                    },
                    heal,
                )
            }
            Does::Partition {
                how,
                one_way,
                lasts,
            } => {
                let (left, right) = self.sides()?;
                let how = *self.stream.choose(how)?;
                let one_way = *one_way && how == Cut::Drop && self.stream.coin();
                (
                    DrawnAction::Partition {
                        left,
                        right,
                        how,
                        one_way,
                    },
                    self.lasting(lasts),
                )
            }
            Does::Delay { by, lasts } => {
                let (left, right) = self.sides()?;
                let extra = by.draw_by_doublings(&mut self.stream);
                (
                    DrawnAction::Delay { left, right, extra },
                    self.lasting(lasts),
                )
            }
            Does::LatePacket { by } => {
                let (from, to) = self.client_and_server()?;
                let extra = by.draw_by_doublings(&mut self.stream);
                (
                    DrawnAction::LatePacket { from, to, extra },
                    DrawnHeal::Never,
                )
            }
            Does::Reset => {
                let (left, right) = self.sides()?;
                (DrawnAction::Reset { left, right }, DrawnHeal::Never)
            }
            Does::ClockStep { by } => (
                DrawnAction::ClockStep {
                    host: self.host()?,
                    by_ns: by.draw(&mut self.stream).0,
                },
                DrawnHeal::Never,
            ),
            Does::ClockDrift { ppm, lasts } => (
                DrawnAction::ClockDrift {
                    host: self.host()?,
                    ppm: ppm.draw(&mut self.stream).0,
                },
                self.lasting(lasts),
            ),
            Does::ClockSlew { by, ppm } => (
                DrawnAction::ClockSlew {
                    host: self.host()?,
                    by_ns: by.draw(&mut self.stream).0,
                    ppm: *ppm,
                },
                DrawnHeal::Never,
            ),
            Does::Operate { command } => (
                DrawnAction::Operate {
                    host: self.host()?,
                    family: self.family.name.to_owned(),
                    command: command.iter().map(|&word| word.to_owned()).collect(),
                },
                DrawnHeal::Never,
            ),
            Does::FsyncStall { lasts } => (
                DrawnAction::FsyncStall { host: self.host()? },
                self.lasting(lasts),
            ),
        })
    }

    fn lasting(&mut self, range: &Draw<Duration>) -> DrawnHeal {
        DrawnHeal::After(range.draw_by_doublings(&mut self.stream))
    }

    fn host(&mut self) -> Option<String> {
        self.stream.choose(&self.family.hosts).cloned()
    }

    fn is(&self, host: &str, role: Role) -> bool {
        self.target.hosts.role(host) == Some(role)
    }

    /// The family's hosts that are clients, and those that are not.
    fn clients_and_servers(&self) -> (Vec<String>, Vec<String>) {
        let hosts = self.family.hosts.iter().cloned();
        hosts.partition(|host| self.is(host, Role::Client))
    }

    fn client_and_server(&mut self) -> Option<(String, String)> {
        let (clients, servers) = self.clients_and_servers();
        let client = self.stream.choose(&clients)?.clone();
        let server = self.stream.choose(&servers)?.clone();
        Some(if self.stream.coin() {
            (client, server)
        } else {
            (server, client)
        })
    }

    /// Two groups of hosts: one host and all others, a client and some of the servers, or a split of them all.
    fn sides(&mut self) -> Option<(Vec<String>, Vec<String>)> {
        match self.stream.below(3) {
            0 => {
                let alone = self.host()?;
                let rest = self.family.hosts.iter().filter(|host| **host != alone);
                Some((vec![alone.clone()], rest.cloned().collect()))
            }
            1 => {
                let (clients, servers) = self.clients_and_servers();
                let client = self.stream.choose(&clients)?.clone();
                let (some, _) = self.split(&servers)?;
                Some((vec![client], some))
            }
            _ => self.split(&self.family.hosts),
        }
    }

    /// Two groups of which neither is empty, by tosses of a coin.
    fn split(&mut self, hosts: &[String]) -> Option<(Vec<String>, Vec<String>)> {
        let (first, rest) = hosts.split_first()?;
        let mut sides = (vec![first.clone()], Vec::new());
        for host in rest {
            let side = if self.stream.coin() {
                &mut sides.0
            } else {
                &mut sides.1
            };
            side.push(host.clone());
        }
        if sides.1.is_empty() {
            sides.1.push(sides.0.pop()?);
        }
        Some(if self.stream.coin() {
            sides
        } else {
            (sides.1, sides.0)
        })
    }

    fn trigger(&mut self, action: &DrawnAction) -> DrawnTrigger {
        let at = self.target.during.draw(&mut self.stream);
        if self.stream.coin() {
            return DrawnTrigger::At(at);
        }
        let hit: Vec<String> = action.hosts().into_iter().map(str::to_owned).collect();
        let Some(event) = self
            .stream
            .choose(&hit)
            .cloned()
            .and_then(|host| self.event(host))
        else {
            return DrawnTrigger::At(at);
        };
        let last = if event.peer.is_some() {
            LAST_SERVED
        } else {
            LAST_MARK
        };
        let nth = u32::try_from(self.stream.by_doublings(1, last)).unwrap_or(1);
        let after = match self.stream.coin() {
            true => Duration::ZERO,
            false => Duration::from_nanos(self.stream.by_doublings(AFTER.0, AFTER.1)),
        };
        DrawnTrigger::On { event, nth, after }
    }

    /// A point of the protocol at which the host acts: a mark of a client's own program, or a server's dealing with a
    /// client, the one being as likely as the other where a client is hit.
    fn event(&mut self, host: String) -> Option<EventPattern> {
        let of = |role| {
            self.target
                .hosts
                .of(role)
                .filter(|host| *host != PROBE)
                .map(str::to_owned)
        };
        let (clients, nodes): (Vec<_>, Vec<_>) =
            (of(Role::Client).collect(), of(Role::Node).collect());
        let (server, client) = match self.target.hosts.role(&host)? {
            Role::Client if self.stream.coin() => {
                let verb = *self.stream.choose(&AIMS)?;
                return Some(EventPattern {
                    host,
                    verb: verb.to_owned(),
                    peer: None,
                });
            }
            Role::Client => (self.stream.choose(&nodes)?.clone(), host),
            Role::Node | Role::Resource | Role::Sequence => {
                (host, self.stream.choose(&clients)?.clone())
            }
            // Its dealings are not with clients' locks.
            Role::Sentinel => return None,
        };
        let verb = *self.stream.choose(&SERVER_VERBS)?;
        Some(EventPattern {
            host: server,
            verb: verb.to_owned(),
            peer: Some(client),
        })
    }
}
