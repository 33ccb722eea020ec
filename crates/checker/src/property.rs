//! The properties, one a file, and the verdicts on all of them.

mod bounded_call;
mod deadlock_free;
mod every_key_expires;
mod exclusive_access;
mod fault_tolerant;
mod fencing_monotonic;
mod holder_not_refused;
mod lease_kept;
mod money_conserved;
mod mutual_exclusion;
mod no_lost_update;
mod no_stale_write;
mod not_born_expired;
mod owner_only_release;

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::history::History;
use crate::run::Run;
use crate::verdict::Verdict;

/// Something that a lock, or a resource behind a lock, promises.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Property {
    /// At most one owner holds a key at any moment (document 002, safety).
    MutualExclusion,
    /// A lease that is handed out has not run out yet (document 000, the check of the validity).
    NotBornExpired,
    /// At most one client is inside the critical section (document 000, the section on TTL expiry).
    ExclusiveAccess,
    /// A write of an old holder is not applied after one of its successor (document 000, fencing tokens).
    NoStaleWrite,
    /// Tokens grow from acquisition to acquisition (document 000, fencing tokens).
    FencingMonotonic,
    /// Fencing does not refuse the holder itself (document 000, whose `last_fencing_token < n` does).
    HolderNotRefused,
    /// No write is computed from an older version than the one that it replaces (document 000, absolute writes).
    NoLostUpdate,
    /// Transfers leave the sum over the accounts as it is (document 000, the transfer between two accounts).
    MoneyConserved,
    /// Nobody removes, overwrites or prolongs the key of another (document 002, the owner check in release).
    OwnerOnlyRelease,
    /// No lock key without an expiry outlives its creator (document 002, why a lock has a TTL).
    EveryKeyExpires,
    /// Nobody who can reach a majority loses a lease that it renews (document 002, edit 2).
    LeaseKept,
    /// In the end a lock that nobody holds can be had (document 002, liveness A).
    DeadlockFree,
    /// A majority of the nodes is enough (document 002, liveness B).
    FaultTolerant,
    /// Every call returns in time, whatever fails (document 002, liveness).
    BoundedCall,
}

/// A name that no property has.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no property is called `{name}`; there are {}", names())]
pub struct UnknownProperty {
    /// The name.
    pub name: String,
}

/// The verdicts on a history, one for each of [`Property::ALL`], in that order.
///
/// Give it a history that [`History::validate`] accepts. Of any other it says something, without a panic.
#[must_use]
pub fn judge(history: &History) -> Vec<Verdict> {
    judge_run(&Run::of(history))
}

/// [`judge`], where what the judges share is there already.
#[must_use]
pub fn judge_run(run: &Run<'_>) -> Vec<Verdict> {
    let properties = Property::ALL.iter();
    properties.map(|property| property.judge(run)).collect()
}

impl Property {
    /// Every property, in the order of the design.
    pub const ALL: &'static [Self] = &[
        Self::MutualExclusion,
        Self::NotBornExpired,
        Self::ExclusiveAccess,
        Self::NoStaleWrite,
        Self::FencingMonotonic,
        Self::HolderNotRefused,
        Self::NoLostUpdate,
        Self::MoneyConserved,
        Self::OwnerOnlyRelease,
        Self::EveryKeyExpires,
        Self::LeaseKept,
        Self::DeadlockFree,
        Self::FaultTolerant,
        Self::BoundedCall,
    ];

    /// The name by which scenarios and summaries call it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::MutualExclusion => "mutual-exclusion",
            Self::NotBornExpired => "not-born-expired",
            Self::ExclusiveAccess => "exclusive-access",
            Self::NoStaleWrite => "no-stale-write",
            Self::FencingMonotonic => "fencing-monotonic",
            Self::HolderNotRefused => "holder-not-refused",
            Self::NoLostUpdate => "no-lost-update",
            Self::MoneyConserved => "money-conserved",
            Self::OwnerOnlyRelease => "owner-only-release",
            Self::EveryKeyExpires => "every-key-expires",
            Self::LeaseKept => "lease-kept",
            Self::DeadlockFree => "deadlock-free",
            Self::FaultTolerant => "fault-tolerant",
            Self::BoundedCall => "bounded-call",
        }
    }

    /// What it promises, in one sentence.
    #[must_use]
    pub fn promise(self) -> &'static str {
        match self {
            Self::MutualExclusion => {
                "nobody is told that it holds a key while another owner's lease on it runs"
            }
            Self::NotBornExpired => {
                "whoever is told that it holds a key has time left on its own clock"
            }
            Self::ExclusiveAccess => "no two clients are inside the critical section at once",
            Self::NoStaleWrite => {
                "the resource applies no write of an older acquisition after one of a newer"
            }
            Self::FencingMonotonic => {
                "tokens of a key differ, and an older acquisition has the smaller one"
            }
            Self::HolderNotRefused => {
                "no operation is refused for its token unless an acquisition that is not older was registered"
            }
            Self::NoLostUpdate => {
                "every applied write was computed from the version that the write before it left"
            }
            Self::MoneyConserved => "the sum over the accounts is unchanged",
            Self::OwnerOnlyRelease => {
                "no client deletes, overwrites or prolongs a live key that another created"
            }
            Self::EveryKeyExpires => {
                "no lock key outlives the client that created it without an expiry"
            }
            Self::LeaseKept => {
                "nobody is told that its lease is lost while a majority was reachable all along"
            }
            Self::DeadlockFree => {
                "once all faults and the largest TTL are over, nobody waits longer than the bound for a lock that nobody holds"
            }
            Self::FaultTolerant => {
                "a call that can reach the same free majority all along, without a rival, acquires within the bound"
            }
            Self::BoundedCall => "every call returns within the bound, whatever fails",
        }
    }

    /// Judges a run by this property alone.
    #[must_use]
    pub fn judge(self, run: &Run<'_>) -> Verdict {
        match self {
            Self::MutualExclusion => mutual_exclusion::judge(run),
            Self::NotBornExpired => not_born_expired::judge(run),
            Self::ExclusiveAccess => exclusive_access::judge(run),
            Self::NoStaleWrite => no_stale_write::judge(run),
            Self::FencingMonotonic => fencing_monotonic::judge(run),
            Self::HolderNotRefused => holder_not_refused::judge(run),
            Self::NoLostUpdate => no_lost_update::judge(run),
            Self::MoneyConserved => money_conserved::judge(run),
            Self::OwnerOnlyRelease => owner_only_release::judge(run),
            Self::EveryKeyExpires => every_key_expires::judge(run),
            Self::LeaseKept => lease_kept::judge(run),
            Self::DeadlockFree => deadlock_free::judge(run),
            Self::FaultTolerant => fault_tolerant::judge(run),
            Self::BoundedCall => bounded_call::judge(run),
        }
    }
}

impl fmt::Display for Property {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Property {
    type Err = UnknownProperty;

    fn from_str(name: &str) -> Result<Self, UnknownProperty> {
        let found = Self::ALL.iter().find(|property| property.name() == name);
        found.copied().ok_or_else(|| UnknownProperty {
            name: name.to_owned(),
        })
    }
}

fn names() -> String {
    Property::ALL
        .iter()
        .map(|property| property.name())
        .collect::<Vec<_>>()
        .join(", ")
}
