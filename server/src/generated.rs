//! What api-specs became: the types, the resources and the catalogue over them, as statics.

#![allow(clippy::unreadable_literal, clippy::large_stack_arrays, clippy::too_many_lines, missing_docs)]

/// Includes what a build script made of specs with `apiwright_codegen::build`: the statics
/// `CATALOGUE` and, where the specs have them, `CHAIN` and `BOOTSTRAP`.
#[macro_export]
macro_rules! include_specs {
    () => {
        include!(concat!(env!("OUT_DIR"), "/mod.rs"));
    };
}

include_specs!();

/// The names that the generated tables are written with.
pub mod prelude {
    pub use apiwright_registry::catalogue::{Catalogue, Group, KindType, Version};
    pub use apiwright_registry::hooks::NoHooks;
    pub use apiwright_registry::resource::{
        Column, ColumnValue, Conversion, Kind, NameRule, Resource, Scope, Selectable, StorageSpec, Strategy,
        Subresource, SubresourceKind, TemplatePart, Verb,
    };
    pub use apiwright_schema::Ref::Static;
    pub use apiwright_schema::table::{
        Field, List, ListKind, Map, Node, Patch, Plan, Proto, Rule, Shape, Struct, Text, Union, Unknown,
    };

    /// The names that the generated structs are written with.
    pub mod typed {
        pub use std::collections::BTreeMap;

        pub use apiwright_registry::typed::{
            Any, Bytes, Duration, IntOrString, MicroTimestamp, Quantity, Timestamp, is_default,
            null_as_default,
        };
        pub use serde::{Deserialize, Serialize};
    }
}

/// All that is compiled in.
pub fn catalogue() -> &'static apiwright_registry::Catalogue {
    &CATALOGUE
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use apiwright_schema::table::Shape;

    use super::catalogue;

    #[test]
    fn what_is_sorted_can_be_found() {
        let catalogue = catalogue();
        for kind in &*catalogue.kinds {
            let found = catalogue.kind(&kind.kind.group, &kind.kind.version, &kind.kind.kind);
            assert!(found.is_some_and(|found| std::ptr::eq(found.schema, kind.schema)), "{:?}", kind.kind);
        }
        for schema in &*catalogue.types {
            let found = catalogue.definition(&schema.name);
            assert!(found.is_some_and(|found| std::ptr::eq(found, *schema)), "{}", &*schema.name);
            for field in &*schema.fields {
                let found = schema.field(&field.name);
                assert!(
                    found.is_some_and(|found| std::ptr::eq(found, field)),
                    "{}.{}",
                    &*schema.name,
                    &*field.name
                );
            }
        }
    }

    #[test]
    fn every_resource_has_its_kind() {
        for version in catalogue().groups.iter().flat_map(|group| &*group.versions) {
            for resource in &*version.resources {
                let kind = catalogue().kind(&resource.group, &resource.version, &resource.kind);
                assert!(
                    kind.is_some_and(|kind| std::ptr::eq(kind.schema, &raw const *resource.schema)),
                    "{}",
                    &*resource.plural
                );
                for sub in &*resource.subresources {
                    let known = catalogue().kind(&sub.kind.group, &sub.kind.version, &sub.kind.kind);
                    assert!(known.is_some(), "{}/{}", &*resource.plural, &*sub.name);
                }
                assert!(
                    resource.list_kind.is_empty()
                        || catalogue()
                            .kind(&resource.group, &resource.version, &resource.list_kind)
                            .is_some(),
                    "{}",
                    &*resource.plural,
                );
            }
        }
    }

    #[test]
    fn what_is_served_by_default_is_what_kubernetes_serves() {
        let served: Vec<String> =
            catalogue().served().map(apiwright_registry::catalogue::Version::group_version).collect();
        assert_eq!(
            served,
            [
                "apiregistration.k8s.io/v1",
                "v1",
                "apps/v1",
                "events.k8s.io/v1",
                "authentication.k8s.io/v1",
                "authorization.k8s.io/v1",
                "autoscaling/v2",
                "autoscaling/v1",
                "batch/v1",
                "certificates.k8s.io/v1",
                "networking.k8s.io/v1",
                "policy/v1",
                "rbac.authorization.k8s.io/v1",
                "storage.k8s.io/v1",
                "admissionregistration.k8s.io/v1",
                "apiextensions.k8s.io/v1",
                "scheduling.k8s.io/v1",
                "coordination.k8s.io/v1",
                "node.k8s.io/v1",
                "discovery.k8s.io/v1",
                "resource.k8s.io/v1",
                "flowcontrol.apiserver.k8s.io/v1",
            ]
        );
    }

    /// What a schema says a field is: a JSON type, a format where there is one, what it refers to.
    fn said(schema: &serde_json::Value, definitions: &serde_json::Map<String, serde_json::Value>) -> String {
        let mut schema = schema;
        if let Some(any) = schema["anyOf"].as_array() {
            schema = &any[0];
        }
        if let Some(name) = schema["$ref"].as_str().and_then(|path| path.rsplit('/').next()) {
            return format!("object {}", definitions[name]["title"].as_str().unwrap_or(name));
        }
        let kind = match &schema["type"] {
            serde_json::Value::Array(kinds) => kinds[0].as_str(),
            kind => kind.as_str(),
        };
        match kind {
            Some("array") => format!("[]{}", said(&schema["items"], definitions)),
            Some("object") => format!("map of {}", said(&schema["additionalProperties"], definitions)),
            Some(kind) => format!("{kind} {}", schema["format"].as_str().unwrap_or_default()),
            None => "any".into(),
        }
    }

    /// The same of a spec's field.
    fn meant(shape: &Shape) -> String {
        match shape {
            Shape::Bool => "boolean ".into(),
            Shape::Int32 => "integer int32".into(),
            Shape::Int64 => "integer int64".into(),
            Shape::Double => "number double".into(),
            Shape::String(_) | Shape::Duration | Shape::Quantity => "string ".into(),
            Shape::Bytes => "string byte".into(),
            Shape::Time | Shape::MicroTime => "string date-time".into(),
            Shape::IntOrString => "string int-or-string".into(),
            Shape::List(list) => format!("[]{}", meant(&list.item.shape)),
            Shape::Map(map) => format!("map of {}", meant(&map.value.shape)),
            Shape::Struct(of) => format!("object {}", of.name.rsplit('.').next().unwrap_or_default()),
            _ => "any".into(),
        }
    }

    #[test]
    fn structs_hold_what_their_specs_say() {
        let mut generator = schemars::SchemaGenerator::default();
        for (_, schema) in super::typed::SCHEMAS {
            schema(&mut generator);
        }
        let definitions = generator.take_definitions(true);
        for (table, _) in super::typed::SCHEMAS {
            let name = table.name.rsplit('.').next().expect("a name");
            let schema = &definitions[name];
            let ours: BTreeMap<String, String> = schema["properties"]
                .as_object()
                .expect(name)
                .iter()
                .map(|(field, schema)| (field.clone(), said(schema, &definitions)))
                .collect();
            let is_kind = catalogue().kinds.iter().any(|kind| std::ptr::eq(kind.schema, *table));
            let theirs: BTreeMap<String, String> = table
                .fields
                .iter()
                .filter(|field| !is_kind || !matches!(&*field.name, "kind" | "apiVersion"))
                .map(|field| (field.name.to_string(), meant(&field.node.shape)))
                .collect();
            assert_eq!(ours, theirs, "{name}");
        }
    }
}
