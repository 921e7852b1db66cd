//! The parts of a version besides its schema, and how versions are converted.

use apiwright_json::Value;
use apiwright_meta::field::{is_print, quoted};
use apiwright_meta::{ErrorList, Path};

use super::validate::{items, one_of, text, truth};
use crate::hooks::shared::webhook_client;

const COLUMN_TYPES: &[&str] = &["boolean", "date", "integer", "number", "string"];
const COLUMN_FORMATS: &[&str] =
    &["byte", "date", "date-time", "double", "float", "int32", "int64", "password"];
const SELECTABLE_FIELDS_MAX: usize = 8;

/// The warning of a version that is on its way out.
pub(super) fn deprecation(version: &Value, path: &Path, errors: &mut ErrorList) {
    let Some(Value::String(warning)) = version.get("deprecationWarning") else { return };
    let mut faults = Vec::new();
    if truth(version, "deprecated") {
        if warning.len() > 256 {
            faults.push("must be <= 256 characters long".to_owned());
        }
        if warning.is_empty() {
            faults.push("must not be an empty string".to_owned());
        }
        if let Some((at, _)) = warning.char_indices().find(|(_, character)| !is_print(*character)) {
            faults.push(format!(
                "must only contain printable UTF-8 characters; non-printable character found at index {at}"
            ));
        }
    } else {
        faults.push("can only be set for deprecated versions".to_owned());
    }
    for fault in faults {
        errors.invalid(path.clone(), quoted(warning), &fault);
    }
}

/// The paths of the scale subresource.
pub(super) fn subresources(version: &Value, path: &Path, errors: &mut ErrorList) {
    let Some(scale) = version.at(&["subresources", "scale"]).filter(|scale| !scale.is_null()) else { return };
    for (member, root) in [("specReplicasPath", ".spec."), ("statusReplicasPath", ".status.")] {
        let (value, path) = (text(scale, &[member]), path.child("scale").child(member));
        if value.is_empty() {
            errors.required(path, "");
        } else if simple_path(value, &path, errors) && !value.starts_with(root) {
            let words = format!("should be a json path under {}", root.trim_end_matches('.'));
            errors.invalid(path, quoted(value), &words);
        }
    }
    let (value, path) = (text(scale, &["labelSelectorPath"]), path.child("scale").child("labelSelectorPath"));
    let known = value.starts_with(".spec.") || value.starts_with(".status.");
    if !value.is_empty() && simple_path(value, &path, errors) && !known {
        errors.invalid(path, quoted(value), "should be a json path under either .spec or .status");
    }
}

/// Printed columns.
pub(super) fn columns(version: &Value, path: &Path, errors: &mut ErrorList) {
    for (at, column) in items(version.get("additionalPrinterColumns")).iter().enumerate() {
        let path = path.index(at);
        if text(column, &["name"]).is_empty() {
            errors.required(path.child("name"), "");
        }
        let types = format!("must be one of {}", COLUMN_TYPES.join(","));
        match text(column, &["type"]) {
            "" => errors.required(path.child("type"), &types),
            kind if COLUMN_TYPES.contains(&kind) => {}
            kind => errors.invalid(path.child("type"), quoted(kind), &types),
        }
        let format = text(column, &["format"]);
        if !format.is_empty() && !COLUMN_FORMATS.contains(&format) {
            let words = format!("must be one of {}", COLUMN_FORMATS.join(","));
            errors.invalid(path.child("format"), quoted(format), &words);
        }
        match text(column, &["jsonPath"]) {
            "" => errors.required(path.child("JSONPath"), ""),
            json_path => {
                simple_path(json_path, &path.child("JSONPath"), errors);
            }
        }
    }
}

/// The fields that field selectors may name; `schema` is the version that has the schema with them, or
/// what to say where there is none.
pub(super) fn selectable(version: &Value, schema: Result<&Value, &str>, path: &Path, errors: &mut ErrorList) {
    let fields = items(version.get("selectableFields"));
    if fields.is_empty() {
        return;
    }
    let schema = match schema.map(|version| version.at(&["schema", "openAPIV3Schema"])) {
        Ok(schema) => schema.unwrap_or(&Value::Null),
        Err(why) => return errors.invalid(path.clone(), quoted(""), why),
    };
    let mut seen: Vec<&str> = Vec::new();
    for (at, field) in fields.iter().enumerate() {
        let (path, json_path) = (path.index(at).child("jsonPath"), text(field, &["jsonPath"]));
        if json_path.is_empty() {
            errors.required(path, "");
            continue;
        }
        let found = match found(schema, json_path) {
            Ok(found) => found,
            Err(why) => {
                errors.invalid(path, quoted(json_path), &format!("is an invalid path: {why}"));
                continue;
            }
        };
        if json_path.trim_start_matches('.').split('.').next() == Some("metadata") {
            errors.invalid(path.clone(), quoted(json_path), "must not point to fields in metadata");
        }
        if !matches!(text(found, &["type"]), "string" | "boolean" | "integer") {
            let words = "must point to a field of type string, boolean or integer. Enum string fields and strings \
                         with formats are allowed.";
            errors.invalid(path.clone(), quoted(json_path), words);
        }
        if seen.contains(&json_path) {
            errors.duplicate(path, quoted(json_path));
        } else {
            seen.push(json_path);
        }
    }
    if seen.len() > SELECTABLE_FIELDS_MAX {
        errors.too_many(path.clone(), seen.len(), SELECTABLE_FIELDS_MAX);
    }
}

/// The schema at a path of plain names.
fn found<'a>(mut schema: &'a Value, json_path: &str) -> Result<&'a Value, String> {
    let mut tokens = tokens(json_path).into_iter();
    while let Some(token) = tokens.next() {
        match token {
            "." => {}
            "[" => return Err("array notation is not allowed".into()),
            other => return Err(format!("expected [ or . but got: {other}")),
        }
        let name = tokens.next().ok_or("unexpected end of JSON path")?;
        let properties = schema.get("properties").and_then(Value::as_object).filter(|all| !all.is_empty());
        let next = match properties {
            Some(properties) => properties.get(name),
            None => schema.get("additionalProperties").filter(|value| matches!(value, Value::Object(_))),
        };
        schema = next.ok_or("does not refer to a valid field")?;
    }
    Ok(schema)
}

/// A path in pieces: dots and brackets, and what is between them.
fn tokens(json_path: &str) -> Vec<&str> {
    let mut tokens = Vec::new();
    let mut rest = json_path;
    while !rest.is_empty() {
        let end = match rest.find(['.', '[', ']']) {
            Some(0) => 1,
            Some(at) => at,
            None => rest.len(),
        };
        let (token, after) = rest.split_at(end);
        tokens.push(token);
        rest = after;
    }
    tokens
}

/// How versions are converted: not at all, or by a webhook. `trusts` is whether its authorities must be
/// readable.
pub(super) fn conversion(spec: &Value, trusts: bool, path: &Path, errors: &mut ErrorList) {
    let Some(conversion) = spec.get("conversion").filter(|conversion| !conversion.is_null()) else { return };
    let strategy = text(conversion, &["strategy"]);
    one_of(strategy, &["None", "Webhook"], &path.child("strategy"), errors);
    let client = conversion.at(&["webhook", "clientConfig"]).filter(|client| !client.is_null());
    let versions = items(conversion.at(&["webhook", "conversionReviewVersions"]));
    let (path_of_client, path_of_versions) =
        (path.child("webhookClientConfig"), path.child("conversionReviewVersions"));
    if strategy != "Webhook" {
        let words = "should not be set when strategy is not set to Webhook";
        if client.is_some() {
            errors.forbidden(path_of_client, words);
        }
        if !versions.is_empty() {
            errors.forbidden(path_of_versions, words);
        }
        return;
    }
    match client {
        None => errors.required(path_of_client, "required when strategy is set to Webhook"),
        Some(client) => {
            webhook_client::address(client, &path_of_client, errors);
            let bundle = text(client, &["caBundle"]);
            if let Some(why) = webhook_client::untrusted(bundle).filter(|_| trusts) {
                errors.invalid(path_of_client.child("caBundle"), quoted(bundle), &why);
            }
        }
    }
    webhook_client::review_versions(versions, true, "", &path_of_versions, errors);
}

/// Whether a path begins as one; faults are told.
fn simple_path(value: &str, path: &Path, errors: &mut ErrorList) -> bool {
    let simple = value.starts_with('.');
    if !simple {
        errors.invalid(path.clone(), quoted(value), "must be a simple json path starting with .");
    }
    simple
}
