//! Replies and their encoding in RESP2 and RESP3.

use std::borrow::Cow;

use bytes::{Bytes, BytesMut};
use redis_protocol::{resp2, resp3};

use crate::number::seventeen_digits;

/// The version of the protocol that a connection speaks; `HELLO` changes it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Protocol {
    /// The version of every new connection.
    #[default]
    Resp2,
    /// With maps, nulls and pushes of their own.
    Resp3,
}

/// What the node answers, before it is encoded.
#[derive(Clone, Debug, PartialEq)]
pub enum Reply {
    /// A simple string such as `OK`.
    Status(Bytes),
    /// An error with its code, such as `ERR syntax error`; never holds a line break.
    Error(Cow<'static, str>),
    /// A 64-bit integer.
    Integer(i64),
    /// A string of any bytes.
    Bulk(Bytes),
    /// The null of a missing value.
    Nil,
    /// The null of a missing array, as `EXEC` answers after a watched key changed.
    NilArray,
    /// Replies in order.
    Array(Vec<Reply>),
    /// Pairs in order; a flat array in RESP2.
    Map(Vec<(Reply, Reply)>),
    /// Out-of-band data; an array in RESP2.
    Push(Vec<Reply>),
    /// A truth value; 1 or 0 in RESP2.
    Boolean(bool),
    /// A floating point number; a string in RESP2.
    Double(f64),
}

impl Reply {
    /// `+OK`.
    pub const fn ok() -> Self {
        Reply::status("OK")
    }

    /// A status of a fixed text.
    pub const fn status(text: &'static str) -> Self {
        Reply::Status(Bytes::from_static(text.as_bytes()))
    }

    /// An error; line breaks become spaces, as Redis does it, so that no reply can be forged.
    pub fn error(text: impl Into<Cow<'static, str>>) -> Self {
        let text = text.into();
        if text.contains(['\r', '\n']) {
            return Reply::Error(text.replace(['\r', '\n'], " ").into());
        }
        Reply::Error(text)
    }

    /// A bulk string.
    pub fn bulk(bytes: impl Into<Bytes>) -> Self {
        Reply::Bulk(bytes.into())
    }

    /// About how many bytes the reply holds.
    pub(crate) fn size(&self) -> usize {
        const OVERHEAD: usize = 16;
        let inside = match self {
            Reply::Status(bytes) | Reply::Bulk(bytes) => bytes.len(),
            Reply::Error(text) => text.len(),
            Reply::Array(items) | Reply::Push(items) => items.iter().map(Reply::size).sum(),
            Reply::Map(pairs) => pairs
                .iter()
                .map(|(key, value)| key.size() + value.size())
                .sum(),
            _ => 0,
        };
        inside + OVERHEAD
    }

    /// Appends the encoded reply to `out`.
    ///
    /// The caller's buffer grows as needed, so this cannot fail.
    pub fn encode(&self, protocol: Protocol, out: &mut BytesMut) {
        match protocol {
            Protocol::Resp2 => self.encode_resp2(out),
            Protocol::Resp3 => self.encode_resp3(out),
        }
    }

    fn encode_resp2(&self, out: &mut BytesMut) {
        use resp2::types::BorrowedFrame as Frame;
        let frame = match self {
            Reply::Status(text) => Frame::SimpleString(text),
            Reply::Error(text) => Frame::Error(text),
            Reply::Integer(number) => Frame::Integer(*number),
            Reply::Bulk(bytes) => Frame::BulkString(bytes),
            Reply::Nil => Frame::Null,
            // The codec's frames know one null only.
            Reply::NilArray => return out.extend_from_slice(b"*-1\r\n"),
            _ => {
                let frame = self.to_resp2();
                resp2::encode::extend_encode(out, &frame, false).expect("the buffer grows");
                return;
            }
        };
        resp2::encode::extend_encode_borrowed(out, &frame, false).expect("the buffer grows");
    }

    fn encode_resp3(&self, out: &mut BytesMut) {
        use resp3::types::BorrowedFrame as Frame;
        let attributes = None;
        let frame = match self {
            Reply::Status(data) => Frame::SimpleString { data, attributes },
            Reply::Error(data) => Frame::SimpleError { data, attributes },
            Reply::Integer(number) => Frame::Number {
                data: *number,
                attributes,
            },
            Reply::Bulk(data) => Frame::BlobString { data, attributes },
            Reply::Nil | Reply::NilArray => Frame::Null,
            _ => {
                let frame = self.to_resp3();
                resp3::encode::complete::extend_encode(out, &frame, false)
                    .expect("the buffer grows");
                return;
            }
        };
        resp3::encode::complete::extend_encode_borrowed(out, &frame, false)
            .expect("the buffer grows");
    }

    fn to_resp2(&self) -> resp2::types::BytesFrame {
        use resp2::types::BytesFrame as Frame;
        match self {
            Reply::Status(text) => Frame::SimpleString(text.clone()),
            Reply::Error(text) => Frame::Error(text.as_ref().into()),
            Reply::Integer(number) => Frame::Integer(*number),
            Reply::Bulk(bytes) => Frame::BulkString(bytes.clone()),
            Reply::Nil | Reply::NilArray => Frame::Null,
            Reply::Array(items) | Reply::Push(items) => {
                Frame::Array(items.iter().map(Reply::to_resp2).collect())
            }
            Reply::Map(pairs) => Frame::Array(
                pairs
                    .iter()
                    .flat_map(|(key, value)| [key.to_resp2(), value.to_resp2()])
                    .collect(),
            ),
            Reply::Boolean(truth) => Frame::Integer(i64::from(*truth)),
            Reply::Double(number) => Frame::BulkString(seventeen_digits(*number).into()),
        }
    }

    fn to_resp3(&self) -> resp3::types::BytesFrame {
        use resp3::types::BytesFrame as Frame;
        let attributes = None;
        match self {
            Reply::Status(text) => Frame::SimpleString {
                data: text.clone(),
                attributes,
            },
            Reply::Error(text) => Frame::SimpleError {
                data: text.as_ref().into(),
                attributes,
            },
            Reply::Integer(number) => Frame::Number {
                data: *number,
                attributes,
            },
            Reply::Bulk(bytes) => Frame::BlobString {
                data: bytes.clone(),
                attributes,
            },
            Reply::Nil | Reply::NilArray => Frame::Null,
            Reply::Array(items) => Frame::Array {
                data: items.iter().map(Reply::to_resp3).collect(),
                attributes,
            },
            Reply::Push(items) => Frame::Push {
                data: items.iter().map(Reply::to_resp3).collect(),
                attributes,
            },
            Reply::Map(pairs) => Frame::Map {
                data: pairs
                    .iter()
                    .map(|(key, value)| (key.to_resp3(), value.to_resp3()))
                    .collect(),
                attributes,
            },
            Reply::Boolean(truth) => Frame::Boolean {
                data: *truth,
                attributes,
            },
            Reply::Double(number) => Frame::Double {
                data: *number,
                attributes,
            },
        }
    }
}
