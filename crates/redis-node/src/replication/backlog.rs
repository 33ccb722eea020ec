//! The last part of the stream, for replicas that lost their link for a moment.

use std::collections::VecDeque;

use bytes::{Buf, Bytes, BytesMut};

/// A bounded tail of the stream of commands.
#[derive(Debug)]
pub(super) struct Backlog {
    chunks: VecDeque<Bytes>,
    /// Bytes of the stream before the first chunk.
    start: u64,
    held: usize,
    most: usize,
}

impl Backlog {
    /// An empty tail of a stream that has that many bytes already.
    pub(super) fn new(offset: u64, most: usize) -> Backlog {
        Backlog {
            chunks: VecDeque::new(),
            start: offset,
            held: 0,
            most,
        }
    }

    pub(super) fn push(&mut self, bytes: Bytes) {
        self.held += bytes.len();
        self.chunks.push_back(bytes);
        self.trim();
    }

    /// Holds that many bytes at most from now on.
    pub(super) fn resize(&mut self, most: usize) {
        self.most = most;
        self.trim();
    }

    fn trim(&mut self) {
        while self.held > self.most
            && let Some(first) = self.chunks.front_mut()
        {
            let excess = (self.held - self.most).min(first.len());
            first.advance(excess);
            self.start += excess as u64;
            self.held -= excess;
            if first.is_empty() {
                self.chunks.pop_front();
            }
        }
    }

    /// What follows that many bytes of the stream; `None` if part of it is gone or it has not come so far.
    pub(super) fn after(&self, offset: u64) -> Option<Bytes> {
        let mut skip = usize::try_from(offset.checked_sub(self.start)?).ok()?;
        if skip > self.held {
            return None;
        }
        let mut missing = BytesMut::with_capacity(self.held - skip);
        for chunk in &self.chunks {
            let skipped = skip.min(chunk.len());
            missing.extend_from_slice(&chunk[skipped..]);
            skip -= skipped;
        }
        Some(missing.freeze())
    }

    /// Bytes of the stream before the first that is held, and how many are held.
    pub(super) fn range(&self) -> (u64, usize) {
        (self.start, self.held)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tail_is_bounded_by_the_byte() {
        let mut backlog = Backlog::new(100, 5);
        assert_eq!(backlog.after(100), Some(Bytes::new()));
        assert_eq!(backlog.after(99), None);
        for word in ["abc", "def"] {
            backlog.push(Bytes::from_static(word.as_bytes()));
        }
        assert_eq!(backlog.range(), (101, 5));
        assert_eq!(backlog.after(100), None);
        assert_eq!(backlog.after(101).as_deref(), Some(&b"bcdef"[..]));
        assert_eq!(backlog.after(104).as_deref(), Some(&b"ef"[..]));
        assert_eq!(backlog.after(106).as_deref(), Some(&b""[..]));
        assert_eq!(backlog.after(107), None);
        assert_eq!(backlog.after(u64::MAX), None);
    }
}
