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
}

/// All that is compiled in.
pub fn catalogue() -> &'static apiwright_registry::Catalogue {
    &CATALOGUE
}

#[cfg(test)]
mod tests {
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
}
