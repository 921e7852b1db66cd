//! The aggregated document, `apidiscovery.k8s.io/v2 APIGroupDiscoveryList`.

use std::sync::Arc;

use apiwright_json::{Object, Value, to_bytes};
use apiwright_registry::resource::{Kind, Subresource};
use apiwright_registry::{Resource, Scope};
use bytes::Bytes;

use crate::documents::{is_of, object, push_texts, verbs};
use crate::source::{Content, Freshness, Source};

/// The document, encoded, and its entity tag.
#[derive(Clone, Debug)]
pub struct Aggregated {
    /// As a value, for encodings other than JSON.
    pub value: Value,
    /// As JSON, with a newline at the end as kube-apiserver's encoder leaves one.
    pub json: Bytes,
    /// The entity tag, quotes included.
    pub etag: String,
}

pub(crate) fn build<'a>(sources: impl Iterator<Item = &'a Arc<Source>>) -> Aggregated {
    let mut items: Vec<(&str, Vec<Value>)> = Vec::new();
    for source in sources {
        let version = version(source);
        match items.last_mut() {
            Some((group, versions)) if *group == source.group => versions.push(version),
            _ => items.push((&source.group, vec![version])),
        }
    }
    let items: Vec<Value> = items
        .into_iter()
        .map(|(group, versions)| {
            let mut metadata = Object::new();
            if !group.is_empty() {
                metadata.push("name", group);
            }
            object([("metadata", metadata.into()), ("versions", versions.into())])
        })
        .collect();
    let value = object([
        ("kind", "APIGroupDiscoveryList".into()),
        ("apiVersion", "apidiscovery.k8s.io/v2".into()),
        ("metadata", Object::new().into()),
        ("items", items.into()),
    ]);
    let mut json = Vec::new();
    to_bytes(&value, &mut json);
    json.push(b'\n');
    let etag = entity_tag(&json);
    Aggregated { value, json: json.into(), etag }
}

/// A quoted hash of the content, in capital hex digits as upstream's.
pub fn entity_tag(content: &[u8]) -> String {
    let digest = ring::digest::digest(&ring::digest::SHA256, content);
    let hex: String = digest.as_ref().iter().map(|byte| format!("{byte:02X}")).collect();
    format!("\"{hex}\"")
}

fn version(source: &Source) -> Value {
    let resources: Vec<Value> = match &source.content {
        Content::Here(resources) => resources.iter().map(|one| resource(one)).collect(),
        Content::Told(resources) => resources.to_vec(),
    };
    let mut version = Object::new();
    version.push("version", source.version.as_str());
    if !resources.is_empty() {
        version.push("resources", resources);
    }
    version.push(
        "freshness",
        match source.freshness {
            Freshness::Current => "Current",
            Freshness::Stale => "Stale",
        },
    );
    version.into()
}

fn resource(resource: &Resource) -> Value {
    let mut entry = Object::new();
    entry.push("resource", &*resource.plural);
    if !resource.verbs.is_empty() {
        let (group, version) = own(resource);
        entry.push("responseKind", response_kind(group, version, &resource.kind));
    }
    entry.push("scope", if resource.scope == Scope::Namespaced { "Namespaced" } else { "Cluster" });
    entry.push("singularResource", &*resource.singular);
    entry.push("verbs", verbs(&resource.verbs));
    push_texts(&mut entry, "shortNames", &resource.short_names);
    push_texts(&mut entry, "categories", &resource.categories);
    if !resource.subresources.is_empty() {
        let subresources: Vec<Value> =
            resource.subresources.iter().map(|one| subresource(one, resource)).collect();
        entry.push("subresources", subresources);
    }
    entry.into()
}

fn subresource(subresource: &Subresource, resource: &Resource) -> Value {
    let Kind { group, version, kind } = &subresource.kind;
    let kind = if is_of(&subresource.kind, resource) {
        let (group, version) = own(resource);
        response_kind(group, version, kind)
    } else {
        response_kind(group, version, kind)
    };
    object([
        ("subresource", (&*subresource.name).into()),
        ("responseKind", kind),
        ("verbs", verbs(&subresource.verbs).into()),
    ])
}

/// How a resource's own group version is told: upstream leaves it out but for custom resources.
fn own(resource: &Resource) -> (&str, &str) {
    if resource.is_custom() { (&resource.group, &resource.version) } else { ("", "") }
}

fn response_kind(group: &str, version: &str, kind: &str) -> Value {
    object([("group", group.into()), ("version", version.into()), ("kind", kind.into())])
}
