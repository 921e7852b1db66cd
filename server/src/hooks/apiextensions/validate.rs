//! What makes a CustomResourceDefinition valid.
//!
//! Faults are told as upstream's internal version has its fields: what all versions have in common
//! (of one version, all) is `spec.validation`, `spec.subresources` and so on.

use apiwright_apiextensions::approval::{self, Approval};
use apiwright_apiextensions::literals;
use apiwright_apiextensions::validations;
use apiwright_json::{Object, Value};
use apiwright_meta::field::{go_value, quoted};
use apiwright_meta::{ErrorList, Path, names, object};

use super::{openapi, parts, shown, structural};
use crate::hooks::shared::webhook_client;

/// Faults of a new definition, besides its metadata.
pub(super) fn create(definition: &Value, errors: &mut ErrorList) {
    let name = object::name(definition);
    let wanted = format!(
        "{}.{}",
        text(definition, &["spec", "names", "plural"]),
        text(definition, &["spec", "group"])
    );
    for (member, name) in [("generateName", object::generate_name(definition)), ("name", name)] {
        if !name.is_empty() && name != wanted {
            let path = Path::new("metadata").child(member);
            errors.invalid(path, quoted(name), "must be spec.names.plural+\".\"+spec.group");
        }
    }
    spec(definition, &Value::Null, errors);
    status(definition, errors);
    stored_versions(definition, errors);
    api_approval(definition, None, errors);
    preserve_unknown_fields(definition, None, errors);
}

/// Faults of a definition that replaces another.
pub(super) fn update(definition: &Value, old: &Value, errors: &mut ErrorList) {
    spec(definition, old, errors);
    let immutable = |path: &[&str], errors: &mut ErrorList| {
        let (new, old) = (text(definition, path), text(old, path));
        if new != old {
            let at = path[1..].iter().fold(Path::new(path[0]), |at, name| at.child(name));
            errors.invalid(at, quoted(new), "field is immutable");
        }
    };
    if is_established(old) {
        immutable(&["spec", "scope"], errors);
        immutable(&["spec", "names", "kind"], errors);
    }
    immutable(&["spec", "group"], errors);
    immutable(&["spec", "names", "plural"], errors);
    status(definition, errors);
    stored_versions(definition, errors);
    api_approval(definition, Some(old), errors);
    preserve_unknown_fields(definition, Some(old), errors);
}

/// Faults of a status.
pub(super) fn status(definition: &Value, errors: &mut ErrorList) {
    let accepted = definition.at(&["status", "acceptedNames"]).unwrap_or(&Value::Null);
    names(accepted, &Path::new("status").child("acceptedNames"), errors);
}

/// Whether a webhook's authorities must be readable: once a definition is established, unless they
/// already were not.
fn must_trust(old: &Value) -> bool {
    let bundle = text(old, &["spec", "conversion", "webhook", "clientConfig", "caBundle"]);
    is_established(old) && webhook_client::untrusted(bundle).is_none()
}

fn spec(definition: &Value, old: &Value, errors: &mut ErrorList) {
    let none = Value::Null;
    let spec = definition.get("spec").unwrap_or(&none);
    let path = Path::new("spec");
    group(text(spec, &["group"]), &path.child("group"), errors);
    one_of(text(spec, &["scope"]), &["Cluster", "Namespaced"], &path.child("scope"), errors);

    let versions = items(spec.get("versions"));
    for (at, version) in versions.iter().enumerate() {
        if is_absent(version.at(&["schema", "openAPIV3Schema"])) {
            let path = path.child("versions").index(at).child("schema").child("openAPIV3Schema");
            errors.required(path, "");
        }
    }
    if truth(spec, "preserveUnknownFields") && versions.iter().any(has_defaults) {
        let words = "must be false in order to use defaults in the schema";
        errors.invalid(path.child("preserveUnknownFields"), "true", words);
    }
    let common = Common::of(versions);
    for (at, version) in versions.iter().enumerate() {
        let path = path.child("versions").index(at);
        let faults = names::dns1035_label(text(version, &["name"]));
        if !faults.is_empty() {
            errors.invalid(path.child("name"), quoted(text(version, &["name"])), &faults.join(","));
        }
        parts::deprecation(version, &path.child("deprecationWarning"), errors);
        if !common.schema {
            let has_status = has_status(version);
            schema(version, has_status, old, &path.child("schema"), errors);
        }
        if !common.subresources {
            parts::subresources(version, &path.child("subresources"), errors);
        }
        if !common.columns {
            parts::columns(version, &path.child("additionalPrinterColumns"), errors);
        }
        if !common.selectable {
            // What all versions have in common is with none of them.
            let none = "may only be set when `version.schema.openAPIV3Schema` is not included";
            let schema = if common.schema { Err(none) } else { Ok(version) };
            parts::selectable(version, schema, &path.child("selectableFields"), errors);
        }
    }
    storage(spec, &common, &path, errors);
    let first = versions.first().unwrap_or(&none);
    let faults = names::dns1035_label(text(first, &["name"]));
    if !text(first, &["name"]).is_empty() && !faults.is_empty() {
        errors.invalid(path.child("version"), quoted(text(first, &["name"])), &faults.join(","));
    }

    let wanted = spec.get("names").unwrap_or(&none);
    for name in ["plural", "singular", "kind", "listKind"] {
        if text(wanted, &[name]).is_empty() {
            errors.required(path.child("names").child(name), "");
        }
    }
    names(wanted, &path.child("names"), errors);
    if common.schema {
        let has_status = versions.iter().any(has_status);
        schema(first, has_status, old, &path.child("validation"), errors);
    }
    if common.subresources {
        parts::subresources(first, &path.child("subresources"), errors);
    }
    if common.columns {
        parts::columns(first, &path.child("additionalPrinterColumns"), errors);
    }
    if common.selectable {
        let none = "may only be set when validations.schema is included";
        let schema = if common.schema { Ok(first) } else { Err(none) };
        parts::selectable(first, schema, &path.child("selectableFields"), errors);
    }
    let strategy = text(spec, &["conversion", "strategy"]);
    if truth(spec, "preserveUnknownFields") && !matches!(strategy, "" | "None") {
        let words = "must be None if spec.preserveUnknownFields is true";
        errors.invalid(path.child("conversion").child("strategy"), quoted(strategy), words);
    }
    parts::conversion(spec, must_trust(old), &path.child("conversion"), errors);
}

fn has_status(version: &Value) -> bool {
    !is_absent(version.at(&["subresources", "status"]))
}

/// Whether the schema of a version has defaults anywhere.
fn has_defaults(version: &Value) -> bool {
    fn any(schema: &Value) -> bool {
        match schema {
            Value::Object(members) => {
                members.get("default").is_some_and(|value| !value.is_null())
                    || members.iter().any(|(name, value)| match name.as_str() {
                        "properties" | "patternProperties" | "definitions" => {
                            value.as_object().is_some_and(|all| all.values().any(any))
                        }
                        "default" | "enum" | "example" => false,
                        _ => any(value),
                    })
            }
            Value::Array(items) => items.iter().any(any),
            _ => false,
        }
    }
    version.at(&["schema", "openAPIV3Schema"]).is_some_and(any)
}

/// What all versions have in common.
struct Common {
    schema: bool,
    subresources: bool,
    columns: bool,
    selectable: bool,
}

impl Common {
    fn of(versions: &[Value]) -> Self {
        let same = |name: &str| {
            let first = versions.first().and_then(|version| version.get(name));
            versions.iter().all(|version| version.get(name) == first)
        };
        Self {
            schema: same("schema"),
            subresources: same("subresources"),
            columns: same("additionalPrinterColumns"),
            selectable: same("selectableFields"),
        }
    }
}

fn storage(spec: &Value, common: &Common, path: &Path, errors: &mut ErrorList) {
    let versions = items(spec.get("versions"));
    let shown = || {
        if is_absent(spec.get("versions")) {
            return "null".to_owned();
        }
        let all: Vec<Value> = versions.iter().map(|version| internal(version, common)).collect();
        go_value(&all.into())
    };
    let named = |version: &Value| text(version, &["name"]).to_owned();
    let unique = versions.iter().map(named).collect::<std::collections::HashSet<_>>().len();
    if unique != versions.len() {
        errors.invalid(path.child("versions"), shown(), "must contain unique version names");
    }
    if versions.iter().filter(|version| truth(version, "storage")).count() != 1 {
        let words = "must have exactly one version marked as storage version";
        errors.invalid(path.child("versions"), shown(), words);
    }
}

/// A version as upstream's internal type shows it.
fn internal(version: &Value, common: &Common) -> Value {
    let part = |name: &str, common: bool, shown: fn(&Value) -> Value| {
        version.get(name).filter(|part| !common && !part.is_null()).map_or(Value::Null, shown)
    };
    let mut shown = Object::new();
    shown.push("Name", text(version, &["name"]));
    for (name, member) in [("Served", "served"), ("Storage", "storage"), ("Deprecated", "deprecated")] {
        shown.push(name, truth(version, member));
    }
    shown.push("DeprecationWarning", part("deprecationWarning", false, Value::clone));
    shown.push("Schema", part("schema", common.schema, shown::validation));
    shown.push("Subresources", part("subresources", common.subresources, shown::subresources));
    shown.push("AdditionalPrinterColumns", part("additionalPrinterColumns", common.columns, shown::columns));
    shown.push("SelectableFields", part("selectableFields", common.selectable, shown::selectable));
    shown.into()
}

fn group(group: &str, path: &Path, errors: &mut ErrorList) {
    if group.is_empty() {
        errors.required(path.clone(), "");
        return;
    }
    let faults = names::dns1123_subdomain(group);
    if !faults.is_empty() {
        errors.invalid(path.clone(), quoted(group), &faults.join(","));
    } else if !group.contains('.') {
        errors.invalid(path.clone(), quoted(group), "should be a domain with at least one dot");
    }
}

/// The schema of a version: whether it is structural, what it must not say, what its rules mean.
///
/// `old` is the definition before: rules of a schema that it had may cost what they cost.
fn schema(version: &Value, has_status: bool, old: &Value, path: &Path, errors: &mut ErrorList) {
    let Some(Value::Object(schema)) = version.at(&["schema", "openAPIV3Schema"]) else { return };
    let before = errors.0.len();
    let path = path.child("openAPIV3Schema");
    if has_status {
        openapi::root_with_status(schema, &path, errors);
    }
    if truth_of(schema, "nullable") {
        errors.forbidden(
            Path::new(&format!("{}.nullable", path.as_str())),
            "nullable cannot be true at the root",
        );
    }
    let unstructured = structural::unsupported(schema);
    let structure = errors.0.len();
    if unstructured.is_none() {
        structural::validate(schema, &path, errors);
        if errors.0.len() == structure {
            literals::check(&Value::Object(schema.clone()), &path, errors);
        }
    }
    let sound = unstructured.is_none() && errors.0.len() == structure;
    let words = errors.0.len();
    openapi::validate(schema, &path, errors);
    if sound {
        let known = items(old.at(&["spec", "versions"]))
            .iter()
            .find(|one| text(one, &["name"]) == text(version, &["name"]));
        let unchanged = known.is_some_and(|known| known.get("schema") == version.get("schema"));
        let faulty = errors.0[words..].iter().map(|error| error.path.clone()).collect();
        validations::check(schema, &path, !unchanged, faulty, errors);
    }
    // What upstream cannot convert it told of already, if it told of anything.
    if let Some(why) = unstructured.filter(|_| errors.0.len() == before) {
        errors.invalid(path, quoted(""), &why);
    }
}

pub(super) fn names(names: &Value, path: &Path, errors: &mut ErrorList) {
    let labels = |names: &Value, member: &str, errors: &mut ErrorList| {
        for (at, name) in items(names.get(member)).iter().filter_map(Value::as_str).enumerate() {
            let faults = names::dns1035_label(name);
            if !faults.is_empty() {
                errors.invalid(path.child(member).index(at), quoted(name), &faults.join(","));
            }
        }
    };
    for member in ["plural", "singular"] {
        let name = text(names, &[member]);
        let faults = names::dns1035_label(name);
        if !name.is_empty() && !faults.is_empty() {
            errors.invalid(path.child(member), quoted(name), &faults.join(","));
        }
    }
    for member in ["kind", "listKind"] {
        let name = text(names, &[member]);
        let faults = names::dns1035_label(&name.to_lowercase());
        if !name.is_empty() && !faults.is_empty() {
            let words = format!("may have mixed case, but should otherwise match: {}", faults.join(","));
            errors.invalid(path.child(member), quoted(name), &words);
        }
    }
    labels(names, "shortNames", errors);
    let (kind, list_kind) = (text(names, &["kind"]), text(names, &["listKind"]));
    if !kind.is_empty() && kind == list_kind {
        errors.invalid(path.child("listKind"), quoted(list_kind), "kind and listKind may not be the same");
    }
    labels(names, "categories", errors);
}

fn stored_versions(definition: &Value, errors: &mut ErrorList) {
    let path = Path::new("status").child("storedVersions");
    let stored = definition.at(&["status", "storedVersions"]).unwrap_or(&Value::Null);
    if items(Some(stored)).is_empty() {
        errors.invalid(path, "null", "must have at least one stored version");
        return;
    }
    let versions = items(definition.at(&["spec", "versions"]));
    for version in versions {
        let name = text(version, &["name"]);
        if truth(version, "storage") && !items(Some(stored)).iter().any(|one| one.as_str() == Some(name)) {
            errors.invalid(path.clone(), go_value(stored), &format!("must have the storage version {name}"));
        }
    }
    for (at, name) in items(Some(stored)).iter().filter_map(Value::as_str).enumerate() {
        if !versions.iter().any(|version| text(version, &["name"]) == name) {
            let words = format!(
                "missing from spec.versions; {name} was previously a storage version, and must remain in \
                 spec.versions until a storage migration ensures no data remains persisted in {name} and removes \
                 {name} from status.storedVersions"
            );
            errors.invalid(path.index(at), quoted(name), &words);
        }
    }
}

/// Groups of Kubernetes' own need the word of those who review its API; what an old definition said
/// may stay.
fn api_approval(definition: &Value, old: Option<&Value>, errors: &mut ErrorList) {
    let (approval, why) = Approval::of(definition);
    let stays = old.is_some_and(|old| Approval::of(old).0 == approval);
    if stays || !approval::is_protected(text(definition, &["spec", "group"])) {
        return;
    }
    let path = Path::new("metadata").child("annotations").key(approval::ANNOTATION);
    match approval {
        Approval::Missing => errors.required(path, &why),
        Approval::Invalid => {
            let said = object::annotation(definition, approval::ANNOTATION).unwrap_or_default();
            errors.invalid(path, quoted(said), &why);
        }
        Approval::Bypassed | Approval::Approved => {}
    }
}

fn preserve_unknown_fields(definition: &Value, old: Option<&Value>, errors: &mut ErrorList) {
    let says =
        |definition: &Value| definition.at(&["spec", "preserveUnknownFields"]) == Some(&Value::Bool(true));
    if says(definition) && !old.is_some_and(says) {
        let words = "cannot set to true, set x-kubernetes-preserve-unknown-fields to true in \
                     spec.versions[*].schema instead";
        errors.invalid(Path::new("spec").child("preserveUnknownFields"), "true", words);
    }
}

fn is_established(definition: &Value) -> bool {
    items(definition.at(&["status", "conditions"]))
        .iter()
        .any(|one| text(one, &["type"]) == "Established" && text(one, &["status"]) == "True")
}

/// One of these words, which must be there.
pub(super) fn one_of(value: &str, words: &[&str], path: &Path, errors: &mut ErrorList) {
    match value {
        "" => errors.required(path.clone(), ""),
        value if words.contains(&value) => {}
        value => errors.not_supported(path.clone(), quoted(value), words),
    }
}

pub(super) fn is_absent(value: Option<&Value>) -> bool {
    value.is_none_or(Value::is_null)
}

pub(super) fn text<'a>(value: &'a Value, path: &[&str]) -> &'a str {
    value.text_at(path)
}

pub(super) fn truth(value: &Value, member: &str) -> bool {
    value.get(member).and_then(Value::as_bool).unwrap_or_default()
}

pub(super) fn truth_of(object: &Object, member: &str) -> bool {
    object.get(member).and_then(Value::as_bool).unwrap_or_default()
}

pub(super) fn items(value: Option<&Value>) -> &[Value] {
    value.and_then(Value::as_array).map_or(&[], Vec::as_slice)
}
