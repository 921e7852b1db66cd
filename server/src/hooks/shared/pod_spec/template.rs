//! Templates of pods, in workloads.

use apiwright_json::Value;
use apiwright_meta::field::{go_value, quoted};
use apiwright_meta::labels::{LabelSelector, validate_labels};
use apiwright_meta::object::validate_annotations;
use apiwright_meta::{Path, object};

use super::annotations;
use super::validate::{Owner, faults};
use crate::hooks::shared::cells;
use crate::hooks::shared::faults::Faults;

/// A template and where it is.
pub struct Template<'a> {
    /// The template.
    pub template: &'a Value,
    /// Its path: `spec.template`.
    pub path: Path,
    /// Claims that its pods get volumes of.
    pub claims: &'a [Value],
}

impl<'a> Template<'a> {
    /// The template of a workload.
    pub fn of(object: &'a Value) -> Self {
        Self::at(object.at(&["spec", "template"]), Path::new("spec").child("template"))
    }

    /// A template at a path; an empty one where there is none.
    pub fn at(template: Option<&'a Value>, path: Path) -> Self {
        Self { template: template.unwrap_or(&Value::Null), path, claims: &[] }
    }

    /// The faults of the template.
    pub fn faults(&self, out: &mut Faults<'_>) {
        let metadata = object::metadata(self.template);
        if let Some(labels) = metadata.get("labels").and_then(Value::as_object) {
            out.append(validate_labels(labels, &self.path.child("labels")));
        }
        if let Some(annotations) = metadata.get("annotations").and_then(Value::as_object) {
            out.append(validate_annotations(annotations, &self.path.child("annotations")));
        }
        annotations::faults(self.template, &self.path.child("annotations"), out);
        let spec = self.path.child("spec");
        let owner = Owner::Template(self.claims);
        faults(self.template.get("spec").unwrap_or(&Value::Null), owner, &spec, out);
        annotations::mismatches(self.template, &spec, out);
        if !cells::items(self.template, &["spec", "ephemeralContainers"]).is_empty() {
            let why = "ephemeral containers not allowed in pod template";
            out.forbidden(spec.child("ephemeralContainers"), why);
        }
    }

    /// Says that a selector must match the template's labels, if it does not; no selector matches none.
    pub fn must_match(&self, selector: Option<&LabelSelector>, out: &mut Faults<'_>) {
        let labels = object::metadata(self.template).get("labels").and_then(Value::as_object);
        let label = |key: &str| labels.and_then(|labels| labels.str(key));
        if selector.is_some_and(|selector| selector.is_empty() || selector.matches(label)) {
            return;
        }
        let labels = labels.filter(|labels| !labels.is_empty());
        let shown = labels.map_or(Value::Null, |labels| Value::Object(labels.clone()));
        let path = self.path.child("metadata").child("labels");
        out.invalid(path, go_value(&shown), "`selector` does not match template `labels`");
    }
}

/// Pods of a workload that never ends start again, always.
pub fn restart_always(template: &Template<'_>, workload: &str, out: &mut Faults<'_>) {
    let spec = template.path.child("spec");
    let policy = template.template.text_at(&["spec", "restartPolicy"]);
    if !policy.is_empty() && policy != "Always" {
        out.not_supported(spec.child("restartPolicy"), quoted(policy), &["Always"]);
    }
    if template.template.at(&["spec", "activeDeadlineSeconds"]).is_some() {
        let why = format!("activeDeadlineSeconds in {workload} is not Supported");
        out.forbidden(spec.child("activeDeadlineSeconds"), &why);
    }
}
