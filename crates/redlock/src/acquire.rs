//! Acquiring: attempts, and what lies between them.

use std::sync::Arc;

use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;

use crate::config::{Config, Order};
use crate::decision::{self, Lease, Standing, Tally};
use crate::error::{Reason, Refused, StoppedBy};
use crate::guard::Guard;
use crate::observe::{AttemptBegun, AttemptEnded, AttemptOutcome, Observer};
use crate::ports::{Clock, Entropy, Node, Ports, Reading, Tokens};
use crate::release::Armed;
use crate::round::{Claim, Shared, within};
use crate::value::Value;
use crate::vote::{NodeVote, Vote};

/// Attempts until one wins, the tries are used up, or the next one would begin after the bound.
///
/// Between two attempts the release of the first is *awaited*, for the timeout of a node at most, and then
/// comes the random delay. Each attempt has a value of its own, so a key that the last attempt left behind
/// is as foreign as anybody's, and the retry would lose to itself. After the last attempt nobody waits.
pub(crate) async fn acquire<P: Ports>(
    shared: Arc<Shared<P>>,
    key: Arc<[u8]>,
) -> Result<Guard<P>, Refused> {
    let called = shared.ports.clock().now();
    let mut number = 1;
    loop {
        let (armed, failed) = match attempt(shared.clone(), key.clone(), number).await {
            Ok(guard) => return Ok(guard),
            Err(failed) => failed,
        };
        let delay = draw_delay(&shared);
        if let Some(stopped_by) = stop(&shared, called, number, delay) {
            armed.release_detached();
            let Failed { reason, votes } = failed;
            return Err(Refused {
                key: key.to_vec(),
                attempts: number,
                stopped_by,
                reason,
                votes,
            });
        }
        armed.release_refused().await;
        shared.ports.clock().sleep(delay).await;
        number += 1;
    }
}

fn draw_delay<P: Ports>(shared: &Shared<P>) -> std::time::Duration {
    let mut random = [0; 8];
    shared.ports.entropy().fill(&mut random);
    let retry = shared.config.retry;
    decision::delay(
        retry.delay_least,
        retry.delay_most,
        u64::from_le_bytes(random),
    )
}

fn stop<P: Ports>(
    shared: &Shared<P>,
    called: Reading,
    number: u32,
    delay: std::time::Duration,
) -> Option<StoppedBy> {
    let Config {
        retry,
        acquire_bound,
        ..
    } = shared.config;
    let within_bound = acquire_bound.is_none_or(|bound| {
        // A clock that went back says nothing about the bound; the tries still end the call.
        let waited = shared
            .ports
            .clock()
            .now()
            .checked_since(called)
            .unwrap_or_default();
        waited.saturating_add(delay) <= bound
    });
    if number >= retry.tries {
        Some(StoppedBy::Tries)
    } else if !within_bound {
        Some(StoppedBy::Bound)
    } else {
        None
    }
}

struct Failed {
    reason: Reason,
    votes: Vec<NodeVote>,
}

/// What an attempt has when it is decided.
struct Decided {
    second: Option<Reading>,
    result: Result<(Option<u64>, Lease), Reason>,
}

/// One attempt: clock, SET on all nodes, token, clock, decision (document 002, "분산 버전", steps 1 to 5).
async fn attempt<P: Ports>(
    shared: Arc<Shared<P>>,
    key: Arc<[u8]>,
    number: u32,
) -> Result<Guard<P>, (Armed<P>, Failed)> {
    let claim = Claim {
        key,
        value: Value::draw(shared.ports.entropy()),
    };
    let armed = Armed::new(shared.clone(), claim.clone());
    let first = shared.ports.clock().now();
    let Claim { key, value } = &claim;
    shared.ports.observer().attempt_begun(&AttemptBegun {
        key,
        value: *value,
        number,
        at: first,
    });
    let (votes, tally) = vote(&shared, &claim).await;
    let Decided { second, result } = decide(&shared, &claim, first, tally).await;
    let outcome = match &result {
        Ok((token, lease)) => AttemptOutcome::Acquired {
            token: *token,
            deadline: lease.deadline,
        },
        Err(reason) => AttemptOutcome::Refused(reason),
    };
    let ended = AttemptEnded {
        key,
        value: *value,
        number,
        votes: &votes,
        at: second,
        outcome,
    };
    shared.ports.observer().attempt_ended(&ended);
    match result {
        Ok((token, lease)) => {
            let mut guard = Guard::new(armed, token, lease, votes);
            if let Some(watchdog) = shared.config.watchdog {
                guard.watch(watchdog);
            }
            Ok(guard)
        }
        Err(reason) => Err((armed, Failed { reason, votes })),
    }
}

/// Asks the nodes until all have voted or a majority is impossible.
///
/// A majority that is won does *not* end the vote: "the algorithm does not stop at the majority" (document
/// 002, "성능, 크래시 복구, fsync"), and the more nodes hold the key, the less one lost key does.
async fn vote<P: Ports>(shared: &Shared<P>, claim: &Claim) -> (Vec<NodeVote>, Tally) {
    let mut tally = Tally::of(shared.nodes.len());
    let votes = match shared.config.order {
        Order::Sequential => vote_in_turn(shared, claim, &mut tally).await,
        Order::Parallel => vote_at_once(shared, claim, &mut tally).await,
    };
    let named = shared.ids.iter().zip(votes).map(|(id, vote)| NodeVote {
        node: id.clone(),
        vote,
    });
    (named.collect(), tally)
}

async fn vote_in_turn<P: Ports>(shared: &Shared<P>, claim: &Claim, tally: &mut Tally) -> Vec<Vote> {
    let mut votes = vec![Vote::NotAsked; shared.nodes.len()];
    for (node, slot) in shared.nodes.iter().zip(&mut votes) {
        *slot = set(shared, node.clone(), claim.clone()).await;
        tally.count(slot.is_granted());
        if tally.standing() == Standing::Impossible {
            break;
        }
    }
    votes
}

async fn vote_at_once<P: Ports>(shared: &Shared<P>, claim: &Claim, tally: &mut Tally) -> Vec<Vote> {
    let mut votes = vec![Vote::Abandoned; shared.nodes.len()];
    let calls = shared.nodes.iter().enumerate().map(|(index, node)| {
        let call = set(shared, node.clone(), claim.clone());
        async move { (index, call.await) }
    });
    let mut answers: FuturesUnordered<_> = calls.collect();
    while let Some((index, vote)) = answers.next().await {
        tally.count(vote.is_granted());
        votes[index] = vote;
        if tally.standing() == Standing::Impossible {
            break;
        }
    }
    votes
}

async fn set<P: Ports>(shared: &Shared<P>, node: P::Node, claim: Claim) -> Vote {
    let Config {
        ttl, node_timeout, ..
    } = shared.config;
    let call = node.set_nx_px(&claim.key, claim.value.as_bytes(), ttl);
    Vote::from_set(within(shared.ports.clock(), node_timeout, call).await)
}

/// The token comes before the second clock reading, and the decision after it.
async fn decide<P: Ports>(
    shared: &Shared<P>,
    claim: &Claim,
    first: Reading,
    tally: Tally,
) -> Decided {
    if tally.standing() != Standing::Won {
        return Decided {
            second: None,
            result: Err(tally.impossible()),
        };
    }
    let token = match token(shared, claim).await {
        Ok(token) => token,
        Err(reason) => {
            return Decided {
                second: None,
                result: Err(reason),
            };
        }
    };
    let Config { ttl, drift, .. } = shared.config;
    #[cfg(feature = "unsound")]
    if shared.config.skip_second_reading {
        let lease = decision::lease(first, first, ttl, drift);
        return Decided {
            second: None,
            result: lease.map(|lease| (token, lease)),
        };
    }
    let second = shared.ports.clock().now();
    #[cfg(feature = "unsound")]
    if let Some(gained) = first.checked_since(second)
        && shared.config.keep_negative_elapsed
    {
        let lease = decision::lease(first, first, ttl, drift).map(|lease| decision::Lease {
            validity: lease.validity + gained,
            ..lease
        });
        return Decided {
            second: Some(second),
            result: lease.map(|lease| (token, lease)),
        };
    }
    let lease = decision::lease(first, second, ttl, drift);
    Decided {
        second: Some(second),
        result: lease.map(|lease| (token, lease)),
    }
}

async fn token<P: Ports>(shared: &Shared<P>, claim: &Claim) -> Result<Option<u64>, Reason> {
    if !P::Tokens::ISSUES {
        return Ok(None);
    }
    let after = shared.config.token_timeout;
    let next = shared
        .ports
        .tokens()
        .next(&claim.key, claim.value.as_bytes());
    match within(shared.ports.clock(), after, next).await {
        Some(answer) => answer.map_err(Reason::TokenFailed),
        None => Err(Reason::TokenTimedOut { after }),
    }
}
