//! Small schemas for the tests of this crate, made by hand at run time.

use std::sync::Arc;

use apiwright_json::Value;

use crate::table::{Patch, Plan, Unknown};
use crate::{Field, List, ListKind, Map, Node, Ref, Rule, Shape, Struct};

/// A type with these fields.
pub(crate) fn structure(name: &str, fields: Vec<Field>) -> Ref<Struct> {
    let mut by_name: Vec<u16> = (0..fields.len() as u16).collect();
    by_name.sort_by(|a, b| (*fields[*a as usize].name).cmp(&*fields[*b as usize].name));
    Ref::Shared(Arc::new(Struct {
        name: text(name),
        doc: text(""),
        fields: Ref::Shared(fields.into()),
        by_name: Ref::Shared(by_name.into()),
        unknown: Unknown::Drop,
        atomic: false,
        unions: Ref::Static(&[]),
        plan: Plan::new(),
    }))
}

/// An anonymous type that keeps what it does not know.
pub(crate) fn keeping(fields: Vec<Field>) -> Ref<Struct> {
    let Ref::Shared(ty) = structure("", fields) else { unreachable!("made at run time") };
    match Arc::try_unwrap(ty) {
        Ok(ty) => Ref::Shared(Arc::new(Struct { unknown: Unknown::Keep, ..ty })),
        Err(_) => unreachable!("nobody else has it"),
    }
}

/// A field, `omitempty` and no pointer.
pub(crate) fn field(name: &str, shape: Shape) -> Field {
    Field {
        name: text(name),
        doc: text(""),
        node: node(shape),
        required: false,
        pointer: false,
        keep: false,
        patch: None,
        proto: None,
    }
}

/// Refinements of a field.
pub(crate) trait With: Sized {
    fn field(&mut self) -> &mut Field;
    /// A pointer in Go.
    fn pointer(mut self) -> Self {
        self.field().pointer = true;
        self
    }
    /// No `omitempty` in Go.
    fn keep(mut self) -> Self {
        self.field().keep = true;
        self
    }
    /// `null` is a value.
    fn nullable(mut self) -> Self {
        self.field().node.nullable = true;
        self
    }
    /// A published default.
    fn default(mut self, json: &str) -> Self {
        self.field().node.default = Some(text(json));
        self
    }
    /// An unpublished default.
    fn fill(mut self, json: &str) -> Self {
        self.field().node.fill = Some(text(json));
        self
    }
    /// Something it must satisfy.
    fn rules(mut self, rules: Vec<Rule>) -> Self {
        self.field().node.rules = Ref::Shared(rules.into());
        self
    }
    /// `patchStrategy:"merge" patchMergeKey:"…"`.
    fn merge(mut self, key: &str) -> Self {
        self.field().patch = Some(Patch { merge: true, retain_keys: false, key: text(key) });
        self
    }
    /// `patchStrategy:"merge,retainKeys"`.
    fn merge_retain_keys(mut self, key: &str) -> Self {
        self.field().patch = Some(Patch { merge: true, retain_keys: true, key: text(key) });
        self
    }
    /// `patchStrategy:"retainKeys"`.
    fn retain_keys(mut self) -> Self {
        self.field().patch = Some(Patch { merge: false, retain_keys: true, key: text("") });
        self
    }
}

impl With for Field {
    fn field(&mut self) -> &mut Field {
        self
    }
}

/// A place without rules and defaults.
pub(crate) fn node(shape: Shape) -> Node {
    Node { shape, nullable: false, default: None, fill: None, rules: Ref::Static(&[]) }
}

/// A string type without a name.
pub(crate) fn string() -> Shape {
    Shape::String(text(""))
}

/// An atomic list.
pub(crate) fn list(item: Shape) -> Shape {
    list_of(node(item), ListKind::Atomic)
}

/// A list of any kind.
pub(crate) fn list_of(item: Node, kind: ListKind) -> Shape {
    Shape::List(Ref::Shared(Arc::new(List { item, kind })))
}

/// A granular map.
pub(crate) fn map(value: Shape) -> Shape {
    Shape::Map(Ref::Shared(Arc::new(Map { value: node(value), atomic: false })))
}

/// A text made at run time.
pub(crate) fn text(text: &str) -> Ref<str> {
    Ref::Shared(text.into())
}

/// A value from JSON.
pub(crate) fn json(text: &str) -> Value {
    match apiwright_json::decode(text.as_bytes()) {
        Ok((value, _)) => value,
        Err(fault) => panic!("{fault} in {text}"),
    }
}

/// `ObjectMeta`, as far as the tests go.
pub(crate) fn object_meta() -> Ref<Struct> {
    let owner = structure(
        "io.k8s.apimachinery.pkg.apis.meta.v1.OwnerReference",
        vec![
            field("apiVersion", string()).keep(),
            field("kind", string()).keep(),
            field("name", string()).keep(),
            field("uid", string()).keep(),
            field("controller", Shape::Bool).pointer(),
        ],
    );
    structure(
        "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta",
        vec![
            field("name", string()),
            field("namespace", string()),
            field("uid", Shape::String(text("types.UID"))),
            field("generation", Shape::Int64),
            field("creationTimestamp", Shape::Time).pointer(),
            field("deletionTimestamp", Shape::Time).pointer(),
            field("labels", map(string())),
            field("annotations", map(string())),
            field("ownerReferences", list(Shape::Struct(owner))).merge("uid"),
            field("finalizers", list(string())).merge(""),
        ],
    )
}

/// A Secret.
pub(crate) fn secret() -> Ref<Struct> {
    structure(
        "io.k8s.api.core.v1.Secret",
        vec![
            field("kind", string()),
            field("apiVersion", string()),
            field("metadata", Shape::Struct(object_meta())),
            field("immutable", Shape::Bool).pointer(),
            field("data", map(Shape::Bytes)),
            field("stringData", map(string())),
            field("type", Shape::String(text("v1.SecretType"))),
        ],
    )
}

/// A Deployment with the fields that the tests need.
pub(crate) fn deployment() -> Ref<Struct> {
    let selector = structure(
        "io.k8s.apimachinery.pkg.apis.meta.v1.LabelSelector",
        vec![field("matchLabels", map(string()))],
    );
    let rolling = structure(
        "io.k8s.api.apps.v1.RollingUpdateDeployment",
        vec![
            field("maxUnavailable", Shape::IntOrString).pointer().fill("\"25%\""),
            field("maxSurge", Shape::IntOrString).pointer().fill("\"25%\""),
        ],
    );
    let strategy = structure(
        "io.k8s.api.apps.v1.DeploymentStrategy",
        vec![
            field("type", Shape::String(text("v1.DeploymentStrategyType"))).fill("\"RollingUpdate\""),
            field("rollingUpdate", Shape::Struct(rolling)).pointer(),
        ],
    );
    let template = structure(
        "io.k8s.api.core.v1.PodTemplateSpec",
        vec![field("metadata", Shape::Struct(object_meta())), field("spec", Shape::Struct(pod_spec()))],
    );
    let condition = structure(
        "io.k8s.api.apps.v1.DeploymentCondition",
        vec![
            field("type", string()).keep(),
            field("status", string()).keep(),
            field("lastUpdateTime", Shape::Time),
            field("reason", string()),
        ],
    );
    let spec = structure(
        "io.k8s.api.apps.v1.DeploymentSpec",
        vec![
            field("replicas", Shape::Int32).pointer().fill("1").rules(vec![Rule::Minimum(0.0)]),
            field("selector", Shape::Struct(selector)).pointer().keep(),
            field("template", Shape::Struct(template)).keep(),
            field("strategy", Shape::Struct(strategy)).retain_keys(),
            field("minReadySeconds", Shape::Int32),
            field("paused", Shape::Bool),
        ],
    );
    let status = structure(
        "io.k8s.api.apps.v1.DeploymentStatus",
        vec![
            field("replicas", Shape::Int32),
            field("conditions", list(Shape::Struct(condition))).merge("type"),
        ],
    );
    structure(
        "io.k8s.api.apps.v1.Deployment",
        vec![
            field("kind", string()),
            field("apiVersion", string()),
            field("metadata", Shape::Struct(object_meta())),
            field("spec", Shape::Struct(spec)),
            field("status", Shape::Struct(status)),
        ],
    )
}

fn pod_spec() -> Ref<Struct> {
    let port = structure(
        "io.k8s.api.core.v1.ContainerPort",
        vec![
            field("name", string()),
            field("hostPort", Shape::Int32),
            field("containerPort", Shape::Int32).keep(),
            field("protocol", Shape::String(text("v1.Protocol"))).default("\"TCP\""),
        ],
    );
    let variable = structure(
        "io.k8s.api.core.v1.EnvVar",
        vec![field("name", string()).keep(), field("value", string())],
    );
    let resources = structure(
        "io.k8s.api.core.v1.ResourceRequirements",
        vec![field("limits", map(Shape::Quantity)), field("requests", map(Shape::Quantity))],
    );
    let container = structure(
        "io.k8s.api.core.v1.Container",
        vec![
            field("name", string()).keep(),
            field("image", string()),
            field("args", list(string())),
            field("ports", list(Shape::Struct(port))).merge("containerPort"),
            field("env", list(Shape::Struct(variable))).merge("name"),
            field("resources", Shape::Struct(resources)),
            field("imagePullPolicy", Shape::String(text("v1.PullPolicy"))),
            field("tty", Shape::Bool),
        ],
    );
    let empty_dir = structure(
        "io.k8s.api.core.v1.EmptyDirVolumeSource",
        vec![field("sizeLimit", Shape::Quantity).pointer()],
    );
    let config_map = structure(
        "io.k8s.api.core.v1.ConfigMapVolumeSource",
        vec![field("name", string()), field("defaultMode", Shape::Int32).pointer().fill("420")],
    );
    let volume = structure(
        "io.k8s.api.core.v1.Volume",
        vec![
            field("name", string()).keep(),
            field("emptyDir", Shape::Struct(empty_dir)).pointer(),
            field("configMap", Shape::Struct(config_map)).pointer(),
        ],
    );
    structure(
        "io.k8s.api.core.v1.PodSpec",
        vec![
            field("volumes", list(Shape::Struct(volume))).merge_retain_keys("name"),
            field("containers", list(Shape::Struct(container))).keep().merge("name"),
            field("nodeSelector", map(string())),
            field("terminationGracePeriodSeconds", Shape::Int64).pointer().fill("30"),
        ],
    )
}
