//! Redis's answers as votes: a full table, in which whatever is not expected is an error.

use redis::{ErrorKind, RedisError, Value};

use crate::ports::{Compared, NodeError};

/// The answer to `SET ... NX`: `OK` is yes, nil is no, and nothing else is either.
pub(super) fn granted(answer: Value) -> Result<bool, NodeError> {
    match answer {
        Value::Okay => Ok(true),
        Value::SimpleString(text) if text == "OK" => Ok(true),
        Value::Nil => Ok(false),
        other => Err(unexpected("SET", &other)),
    }
}

/// The answer of a script that compares: 1 done, 0 no such key, -1 another's.
pub(super) fn compared(answer: Value) -> Result<Compared, NodeError> {
    match answer {
        Value::Int(1) => Ok(Compared::Done),
        Value::Int(0) => Ok(Compared::Missing),
        Value::Int(-1) => Ok(Compared::Foreign),
        other => Err(unexpected("the script", &other)),
    }
}

fn unexpected(command: &str, answer: &Value) -> NodeError {
    NodeError::UnexpectedAnswer(format!("{command} answered {answer:?}"))
}

/// An error while connecting: the server's own word where there is one, such as `LOADING` or `NOAUTH`.
pub(super) fn connect_error(error: &RedisError) -> NodeError {
    server_error(error).unwrap_or_else(|| NodeError::Connect(error.to_string()))
}

/// An error of a command that was sent.
pub(super) fn command_error(error: &RedisError) -> NodeError {
    server_error(error).unwrap_or_else(|| match error.kind() {
        ErrorKind::Io => NodeError::Connection(error.to_string()),
        ErrorKind::Parse | ErrorKind::UnexpectedReturnType => {
            NodeError::UnexpectedAnswer(error.to_string())
        }
        _ => NodeError::Other(error.to_string()),
    })
}

fn server_error(error: &RedisError) -> Option<NodeError> {
    let code = error.code()?.to_owned();
    Some(NodeError::Server {
        code,
        message: error.detail().unwrap_or_default().to_owned(),
    })
}

/// Whether the connection is of no more use: the next call makes a new one.
pub(super) fn breaks_connection(error: &RedisError) -> bool {
    error.is_io_error() || error.is_connection_dropped() || error.is_unrecoverable_error()
}
