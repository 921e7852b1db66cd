//! Whether a schema is structural: every value has one type, and junctors only narrow it.

use apiwright_json::{Object, Value};
use apiwright_meta::field::quoted;
use apiwright_meta::{ErrorList, Path};
use apiwright_schema::validate::pattern_fault;

use super::validate::{is_absent, items, text, truth, truth_of};

/// Where a schema is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Level {
    Root,
    Item,
    Field,
}

/// Faults come in the order of their texts, as upstream sorts them.
pub(super) fn validate(schema: &Object, path: &Path, errors: &mut ErrorList) {
    let mut found = ErrorList::new();
    invariants(schema, Level::Root, path, &mut found);
    completeness(schema, schema, path, path, &mut found);
    found.0.sort_by_cached_key(|error| format!("{}: {}", error.path.as_str(), error.body));
    errors.append(found);
}

fn invariants(schema: &Object, level: Level, path: &Path, errors: &mut ErrorList) {
    let kind = schema.str("type").unwrap_or_default();
    let embedded = truth_of(schema, "x-kubernetes-embedded-resource");
    let int_or_string = truth_of(schema, "x-kubernetes-int-or-string");
    let keeps = truth_of(schema, "x-kubernetes-preserve-unknown-fields");
    if kind == "array" && is_absent(schema.get("items")) {
        errors.required(path.child("items"), "must be specified");
    }
    if let Some(Value::Object(item)) = schema.get("items") {
        invariants(item, Level::Item, &path.child("items"), errors);
    }
    for (name, property) in properties(schema) {
        invariants(property, Level::Field, &path.child("properties").key(name), errors);
    }
    let additional = schema.get("additionalProperties").filter(|value| !value.is_null());
    if let Some(additional) = additional {
        if level == Level::Root {
            errors.forbidden(path.child("additionalProperties"), "must not be used at the root");
        }
        if let Value::Object(additional) = additional {
            invariants(additional, Level::Field, &path.child("additionalProperties"), errors);
        }
    }
    if int_or_string {
        let words = "must be false if x-kubernetes-int-or-string is true";
        for (said, word) in
            [(keeps, "x-kubernetes-preserve-unknown-fields"), (embedded, "x-kubernetes-embedded-resource")]
        {
            if said {
                errors.invalid(path.child(word), "true", words);
            }
        }
    }
    junctors(schema, Some(schema), level, path, errors);
    a_type(kind, level, embedded, int_or_string || keeps, path, errors);
    if embedded && additional.is_some() {
        let words = "must not be used if x-kubernetes-embedded-resource is set";
        errors.forbidden(path.child("additionalProperties"), words);
    }
    if level == Level::Root && !kind.is_empty() && kind != "object" {
        errors.invalid(path.child("type"), quoted(kind), "must be object at the root");
    }
    identity(schema, level, embedded, path, errors);
    if embedded && !keeps && properties(schema).next().is_none() {
        let words = "must not be empty if x-kubernetes-embedded-resource is true without \
                     x-kubernetes-preserve-unknown-fields";
        errors.required(path.child("properties"), words);
    }
}

fn a_type(kind: &str, level: Level, embedded: bool, may_miss: bool, path: &Path, errors: &mut ErrorList) {
    let path = path.child("type");
    if embedded && kind != "object" {
        let words = "must be object if x-kubernetes-embedded-resource is true";
        match kind {
            "" => errors.required(path, words),
            kind => errors.invalid(path, quoted(kind), words),
        }
    } else if kind.is_empty() && !may_miss {
        let words = match level {
            Level::Root => "must not be empty at the root",
            Level::Item => "must not be empty for specified array items",
            Level::Field => "must not be empty for specified object fields",
        };
        errors.required(path, words);
    }
}

/// What a schema may say of apiVersion, kind and metadata.
fn identity(schema: &Object, level: Level, embedded: bool, path: &Path, errors: &mut ErrorList) {
    let is_object = level == Level::Root || embedded;
    let path = path.child("properties");
    for (name, property) in properties(schema) {
        let kind = property.str("type").unwrap_or_default();
        let path = path.key(name);
        match name {
            "kind" | "apiVersion" if is_object && kind != "string" => {
                errors.invalid(path.child("type"), quoted(kind), "must be string");
            }
            "metadata" => {
                if is_object && kind != "object" {
                    errors.invalid(path.child("type"), quoted(kind), "must be object");
                }
                let allowed = |(name, value): (&str, &Value)| match name {
                    "type" | "default" | "description" | "title" => name != "description" && name != "title",
                    "properties" => value
                        .as_object()
                        .is_none_or(|all| all.keys().all(|name| name == "name" || name == "generateName")),
                    _ => is_empty(value),
                };
                if level == Level::Root && !property.iter().all(|(name, value)| allowed((name, value))) {
                    let words = "must not specify anything other than name and generateName, but metadata is \
                                 implicitly specified";
                    errors.forbidden(path, words);
                }
            }
            _ => {}
        }
    }
}

/// The junctors of a schema, and its pattern. `outer` is the schema itself where it is no branch.
fn junctors(schema: &Object, outer: Option<&Object>, level: Level, path: &Path, errors: &mut ErrorList) {
    let plain = outer.is_some_and(|outer| is_int_or_string(outer.get("anyOf")));
    if !plain {
        branches(schema, "anyOf", level, path, errors);
    }
    for (at, branch) in items(schema.get("allOf")).iter().enumerate() {
        let Value::Object(branch) = branch else { continue };
        let first = at == 0 && outer.is_some() && is_int_or_string(branch.get("anyOf"));
        nested(branch, first, level, &path.child("allOf").index(at), errors);
    }
    branches(schema, "oneOf", level, path, errors);
    if let Some(Value::Object(branch)) = schema.get("not") {
        nested(branch, false, level, &path.child("not"), errors);
    }
    if let Some(pattern) = schema.str("pattern").filter(|pattern| !pattern.is_empty())
        && let Some(why) = pattern_fault(pattern)
    {
        let words = format!("must be a valid regular expression, but isn't: {why}");
        errors.invalid(path.child("pattern"), quoted(pattern), &words);
    }
}

fn branches(schema: &Object, junctor: &str, level: Level, path: &Path, errors: &mut ErrorList) {
    for (at, branch) in items(schema.get(junctor)).iter().enumerate() {
        if let Value::Object(branch) = branch {
            nested(branch, false, level, &path.child(junctor).index(at), errors);
        }
    }
}

/// A branch of a junctor, which must not say what a value is, only what it must satisfy.
fn nested(branch: &Object, skip_any_of: bool, level: Level, path: &Path, errors: &mut ErrorList) {
    junctors(branch, skip_any_of.then_some(branch), level, path, errors);
    if let Some(Value::Object(item)) = branch.get("items") {
        nested(item, false, level, &path.child("items"), errors);
    }
    for (name, property) in properties(branch) {
        nested(property, false, Level::Field, &path.child("properties").key(name), errors);
    }
    for (word, words) in [
        ("type", "must be empty to be structural"),
        ("additionalProperties", "must be undefined to be structural"),
        ("default", "must be undefined to be structural"),
        ("title", "must be empty to be structural"),
        ("description", "must be empty to be structural"),
        ("nullable", "must be false to be structural"),
        ("x-kubernetes-preserve-unknown-fields", "must be false to be structural"),
        ("x-kubernetes-embedded-resource", "must be false to be structural"),
        ("x-kubernetes-int-or-string", "must be false to be structural"),
        ("x-kubernetes-list-map-keys", "must be empty to be structural"),
        ("x-kubernetes-list-type", "must be undefined to be structural"),
        ("x-kubernetes-map-type", "must be undefined to be structural"),
        ("x-kubernetes-validations", "must be empty to be structural"),
    ] {
        if branch.get(word).is_some_and(|value| !is_empty(value)) {
            errors.forbidden(path.child(word), words);
        }
    }
    if properties(branch).any(|(name, _)| name == "metadata") {
        let path = path.child("properties").key("metadata");
        errors.forbidden(path, "must not be specified in a nested context");
    }
}

/// Whatever a branch at the root names, the schema itself must name as well. Upstream does not look at
/// other junctors.
fn completeness(schema: &Object, says: &Object, at: &Path, path: &Path, errors: &mut ErrorList) {
    if let Some(Value::Object(branch)) = says.get("not") {
        covers(schema, branch, at, &path.child("not"), errors);
    }
    for junctor in ["allOf", "anyOf", "oneOf"] {
        for (index, branch) in items(says.get(junctor)).iter().enumerate() {
            if let Value::Object(branch) = branch {
                covers(schema, branch, at, &path.child(junctor).index(index), errors);
            }
        }
    }
}

fn covers(schema: &Object, branch: &Object, at: &Path, path: &Path, errors: &mut ErrorList) {
    completeness(schema, branch, at, path, errors);
    let mut inner = |schema: Option<&Object>, branch: &Object, at: Path, path: Path| match schema {
        Some(schema) => covers(schema, branch, &at, &path, errors),
        None => errors.required(at, &format!("because it is defined in {}", path.as_str())),
    };
    if let Some(Value::Object(item)) = branch.get("items") {
        let known = schema.get("items").and_then(Value::as_object);
        inner(known, item, at.child("items"), path.child("items"));
    }
    for (name, property) in properties(branch) {
        let known = schema.get("properties").and_then(|all| all.get(name)).and_then(Value::as_object);
        inner(known, property, at.child("properties").key(name), path.child("properties").key(name));
    }
}

/// What upstream cannot make a structural schema of, where it comes upon the first such word.
pub(super) fn unsupported(schema: &Object) -> Option<String> {
    for (word, name) in [
        ("id", "id"),
        ("$schema", "schema"),
        ("$ref", "$ref"),
        ("patternProperties", "patternProperties"),
        ("dependencies", "dependencies"),
        ("additionalItems", "additionalItems"),
        ("definitions", "definitions"),
    ] {
        let said = match schema.get(word) {
            None | Some(Value::Null) => false,
            Some(Value::String(text)) => !text.is_empty(),
            Some(Value::Object(members)) => !members.is_empty() || word == "additionalItems",
            Some(_) => true,
        };
        if said {
            return Some(format!("OpenAPIV3Schema '{name}' is not supported"));
        }
    }
    let inside = |value: Option<&Value>| value.and_then(Value::as_object).and_then(unsupported);
    let any = |word: &str| items(schema.get(word)).iter().find_map(|one| inside(Some(one)));
    let fault = inside(schema.get("not")).or_else(|| ["allOf", "anyOf", "oneOf"].into_iter().find_map(any));
    if fault.is_some() {
        return fault;
    }
    if schema.get("x-kubernetes-preserve-unknown-fields") == Some(&Value::Bool(false)) {
        let words = "internal error: 'x-kubernetes-preserve-unknown-fields' must be true or undefined";
        return Some(words.to_owned());
    }
    if matches!(schema.get("items"), Some(Value::Array(all)) if !all.is_empty()) {
        return Some("OpenAPIV3Schema 'items' must be a schema, but is an array".to_owned());
    }
    inside(schema.get("items"))
        .or_else(|| properties(schema).find_map(|(_, property)| unsupported(property)))
        .or_else(|| inside(schema.get("additionalProperties")))
}

/// The one way to say that a value is an integer or a string.
fn is_int_or_string(any_of: Option<&Value>) -> bool {
    let [first, second] = items(any_of) else { return false };
    let only = |value: &Value, kind: &str| {
        text(value, &["type"]) == kind && value.as_object().is_some_and(|members| members.len() == 1)
    };
    only(first, "integer") && only(second, "string") && !truth(first, "nullable")
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(false) => true,
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Bool(true) | Value::Int(_) | Value::Float(_) | Value::Object(_) => false,
    }
}

fn properties(schema: &Object) -> impl Iterator<Item = (&str, &Object)> {
    let all = schema.get("properties").and_then(Value::as_object);
    all.into_iter()
        .flat_map(Object::iter)
        .filter_map(|(name, value)| Some((name.as_str(), value.as_object()?)))
}
