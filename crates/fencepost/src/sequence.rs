//! A durable sequence that gives fencing tokens: `NEXT name` is answered with a number larger than any before.
//!
//! Document 000 names it beside Redis's INCR ("별도의 시퀀스 생성기 사용"). What it gave out survives every fault.

use std::collections::BTreeMap;

use bytes::Bytes;
use fencepost_checker::history::Crash;
use fencepost_world::{Host, Service};
use redis_node::{ConnectionId, Did, Effects, Reply, UnixTime};

use crate::arguments::{Arguments, Refusal, answer};

/// The sequence as a host's service. Each name counts from 1.
#[derive(Debug, Default)]
pub struct Sequence {
    given: BTreeMap<Bytes, u64>,
}

impl Sequence {
    /// A sequence that has given nothing yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    fn next(&mut self, arguments: Arguments<'_>) -> Result<u64, Refusal> {
        let [name] = arguments.exactly()?;
        let last = self.given.entry(name.clone()).or_default();
        *last += 1;
        Ok(*last)
    }
}

impl Service for Sequence {
    fn boot(&mut self, _: UnixTime) {}

    fn stop(&mut self, _: Crash, _: UnixTime) {}

    fn connected(&mut self, _: ConnectionId, _: Host) {}

    fn disconnected(&mut self, _: ConnectionId) {}

    fn handle(&mut self, _: UnixTime, connection: ConnectionId, request: &[Bytes]) -> Effects {
        let arguments = Arguments::of(request);
        if arguments.command() != b"NEXT" {
            return answer(connection, arguments.common(), None);
        }
        match self.next(arguments) {
            Ok(token) => {
                let reply = Reply::Integer(i64::try_from(token).unwrap_or(i64::MAX));
                answer(
                    connection,
                    reply,
                    request.get(1).map(|name| (name, Did::Overwritten)),
                )
            }
            Err(refusal) => answer(connection, refusal, None),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ask(sequence: &mut Sequence, request: &[&str]) -> Reply {
        let request: Vec<Bytes> = request
            .iter()
            .map(|part| Bytes::copy_from_slice(part.as_bytes()))
            .collect();
        let effects = sequence.handle(UnixTime::default(), ConnectionId(1), &request);
        effects
            .replies
            .into_iter()
            .map(|(_, reply)| reply)
            .next()
            .expect("a reply")
    }

    #[test]
    fn each_name_counts_on_its_own_and_through_crashes() {
        let mut sequence = Sequence::new();
        sequence.boot(UnixTime::default());
        assert_eq!(ask(&mut sequence, &["NEXT", "a"]), Reply::Integer(1));
        assert_eq!(ask(&mut sequence, &["next", "a"]), Reply::Integer(2));
        sequence.stop(Crash::Power, UnixTime::default());
        sequence.boot(UnixTime::default());
        assert_eq!(ask(&mut sequence, &["NEXT", "a"]), Reply::Integer(3));
        assert_eq!(ask(&mut sequence, &["NEXT", "b"]), Reply::Integer(1));
    }

    #[test]
    fn wrong_requests_get_errors_and_take_no_number() {
        let mut sequence = Sequence::new();
        let error = |text: &'static str| Reply::Error(text.into());
        assert_eq!(
            ask(&mut sequence, &["NEXT"]),
            error("ERR wrong number of arguments for 'next' command")
        );
        assert_eq!(
            ask(&mut sequence, &["NEXT", "a", "b"]),
            error("ERR wrong number of arguments for 'next' command")
        );
        assert_eq!(
            ask(&mut sequence, &["GET", "a"]),
            error("ERR unknown command 'GET'")
        );
        assert_eq!(ask(&mut sequence, &[]), error("ERR unknown command ''"));
        assert_eq!(ask(&mut sequence, &["NEXT", "a"]), Reply::Integer(1));
    }
}
