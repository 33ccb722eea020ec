//! What a sentinel does: it asks, and when enough agree that the primary is down, it acts.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use std::time::Duration;

use fencepost_checker::ClockKind;
use fencepost_checker::history::What;
use fencepost_world::{Connection, Host};
use futures_util::future::{Either, select};
use redis::{Cmd, FromRedisValue, RedisResult, Value};

use super::{
    ASK_PERIOD, DESYNC, GROUP, HELLO_PERIOD, PING_PERIOD, Sentinel, TIMER_HZ, TIMER_PERIOD,
    WRONG_ROLE_LASTS,
};

/// The daemon of one sentinel.
pub(crate) async fn watch(host: Host, sentinel: Sentinel) {
    let watcher = Watcher {
        host,
        sentinel,
        connections: Rc::default(),
        busy: Rc::default(),
        asked: RefCell::default(),
        stream: RefCell::new(host.stream("sentinel")),
    };
    loop {
        watcher.look();
        host.sleep(watcher.until_next_look()).await;
    }
}

/// What is asked of whom.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Question {
    Role,
    IsDown,
    Hello,
    SetRole,
}

type Asked = (Question, String);

struct Watcher {
    host: Host,
    sentinel: Sentinel,
    connections: Rc<RefCell<BTreeMap<String, Connection>>>,
    /// Questions without an answer yet.
    busy: Rc<RefCell<BTreeSet<Asked>>>,
    /// When each was asked last.
    asked: RefCell<BTreeMap<Asked, Duration>>,
    stream: RefCell<fencepost_world::Stream>,
}

impl Watcher {
    fn until_next_look(&self) -> Duration {
        let mut stream = self.stream.borrow_mut();
        let hz = stream.between(TIMER_HZ.start, TIMER_HZ.end - 1);
        Duration::from_secs(1) / u32::try_from(hz).unwrap_or(u32::MAX)
    }

    fn now(&self) -> Duration {
        now(self.host)
    }

    fn look(&self) {
        let (nodes, others, down_after) = self
            .sentinel
            .view(|view| (view.plan.nodes.clone(), view.others(), view.plan.down_after));
        for node in &nodes {
            self.ask_role(node, PING_PERIOD.min(down_after));
        }
        self.say_hello(&others);
        self.depose(&others);
        self.set_right(&nodes);
    }

    /// Whether a question is due; if so, it counts as asked.
    fn is_due(&self, question: Question, whom: &str, period: Duration) -> bool {
        let (asked, now) = ((question, whom.to_owned()), self.now());
        let waited = self
            .asked
            .borrow()
            .get(&asked)
            .is_none_or(|before| now >= *before + period);
        let due = waited && !self.busy.borrow().contains(&asked);
        if due {
            self.asked.borrow_mut().insert(asked, now);
        }
        due
    }

    /// Sends a command in a task of its own; `then` gets the answer, if one comes within the period.
    fn send<T: FromRedisValue + 'static>(
        &self,
        question: Question,
        whom: &str,
        command: Cmd,
        then: impl FnOnce(&Sentinel, Host, RedisResult<T>) + 'static,
    ) {
        let Some(to) = Host::find(whom) else { return };
        let (host, sentinel) = (self.host, self.sentinel.clone());
        let (connections, busy) = (Rc::clone(&self.connections), Rc::clone(&self.busy));
        let asked = (question, whom.to_owned());
        busy.borrow_mut().insert(asked.clone());
        host.spawn(async move {
            let call = Box::pin(call(host, to, &connections, command));
            let answer = match select(call, host.sleep(PING_PERIOD)).await {
                Either::Left((answer, _)) => answer,
                Either::Right(_) => Err(std::io::Error::from(std::io::ErrorKind::TimedOut).into()),
            };
            if answer.as_ref().is_err_and(|error| error.is_io_error()) {
                // A silent connection may be a dead one: the next question opens another.
                connections.borrow_mut().remove(&asked.1);
            }
            busy.borrow_mut().remove(&asked);
            then(&sentinel, host, answer);
        });
    }

    fn ask_role(&self, node: &str, period: Duration) {
        if !self.is_due(Question::Role, node, period) {
            return;
        }
        let name = node.to_owned();
        self.send(
            Question::Role,
            node,
            redis::cmd("ROLE"),
            move |sentinel, host, answer: RedisResult<Value>| {
                let Some((follows, offset)) = answer.ok().and_then(role) else {
                    return;
                };
                sentinel.view(|view| view.heard(now(host), &name, follows, offset));
            },
        );
    }

    fn say_hello(&self, others: &[String]) {
        let (primary, epoch) = self
            .sentinel
            .view(|view| (view.primary.clone(), view.config_epoch));
        for other in others {
            if self.is_due(Question::Hello, other, HELLO_PERIOD) {
                let mut hello = redis::cmd("SENTINEL");
                hello.arg("HELLO").arg(&primary).arg(epoch);
                self.send(Question::Hello, other, hello, |_, _, _: RedisResult<()>| {});
            }
        }
    }

    /// Agrees with the others that the primary is down, stands for election, and promotes a replica.
    fn depose(&self, others: &[String]) {
        let now = self.now();
        let jitter = Duration::from_nanos(
            self.stream
                .borrow_mut()
                .between(0, DESYNC.as_nanos() as u64),
        );
        let (down, attempt) = self.sentinel.view(|view| {
            view.begin(now, jitter);
            if view.election_failed(now) {
                view.attempt = None;
            }
            (
                view.primary_is_down(now),
                view.attempt.filter(|attempt| now >= attempt.begins),
            )
        });
        if let Some(attempt) = attempt {
            self.sentinel.view(|view| {
                let me = view.me.clone();
                view.vote(now, attempt.epoch, &me);
            });
        }
        if down {
            others
                .iter()
                .for_each(|other| self.ask_is_down(other, attempt.map(|attempt| attempt.epoch)));
        }
        if self.sentinel.view(|view| view.leads()) {
            self.promote();
        }
    }

    fn ask_is_down(&self, other: &str, standing: Option<u64>) {
        // A candidate does not wait for the next round.
        let period = if standing.is_some() {
            TIMER_PERIOD
        } else {
            ASK_PERIOD
        };
        if !self.is_due(Question::IsDown, other, period) {
            return;
        }
        let (me, primary) = self
            .sentinel
            .view(|view| (view.me.clone(), view.primary.clone()));
        let mut ask = redis::cmd("SENTINEL");
        ask.arg("IS-MASTER-DOWN-BY-ADDR")
            .arg(primary)
            .arg("6379")
            .arg(standing.unwrap_or(0));
        ask.arg(standing.map_or("*", |_| &*me));
        let name = other.to_owned();
        self.send(
            Question::IsDown,
            other,
            ask,
            move |sentinel, host, answer: RedisResult<(u8, String, u64)>| {
                let Ok((down, leader, epoch)) = answer else {
                    return;
                };
                let vote = (leader != "*").then_some((epoch, leader));
                sentinel.view(|view| view.told(now(host), &name, down == 1, vote));
            },
        );
    }

    fn promote(&self) {
        let now = self.now();
        let Some(best) = self.sentinel.view(|view| view.best_replica(now)) else {
            return;
        };
        if !self.is_due(Question::SetRole, &best, PING_PERIOD) {
            return;
        }
        let mut command = redis::cmd("REPLICAOF");
        command.arg("NO").arg("ONE");
        let name = best.clone();
        self.send(
            Question::SetRole,
            &best,
            command,
            move |sentinel, host, answer: RedisResult<()>| {
                if answer.is_ok() {
                    host.record(What::Promoted {
                        node: name.as_str().into(),
                    });
                    sentinel.view(|view| view.promoted(&name));
                }
            },
        );
    }

    /// A node that follows nobody, or the wrong one, for long enough is made a replica of the primary.
    fn set_right(&self, nodes: &[String]) {
        let (now, primary) = (self.now(), self.sentinel.view(|view| view.primary.clone()));
        let wrong = |node: &&String| {
            self.sentinel.view(|view| {
                let said = view.said.get(*node);
                **node != primary
                    && said.is_some_and(|said| {
                        said.follows.as_ref() != Some(&primary)
                            && now >= said.since + WRONG_ROLE_LASTS
                    })
                    && view.primary_looks_sane(now)
            })
        };
        for node in nodes.iter().filter(wrong) {
            if !self.is_due(Question::SetRole, node, PING_PERIOD) {
                continue;
            }
            let mut command = redis::cmd("REPLICAOF");
            command.arg(&primary).arg("6379");
            let (name, of) = (node.clone(), primary.clone());
            self.send(
                Question::SetRole,
                node,
                command,
                move |_, host, answer: RedisResult<()>| {
                    if answer.is_ok() {
                        host.record(What::Demoted {
                            node: name.as_str().into(),
                            of: of.as_str().into(),
                        });
                    }
                },
            );
        }
    }
}

fn now(host: Host) -> Duration {
    Duration::from_nanos(host.reading(ClockKind::Monotonic))
}

async fn call<T: FromRedisValue>(
    from: Host,
    to: Host,
    connections: &RefCell<BTreeMap<String, Connection>>,
    command: Cmd,
) -> RedisResult<T> {
    let name = to.name().to_string();
    let kept = connections.borrow().get(&name).cloned();
    let mut connection = match kept {
        Some(connection) => connection,
        None => {
            let connection = from.connect(to).await?;
            connections.borrow_mut().insert(name, connection.clone());
            connection
        }
    };
    command.query_async(&mut connection).await
}

/// Whom a node follows and how far it has come, from the answer to ROLE.
fn role(answer: Value) -> Option<(Option<String>, u64)> {
    let Value::Array(fields) = answer else {
        return None;
    };
    let text = |index: usize| {
        fields
            .get(index)
            .and_then(|field| String::from_redis_value_ref(field).ok())
    };
    let number = |index: usize| {
        fields
            .get(index)
            .and_then(|field| u64::from_redis_value_ref(field).ok())
    };
    match text(0)?.as_str() {
        "master" => Some((None, number(1)?)),
        "slave" => Some((Some(text(1)?), number(4).unwrap_or(0))),
        _ => None,
    }
}

/// Asks the sentinels for the primary, one after another, as clients do.
pub(crate) async fn primary(from: Host, sentinels: &[String], patience: Duration) -> Option<Host> {
    for sentinel in sentinels {
        let to = Host::find(sentinel)?;
        let mut ask = redis::cmd("SENTINEL");
        ask.arg("GET-MASTER-ADDR-BY-NAME").arg(GROUP);
        let asked = async {
            let mut connection = from.connect(to).await?;
            ask.query_async::<(String, String)>(&mut connection).await
        };
        if let Some(Ok((name, _))) = from.timeout(patience, asked).await {
            return Host::find(&name);
        }
    }
    None
}
