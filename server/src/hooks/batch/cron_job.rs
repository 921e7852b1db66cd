//! `CronJobs`.

use apiwright_json::Value;
use apiwright_meta::field::{go_value, quoted};
use apiwright_meta::{ErrorList, Path, object};
use apiwright_registry::Hooks;
use apiwright_registry::hooks::WriteContext;

use super::{job, schedule};
use crate::hooks::shared::cells::{self, NONE};
use crate::hooks::shared::faults::Faults;
use crate::hooks::shared::pod_spec::{self, warnings};

const TEMPLATE: &[&str] = &["spec", "jobTemplate", "spec", "template"];

/// Jobs are called after their `CronJob`, with eleven characters more.
const NAME_BYTES_MAX: usize = 52;

/// The hooks of `CronJobs`.
#[derive(Debug)]
pub struct CronJob;

impl Hooks for CronJob {
    fn default(&self, object: &mut Value) {
        if let Some(spec) = object.at_mut(&["spec", "jobTemplate", "spec"]) {
            job::set_defaults(spec);
        }
    }

    fn prepare_create(&self, _context: WriteContext<'_>, object: &mut Value) {
        pod_spec::drop_disabled(object, None, &["spec", "jobTemplate", "spec", "template", "spec"]);
    }

    fn prepare_update(&self, _context: WriteContext<'_>, object: &mut Value, old: &Value) {
        pod_spec::drop_disabled(object, Some(old), &["spec", "jobTemplate", "spec", "template", "spec"]);
    }

    fn validate_create(&self, _context: WriteContext<'_>, object: &Value, errors: &mut ErrorList) {
        faults(object, None, errors);
        let name = object::name(object);
        if name.len() > NAME_BYTES_MAX {
            let why = format!("must be no more than {NAME_BYTES_MAX} characters");
            errors.invalid(Path::new("metadata").child("name"), quoted(name), &why);
        }
    }

    fn validate_update(
        &self,
        context: WriteContext<'_>,
        object: &Value,
        old: &Value,
        errors: &mut ErrorList,
    ) {
        if context.subresource.is_empty() {
            faults(object, Some(old), errors);
        }
    }

    fn warnings(&self, object: &Value, old: Option<&Value>) -> Vec<String> {
        let mut texts = warnings::workload(object, old, TEMPLATE);
        job::warn_of_many_indexes(object, &["spec", "jobTemplate", "spec"], old, &mut texts);
        texts
    }

    fn cell(&self, column: &str, object: &Value) -> Value {
        match column {
            "Active" => cells::count(object, &["status", "active"]).into(),
            "Suspend" => object
                .at(&["spec", "suspend"])
                .and_then(Value::as_bool)
                .unwrap_or_default()
                .to_string()
                .into(),
            "Last Schedule" => cells::since(object, &["status", "lastScheduleTime"], NONE).into(),
            "Containers" => pod_spec::container_names(object, TEMPLATE).into(),
            "Images" => pod_spec::container_images(object, TEMPLATE).into(),
            "Selector" => cells::selector(object, &["spec", "jobTemplate", "spec", "selector"]).into(),
            _ => Value::Null,
        }
    }
}

fn faults(object: &Value, old: Option<&Value>, errors: &mut ErrorList) {
    let path = Path::new("spec");
    let mut out = Faults::take(errors, &path);
    let nothing = Value::Null;
    let spec = object.get("spec").unwrap_or(&nothing);
    let zone = spec.get("timeZone").and_then(Value::as_str);
    let text = spec.text_at(&["schedule"]);
    let schedule_path = path.child("schedule");
    out.declared(&schedule_path);
    if !text.is_empty() {
        if let Err(why) = schedule::check(text) {
            out.invalid(schedule_path.clone(), quoted(text), &why);
        }
        if text.contains("TZ") {
            let had = old.is_some_and(|old| old.text_at(&["spec", "schedule"]).contains("TZ"));
            if zone.is_some() {
                let why = "cannot use both timeZone field and TZ or CRON_TZ in schedule";
                out.invalid(schedule_path, quoted(text), why);
            } else if !had {
                let why = "cannot use TZ or CRON_TZ in schedule, use timeZone field instead";
                out.invalid(schedule_path, quoted(text), why);
            }
        }
    }
    out.declared(&path.child("startingDeadlineSeconds"));
    if let Some(zone) = zone {
        time_zone(zone, &path.child("timeZone"), &mut out);
    }
    out.declared(&path.child("concurrencyPolicy"));
    let job = spec.at(&["jobTemplate", "spec"]).unwrap_or(&nothing);
    let job_path = path.child("jobTemplate").child("spec");
    job::spec_faults(job, &job_path, &mut out);
    if let Some(selector) = job.get("selector").filter(|selector| !selector.is_null()) {
        out.invalid(job_path.child("selector"), go_value(selector), "`selector` will be auto-generated");
    }
    if job.get("manualSelector").and_then(Value::as_bool) == Some(true) {
        out.not_supported(job_path.child("manualSelector"), true, &["nil", "false"]);
    }
}

/// A zone must be one that the machine knows, where it knows any.
fn time_zone(zone: &str, path: &Path, out: &mut Faults<'_>) {
    const KNOWN: &str = "/usr/share/zoneinfo";
    if zone.is_empty() {
        out.invalid(path.clone(), quoted(zone), "timeZone must be nil or non-empty string");
        return;
    }
    if zone.eq_ignore_ascii_case("Local") {
        let why = "timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones";
        out.invalid(path.clone(), quoted(zone), why);
        return;
    }
    if zone.split('/').any(|part| part == "..") || zone.starts_with(['/', '\\']) {
        out.invalid(path.clone(), quoted(zone), "time: invalid location name");
        return;
    }
    let directory = std::path::Path::new(KNOWN);
    if zone != "UTC" && directory.is_dir() && !directory.join(zone).is_file() {
        out.invalid(path.clone(), quoted(zone), &format!("unknown time zone {zone}"));
    }
}
