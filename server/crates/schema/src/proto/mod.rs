//! `application/vnd.kubernetes.protobuf`: objects from and to protobuf, driven by the field
//! numbers of the tables.
//!
//! Position: beside `decode`; between the values of this server and the bytes of clients. What
//! [`decode_message`] gives still has to pass through the schema's decoding to be in normal form.
//! Invariant: what is written is byte for byte what gogo/protobuf writes for the Go type: fields
//! by number, fields that are no pointers always, maps sorted by key. What is read never panics,
//! and costs no more memory than a constant times its length.
//! Absence: no negotiation and no defaults; kinds without field numbers (custom resources) have
//! no such form.

mod convert;
mod decode;
mod encode;
mod envelope;
mod props;
#[cfg(test)]
mod tests;
mod transcode;
mod wire;

pub use decode::decode_message;
pub use encode::encode_message;
pub use envelope::{
    Envelope, TAIL, encode, encode_list, encode_watch_event, event_head, head, item_head, list_head, open,
    seal,
};
pub use transcode::{transcode, transcode_message};

use crate::table::{Proto, Struct};

/// What starts every such body.
pub const MAGIC: &[u8; 4] = b"k8s\0";

/// Appends a field that is a text or a message: for messages that are put together elsewhere.
pub fn put_field(number: u32, bytes: &[u8], out: &mut Vec<u8>) {
    wire::put_bytes(number, bytes, out);
}

/// Appends a message field around what `write` appends: for messages that are put together elsewhere.
///
/// # Errors
/// Those of `write`.
pub fn put_message<E>(
    number: u32,
    out: &mut Vec<u8>,
    write: impl FnOnce(&mut Vec<u8>) -> Result<(), E>,
) -> Result<(), E> {
    wire::put_message(number, out, write)
}

/// Why bytes are no such message, in the words of upstream's decoder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error(pub String);

impl Error {
    fn new(message: impl Into<String>) -> Self {
        Self(message.into())
    }
}

/// How deep a message is nested.
#[derive(Clone, Copy, Debug, Default)]
struct Depth(u16);

impl Depth {
    /// Messages that nest deeper than any in use come from nobody who means well.
    const MAX: u16 = 200;

    /// One deeper.
    fn below(self) -> Result<Self, Error> {
        if self.0 >= Self::MAX { Err(Error::new("exceeded max depth")) } else { Ok(Self(self.0 + 1)) }
    }
}

/// The indexes of a type's fields by their numbers: as they are written, and mostly read.
pub(crate) fn fields_in_order(ty: &Struct) -> Box<[u16]> {
    let mut fields: Vec<(Proto, u16)> =
        ty.fields.iter().zip(0..).filter_map(|(field, at)| field.proto.map(|proto| (proto, at))).collect();
    let numbers = |proto: Proto| proto.within.iter().copied().chain([proto.tag]);
    fields.sort_by(|a, b| numbers(a.0).cmp(numbers(b.0)));
    fields.into_iter().map(|(_, at)| at).collect()
}

impl std::fmt::Display for Error {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Error {}
