//! The definitions that OpenAPI has and the specs have no type for: values that the language
//! brings, and bodies that are no objects.

use std::collections::BTreeSet;

use crate::descriptions::Descriptions;
use crate::ir::{Group, Node, Shape};

/// Bodies that the API takes and gives without a type using them.
const BODIES: [&str; 2] =
    ["io.k8s.apimachinery.pkg.apis.meta.v1.Patch", "io.k8s.apimachinery.pkg.version.Info"];

/// Those bodies and the values that types use, and what they mean.
pub(super) fn described(groups: &[Group], descriptions: &Descriptions) -> Vec<(String, String)> {
    let mut used = BTreeSet::from(BODIES);
    let types = groups.iter().flat_map(|group| &group.versions).flat_map(|version| &version.types);
    for field in types.flat_map(|one| &one.fields) {
        collect(&field.node, &mut used);
    }
    used.into_iter()
        .map(|definition| (definition, descriptions.of_type(definition)))
        .filter(|(_, doc)| !doc.is_empty())
        .map(|(definition, doc)| (definition.to_owned(), doc.to_owned()))
        .collect()
}

fn collect<'a>(node: &'a Node, used: &mut BTreeSet<&'a str>) {
    let definition = match &node.shape {
        Shape::List { item: inner, .. } | Shape::Map { value: inner, .. } => return collect(inner, used),
        Shape::Time => "io.k8s.apimachinery.pkg.apis.meta.v1.Time",
        Shape::MicroTime => "io.k8s.apimachinery.pkg.apis.meta.v1.MicroTime",
        Shape::Duration => "io.k8s.apimachinery.pkg.apis.meta.v1.Duration",
        Shape::Quantity => "io.k8s.apimachinery.pkg.api.resource.Quantity",
        Shape::IntOrString => "io.k8s.apimachinery.pkg.util.intstr.IntOrString",
        Shape::RawObject => "io.k8s.apimachinery.pkg.runtime.RawExtension",
        Shape::FieldsV1 => "io.k8s.apimachinery.pkg.apis.meta.v1.FieldsV1",
        Shape::Any(definition) => definition.as_str(),
        Shape::Bool
        | Shape::Int32
        | Shape::Int64
        | Shape::Double
        | Shape::String(_)
        | Shape::Bytes
        | Shape::Struct(_) => return,
    };
    used.insert(definition);
}
