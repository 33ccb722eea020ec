//! Scripts: a Lua 5.1 state that many nodes share without one script's traces reaching the next.

mod convert;
mod limits;
mod sandbox;

use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fmt;
use std::rc::Rc;

use bytes::Bytes;
use mlua::chunk::ChunkMode;
use mlua::{Function, MultiValue, Table, Value};

use crate::Reply;
use crate::command::{Failure, Index, Outcome, Run};
use crate::database::Database;

use limits::Limits;

/// A Lua state that all nodes of a thread share; cloning shares it, too.
///
/// A new state costs about 100 µs, a script in an existing one about 3 µs. Sharing changes nothing: globals
/// are read-only, random numbers start anew with each script, and memory and instructions are counted from
/// the start of the script.
#[derive(Clone)]
pub struct Lua(Rc<State>);

impl Lua {
    /// A new state with the libraries that Redis gives to scripts.
    #[expect(
        clippy::new_without_default,
        reason = "it costs too much to be made by accident"
    )]
    pub fn new() -> Lua {
        // Building the sandbox runs only our own constant sources.
        Lua(Rc::new(
            State::new().expect("the sandbox's own scripts are valid"),
        ))
    }
}

impl fmt::Debug for Lua {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Lua")
    }
}

/// The name of a script: the SHA-1 of its body.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Sha([u8; 20]);

impl Sha {
    pub(crate) fn of(body: &[u8]) -> Sha {
        Sha(sha1_smol::Sha1::from(body).digest().bytes())
    }

    /// From forty hexadecimal digits in any case.
    pub(crate) fn parse(text: &[u8]) -> Option<Sha> {
        let digit = |byte: u8| {
            char::from(byte)
                .to_digit(16)
                .and_then(|digit| u8::try_from(digit).ok())
        };
        let mut sha = [0; 20];
        if text.len() != 40 {
            return None;
        }
        for (byte, digits) in sha.iter_mut().zip(text.chunks_exact(2)) {
            *byte = digit(digits[0])? << 4 | digit(digits[1])?;
        }
        Some(Sha(sha))
    }
}

impl fmt::Display for Sha {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Sha {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// What a script works on while it runs; empty between scripts.
type Slot = Rc<RefCell<Option<Database>>>;

struct State {
    lua: mlua::Lua,
    /// Calls a compiled script under Redis's error handler.
    runner: Function,
    /// Where KEYS and ARGV go.
    globals: Table,
    /// What scripts see as their globals.
    environment: Table,
    slot: Slot,
    limits: Rc<Limits>,
    compiled: RefCell<BTreeMap<Sha, Function>>,
}

/// Compiled scripts that are kept; a sweep uses a handful, a hostile client cannot fill the memory.
const MOST_COMPILED: usize = 1_000;

impl Lua {
    /// The compiled script, from the cache if any node of the thread has had it.
    pub(crate) fn compile(&self, sha: Sha, body: &Bytes) -> Result<Function, Failure> {
        let mut compiled = self.0.compiled.borrow_mut();
        if let Some(script) = compiled.get(&sha) {
            return Ok(script.clone());
        }
        let source = sandbox::without_shebang(body)?;
        // The chunk's name makes messages begin with "user_script:1:", as Redis's do.
        let chunk = self
            .0
            .lua
            .load(source)
            .set_name("@user_script")
            .set_mode(ChunkMode::Text);
        let script = chunk
            .set_environment(self.0.environment.clone())
            .into_function();
        let script = script.map_err(|error| {
            let text = sandbox::message(&error);
            Failure(format!("ERR Error compiling script (new function): {text}").into())
        })?;
        if compiled.len() >= MOST_COMPILED {
            compiled.clear();
        }
        compiled.insert(sha, script.clone());
        Ok(script)
    }

    /// Runs a script on the keys. The database comes back as the script left it, also where it failed.
    pub(crate) fn run(
        &self,
        script: &Function,
        (sha, body): (Sha, &[u8]),
        keys: &[Bytes],
        values: &[Bytes],
        db: Database,
    ) -> (Database, Outcome) {
        let state = &*self.0;
        *state.slot.borrow_mut() = Some(db);
        let result = state.call(script, keys, values);
        let exhausted = state.limits.finish(&state.lua);
        let db = state.slot.borrow_mut().take().unwrap_or_default();
        let outcome = match &result {
            _ if exhausted || sandbox::is_out_of_memory(&result) => Err(sandbox::killed(sha)),
            Ok((true, value)) => convert::to_reply(value, state.limits.resp3()),
            Ok((false, error)) => Err(sandbox::uncaught(error, sha, body)),
            Err(error) => Err(sandbox::broken(error, sha)),
        };
        (db, outcome)
    }
}

impl State {
    fn call(
        &self,
        script: &Function,
        keys: &[Bytes],
        values: &[Bytes],
    ) -> mlua::Result<(bool, Value)> {
        self.globals.raw_set("KEYS", self.list(keys)?)?;
        self.globals.raw_set("ARGV", self.list(values)?)?;
        self.limits.start(&self.lua)?;
        self.runner.call(script)
    }

    fn list(&self, items: &[Bytes]) -> mlua::Result<Table> {
        let table = self.lua.create_table_with_capacity(items.len(), 0)?;
        for (index, item) in items.iter().enumerate() {
            table.raw_set(index + 1, self.lua.create_string(item)?)?;
        }
        Ok(table)
    }
}

/// What `redis.call` and `redis.pcall` need.
struct Host {
    slot: Slot,
    limits: Rc<Limits>,
    index: Index,
}

/// An error reply on its way through Lua as an error.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct Raised(Cow<'static, str>);

impl Host {
    /// `redis.pcall`: an error is a table with `err`.
    fn answer(&self, lua: &mlua::Lua, arguments: &MultiValue) -> mlua::Result<Value> {
        convert::from_reply(lua, self.execute(arguments), self.limits.resp3())
    }

    /// `redis.call`: an error ends the script, if it does not catch it.
    fn answer_or_raise(&self, lua: &mlua::Lua, arguments: &MultiValue) -> mlua::Result<Value> {
        match self.execute(arguments) {
            Reply::Error(text) => {
                self.limits.charge(limits::ERROR);
                Err(mlua::Error::external(Raised(text)))
            }
            reply => convert::from_reply(lua, reply, self.limits.resp3()),
        }
    }

    fn execute(&self, arguments: &MultiValue) -> Reply {
        self.limits.charge(limits::CALL);
        let request = match convert::to_request(arguments) {
            Ok(request) => request,
            Err(failure) => return failure.into(),
        };
        match self.slot.borrow_mut().as_mut() {
            Some(db) => dispatch(db, &self.index, &request).unwrap_or_else(Reply::from),
            None => Reply::error("ERR no script is running"),
        }
    }
}

fn dispatch(db: &mut Database, index: &Index, request: &[Bytes]) -> Outcome {
    let Some(command) = index.find(request) else {
        return Err(Failure::of("ERR Unknown Redis command called from script"));
    };
    if !command.accepts(request.len()) {
        return Err(Failure::of(
            "ERR Wrong number of args calling Redis command from script",
        ));
    }
    match command.run {
        Run::Data(run) => run(db, request),
        _ => Err(Failure::of(
            "ERR This Redis command is not allowed from script",
        )),
    }
}
