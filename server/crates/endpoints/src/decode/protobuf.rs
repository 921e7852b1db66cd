//! Bodies in protobuf: the envelope, then the message by the schema's tables.

use apiwright_json::{Object, Value};
use apiwright_registry::Catalogue;
use apiwright_schema::Struct;
use apiwright_schema::proto::{self, Envelope};

use super::Wanted;

/// An object; the type is the wanted one's where the envelope names its kind or none.
pub(super) fn object(bytes: &[u8], wanted: Wanted<'_>) -> Result<Value, String> {
    let envelope = proto::open(bytes).map_err(|error| error.0)?;
    let same_kind = envelope.kind.is_empty() || envelope.kind == wanted.kind;
    let ty = if same_kind { Some(wanted.ty) } else { other_kind(wanted.catalogue, &envelope) };
    tree(&envelope, ty)
}

/// The options of a deletion.
pub(super) fn delete_options(bytes: &[u8], catalogue: &Catalogue) -> Result<Value, String> {
    let envelope = proto::open(bytes).map_err(|error| error.0)?;
    let ty = catalogue.kinds.iter().find(|one| &*one.kind.kind == "DeleteOptions").map(|one| one.schema);
    tree(&envelope, if matches!(&*envelope.kind, "" | "DeleteOptions") { ty } else { None })
}

fn other_kind(catalogue: &Catalogue, envelope: &Envelope<'_>) -> Option<&'static Struct> {
    let (group, version) = envelope.api_version.rsplit_once('/').unwrap_or(("", &envelope.api_version));
    catalogue.kind(group, version, &envelope.kind).map(|known| known.schema)
}

/// The object; one of no known type has its kind only, which says enough to refuse it.
fn tree(envelope: &Envelope<'_>, ty: Option<&Struct>) -> Result<Value, String> {
    let mut object = Object::new();
    for (name, text) in [("kind", &envelope.kind), ("apiVersion", &envelope.api_version)] {
        if !text.is_empty() {
            object.push(name, text.as_str());
        }
    }
    let members = match ty {
        Some(ty) => proto::decode_message(ty, envelope.raw).map_err(|error| error.0)?,
        None => Value::Null,
    };
    if let Value::Object(members) = members {
        for (name, value) in members {
            object.insert(name, value);
        }
    }
    Ok(Value::Object(object))
}
