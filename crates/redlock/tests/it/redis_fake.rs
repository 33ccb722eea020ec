//! A server behind redis-rs's `ConnectionLike`, without a socket.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use redis::aio::ConnectionLike;
use redis::{Arg, Cmd, ErrorKind, Pipeline, RedisFuture, RedisResult, Value};
use redlock::Clock;
use redlock::redis::Connect;

use crate::world::World;

/// What the server does with a command.
pub(crate) enum Act {
    Answer(Value),
    Fail(std::io::ErrorKind),
    /// Never answers.
    Hang,
}

#[derive(Default)]
pub(crate) struct State {
    /// Connects that began, and that ended well.
    pub(crate) connects_begun: usize,
    pub(crate) connects: usize,
    /// The names of the commands, with the number of the connection they came by.
    pub(crate) commands: Vec<(usize, String)>,
    /// All arguments of the last command.
    pub(crate) last: Vec<String>,
    pub(crate) acts: VecDeque<Act>,
    pub(crate) connect_error: Option<std::io::ErrorKind>,
    pub(crate) connect_takes: Duration,
}

#[derive(Clone)]
pub(crate) struct FakeServer {
    world: World,
    state: Arc<Mutex<State>>,
}

impl FakeServer {
    pub(crate) fn new(world: &World) -> FakeServer {
        FakeServer {
            world: world.clone(),
            state: Arc::default(),
        }
    }

    pub(crate) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap()
    }

    pub(crate) fn will(&self, acts: impl IntoIterator<Item = Act>) {
        self.state().acts.extend(acts);
    }

    pub(crate) fn will_answer(&self, answers: impl IntoIterator<Item = Value>) {
        self.will(answers.into_iter().map(Act::Answer));
    }

    pub(crate) fn commands(&self) -> Vec<String> {
        self.state()
            .commands
            .iter()
            .map(|(_, name)| name.clone())
            .collect()
    }
}

/// An error as a server sends it, read by redis-rs's own parser.
pub(crate) fn server_error(line: &str) -> Value {
    redis::parse_redis_value(format!("-{line}\r\n").as_bytes()).unwrap()
}

impl Connect for FakeServer {
    type Connection = FakeConnection;

    async fn connect(&self) -> RedisResult<FakeConnection> {
        self.state().connects_begun += 1;
        let takes = self.state().connect_takes;
        self.world.clock().sleep(takes).await;
        let mut state = self.state();
        if let Some(kind) = state.connect_error {
            return Err(std::io::Error::from(kind).into());
        }
        state.connects += 1;
        Ok(FakeConnection {
            server: self.clone(),
            number: state.connects,
        })
    }

    fn name(&self) -> String {
        "fake:6379".into()
    }
}

#[derive(Clone)]
pub(crate) struct FakeConnection {
    server: FakeServer,
    number: usize,
}

impl ConnectionLike for FakeConnection {
    fn req_packed_command<'a>(&'a mut self, command: &'a Cmd) -> RedisFuture<'a, Value> {
        let text = |argument: Arg<&[u8]>| match argument {
            Arg::Simple(bytes) => String::from_utf8_lossy(bytes).into_owned(),
            _ => "a cursor".into(),
        };
        let arguments: Vec<String> = command.args_iter().map(text).collect();
        let mut state = self.server.state();
        state.commands.push((self.number, arguments[0].clone()));
        state.last = arguments;
        let act = state
            .acts
            .pop_front()
            .expect("a command that the test foresaw");
        Box::pin(async move {
            match act {
                Act::Answer(value) => Ok(value),
                Act::Fail(kind) => Err(std::io::Error::from(kind).into()),
                Act::Hang => std::future::pending().await,
            }
        })
    }

    fn req_packed_commands<'a>(
        &'a mut self,
        _: &'a Pipeline,
        _: usize,
        _: usize,
    ) -> RedisFuture<'a, Vec<Value>> {
        Box::pin(async { Err((ErrorKind::Client, "a lock sends no pipelines").into()) })
    }

    fn get_db(&self) -> i64 {
        0
    }
}
