//! Jobs.

use apiwright_json::{Object, Value};
use apiwright_meta::object;
use apiwright_registry::Hooks;
use apiwright_registry::hooks::WriteContext;

use crate::hooks::shared::{cells, pod_spec};

const TEMPLATE: &[&str] = &["spec", "template"];

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
        if let (Some(labels), Some(metadata)) = (labels, object.at_mut(&["metadata"]).and_then(Value::as_object_mut)) {
            metadata.entry("labels", || labels);
        }
    }

    /// Pods are told from those of other jobs by the job's uid, unless the selector is manual.
    fn prepare_create(&self, _context: WriteContext<'_>, job: &mut Value) {
        let manual = job.at(&["spec", "manualSelector"]).and_then(Value::as_bool).unwrap_or_default();
        if manual {
            return;
        }
        let (name, uid) = (object::name(job).to_owned(), object::uid(job).to_owned());
        let Some(spec) = job.at_mut(&["spec"]).and_then(Value::as_object_mut) else { return };
        let labels = spec.object("template").object("metadata").object("labels");
        for (key, value) in [
            ("batch.kubernetes.io/controller-uid", &uid),
            ("batch.kubernetes.io/job-name", &name),
            ("controller-uid", &uid),
            ("job-name", &name),
        ] {
            labels.insert(key, value.as_str());
        }
        labels.sort();
        let selector = Object::from_iter([("batch.kubernetes.io/controller-uid", uid.as_str())]);
        spec.insert("selector", Object::from_iter([("matchLabels", selector)]));
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
    let failure_policy = spec.contains_key("podFailurePolicy");
    spec.entry("podReplacementPolicy", || if failure_policy { "Failed" } else { "TerminatingOrFailed" }.into());
    if let Some(pod) = spec.object("template").get_mut("spec").and_then(Value::as_object_mut) {
        pod_spec::set_defaults(pod);
    }
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
