//! Values between Lua and Redis, both ways, by Redis's documented rules.

use bytes::Bytes;
use mlua::{MultiValue, Table, Value};

use crate::Reply;
use crate::command::{Failure, Outcome};
use crate::number::seventeen_digits;

/// How deep a returned table may be nested, and how many values it may hold in all: a table that contains
/// itself, or each level twice, must not hang the node.
const DEEPEST: usize = 100;
const MOST_VALUES: usize = 1 << 20;
const STACK_LIMIT: Failure = Failure::of("ERR reached lua stack limit");

/// The arguments of `redis.call` as a request.
pub(super) fn to_request(arguments: &MultiValue) -> Result<Vec<Bytes>, Failure> {
    if arguments.is_empty() {
        return Err(Failure::of(
            "ERR Please specify at least one argument for this redis lib call",
        ));
    }
    let wrong = Failure::of("ERR Lua redis lib command arguments must be strings or integers");
    let request: Option<Vec<Bytes>> = arguments
        .iter()
        .map(|argument| match argument {
            Value::String(text) => Some(Bytes::copy_from_slice(&text.as_bytes())),
            Value::Integer(number) => Some(number.to_string().into()),
            Value::Number(number) => Some(seventeen_digits(*number).into()),
            _ => None,
        })
        .collect();
    request.ok_or(wrong)
}

/// A command's reply as a Lua value.
pub(super) fn from_reply(lua: &mlua::Lua, reply: Reply, resp3: bool) -> mlua::Result<Value> {
    let named = |name: &str, value: Value| -> mlua::Result<Value> {
        let table = lua.create_table_with_capacity(0, 1)?;
        table.raw_set(name, value)?;
        Ok(Value::Table(table))
    };
    let null = if resp3 {
        Value::Nil
    } else {
        Value::Boolean(false)
    };
    Ok(match reply {
        Reply::Integer(number) => whole(number),
        Reply::Bulk(bytes) => Value::String(lua.create_string(&bytes)?),
        Reply::Nil | Reply::NilArray => null,
        Reply::Status(text) => named("ok", Value::String(lua.create_string(&text)?))?,
        Reply::Error(text) => named("err", Value::String(lua.create_string(text.as_bytes())?))?,
        Reply::Array(items) | Reply::Push(items) => Value::Table(list(lua, items, resp3)?),
        Reply::Map(pairs) if resp3 => {
            let map = lua.create_table()?;
            for (key, value) in pairs {
                map.raw_set(from_reply(lua, key, resp3)?, from_reply(lua, value, resp3)?)?;
            }
            named("map", Value::Table(map))?
        }
        Reply::Map(pairs) => {
            let items = pairs
                .into_iter()
                .flat_map(|(key, value)| [key, value])
                .collect();
            Value::Table(list(lua, items, resp3)?)
        }
        Reply::Boolean(truth) if resp3 => Value::Boolean(truth),
        Reply::Boolean(truth) => whole(truth.into()),
        Reply::Double(number) if resp3 => named("double", Value::Number(number))?,
        Reply::Double(number) => Value::String(lua.create_string(seventeen_digits(number))?),
    })
}

/// Lua 5.1 has one kind of number; above 2^53 it loses the last digits, in Redis as here.
#[expect(clippy::cast_precision_loss, reason = "Lua's numbers are doubles")]
fn whole(number: i64) -> Value {
    Value::Number(number as f64)
}

fn list(lua: &mlua::Lua, items: Vec<Reply>, resp3: bool) -> mlua::Result<Table> {
    let table = lua.create_table_with_capacity(items.len(), 0)?;
    for (index, item) in items.into_iter().enumerate() {
        table.raw_set(index + 1, from_reply(lua, item, resp3)?)?;
    }
    Ok(table)
}

/// What a script returned, as a reply.
pub(super) fn to_reply(value: &Value, resp3: bool) -> Outcome {
    Converter {
        resp3,
        left: MOST_VALUES,
    }
    .convert(value, 0)
}

struct Converter {
    resp3: bool,
    left: usize,
}

impl Converter {
    fn convert(&mut self, value: &Value, depth: usize) -> Outcome {
        Ok(match value {
            Value::String(text) => Reply::bulk(text.as_bytes().to_vec()),
            Value::Integer(number) => Reply::Integer(*number),
            Value::Number(number) => Reply::Integer(truncated(*number)),
            Value::Boolean(truth) if self.resp3 => Reply::Boolean(*truth),
            Value::Boolean(true) => Reply::Integer(1),
            Value::Table(table) => return self.table(table, depth),
            _ => Reply::Nil,
        })
    }

    fn table(&mut self, table: &Table, depth: usize) -> Outcome {
        if depth >= DEEPEST {
            return Err(STACK_LIMIT);
        }
        if let Some(Value::String(text)) = field(table, "err") {
            return Ok(Reply::error(text.to_string_lossy()));
        }
        if let Some(Value::String(text)) = field(table, "ok") {
            return Ok(Reply::Status(one_line(&text)));
        }
        if let Some(Value::Number(number)) = field(table, "double") {
            return Ok(Reply::Double(number));
        }
        if let Some(Value::Table(map)) = field(table, "map") {
            return self.map(&map, depth);
        }
        if let Some(Value::Table(set)) = field(table, "set") {
            return self.set(&set, depth);
        }
        if let Some(Value::String(digits)) = field(table, "big_number") {
            return Ok(Reply::Bulk(one_line(&digits)));
        }
        if let Some(Value::Table(verbatim)) = field(table, "verbatim_string")
            && let (Some(Value::String(text)), Some(Value::String(_))) =
                (field(&verbatim, "string"), field(&verbatim, "format"))
        {
            return Ok(Reply::bulk(text.as_bytes().to_vec()));
        }
        let mut items = Vec::new();
        for index in 1.. {
            let item: Value = table.raw_get(index).unwrap_or(Value::Nil);
            if item.is_nil() {
                break;
            }
            self.count()?;
            items.push(self.convert(&item, depth + 1)?);
        }
        Ok(Reply::Array(items))
    }

    fn map(&mut self, map: &Table, depth: usize) -> Outcome {
        let mut pairs = Vec::new();
        for pair in map.pairs::<Value, Value>() {
            let (key, value) = pair.unwrap_or((Value::Nil, Value::Nil));
            self.count()?;
            pairs.push((
                self.convert(&key, depth + 1)?,
                self.convert(&value, depth + 1)?,
            ));
        }
        Ok(Reply::Map(pairs))
    }

    /// The members are the keys; their values say nothing.
    fn set(&mut self, table: &Table, depth: usize) -> Outcome {
        let mut members = Vec::new();
        for pair in table.pairs::<Value, Value>() {
            let (member, _) = pair.unwrap_or((Value::Nil, Value::Nil));
            self.count()?;
            members.push(self.convert(&member, depth + 1)?);
        }
        Ok(Reply::Array(members))
    }

    fn count(&mut self) -> Result<(), Failure> {
        self.left = self.left.checked_sub(1).ok_or(STACK_LIMIT)?;
        Ok(())
    }
}

/// Line breaks become blanks, so that no reply can be forged.
fn one_line(text: &mlua::LuaString) -> Bytes {
    let bytes = text.as_bytes();
    let bytes = bytes
        .iter()
        .map(|byte| if b"\r\n".contains(byte) { b' ' } else { *byte });
    bytes.collect()
}

fn field(table: &Table, name: &str) -> Option<Value> {
    match table.raw_get(name) {
        Ok(Value::Integer(number)) => Some(whole(number)),
        other => other.ok(),
    }
}

/// C's conversion on x86-64, which Redis relies on: what does not fit becomes the smallest integer.
#[expect(
    clippy::cast_possible_truncation,
    reason = "the range is checked before"
)]
fn truncated(number: f64) -> i64 {
    const BOUND: f64 = 9_223_372_036_854_775_808.0;
    if (-BOUND..BOUND).contains(&number) {
        number as i64
    } else {
        i64::MIN
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_truncated_towards_zero_and_overflow_as_in_c() {
        for (number, integer) in [
            (3.99, 3),
            (-3.99, -3),
            (1e20, i64::MIN),
            (-1e20, i64::MIN),
            (f64::NAN, i64::MIN),
        ] {
            assert_eq!(truncated(number), integer, "{number}");
        }
    }
}
