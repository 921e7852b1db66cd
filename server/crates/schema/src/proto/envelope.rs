//! What goes around messages: `runtime.Unknown`, lists, watch events.

use std::convert::Infallible;

use apiwright_json::{Str, Value};

use super::encode::message;
use super::wire::{self, Reader, Wire};
use super::{Depth, Error, MAGIC, encode_message};
use crate::table::Struct;

/// A body as it came: what it says it is, and the message.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Envelope<'a> {
    /// May be empty: the address of the request then says it.
    pub api_version: Str,
    /// May be empty likewise.
    pub kind: Str,
    /// The message.
    pub raw: &'a [u8],
    /// Empty, or how `raw` is encoded.
    pub content_encoding: Str,
    /// Empty for protobuf.
    pub content_type: Str,
}

/// Opens a body.
///
/// # Errors
/// When it is none, in the words of upstream's decoder.
pub fn open(body: &[u8]) -> Result<Envelope<'_>, Error> {
    if body.is_empty() {
        return Err(Error::new("empty data"));
    }
    let Some(unknown) = body.strip_prefix(MAGIC) else {
        return Err(Error::new(
            "provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]",
        ));
    };
    if unknown.is_empty() {
        return Err(Error::new("empty body"));
    }
    let mut envelope = Envelope::default();
    let mut reader = Reader::new(unknown, "Unknown");
    while let Some((number, value)) = reader.next()? {
        match (number, value) {
            (1, Wire::Bytes(bytes)) => type_meta(bytes, &mut envelope)?,
            (2, Wire::Bytes(bytes)) => envelope.raw = bytes,
            (3, Wire::Bytes(bytes)) => envelope.content_encoding = Str::from_utf8_lossy(bytes),
            (4, Wire::Bytes(bytes)) => envelope.content_type = Str::from_utf8_lossy(bytes),
            (1..=4, other) => {
                let field = ["TypeMeta", "Raw", "ContentEncoding", "ContentType"][number as usize - 1];
                return Err(super::convert::wrong_wire(other, field));
            }
            _ => {}
        }
    }
    Ok(envelope)
}

fn type_meta(bytes: &[u8], envelope: &mut Envelope<'_>) -> Result<(), Error> {
    let mut reader = Reader::new(bytes, "TypeMeta");
    while let Some((number, value)) = reader.next()? {
        match (number, value) {
            (1, Wire::Bytes(bytes)) => envelope.api_version = Str::from_utf8_lossy(bytes),
            (2, Wire::Bytes(bytes)) => envelope.kind = Str::from_utf8_lossy(bytes),
            _ => {}
        }
    }
    Ok(())
}

/// Appends a body around the message that `write` appends.
///
/// # Errors
/// Those of `write`.
pub fn seal<E>(
    api_version: &str,
    kind: &str,
    out: &mut Vec<u8>,
    write: impl FnOnce(&mut Vec<u8>) -> Result<(), E>,
) -> Result<(), E> {
    out.extend_from_slice(MAGIC);
    put_type_meta(api_version, kind, out);
    wire::put_message(2, out, write)?;
    out.extend_from_slice(TAIL);
    Ok(())
}

/// Appends what comes before a message of so many bytes in a body; [`TAIL`] comes after it.
pub fn head(api_version: &str, kind: &str, message_bytes: usize, out: &mut Vec<u8>) {
    out.extend_from_slice(MAGIC);
    put_type_meta(api_version, kind, out);
    wire::put_length(2, message_bytes, out);
}

fn put_type_meta(api_version: &str, kind: &str, out: &mut Vec<u8>) {
    let Ok(()) = wire::put_message::<Infallible>(1, out, |out| {
        wire::put_bytes(1, api_version.as_bytes(), out);
        wire::put_bytes(2, kind.as_bytes(), out);
        Ok(())
    });
}

/// Appends the body of an object in normal form.
///
/// # Errors
/// When a value is not one that the type has.
pub fn encode(
    ty: &Struct,
    object: &Value,
    api_version: &str,
    kind: &str,
    out: &mut Vec<u8>,
) -> Result<(), Error> {
    seal(api_version, kind, out, |out| encode_message(ty, object, out))
}

/// Appends the body of a list: `metadata` is that of the list, `kind` its kind.
///
/// # Errors
/// When a value is not one that the type has.
pub fn encode_list<'a>(
    item: &Struct,
    items: impl IntoIterator<Item = &'a Value>,
    metadata: &Value,
    api_version: &str,
    kind: &str,
    out: &mut Vec<u8>,
) -> Result<(), Error> {
    let mut body = Vec::new();
    for object in items {
        if let Value::Object(object) = object {
            wire::put_message(2, &mut body, |out| message(item, object, Depth::default(), out))?;
        }
    }
    list_head(metadata, api_version, kind, body.len(), out);
    out.extend_from_slice(&body);
    out.extend_from_slice(TAIL);
    Ok(())
}

/// Appends what comes before the items of a list, which take so many bytes together.
pub fn list_head(metadata: &Value, api_version: &str, kind: &str, items_bytes: usize, out: &mut Vec<u8>) {
    out.extend_from_slice(MAGIC);
    put_type_meta(api_version, kind, out);
    let mut meta = Vec::new();
    let Ok(()) = wire::put_message::<Infallible>(1, &mut meta, |out| {
        for (number, name) in [(1, "selfLink"), (2, "resourceVersion"), (3, "continue")] {
            wire::put_bytes(number, metadata.text_at(&[name]).as_bytes(), out);
        }
        if let Some(count) = metadata.get("remainingItemCount").and_then(Value::as_i64) {
            wire::put_varint(4, count as u64, out);
        }
        Ok(())
    });
    wire::put_length(2, meta.len() + items_bytes, out);
    out.extend_from_slice(&meta);
}

/// Appends what comes before an item of a list, a message of so many bytes.
pub fn item_head(message_bytes: usize, out: &mut Vec<u8>) {
    wire::put_length(2, message_bytes, out);
}

/// What comes after the message of a body, and after the items of a list.
pub const TAIL: &[u8] = &[0x1a, 0, 0x22, 0];

/// Appends one frame of a watch: its length, and an event around an object's body.
pub fn encode_watch_event(event: &str, body: &[u8], out: &mut Vec<u8>) {
    event_head(event, body.len(), out);
    out.extend_from_slice(body);
}

/// Appends what comes before an object's body of so many bytes in such a frame; nothing comes after it.
pub fn event_head(event: &str, body_bytes: usize, out: &mut Vec<u8>) {
    let length_at = out.len();
    out.extend_from_slice(&[0; 4]);
    wire::put_bytes(1, event.as_bytes(), out);
    wire::put_length(2, wire::length_of_bytes(body_bytes), out);
    wire::put_length(1, body_bytes, out);
    let length = (out.len() - length_at - 4 + body_bytes) as u32;
    out[length_at..length_at + 4].copy_from_slice(&length.to_be_bytes());
}
