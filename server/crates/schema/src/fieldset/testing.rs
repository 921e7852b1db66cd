//! A Deployment with the list and map types that apply merges by, and helpers to write sets.

use std::sync::Arc;

use apiwright_json::Value;

use super::Set;
use crate::table::{Field, List, ListKind, Map, Ref, Shape, Struct};
use crate::testing::{With, field, json, list, map, node, string, structure, text};

/// A list merged by keys.
pub(crate) fn keyed(item: Ref<Struct>, keys: &[&str]) -> Shape {
    let keys: Vec<_> = keys.iter().map(|key| text(key)).collect();
    Shape::List(Ref::Shared(Arc::new(List {
        item: node(Shape::Struct(item)),
        kind: ListKind::Map(Ref::Shared(keys.into())),
    })))
}

/// A set.
pub(crate) fn set_of(item: Shape) -> Shape {
    Shape::List(Ref::Shared(Arc::new(List { item: node(item), kind: ListKind::Set })))
}

/// A map that is one value.
pub(crate) fn atomic_map(value: Shape) -> Shape {
    Shape::Map(Ref::Shared(Arc::new(Map { value: node(value), atomic: true })))
}

/// A type that is one value.
pub(crate) fn atomic(name: &str, fields: Vec<Field>) -> Ref<Struct> {
    let Ref::Shared(ty) = structure(name, fields) else { unreachable!("made at run time") };
    let mut ty = Arc::into_inner(ty).expect("nobody else has it yet");
    ty.atomic = true;
    Ref::Shared(Arc::new(ty))
}

/// A type that keeps members it does not know.
pub(crate) fn open(name: &str, fields: Vec<Field>) -> Ref<Struct> {
    let Ref::Shared(ty) = structure(name, fields) else { unreachable!("made at run time") };
    let mut ty = Arc::into_inner(ty).expect("nobody else has it yet");
    ty.unknown = crate::table::Unknown::Keep;
    Ref::Shared(Arc::new(ty))
}

/// `ObjectMeta`.
pub(crate) fn meta() -> Ref<Struct> {
    let owner = structure(
        "OwnerReference",
        vec![
            field("apiVersion", string()).keep(),
            field("kind", string()).keep(),
            field("name", string()).keep(),
            field("uid", string()).keep(),
        ],
    );
    let entry = structure("ManagedFieldsEntry", vec![field("manager", string())]);
    structure(
        "ObjectMeta",
        vec![
            field("name", string()),
            field("namespace", string()),
            field("uid", string()),
            field("resourceVersion", string()),
            field("generation", Shape::Int64),
            field("creationTimestamp", Shape::Time),
            field("labels", map(string())),
            field("annotations", map(string())),
            field("ownerReferences", keyed(owner, &["uid"])),
            field("finalizers", set_of(string())),
            field("managedFields", list(Shape::Struct(entry))),
        ],
    )
}

/// A top-level kind.
pub(crate) fn kind(name: &str, fields: Vec<Field>) -> Ref<Struct> {
    let mut all = vec![
        field("kind", string()),
        field("apiVersion", string()),
        field("metadata", Shape::Struct(meta())),
    ];
    all.extend(fields);
    structure(name, all)
}

/// A `ConfigMap`.
pub(crate) fn config_map() -> Ref<Struct> {
    kind("ConfigMap", vec![field("data", map(string())), field("binaryData", map(Shape::Bytes))])
}

/// A custom resource without a schema.
pub(crate) fn custom() -> Ref<Struct> {
    let mut fields = vec![
        field("kind", string()),
        field("apiVersion", string()),
        field("metadata", Shape::Struct(meta())),
    ];
    fields.push(field("spec", Shape::Any(text(""))).pointer());
    open("", fields)
}

/// A Deployment.
pub(crate) fn deployment() -> Ref<Struct> {
    let port = structure(
        "ContainerPort",
        vec![
            field("name", string()),
            field("containerPort", Shape::Int32).keep(),
            field("protocol", string()).default("\"TCP\""),
        ],
    );
    let variable = structure("EnvVar", vec![field("name", string()).keep(), field("value", string())]);
    let resources = structure(
        "ResourceRequirements",
        vec![field("limits", map(Shape::Quantity)), field("requests", map(Shape::Quantity))],
    );
    let container = structure(
        "Container",
        vec![
            field("name", string()).keep(),
            field("image", string()),
            field("args", list(string())),
            field("ports", keyed(port, &["containerPort", "protocol"])),
            field("env", keyed(variable, &["name"])),
            field("resources", Shape::Struct(resources)),
            field("tty", Shape::Bool),
        ],
    );
    let pod = structure(
        "PodSpec",
        vec![
            field("containers", keyed(container, &["name"])).keep(),
            field("nodeSelector", atomic_map(string())),
            field(
                "securityContext",
                Shape::Struct(structure(
                    "PodSecurityContext",
                    vec![field("runAsUser", Shape::Int64).pointer()],
                )),
            )
            .pointer(),
        ],
    );
    let template = structure(
        "PodTemplateSpec",
        vec![field("metadata", Shape::Struct(meta())), field("spec", Shape::Struct(pod))],
    );
    let selector = atomic("LabelSelector", vec![field("matchLabels", map(string()))]);
    let strategy = structure("DeploymentStrategy", vec![field("type", string())]);
    let spec = structure(
        "DeploymentSpec",
        vec![
            field("replicas", Shape::Int32).pointer(),
            field("selector", Shape::Struct(selector)).pointer().keep(),
            field("template", Shape::Struct(template)).keep(),
            field("strategy", Shape::Struct(strategy)),
        ],
    );
    let condition = structure(
        "DeploymentCondition",
        vec![field("type", string()).keep(), field("status", string()).keep()],
    );
    let status = structure(
        "DeploymentStatus",
        vec![field("replicas", Shape::Int32), field("conditions", keyed(condition, &["type"]))],
    );
    kind("Deployment", vec![field("spec", Shape::Struct(spec)), field("status", Shape::Struct(status))])
}

/// A set from its `FieldsV1` text.
pub(crate) fn set(fields: &str) -> Set {
    Set::from_fields(&json(fields)).expect("a set")
}

/// A set's `FieldsV1` text.
pub(crate) fn shown(set: &Set) -> String {
    apiwright_json::to_string(&set.to_fields())
}

/// A set's paths, in the order in which they are visited.
pub(crate) fn paths(set: &Set) -> Vec<String> {
    let mut paths = Vec::new();
    set.for_each(&mut |path| paths.push(path.iter().map(ToString::to_string).collect()));
    paths
}

/// A value from JSON.
pub(crate) fn value(text: &str) -> Value {
    json(text)
}
