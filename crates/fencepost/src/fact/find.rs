//! How each form of fact is looked up in a history. An error says what was found instead.

use std::collections::{BTreeMap, BTreeSet};

use fencepost_checker::history::{Answer, Did, Event, Name, ReleaseOutcome, Vote, What};
use fencepost_checker::hosts::Hosts;
use fencepost_checker::metrics::unlockable;
use fencepost_checker::run::Run as Derived;
use fencepost_checker::{ClockKind, History, Time};

use super::promotion;
use crate::scenario::duration;

type Found = Result<(), String>;

/// Looks for the fact of this form with these names.
pub(super) fn find(form: &str, names: &[&str], history: &History) -> Found {
    let run = Run(history);
    match (form, names) {
        ("CLIENT acquired", [client]) => run.acquired(client).map(|_| ()),
        ("CLIENT never acquired", [client]) => never(run.acquired(client), "acquired"),
        ("CLIENT acquired by DURATION", [client, limit]) => run.acquired_by(client, limit),
        ("CLIENT acquired while CLIENT was stopped", [client, stopped]) => {
            run.acquired_while(client, stopped)
        }
        ("CLIENT was refused", [client]) => run.refused(client),
        ("CLIENT released", [client]) => run.released(client),
        ("CLIENT's write was applied", [client]) => run.applied(client).map(|_| ()),
        ("CLIENT's write was refused", [client]) => run.write_refused(client),
        ("CLIENT never wrote", [client]) => never(run.applied(client), "wrote"),
        ("CLIENT wrote before CLIENT", [first, second]) => run.wrote_before(first, second),
        ("CLIENT's quorum was NODES", [client, nodes @ ..]) => run.quorum(client, nodes),
        ("NODE did not answer CLIENT", [node, client]) => {
            run.answered(node, client, |answer| *answer == Answer::TimedOut)
        }
        ("NODE answered CLIENT with an error", [node, client]) => {
            run.answered(node, client, |answer| matches!(answer, Answer::Error(_)))
        }
        // Whether a process that is down is silent or refused is a matter of its machine and of the engine.
        ("CLIENT could not reach NODE", [client, node]) => run.answered(node, client, |answer| {
            matches!(answer, Answer::TimedOut | Answer::Error(_))
        }),
        ("NODE lost CLIENT's key", [node, client]) => run.lost(node, client),
        ("NODE refused CLIENT after its restart", [node, client]) => {
            run.refused_after_restart(node, client)
        }
        ("NODE refused a foreign release", [node]) => run.refused_release(Some(node), None),
        ("a node refused a foreign release", []) => run.refused_release(None, None),
        ("a node refused CLIENT's release of CLIENT's key", [by, owner]) => {
            run.refused_release(None, Some((by, owner)))
        }
        ("CLIENT deleted CLIENT's key", [by, owner]) => run.deleted(by, owner).map(|_| ()),
        ("CLIENT never deleted CLIENT's key", [by, owner]) => {
            never(run.deleted(by, owner), "deleted it")
        }
        ("the FAMILY of HOST overlapped CLIENT's lease", [family, host, client]) => {
            run.overlapped(family, host, client)
        }
        ("CLIENT's release was sent to NODES", [client, nodes @ ..]) => {
            run.release_sent(client, nodes)
        }
        ("the first round had no winner", []) => run.no_first_winner(),
        ("the lock was unlockable for DURATION", [least]) => run.unlockable(least, true),
        ("the lock was unlockable for less than DURATION", [most]) => run.unlockable(most, false),
        ("CLIENT was told of its loss", [client]) => run.told_of_loss(client),
        ("NODE refused CLIENT", [node, client]) => run.refused_by(node, client),
        ("CLIENT extended", [client]) => run.extended(client),
        ("NODE was promoted", [node]) => promotion::promoted(history, node).map(|_| ()),
        ("nobody was promoted", []) => promotion::nobody(history),
        ("NODE lacked the key when it was promoted", [node]) => promotion::lacked(history, node),
        ("NODE copied the loss of CLIENT's key", [node, client]) => {
            promotion::copied_loss(history, node, client)
        }
        _ => Err("this form of fact is not known".into()),
    }
}

fn never(found: Result<Time, String>, what: &str) -> Found {
    found.map_or(Ok(()), |at| Err(format!("it {what} at {at}")))
}

/// A command on a key, as the history has it.
struct Command<'a> {
    node: &'a str,
    sender: &'a str,
    name: &'a str,
    key: &'a str,
    did: Did,
    creator: Option<&'a str>,
    expires_at: Option<u64>,
}

#[derive(Clone, Copy)]
struct Run<'a>(&'a History);

impl<'a> Run<'a> {
    fn events(self) -> impl Iterator<Item = &'a Event> {
        self.0.events.iter()
    }

    /// When the first event for which `of` is true of its content happened.
    fn first(self, of: impl Fn(&What) -> bool) -> Option<Time> {
        self.events()
            .find(|event| of(&event.what))
            .map(|event| event.at)
    }

    fn refused_by(self, node: &str, client: &str) -> Found {
        let refused = |(_, command): (Time, Command<'_>)| {
            command.node == node && command.sender == client && command.did == Did::Refused
        };
        if self.commands().any(refused) {
            Ok(())
        } else {
            Err("it refused it nothing".to_owned())
        }
    }

    fn extended(self, client: &str) -> Found {
        let extended =
            |what: &What| matches!(what, What::Extended { client: own, .. } if &**own == client);
        self.first(extended)
            .map(|_| ())
            .ok_or_else(|| "it never extended".to_owned())
    }

    fn commands(self) -> impl Iterator<Item = (Time, Command<'a>)> {
        self.events().filter_map(|event| match &event.what {
            What::Command {
                node,
                sender,
                command,
                key,
                did,
                creator,
                expires_at,
            } => Some((
                event.at,
                Command {
                    node,
                    sender: sender.as_deref().unwrap_or_default(),
                    name: command,
                    key,
                    did: *did,
                    creator: creator.as_ref().map(|creator| &*creator.client),
                    expires_at: *expires_at,
                },
            )),
            _ => None,
        })
    }

    fn acquired(self, name: &str) -> Result<Time, String> {
        self.first(|what| matches!(what, What::Acquired { client, .. } if **client == *name))
            .ok_or_else(|| format!("{name} never acquired"))
    }

    fn acquired_by(self, name: &str, limit: &str) -> Found {
        let at = self.acquired(name)?;
        let limit = Time::ZERO.after(duration(limit)?);
        if at <= limit {
            Ok(())
        } else {
            Err(format!("it acquired at {at}"))
        }
    }

    fn acquired_while(self, name: &str, stopped: &str) -> Found {
        let mut is_stopped = false;
        for event in self.events() {
            match &event.what {
                What::Paused { host } if **host == *stopped => is_stopped = true,
                What::Resumed { host } if **host == *stopped => is_stopped = false,
                What::Acquired { client, .. } if is_stopped && **client == *name => return Ok(()),
                _ => {}
            }
        }
        let at = self.acquired(name)?;
        Err(format!(
            "{name} acquired first at {at}, when {stopped} was not stopped"
        ))
    }

    fn refused(self, name: &str) -> Found {
        self.first(|what| matches!(what, What::Refused { client, .. } if **client == *name))
            .map(|_| ())
            .ok_or_else(|| format!("no attempt of {name} was refused"))
    }

    fn released(self, name: &str) -> Found {
        let outcome = self.events().find_map(|event| match &event.what {
            What::ReleaseEnded {
                client, outcome, ..
            } if **client == *name => Some(*outcome),
            _ => None,
        });
        match outcome {
            Some(ReleaseOutcome::Released) => Ok(()),
            Some(other) => Err(format!("its release came to: {other:?}")),
            None => Err(format!("no release of {name} ended")),
        }
    }

    fn applied(self, name: &str) -> Result<Time, String> {
        self.first(|what| matches!(what, What::WriteApplied { client, .. } if **client == *name))
            .ok_or_else(|| format!("no write of {name} was applied"))
    }

    fn write_refused(self, name: &str) -> Found {
        let refused = |what: &What| matches!(what, What::OperationRefused { client, write: true, .. } if **client == *name);
        match (self.first(refused), self.applied(name)) {
            (Some(_), _) => Ok(()),
            (None, Ok(at)) => Err(format!("it was applied at {at}")),
            (None, Err(_)) => Err(format!("no write of {name} reached the resource")),
        }
    }

    fn wrote_before(self, first: &str, second: &str) -> Found {
        let at = self.applied(first)?;
        let later = self.events().find_map(|event| match &event.what {
            What::WriteApplied { client, .. }
            | What::OperationRefused {
                client,
                write: true,
                ..
            } if **client == *second => Some(event.at),
            _ => None,
        });
        match later {
            None => Err(format!("no write of {second} reached the resource")),
            Some(later) if at < later => Ok(()),
            Some(later) => Err(format!("{first} wrote at {at}, {second} at {later}")),
        }
    }

    fn votes(self, name: &str) -> impl Iterator<Item = &'a [Vote]> {
        self.events().filter_map(move |event| match &event.what {
            What::Acquired { client, votes, .. } | What::Refused { client, votes, .. }
                if **client == *name =>
            {
                Some(votes.as_slice())
            }
            _ => None,
        })
    }

    fn quorum(self, name: &str, wanted: &[&str]) -> Found {
        self.acquired(name)?;
        let votes = self.events().find_map(|event| match &event.what {
            What::Acquired { client, votes, .. } if **client == *name => Some(votes),
            _ => None,
        });
        let granted = votes
            .into_iter()
            .flatten()
            .filter(|vote| vote.answer == Answer::Granted);
        let granted: BTreeSet<&str> = granted.map(|vote| &*vote.node).collect();
        if granted == wanted.iter().copied().collect() {
            return Ok(());
        }
        Err(format!(
            "it was {}",
            granted.into_iter().collect::<Vec<_>>().join(" ")
        ))
    }

    fn answered(self, node: &str, client: &str, as_said: impl Fn(&Answer) -> bool) -> Found {
        let answers: Vec<_> = self
            .votes(client)
            .flatten()
            .filter(|vote| *vote.node == *node)
            .map(|vote| &vote.answer)
            .collect();
        match answers.iter().any(|answer| as_said(answer)) {
            true => Ok(()),
            false if answers.is_empty() => {
                Err(format!("{client} has no answer of {node} on record"))
            }
            false => Err(format!("{node} answered {client}: {:?}", answers[0])),
        }
    }

    /// Another client created the key while the time to live that `client` had given it was still running, in true
    /// time. So a key that a crash took counts, and one that a stepped clock made expire; one that was deleted does not.
    fn lost(self, node: &str, client: &str) -> Found {
        let hosts = Hosts::of(&self.0.events);
        let clocks = &hosts.get(node).clock;
        let mut alive_until: BTreeMap<&str, Time> = BTreeMap::new();
        for (at, command) in self.commands().filter(|(_, command)| command.node == node) {
            match command.did {
                Did::Created if command.sender == client => {
                    let wall = clocks.reading(ClockKind::Wall, at).unwrap_or_default();
                    let expires = command
                        .expires_at
                        .unwrap_or(u64::MAX)
                        .saturating_mul(1_000_000);
                    alive_until.insert(
                        command.key,
                        Time(at.0.saturating_add(expires.saturating_sub(wall))),
                    );
                }
                Did::Created if alive_until.get(command.key).is_some_and(|end| at < *end) => {
                    return Ok(());
                }
                Did::Created | Did::Deleted | Did::Overwritten => {
                    _ = alive_until.remove(command.key)
                }
                _ => {}
            }
        }
        Err(format!(
            "no other client created the key at {node} before its time was over"
        ))
    }

    fn refused_after_restart(self, node: &str, client: &str) -> Found {
        let crash =
            self.first(|what| matches!(what, What::Crashed { host, .. } if **host == *node));
        let crash = crash.ok_or_else(|| format!("{node} did not crash"))?;
        let started = self.events().find(|event| {
            matches!(&event.what, What::Started { host } if **host == *node) && event.at >= crash
        });
        let started = started
            .ok_or_else(|| format!("{node} did not start again"))?
            .at;
        let asked = self.commands().filter(|(at, command)| {
            *at >= started
                && command.node == node
                && command.sender == client
                && command.creator != Some(client)
        });
        let did: Vec<(Time, Did)> = asked.map(|(at, command)| (at, command.did)).collect();
        match did
            .iter()
            .find(|(_, did)| [Did::Created, Did::Refused].contains(did))
        {
            Some((_, Did::Refused)) => Ok(()),
            Some((at, _)) => Err(format!("{node} granted it at {at}")),
            None => Err(format!(
                "{client} did not ask {node} after its restart at {started}"
            )),
        }
    }

    /// A script looked at a key that another client had created and left it. Only releases and renewals are scripts.
    fn refused_release(self, at: Option<&str>, whose: Option<(&str, &str)>) -> Found {
        let left = |command: &Command| {
            let script = ["eval", "evalsha"]
                .iter()
                .any(|name| command.name.eq_ignore_ascii_case(name));
            let foreign = command
                .creator
                .is_some_and(|creator| creator != command.sender);
            script && foreign && [Did::Read, Did::Refused].contains(&command.did)
        };
        let fits = |command: &Command| {
            at.is_none_or(|node| command.node == node)
                && whose.is_none_or(|(by, owner)| {
                    command.sender == by && command.creator == Some(owner)
                })
        };
        match self
            .commands()
            .any(|(_, command)| left(&command) && fits(&command))
        {
            true => Ok(()),
            false => Err("no such release met a key that another client had created".into()),
        }
    }

    fn deleted(self, by: &str, owner: &str) -> Result<Time, String> {
        let found = self.commands().find(|(_, command)| {
            command.did == Did::Deleted && command.sender == by && command.creator == Some(owner)
        });
        found
            .map(|(at, _)| at)
            .ok_or_else(|| format!("{by} deleted no live key that {owner} had created"))
    }

    /// A command that gives the key back arrived at these nodes, whatever it found there.
    fn release_sent(self, client: &str, nodes: &[&str]) -> Found {
        let is_release = |name: &str| {
            let releases = ["eval", "evalsha", "del"];
            releases.iter().any(|one| name.eq_ignore_ascii_case(one))
        };
        let reached: BTreeSet<&str> = self
            .commands()
            .filter(|(_, command)| command.sender == client && is_release(command.name))
            .map(|(_, command)| command.node)
            .collect();
        match nodes.iter().find(|node| !reached.contains(*node)) {
            None => Ok(()),
            Some(missing) => Err(format!("none of its releases arrived at {missing}")),
        }
    }

    /// The first attempt of each client was refused; the probe tries alone.
    fn no_first_winner(self) -> Found {
        let mut decided: BTreeMap<&str, bool> = BTreeMap::new();
        let mut probe = None;
        for event in self.events() {
            match &event.what {
                What::CallBegun {
                    client,
                    probe: true,
                    ..
                } => {
                    probe = Some(client);
                    continue;
                }
                What::Acquired { client, .. } if Some(client) == probe => continue,
                What::Acquired { client, .. } => decided.entry(client).or_insert(true),
                What::Refused { client, .. } => decided.entry(client).or_insert(false),
                _ => continue,
            };
        }
        match decided.iter().find(|(_, won)| **won) {
            None if decided.is_empty() => Err("nobody tried".into()),
            None => Ok(()),
            Some((client, _)) => Err(format!("{client} won at its first attempt")),
        }
    }

    fn told_of_loss(self, name: &str) -> Found {
        self.first(|what| matches!(what, What::Lost { client, .. } if **client == *name))
            .map(|_| ())
            .ok_or_else(|| format!("{name} was told nothing"))
    }

    /// For how long nobody held the lock and nobody could have got it.
    fn unlockable(self, limit: &str, at_least: bool) -> Found {
        let limit = duration(limit)?;
        let longest = unlockable(self.0).into_values().max().unwrap_or_default();
        if (longest >= limit) == at_least {
            Ok(())
        } else {
            Err(format!("it was so for {longest:?}"))
        }
    }

    fn overlapped(self, wanted: &str, name: &str, client: &str) -> Found {
        let strikes: Vec<Time> = self
            .events()
            .filter(|event| strikes(&event.what, wanted, name))
            .map(|e| e.at)
            .collect();
        let Some(first) = strikes.first() else {
            return Err(format!("there was no {wanted} of {name}"));
        };
        let derived = Derived::of(self.0);
        let leases: Vec<_> = derived
            .leases
            .iter()
            .filter(|lease| *lease.owner.client == *client)
            .collect();
        // A fault that takes effect at the decision itself, or that is the client's death, touches the closed interval.
        let holds = |at: Time| {
            leases
                .iter()
                .any(|l| l.span.from.at <= at && l.span.end.is_none_or(|end| at <= end.at))
        };
        match strikes.iter().any(|at| holds(*at)) {
            true => Ok(()),
            false if leases.is_empty() => Err(format!("{client} had no lease")),
            false => Err(format!("it came at {first}, outside of {client}'s lease")),
        }
    }
}

fn strikes(what: &What, wanted: &str, name: &str) -> bool {
    let among = |hosts: &[Name]| hosts.iter().any(|host| **host == *name);
    matches!(what, What::Fault { family, hosts, .. } if **family == *wanted && among(hosts))
}
