//! What a sentinel answers: clients that ask for the primary, and other sentinels.

use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;

use bytes::Bytes;
use fencepost_checker::ClockKind;
use fencepost_checker::history::Crash;
use fencepost_world::{Host, Service};
use redis_node::{ConnectionId, Effects, Reply, UnixTime};

use super::view::View;
use super::{GROUP, SentinelPlan};
use crate::arguments::{Arguments, Refusal, answer, number, text};

/// One sentinel: a service for those who ask, and what its daemon decides by.
#[derive(Clone, Debug)]
pub struct Sentinel(Rc<RefCell<View>>);

impl Sentinel {
    /// The sentinel of that name.
    #[must_use]
    pub fn new(name: &str, plan: SentinelPlan) -> Self {
        Self(Rc::new(RefCell::new(View::new(name, plan))))
    }

    /// Calls `act` with what the sentinel knows.
    pub(super) fn view<T>(&self, act: impl FnOnce(&mut View) -> T) -> T {
        act(&mut self.0.borrow_mut())
    }

    fn now(&self) -> Duration {
        let host = Host::find(&self.0.borrow().me);
        Duration::from_nanos(host.map_or(0, |host| host.reading(ClockKind::Monotonic)))
    }

    fn sentinel(&self, arguments: Arguments<'_>) -> Result<Reply, Refusal> {
        match arguments.subcommand().as_slice() {
            b"GET-MASTER-ADDR-BY-NAME" => {
                let [_, name] = arguments.exactly()?;
                Ok(if &**name == GROUP.as_bytes() {
                    self.primary()
                } else {
                    Reply::NilArray
                })
            }
            b"IS-MASTER-DOWN-BY-ADDR" => {
                let [_, primary, _, epoch, candidate] = arguments.exactly()?;
                self.is_down(text(primary)?, number(epoch)?, text(candidate)?)
            }
            b"HELLO" => {
                let [_, primary, epoch] = arguments.exactly()?;
                let (primary, epoch, now) = (text(primary)?, number(epoch)?, self.now());
                self.view(|view| view.learn(now, primary, epoch));
                Ok(Reply::ok())
            }
            _ => Err(Reply::error(
                "ERR unknown subcommand. Try SENTINEL GET-MASTER-ADDR-BY-NAME.",
            )),
        }
    }

    fn primary(&self) -> Reply {
        let primary = self.view(|view| view.primary.clone());
        Reply::Array(vec![Reply::bulk(primary), Reply::bulk("6379")])
    }

    /// Whether the primary is down to this sentinel and, if a candidate asks, whom it votes for.
    fn is_down(&self, primary: &str, epoch: u64, candidate: &str) -> Result<Reply, Refusal> {
        let now = self.now();
        let (down, vote) = self.view(|view| {
            let down = view.primary == primary && view.primary_is_down(now);
            (
                down,
                if candidate == "*" {
                    None
                } else {
                    view.vote(now, epoch, candidate)
                },
            )
        });
        let (epoch, leader) = vote.unwrap_or((0, "*".to_owned()));
        Ok(Reply::Array(vec![
            Reply::Integer(i64::from(down)),
            Reply::bulk(leader),
            Reply::Integer(i64::try_from(epoch).unwrap_or(i64::MAX)),
        ]))
    }
}

impl Service for Sentinel {
    fn boot(&mut self, _: UnixTime) {
        let now = self.now();
        self.view(|view| view.restarted(now));
    }

    fn stop(&mut self, _: Crash, _: UnixTime) {}

    fn connected(&mut self, _: ConnectionId, _: Host) {}

    fn disconnected(&mut self, _: ConnectionId) {}

    fn handle(&mut self, _: UnixTime, connection: ConnectionId, request: &[Bytes]) -> Effects {
        let arguments = Arguments::of(request);
        let done = match arguments.command().as_slice() {
            b"SENTINEL" => self.sentinel(arguments),
            _ => Ok(arguments.common()),
        };
        answer(connection, done.unwrap_or_else(|refusal| refusal), None)
    }
}
