//! `redis.call` and `redis.pcall`: commands that a script gives.

use std::borrow::Cow;
use std::cell::RefCell;
use std::rc::Rc;

use bytes::Bytes;
use mlua::{MultiValue, Value};

use super::limits::{self, Limits};
use super::{Rules, convert};
use crate::Reply;
use crate::command::{Command, Failure, Flags, Index, Outcome, Run};
use crate::database::Database;

/// What a script works on while it runs; empty between scripts.
pub(super) type Slot = Rc<RefCell<Option<Running>>>;

/// The database in the hands of a script.
pub(super) struct Running {
    pub(super) db: Database,
    rules: Rules,
    /// A command that writes was let through: what was begun is not refused for want of memory any more.
    wrote: bool,
}

pub(super) const OUT_OF_MEMORY: Failure =
    Failure::of("OOM command not allowed when used memory > 'maxmemory'.");

impl Running {
    pub(super) fn new(db: Database, rules: Rules) -> Running {
        Running {
            db,
            rules,
            wrote: false,
        }
    }

    fn dispatch(&mut self, index: &Index, request: &[Bytes]) -> Outcome {
        let Some(command) = index.find(request) else {
            return Err(Failure::of("ERR Unknown Redis command called from script"));
        };
        if !command.accepts(request.len()) {
            return Err(Failure::of(
                "ERR Wrong number of args calling Redis command from script",
            ));
        }
        match command.run {
            Run::Data(run) if !command.flags.has(Flags::NOSCRIPT) => {
                self.admit(command)?;
                run(&mut self.db, request)
            }
            _ => Err(Failure::of(
                "ERR This Redis command is not allowed from script",
            )),
        }
    }

    fn admit(&mut self, command: &Command) -> Result<(), Failure> {
        let writes = command.flags.has(Flags::WRITE);
        if writes && self.rules.no_writes {
            return Err(Failure::of(
                "ERR Write commands are not allowed from read-only scripts.",
            ));
        }
        if writes && let Some(why) = self.db.refusal() {
            return Err(why.clone());
        }
        let spared = self.wrote || self.rules.allow_oom;
        if command.flags.has(Flags::DENYOOM) && self.db.is_out_of_memory() && !spared {
            return Err(OUT_OF_MEMORY);
        }
        self.wrote |= writes;
        Ok(())
    }
}

/// What `redis.call` and `redis.pcall` need.
pub(super) struct Host {
    pub(super) slot: Slot,
    pub(super) limits: Rc<Limits>,
    pub(super) index: Index,
}

/// An error reply on its way through Lua as an error.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(super) struct Raised(pub(super) Cow<'static, str>);

impl Host {
    /// `redis.pcall`: an error is a table with `err`.
    pub(super) fn answer(&self, lua: &mlua::Lua, arguments: &MultiValue) -> mlua::Result<Value> {
        convert::from_reply(lua, self.execute(arguments), self.limits.resp3())
    }

    /// `redis.call`: an error ends the script, if it does not catch it.
    pub(super) fn answer_or_raise(
        &self,
        lua: &mlua::Lua,
        arguments: &MultiValue,
    ) -> mlua::Result<Value> {
        match self.execute(arguments) {
            Reply::Error(text) => {
                self.limits.charge(limits::ERROR);
                Err(mlua::Error::external(Raised(text)))
            }
            reply => convert::from_reply(lua, reply, self.limits.resp3()),
        }
    }

    fn execute(&self, arguments: &MultiValue) -> Reply {
        let request = match convert::to_request(arguments) {
            Ok(request) => request,
            Err(failure) => {
                self.limits.charge(limits::CALL);
                return failure.into();
            }
        };
        let sent: usize = request.iter().map(Bytes::len).sum();
        if !self.limits.charge(limits::CALL + limits::of_bytes(sent)) {
            // The script ends at the next instruction that is counted.
            return Reply::error("ERR script took too long");
        }
        let mut slot = self.slot.borrow_mut();
        let Some(running) = slot.as_mut() else {
            return Reply::error("ERR no script is running");
        };
        let reply = running
            .dispatch(&self.index, &request)
            .unwrap_or_else(Reply::from);
        let gone_through = running.db.take_work().saturating_add(reply.size());
        self.limits.charge(limits::of_bytes(gone_through));
        reply
    }
}
