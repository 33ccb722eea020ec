//! `owner-only-release`: no command of a client deletes, overwrites or changes the expiry of a live key that another
//! acquisition created.
//!
//! Only keys that are locks are judged: a counter of tokens is everybody's. Judged by the sender of the command and the
//! creator of the key, never by the value. A sender does not say for
//! which of its attempts it speaks, so a client that harms a key of its own other attempt goes unseen here.

use std::collections::BTreeMap;

use crate::cause;
use crate::history::{Creator, Did, Event, Name, Operation, Role, What};
use crate::property::Property;
use crate::run::Run;
use crate::verdict::{Bench, Verdict, Witness};

pub(super) fn judge(run: &Run<'_>) -> Verdict {
    let mut bench = Bench::new();
    let mut calls = Calls::default();
    let locks = run.lock_keys();
    for event in &run.history.events {
        calls.take(event);
        let Some(met) = met(run, event).filter(|met| locks.contains(met.key)) else {
            continue;
        };
        if met.harmed() {
            bench.violation(|| met.harm(run));
        }
        if met.harmed() || met.spared(&calls) {
            bench.exercised(|| met.example());
        }
    }
    bench.verdict(
        Property::OwnerOnlyRelease,
        "no release or renewal met a key that another client had created",
    )
}

/// A command of a client on a live key that another client created.
struct Met<'a> {
    event: &'a Event,
    node: &'a Name,
    sender: &'a Name,
    command: &'a Name,
    key: &'a Name,
    did: Did,
    creator: &'a Creator,
}

fn met<'a>(run: &Run<'_>, event: &'a Event) -> Option<Met<'a>> {
    let What::Command {
        node,
        sender: Some(sender),
        command,
        key,
        did,
        creator: Some(creator),
        ..
    } = &event.what
    else {
        return None;
    };
    let foreign = creator.client != *sender && run.hosts.get(sender).role == Some(Role::Client);
    foreign.then_some(Met {
        event,
        node,
        sender,
        command,
        key,
        did: *did,
        creator,
    })
}

impl Met<'_> {
    fn harmed(&self) -> bool {
        matches!(
            self.did,
            Did::Deleted | Did::Overwritten | Did::ExpiryChanged
        )
    }

    /// A release or renewal that left the foreign key alone. A refused `SET` is an attempt to acquire, unless its
    /// sender was in the middle of a release or renewal; so is a look at the key.
    fn spared(&self, calls: &Calls<'_>) -> bool {
        let acquires = ["SET", "SETNX", "GETSET"]
            .iter()
            .any(|name| self.command.eq_ignore_ascii_case(name));
        match self.did {
            Did::Refused => !acquires || calls.releasing(self.sender, self.key),
            Did::Read => calls.releasing(self.sender, self.key),
            _ => false,
        }
    }

    fn harm(&self, run: &Run<'_>) -> Witness {
        let did = match self.did {
            Did::Deleted => "deleted",
            Did::Overwritten => "overwrote",
            _ => "changed the expiry of",
        };
        let sentence = format!(
            "{} {did} the key `{}` of {} at {} with {} at {}",
            self.sender, self.key, self.creator.client, self.node, self.command, self.event.at,
        );
        let cause = cause::foreign_command(run, self.sender, self.key, self.event.into());
        Witness::new(self.event, [], sentence).because(cause)
    }

    fn example(&self) -> Witness {
        let sentence = format!(
            "{} of {} met the key `{}` of {} at {} at {} and left it alone",
            self.command, self.sender, self.key, self.creator.client, self.node, self.event.at,
        );
        Witness::new(self.event, [], sentence)
    }
}

/// The calls to extend or release that run: which client, which call, on which key.
#[derive(Default)]
struct Calls<'a> {
    running: BTreeMap<(&'a Name, u64), &'a Name>,
}

impl<'a> Calls<'a> {
    fn take(&mut self, event: &'a Event) {
        match &event.what {
            What::CallBegun {
                client,
                call,
                operation: Operation::Extend | Operation::Release,
                key,
                ..
            } => {
                self.running.insert((client, *call), key);
            }
            What::CallEnded { client, call } => {
                self.running.remove(&(client, *call));
            }
            What::Crashed { host, .. } => self.running.retain(|(client, _), _| *client != host),
            _ => {}
        }
    }

    fn releasing(&self, client: &Name, key: &Name) -> bool {
        self.running
            .iter()
            .any(|((caller, _), on)| *caller == client && *on == key)
    }
}
