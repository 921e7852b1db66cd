//! `DaemonSets`.

use apiwright_json::Value;
use apiwright_meta::field::go_value;
use apiwright_meta::{ErrorList, Path};
use apiwright_registry::Hooks;
use apiwright_registry::hooks::WriteContext;

use super::workload::{self, spec};
use crate::hooks::shared::faults::Faults;
use crate::hooks::shared::pod_spec::{self, Template, warnings};
use crate::hooks::shared::{amounts, cells};

/// The hooks of `DaemonSets`.
#[derive(Debug)]
pub struct DaemonSet;

impl Hooks for DaemonSet {
    fn default(&self, object: &mut Value) {
        workload::set_defaults(object);
        workload::roll_by_default(
            object,
            "updateStrategy",
            &[("maxUnavailable", 1.into()), ("maxSurge", 0.into())],
        );
    }

    fn prepare_create(&self, _context: WriteContext<'_>, object: &mut Value) {
        pod_spec::drop_disabled(object, None, &["spec", "template", "spec"]);
    }

    fn prepare_update(&self, _context: WriteContext<'_>, object: &mut Value, old: &Value) {
        pod_spec::drop_disabled(object, Some(old), &["spec", "template", "spec"]);
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
            "status" => workload::collisions_stay(object, old, errors),
            _ => {
                faults(object, errors);
                workload::selector_is_immutable(object, old, errors);
            }
        }
    }

    fn warnings(&self, object: &Value, old: Option<&Value>) -> Vec<String> {
        warnings::template(object, old, &["spec", "template"])
    }

    fn cell(&self, column: &str, object: &Value) -> Value {
        match column {
            "Node Selector" => cells::labels(object, &["spec", "template", "spec", "nodeSelector"]).into(),
            _ => workload::cell(column, object),
        }
    }
}

fn faults(object: &Value, errors: &mut ErrorList) {
    let mut out = Faults::take(errors, &Path::new("spec"));
    let template = Template::of(object);
    if let Ok(selector) = workload::selector(object) {
        template.must_match(selector.as_ref(), &mut out);
    }
    workload::selector_faults(object, "daemonset", &mut out);
    template.faults(&mut out);
    pod_spec::restart_always(&template, "DaemonSet", &mut out);
    out.declared(&spec("minReadySeconds"));
    strategy(object, &mut out);
    out.declared(&spec("revisionHistoryLimit"));
}

/// Either some pods are missing for a while, or there are more; not both, not neither.
fn strategy(object: &Value, out: &mut Faults<'_>) {
    let path = spec("updateStrategy");
    out.declared_below(&path);
    let Some(strategy) = object.at(&["spec", "updateStrategy"]) else { return };
    if strategy.text_at(&["type"]) != "RollingUpdate" {
        return;
    }
    let path = path.child("rollingUpdate");
    let Some(rolling) = strategy.get("rollingUpdate") else {
        out.required(path, "");
        return;
    };
    let (gone, more) = (rolling.get("maxUnavailable"), rolling.get("maxSurge"));
    let (gone_path, more_path) = (path.child("maxUnavailable"), path.child("maxSurge"));
    for (value, path) in [(gone, &gone_path), (more, &more_path)] {
        amounts::int_or_percent(value, path, out);
        amounts::at_most_all(value, path, out);
    }
    match (amounts::is_zero(gone), amounts::is_zero(more)) {
        (false, false) => {
            let shown = more.map_or_else(|| "0".into(), go_value);
            out.invalid(more_path, shown, "may not be set when maxUnavailable is non-zero");
        }
        (true, true) => out.required(gone_path, "cannot be 0 when maxSurge is 0"),
        _ => {}
    }
}
