//! What a webhook answers: read, and checked for what an answer must be.

use apiwright_json::Value;
use apiwright_meta::Status;
use apiwright_meta::status::Reason;
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;

use crate::client::{misfit, quoted};
use crate::hook::ReviewVersion;

/// An answer that is one.
#[derive(Debug, Default)]
pub(crate) struct Answer {
    pub(crate) allowed: bool,
    /// What the client is told where it is not.
    pub(crate) status: Option<Status>,
    /// The patch of a webhook that mutates, and its type.
    pub(crate) patch: Vec<u8>,
    pub(crate) patch_type: String,
    pub(crate) warnings: Vec<String>,
    /// What it notes for the audit.
    pub(crate) annotations: Vec<(String, String)>,
}

/// Why an answer is none.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// It cannot be read.
    Unreadable(String),
    /// It says what it may not.
    Invalid(String),
}

impl Answer {
    /// The answer in a review that was asked for in a version, under a uid, by a webhook that mutates or not.
    pub(crate) fn read(
        version: ReviewVersion,
        uid: &str,
        mutating: bool,
        review: &Value,
    ) -> Result<Self, Fault> {
        check_kind(version, review)?;
        let response = match review.get("response") {
            None | Some(Value::Null) => return Err(Fault::Invalid("webhook response was absent".into())),
            Some(response @ Value::Object(_)) => response,
            Some(other) => {
                let why = misfit(
                    other,
                    "AdmissionReview.response",
                    &format!("{}.AdmissionResponse", short(version)),
                );
                return Err(Fault::Unreadable(why));
            }
        };
        let text = |name: &'static str| match member(response, name) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text.as_str())),
            Some(other) => Err(unfit(other, name, "string")),
        };
        let given_uid = text("uid")?.unwrap_or_default();
        let allowed = match member(response, "allowed") {
            None => false,
            Some(Value::Bool(allowed)) => *allowed,
            Some(other) => return Err(unfit(other, "allowed", "bool")),
        };
        let patch = BASE64_STANDARD
            .decode(text("patch")?.unwrap_or_default())
            .map_err(|error| Fault::Unreadable(illegal(&error)))?;
        let patch_type = text("patchType")?;
        let warnings = warnings(response)?;
        let annotations = annotations(response)?;
        let status = match member(response, "status") {
            None => None,
            Some(status @ Value::Object(_)) => Some(Status::from_fields(status)),
            Some(other) => return Err(unfit(other, "status", "v1.Status")),
        };
        if version == ReviewVersion::V1 {
            check(given_uid, uid, mutating, &patch, patch_type, review).map_err(Fault::Invalid)?;
        }
        let patch = if mutating { patch } else { Vec::new() };
        let patch_type = match version {
            ReviewVersion::V1 => patch_type.unwrap_or_default(),
            // Nobody asked for it then.
            ReviewVersion::V1Beta1 if patch.is_empty() => "",
            ReviewVersion::V1Beta1 => "JSONPatch",
        };
        Ok(Self { allowed, status, patch, patch_type: patch_type.into(), warnings, annotations })
    }

    /// The refusal of a webhook of this name.
    pub(crate) fn denial(&mut self, webhook: &str) -> Box<Status> {
        let mut status = self.status.take().unwrap_or_default();
        let denied = format!("admission webhook {} denied the request", quoted(webhook));
        status.code = status.code.max(400);
        let reason = status.reason.as_ref().map_or("", Reason::as_str);
        status.message = match (status.message.as_str(), reason) {
            ("", "") => format!("{denied} without explanation"),
            ("", reason) => format!("{denied}: {reason}"),
            (message, _) => format!("{denied}: {message}"),
        };
        Box::new(status)
    }
}

/// What holds of answers in v1.
fn check(
    given_uid: &str,
    uid: &str,
    mutating: bool,
    patch: &[u8],
    patch_type: Option<&str>,
    review: &Value,
) -> Result<(), String> {
    if given_uid != uid {
        return Err(format!("expected response.uid={}, got {}", quoted(uid), quoted(given_uid)));
    }
    let given = (review.text_at(&["apiVersion"]), review.text_at(&["kind"]));
    if given != ("admission.k8s.io/v1", "AdmissionReview") {
        let (group, version) = given.0.split_once('/').unwrap_or(("", given.0));
        let got = format!("{group}/{version}, Kind={}", given.1);
        let words = "expected webhook response of admission.k8s.io/v1, Kind=AdmissionReview, got";
        return Err(format!("{words} {got}"));
    }
    match (mutating, patch.is_empty(), patch_type) {
        (true, false, None) => Err("webhook returned response.patch but not response.patchType".into()),
        (true, true, Some(_)) => Err("webhook returned response.patchType but not response.patch".into()),
        (true, _, Some("")) => Err("webhook returned invalid response.patchType of \"\"".into()),
        (false, false, _) => Err("validating webhook may not return response.patch".into()),
        (false, _, Some(_)) => Err("validating webhook may not return response.patchType".into()),
        _ => Ok(()),
    }
}

/// An answer may leave out what it is, and must not be something else.
fn check_kind(version: ReviewVersion, review: &Value) -> Result<(), Fault> {
    let (api_version, kind) = (review.text_at(&["apiVersion"]), review.text_at(&["kind"]));
    let known = ["admission.k8s.io/v1", "admission.k8s.io/v1beta1"];
    if (!kind.is_empty() && kind != "AdmissionReview")
        || (!api_version.is_empty() && !known.contains(&api_version))
    {
        return Err(Fault::Unreadable(format!(
            "no kind {} is registered for version {} in scheme \"pkg/runtime/scheme.go\"",
            quoted(if kind.is_empty() { "AdmissionReview" } else { kind }),
            quoted(if api_version.is_empty() { version.api_version() } else { api_version }),
        )));
    }
    if !api_version.is_empty() && api_version != version.api_version() {
        let other = if version == ReviewVersion::V1 { ReviewVersion::V1Beta1 } else { ReviewVersion::V1 };
        return Err(Fault::Unreadable(format!(
            "converting ({}.AdmissionReview) to ({}.AdmissionReview): unknown conversion",
            short(other),
            short(version)
        )));
    }
    Ok(())
}

fn warnings(response: &Value) -> Result<Vec<String>, Fault> {
    let items = match member(response, "warnings") {
        None => return Ok(Vec::new()),
        Some(Value::Array(items)) => items,
        Some(other) => return Err(unfit(other, "warnings", "[]string")),
    };
    let text = |item: &Value| match item {
        Value::String(text) => Ok(text.to_string()),
        Value::Null => Ok(String::new()),
        other => Err(unfit(other, "warnings", "string")),
    };
    items.iter().map(text).collect()
}

fn annotations(response: &Value) -> Result<Vec<(String, String)>, Fault> {
    const NAME: &str = "auditAnnotations";
    let members = match member(response, NAME) {
        None => return Ok(Vec::new()),
        Some(Value::Object(members)) => members,
        Some(other) => return Err(unfit(other, NAME, "map[string]string")),
    };
    let text = |(key, value): (&apiwright_json::Str, &Value)| match value {
        Value::String(text) => Ok((key.to_string(), text.to_string())),
        Value::Null => Ok((key.to_string(), String::new())),
        other => Err(unfit(other, NAME, "string")),
    };
    let mut annotations = members.iter().map(text).collect::<Result<Vec<_>, _>>()?;
    annotations.sort();
    Ok(annotations)
}

fn member<'a>(response: &'a Value, name: &str) -> Option<&'a Value> {
    response.get(name).filter(|value| !value.is_null())
}

fn unfit(value: &Value, name: &str, ty: &str) -> Fault {
    Fault::Unreadable(misfit(value, &format!("AdmissionResponse.response.{name}"), ty))
}

fn short(version: ReviewVersion) -> &'static str {
    match version {
        ReviewVersion::V1 => "v1",
        ReviewVersion::V1Beta1 => "v1beta1",
    }
}

fn illegal(error: &base64::DecodeError) -> String {
    let at = match error {
        base64::DecodeError::InvalidByte(at, _) | base64::DecodeError::InvalidLastSymbol(at, _) => *at,
        base64::DecodeError::InvalidLength(at) => *at,
        base64::DecodeError::InvalidPadding => 0,
    };
    format!("illegal base64 data at input byte {at}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn review(kind: &str, response: &str) -> Value {
        let json = format!(r#"{{{kind}"response":{response}}}"#);
        apiwright_json::decode(json.as_bytes()).unwrap().0
    }

    const V1: &str = r#""apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","#;

    #[test]
    fn what_an_answer_must_be() {
        let invalid = |why: &str| Err(Fault::Invalid(why.to_owned()));
        let unreadable = |why: &str| Err(Fault::Unreadable(why.to_owned()));
        for (kind, mutating, response, want) in [
            (V1, false, r#"{"uid":"u","allowed":true}"#, Ok(true)),
            (V1, false, r#"{"uid":"u"}"#, Ok(false)),
            (V1, true, r#"{"uid":"u","allowed":true,"patch":"W10=","patchType":"JSONPatch"}"#, Ok(true)),
            (V1, false, "null", invalid("webhook response was absent")),
            (V1, false, r#"{"uid":"v"}"#, invalid("expected response.uid=\"u\", got \"v\"")),
            (
                "",
                false,
                r#"{"uid":"u"}"#,
                invalid(
                    "expected webhook response of admission.k8s.io/v1, Kind=AdmissionReview, got /, Kind=",
                ),
            ),
            (
                V1,
                false,
                r#"{"uid":"u","patch":"W10="}"#,
                invalid("validating webhook may not return response.patch"),
            ),
            (
                V1,
                false,
                r#"{"uid":"u","patchType":"JSONPatch"}"#,
                invalid("validating webhook may not return response.patchType"),
            ),
            (
                V1,
                true,
                r#"{"uid":"u","patch":"W10="}"#,
                invalid("webhook returned response.patch but not response.patchType"),
            ),
            (
                V1,
                true,
                r#"{"uid":"u","patchType":"JSONPatch"}"#,
                invalid("webhook returned response.patchType but not response.patch"),
            ),
            (
                V1,
                true,
                r#"{"uid":"u","patch":"W10=","patchType":""}"#,
                invalid("webhook returned invalid response.patchType of \"\""),
            ),
            (
                V1,
                false,
                r#"{"uid":"u","allowed":"yes"}"#,
                unreadable(
                    "json: cannot unmarshal string into Go struct field AdmissionResponse.response.allowed of type bool",
                ),
            ),
            (V1, false, r#"{"uid":"u","patch":"*"}"#, unreadable("illegal base64 data at input byte 0")),
        ] {
            let got = Answer::read(ReviewVersion::V1, "u", mutating, &review(kind, response));
            assert_eq!(got.map(|answer| answer.allowed), want, "{response}");
        }
        // Before v1 nobody looked that closely.
        let lax = review("", r#"{"allowed":true,"patch":"W10="}"#);
        let answer = Answer::read(ReviewVersion::V1Beta1, "u", true, &lax).unwrap();
        assert_eq!((answer.allowed, answer.patch_type.as_str()), (true, "JSONPatch"));
    }

    #[test]
    fn denials() {
        for (status, code, message) in [
            ("null", 400, "admission webhook \"w\" denied the request without explanation"),
            (r#"{"message":"no"}"#, 400, "admission webhook \"w\" denied the request: no"),
            (r#"{"reason":"Forbidden"}"#, 400, "admission webhook \"w\" denied the request: Forbidden"),
            (r#"{"code":302}"#, 400, "admission webhook \"w\" denied the request without explanation"),
            (
                r#"{"code":418,"message":"m","status":"Success"}"#,
                418,
                "admission webhook \"w\" denied the request: m",
            ),
        ] {
            let review = review(V1, &format!(r#"{{"uid":"u","status":{status}}}"#));
            let denial = Answer::read(ReviewVersion::V1, "u", false, &review).unwrap().denial("w");
            assert_eq!((denial.code, denial.message.as_str()), (code, message), "{status}");
        }
    }
}
