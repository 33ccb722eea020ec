//! Two accounts of each key, for transfers between them.

use rusqlite::{Connection, params};

/// The names of the accounts, in the order in which requests and answers have them.
const NAMES: [&str; 2] = ["from", "to"];
/// What each account holds at the start.
const OPENING_BALANCE: i64 = 1_000_000;

/// Amounts have no sign: an account is not overdrawn.
pub(super) const SCHEMA: &str = "
    CREATE TABLE account (
        key TEXT NOT NULL,
        name TEXT NOT NULL,
        balance INTEGER NOT NULL CHECK (balance >= 0),
        PRIMARY KEY (key, name)
    ) STRICT, WITHOUT ROWID";

const CREATE: &str = "INSERT INTO account (key, name, balance) VALUES (?1, ?2, ?3)";
const READ: &str = "SELECT CAST(balance AS TEXT) FROM account WHERE key = ?1 AND name = ?2";
/// An absolute value, computed from what was read: document 000's own `balance = balance - 10000` would lose nothing.
const WRITE: &str = "UPDATE account SET balance = ?3 WHERE key = ?1 AND name = ?2";
const TOTAL: &str = "SELECT SUM(balance) FROM account WHERE key = ?1";

pub(super) fn create(database: &Connection, key: &str) -> rusqlite::Result<()> {
    let mut create = database.prepare_cached(CREATE)?;
    NAMES.iter().try_for_each(|name| {
        create
            .execute(params![key, name, OPENING_BALANCE])
            .map(|_| ())
    })
}

/// The balances, in the order of the accounts.
pub(super) fn read(database: &Connection, key: &str) -> rusqlite::Result<Vec<Vec<u8>>> {
    let mut read = database.prepare_cached(READ)?;
    let balance = |name| {
        read.query_row(params![key, name], |row| row.get::<_, String>(0))
            .map(String::into_bytes)
    };
    NAMES.iter().map(balance).collect()
}

pub(super) fn write(database: &Connection, key: &str, balances: [u64; 2]) -> rusqlite::Result<()> {
    let mut write = database.prepare_cached(WRITE)?;
    NAMES.iter().zip(balances).try_for_each(|(name, balance)| {
        let balance = i64::try_from(balance).unwrap_or(i64::MAX);
        write.execute(params![key, name, balance]).map(|_| ())
    })
}

/// What the accounts of a key hold together.
pub(super) fn total(database: &Connection, key: &str) -> rusqlite::Result<i64> {
    database
        .prepare_cached(TOTAL)?
        .query_row([key], |row| row.get(0))
}

pub(super) fn empty(database: &Connection) -> rusqlite::Result<()> {
    database
        .prepare_cached("DELETE FROM account")?
        .execute([])
        .map(|_| ())
}
