//! A node with a clock in hand, and words instead of byte strings.

use bytes::Bytes;
use redis_node::{Config, ConnectionId, Disk, Effects, Lua, Node, Reply, Touch, UnixTime};

pub(crate) const CLIENT: ConnectionId = ConnectionId(1);
pub(crate) const START: u64 = 1_700_000_000_000;

/// A node, and the time that it is told.
pub(crate) struct Bench {
    pub(crate) node: Node,
    pub(crate) now: UnixTime,
}

impl Bench {
    pub(crate) fn new() -> Bench {
        Bench::with(Config::default(), Disk::default(), &Lua::new())
    }

    pub(crate) fn with(config: Config, disk: Disk, lua: &Lua) -> Bench {
        let now = UnixTime::from_millis(START);
        Bench {
            node: Node::boot(config, disk, lua.clone(), now),
            now,
        }
    }

    /// Sets the clock to so many milliseconds after the start.
    pub(crate) fn at(&mut self, millis: u64) -> &mut Bench {
        self.now = UnixTime::from_millis(START + millis);
        self
    }

    pub(crate) fn effects(&mut self, client: ConnectionId, words: &[&str]) -> Effects {
        self.node.handle(self.now, client, &request(words))
    }

    pub(crate) fn ask(&mut self, words: &[&str]) -> Reply {
        self.ask_as(CLIENT, words)
    }

    pub(crate) fn ask_as(&mut self, client: ConnectionId, words: &[&str]) -> Reply {
        let mut effects = self.effects(client, words);
        assert_eq!(effects.replies.len(), 1);
        let (to, reply) = effects.replies.remove(0);
        assert_eq!(to, client);
        reply
    }

    /// All replies and pushes, each with its connection's number.
    pub(crate) fn sent(&mut self, client: ConnectionId, words: &[&str]) -> Vec<String> {
        sent(&self.effects(client, words))
    }

    pub(crate) fn touches(&mut self, words: &[&str]) -> Vec<Touch> {
        self.effects(CLIENT, words).touches.into_vec()
    }
}

pub(crate) fn request(words: &[&str]) -> Vec<Bytes> {
    words
        .iter()
        .map(|word| Bytes::copy_from_slice(word.as_bytes()))
        .collect()
}

pub(crate) fn sent(effects: &Effects) -> Vec<String> {
    let replies = effects.replies.iter();
    replies
        .map(|(to, reply)| format!("{} {}", to.0, text(reply)))
        .collect()
}

/// A reply in short: `+status`, `-error`, `:integer`, `"bulk"`, `[array]`.
pub(crate) fn text(reply: &Reply) -> String {
    match reply {
        Reply::Status(text) => format!("+{}", text.escape_ascii()),
        Reply::Error(text) => format!("-{text}"),
        Reply::Integer(number) => format!(":{number}"),
        Reply::Bulk(bytes) => format!("\"{}\"", bytes.escape_ascii()),
        Reply::Double(number) => format!(",{number}"),
        Reply::Nil => "nil".to_owned(),
        Reply::NilArray => "nil array".to_owned(),
        Reply::Array(items) => {
            format!("[{}]", items.iter().map(text).collect::<Vec<_>>().join(" "))
        }
        Reply::Push(items) => {
            format!(
                ">[{}]",
                items.iter().map(text).collect::<Vec<_>>().join(" ")
            )
        }
        other => format!("{other:?}"),
    }
}
