//! One command to one node within its time, and to all nodes at once.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::{Either, join_all, select};

use crate::config::Config;
use crate::ports::{Clock, Compared, NodeError, NodeId, Ports};
use crate::value::Value;
use crate::vote::{Answer, NodeAnswer};

/// What locks and guards share.
pub(crate) struct Shared<P: Ports> {
    pub(crate) ports: P,
    pub(crate) nodes: Arc<[P::Node]>,
    pub(crate) ids: Arc<[NodeId]>,
    pub(crate) config: Config,
}

/// A lock's key and value: what a node compares.
#[derive(Clone, Debug)]
pub(crate) struct Claim {
    pub(crate) key: Arc<[u8]>,
    pub(crate) value: Value,
}

/// `call`, or `None` if it takes longer than `limit`. An answer that is there at the limit counts: the call
/// is polled first.
pub(crate) async fn within<C: Clock, T>(
    clock: &C,
    limit: Duration,
    call: impl Future<Output = T>,
) -> Option<T> {
    let sleep = pin!(clock.sleep(limit));
    match select(pin!(call), sleep).await {
        Either::Left((answer, _)) => Some(answer),
        Either::Right(_) => None,
    }
}

/// Asks all nodes at once, each within the timeout of a node: the round takes no longer than that.
///
/// Releases and extensions ask all at once whatever the order of acquiring: the sooner a partial lock is
/// gone the better (document 002, "재시도").
pub(crate) async fn ask_all<P, F, A>(shared: Arc<Shared<P>>, ask: F) -> Vec<NodeAnswer>
where
    P: Ports,
    F: Fn(P::Node) -> A,
    A: Future<Output = Result<Compared, NodeError>>,
{
    let Config { node_timeout, .. } = shared.config;
    let clock = shared.ports.clock();
    let calls = shared
        .nodes
        .iter()
        .map(|node| within(clock, node_timeout, ask(node.clone())));
    let answers = join_all(calls).await;
    shared
        .ids
        .iter()
        .zip(answers)
        .map(|(id, answer)| NodeAnswer {
            node: id.clone(),
            answer: Answer::from_compared(answer),
        })
        .collect()
}

/// The answers alone, for the judges.
pub(crate) fn plain(answers: &[NodeAnswer]) -> Vec<Answer> {
    answers.iter().map(|answer| answer.answer.clone()).collect()
}
