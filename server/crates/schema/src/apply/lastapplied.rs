//! From kubectl's client-side apply to the server's: the annotation that the former wrote says
//! what kubectl owned.

use apiwright_json::{Object, Value};

use super::{Apply, Conflicts, check};
use crate::fieldset::{Set, compare, from_value};
use crate::table::Struct;

/// The manager for which all this holds.
pub(super) const KUBECTL: &str = "kubectl";

const ANNOTATION: &str = "kubectl.kubernetes.io/last-applied-configuration";
/// How long all annotations of an object may be together.
const ANNOTATIONS_BYTES_MAX: usize = 256 * 1024;

/// Whether kubectl itself set all that conflicts, by client-side apply, and nobody changed it since.
///
/// # Errors
/// The conflicts that remain.
pub(super) fn without_own(
    ty: &Struct,
    live: &Value,
    mut conflicts: Conflicts,
    apply: &Apply<'_>,
) -> Result<(), Conflicts> {
    let Some(own) = last_applied(ty, live, apply) else { return Err(conflicts) };
    for (_, paths) in &mut conflicts {
        paths.retain(|path| !own.has(path));
    }
    conflicts.retain(|(_, paths)| !paths.is_empty());
    if conflicts.is_empty() { Ok(()) } else { Err(conflicts) }
}

/// The fields that the annotation sets as they still are.
fn last_applied(ty: &Struct, live: &Value, apply: &Apply<'_>) -> Option<Set> {
    let text = live.at(&["metadata", "annotations", ANNOTATION])?.as_str()?;
    let (config, _) = apiwright_json::decode(text.as_bytes()).ok()?;
    let has_kind = config.text_at(&["kind"]) == apply.kind;
    if !has_kind || config.text_at(&["apiVersion"]) != apply.request.api_version {
        return None;
    }
    check::check(ty, &config).ok()?;
    let mut set = from_value(ty, &config).ok()?;
    let changes = compare(ty, &config, live).ok()?;
    for changed in [changes.modified, changes.added, changes.removed] {
        set.remove_all(&changed);
    }
    Some(set)
}

/// Writes what was applied into the annotation, where there is one, so that client-side apply
/// could go on from it.
pub(super) fn refresh(object: &mut Value, config: &Value) {
    let Some(Value::Object(annotations)) = object.at_mut(&["metadata", "annotations"]) else { return };
    if annotations.str(ANNOTATION).is_none_or(str::is_empty) {
        return;
    }
    let mut config = config.clone();
    if let Some(Value::Object(annotations)) = config.at_mut(&["metadata", "annotations"]) {
        annotations.remove(ANNOTATION);
    }
    sort(&mut config);
    let text = apiwright_json::to_string(&config) + "\n";
    annotations.insert(ANNOTATION, text);
    if size(annotations) > ANNOTATIONS_BYTES_MAX {
        annotations.remove(ANNOTATION);
    }
}

fn size(annotations: &Object) -> usize {
    annotations.iter().map(|(key, value)| key.len() + value.as_str().map_or(0, str::len)).sum()
}

/// Sorts all members, as Go's encoder does.
fn sort(value: &mut Value) {
    match value {
        Value::Object(members) => {
            members.sort();
            members.iter_mut().for_each(|(_, value)| sort(value));
        }
        Value::Array(items) => items.iter_mut().for_each(sort),
        Value::Null | Value::Bool(_) | Value::Int(_) | Value::Float(_) | Value::String(_) => {}
    }
}
