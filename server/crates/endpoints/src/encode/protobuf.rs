//! Objects and lists in protobuf: the schema's tables do the work.

use apiwright_json::Value;
use apiwright_meta::Status;
use apiwright_meta::status::Result;
use apiwright_registry::{Catalogue, ListPage};
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

/// An object's metadata as an object of its own.
pub(super) fn partial(ty: &Struct, api_version: &str, value: &Value) -> Result<Vec<u8>> {
    let mut out = Vec::new();
    proto::seal(api_version, "PartialObjectMetadata", &mut out, |out| partial_message(ty, value, out))
        .map_err(Status::internal)?;
    Ok(out)
}

/// A list of whole objects or of their metadata.
pub(super) fn list(writer: &Writer, page: &ListPage) -> Result<Vec<u8>> {
    let resource = &writer.store.resource;
    let values = page.entries.iter().map(|entry| writer.store.decode(entry)).collect::<Result<Vec<_>>>()?;
    let meta = Value::Object(list_meta(page.revision, &page.token, page.remaining));
    let mut out = Vec::new();
    let written = match writer.output.convert {
        None => {
            let (kind, version) = (&resource.list_kind, &writer.api_version);
            proto::encode_list(&resource.schema, &values, &meta, version, kind, &mut out)
        }
        Some(convert) => {
            let version = convert.version.api_version();
            metadata_list(&resource.schema, &values, &meta, version, &mut out)
        }
    };
    written.map_err(Status::internal)?;
    Ok(out)
}

/// Lists of metadata are lists of messages with the metadata as their one field.
fn metadata_list(
    ty: &Struct,
    values: &[Value],
    meta: &Value,
    version: &str,
    out: &mut Vec<u8>,
) -> Result<(), Error> {
    let mut items = Vec::with_capacity(values.len());
    for value in values {
        let mut item = Vec::new();
        partial_message(ty, value, &mut item)?;
        items.push(item);
    }
    let mut head = Vec::new();
    proto::encode_list(ty, [], meta, version, "PartialObjectMetadataList", &mut head)?;
    let envelope = proto::open(&head)?;
    proto::seal(version, "PartialObjectMetadataList", out, |out| {
        out.extend_from_slice(envelope.raw);
        for item in items {
            proto::put_field(2, &item, out);
        }
        Ok(())
    })
}

fn partial_message(ty: &Struct, value: &Value, out: &mut Vec<u8>) -> Result<(), Error> {
    let shape = ty.field("metadata").map(|field| &field.node.shape);
    if let (Some(Shape::Struct(ty)), Some(metadata)) = (shape, value.get("metadata")) {
        let mut message = Vec::new();
        proto::encode_message(ty, metadata, &mut message)?;
        proto::put_field(1, &message, out);
    }
    Ok(())
}
