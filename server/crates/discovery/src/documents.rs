//! The legacy discovery documents, as `meta.k8s.io/v1` objects.

use apiwright_json::{Object, Value};
use apiwright_registry::resource::{Kind, Verb};
use apiwright_registry::{Resource, Scope};
use apiwright_schema::{Table, Text};

use crate::source::{Content, Snapshot, Source};

pub(crate) fn api_versions(snapshot: &Snapshot, address: &str) -> Value {
    let versions: Vec<Value> = snapshot.group("").map(|one| one.version.as_str().into()).collect();
    let everywhere = object([("clientCIDR", "0.0.0.0/0".into()), ("serverAddress", address.into())]);
    object([
        ("kind", "APIVersions".into()),
        ("versions", versions.into()),
        ("serverAddressByClientCIDRs", vec![everywhere].into()),
    ])
}

pub(crate) fn api_group_list(snapshot: &Snapshot) -> Value {
    let groups = snapshot.groups().into_iter();
    let groups: Vec<Value> =
        groups.map(|(name, versions)| group(name, &versions, Object::new()).into()).collect();
    object([("kind", "APIGroupList".into()), ("apiVersion", "v1".into()), ("groups", groups.into())])
}

pub(crate) fn api_group(snapshot: &Snapshot, name: &str) -> Option<Value> {
    let versions = snapshot.versions(name);
    let head = Object::from_iter([("kind", "APIGroup"), ("apiVersion", "v1")]);
    (!versions.is_empty()).then(|| group(name, &versions, head).into())
}

pub(crate) fn api_resource_list(source: &Source) -> Value {
    let mut list = Object::new();
    list.push("kind", "APIResourceList");
    // The core group's list has no apiVersion, upstream's oldest oddity.
    if !source.group.is_empty() {
        list.push("apiVersion", "v1");
    }
    list.push("groupVersion", group_version(&source.group, &source.version));
    let resources = match &source.content {
        Content::Here(resources) => resources.as_slice(),
        // Its server has the document.
        Content::Told(_) => &[],
    };
    list.push("resources", resources.iter().flat_map(|one| api_resources(one)).collect::<Vec<_>>());
    list.into()
}

fn group(name: &str, versions: &[&str], mut document: Object) -> Object {
    let versions: Vec<Value> = versions
        .iter()
        .map(|version| {
            object([("groupVersion", group_version(name, version).into()), ("version", (*version).into())])
        })
        .collect();
    document.push("name", name);
    if let Some(preferred) = versions.first().cloned() {
        document.push("versions", versions);
        document.push("preferredVersion", preferred);
    }
    document
}

/// The `APIResource` of a resource and those of its subresources.
fn api_resources(resource: &Resource) -> Vec<Value> {
    let namespaced = resource.scope == Scope::Namespaced;
    let mut entries = Vec::with_capacity(1 + resource.subresources.len());
    if !resource.verbs.is_empty() {
        let mut entry = Object::new();
        entry.push("name", &*resource.plural);
        entry.push("singularName", &*resource.singular);
        entry.push("namespaced", namespaced);
        entry.push("kind", &*resource.kind);
        entry.push("verbs", verbs(&resource.verbs));
        push_texts(&mut entry, "shortNames", &resource.short_names);
        push_texts(&mut entry, "categories", &resource.categories);
        if !resource.storage.version_hash.is_empty() {
            entry.push("storageVersionHash", &*resource.storage.version_hash);
        }
        entries.push(entry.into());
    }
    for subresource in resource.subresources.iter() {
        let mut entry = Object::new();
        entry.push("name", format!("{}/{}", &*resource.plural, &*subresource.name));
        entry.push("singularName", "");
        entry.push("namespaced", namespaced);
        if !is_of(&subresource.kind, resource) {
            if !subresource.kind.group.is_empty() {
                entry.push("group", &*subresource.kind.group);
            }
            entry.push("version", &*subresource.kind.version);
        }
        entry.push("kind", &*subresource.kind.kind);
        entry.push("verbs", verbs(&subresource.verbs));
        entries.push(entry.into());
    }
    entries
}

/// Whether a kind belongs to the resource's own group version.
pub(crate) fn is_of(kind: &Kind, resource: &Resource) -> bool {
    *kind.group == *resource.group && *kind.version == *resource.version
}

pub(crate) fn verbs(verbs: &[Verb]) -> Vec<Value> {
    verbs.iter().map(|verb| verb.as_str().into()).collect()
}

pub(crate) fn push_texts(entry: &mut Object, name: &str, texts: &Table<Text>) {
    if !texts.is_empty() {
        entry.push(name, texts.iter().map(|text| Value::from(&**text)).collect::<Vec<_>>());
    }
}

pub(crate) fn object<const N: usize>(members: [(&str, Value); N]) -> Value {
    Value::Object(members.into_iter().collect())
}

fn group_version(group: &str, version: &str) -> String {
    if group.is_empty() { version.into() } else { format!("{group}/{version}") }
}
