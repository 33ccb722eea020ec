//! The globals of scripts, and Redis's texts for scripts that fail.

use std::cell::RefCell;
use std::rc::Rc;

use bytes::Bytes;
use mlua::{FromLuaMulti, IntoLuaMulti, LuaOptions, MultiValue, StdLib, Table, Value};

use super::host::{Host, Raised};
use super::limits::Limits;
use super::{Compiled, Sha, State};
use crate::command::{Failure, Index};

/// Takes the raw functions, gives back the runner, the globals, and the environment of scripts.
const SOURCE: &str = include_str!("sandbox.lua");

impl State {
    pub(super) fn new() -> mlua::Result<State> {
        let libraries = StdLib::STRING | StdLib::TABLE | StdLib::MATH;
        let lua = mlua::Lua::new_with(libraries, LuaOptions::new().catch_rust_panics(false))?;
        let slot = Rc::new(RefCell::new(None));
        let limits = Rc::new(Limits::default());
        let raw = raw_functions(&lua, &slot, &limits)?;
        let build = lua.load(SOURCE).set_name("=sandbox").into_function()?;
        let (runner, globals, environment) = build.call(raw)?;
        let state = State {
            lua,
            runner,
            globals,
            environment,
            slot,
            limits,
            compiled: RefCell::new(Compiled::default()),
        };
        state.limits.collect(&state.lua);
        Ok(state)
    }
}

fn raw_functions(lua: &mlua::Lua, slot: &super::Slot, limits: &Rc<Limits>) -> mlua::Result<Table> {
    let raw = lua.create_table()?;
    let host = Rc::new(Host {
        slot: Rc::clone(slot),
        limits: Rc::clone(limits),
        index: Index::new(),
    });
    let answer = Rc::clone(&host);
    let answer = lua.create_function(move |lua, args: MultiValue| answer.answer(lua, &args))?;
    let raise =
        lua.create_function(move |lua, args: MultiValue| host.answer_or_raise(lua, &args))?;
    let explain = lua.create_function(|_, error: mlua::Error| Ok(message(&error)))?;
    let sha1hex = |_: &mlua::Lua, text: mlua::LuaString| Ok(Sha::of(&text.as_bytes()).to_string());
    let index = Index::new();
    let knows = lua.create_function(move |_, name: mlua::LuaString| {
        Ok(index.by_name(&name.as_bytes()).is_some())
    })?;
    raw.set("knows", knows)?;
    raw.set("pcall", answer)?;
    raw.set("call", raise)?;
    raw.set("explain", explain)?;
    raw.set("sha1hex", lua.create_function(sha1hex)?)?;
    raw.set(
        "line",
        lua.create_function(|lua, ()| Ok(line_of_script(lua)))?,
    )?;
    let add = Adder {
        lua,
        raw: &raw,
        limits,
    };
    add.function("charge", |limits, work: f64| {
        limits.charge(instructions(work))
    })?;
    add.function("exhaust", |limits, ()| limits.exhaust())?;
    add.function("random", |limits, ()| limits.random())?;
    add.function("reseed", |limits, seed: f64| limits.reseed(seed.to_bits()))?;
    add.function("setresp", |limits, resp3: bool| limits.set_resp3(resp3))?;
    Ok(raw)
}

/// Adds functions that work on the limits and cannot fail.
struct Adder<'a> {
    lua: &'a mlua::Lua,
    raw: &'a Table,
    limits: &'a Rc<Limits>,
}

impl Adder<'_> {
    fn function<A: FromLuaMulti, R: IntoLuaMulti>(
        &self,
        name: &str,
        run: impl Fn(&Limits, A) -> R + 'static,
    ) -> mlua::Result<()> {
        let limits = Rc::clone(self.limits);
        let function = self
            .lua
            .create_function(move |_, arguments: A| Ok(run(&limits, arguments)))?;
        self.raw.set(name, function)
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the cast saturates, as is wanted here"
)]
fn instructions(work: f64) -> u64 {
    work as u64
}

/// The line that the innermost frame of the script itself is at.
fn line_of_script(lua: &mlua::Lua) -> Option<usize> {
    for level in 1.. {
        let found = lua.inspect_stack(level, |frame| {
            let own = frame
                .source()
                .source
                .is_some_and(|source| source == "@user_script");
            if own { frame.current_line() } else { None }
        });
        match found {
            None => return None,
            Some(Some(line)) => return Some(line),
            Some(None) => {}
        }
    }
    None
}

/// What a script says about itself in its first line, `#!lua flags=...`. Without that line anything goes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Rules {
    declared: bool,
    pub(super) no_writes: bool,
    pub(super) allow_oom: bool,
}

impl Rules {
    const FLAGS: [&str; 5] = [
        "no-writes",
        "allow-oom",
        "allow-stale",
        "no-cluster",
        "allow-cross-slot-keys",
    ];

    /// Whether the script as a whole counts as a command that writes.
    pub(super) fn write(self) -> bool {
        self.declared && !self.no_writes
    }

    /// Whether the script as a whole is refused when there is no memory; one that says nothing may begin.
    pub(super) fn need_memory(self) -> bool {
        self.declared && !self.no_writes && !self.allow_oom
    }

    fn parse(words: std::str::SplitAsciiWhitespace<'_>) -> Result<Rules, Failure> {
        let mut rules = Rules {
            declared: true,
            ..Rules::default()
        };
        for word in words {
            let Some(flags) = word.strip_prefix("flags=") else {
                return Err(Failure(
                    format!("ERR Unknown lua shebang option: {word}").into(),
                ));
            };
            for flag in flags.split(',').filter(|flag| !flag.is_empty()) {
                if !Self::FLAGS.contains(&flag) {
                    return Err(Failure(
                        format!("ERR Unexpected flag in script shebang: {flag}").into(),
                    ));
                }
                rules.no_writes |= flag == "no-writes";
                rules.allow_oom |= flag == "allow-oom";
            }
        }
        Ok(rules)
    }
}

/// The rules of a script and its Lua part. The line feed of the first line stays, for the line numbers.
pub(super) fn shebang(body: &Bytes) -> Result<(Rules, &[u8]), Failure> {
    if !body.starts_with(b"#!") {
        return Ok((Rules::default(), body));
    }
    let Some(end) = body.iter().position(|byte| *byte == b'\n') else {
        return Err(Failure::of("ERR Invalid script shebang"));
    };
    let line = String::from_utf8_lossy(&body[..end]);
    let mut words = line.split_ascii_whitespace();
    let engine = words.next().unwrap_or_default();
    if engine != "#!lua" {
        return Err(Failure(
            format!("ERR Unexpected engine in script shebang: {engine}").into(),
        ));
    }
    Ok((Rules::parse(words)?, &body[end..]))
}

/// The text of an error of the Lua library, without what it adds itself.
pub(super) fn message(error: &mlua::Error) -> String {
    if let Some(Raised(text)) = error.downcast_ref() {
        return text.to_string();
    }
    match error {
        mlua::Error::CallbackError { cause, .. } => message(cause),
        mlua::Error::SyntaxError { message, .. } | mlua::Error::RuntimeError(message) => {
            message.clone()
        }
        mlua::Error::MemoryError(_) => "not enough memory".to_owned(),
        other => other.to_string(),
    }
}

/// Whether a script ended for want of memory, which no error handler of its own gets to see.
pub(super) fn is_out_of_memory(result: &mlua::Result<(bool, Value)>) -> bool {
    match result {
        Ok((false, Value::String(text))) => *text == "not enough memory",
        Err(error) => matches!(error, mlua::Error::MemoryError(_)),
        Ok(_) => false,
    }
}

/// A script that used up its instructions or its memory: answered as if somebody had sent `SCRIPT KILL`.
pub(super) fn killed(sha: Sha) -> Failure {
    let text = "ERR Error running script, Script killed by user with SCRIPT KILL. script: ";
    Failure(format!("{text}{sha}, on @user_script.").into())
}

/// An error that the script did not catch, as the error handler left it.
///
/// A tail call into one of the sandbox's own functions has left no frame of the script. Such a call stands
/// mostly on the last line, so that is the one named then.
pub(super) fn uncaught(error: &Value, sha: Sha, body: &[u8]) -> Failure {
    let Value::Table(error) = error else {
        let text = error.to_string().unwrap_or_default();
        return Failure(format!("ERR Error running script f_{sha}, {text}").into());
    };
    let text: Option<mlua::LuaString> = error.raw_get("err").ok();
    let text = text.map_or_else(
        || "ERR unknown error".to_owned(),
        |text| text.to_string_lossy(),
    );
    let last = || body.split(|byte| *byte == b'\n').count();
    let line = error.raw_get::<usize>("line").unwrap_or_else(|_| last());
    Failure(format!("{text} script: {sha}, on @user_script:{line}.").into())
}

/// The call itself failed, outside of the script's own error handler.
pub(super) fn broken(error: &mlua::Error, sha: Sha) -> Failure {
    Failure(format!("ERR Error running script f_{sha}, {}", message(error)).into())
}
