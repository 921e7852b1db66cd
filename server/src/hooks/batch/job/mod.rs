//! Jobs.

mod change;
mod failure_policy;
mod indexes;
mod status;
mod success_policy;
mod validate;

use apiwright_json::Value;
use apiwright_meta::{ErrorList, object};
use apiwright_registry::Hooks;
use apiwright_registry::hooks::WriteContext;

use crate::hooks::shared::pod_spec::warnings;
use crate::hooks::shared::{cells, pod_spec};

pub(super) use validate::spec_faults;

const TEMPLATE: &[&str] = &["spec", "template"];
const UID: &str = "batch.kubernetes.io/controller-uid";
const JOB_NAME: &str = "batch.kubernetes.io/job-name";
const OLD_UID: &str = "controller-uid";
const OLD_JOB_NAME: &str = "job-name";

/// The hooks of Jobs.
#[derive(Debug)]
pub struct Job;

impl Hooks for Job {
    fn orphans_by_default(&self) -> bool {
        true
    }

    fn deletion_warning(&self) -> Option<&'static str> {
        Some(
            "child pods are preserved by default when jobs are deleted; set propagationPolicy=Background to remove \
             them or set propagationPolicy=Orphan to suppress this warning",
        )
    }

    fn default(&self, object: &mut Value) {
        if let Some(spec) = object.at_mut(&["spec"]) {
            set_defaults(spec);
        }
        // A job is labelled like its pods where it has no labels of its own.
        let labels = object.at(&["spec", "template", "metadata", "labels"]).cloned();
        if let (Some(labels), Some(metadata)) =
            (labels, object.at_mut(&["metadata"]).and_then(Value::as_object_mut))
        {
            metadata.entry("labels", || labels);
        }
    }

    /// Pods are told from those of other jobs by the job's uid, unless the selector is manual.
    fn prepare_create(&self, _context: WriteContext<'_>, job: &mut Value) {
        let manual = job.at(&["spec", "manualSelector"]).and_then(Value::as_bool).unwrap_or_default();
        if !manual {
            select_by_uid(job);
        }
        pod_spec::drop_disabled(job, None, &["spec", "template", "spec"]);
        // A job without labels of its own has those of its pods, with what was added to them.
        let labels = job.at(&["spec", "template", "metadata", "labels"]).cloned();
        if let Some(labels) = labels
            && object::labels(job).all(|(key, value)| labels.text_at(&[key]) == value)
        {
            object::set(job, "labels", labels);
        }
    }

    fn prepare_update(&self, _context: WriteContext<'_>, job: &mut Value, old: &Value) {
        pod_spec::drop_disabled(job, Some(old), &["spec", "template", "spec"]);
    }

    fn validate_create(&self, _context: WriteContext<'_>, object: &Value, errors: &mut ErrorList) {
        validate::job(object, errors);
    }

    fn validate_update(
        &self,
        context: WriteContext<'_>,
        object: &Value,
        old: &Value,
        errors: &mut ErrorList,
    ) {
        match context.subresource {
            "status" => status::faults(object, old, errors),
            _ => change::faults(object, old, errors),
        }
    }

    fn warnings(&self, object: &Value, old: Option<&Value>) -> Vec<String> {
        let mut texts = warnings::workload(object, old, TEMPLATE);
        warn_of_many_indexes(object, &["spec"], old, &mut texts);
        texts
    }

    fn cell(&self, column: &str, object: &Value) -> Value {
        match column {
            "Status" => status(object).into(),
            "Completions" => completions(object).into(),
            "Duration" => duration(object).into(),
            "Containers" => pod_spec::container_names(object, TEMPLATE).into(),
            "Images" => pod_spec::container_images(object, TEMPLATE).into(),
            "Selector" => cells::selector(object, &["spec", "selector"]).into(),
            _ => Value::Null,
        }
    }
}

/// Who counts so many indexes may lose count of them. It is said after what is said of the name.
pub(super) fn warn_of_many_indexes(
    object: &Value,
    at: &[&str],
    old: Option<&Value>,
    texts: &mut Vec<String>,
) {
    const COMPLETIONS: i64 = 100_000;
    const PARALLELISM: i64 = 10_000;
    let generation = |object| object::metadata(object).get("generation").cloned();
    let Some(spec) = object.at(at).filter(|_| old.is_none_or(|old| generation(old) != generation(object)))
    else {
        return;
    };
    let number = |member: &str| spec.get(member).and_then(Value::as_i64).unwrap_or_default();
    let is_indexed = spec.text_at(&["completionMode"]) == "Indexed";
    if is_indexed && number("completions") > COMPLETIONS && number("parallelism") > PARALLELISM {
        let path = at.join(".");
        let place = texts.iter().take_while(|text| text.starts_with("metadata.name: ")).count();
        texts.insert(
            place,
            format!(
                "{path}: In Indexed Jobs with a number of completions higher than 10^5 and a parallelism higher \
                 than 10^4, Kubernetes might not be able to track completedIndexes when a big number of indexes fail"
            ),
        );
    }
}

/// Completions and parallelism default together; the back-off limit hangs on that per index.
pub(super) fn set_defaults(spec: &mut Value) {
    let Some(spec) = spec.as_object_mut() else { return };
    if !spec.contains_key("completions") && !spec.contains_key("parallelism") {
        spec.insert("completions", 1);
        spec.insert("parallelism", 1);
    }
    spec.entry("parallelism", || 1.into());
    let per_index = spec.contains_key("backoffLimitPerIndex");
    spec.entry("backoffLimit", || if per_index { i32::MAX.into() } else { 6.into() });
    spec.entry("completionMode", || "NonIndexed".into());
    spec.entry("suspend", || false.into());
    spec.entry("manualSelector", || false.into());
    let failure_policy = spec.contains_key("podFailurePolicy");
    spec.entry("podReplacementPolicy", || {
        if failure_policy { "Failed" } else { "TerminatingOrFailed" }.into()
    });
    if let Some(pod) = spec.object("template").get_mut("spec").and_then(Value::as_object_mut) {
        pod_spec::set_defaults(pod);
    }
}

/// Labels the pods with the job's name and uid, and selects them by the uid.
fn select_by_uid(job: &mut Value) {
    let (name, uid) = (object::name(job).to_owned(), object::uid(job).to_owned());
    let Some(spec) = job.at_mut(&["spec"]).and_then(Value::as_object_mut) else { return };
    let labels = spec.object("template").object("metadata").object("labels");
    for (key, value) in [(JOB_NAME, &name), (OLD_JOB_NAME, &name), (UID, &uid), (OLD_UID, &uid)] {
        labels.entry(key, || value.as_str().into());
    }
    labels.sort();
    let selected = spec.object("selector").object("matchLabels");
    selected.entry(UID, || uid.as_str().into());
    selected.sort();
}

fn status(job: &Value) -> &'static str {
    let has = |kind: &str| {
        cells::items(job, &["status", "conditions"])
            .iter()
            .any(|one| one.text_at(&["type"]) == kind && one.text_at(&["status"]) == "True")
    };
    match () {
        () if has("Complete") => "Complete",
        () if has("Failed") => "Failed",
        () if object::deletion_timestamp(job).is_some() => "Terminating",
        () if has("Suspended") => "Suspended",
        () if has("FailureTarget") => "FailureTarget",
        () if has("SuccessCriteriaMet") => "SuccessCriteriaMet",
        () => "Running",
    }
}

fn completions(job: &Value) -> String {
    let number = |path: &[&str]| job.at(path).and_then(Value::as_i64);
    let succeeded = number(&["status", "succeeded"]).unwrap_or_default();
    match (number(&["spec", "completions"]), number(&["spec", "parallelism"]).unwrap_or_default()) {
        (Some(completions), _) => format!("{succeeded}/{completions}"),
        (None, parallelism) if parallelism > 1 => format!("{succeeded}/1 of {parallelism}"),
        (None, _) => format!("{succeeded}/1"),
    }
}

/// How long it took, or takes so far.
fn duration(job: &Value) -> String {
    let start = job.text_at(&["status", "startTime"]);
    match (start, job.text_at(&["status", "completionTime"])) {
        ("", _) => String::new(),
        (start, "") => cells::ago(start).unwrap_or_default(),
        (start, end) => cells::between(start, end).unwrap_or_default(),
    }
}
