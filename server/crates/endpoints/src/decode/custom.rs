//! Custom resources: their metadata is decoded by its type, the rest pruned by their schema. What
//! has the wrong type stays, for validation to tell.

use apiwright_json::{Duplicates, Object, Value};
use apiwright_meta::field::go_value;
use apiwright_schema::decode::{self as schema, Decoded, Source};
use apiwright_schema::{Struct, prune};

use super::Wanted;

/// Where every custom resource's metadata comes from.
const OBJECT_META: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta";

/// An object that says it is of this apiVersion and kind.
///
/// # Errors
/// Where its metadata does not fit.
pub(super) fn decode(
    wanted: Wanted<'_>,
    api_version: &str,
    kind: &str,
    value: Value,
    duplicates: &Duplicates,
) -> Result<Decoded, String> {
    let Value::Object(mut object) = value else { return Ok(Decoded { value, strict: Vec::new() }) };
    let mut strict: Vec<String> =
        duplicates.0.iter().map(|path| format!("duplicate field \"{path}\"")).collect();
    let metadata = metadata(wanted, object.remove("metadata"), &mut strict)?;

    let mut value = Value::Object(object);
    let group = api_version.rsplit_once('/').map_or("", |(group, _)| group);
    if kind == wanted.kind && group == wanted.group {
        let sibling = wanted.siblings.iter().find(|one| one.api_version() == api_version);
        let gone = if api_version == wanted.api_version() {
            let (gone, embedded) = prune(wanted.ty, &mut value)?;
            strict.extend(gone.iter().map(|path| format!("unknown field \"{path}\"")));
            embedded
        } else if let Some(sibling) = sibling {
            prune::prune(&sibling.schema, &mut value)
        } else {
            all_but_kind(&mut value)
        };
        strict.extend(gone.iter().map(|path| format!("unknown field \"{path}\"")));
    }
    if let (Value::Object(object), Some(metadata)) = (&mut value, metadata) {
        object.push("metadata", metadata);
    }
    prune::sort(&mut value);
    Ok(Decoded { value, strict })
}

/// The metadata in normal form; what it has that its type does not know is reported.
fn metadata(
    wanted: Wanted<'_>,
    given: Option<Value>,
    strict: &mut Vec<String>,
) -> Result<Option<Value>, String> {
    let Some(given) = given.filter(|given| !given.is_null()) else { return Ok(None) };
    let Some(ty) = wanted.catalogue.definition(OBJECT_META) else { return Ok(Some(given)) };
    let decoded =
        schema::decode_plain(ty, given, &Duplicates::default(), Source::Json).map_err(|error| error.0)?;
    for fault in &decoded.strict {
        strict.push(fault.replacen("unknown field \"", "unknown field \"metadata.", 1));
    }
    Ok(Some(decoded.value))
}

/// Prunes an object, and decodes the metadata of what it embeds: the paths of what went of the one and
/// of the other.
fn prune(ty: &Struct, value: &mut Value) -> Result<(Vec<String>, Vec<String>), String> {
    let (mut unknown, mut fault) = (Vec::new(), None);
    let gone = prune::prune_but_metadata(ty, value, &mut |path, ty, metadata| {
        let Some(ty) = ty else {
            if metadata.as_str().is_none() {
                let told = go_value(metadata);
                fault.get_or_insert_with(|| format!("{path}: Invalid value: {told}: must be a string"));
            }
            return;
        };
        let given = std::mem::take(metadata);
        match schema::decode_plain(ty, given.clone(), &Duplicates::default(), Source::Json) {
            Ok(decoded) => {
                *metadata = decoded.value;
                let names = decoded.strict.iter().filter_map(|one| one.strip_prefix("unknown field \""));
                unknown.extend(names.map(|name| format!("{path}.{}", name.trim_end_matches('"'))));
            }
            Err(why) => {
                fault
                    .get_or_insert_with(|| format!("{path}: Invalid value: {}: {}", go_value(&given), why.0));
            }
        }
    });
    unknown.sort();
    match fault {
        Some(fault) => Err(fault),
        None => Ok((gone, unknown)),
    }
}

/// Of a version without a schema nothing is known.
fn all_but_kind(value: &mut Value) -> Vec<String> {
    let Value::Object(object) = value else { return Vec::new() };
    let (kept, gone): (Vec<_>, Vec<_>) = std::mem::take(object)
        .into_iter()
        .partition(|(name, _)| matches!(name.as_str(), "kind" | "apiVersion"));
    *object = kept.into_iter().collect::<Object>();
    gone.into_iter().map(|(name, _)| name.to_string()).collect()
}
