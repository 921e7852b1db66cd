//! What may be written to a Job's status.

use std::collections::HashSet;

use apiwright_json::Value;
use apiwright_meta::field::{go_value, quoted};
use apiwright_meta::time::Time;
use apiwright_meta::{ErrorList, Path};
use apiwright_schema::go::internal;

use super::change::is_true;
use super::failure_policy::without_value;
use super::{indexes, validate};
use crate::generated::catalogue;
use crate::hooks::shared::cells;
use crate::hooks::shared::faults::Faults;

/// The faults of a status.
pub(super) fn faults(job: &Value, old: &Value, errors: &mut ErrorList) {
    let path = Path::new("status");
    let mut out = Faults::take(errors, &path);
    for member in ["active", "succeeded", "failed", "ready", "terminating"] {
        out.declared(&path.child(member));
    }
    uncounted(job, &path.child("uncountedTerminatedPods"), &mut out);
    outcomes(job, &path, &mut out);
    finished(job, &path, &mut out);
    index_lists(job, &path, &mut out);
    let count = |member: &str| job.at(&["status", member]).and_then(Value::as_i64).unwrap_or_default();
    if is_finished(job) && count("terminating") > 0 {
        let why = "terminating>0 is invalid for finished job";
        out.invalid(path.child("terminating"), count("terminating"), why);
    }
    if count("ready") > count("active") {
        out.invalid(path.child("ready"), count("ready"), "cannot set more ready pods than active");
    }
    criteria(job, &path, &mut out);
    transitions(job, old, &path, &mut out);
}

fn is_finished(job: &Value) -> bool {
    is_true(job, "Complete") || is_true(job, "Failed")
}

/// Pods that ended and are not counted yet.
fn uncounted(job: &Value, path: &Path, out: &mut Faults<'_>) {
    let mut seen = HashSet::new();
    for list in ["succeeded", "failed"] {
        let uids = cells::items(job, &["status", "uncountedTerminatedPods", list]);
        for (at, uid) in uids.iter().filter_map(Value::as_str).enumerate() {
            let path = path.child(list).index(at);
            if uid.is_empty() {
                out.invalid(path, quoted(""), "must not be empty");
            } else if !seen.insert(uid) {
                out.duplicate(path, quoted(uid));
            }
        }
    }
}

/// A job completes or fails, and says so before it does.
fn outcomes(job: &Value, path: &Path, out: &mut Faults<'_>) {
    let is = |kind: &str| is_true(job, kind);
    let conditions = path.child("conditions");
    let refuse = |applies: bool, why: &str, out: &mut Faults<'_>| {
        if applies {
            without_value(&conditions, why, out);
        }
    };
    let complete = is("Complete");
    refuse(complete && is("Failed"), "cannot set Complete=True and Failed=true conditions", out);
    let why = "cannot set Complete=True and FailureTarget=true conditions";
    refuse(complete && is("FailureTarget"), why, out);
    let at = job.text_at(&["status", "completionTime"]);
    let at_path = path.child("completionTime");
    if !at.is_empty() && !complete {
        let why = "cannot set completionTime when there is no Complete=True condition";
        out.invalid(at_path.clone(), quoted(at), why);
    }
    if at.is_empty() && complete {
        out.required(at_path.clone(), "completionTime is required for Complete jobs");
    }
    if let (Ok(end), Ok(start)) = (Time::parse(at), Time::parse(job.text_at(&["status", "startTime"])))
        && end < start
    {
        out.invalid(at_path, quoted(at), "completionTime cannot be set before startTime");
    }
    let why = "cannot set Failed=True condition without the FailureTarget=true condition";
    refuse(is("Failed") && !is("FailureTarget"), why, out);
    let why = "cannot set Complete=True condition without the SuccessCriteriaMet=true condition";
    refuse(complete && !is("SuccessCriteriaMet"), why, out);
}

/// Nothing of a finished job goes on.
fn finished(job: &Value, path: &Path, out: &mut Faults<'_>) {
    if !is_finished(job) {
        return;
    }
    let active = job.at(&["status", "active"]).and_then(Value::as_i64).unwrap_or_default();
    if active > 0 {
        out.invalid(path.child("active"), active, "active>0 is invalid for finished job");
    }
    if job.at(&["status", "startTime"]).is_none() {
        out.required(path.child("startTime"), "startTime is required for finished job");
    }
    let Some(uncounted) = job.at(&["status", "uncountedTerminatedPods"]) else { return };
    if cells::count(uncounted, &["succeeded"]) + cells::count(uncounted, &["failed"]) > 0 {
        let ty = catalogue().definition("io.k8s.api.batch.v1.JobStatus");
        let shown = ty
            .and_then(|ty| ty.field("uncountedTerminatedPods"))
            .map_or_else(|| go_value(uncounted), |field| internal(&field.node, uncounted));
        out.invalid(path.child("uncountedTerminatedPods"), shown, "must be empty for finished job");
    }
}

/// Only what has indexes says which.
fn index_lists(job: &Value, path: &Path, out: &mut Faults<'_>) {
    let nothing = Value::Null;
    let spec = job.get("spec").unwrap_or(&nothing);
    let completions = spec.get("completions").and_then(Value::as_i64);
    let per_index = spec.get("backoffLimitPerIndex").is_some();
    let done = job.text_at(&["status", "completedIndexes"]);
    let failed = job.at(&["status", "failedIndexes"]).and_then(Value::as_str);
    if let Some(completions) = completions {
        let lists = [("completedIndexes", Some(done)), ("failedIndexes", failed.filter(|_| per_index))];
        for (member, text) in lists {
            if let Some(text) = text
                && let Err(why) = indexes::count(text, completions)
            {
                out.invalid(path.child(member), quoted(text), &format!("error parsing {member}: {why}"));
            }
        }
    }
    if !done.is_empty() && !validate::is_indexed(spec) {
        let why = "cannot set non-empty completedIndexes when non-indexed completion mode";
        out.invalid(path.child("completedIndexes"), quoted(done), why);
    }
    if let Some(failed) = failed.filter(|_| !per_index) {
        let why = "cannot set non-null failedIndexes when backoffLimitPerIndex is null";
        out.invalid(path.child("failedIndexes"), quoted(failed), why);
    }
}

/// What has met its criteria has not failed.
fn criteria(job: &Value, path: &Path, out: &mut Faults<'_>) {
    if !is_true(job, "SuccessCriteriaMet") {
        return;
    }
    for kind in ["Failed", "FailureTarget"] {
        if is_true(job, kind) {
            let why = format!("cannot set SuccessCriteriaMet=True and {kind}=true conditions");
            without_value(&path.child("conditions"), &why, out);
        }
    }
}

/// What was said for good stays.
fn transitions(job: &Value, old: &Value, path: &Path, out: &mut Faults<'_>) {
    let conditions = path.child("conditions");
    let vanished = |kind: &str| is_true(old, kind) && !is_true(job, kind);
    for kind in ["Failed", "Complete", "FailureTarget"].into_iter().filter(|kind| vanished(kind)) {
        without_value(&conditions, &format!("cannot disable the terminal {kind}=True condition"), out);
    }
    for member in ["failed", "succeeded"] {
        let count = |job: &Value| job.at(&["status", member]).and_then(Value::as_i64).unwrap_or_default();
        if count(job) < count(old) {
            let why = format!("cannot decrease the {member} counter");
            out.invalid(path.child(member), count(job), &why);
        }
    }
    let time = |job: &Value, member: &str| job.text_at(&["status", member]).to_owned();
    let (now, before) = (time(job, "completionTime"), time(old, "completionTime"));
    if !now.is_empty() && !before.is_empty() && now != before {
        out.invalid(path.child("completionTime"), quoted(&now), "field is immutable");
    }
    let (now, before) = (time(job, "startTime"), time(old, "startTime"));
    let suspended = job.at(&["spec", "suspend"]).and_then(Value::as_bool).unwrap_or_default();
    if !before.is_empty() && !suspended && now != before {
        if now.is_empty() {
            out.required(path.child("startTime"), "startTime cannot be removed for unsuspended job");
        } else {
            let why = "field is immutable for unsuspended job once set";
            out.invalid(path.child("startTime"), quoted(&now), why);
        }
    }
    if vanished("SuccessCriteriaMet") {
        without_value(&conditions, "cannot disable the SuccessCriteriaMet=True condition", out);
    }
}
