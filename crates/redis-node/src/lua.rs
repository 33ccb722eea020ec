//! Scripts: a Lua 5.1 state that many nodes share without one script's traces reaching the next.

mod convert;
mod host;
mod limits;
mod sandbox;

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fmt;
use std::rc::Rc;

use bytes::Bytes;
use mlua::chunk::ChunkMode;
use mlua::{Function, Table, Value};

use crate::command::{Failure, Outcome};
use crate::database::Database;

use host::{Running, Slot};
use limits::{Budget, Limits};
pub(crate) use sandbox::Rules;

/// A Lua state that all nodes of a thread share; cloning shares it, too.
///
/// A new state costs about 100 µs, a script in an existing one about 3 µs. Sharing changes nothing: globals
/// are read-only and random numbers start anew with each script. How much memory a script takes does depend on
/// what others left behind; so one that takes more than a little of it, or of time, is undone and starts again
/// on a state of its own, where its limits are always met at the same instruction.
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
    compiled: RefCell<Compiled>,
}

/// Compiled scripts, and the size of their sources.
#[derive(Default)]
struct Compiled {
    scripts: BTreeMap<Sha, Script>,
    bytes: usize,
}

/// A script that can be run.
#[derive(Clone)]
pub(crate) struct Script {
    function: Function,
    rules: Rules,
}

/// Compiled scripts that are kept, and the sources that they have at most: a sweep uses a handful, a hostile
/// client cannot fill the memory. Their strings are part of what a script on the shared state need not allocate,
/// so [`limits`] relies on this bound.
const MOST_COMPILED: usize = 1_000;
const MOST_SOURCE: usize = 1 << 20;
const LARGEST_SOURCE: usize = 64 << 10;

impl Lua {
    /// The compiled script, from the cache if any node of the thread has had it.
    pub(crate) fn compile(&self, sha: Sha, body: &Bytes) -> Result<Script, Failure> {
        self.0.compile(sha, body)
    }

    /// Runs a script on the keys. The database comes back as the script left it, also where it failed; but as it
    /// was before where a limit of the node's own stopped it.
    pub(crate) fn run(
        &self,
        script: &Script,
        (sha, body): (Sha, &Bytes),
        keys: &[Bytes],
        values: &[Bytes],
        db: Database,
    ) -> (Database, Outcome) {
        if script.rules.write()
            && let Some(why) = db.refusal()
        {
            let why = why.clone();
            return (db, Err(why));
        }
        if script.rules.need_memory() && db.is_out_of_memory() {
            return (db, Err(host::OUT_OF_MEMORY));
        }
        let arguments = (keys, values);
        let (mut db, result) = self.0.run(script, Budget::SHARED, arguments, db);
        if let Some(result) = result {
            db.commit_script();
            return (db, State::outcome(result, sha, body));
        }
        db.undo_script();
        let own = match State::new() {
            Ok(own) => own,
            Err(error) => return (db, Err(sandbox::broken(&error, sha))),
        };
        let script = match own.compile(sha, body) {
            Ok(script) => script,
            Err(failure) => return (db, Err(failure)),
        };
        let (mut db, result) = own.run(&script, Budget::OWN, arguments, db);
        let Some(result) = result else {
            db.undo_script();
            return (db, Err(sandbox::killed(sha)));
        };
        db.commit_script();
        (db, State::outcome(result, sha, body))
    }
}

/// What a script ended with: whether it succeeded, its value or error, and whether it spoke RESP3.
type Ended = (mlua::Result<(bool, Value)>, bool);

impl State {
    fn compile(&self, sha: Sha, body: &Bytes) -> Result<Script, Failure> {
        if let Some(script) = self.compiled.borrow().scripts.get(&sha) {
            return Ok(script.clone());
        }
        let (rules, source) = sandbox::shebang(body)?;
        // The chunk's name makes messages begin with "user_script:1:", as Redis's do.
        let chunk = self
            .lua
            .load(source)
            .set_name("@user_script")
            .set_mode(ChunkMode::Text);
        let function = chunk
            .set_environment(self.environment.clone())
            .into_function();
        let function = function.map_err(|error| {
            let text = sandbox::message(&error);
            Failure(format!("ERR Error compiling script (new function): {text}").into())
        })?;
        let script = Script { function, rules };
        self.keep(sha, body.len(), &script);
        Ok(script)
    }

    fn keep(&self, sha: Sha, bytes: usize, script: &Script) {
        if bytes > LARGEST_SOURCE {
            return;
        }
        let mut compiled = self.compiled.borrow_mut();
        if compiled.scripts.len() >= MOST_COMPILED || compiled.bytes + bytes > MOST_SOURCE {
            *compiled = Compiled::default();
        }
        compiled.bytes += bytes;
        compiled.scripts.insert(sha, script.clone());
    }

    /// Runs a script within that budget; no result if it needs more.
    fn run(
        &self,
        script: &Script,
        budget: Budget,
        (keys, values): (&[Bytes], &[Bytes]),
        mut db: Database,
    ) -> (Database, Option<Ended>) {
        db.begin_script();
        *self.slot.borrow_mut() = Some(Running::new(db, script.rules));
        let result = self.call(&script.function, budget, keys, values);
        let resp3 = self.limits.resp3();
        let exhausted = self.limits.finish(&self.lua);
        let running = self.slot.borrow_mut().take();
        let db = running.map(|running| running.db).unwrap_or_default();
        if exhausted || sandbox::is_out_of_memory(&result) {
            return (db, None);
        }
        (db, Some((result, resp3)))
    }

    fn outcome((result, resp3): Ended, sha: Sha, body: &[u8]) -> Outcome {
        match &result {
            Ok((true, value)) => convert::to_reply(value, resp3),
            Ok((false, error)) => Err(sandbox::uncaught(error, sha, body)),
            Err(error) => Err(sandbox::broken(error, sha)),
        }
    }

    fn call(
        &self,
        script: &Function,
        budget: Budget,
        keys: &[Bytes],
        values: &[Bytes],
    ) -> mlua::Result<(bool, Value)> {
        self.globals.raw_set("KEYS", self.list(keys)?)?;
        self.globals.raw_set("ARGV", self.list(values)?)?;
        self.limits.start(&self.lua, budget)?;
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
