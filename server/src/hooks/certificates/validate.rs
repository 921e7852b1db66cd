//! What makes a CertificateSigningRequest valid.

use apiwright_json::Value;
use apiwright_meta::field::quoted;
use apiwright_meta::{ErrorList, Path};

use super::pem;
use crate::hooks::shared::cells;
use crate::hooks::shared::faults::Faults;
use crate::hooks::shared::signer::signer_name;

const LEGACY_SIGNER: &str = "kubernetes.io/legacy-unknown";
const SECONDS_MIN: i64 = 600;
/// Conditions that are true, or are not there.
const TRUE_ONLY: [&str; 3] = ["Approved", "Denied", "Failed"];
const STATUSES: [&str; 3] = ["False", "True", "Unknown"];
const EXCLUSIVE: &str = "Approved and Denied conditions are mutually exclusive";

/// The faults of a request; what an old one has may stay.
pub(super) fn request(request: &Value, old: Option<&Value>, errors: &mut ErrorList) {
    spec_faults(request, old, errors);
    condition_faults(request, old, errors);
    let certificate = request.text_at(&["status", "certificate"]);
    let before = old.map(|old| old.text_at(&["status", "certificate"]));
    let is_old =
        before.is_some_and(|before| before == certificate || pem::certificates_fault(before).is_some());
    if let Some(why) = pem::certificates_fault(certificate).filter(|_| !is_old) {
        let path = Path::new("status").child("certificate");
        errors.invalid(path, quoted("<certificate data>"), &why);
    }
}

/// The faults of an update through a subresource, or of the request itself.
pub(super) fn update(request: &Value, old: &Value, subresource: &str, errors: &mut ErrorList) {
    self::request(request, Some(old), errors);
    let path = Path::new("status").child("conditions");
    let of = |object, kind: &str| -> Vec<&Value> {
        let all = cells::items(object, &["status", "conditions"]).iter();
        all.filter(|condition| condition.text_at(&["type"]) == kind).collect()
    };
    for kind in TRUE_ONLY {
        if of(request, kind).len() < of(old, kind).len() {
            let why = format!("updates may not remove a condition of type {}", quoted(kind));
            errors.forbidden(path.clone(), &why);
        }
    }
    for kind in ["Approved", "Denied"].into_iter().filter(|_| subresource != "approval") {
        let (now, before) = (of(request, kind), of(old, kind));
        let verb = match now.len().cmp(&before.len()) {
            std::cmp::Ordering::Less => continue,
            std::cmp::Ordering::Greater => "add",
            std::cmp::Ordering::Equal if now == before => continue,
            std::cmp::Ordering::Equal => "modify",
        };
        let why = format!("updates may not {verb} a condition of type {}", quoted(kind));
        errors.forbidden(path.clone(), &why);
    }
    let certificate = |object: &Value| object.text_at(&["status", "certificate"]).to_owned();
    if certificate(request) != certificate(old) {
        let path = Path::new("status").child("certificate");
        if subresource != "status" {
            errors.forbidden(path, "updates may not set certificate content");
        } else if !certificate(old).is_empty() {
            errors.forbidden(path, "updates may not modify existing certificate content");
        }
    }
}

fn spec_faults(request: &Value, old: Option<&Value>, errors: &mut ErrorList) {
    let path = Path::new("spec");
    let mut out = Faults::take(errors, &path);
    let text = |member: &str| request.text_at(&["spec", member]);
    if let Some(why) = pem::request_fault(text("request")) {
        let shown = if text("request").is_empty() { "null".into() } else { quoted(text("request")) };
        out.invalid(path.child("request"), shown, &why);
    }
    out.declared_below(&path.child("usages"));
    let repeated = |request| {
        let usages = cells::items(request, &["spec", "usages"]);
        let is_repeated = |(at, usage): &(usize, &Value)| usages[..*at].contains(usage);
        usages.iter().enumerate().filter(is_repeated).collect::<Vec<_>>()
    };
    if old.is_none_or(|old| repeated(old).is_empty()) {
        for (at, usage) in repeated(request) {
            out.duplicate(path.child("usages").index(at), quoted(usage.as_str().unwrap_or_default()));
        }
    }
    let is_known = |old: &Value| old.text_at(&["spec", "signerName"]) == LEGACY_SIGNER;
    if text("signerName") == LEGACY_SIGNER && !old.is_some_and(is_known) {
        let why = "the legacy signerName is not allowed via this API version";
        out.invalid(path.child("signerName"), quoted(LEGACY_SIGNER), why);
    } else {
        signer_name(text("signerName"), &path.child("signerName"), &mut out);
    }
    let seconds = request.at(&["spec", "expirationSeconds"]).and_then(Value::as_i64);
    if let Some(seconds) = seconds.filter(|seconds| *seconds < SECONDS_MIN) {
        let why = "may not specify a duration less than 600 seconds (10 minutes)";
        out.invalid(path.child("expirationSeconds"), seconds, why);
    }
}

fn condition_faults(request: &Value, old: Option<&Value>, errors: &mut ErrorList) {
    let path = Path::new("status").child("conditions");
    let mut out = Faults::take(errors, &path);
    out.drop_below(&path);
    let types = |object| {
        let all = cells::items(object, &["status", "conditions"]).iter();
        all.map(|condition| condition.text_at(&["type"])).collect::<Vec<_>>()
    };
    let before = old.map(types).unwrap_or_default();
    let had_both = before.contains(&"Approved") && before.contains(&"Denied");
    let had_twice = before.iter().enumerate().any(|(at, kind)| before[..at].contains(kind));
    let all = types(request);
    for (at, condition) in cells::items(request, &["status", "conditions"]).iter().enumerate() {
        let (kind, status, path_of) = (all[at], condition.text_at(&["status"]), path.index(at));
        if kind.is_empty() && !before.contains(&"") {
            out.required(path_of.child("type"), "");
        }
        let known = if TRUE_ONLY.contains(&kind) { &STATUSES[1..2] } else { &STATUSES[..] };
        match status {
            "" => out.required(path_of.child("status"), ""),
            other if !known.contains(&other) => {
                out.not_supported(path_of.child("status"), quoted(other), known);
            }
            _ => {}
        }
        let other = match kind {
            "Approved" => "Denied",
            "Denied" => "Approved",
            _ => "",
        };
        if !had_both && !other.is_empty() && all[..at].contains(&other) {
            out.invalid(path.clone(), quoted(kind), EXCLUSIVE);
        }
        if !had_twice && all[..at].contains(&kind) {
            out.duplicate(path_of.child("type"), quoted(kind));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with_conditions(conditions: &str) -> Value {
        let text = format!(r#"{{"status":{{"conditions":[{conditions}]}}}}"#);
        apiwright_json::decode(text.as_bytes()).unwrap().0
    }

    #[test]
    fn faults_of_conditions() {
        let table = [
            (r#"{"type":"Approved","status":"True"}"#, "[]".to_owned()),
            (
                r#"{"type":"Denied","status":"False"}"#,
                "status.conditions[0].status: Unsupported value: \"False\": supported values: \"True\""
                    .into(),
            ),
            (
                r#"{"type":"Approved","status":"True"},{"type":"Denied","status":"True"}"#,
                format!("status.conditions: Invalid value: \"Denied\": {EXCLUSIVE}"),
            ),
            (
                r#"{"type":"A","status":"True"},{"type":"A","status":"True"}"#,
                "status.conditions[1].type: Duplicate value: \"A\"".into(),
            ),
        ];
        for (conditions, expected) in table {
            let mut errors = ErrorList::new();
            condition_faults(&with_conditions(conditions), None, &mut errors);
            assert_eq!(errors.aggregate(), expected, "{conditions}");
        }
    }

    #[test]
    fn a_request_is_approved_through_its_subresource() {
        let new = with_conditions(r#"{"type":"Approved","status":"True"}"#);
        for (subresource, is_fine) in [("approval", true), ("status", false), ("", false)] {
            let mut errors = ErrorList::new();
            update(&new, &with_conditions(""), subresource, &mut errors);
            let why = "status.conditions: Forbidden: updates may not add a condition of type \"Approved\"";
            assert_eq!(!errors.aggregate().contains(why), is_fine, "{subresource}");
        }
    }
}
