//! The protected resource: rows in a real database, behind fencing by the documents' own SQL.
//!
//! | request | answer |
//! |---|---|
//! | `READ key client attempt operation token` | `[value, .., version]` |
//! | `WRITE key client attempt operation token read-version value ..` | `OK` |
//!
//! With workload `counter` there is one value, with `transfer` there are two, the balances of two accounts.
//!
//! `token` is a number or `-`. An operation that is refused for its token is answered `FENCED ..`. Checking a token and
//! acting on it are one atomic step: one statement, or for a transfer one transaction under one high-water mark. What
//! is written survives every fault of the host.

mod accounts;

use std::cell::RefCell;

use bytes::Bytes;
use fencepost_checker::history::{Attempt, Crash, Name, What};
use fencepost_world::{Host, Service};
use redis_node::{ConnectionId, Did, Effects, Reply, UnixTime};
use rusqlite::{Connection, OptionalExtension, Row, params};

use crate::arguments::{Arguments, Refusal, answer, number, text};
use crate::plan::ResourcePlan;
use crate::scenario::{Fencing, Workload};

/// One row a key. A high-water mark of -1 says that no token was registered yet.
const SCHEMA: &str = "
    CREATE TABLE record (
        key TEXT PRIMARY KEY,
        value BLOB NOT NULL DEFAULT x'30',
        version INTEGER NOT NULL DEFAULT 0,
        last_fencing_token INTEGER NOT NULL DEFAULT -1
    ) STRICT, WITHOUT ROWID";

const CREATE: &str = "INSERT INTO record (key) VALUES (?1) ON CONFLICT DO NOTHING";
const MARK: &str = "SELECT last_fencing_token FROM record WHERE key = ?1";

/// Reading, by a resource that registers no reads.
const READ: &str = "SELECT value, version FROM record WHERE key = ?1";
/// Reading with a token: registered, since a late write could otherwise slip between a successor's read and write.
const READ_FENCED: &str = "
    UPDATE record SET last_fencing_token = ?2 WHERE key = ?1 AND last_fencing_token <= ?2 RETURNING value, version";

const WRITE: &str = "
    UPDATE record SET value = ?2, version = version + 1 WHERE key = ?1 RETURNING version";
/// As document 000 has it, but for `<=`: the holder's second write carries the same token.
const WRITE_FENCED: &str = "
    UPDATE record SET value = ?2, version = version + 1, last_fencing_token = ?3
    WHERE key = ?1 AND last_fencing_token <= ?3 RETURNING version";
/// As document 000 has it, to the letter.
const WRITE_STRICT: &str = "
    UPDATE record SET value = ?2, version = version + 1, last_fencing_token = ?3
    WHERE key = ?1 AND last_fencing_token < ?3 RETURNING version";

thread_local! {
    /// The database of this thread. A new one costs a tenth of a millisecond, as much as a whole short run, so runs
    /// share it one after another and each begins by emptying it.
    static DATABASE: RefCell<Option<Connection>> = const { RefCell::new(None) };
}

/// The resource as a host's service.
#[derive(Debug)]
pub struct Resource {
    name: Name,
    fencing: Fencing,
    workload: Workload,
    booted: bool,
}

impl Resource {
    /// A resource without any rows. `name` is its host's.
    #[must_use]
    pub fn new(name: &str, plan: ResourcePlan) -> Self {
        let ResourcePlan { fencing, workload } = plan;
        Self {
            name: name.into(),
            fencing,
            workload,
            booted: false,
        }
    }
}

/// Who asks, with which token.
struct Operation<'a> {
    key: &'a str,
    client: Name,
    attempt: Attempt,
    id: u64,
    token: Option<u64>,
}

impl<'a> Operation<'a> {
    fn of(arguments: [&'a Bytes; 5]) -> Result<Self, Refusal> {
        let [key, client, attempt, id, token] = arguments;
        let token = if token.as_ref() == b"-" {
            None
        } else {
            Some(number(token)?)
        };
        let client = text(client)?.into();
        Ok(Self {
            key: text(key)?,
            client,
            attempt: Attempt(number(attempt)?),
            id: number(id)?,
            token,
        })
    }
}

impl Service for Resource {
    fn boot(&mut self, _: UnixTime) {
        // Only the first time: the data outlive the process.
        if !std::mem::replace(&mut self.booted, true) {
            with_database(empty)
                .unwrap_or_else(|error| panic!("an in-memory database can be emptied: {error}"));
        }
    }

    fn stop(&mut self, _: Crash, _: UnixTime) {}

    fn connected(&mut self, _: ConnectionId, _: Host) {}

    fn disconnected(&mut self, _: ConnectionId) {}

    fn handle(&mut self, _: UnixTime, connection: ConnectionId, request: &[Bytes]) -> Effects {
        let (reply, events) = self.carry_out(request);
        let key = request
            .get(1)
            .filter(|_| !events.is_empty())
            .map(|key| (key, touched(&events)));
        let effects = answer(connection, reply, key);
        if let Some(host) = Host::find(&self.name) {
            events.into_iter().for_each(|event| host.record(event));
        }
        effects
    }
}

fn touched(events: &[What]) -> Did {
    let did = events.iter().find_map(|event| match event {
        What::WriteApplied { .. } => Some(Did::Overwritten),
        What::OperationRefused { .. } => Some(Did::Refused),
        _ => None,
    });
    did.unwrap_or(Did::Read)
}

impl Resource {
    /// The reply, and what the history is to say of it.
    pub(crate) fn carry_out(&self, request: &[Bytes]) -> (Reply, Vec<What>) {
        let arguments = Arguments::of(request);
        let done = match arguments.command().as_slice() {
            b"READ" => self.read(arguments),
            b"WRITE" => self.write(arguments),
            _ => Err(arguments.common()),
        };
        done.unwrap_or_else(|refusal| (refusal, Vec::new()))
    }

    fn read(&self, arguments: Arguments<'_>) -> Result<(Reply, Vec<What>), Refusal> {
        let [key, client, attempt, id, token] = arguments.exactly()?;
        let operation = Operation::of([key, client, attempt, id, token])?;
        let Looked {
            before,
            found,
            mut events,
        } = self.query(&operation, |database, token| {
            let (key, row) = (operation.key, value_and_version);
            let found = match self.fencing {
                Fencing::Token => one(database, READ_FENCED, params![key, token], row),
                _ => one(database, READ, params![key], row),
            }?;
            match (found, self.workload) {
                (Some((value, version)), Workload::Counter) => Ok(Some((vec![value], version))),
                (Some((_, version)), Workload::Transfer) => {
                    Ok(Some((accounts::read(database, key)?, version)))
                }
                (None, _) => Ok(None),
            }
        })?;
        let Some((values, version)) = found else {
            return Ok(self.fenced(&operation, before, false));
        };
        if self.fencing == Fencing::Token {
            events.extend(self.registered(&operation, before));
        }
        events.push(What::ReadApplied {
            resource: self.name.clone(),
            key: operation.key.into(),
            client: operation.client,
            attempt: operation.attempt,
            operation: operation.id,
            token: operation.token,
            version,
        });
        let values = values.into_iter().map(Reply::bulk);
        let version = Reply::Integer(i64::try_from(version).unwrap_or(i64::MAX));
        Ok((Reply::Array(values.chain([version]).collect()), events))
    }

    fn write(&self, arguments: Arguments<'_>) -> Result<(Reply, Vec<What>), Refusal> {
        let (operation, read_version, written) = self.written(arguments)?;
        let Looked {
            before,
            found,
            mut events,
        } = self.query(&operation, |database, token| {
            let key = operation.key;
            match &written {
                Written::Value(value) => self.write_row(database, key, value, token),
                Written::Balances(balances) => {
                    let transaction = database.unchecked_transaction()?;
                    let after = self.write_row(&transaction, key, b"", token)?;
                    if after.is_some() {
                        accounts::write(&transaction, key, *balances)?;
                    }
                    transaction.commit()?;
                    Ok(after)
                }
            }
        })?;
        let Some(after) = found else {
            return Ok(self.fenced(&operation, before, true));
        };
        events.extend(self.registered(&operation, before));
        events.push(What::WriteApplied {
            resource: self.name.clone(),
            key: operation.key.into(),
            client: operation.client,
            attempt: operation.attempt,
            operation: operation.id,
            token: operation.token,
            read_version,
            before: after.saturating_sub(1),
            after,
        });
        if let Written::Balances(_) = written {
            let total = with_database(|database| accounts::total(database, operation.key));
            events.push(self.total(operation.key, total.map_err(database_error)?));
        }
        Ok((Reply::ok(), events))
    }

    /// What a WRITE is to write, with the version that it was computed from.
    fn written<'a>(
        &self,
        arguments: Arguments<'a>,
    ) -> Result<(Operation<'a>, u64, Written<'a>), Refusal> {
        let (common, read_version, written) = match self.workload {
            Workload::Counter => {
                let [key, client, attempt, id, token, read, value] = arguments.exactly()?;
                let common = [key, client, attempt, id, token];
                (common, read, Written::Value(value))
            }
            Workload::Transfer => {
                let [key, client, attempt, id, token, read, one, other] = arguments.exactly()?;
                let balances = [number(one)?, number(other)?];
                let common = [key, client, attempt, id, token];
                (common, read, Written::Balances(balances))
            }
        };
        Ok((Operation::of(common)?, number(read_version)?, written))
    }

    /// Writes a key's row, unless the token forbids it: its version afterwards.
    fn write_row(
        &self,
        database: &Connection,
        key: &str,
        value: &[u8],
        token: i64,
    ) -> rusqlite::Result<Option<u64>> {
        match self.fencing {
            Fencing::None | Fencing::External => one(database, WRITE, params![key, value], version),
            Fencing::Token => one(database, WRITE_FENCED, params![key, value, token], version),
            Fencing::TokenStrict => {
                one(database, WRITE_STRICT, params![key, value, token], version)
            }
        }
    }

    /// Runs `act` on the key's row. Also says which token was the highest before, for the record only: what decides is the
    /// condition in the statement of `act`.
    fn query<T>(
        &self,
        operation: &Operation<'_>,
        act: impl FnOnce(&Connection, i64) -> rusqlite::Result<Option<T>>,
    ) -> Result<Looked<T>, Refusal> {
        let token = match operation.token {
            _ if !self.fencing.checks() => -1,
            Some(token) => i64::try_from(token).unwrap_or(i64::MAX),
            None => {
                return Err(Reply::error(
                    "NOTOKEN this resource asks for a fencing token",
                ));
            }
        };
        let key = operation.key;
        with_database(|database| {
            let new = database.prepare_cached(CREATE)?.execute([key])? > 0;
            let mut events = Vec::new();
            if new && self.workload == Workload::Transfer {
                accounts::create(database, key)?;
                events.push(self.total(key, accounts::total(database, key)?));
            }
            let mark: i64 = database
                .prepare_cached(MARK)?
                .query_row([key], |row| row.get(0))?;
            Ok(Looked {
                before: u64::try_from(mark).ok(),
                found: act(database, token)?,
                events,
            })
        })
        .map_err(database_error)
    }

    fn total(&self, key: &str, total: i64) -> What {
        What::Total {
            resource: self.name.clone(),
            key: key.into(),
            total,
        }
    }

    fn registered(&self, operation: &Operation<'_>, before: Option<u64>) -> Option<What> {
        let raised = operation
            .token
            .filter(|token| self.fencing.checks() && before.is_none_or(|mark| mark < *token));
        raised.map(|token| What::Registered {
            resource: self.name.clone(),
            key: operation.key.into(),
            client: operation.client.clone(),
            attempt: operation.attempt,
            token,
        })
    }

    fn fenced(
        &self,
        operation: &Operation<'_>,
        before: Option<u64>,
        write: bool,
    ) -> (Reply, Vec<What>) {
        let registered = before.unwrap_or_default();
        let token = operation.token.unwrap_or_default();
        let event = What::OperationRefused {
            resource: self.name.clone(),
            key: operation.key.into(),
            client: operation.client.clone(),
            attempt: operation.attempt,
            operation: operation.id,
            token: operation.token,
            registered,
            write,
        };
        (
            Reply::error(format!(
                "FENCED token {token} after {registered} was registered"
            )),
            vec![event],
        )
    }
}

/// What an operation met at the key's row.
struct Looked<T> {
    /// The highest token that was registered before.
    before: Option<u64>,
    /// What it did; nothing if it was refused for its token.
    found: Option<T>,
    /// What the history is to say first.
    events: Vec<What>,
}

/// What a WRITE is to write.
enum Written<'a> {
    Value(&'a [u8]),
    Balances([u64; 2]),
}

fn database_error(error: rusqlite::Error) -> Refusal {
    Reply::error(format!("ERR database: {error}"))
}

fn with_database<T>(act: impl FnOnce(&Connection) -> rusqlite::Result<T>) -> rusqlite::Result<T> {
    DATABASE.with_borrow_mut(|database| {
        let database = match database {
            Some(database) => database,
            None => database.insert(open()?),
        };
        act(database)
    })
}

fn open() -> rusqlite::Result<Connection> {
    let database = Connection::open_in_memory()?;
    database.execute_batch(SCHEMA)?;
    database.execute_batch(accounts::SCHEMA)?;
    Ok(database)
}

fn empty(database: &Connection) -> rusqlite::Result<()> {
    database.prepare_cached("DELETE FROM record")?.execute([])?;
    accounts::empty(database)
}

/// The only row that a statement gives, if it gives one.
fn one<T>(
    database: &Connection,
    statement: &str,
    parameters: impl rusqlite::Params,
    read: fn(&Row<'_>) -> rusqlite::Result<T>,
) -> rusqlite::Result<Option<T>> {
    database
        .prepare_cached(statement)?
        .query_row(parameters, read)
        .optional()
}

fn version(row: &Row<'_>) -> rusqlite::Result<u64> {
    row.get::<_, i64>(0)
        .map(|version| u64::try_from(version).unwrap_or_default())
}

fn value_and_version(row: &Row<'_>) -> rusqlite::Result<(Vec<u8>, u64)> {
    let version: i64 = row.get(1)?;
    Ok((row.get(0)?, u64::try_from(version).unwrap_or_default()))
}

#[cfg(test)]
mod tests;
