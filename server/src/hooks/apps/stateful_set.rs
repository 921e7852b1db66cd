//! `StatefulSets`.

use apiwright_json::{Object, Value};
use apiwright_meta::field::{go_value, quoted};
use apiwright_meta::{ErrorList, Path, names, object};
use apiwright_registry::Hooks;
use apiwright_registry::hooks::WriteContext;
use apiwright_schema::go::internal;

use super::workload::{self, spec};
use crate::generated::catalogue;
use crate::hooks::core::{claim_spec_faults, claim_warnings};
use crate::hooks::shared::cells;
use crate::hooks::shared::faults::Faults;
use crate::hooks::shared::pod_spec::{self, Template, warnings};

/// What may change.
const MUTABLE: [&str; 7] = [
    "replicas",
    "ordinals",
    "template",
    "updateStrategy",
    "revisionHistoryLimit",
    "persistentVolumeClaimRetentionPolicy",
    "minReadySeconds",
];
const FIXED: &str = "updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', \
    'updateStrategy', 'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden";

/// The hooks of `StatefulSets`.
#[derive(Debug)]
pub struct StatefulSet;

impl Hooks for StatefulSet {
    fn default(&self, object: &mut Value) {
        workload::set_defaults(object);
        workload::roll_by_default(object, "updateStrategy", &[("partition", 0.into())]);
        let claims = object.at_mut(&["spec", "volumeClaimTemplates"]).and_then(Value::as_array_mut);
        for claim in claims.into_iter().flatten().filter_map(Value::as_object_mut) {
            claim.entry("apiVersion", || "v1".into());
            claim.entry("kind", || "PersistentVolumeClaim".into());
            claim.object("status").entry("phase", || "Pending".into());
        }
    }

    fn prepare_create(&self, _context: WriteContext<'_>, object: &mut Value) {
        drop_disabled(object, None);
    }

    fn prepare_update(&self, _context: WriteContext<'_>, object: &mut Value, old: &Value) {
        drop_disabled(object, Some(old));
    }

    fn validate_create(&self, _context: WriteContext<'_>, object: &Value, errors: &mut ErrorList) {
        faults(object, errors);
    }

    fn validate_update(
        &self,
        context: WriteContext<'_>,
        object: &Value,
        old: &Value,
        errors: &mut ErrorList,
    ) {
        match context.subresource {
            "status" => {
                let counts = ["readyReplicas", "currentReplicas", "updatedReplicas", "availableReplicas"];
                workload::count_faults(object, &counts, "status.readyReplicas", errors);
                workload::collisions_stay(object, old, errors);
            }
            _ => {
                faults(object, errors);
                if fixed(object) != fixed(old) {
                    errors.forbidden(Path::new("spec"), FIXED);
                }
            }
        }
    }

    fn warnings(&self, object: &Value, old: Option<&Value>) -> Vec<String> {
        let mut texts = warnings::template(object, old, &["spec", "template"]);
        let generation = |object| object::metadata(object).get("generation").cloned();
        if old.is_none_or(|old| generation(old) != generation(object)) {
            for (at, claim) in cells::items(object, &["spec", "volumeClaimTemplates"]).iter().enumerate() {
                if let Some(claim) = claim.get("spec") {
                    claim_warnings(claim, &spec("volumeClaimTemplates").index(at), &mut texts);
                }
            }
        }
        if object.at(&["spec", "revisionHistoryLimit"]).and_then(Value::as_i64).is_some_and(|limit| limit < 0)
        {
            texts.push("spec.revisionHistoryLimit: a negative value retains all historical revisions".into());
        }
        texts
    }

    fn cell(&self, column: &str, object: &Value) -> Value {
        workload::cell(column, object)
    }
}

/// Drops what belongs to features that upstream leaves off by default, unless the old object has it.
fn drop_disabled(object: &mut Value, old: Option<&Value>) {
    let rolling = ["spec", "updateStrategy", "rollingUpdate"];
    let was_used = old.and_then(|old| old.at(&rolling)?.get("maxUnavailable")).is_some();
    if let Some(rolling) = object.at_mut(&rolling).and_then(Value::as_object_mut).filter(|_| !was_used) {
        rolling.remove("maxUnavailable");
    }
    pod_spec::drop_disabled(object, old, &["spec", "template", "spec"]);
    let claims = object.at_mut(&["spec", "volumeClaimTemplates"]).and_then(Value::as_array_mut);
    for (at, claim) in claims.into_iter().flatten().enumerate() {
        let old =
            old.and_then(|old| cells::items(old, &["spec", "volumeClaimTemplates"]).get(at)?.get("spec"));
        if let Some(spec) = claim.at_mut(&["spec"]) {
            pod_spec::drop_far_source(spec, old);
        }
    }
}

fn faults(object: &Value, errors: &mut ErrorList) {
    let mut out = Faults::take(errors, &Path::new("spec"));
    let policy = object.text_at(&["spec", "podManagementPolicy"]);
    match policy {
        "OrderedReady" | "Parallel" => {}
        "" => out.required(spec("podManagementPolicy"), ""),
        _ => {
            let why = "must be 'OrderedReady' or 'Parallel'";
            out.invalid(spec("podManagementPolicy"), quoted(policy), why);
        }
    }
    strategy(object, &mut out);
    out.declared_below(&spec("persistentVolumeClaimRetentionPolicy"));
    out.declared(&spec("replicas"));
    out.declared(&spec("minReadySeconds"));
    out.declared_below(&spec("ordinals"));
    workload::selector_faults(object, "statefulset", &mut out);
    service_name(object, &mut out);
    let claims = cells::items(object, &["spec", "volumeClaimTemplates"]);
    for (at, claim) in claims.iter().enumerate() {
        let path = spec("volumeClaimTemplates").index(at);
        out.declared_below(&path);
        if let Some(claim) = claim.get("spec") {
            claim_spec_faults(claim, &path.child("spec"), &mut out);
        }
    }
    let template = Template { claims, ..Template::of(object) };
    workload::template_faults(object, &template, "", "StatefulSet", &mut out);
}

fn service_name(object: &Value, out: &mut Faults<'_>) {
    let name = object.text_at(&["spec", "serviceName"]);
    if out.is_declared(&spec("serviceName")) {
        out.declared(&spec("serviceName"));
    } else if !name.is_empty() {
        out.invalid_each(&spec("serviceName"), name, names::dns1123_label(name));
    }
}

fn strategy(object: &Value, out: &mut Faults<'_>) {
    let Some(strategy) = object.at(&["spec", "updateStrategy"]) else { return };
    let path = spec("updateStrategy");
    let shown = |member: &str, value: &Value| {
        let mut ty = catalogue().definition("io.k8s.api.apps.v1.StatefulSetUpdateStrategy");
        if member.is_empty() {
            ty = catalogue().definition("io.k8s.api.apps.v1.StatefulSetSpec");
        }
        let member = if member.is_empty() { "updateStrategy" } else { member };
        ty.and_then(|ty| ty.field(member))
            .map_or_else(|| go_value(value), |field| internal(&field.node, value))
    };
    let rolling = strategy.get("rollingUpdate");
    match strategy.text_at(&["type"]) {
        "" => out.required(path, ""),
        "OnDelete" => {
            if let Some(rolling) = rolling {
                let why = "only allowed for updateStrategy 'RollingUpdate'";
                out.invalid(path.child("rollingUpdate"), shown("rollingUpdate", rolling), why);
            }
        }
        "RollingUpdate" => out.declared_below(&path),
        _ => out.invalid(path, shown("", strategy), "must be 'RollingUpdate' or 'OnDelete'"),
    }
}

/// The spec without what may change.
fn fixed(object: &Value) -> Object {
    let mut spec = object.at(&["spec"]).and_then(Value::as_object).cloned().unwrap_or_default();
    spec.retain(|member, _| !MUTABLE.contains(&member));
    spec
}
