//! Deployments.

use apiwright_json::Value;
use apiwright_meta::field::go_value;
use apiwright_meta::{ErrorList, Path, object};
use apiwright_registry::Hooks;
use apiwright_registry::hooks::WriteContext;
use apiwright_schema::go::internal;

use super::workload::{self, spec};
use crate::generated::catalogue;
use crate::hooks::shared::amounts;
use crate::hooks::shared::faults::Faults;
use crate::hooks::shared::pod_spec::{self, Template, warnings};

/// The hooks of Deployments.
#[derive(Debug)]
pub struct Deployment;

impl Hooks for Deployment {
    fn default(&self, object: &mut Value) {
        workload::set_defaults(object);
        let quarter = || Value::from("25%");
        workload::roll_by_default(
            object,
            "strategy",
            &[("maxUnavailable", quarter()), ("maxSurge", quarter())],
        );
    }

    fn prepare_create(&self, _context: WriteContext<'_>, object: &mut Value) {
        pod_spec::drop_disabled(object, None, &["spec", "template", "spec"]);
    }

    fn prepare_update(&self, context: WriteContext<'_>, object: &mut Value, old: &Value) {
        pod_spec::drop_disabled(object, Some(old), &["spec", "template", "spec"]);
        if context.subresource != "status" && annotations(object) != annotations(old) {
            // They are copied to ReplicaSets, so they count like the spec.
            object::set_generation(object, object::generation(old) + 1);
        }
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
            "status" => status_faults(object, old, errors),
            _ => {
                faults(object, errors);
                workload::selector_is_immutable(object, old, errors);
            }
        }
    }

    fn warnings(&self, object: &Value, old: Option<&Value>) -> Vec<String> {
        warnings::workload(object, old, &["spec", "template"])
    }

    fn cell(&self, column: &str, object: &Value) -> Value {
        workload::cell(column, object)
    }
}

fn annotations(object: &Value) -> Option<&Value> {
    object.at(&["metadata", "annotations"])
}

fn faults(object: &Value, errors: &mut ErrorList) {
    let mut out = Faults::take(errors, &Path::new("spec"));
    out.declared(&spec("replicas"));
    workload::selector_faults(object, "deployment", &mut out);
    let template = Template::of(object);
    workload::template_faults(object, &template, "invalid label selector", "ReplicaSet", &mut out);
    strategy(object, &mut out);
    for member in ["minReadySeconds", "revisionHistoryLimit", "progressDeadlineSeconds"] {
        out.declared(&spec(member));
    }
    let seconds = |member: &str| object.at(&["spec", member]).and_then(Value::as_i64);
    if let Some(deadline) = seconds("progressDeadlineSeconds")
        && deadline <= seconds("minReadySeconds").unwrap_or_default()
    {
        out.invalid(spec("progressDeadlineSeconds"), deadline, "must be greater than minReadySeconds");
    }
}

fn strategy(object: &Value, out: &mut Faults<'_>) {
    let Some(strategy) = object.at(&["spec", "strategy"]) else { return };
    let path = spec("strategy");
    let rolling = strategy.get("rollingUpdate");
    let rolling_path = path.child("rollingUpdate");
    match strategy.text_at(&["type"]) {
        "Recreate" => {
            if rolling.is_some() {
                out.forbidden(rolling_path, "may not be specified when strategy `type` is 'Recreate'");
            }
        }
        "RollingUpdate" => match rolling {
            None => out.required(rolling_path, "this should be defaulted and never be nil"),
            Some(rolling) => {
                let (gone, more) = (rolling.get("maxUnavailable"), rolling.get("maxSurge"));
                let gone_path = rolling_path.child("maxUnavailable");
                amounts::int_or_percent(gone, &gone_path, out);
                amounts::int_or_percent(more, &rolling_path.child("maxSurge"), out);
                if amounts::is_zero(gone) && amounts::is_zero(more) && is_number(gone) && is_number(more) {
                    let shown = gone.map_or_else(|| "0".into(), go_value);
                    out.invalid(gone_path.clone(), shown, "may not be 0 when `maxSurge` is 0");
                }
                amounts::at_most_all(gone, &gone_path, out);
            }
        },
        _ => {
            let ty = catalogue().definition("io.k8s.api.apps.v1.DeploymentSpec");
            let shown = ty
                .and_then(|ty| ty.field("strategy"))
                .map_or_else(|| go_value(strategy), |field| internal(&field.node, strategy));
            out.not_supported(path, shown, &["Recreate", "RollingUpdate"]);
        }
    }
}

/// Whether a text is a percentage; a number is one.
fn is_number(value: Option<&Value>) -> bool {
    value.and_then(Value::as_str).is_none_or(|text| text.ends_with('%'))
}

fn status_faults(object: &Value, old: &Value, errors: &mut ErrorList) {
    let counts = ["updatedReplicas", "readyReplicas", "availableReplicas"];
    workload::count_faults(object, &counts, "readyReplicas", errors);
    workload::collisions_stay(object, old, errors);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faults_of_deployments() {
        const TEMPLATE: &str = r#""template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"c","image":"i"}]}}"#;
        let table = [
            (r#""selector":{"matchLabels":{"a":"b"}}"#, "[]"),
            (
                r#""selector":{"matchLabels":{"a":"c"}}"#,
                "spec.template.metadata.labels: Invalid value: {\"a\":\"b\"}: `selector` does not match template `labels`",
            ),
            (
                r#""selector":{}"#,
                "spec.selector: Invalid value: {}: empty selector is invalid for deployment",
            ),
            (
                r#""selector":{"matchLabels":{"a":"b"}},"strategy":{"type":"Recreate","rollingUpdate":{}}"#,
                "spec.strategy.rollingUpdate: Forbidden: may not be specified when strategy `type` is 'Recreate'",
            ),
            (
                r#""selector":{"matchLabels":{"a":"b"}},"strategy":{"type":"RollingUpdate","rollingUpdate":{"maxSurge":"0%","maxUnavailable":0}}"#,
                "spec.strategy.rollingUpdate.maxUnavailable: Invalid value: 0: may not be 0 when `maxSurge` is 0",
            ),
        ];
        for (spec, expected) in table {
            let text = format!("{{\"spec\":{{{spec},{TEMPLATE}}}}}");
            let mut errors = ErrorList::new();
            faults(&apiwright_json::decode(text.as_bytes()).unwrap().0, &mut errors);
            assert_eq!(errors.aggregate(), expected, "{spec}");
        }
    }
}
