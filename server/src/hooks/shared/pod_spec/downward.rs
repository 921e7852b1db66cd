//! References to a pod's own fields, from variables and from files.

use apiwright_json::Value;
use apiwright_meta::field::quoted;
use apiwright_meta::quantity::Quantity;
use apiwright_meta::{Path, names};

use crate::hooks::shared::faults::Faults;

/// Resources that containers can ask for.
const RESOURCES: [&str; 6] = [
    "limits.cpu",
    "limits.ephemeral-storage",
    "limits.memory",
    "requests.cpu",
    "requests.ephemeral-storage",
    "requests.memory",
];

/// Units of everything that is counted in bytes.
const BYTES: [&str; 13] = ["1", "1k", "1M", "1G", "1T", "1P", "1E", "1Ki", "1Mi", "1Gi", "1Ti", "1Pi", "1Ei"];

/// Fields of pods that can be referred to at all.
const CONVERTIBLE: [&str; 14] = [
    "metadata.annotations",
    "metadata.labels",
    "metadata.name",
    "metadata.namespace",
    "metadata.uid",
    "spec.nodeName",
    "spec.restartPolicy",
    "spec.serviceAccountName",
    "spec.schedulerName",
    "status.phase",
    "status.hostIP",
    "status.hostIPs",
    "status.podIP",
    "status.podIPs",
];

/// The faults of a reference to a field.
pub(super) fn field(reference: &Value, known: &[&str], path: &Path, out: &mut Faults<'_>) {
    let field = reference.text_at(&["fieldPath"]);
    let field_path = path.child("fieldPath");
    if reference.text_at(&["apiVersion"]).is_empty() {
        out.required(path.child("apiVersion"), "");
        return;
    }
    if field.is_empty() {
        out.declared(&field_path);
        return;
    }
    let version = reference.text_at(&["apiVersion"]);
    if version != "v1" {
        let why = format!("error converting fieldPath: unsupported pod version: {version}");
        out.invalid(field_path, quoted(field), &why);
        return;
    }
    // Once it was called so.
    let field = if field == "spec.host" { "spec.nodeName" } else { field };
    if let Some((map, key)) = subscripted(field) {
        match map {
            "metadata.annotations" => {
                let key = key.to_lowercase();
                out.invalid_each(path, &key, names::qualified_name(&key));
            }
            "metadata.labels" => out.invalid_each(path, key, names::qualified_name(key)),
            _ => {
                let why =
                    format!("error converting fieldPath: field label does not support subscript: {field}");
                out.invalid(field_path, quoted(field), &why);
            }
        }
    } else if !CONVERTIBLE.contains(&field) {
        out.invalid(field_path, quoted(field), &unknown(field));
    } else if !known.contains(&field) {
        let mut known = known.to_vec();
        known.sort_unstable();
        out.not_supported(field_path, quoted(field), &known);
    }
}

/// The faults of a reference to a container's resource.
pub(super) fn resource(reference: &Value, in_volume: bool, path: &Path, out: &mut Faults<'_>) {
    let resource = reference.text_at(&["resource"]);
    let is_huge_page =
        ["requests.hugepages-", "limits.hugepages-"].iter().any(|one| resource.starts_with(one));
    if in_volume && reference.text_at(&["containerName"]).is_empty() {
        out.required(path.child("containerName"), "");
    } else if resource.is_empty() {
        out.declared(&path.child("resource"));
    } else if !RESOURCES.contains(&resource) && !is_huge_page {
        out.not_supported(path.child("resource"), quoted(resource), &RESOURCES);
    }
    let Some(divisor) = reference.get("divisor").and_then(|value| Quantity::from_value(value).ok()) else {
        return;
    };
    if divisor.is_zero() {
        return;
    }
    let divisor = divisor.to_string();
    let kind = resource.split_once('.').map_or("", |(_, kind)| kind);
    let (units, named): (&[&str], &str) = match kind {
        "cpu" => (&["1m", "1"], "cpu"),
        "memory" => (&BYTES, "memory"),
        "ephemeral-storage" => (&BYTES, "local ephemeral storage"),
        _ if is_huge_page => (&BYTES, "hugepages"),
        _ => return,
    };
    if !units.contains(&divisor.as_str()) {
        let shown = if kind == "cpu" { "1m and 1".to_owned() } else { units.join(", ") };
        let why = format!("only divisor's values {shown} are supported with the {named} resource");
        out.invalid(path.child("divisor"), quoted(resource), &why);
    }
}

fn unknown(field: &str) -> String {
    format!("error converting fieldPath: field label not supported: {field}")
}

/// `metadata.labels['a']` is the `a` of `metadata.labels`.
fn subscripted(field: &str) -> Option<(&str, &str)> {
    let (map, key) = field.strip_suffix("']")?.split_once("['")?;
    (!map.is_empty()).then_some((map, key))
}
