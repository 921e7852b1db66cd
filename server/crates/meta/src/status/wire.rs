//! A Status as an object, and back.

use apiwright_json::{Object, Value};

use super::{Details, Reason, Status};
use crate::field::Cause;

impl Status {
    /// The object that is sent; `ERROR` events of watches carry it, too.
    pub fn to_value(&self) -> Value {
        let mut object = Object::with_capacity(8);
        object.push("kind", "Status");
        object.push("apiVersion", "v1");
        let mut metadata = Object::new();
        push_text(&mut metadata, "continue", &self.continue_token);
        object.push("metadata", metadata);
        object.push("status", if self.code < 400 { "Success" } else { "Failure" });
        push_text(&mut object, "message", &self.message);
        push_text(&mut object, "reason", self.reason.as_ref().map_or("", Reason::as_str));
        if let Some(details) = &self.details {
            object.push("details", details_value(details));
        }
        push_number(&mut object, "code", self.code.into());
        Value::Object(object)
    }

    /// The Status that an object is: what webhooks and backends answer with. A code that is missing stays 0.
    pub fn from_value(value: &Value) -> Option<Box<Self>> {
        (value.text_at(&["kind"]) == "Status").then(|| Box::new(Self::from_fields(value)))
    }

    /// The Status whose fields an object has, whatever it calls itself.
    pub fn from_fields(value: &Value) -> Self {
        Self {
            code: value
                .get("code")
                .and_then(Value::as_i64)
                .and_then(|code| code.try_into().ok())
                .unwrap_or_default(),
            reason: Reason::from_wire(value.text_at(&["reason"])),
            message: value.text_at(&["message"]).into(),
            details: value
                .get("details")
                .filter(|details| !details.is_null())
                .map(|details| Box::new(details_of(details))),
            continue_token: value.text_at(&["metadata", "continue"]).into(),
        }
    }
}

fn details_value(details: &Details) -> Object {
    let mut object = Object::new();
    push_text(&mut object, "name", &details.name);
    push_text(&mut object, "group", &details.group);
    push_text(&mut object, "kind", &details.kind);
    push_text(&mut object, "uid", &details.uid);
    if !details.causes.is_empty() {
        object.push("causes", details.causes.iter().map(cause_value).collect::<Vec<_>>());
    }
    push_number(&mut object, "retryAfterSeconds", details.retry_after_seconds.into());
    object
}

fn cause_value(cause: &Cause) -> Value {
    let mut object = Object::with_capacity(3);
    push_text(&mut object, "reason", &cause.reason);
    push_text(&mut object, "message", &cause.message);
    push_text(&mut object, "field", &cause.field);
    Value::Object(object)
}

fn details_of(value: &Value) -> Details {
    let text = |key: &str| value.text_at(&[key]).to_owned();
    let seconds = value.get("retryAfterSeconds").and_then(Value::as_i64);
    let causes = value.get("causes").and_then(Value::as_array).into_iter().flatten();
    Details {
        name: text("name"),
        group: text("group"),
        kind: text("kind"),
        uid: text("uid"),
        causes: causes
            .map(|cause| Cause {
                reason: cause.text_at(&["reason"]).into(),
                message: cause.text_at(&["message"]).into(),
                field: cause.text_at(&["field"]).into(),
            })
            .collect(),
        retry_after_seconds: seconds.and_then(|seconds| seconds.try_into().ok()).unwrap_or_default(),
    }
}

fn push_text(object: &mut Object, key: &'static str, text: &str) {
    if !text.is_empty() {
        object.push(key, text);
    }
}

fn push_number(object: &mut Object, key: &'static str, number: i64) {
    if number != 0 {
        object.push(key, number);
    }
}
