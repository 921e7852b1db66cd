//! The specs hold what is known of Kubernetes' own API: every type, field, number, default and
//! verb. The facts are extracts of a real server's schemas and discovery; they lie beside the
//! repository where its maintainers work, and where they do not, these tests have nothing to say.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use apiwright_codegen::descriptions::Descriptions;
use apiwright_codegen::diagnostic::Diagnostics;
use apiwright_codegen::ir::{Field, Ir, ListKind, Resource, Rule, Shape, Struct, Verb, Version};
use apiwright_codegen::{check, lower, parse};
use serde_json::Value;

/// Definitions that are values of the language here, not structs.
const BUILT_IN: &[(&str, &str)] = &[
    ("io.k8s.apimachinery.pkg.api.resource.Quantity", "quantity"),
    ("io.k8s.apimachinery.pkg.apis.meta.v1.FieldsV1", "fieldsV1"),
    ("io.k8s.apimachinery.pkg.apis.meta.v1.MicroTime", "microTime"),
    ("io.k8s.apimachinery.pkg.apis.meta.v1.Patch", "patch"),
    ("io.k8s.apimachinery.pkg.apis.meta.v1.Time", "time"),
    ("io.k8s.apimachinery.pkg.runtime.RawExtension", "rawObject"),
    ("io.k8s.apimachinery.pkg.util.intstr.IntOrString", "intOrString"),
    ("io.k8s.apimachinery.pkg.version.Info", "info"),
];

#[test]
fn types_are_those_of_the_facts() {
    let Some(facts) = facts("types.json") else { return };
    let ir = ir();
    let types: BTreeMap<&str, &Struct> =
        versions(&ir).flat_map(|version| &version.types).map(|one| (one.definition.as_str(), one)).collect();
    let mut differences = Vec::new();
    for (name, fact) in facts.as_object().unwrap() {
        let is_any = fact["type"] == "any";
        if is_any || BUILT_IN.iter().any(|(built_in, _)| built_in == name) {
            continue;
        }
        match types.get(name.as_str()) {
            None => differences.push(format!("{name}: missing")),
            Some(one) => compare_type(one, fact, &mut differences),
        }
    }
    assert!(differences.is_empty(), "{} differences:\n{}", differences.len(), differences.join("\n"));
}

#[test]
fn resources_are_those_of_discovery() {
    let Some(folder) = facts_folder() else { return };
    let ir = ir();
    let mut differences = Vec::new();
    let mut seen = BTreeSet::new();
    for entry in fs::read_dir(folder.join("discovery-all")).unwrap() {
        let document: Value =
            serde_json::from_str(&fs::read_to_string(entry.unwrap().path()).unwrap()).unwrap();
        if document["kind"] != "APIResourceList" {
            continue;
        }
        let group_version = document["groupVersion"].as_str().unwrap();
        let Some(version) = versions(&ir).find(|one| qualified(&one.group, &one.name) == group_version)
        else {
            differences.push(format!("{group_version}: missing"));
            continue;
        };
        seen.insert(group_version.to_owned());
        let facts: BTreeMap<&str, &Value> = document["resources"]
            .as_array()
            .unwrap()
            .iter()
            .map(|one| (one["name"].as_str().unwrap(), one))
            .collect();
        let ours = version.resources.iter().flat_map(|one| {
            let subresources = one.subresources.iter().map(move |sub| format!("{}/{}", one.plural, sub.name));
            std::iter::once(one.plural.clone()).chain(subresources)
        });
        let ours: BTreeSet<String> = ours.collect();
        let theirs: BTreeSet<String> = facts.keys().map(|name| (*name).to_owned()).collect();
        for name in ours.symmetric_difference(&theirs) {
            differences.push(format!("{group_version} {name}: only in one of spec and facts"));
        }
        for resource in &version.resources {
            compare_resource(group_version, resource, &facts, &mut differences);
        }
    }
    for version in versions(&ir).filter(|version| !version.resources.is_empty()) {
        let group_version = qualified(&version.group, &version.name);
        if !seen.contains(&group_version) {
            differences.push(format!("{group_version}: not in the facts"));
        }
    }
    assert!(differences.is_empty(), "{} differences:\n{}", differences.len(), differences.join("\n"));
}

#[test]
fn priorities_are_those_of_apiservices() {
    let Some(facts) = facts("apiservice-priorities.json") else { return };
    let ir = ir();
    for fact in facts.as_array().unwrap() {
        let (group, version) = (fact["group"].as_str().unwrap(), fact["version"].as_str().unwrap());
        let Some(found) = versions(&ir).find(|one| one.group == group && one.name == version) else {
            continue;
        };
        let of_group = ir.groups.iter().find(|one| one.name == group).unwrap();
        assert_eq!(of_group.priority, fact["groupPriorityMinimum"].as_i64(), "{group}");
        assert_eq!(Some(found.priority), fact["versionPriority"].as_i64(), "{group}/{version}");
    }
}

fn compare_type(one: &Struct, fact: &Value, differences: &mut Vec<String>) {
    let mut differ = |what: String| differences.push(format!("{}: {what}", one.definition));
    let empty = serde_json::Map::new();
    let facts = fact["fields"].as_object().unwrap_or(&empty);
    let ours: BTreeMap<&str, &Field> = one.fields.iter().map(|field| (field.name.as_str(), field)).collect();
    for name in facts.keys().filter(|name| !ours.contains_key(name.as_str())) {
        differ(format!("{name} is missing"));
    }
    if one.atomic != (fact["map-type"] == "atomic") {
        differ("atomic differs".into());
    }
    if one.unions.len() != fact["unions"].as_array().map_or(0, Vec::len) {
        differ("unions differ".into());
    }
    for (name, field) in ours {
        let Some(fact) = facts.get(name) else {
            differ(format!("{name} is no field"));
            continue;
        };
        for (what, ours, theirs) in aspects(field, fact) {
            if ours != theirs {
                differ(format!("{name}: {what} is {ours}, should be {theirs}"));
            }
        }
    }
}

/// What is compared of a field: what it is, what the spec says, what the facts say.
fn aspects(field: &Field, fact: &Value) -> Vec<(&'static str, String, String)> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let (list_type, keys) = match &field.node.shape {
        Shape::List { kind: ListKind::Set, .. } => ("set", &[][..]),
        Shape::List { kind: ListKind::Map(keys), .. } => ("map", keys.as_slice()),
        _ => ("", &[][..]),
    };
    // A list without a type is an atomic one; bytes are no list here.
    let their_list_type = text(&fact["list-type"]).replace("atomic", "");
    let their_keys: Vec<String> = fact["list-map-keys"].as_array().into_iter().flatten().map(text).collect();
    let patch =
        field.patch.as_ref().map_or_else(String::new, |patch| match (patch.merge, patch.retain_keys) {
            (true, true) => "merge,retainKeys".into(),
            (true, false) => "merge".into(),
            (false, true) => "retainKeys".into(),
            (false, false) => "replace".into(),
        });
    let mut their_patch: Vec<String> = text(&fact["patch-strategy"]).split(',').map(Into::into).collect();
    their_patch.sort();
    let atomic_map = matches!(field.node.shape, Shape::Map { atomic: true, .. });
    let mut aspects = vec![
        ("type", shape(&field.node.shape), their_shape(&text(&fact["type"]))),
        ("required", field.required.to_string(), (fact["required"] == true).to_string()),
        ("default", told(field.node.default.clone()), told(fact.get("default").map(Value::to_string))),
        ("list type", list_type.into(), their_list_type),
        ("keys", keys.join(","), their_keys.join(",")),
        ("patch strategy", patch, their_patch.join(",")),
        (
            "patch key",
            field.patch.as_ref().map_or_else(String::new, |patch| patch.key.clone()),
            text(&fact["patch-merge-key"]),
        ),
    ];
    if let Some(theirs) = fact["enum"].as_array() {
        let mut theirs: Vec<String> = theirs.iter().map(Value::to_string).collect();
        theirs.sort();
        aspects.push(("values", values(field).join(","), theirs.join(",")));
    }
    if let Shape::Map { .. } = field.node.shape {
        aspects.push(("atomic map", atomic_map.to_string(), (fact["map-type"] == "atomic").to_string()));
    }
    if let Some(number) = fact["pb"].as_u64() {
        // A list may be a message of its own; then that message has the number.
        let ours = field.proto.as_ref().map(|(number, within)| u64::from(*within.first().unwrap_or(number)));
        aspects.push(("protobuf number", format!("{ours:?}"), format!("{:?}", Some(number))));
    }
    if fact["pointer"] == true {
        aspects.push(("pointer", field.pointer.to_string(), "true".into()));
    }
    aspects
}

/// A default as the facts tell it: they leave out those that are the type's zero, which the
/// comparison of the OpenAPI documents sees.
fn told(default: Option<String>) -> String {
    default.filter(|text| !matches!(text.as_str(), "\"\"" | "0" | "false")).unwrap_or_default()
}

/// The values that a field is known to have, enforced or not.
fn values(field: &Field) -> Vec<String> {
    let rules = match &field.node.shape {
        Shape::List { item, .. } => &item.rules,
        _ => &field.node.rules,
    };
    let known =
        rules.iter().find_map(|rule| if let Rule::Published(values) = rule { Some(values) } else { None });
    let enforced =
        rules.iter().find_map(|rule| if let Rule::Enum(values) = rule { Some(values) } else { None });
    let mut values = known.or(enforced).cloned().unwrap_or_default();
    values.sort();
    values
}

/// A shape as the facts would write it, with module and constant for a struct's name.
fn shape(of: &Shape) -> String {
    match of {
        Shape::Bool => "boolean".into(),
        Shape::Int32 => "integer/int32".into(),
        Shape::Int64 => "integer/int64".into(),
        Shape::Double => "number/double".into(),
        Shape::String(_) => "string".into(),
        Shape::Bytes => "string/byte".into(),
        Shape::Time => "time".into(),
        Shape::MicroTime => "microTime".into(),
        Shape::Duration => "duration".into(),
        Shape::Quantity => "quantity".into(),
        Shape::IntOrString => "intOrString".into(),
        Shape::RawObject => "rawObject".into(),
        Shape::FieldsV1 => "fieldsV1".into(),
        Shape::Any(name) => name.rsplit('.').next().unwrap_or_default().into(),
        Shape::List { item, .. } => format!("[]{}", shape(&item.shape)),
        Shape::Map { value, .. } => format!("map[string]{}", shape(&value.shape)),
        Shape::Struct(of) => of.ident.replace('_', "").to_lowercase(),
    }
}

fn their_shape(text: &str) -> String {
    for wrapper in ["[]", "map[string]"] {
        if let Some(inner) = text.strip_prefix(wrapper) {
            return format!("{wrapper}{}", their_shape(inner));
        }
    }
    if let Some((_, built_in)) = BUILT_IN.iter().find(|(name, _)| *name == text) {
        return (*built_in).into();
    }
    match text.rsplit_once('.') {
        None => text.into(),
        Some((_, name)) if name.starts_with("JSON") && name != "JSONSchemaProps" && name != "JSONPatch" => {
            name.into()
        }
        Some((_, name)) => name.to_lowercase(),
    }
}

fn compare_resource(
    group_version: &str,
    one: &Resource,
    facts: &BTreeMap<&str, &Value>,
    differences: &mut Vec<String>,
) {
    let mut compare = |name: &str, what: &str, ours: String, theirs: String| {
        if ours != theirs {
            differences.push(format!("{group_version} {name}: {what} is {ours}, should be {theirs}"));
        }
    };
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let texts = |value: &Value| {
        let mut all: Vec<String> = value.as_array().into_iter().flatten().map(text).collect();
        all.sort();
        all.join(",")
    };
    let sorted = |names: &[String]| {
        let mut names = names.to_vec();
        names.sort();
        names.join(",")
    };
    if let Some(fact) = facts.get(one.plural.as_str()) {
        compare(&one.plural, "kind", one.kind.kind.clone(), text(&fact["kind"]));
        compare(&one.plural, "singular", one.singular.clone(), text(&fact["singularName"]));
        compare(&one.plural, "namespaced", one.namespaced.to_string(), fact["namespaced"].to_string());
        compare(&one.plural, "verbs", verbs(&one.verbs), texts(&fact["verbs"]));
        compare(&one.plural, "short names", sorted(&one.short_names), texts(&fact["shortNames"]));
        compare(&one.plural, "categories", sorted(&one.categories), texts(&fact["categories"]));
        compare(&one.plural, "storage hash", one.storage.hash.clone(), text(&fact["storageVersionHash"]));
    }
    for sub in &one.subresources {
        let name = format!("{}/{}", one.plural, sub.name);
        let Some(fact) = facts.get(name.as_str()) else { continue };
        compare(&name, "kind", sub.kind.kind.clone(), text(&fact["kind"]));
        compare(&name, "verbs", verbs(&sub.verbs), texts(&fact["verbs"]));
        if fact.get("version").is_some() {
            let ours = qualified(&sub.kind.group, &sub.kind.version);
            compare(&name, "group version", ours, qualified(&text(&fact["group"]), &text(&fact["version"])));
        }
    }
}

fn verbs(of: &[Verb]) -> String {
    let names =
        of.iter().filter_map(|verb| Verb::ALL.iter().find(|(_, one)| one == verb)).map(|(name, _)| *name);
    names.collect::<Vec<_>>().join(",")
}

fn qualified(group: &str, version: &str) -> String {
    if group.is_empty() { version.into() } else { format!("{group}/{version}") }
}

fn versions(ir: &Ir) -> impl Iterator<Item = &Version> {
    ir.groups.iter().flat_map(|group| &group.versions)
}

fn ir() -> Ir {
    let specs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../api-specs");
    let mut problems = Diagnostics::default();
    let parsed = parse::read(&specs, &mut problems);
    check::check(&parsed.spec, &mut problems);
    assert!(problems.is_empty(), "{problems}");
    lower::lower(&parsed.spec, &Descriptions::none())
}

fn facts(name: &str) -> Option<Value> {
    let text = fs::read_to_string(facts_folder()?.join(name)).unwrap();
    Some(serde_json::from_str(&text).unwrap())
}

fn facts_folder() -> Option<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/facts");
    if !folder.is_dir() {
        eprintln!("skipped: {} is not there", folder.display());
        return None;
    }
    Some(folder)
}
