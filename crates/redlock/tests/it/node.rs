//! Redis nodes that do as they are told: late, silent, in error, or well.

use std::future::{Future, poll_fn};
use std::sync::{Arc, Mutex};
use std::task::{Poll, Waker};
use std::time::Duration;

use redlock::{Clock, Compared, Node, NodeError, NodeId};

use crate::world::{NodeState, World, ms};

/// How a node treats a command.
#[derive(Clone, Debug)]
pub(crate) struct Manner {
    /// How long the request takes; `None` if it is lost.
    pub(crate) there: Option<Duration>,
    /// How long the answer takes; `None` if it is lost.
    pub(crate) back: Option<Duration>,
    /// What it answers instead of doing anything.
    pub(crate) error: Option<NodeError>,
}

impl Default for Manner {
    fn default() -> Manner {
        Manner::takes(ms(1), ms(1))
    }
}

impl Manner {
    pub(crate) fn takes(there: Duration, back: Duration) -> Manner {
        Manner {
            there: Some(there),
            back: Some(back),
            error: None,
        }
    }

    /// The request never arrives.
    pub(crate) fn silent() -> Manner {
        Manner {
            there: None,
            back: None,
            error: None,
        }
    }

    /// Applied, but the answer never arrives.
    pub(crate) fn answer_lost() -> Manner {
        Manner {
            there: Some(ms(1)),
            back: None,
            error: None,
        }
    }

    pub(crate) fn error(text: &str) -> Manner {
        let error = NodeError::Server {
            code: text.to_owned(),
            message: "told to".to_owned(),
        };
        Manner {
            error: Some(error),
            ..Manner::default()
        }
    }
}

/// A client's handle on a node.
#[derive(Clone)]
pub(crate) struct TestNode {
    world: World,
    index: usize,
    cut: bool,
}

impl TestNode {
    pub(crate) fn new(world: World, index: usize) -> TestNode {
        TestNode {
            world,
            index,
            cut: false,
        }
    }

    /// The same node, as one sees it who is cut off from it.
    pub(crate) fn cut(mut self) -> TestNode {
        self.cut = true;
        self
    }

    fn manner(&self) -> Manner {
        if self.cut {
            return Manner::silent();
        }
        let node = &mut self.world.state().nodes[self.index];
        node.next.pop_front().unwrap_or_else(|| node.manner.clone())
    }

    /// Sends a command. It is under way by itself: dropping the call does not call it back.
    fn call<T: Send + 'static>(
        &self,
        apply: impl FnOnce(&mut NodeState, Duration) -> T + Send + 'static,
    ) -> impl Future<Output = Result<T, NodeError>> + Send + 'static {
        let answer = Answer::default();
        let Manner { there, back, error } = self.manner();
        let (world, index, sent) = (self.world.clone(), self.index, answer.clone());
        if let Some(there) = there {
            self.world.spawn_task(async move {
                world.clock().sleep(there).await;
                let now = world.now();
                let result = match error {
                    Some(error) => Err(error),
                    None => Ok(apply(&mut world.state().nodes[index], now)),
                };
                if let Some(back) = back {
                    world.clock().sleep(back).await;
                    sent.put(result);
                }
            });
        }
        poll_fn(move |context| answer.take(context.waker()))
    }
}

type Slot<T> = (Option<Result<T, NodeError>>, Option<Waker>);

struct Answer<T>(Arc<Mutex<Slot<T>>>);

impl<T> Clone for Answer<T> {
    fn clone(&self) -> Self {
        Answer(self.0.clone())
    }
}

impl<T> Default for Answer<T> {
    fn default() -> Self {
        Answer(Arc::new(Mutex::new((None, None))))
    }
}

impl<T> Answer<T> {
    fn put(&self, result: Result<T, NodeError>) {
        let mut slot = self.0.lock().unwrap();
        slot.0 = Some(result);
        if let Some(waker) = slot.1.take() {
            waker.wake();
        }
    }

    fn take(&self, waker: &Waker) -> Poll<Result<T, NodeError>> {
        let mut slot = self.0.lock().unwrap();
        slot.1 = Some(waker.clone());
        slot.0.take().map_or(Poll::Pending, Poll::Ready)
    }
}

impl NodeState {
    fn compare(&mut self, key: &[u8], value: &[u8], now: Duration) -> Compared {
        self.keys.retain(|_, (_, expires)| now < *expires);
        match self.keys.get(key) {
            None => Compared::Missing,
            Some((held, _)) if held == value => Compared::Done,
            Some(_) => Compared::Foreign,
        }
    }
}

impl Node for TestNode {
    fn id(&self) -> NodeId {
        NodeId::new(format!("n{}", self.index + 1))
    }

    async fn set_nx_px(&self, key: &[u8], value: &[u8], ttl: Duration) -> Result<bool, NodeError> {
        let (key, value) = (key.to_vec(), value.to_vec());
        self.call(move |node, now| {
            node.log.push((now, "set", value.clone()));
            let free = node.compare(&key, &value, now) == Compared::Missing;
            if free {
                node.keys.insert(key, (value, now + ttl));
            }
            free
        })
        .await
    }

    async fn compare_and_delete(&self, key: &[u8], value: &[u8]) -> Result<Compared, NodeError> {
        let (key, value) = (key.to_vec(), value.to_vec());
        self.call(move |node, now| {
            node.log.push((now, "delete", value.clone()));
            let compared = node.compare(&key, &value, now);
            if compared == Compared::Done {
                node.keys.remove(&key);
            }
            compared
        })
        .await
    }

    async fn compare_and_pexpire(
        &self,
        key: &[u8],
        value: &[u8],
        ttl: Duration,
    ) -> Result<Compared, NodeError> {
        let (key, value) = (key.to_vec(), value.to_vec());
        self.call(move |node, now| {
            node.log.push((now, "pexpire", value.clone()));
            let compared = node.compare(&key, &value, now);
            if compared == Compared::Done {
                node.keys.insert(key, (value, now + ttl));
            }
            compared
        })
        .await
    }
}
