//! Objects and lists in protobuf: the schema's tables do the work.

use apiwright_json::Value;
use apiwright_meta::Status;
use apiwright_meta::status::Result;
use apiwright_registry::{Catalogue, ListPage, Presented};
use apiwright_schema::proto::{self, Error};
use apiwright_schema::{Shape, Struct};

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

/// Appends a stored object, or its metadata, in an envelope of its own.
pub(super) fn stored(writer: &Writer, presented: &Presented, out: &mut Vec<u8>) -> Result<()> {
    let resource = &writer.store.resource;
    let (version, kind) = match writer.output.convert {
        None => (writer.api_version.as_str(), &*resource.kind),
        Some(convert) => (convert.version.api_version(), PARTIAL),
    };
    let written = proto::seal(version, kind, out, |out| message(writer, presented, &mut Vec::new(), out));
    written.map_err(Status::internal)
}

/// A list of whole objects or of their metadata, in pieces of about this length: its length comes first, so
/// all of it is made before any is sent.
pub(super) fn list(writer: &Writer, page: &ListPage, piece_bytes: usize) -> Result<Vec<Vec<u8>>> {
    let mut pieces = vec![Vec::new()];
    let (mut piece, mut json, mut length) = (Vec::new(), Vec::new(), 0);
    for entry in &page.entries {
        let presented = writer.store.present(entry)?;
        proto::put_item(&mut piece, |out| message(writer, &presented, &mut json, out))
            .map_err(Status::internal)?;
        if piece.len() >= piece_bytes {
            length += piece.len();
            let capacity = piece.len() + piece.len() / 8;
            pieces.push(std::mem::replace(&mut piece, Vec::with_capacity(capacity)));
        }
    }
    length += piece.len();
    piece.extend_from_slice(proto::LIST_TAIL);
    pieces.push(piece);
    let (version, kind) = match writer.output.convert {
        None => (writer.api_version.as_str(), &*writer.store.resource.list_kind),
        Some(convert) => (convert.version.api_version(), "PartialObjectMetadataList"),
    };
    let meta = Value::Object(list_meta(page.revision, &page.token, page.remaining));
    proto::list_head(&meta, version, kind, length, &mut pieces[0]);
    Ok(pieces)
}

const PARTIAL: &str = "PartialObjectMetadata";

/// Appends the message of a stored object, or that of its metadata around it. `json` is a place for its text.
fn message(
    writer: &Writer,
    presented: &Presented,
    json: &mut Vec<u8>,
    out: &mut Vec<u8>,
) -> Result<(), Error> {
    json.clear();
    let ty = &writer.store.resource.schema;
    if writer.output.convert.is_none() {
        presented.write(json, None);
        return proto::transcode_message(ty, json, out);
    }
    let Some(ty) = metadata_type(ty) else { return Ok(()) };
    presented.write_metadata(json);
    proto::put_message(1, out, |out| proto::transcode_message(ty, json, out))
}

fn metadata_type(ty: &Struct) -> Option<&Struct> {
    match &ty.field("metadata")?.node.shape {
        Shape::Struct(ty) => Some(ty),
        _ => None,
    }
}
