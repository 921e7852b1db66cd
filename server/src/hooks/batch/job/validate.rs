//! What makes a Job valid.

use apiwright_json::{Object, Value};
use apiwright_meta::domains::validate_domain_prefixed_path;
use apiwright_meta::field::{go_value, quoted};
use apiwright_meta::labels::{LabelSelector, SelectorLeniency, validate_label_selector};
use apiwright_meta::{ErrorList, Path, names, object};

use super::{JOB_NAME, OLD_JOB_NAME, OLD_UID, UID, failure_policy, success_policy};
use crate::generated::catalogue;
use crate::hooks::shared::faults::Faults;
use crate::hooks::shared::pod_spec::Template;

const INDEXED: &str = "requires indexed completion mode";
const PARALLELISM_MAX: i64 = 100_000;
const COMPLETIONS_MAX: i64 = 100_000;
const MANAGER_BYTES_MAX: usize = 63;

/// The faults of a Job.
pub(super) fn job(job: &Value, errors: &mut ErrorList) {
    let mut out = Faults::take(errors, &Path::new("spec"));
    generated_selector(job, &mut out);
    with_selector(job, &mut out);
    last_host_name(job, &mut out);
}

/// The pods of an indexed job are called after it and their index: that must be a name of a host.
fn last_host_name(job: &Value, out: &mut Faults<'_>) {
    let completions = job.at(&["spec", "completions"]).and_then(Value::as_i64).unwrap_or_default();
    if job.text_at(&["spec", "completionMode"]) != "Indexed" || completions <= 0 {
        return;
    }
    let name = object::name(job);
    let host = format!("{name}-{}", completions - 1);
    if !names::dns1123_label(&host).is_empty() {
        let why = format!("will not able to create pod with invalid DNS label: {host}");
        out.invalid(Path::new("metadata").child("name"), quoted(name), &why);
    }
}

/// The faults of a Job's spec, its selector among them.
pub(super) fn with_selector(job: &Value, out: &mut Faults<'_>) {
    let nothing = Value::Null;
    let spec = job.get("spec").unwrap_or(&nothing);
    let path = Path::new("spec");
    spec_faults(spec, &path, out);
    let selector = spec.get("selector").filter(|selector| !selector.is_null());
    let selector_path = path.child("selector");
    match selector {
        None => out.required(selector_path, ""),
        Some(selector) => {
            out.append(validate_label_selector(Some(selector), SelectorLeniency::default(), &selector_path));
        }
    }
    if let Ok(selector) = selector.map(LabelSelector::from_object).transpose() {
        Template::of(job).must_match(selector.as_ref(), out);
    }
}

/// The pods have the job's labels, and are selected by nothing else.
fn generated_selector(job: &Value, out: &mut Faults<'_>) {
    let manual = job.at(&["spec", "manualSelector"]).and_then(Value::as_bool).unwrap_or_default();
    let selector = job.at(&["spec", "selector"]).filter(|selector| !selector.is_null());
    let Some(selector) = selector.filter(|_| !manual) else { return };
    let (name, uid) = (object::name(job), object::uid(job));
    let expected = [(UID, uid), (JOB_NAME, name), (OLD_UID, uid), (OLD_JOB_NAME, name)];
    let labels = job.at(&["spec", "template", "metadata", "labels"]).and_then(Value::as_object);
    let path = Path::new("spec").child("template").child("metadata").child("labels");
    for (key, value) in expected {
        match labels.and_then(|labels| labels.str(key)) {
            Some(own) if own == value => {}
            Some(_) => {
                let shown = labels
                    .map_or_else(String::new, |labels: &Object| go_value(&Value::Object(labels.clone())));
                out.invalid(path.clone(), shown, &format!("must be '{value}'"));
            }
            None => out.required(path.clone(), &format!("must be '{value}'")),
        }
    }
    let label = |key: &str| expected.iter().find(|(one, _)| *one == key).map(|(_, value)| *value);
    if LabelSelector::from_object(selector).is_ok_and(|selector| !selector.matches(label)) {
        out.invalid(Path::new("spec").child("selector"), go_value(selector), "`selector` not auto-generated");
    }
}

/// The faults of a spec, at any path; its selector is not looked at.
pub(in super::super) fn spec_faults(spec: &Value, path: &Path, out: &mut Faults<'_>) {
    let at = |member: &str| path.child(member);
    for member in ["parallelism", "completions", "activeDeadlineSeconds", "backoffLimit"] {
        out.declared(&at(member));
    }
    for member in ["ttlSecondsAfterFinished", "backoffLimitPerIndex", "maxFailedIndexes"] {
        out.declared(&at(member));
    }
    if let Some(manager) = spec.get("managedBy").and_then(Value::as_str) {
        out.append(validate_domain_prefixed_path(&at("managedBy"), manager));
        if manager.len() > MANAGER_BYTES_MAX {
            out.too_long(at("managedBy"), MANAGER_BYTES_MAX);
        }
    }
    out.declared(&at("completionMode"));
    indexes(spec, path, out);
    if let Some(policy) = spec.get("podFailurePolicy") {
        failure_policy::faults(spec, policy, &at("podFailurePolicy"), out);
    }
    if let Some(policy) = spec.get("successPolicy") {
        if is_indexed(spec) {
            success_policy::faults(spec, policy, &at("successPolicy"), out);
        } else {
            let ty = catalogue().definition("io.k8s.api.batch.v1.JobSpec");
            let shown = ty.and_then(|ty| ty.field("successPolicy")).map_or_else(
                || go_value(policy),
                |field| apiwright_schema::go::internal(&field.node, policy),
            );
            out.invalid(at("successPolicy"), shown, INDEXED);
        }
    }
    replacement(spec, &at("podReplacementPolicy"), out);
    let template = Template::at(spec.get("template"), at("template"));
    template.faults(out);
    let restart = template.template.text_at(&["spec", "restartPolicy"]);
    let restart_path = template.path.child("spec").child("restartPolicy");
    match restart {
        "Always" | "" => {
            out.required(restart_path.clone(), "valid values: \"OnFailure\", \"Never\"");
        }
        "OnFailure" if spec.get("podFailurePolicy").is_some() => {
            let why = "only \"Never\" is supported when podFailurePolicy is specified";
            out.invalid(restart_path, quoted(restart), why);
        }
        _ => {}
    }
}

/// Whether each completion has an index.
pub(super) fn is_indexed(spec: &Value) -> bool {
    spec.text_at(&["completionMode"]) == "Indexed"
}

/// What goes with indexes, and what without.
fn indexes(spec: &Value, path: &Path, out: &mut Faults<'_>) {
    let number = |member: &str| spec.get(member).and_then(Value::as_i64);
    let at = |member: &str| path.child(member);
    let per_index = number("backoffLimitPerIndex");
    let failed = number("maxFailedIndexes");
    if !is_indexed(spec) {
        for (member, value) in [("backoffLimitPerIndex", per_index), ("maxFailedIndexes", failed)] {
            if let Some(value) = value {
                out.invalid(at(member), value, INDEXED);
            }
        }
        return;
    }
    if spec.get("completions").is_none() {
        out.required(at("completions"), "when completion mode is Indexed");
    }
    if let Some(parallelism) = number("parallelism").filter(|number| *number > PARALLELISM_MAX) {
        let why = format!("must be less than or equal to {PARALLELISM_MAX} when completion mode is Indexed");
        out.invalid(at("parallelism"), parallelism, &why);
    }
    let completions = number("completions").unwrap_or_default();
    if let Some(failed) = failed.filter(|failed| *failed > completions && completions > 0) {
        out.invalid(at("maxFailedIndexes"), failed, "must be less than or equal to completions");
    }
    if failed.is_some_and(|failed| failed > COMPLETIONS_MAX) {
        let why = format!("must be less than or equal to {COMPLETIONS_MAX}");
        out.invalid(at("maxFailedIndexes"), failed.unwrap_or_default(), &why);
    }
    if failed.is_some() && per_index.is_none() {
        out.required(at("backoffLimitPerIndex"), "when maxFailedIndexes is specified");
    }
}

/// Pods that failed by a policy are replaced once they have failed.
fn replacement(spec: &Value, path: &Path, out: &mut Faults<'_>) {
    let policy = spec.text_at(&["podReplacementPolicy"]);
    if spec.get("podFailurePolicy").is_some() && !policy.is_empty() && policy != "Failed" {
        out.not_supported(path.clone(), quoted(policy), &["Failed"]);
    } else {
        out.declared(path);
    }
}
