//! Requests out of bytes: arrays of bulk strings and inline commands, in pieces of any size.
//!
//! The decoder follows Redis's `networking.c` down to its error texts. It is resumable and looks at each
//! byte a constant number of times, so a client that sends its bytes one by one costs no more than one that
//! sends them at once; it has no recursion, and what it holds is bounded by [`Limits`].

mod inline;

use std::borrow::Cow;

use bytes::{Buf, Bytes, BytesMut};

/// What one connection may make the node hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Arguments of one request.
    pub arguments: usize,
    /// Bytes of one argument (Redis: `proto-max-bulk-len`).
    pub argument_bytes: usize,
    /// Bytes of an inline command or of a line with a length.
    pub line_bytes: usize,
    /// Bytes of one request in all, with 32 for each argument (Redis: `client-query-buffer-limit`).
    pub request_bytes: usize,
}

impl Default for Limits {
    /// Redis's own, but for the number of arguments: Redis 7.0 allows 2^31, here it is 2^20 as in Redis 6.
    fn default() -> Self {
        Limits {
            arguments: 1 << 20,
            argument_bytes: 512 << 20,
            line_bytes: 64 << 10,
            request_bytes: 1 << 30,
        }
    }
}

/// The bytes are no request. The connection cannot go on: there is no way to tell where the next one begins.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("ERR Protocol error: {0}")]
pub struct ProtocolError(Cow<'static, str>);

/// Turns the bytes of one connection into requests.
#[derive(Clone, Debug)]
pub struct Decoder {
    limits: Limits,
    /// Bytes not yet understood.
    buffer: BytesMut,
    /// That many bytes at the front of the buffer hold no end of line.
    scanned: usize,
    state: State,
    /// Arguments of the request so far, and what they count against the limit.
    arguments: Vec<Bytes>,
    held: usize,
}

#[derive(Clone, Debug)]
enum State {
    /// Before the first byte of a request.
    Start,
    /// So many arguments are to come; the next bytes are the line with a length.
    Length { left: usize },
    /// The next bytes are an argument of that length and its line end.
    Argument { left: usize, length: usize },
    /// The error is final.
    Failed(ProtocolError),
}

/// What holds one argument besides its bytes.
const OVERHEAD: usize = 32;
/// Longer arguments keep the buffer that they arrived in; shorter ones are copied, or a value of three bytes
/// would keep a whole read alive.
const COPIED: usize = 16 << 10;

impl Decoder {
    /// A decoder at the start of a connection.
    pub fn new(limits: Limits) -> Decoder {
        Decoder {
            limits,
            buffer: BytesMut::new(),
            scanned: 0,
            state: State::Start,
            arguments: Vec::new(),
            held: 0,
        }
    }

    /// Takes the next bytes. Call [`Decoder::next`] until it has no more before feeding again, so that the
    /// buffer holds one unfinished request at most.
    pub fn feed(&mut self, bytes: &[u8]) {
        if !matches!(self.state, State::Failed(_)) {
            self.buffer.extend_from_slice(bytes);
        }
    }

    /// The next complete request: the command's name and its arguments, never empty.
    ///
    /// # Errors
    /// The bytes are no request, or larger than the limits. The error is final: each later call repeats it.
    // It is not an iterator: after `None` there may be more.
    #[expect(clippy::should_implement_trait, reason = "`None` is not the end")]
    pub fn next(&mut self) -> Result<Option<Vec<Bytes>>, ProtocolError> {
        let result = self.advance();
        if let Err(error) = &result {
            // What was sent before it is of no use any more.
            *self = Decoder {
                state: State::Failed(error.clone()),
                ..Decoder::new(self.limits)
            };
        }
        result
    }

    fn advance(&mut self) -> Result<Option<Vec<Bytes>>, ProtocolError> {
        loop {
            match &self.state {
                State::Failed(error) => return Err(error.clone()),
                State::Start => match self.buffer.first() {
                    None => return Ok(None),
                    Some(b'*') => {
                        let Some(line) = self.length_line("too big mbulk count string")? else {
                            return Ok(None);
                        };
                        self.state = self.start(&line)?;
                    }
                    Some(_) => {
                        let Some(line) = self.inline_line()? else {
                            return Ok(None);
                        };
                        let arguments =
                            inline::split(&line).ok_or(error("unbalanced quotes in request"))?;
                        if !arguments.is_empty() {
                            return Ok(Some(arguments));
                        }
                    }
                },
                State::Length { left: 0 } => {
                    self.state = State::Start;
                    self.held = 0;
                    return Ok(Some(std::mem::take(&mut self.arguments)));
                }
                &State::Length { left } => {
                    let Some(line) = self.length_line("too big bulk count string")? else {
                        return Ok(None);
                    };
                    let length = self.argument_length(&line)?;
                    self.state = State::Argument { left, length };
                }
                &State::Argument { left, length } => {
                    if self.buffer.len() < length + 2 {
                        return Ok(None);
                    }
                    let argument = self.take(length);
                    self.buffer.advance(2);
                    self.arguments.push(argument);
                    self.state = State::Length { left: left - 1 };
                }
            }
        }
    }

    /// After `*N`: zero and negative numbers are no request, and skipped.
    fn start(&self, line: &[u8]) -> Result<State, ProtocolError> {
        let count = number(&line[1..]).ok_or(error("invalid multibulk length"))?;
        let Ok(left) = usize::try_from(count.max(0)) else {
            return Err(error("invalid multibulk length"));
        };
        if left > self.limits.arguments {
            return Err(error("invalid multibulk length"));
        }
        Ok(if left == 0 {
            State::Start
        } else {
            State::Length { left }
        })
    }

    fn argument_length(&mut self, line: &[u8]) -> Result<usize, ProtocolError> {
        let first = line.first().copied().unwrap_or(b'\r');
        if first != b'$' {
            let text =
                format!("expected '$', got '{}'", char::from(first)).replace(['\r', '\n'], " ");
            return Err(ProtocolError(text.into()));
        }
        let length = number(&line[1..]).and_then(|length| usize::try_from(length).ok());
        let Some(length) = length.filter(|length| *length <= self.limits.argument_bytes) else {
            return Err(error("invalid bulk length"));
        };
        self.held = self.held.saturating_add(length).saturating_add(OVERHEAD);
        if self.held > self.limits.request_bytes {
            return Err(error("too big request"));
        }
        Ok(length)
    }

    fn take(&mut self, length: usize) -> Bytes {
        if length > COPIED {
            return self.buffer.split_to(length).freeze();
        }
        let argument = Bytes::copy_from_slice(&self.buffer[..length]);
        self.buffer.advance(length);
        argument
    }

    /// A line that ends at a carriage return; the byte after it is skipped unseen, as in Redis.
    fn length_line(&mut self, too_big: &'static str) -> Result<Option<Bytes>, ProtocolError> {
        let Some(end) = self.find(b'\r', too_big)? else {
            return Ok(None);
        };
        if self.buffer.len() < end + 2 {
            // The next search finds it at once.
            self.scanned = end;
            return Ok(None);
        }
        let line = self.buffer.split_to(end);
        self.buffer.advance(2);
        Ok(Some(line.freeze()))
    }

    /// A line that ends at a line feed; a carriage return before it belongs to the end.
    fn inline_line(&mut self) -> Result<Option<Bytes>, ProtocolError> {
        let Some(end) = self.find(b'\n', "too big inline request")? else {
            return Ok(None);
        };
        let mut line = self.buffer.split_to(end);
        self.buffer.advance(1);
        if line.last() == Some(&b'\r') {
            line.truncate(end - 1);
        }
        Ok(Some(line.freeze()))
    }

    fn find(&mut self, byte: u8, too_big: &'static str) -> Result<Option<usize>, ProtocolError> {
        let found = self.buffer[self.scanned..]
            .iter()
            .position(|other| *other == byte);
        let end = found.map(|at| self.scanned + at);
        self.scanned = if end.is_some() { 0 } else { self.buffer.len() };
        if end.unwrap_or(self.buffer.len()) > self.limits.line_bytes {
            return Err(error(too_big));
        }
        Ok(end)
    }
}

const fn error(text: &'static str) -> ProtocolError {
    ProtocolError(Cow::Borrowed(text))
}

/// Redis's `string2ll`: no sign but a minus, no leading zero, nothing around it.
fn number(digits: &[u8]) -> Option<i64> {
    crate::command::strict_integer(digits)
}

#[cfg(test)]
mod tests;
