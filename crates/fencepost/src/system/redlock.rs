//! Systems `redlock` and `single`: the `redlock` crate, unchanged, on the ports of a simulated host.

use std::future::{Future, pending};
use std::time::Duration;

use fencepost_checker::ClockKind;
use fencepost_checker::history::ReleaseOutcome;
use fencepost_world::Host;
use futures_util::future::join_all;
use redlock::redis::Connect;
use redlock::{Drift, Guard, PortSet, Redlock, Retry, Watchdog};

use super::node::{LockNode, Refusals};
use super::ports::{ExtendCalls, HostObserver, HostTokens, LastPrimary, LockEntropy, nanos, votes};
use super::renewal::{Claim, Late, Renewal};
use super::{Acquired, HostClock, HostConnect, HostSpawn, LockClient, LockSystem, Refused, Target};
use crate::plan::SystemPlan;
use crate::remote::SequenceClient;
use crate::scenario::{Elapsed, Extend, Order, Release, Token};

type HostPorts = PortSet<HostClock, LockEntropy, HostSpawn, LockNode, HostTokens, HostObserver>;

/// N independent masters and a majority; with one node, the single-node lock.
#[derive(Clone, Debug)]
pub struct RedlockSystem {
    plan: SystemPlan,
}

impl RedlockSystem {
    /// The system that a plan describes.
    #[must_use]
    pub fn new(plan: SystemPlan) -> Self {
        Self { plan }
    }

    fn clock(&self) -> ClockKind {
        match self.plan.elapsed {
            Elapsed::Monotonic | Elapsed::Unchecked => ClockKind::Monotonic,
            Elapsed::Wall | Elapsed::WallSigned => ClockKind::Wall,
        }
    }

    fn connects(&self, from: Host, last: &LastPrimary) -> Vec<HostConnect> {
        if let Some(failover) = &self.plan.failover {
            let (sentinels, patience) =
                (failover.sentinel.sentinels.clone(), self.plan.node_timeout);
            return vec![HostConnect {
                from,
                to: Target::Primary {
                    sentinels,
                    patience,
                    last: last.clone(),
                },
            }];
        }
        let nodes = (1..=self.plan.nodes).map(|number| format!("n{number}"));
        nodes
            .filter_map(|name| {
                Some(HostConnect {
                    from,
                    to: Target::Server(Host::find(&name)?),
                })
            })
            .collect()
    }

    fn drift(&self) -> Drift {
        Drift {
            ppm: self.plan.drift_ppm,
            fixed: self.plan.drift_constant,
        }
    }

    fn nodes(&self, from: Host, refusals: &Refusals, last: &LastPrimary) -> Vec<LockNode> {
        let node = |connect| LockNode::new(connect, &self.plan, refusals.clone());
        self.connects(from, last).into_iter().map(node).collect()
    }

    /// How a client renews that does not look at its clock first, if the scenario has it so.
    fn late(&self, host: Host, nodes: &[LockNode], primary: &LastPrimary) -> Option<Late> {
        let set_xx = self.plan.extend == Extend::SetXx;
        let late = set_xx || (self.plan.extend == Extend::Lua && self.plan.extend_late);
        let margin = self.drift().margin(self.plan.ttl);
        late.then(|| Late {
            host,
            clock: self.clock(),
            ttl: self.plan.ttl,
            usable: self.plan.ttl.saturating_sub(margin),
            node_timeout: self.plan.node_timeout,
            nodes: nodes.to_vec(),
            primary: primary.clone(),
            calls: ExtendCalls::of(host),
            set_xx,
        })
    }

    fn lock(
        &self,
        host: Host,
        nodes: &[LockNode],
        refusals: Refusals,
        primary: &LastPrimary,
    ) -> Redlock<HostPorts> {
        let kind = self.clock();
        let tokens = match (self.plan.token, nodes) {
            (Token::Sequence, _) => {
                SequenceClient::new(host).map_or(HostTokens::None, HostTokens::Sequence)
            }
            (Token::Incr, [node]) => HostTokens::Incr(node.clone()),
            // The workload fetches late tokens itself. A counter is at the one node that a lock has.
            (Token::None | Token::SequenceAfter | Token::Incr, _) => HostTokens::None,
        };
        let entropy = LockEntropy {
            host,
            value: self.plan.value,
        };
        let observer = HostObserver {
            host,
            clock: kind,
            refusals,
            primary: primary.clone(),
            calls: ExtendCalls::of(host),
        };
        let ports = PortSet::new(HostClock { host, kind }, entropy, HostSpawn(host))
            .with_tokens(tokens)
            .with_observer(observer);
        let builder = Redlock::builder(ports)
            .nodes(nodes.to_vec())
            .ttl(self.plan.ttl)
            .order(match self.plan.order {
                Order::Sequential => redlock::Order::Sequential,
                Order::Parallel => redlock::Order::Parallel,
            })
            .node_timeout(self.plan.node_timeout)
            .drift(self.drift())
            // The workload repeats refused attempts itself: each is a call of its own in the history.
            .retry(Retry {
                tries: 1,
                delay_least: Duration::ZERO,
                delay_most: Duration::ZERO,
            });
        let builder = match self.plan.elapsed {
            Elapsed::Unchecked => builder.skip_second_reading(),
            Elapsed::WallSigned => builder.keep_negative_elapsed(),
            Elapsed::Monotonic | Elapsed::Wall => builder,
        };
        let builder = match self.plan.extend {
            Extend::Lua if !self.plan.extend_late => builder.watchdog(Watchdog::default()),
            Extend::Lua | Extend::SetXx | Extend::None => builder,
        };
        builder
            .build()
            .expect("the scenario was checked: nodes differ, and the TTL exceeds its drift margin")
    }
}

impl LockSystem for RedlockSystem {
    type Client = RedlockClient;

    fn client(&self, host: Host) -> RedlockClient {
        let refusals = Refusals::default();
        let primary = LastPrimary::default();
        let nodes = self.nodes(host, &refusals, &primary);
        RedlockClient {
            host,
            late: self.late(host, &nodes, &primary),
            lock: self.lock(host, &nodes, refusals, &primary),
            clock: self.clock(),
            release: self.plan.release,
            node_timeout: self.plan.node_timeout,
            nodes: self.connects(host, &primary),
            primary,
        }
    }
}

/// A client of [`RedlockSystem`].
#[derive(Debug)]
pub struct RedlockClient {
    host: Host,
    lock: Redlock<HostPorts>,
    late: Option<Late>,
    clock: ClockKind,
    release: Release,
    node_timeout: Duration,
    nodes: Vec<HostConnect>,
    primary: LastPrimary,
}

/// What a client of [`RedlockSystem`] holds.
#[derive(Debug)]
pub struct Held {
    /// Taken out by the careless ways to release.
    guard: Option<Guard<HostPorts>>,
    /// A renewal beside the guard's own watchdog, if there is one.
    renewal: Option<Renewal>,
}

impl LockClient for RedlockClient {
    type Held = Held;

    async fn acquire(&self, key: &str) -> Result<Acquired<Held>, Refused> {
        let guard = self
            .lock
            .acquire(key)
            .await
            .map_err(|refused| Refused(refused.to_string()))?;
        let value = guard.value().as_bytes().to_vec();
        let attempt = self
            .host
            .attempt_with(&value)
            .expect("the observer has announced the attempt");
        let claim = Claim {
            attempt,
            key: guard.key().to_vec(),
            value: value.clone(),
        };
        Ok(Acquired {
            attempt,
            token: guard.token(),
            deadline: Some(nanos(guard.deadline())),
            clock: self.clock,
            votes: votes(guard.votes(), &self.primary),
            value,
            held: Held {
                guard: Some(guard),
                renewal: self.late.as_ref().map(|late| late.start(claim)),
            },
        })
    }

    fn lost(&self, held: &Held) -> impl Future<Output = ()> {
        let renewal = held.renewal.as_ref().map(Renewal::lost);
        let lease = held.guard.as_ref().map(Guard::lost);
        async move {
            match (renewal, lease) {
                // It knows what the nodes tell it, and nothing of the time.
                (Some(renewal), _) => renewal.await,
                (None, Some(lease)) => {
                    lease.await;
                }
                (None, None) => pending().await,
            }
        }
    }

    async fn release(&self, held: &mut Held) -> ReleaseOutcome {
        held.renewal = None;
        match self.release {
            Release::Lua => match &mut held.guard {
                Some(guard) => outcome(guard.release().await),
                None => ReleaseOutcome::Unknown,
            },
            Release::Del | Release::GetDel => match held.guard.take() {
                Some(guard) => self.release_carelessly(guard).await,
                None => ReleaseOutcome::Unknown,
            },
        }
    }
}

impl RedlockClient {
    /// The ways that the documents warn of, each node on its own: it deletes the key whoever owns it by then.
    async fn release_carelessly(&self, guard: Guard<HostPorts>) -> ReleaseOutcome {
        let (key, value) = (guard.key().to_vec(), guard.value());
        guard.forget();
        let one = |node: &HostConnect| {
            let delete = delete(
                node.clone(),
                self.host,
                self.release,
                key.clone(),
                value.as_bytes().to_vec(),
            );
            let (host, timeout) = (self.host, self.node_timeout);
            async move { host.timeout(timeout, delete).await?.ok() }
        };
        let answers = join_all(self.nodes.iter().map(one)).await;
        let count = |wanted| {
            answers
                .iter()
                .filter(|answer| **answer == Some(wanted))
                .count()
        };
        let quorum = self.nodes.len() / 2 + 1;
        if count(true) >= quorum {
            ReleaseOutcome::Released
        } else if count(false) >= quorum {
            ReleaseOutcome::Expired
        } else {
            ReleaseOutcome::Unknown
        }
    }
}

/// Whether a key was deleted.
async fn delete(
    node: HostConnect,
    host: Host,
    release: Release,
    key: Vec<u8>,
    value: Vec<u8>,
) -> redis::RedisResult<bool> {
    let mut connection = node.connect().await?;
    if release == Release::GetDel {
        let owner: Option<Vec<u8>> = redis::cmd("GET")
            .arg(&key)
            .query_async(&mut connection)
            .await?;
        host.mark("got").await;
        if owner.as_deref() != Some(&*value) {
            return Ok(false);
        }
    }
    let deleted: u64 = redis::cmd("DEL")
        .arg(&key)
        .query_async(&mut connection)
        .await?;
    Ok(deleted > 0)
}

fn outcome(outcome: redlock::ReleaseOutcome) -> ReleaseOutcome {
    match outcome {
        redlock::ReleaseOutcome::Released => ReleaseOutcome::Released,
        redlock::ReleaseOutcome::Expired => ReleaseOutcome::Expired,
        redlock::ReleaseOutcome::Foreign => ReleaseOutcome::Foreign,
        _ => ReleaseOutcome::Unknown,
    }
}
