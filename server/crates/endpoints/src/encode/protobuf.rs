//! Objects and lists in protobuf: the schema's tables do the work.

use std::sync::Arc;

use apiwright_chain::{Piece, Rope};
use apiwright_json::Value;
use apiwright_meta::Status;
use apiwright_meta::status::Result;
use apiwright_registry::{Catalogue, ListPage, Sink};
use apiwright_schema::proto::{self, Error};
use apiwright_schema::{Shape, Struct};
use apiwright_storage::Entry;
use bytes::Bytes;

use super::Writer;
use super::list::list_meta;

/// An object of this type.
pub(crate) fn object(ty: &Struct, api_version: &str, kind: &str, value: &Value) -> Result<Vec<u8>> {
    let mut out = Vec::new();
    proto::encode(ty, value, api_version, kind, &mut out).map_err(Status::internal)?;
    Ok(out)
}

/// An object of a kind that is compiled in.
pub(super) fn known(catalogue: &Catalogue, value: &Value) -> Result<Vec<u8>> {
    let gvk = apiwright_meta::object::gvk(value);
    let known = catalogue.kind(&gvk.group, &gvk.version, &gvk.kind);
    let known = known.ok_or_else(|| Status::internal(format!("no type is known for kind {}", gvk.kind)))?;
    object(known.schema, apiwright_meta::object::api_version(value), &gvk.kind, value)
}

/// A decoded object's metadata as an object of its own.
pub(super) fn partial(ty: &Struct, api_version: &str, value: &Value) -> Result<Vec<u8>> {
    let mut out = Vec::new();
    proto::seal(api_version, PARTIAL, &mut out, |out| {
        let Some((ty, metadata)) = metadata_type(ty).zip(value.get("metadata")) else { return Ok(()) };
        let mut message = Vec::new();
        proto::encode_message(ty, metadata, &mut message)?;
        proto::put_field(1, &message, out);
        Ok(())
    })
    .map_err(|error: Error| Status::internal(error))?;
    Ok(out)
}

/// Appends a stored object, or its metadata, as it is at a revision, in an envelope of its own.
pub(super) fn stored(writer: &Writer, entry: &Arc<Entry>, revision: u64, out: &mut impl Sink) -> Result<()> {
    let message = message(writer, entry, revision)?;
    let (version, kind) = kind(writer);
    proto::head(version, kind, message.len(), out.text());
    out.share(&message, 0..message.len());
    out.text().extend_from_slice(proto::TAIL);
    Ok(())
}

/// Appends the event of a watch that an object is in.
pub(crate) fn event(
    writer: &Writer,
    event: &str,
    entry: &Arc<Entry>,
    revision: u64,
    out: &mut impl Sink,
) -> Result<()> {
    let message = message(writer, entry, revision)?;
    let (version, kind) = kind(writer);
    let mut head = Vec::with_capacity(64);
    proto::head(version, kind, message.len(), &mut head);
    let text = out.text();
    proto::event_head(event, head.len() + message.len() + proto::TAIL.len(), text);
    text.extend_from_slice(&head);
    out.share(&message, 0..message.len());
    out.text().extend_from_slice(proto::TAIL);
    Ok(())
}

/// A list of whole objects or of their metadata, in pieces of about this length: its length comes first, so
/// all of it is made before any is sent.
pub(super) fn list(writer: &Writer, page: &ListPage, piece_bytes: usize) -> Result<(usize, Vec<Piece>)> {
    let mut pieces = Vec::new();
    let (mut rope, mut length) = (Rope::default(), 0);
    for entry in &page.entries {
        let message = message(writer, entry, entry.mod_revision)?;
        proto::item_head(message.len(), rope.text());
        rope.share(&message, 0..message.len());
        if rope.len() >= piece_bytes {
            length += rope.len();
            pieces.push(std::mem::take(&mut rope).into());
        }
    }
    length += rope.len();
    rope.text().extend_from_slice(proto::TAIL);
    pieces.push(rope.into());
    let (version, kind) = match writer.output.convert {
        None => (writer.api_version.as_str(), &*writer.store.resource.list_kind),
        Some(convert) => (convert.version.api_version(), "PartialObjectMetadataList"),
    };
    let meta = Value::Object(list_meta(page.revision, &page.token, page.remaining));
    let mut head = Vec::new();
    proto::list_head(&meta, version, kind, length, &mut head);
    length += head.len() + proto::TAIL.len();
    pieces.insert(0, head.into());
    Ok((length, pieces))
}

const PARTIAL: &str = "PartialObjectMetadata";

/// What the envelope of one object says that it is.
fn kind(writer: &Writer) -> (&str, &str) {
    match writer.output.convert {
        None => (writer.api_version.as_str(), &*writer.store.resource.kind),
        Some(convert) => (convert.version.api_version(), PARTIAL),
    }
}

/// The message of a stored object as it is at a revision, or that of its metadata around it.
fn message(writer: &Writer, entry: &Arc<Entry>, revision: u64) -> Result<Bytes> {
    if writer.output.convert.is_none() {
        return writer.store.protobuf(entry, revision);
    }
    let Some(ty) = metadata_type(&writer.store.resource.schema) else { return Ok(Bytes::new()) };
    let mut json = Vec::new();
    writer.store.present_at(entry, revision)?.write_metadata(&mut json);
    let mut out = Vec::with_capacity(json.len());
    proto::put_message(1, &mut out, |out| proto::transcode_message(ty, &json, out))
        .map_err(|error: Error| Status::internal(error))?;
    Ok(out.into())
}

fn metadata_type(ty: &Struct) -> Option<&Struct> {
    match &ty.field("metadata")?.node.shape {
        Shape::Struct(ty) => Some(ty),
        _ => None,
    }
}
