//! A definition's conversion webhook: `ConversionReview`, and what an answer to one must be.

use std::time::Duration;

use apiwright_endpoints::Convert;
use apiwright_json::Value;
use apiwright_meta::field::quoted;
use apiwright_meta::status::Result as StatusResult;
use apiwright_meta::{Status, object};
use apiwright_registry::Resource;
use apiwright_webhook::{Client, Clients, Failure};
use futures::future::BoxFuture;

use super::{Converter, metadata};

/// How long a webhook has.
const TIMEOUT: Duration = Duration::from_secs(30);

/// Converts objects.
#[derive(Debug)]
pub(crate) struct ConversionWebhook {
    client: Client,
    /// The first of the review versions that it reads and we write.
    version: Option<&'static str>,
}

impl ConversionWebhook {
    /// The webhook of a definition's `conversion.webhook`.
    pub(crate) fn of(webhook: &Value, clients: &Clients) -> Self {
        let versions = webhook.get("conversionReviewVersions").and_then(Value::as_array);
        let version = versions.into_iter().flatten().find_map(|version| match version.as_str() {
            Some("v1") => Some("apiextensions.k8s.io/v1"),
            Some("v1beta1") => Some("apiextensions.k8s.io/v1beta1"),
            _ => None,
        });
        Self { client: clients.of(webhook.get("clientConfig").unwrap_or(&Value::Null)), version }
    }

    /// The objects, those of other versions converted: all of them in one review.
    ///
    /// # Errors
    /// Where the webhook is not to be had, refuses, or answers something else.
    async fn converted(&self, mut objects: Vec<Value>, desired: &str) -> Result<Vec<Value>, String> {
        let others: Vec<usize> =
            (0..objects.len()).filter(|at| object::api_version(&objects[*at]) != desired).collect();
        let Some(first) = others.first() else { return Ok(objects) };
        let named = format!("conversion webhook for {}", gvk(&objects[*first]));
        let version = self.version.ok_or("no supported conversion review versions")?;
        let uid = uuid::Uuid::new_v4().to_string();
        let review = review(version, &uid, others.iter().map(|at| &objects[*at]), desired);
        let failed = |why: String| format!("{named} failed: {why}");
        let answer = self.client.post(review, TIMEOUT).await;
        let answer = answer.map_err(|failure| match failure {
            // Upstream serves nothing of a definition whose webhook it could not call.
            Failure::Client(why) | Failure::Call(why) => failed(why),
        })?;
        let converted = objects_of(answer, version, &uid).map_err(failed)?;
        if converted.len() != others.len() {
            return Err(format!("{named} returned {} objects, expected {}", converted.len(), others.len()));
        }
        for (at, converted) in others.into_iter().zip(converted) {
            let original = &objects[at];
            let named = format!("conversion webhook for {}", gvk(original));
            objects[at] =
                accept(original, converted, desired).map_err(|why| format!("{named} returned {why}"))?;
        }
        Ok(objects)
    }
}

impl Converter for ConversionWebhook {
    fn convert<'a>(
        &'a self,
        objects: Vec<Value>,
        desired: &'a str,
    ) -> BoxFuture<'a, Result<Vec<Value>, String>> {
        Box::pin(self.converted(objects, desired))
    }
}

impl Convert for ConversionWebhook {
    fn convert<'a>(&'a self, object: Value, to: &'a Resource) -> BoxFuture<'a, StatusResult<Value>> {
        Box::pin(async move {
            let mut converted =
                self.converted(vec![object], &to.api_version()).await.map_err(Status::unclassified)?;
            Ok(converted.pop().unwrap_or_default())
        })
    }
}

/// The bytes of a review.
fn review<'a>(version: &str, uid: &str, objects: impl Iterator<Item = &'a Value>, desired: &str) -> Vec<u8> {
    let mut out = Vec::with_capacity(4096);
    out.extend_from_slice(b"{\"kind\":\"ConversionReview\",\"apiVersion\":\"");
    out.extend_from_slice(version.as_bytes());
    out.extend_from_slice(b"\",\"request\":{\"uid\":\"");
    out.extend_from_slice(uid.as_bytes());
    out.extend_from_slice(b"\",\"desiredAPIVersion\":");
    apiwright_json::to_bytes(&Value::from(desired), &mut out);
    out.extend_from_slice(b",\"objects\":");
    for (at, object) in objects.enumerate() {
        out.push(if at == 0 { b'[' } else { b',' });
        apiwright_json::to_bytes(object, &mut out);
    }
    // A response of nothing is part of what upstream sends.
    out.extend_from_slice(
        b"]},\"response\":{\"uid\":\"\",\"convertedObjects\":null,\"result\":{\"metadata\":{}}}}",
    );
    out
}

/// The converted objects of an answer.
fn objects_of(mut answer: Value, version: &str, uid: &str) -> Result<Vec<Value>, String> {
    let is_v1 = version == "apiextensions.k8s.io/v1";
    let (api_version, kind) = (object::api_version(&answer).to_owned(), object::kind(&answer).to_owned());
    let known = ["", "apiextensions.k8s.io/v1", "apiextensions.k8s.io/v1beta1"];
    if !known.contains(&api_version.as_str()) || !matches!(kind.as_str(), "" | "ConversionReview") {
        return Err(format!(
            "no kind {} is registered for version {} in scheme \"pkg/runtime/scheme.go\"",
            quoted(&kind),
            quoted(&api_version)
        ));
    }
    if is_v1 && (api_version.as_str(), kind.as_str()) != (version, "ConversionReview") {
        let (group, version) = api_version.split_once('/').unwrap_or(("", &api_version));
        return Err(format!(
            "expected webhook response of apiextensions.k8s.io/v1, Kind=ConversionReview, got {group}/{version}, \
             Kind={kind}"
        ));
    }
    let Some(Value::Object(response)) = answer.at_mut(&["response"]) else {
        return Err("no response provided".into());
    };
    let given = response.get("uid").and_then(Value::as_str).unwrap_or_default();
    if is_v1 && given != uid {
        return Err(format!("expected response.uid={}, got {}", quoted(uid), quoted(given)));
    }
    let none = Value::Null;
    let result = response.get("result").unwrap_or(&none);
    let (status, message) = (result.text_at(&["status"]), result.text_at(&["message"]));
    if status != "Success" {
        return Err(match message {
            "" => format!("response.result.status was '{status}', not 'Success'"),
            message => message.to_owned(),
        });
    }
    match response.remove("convertedObjects") {
        Some(Value::Array(objects)) => Ok(objects),
        _ => Ok(Vec::new()),
    }
}

/// A converted object with the metadata of the original; only labels and annotations may differ.
fn accept(original: &Value, mut converted: Value, desired: &str) -> Result<Value, String> {
    if object::kind(&converted).is_empty() {
        let shown = apiwright_json::to_string(&converted);
        return Err(format!("invalid object at index 0: Object 'Kind' is missing in '{shown}'"));
    }
    let got = object::api_version(&converted);
    if got != desired {
        return Err(format!(
            "invalid object at index 0: invalid groupVersion (expected {desired}, received {got})"
        ));
    }
    let (expected, got) = (object::kind(original), object::kind(&converted));
    if got != expected {
        return Err(format!("invalid object at index 0: invalid kind (expected {expected}, received {got})"));
    }
    for (what, member) in
        [("name", object::name as fn(&Value) -> &str), ("namespace", object::namespace), ("UID", object::uid)]
    {
        let (before, after) = (member(original), member(&converted));
        if before != after {
            return Err(format!("invalid object: must have the same {what}: {before} != {after}"));
        }
    }
    metadata::restore(original, &mut converted).map_err(|why| format!("invalid metadata: {why}"))?;
    Ok(converted)
}

/// `example.com/v1, Kind=Widget`.
fn gvk(object: &Value) -> String {
    format!("{}, Kind={}", object::api_version(object), object::kind(object))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn json(text: &str) -> Value {
        apiwright_json::decode(text.as_bytes()).unwrap().0
    }

    #[test]
    fn answers() {
        let review = |response: &str| {
            json(&format!(
                r#"{{"apiVersion":"apiextensions.k8s.io/v1","kind":"ConversionReview","response":{response}}}"#
            ))
        };
        for (answer, want) in [
            (review(r#"{"uid":"u","result":{"status":"Success"},"convertedObjects":[{}]}"#), Ok(1)),
            (review("null"), Err("no response provided")),
            (review(r#"{"uid":"v"}"#), Err("expected response.uid=\"u\", got \"v\"")),
            (review(r#"{"uid":"u","result":{"status":"Failure","message":"no"}}"#), Err("no")),
            (review(r#"{"uid":"u"}"#), Err("response.result.status was '', not 'Success'")),
            (
                json("{}"),
                Err(
                    "expected webhook response of apiextensions.k8s.io/v1, Kind=ConversionReview, got /, Kind=",
                ),
            ),
        ] {
            let got = objects_of(answer, "apiextensions.k8s.io/v1", "u");
            assert_eq!(got.as_ref().map(Vec::len).map_err(String::as_str), want);
        }
    }

    #[test]
    fn converted_objects_are_the_same_objects() {
        let original = json(
            r#"{"apiVersion":"g/v1","kind":"K","metadata":{"name":"a","namespace":"n","uid":"u","generation":3,"labels":{"a":"b"}}}"#,
        );
        let with = |from: &str, to: &str| {
            let text = apiwright_json::to_string(&original).replace("g/v1", "g/v2");
            assert!(text.contains(from), "{text}");
            accept(&original, json(&text.replace(from, to)), "g/v2")
        };
        for (from, to, want) in [
            (
                "g/v2",
                "g/v1",
                "invalid object at index 0: invalid groupVersion (expected g/v2, received g/v1)",
            ),
            ("\"K\"", "\"L\"", "invalid object at index 0: invalid kind (expected K, received L)"),
            ("\"name\":\"a\"", "\"name\":\"b\"", "invalid object: must have the same name: a != b"),
            ("\"u\"", "\"x\"", "invalid object: must have the same UID: u != x"),
            (
                "{\"a\":\"b\"}",
                "{\"a\":1}",
                "invalid metadata: metadata.labels[a] must be a string, but is int64 in converted object",
            ),
        ] {
            assert_eq!(with(from, to), Err(want.to_owned()), "{to}");
        }
        let converted =
            with("\"generation\":3,\"labels\":{\"a\":\"b\"}", "\"labels\":{\"c\":\"d\"}").unwrap();
        assert_eq!(object::generation(&converted), 3, "what may not change is as it was");
        assert_eq!(object::label(&converted, "c"), Some("d"));
        assert_eq!(object::label(&converted, "a"), None);
    }
}
