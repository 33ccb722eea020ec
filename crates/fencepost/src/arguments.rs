//! Requests to the hosts that are no Redis nodes, read as strictly as Redis reads its own, with its error texts.

use bytes::Bytes;
use redis_node::{ConnectionId, Did, Effects, Reply, Touch};

/// A request that is answered with an error.
pub(crate) type Refusal = Reply;

/// One request: the command's name and its arguments.
#[derive(Clone, Copy)]
pub(crate) struct Arguments<'a> {
    name: &'a [u8],
    rest: &'a [Bytes],
}

impl<'a> Arguments<'a> {
    pub(crate) fn of(request: &'a [Bytes]) -> Self {
        let (name, rest) = request
            .split_first()
            .map_or((&b""[..], request), |(name, rest)| (name.as_ref(), rest));
        Self { name, rest }
    }

    /// The name in capitals, to match on.
    pub(crate) fn command(&self) -> Vec<u8> {
        self.name.to_ascii_uppercase()
    }

    /// The first argument in capitals, to match on.
    pub(crate) fn subcommand(&self) -> Vec<u8> {
        self.rest
            .first()
            .map(|name| name.to_ascii_uppercase())
            .unwrap_or_default()
    }

    /// Exactly that many arguments.
    pub(crate) fn exactly<const N: usize>(&self) -> Result<&'a [Bytes; N], Refusal> {
        self.rest.try_into().map_err(|_| {
            let name = self.shown().to_lowercase();
            Reply::error(format!(
                "ERR wrong number of arguments for '{name}' command"
            ))
        })
    }

    /// What every server answers, whatever it serves: PING, and the greetings that clients send unasked.
    pub(crate) fn common(&self) -> Reply {
        match self.command().as_slice() {
            b"PING" => Reply::status("PONG"),
            b"CLIENT" => Reply::ok(),
            _ => Reply::error(format!("ERR unknown command '{}'", self.shown())),
        }
    }

    /// The name as far as an error shows it.
    fn shown(&self) -> String {
        String::from_utf8_lossy(self.name)
            .chars()
            .take(128)
            .collect()
    }
}

/// A number without a sign.
pub(crate) fn number(argument: &Bytes) -> Result<u64, Refusal> {
    // A database keeps 63 bits.
    let digits = std::str::from_utf8(argument)
        .ok()
        .filter(|text| text.bytes().all(|byte| byte.is_ascii_digit()));
    let number = digits
        .and_then(|text| text.parse::<i64>().ok())
        .and_then(|number| u64::try_from(number).ok());
    number.ok_or_else(|| Reply::error("ERR value is not an integer or out of range"))
}

/// A name of a key or a client.
pub(crate) fn text(argument: &Bytes) -> Result<&str, Refusal> {
    std::str::from_utf8(argument).map_err(|_| Reply::error("ERR a name is no UTF-8"))
}

/// The effects of a request that was answered with `reply`. A request that met a key is an event that faults can be
/// set on.
pub(crate) fn answer(
    connection: ConnectionId,
    reply: Reply,
    key: Option<(&Bytes, Did)>,
) -> Effects {
    let touch = key.map(|(key, did)| Touch {
        key: key.clone(),
        did,
        expires_at: None,
        value: None,
    });
    Effects {
        replies: [(connection, reply)].into_iter().collect(),
        touches: touch.into_iter().collect(),
        ..Effects::default()
    }
}
