//! What a schema must not say, apart from being structural.

use apiwright_apiextensions::validations;
use apiwright_json::{Object, Value, to_string};
use apiwright_meta::field::quoted;
use apiwright_meta::{ErrorList, Path};

use super::shown;
use super::validate::{is_absent, items, text, truth_of};

const TYPES: &[&str] = &["array", "boolean", "integer", "number", "object", "string"];

/// What the root of a schema may say where the status is apart.
const ALLOWED_AT_ROOT: &[(&str, &str)] = &[
    ("description", "Description"),
    ("type", "Type"),
    ("format", "Format"),
    ("title", "Title"),
    ("maximum", "Maximum"),
    ("exclusiveMaximum", "ExclusiveMaximum"),
    ("minimum", "Minimum"),
    ("exclusiveMinimum", "ExclusiveMinimum"),
    ("maxLength", "MaxLength"),
    ("minLength", "MinLength"),
    ("pattern", "Pattern"),
    ("maxItems", "MaxItems"),
    ("minItems", "MinItems"),
    ("uniqueItems", "UniqueItems"),
    ("multipleOf", "MultipleOf"),
    ("required", "Required"),
    ("items", "Items"),
    ("properties", "Properties"),
    ("externalDocs", "ExternalDocs"),
    ("example", "Example"),
    ("x-kubernetes-preserve-unknown-fields", "XPreserveUnknownFields"),
    ("x-kubernetes-validations", "XValidations"),
];

/// Faults of the root of a schema whose status is apart.
pub(super) fn root_with_status(schema: &Object, path: &Path, errors: &mut ErrorList) {
    let kind = schema.str("type").unwrap_or_default();
    if !kind.is_empty() && kind != "object" {
        let words = "only \"object\" is allowed as the type at the root of the schema if the status subresource is enabled";
        errors.invalid(Path::new(&format!("{}.type", path.as_str())), quoted(kind), words);
        return;
    }
    let known = |name: &str| ALLOWED_AT_ROOT.iter().any(|(one, _)| *one == name);
    if schema.keys().any(|name| !known(name)) {
        let names: Vec<&str> = ALLOWED_AT_ROOT.iter().map(|(_, name)| *name).collect();
        let words = format!(
            "only [{}] fields are allowed at the root of the schema if the status subresource is enabled",
            names.join(" ")
        );
        errors.invalid(path.clone(), to_string(&shown::schema(&Value::Object(schema.clone()))), &words);
    }
}

/// Faults of a root schema and all that is in it.
pub(super) fn validate(schema: &Object, path: &Path, errors: &mut ErrorList) {
    let at_root = Place { defaults: Ok(()), in_meta: false, root: true };
    walk(schema, path, at_root, errors);
}

/// What holds at one place.
#[derive(Clone, Copy)]
struct Place {
    /// Why there must be no default.
    defaults: Result<(), &'static str>,
    in_meta: bool,
    root: bool,
}

fn walk(schema: &Object, path: &Path, place: Place, errors: &mut ErrorList) {
    words(schema, path, place, errors);
    let inside = Place { root: false, ..place };
    if truth_of(schema, "uniqueItems") {
        let words = "uniqueItems cannot be set to true since the runtime complexity becomes quadratic";
        errors.forbidden(path.child("uniqueItems"), words);
    }
    let additional = schema.get("additionalProperties").filter(|value| !value.is_null());
    let properties = schema.get("properties").and_then(Value::as_object).filter(|all| !all.is_empty());
    if let Some(additional) = additional {
        let at = path.child("additionalProperties");
        if properties.is_some() && *additional != Value::Bool(true) {
            errors.forbidden(at.clone(), "additionalProperties and properties are mutual exclusive");
        }
        if let Value::Object(value) = additional {
            let why = "inside additionalProperties applying to object metadata";
            let defaults = if place.in_meta { Err(why) } else { place.defaults };
            walk(value, &at, Place { defaults, ..inside }, errors);
        }
    }
    for (name, property) in properties.into_iter().flat_map(Object::iter) {
        let Value::Object(property) = property else { continue };
        let mut inside = inside;
        let embedded = truth_of(schema, "x-kubernetes-embedded-resource");
        if (place.root || embedded) && matches!(name.as_str(), "metadata" | "kind" | "apiVersion") {
            inside.in_meta = true;
            if place.root {
                inside.defaults = Err(match name.as_str() {
                    "metadata" => "in top-level metadata",
                    "kind" => "in top-level kind",
                    _ => "in top-level apiVersion",
                });
            }
        }
        walk(property, &path.child("properties").key(name), inside, errors);
    }
    if let Some(Value::Object(branch)) = schema.get("not") {
        walk(branch, &path.child("not"), inside, errors);
    }
    for junctor in ["allOf", "oneOf", "anyOf"] {
        for (at, branch) in items(schema.get(junctor)).iter().enumerate() {
            if let Value::Object(branch) = branch {
                walk(branch, &path.child(junctor).index(at), inside, errors);
            }
        }
    }
    for (name, definition) in members(schema, "definitions") {
        if let Value::Object(definition) = definition {
            walk(definition, &path.child("definitions").key(name), inside, errors);
        }
    }
    match schema.get("items") {
        Some(Value::Object(item)) => walk(item, &path.child("items"), inside, errors),
        Some(Value::Array(all)) => {
            for (at, item) in all.iter().enumerate() {
                if let Value::Object(item) = item {
                    walk(item, &path.child("items").index(at), inside, errors);
                }
            }
        }
        _ => {}
    }
    for (name, dependency) in members(schema, "dependencies") {
        if let Value::Object(dependency) = dependency {
            walk(dependency, &path.child("dependencies").key(name), inside, errors);
        }
    }
    if schema.get("x-kubernetes-preserve-unknown-fields") == Some(&Value::Bool(false)) {
        let path = path.child("x-kubernetes-preserve-unknown-fields");
        errors.invalid(path, "false", "must be true or undefined");
    }
    map_type(schema, path, errors);
    list_type(schema, path, errors);
    validations::words(schema, path, errors);
}

fn members<'s>(schema: &'s Object, word: &str) -> impl Iterator<Item = (&'s str, &'s Value)> {
    let all = schema.get(word).and_then(Value::as_object);
    all.into_iter().flat_map(Object::iter).map(|(name, value)| (name.as_str(), value))
}

fn words(schema: &Object, path: &Path, place: Place, errors: &mut ErrorList) {
    let kind = schema.str("type").unwrap_or_default();
    if !kind.is_empty() && !TYPES.contains(&kind) {
        errors.not_supported(path.child("type"), quoted(kind), TYPES);
    }
    if let (false, Err(why)) = (is_absent(schema.get("default")), place.defaults) {
        errors.forbidden(path.child("default"), &format!("must not be set {why}"));
    }
    for word in ["id", "additionalItems", "patternProperties", "definitions", "dependencies", "$ref"] {
        let said = schema.get(word).is_some_and(|value| match value {
            Value::Null => false,
            Value::String(text) => !text.is_empty() || word == "$ref",
            Value::Object(members) => !members.is_empty() || word == "dependencies",
            _ => true,
        });
        if said {
            errors.forbidden(path.child(word), &format!("{word} is not supported"));
        }
    }
    if kind == "null" {
        errors.forbidden(path.child("type"), "type cannot be set to null, use nullable as an alternative");
    }
    if matches!(schema.get("items"), Some(Value::Array(all)) if !all.is_empty()) {
        errors.forbidden(path.child("items"), "items must be a schema object and not an array");
    }
    if place.in_meta && truth_of(schema, "x-kubernetes-embedded-resource") {
        let path = path.child("x-kubernetes-embedded-resource");
        errors.forbidden(path, "must not be used inside of resource meta");
    }
}

/// `type` must be as another word wants it.
fn wants_type(schema: &Object, wanted: &str, word: &str, path: &Path, errors: &mut ErrorList) -> bool {
    let words = format!("must be {wanted} if {word} is specified");
    match schema.str("type").unwrap_or_default() {
        kind if kind == wanted => return true,
        "" => errors.required(path.child("type"), &words),
        kind => errors.invalid(path.child("type"), quoted(kind), &words),
    }
    false
}

fn map_type(schema: &Object, path: &Path, errors: &mut ErrorList) {
    const WORD: &str = "x-kubernetes-map-type";
    let Some(said) = schema.str(WORD) else { return };
    wants_type(schema, "object", WORD, path, errors);
    if !matches!(said, "atomic" | "granular") {
        errors.not_supported(path.child(WORD), quoted(said), &["atomic", "granular"]);
    }
}

fn list_type(schema: &Object, path: &Path, errors: &mut ErrorList) {
    const WORD: &str = "x-kubernetes-list-type";
    const KEYS: &str = "x-kubernetes-list-map-keys";
    let said = schema.str(WORD);
    let item = schema.get("items").and_then(Value::as_object);
    if said.is_some() && wants_type(schema, "array", WORD, path, errors) && said == Some("set") {
        item_of_set(item, path, errors);
    }
    if let Some(said) = said.filter(|said| !matches!(*said, "atomic" | "set" | "map")) {
        errors.not_supported(path.child(WORD), quoted(said), &["atomic", "set", "map"]);
    }
    let keys = items(schema.get(KEYS));
    if !keys.is_empty() && said != Some("map") {
        let words = format!("must be map if {KEYS} is non-empty");
        match said {
            None => errors.required(path.child(WORD), &words),
            Some(said) => errors.invalid(path.child(WORD), quoted(said), &words),
        }
    }
    if said == Some("map") {
        if keys.is_empty() {
            let words = format!("must not be empty if {WORD} is map");
            errors.required(path.child(KEYS), &words);
        }
        match (item, schema.get("items")) {
            (Some(item), _) => item_of_map(item, keys, path, errors),
            (None, Some(all @ Value::Array(_))) => {
                let words = format!("must only have a single schema if {WORD} is map");
                errors.invalid(path.child("items"), to_string(&shown::items(all)), &words);
            }
            (None, _) => {
                let words = format!("must have a schema if {WORD} is map");
                errors.required(path.child("items"), &words);
            }
        }
    }
    let Some((said, item)) = said.filter(|said| matches!(*said, "set" | "map")).zip(item) else { return };
    if truth_of(item, "nullable") {
        let words = format!("cannot be nullable when {WORD} is {said}");
        errors.forbidden(path.child("items").child("nullable"), &words);
    }
    if said == "map" {
        keys_are_there(item, keys, path, errors);
    }
}

fn item_of_set(item: Option<&Object>, path: &Path, errors: &mut ErrorList) {
    let Some(item) = item else { return };
    let word = match item.str("type") {
        Some("array") => "x-kubernetes-list-type",
        Some("object") => "x-kubernetes-map-type",
        _ => return,
    };
    let said = item.str(word);
    // An unset list is atomic, an unset object is not.
    let atomic = said == Some("atomic") || (said.is_none() && word == "x-kubernetes-list-type");
    if !atomic {
        let shown = item.str("x-kubernetes-list-type").map_or_else(|| "null".to_owned(), quoted);
        let words = "must be atomic as item of a list with x-kubernetes-list-type=set";
        errors.invalid(path.child("items").child(word), shown, words);
    }
}

fn item_of_map(item: &Object, keys: &[Value], path: &Path, errors: &mut ErrorList) {
    let kind = item.str("type").unwrap_or_default();
    let at = path.child("items");
    if kind != "object" {
        let words = "must be object if parent array's x-kubernetes-list-type is map";
        errors.invalid(at.child("type"), quoted(kind), words);
        return;
    }
    let keys_at = path.child("x-kubernetes-list-map-keys");
    let shown = || to_string(&Value::from(keys.to_vec()));
    let mut seen = Vec::new();
    for key in keys.iter().filter_map(Value::as_str) {
        match item.get("properties").and_then(|all| all.get(key)) {
            Some(property) if matches!(text(property, &["type"]), "array" | "object") => {
                let words = "must be a scalar type if parent array's x-kubernetes-list-type is map";
                errors.invalid(at.child("properties").key(key).child("type"), quoted(kind), words);
            }
            Some(_) => {}
            None => {
                errors.invalid(keys_at.clone(), shown(), "entries must all be names of item properties");
            }
        }
        if seen.contains(&key) {
            errors.invalid(keys_at.clone(), shown(), "must not contain duplicate entries");
        }
        seen.push(key);
    }
}

fn keys_are_there(item: &Object, keys: &[Value], path: &Path, errors: &mut ErrorList) {
    let required = items(item.get("required"));
    for key in keys.iter().filter_map(Value::as_str) {
        let Some(property) = item.get("properties").and_then(|all| all.get(key)) else { continue };
        let path = path.child("items").child("properties").key(key);
        if !required.iter().any(|one| one.as_str() == Some(key)) && is_absent(property.get("default")) {
            let words = "this property is in x-kubernetes-list-map-keys, so it must have a default or be a required \
                         property";
            errors.required(path.child("default"), words);
        }
        if property.get("nullable") == Some(&Value::Bool(true)) {
            let words = "this property is in x-kubernetes-list-map-keys, so it cannot be nullable";
            errors.forbidden(path.child("nullable"), words);
        }
    }
}
