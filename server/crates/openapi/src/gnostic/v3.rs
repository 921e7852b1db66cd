//! OpenAPI v3.

use apiwright_json::Value;

use super::{Message, any, items, members, named, within};

/// A document.
pub fn encode(document: &Value) -> Vec<u8> {
    let mut out = Message::default();
    out.text(1, document.text_at(&["openapi"]));
    let mut info = Message::default();
    info.text(1, document.text_at(&["info", "title"]));
    info.text(6, document.text_at(&["info", "version"]));
    out.message(2, &info);
    let mut paths = Message::default();
    for (path, item) in members(document.get("paths")) {
        paths.message(1, &named(path, &path_item(item)));
    }
    out.message(4, &paths);
    let mut schemas = Message::default();
    for (name, one) in members(document.at(&["components", "schemas"])) {
        schemas.message(1, &named(name, &schema_or_reference(one)));
    }
    let mut security = Message::default();
    for (name, scheme) in members(document.at(&["components", "securitySchemes"])) {
        let mut out = Message::default();
        for (number, member) in [(1, "type"), (2, "description"), (3, "name"), (4, "in")] {
            out.text(number, scheme.text_at(&[member]));
        }
        security.message(1, &named(name, &within(1, &out)));
    }
    let mut components = within(1, &schemas);
    components.message(7, &security);
    out.message(5, &components);
    out.0
}

fn path_item(item: &Value) -> Message {
    const METHODS: [(u64, &str); 7] =
        [(4, "get"), (5, "put"), (6, "post"), (7, "delete"), (8, "options"), (9, "head"), (10, "patch")];
    let mut out = Message::default();
    for (number, method) in METHODS {
        if let Some(one) = item.get(method) {
            out.message(number, &operation(one));
        }
    }
    for one in items(item.get("parameters")) {
        out.message(13, &within(1, &parameter(one)));
    }
    out.extensions(14, item);
    out
}

fn operation(operation: &Value) -> Message {
    let mut out = Message::default();
    out.texts(1, operation.get("tags").unwrap_or(&Value::Null));
    out.text(3, operation.text_at(&["description"]));
    out.text(5, operation.text_at(&["operationId"]));
    for one in items(operation.get("parameters")) {
        out.message(6, &within(1, &parameter(one)));
    }
    if let Some(body) = operation.get("requestBody") {
        let mut message = Message::default();
        message.message(2, &content(body.get("content")));
        message.truth(3, body.get("required"));
        out.message(7, &within(1, &message));
    }
    let mut responses = Message::default();
    for (code, answer) in members(operation.get("responses")) {
        let mut response = Message::default();
        response.text(1, answer.text_at(&["description"]));
        if answer.get("content").is_some() {
            response.message(3, &content(answer.get("content")));
        }
        responses.message(2, &named(code, &within(1, &response)));
    }
    out.message(8, &responses);
    out.extensions(13, operation);
    out
}

fn content(content: Option<&Value>) -> Message {
    let mut out = Message::default();
    for (form, body) in members(content) {
        let schema = body.get("schema").unwrap_or(&Value::Null);
        out.message(1, &named(form, &within(1, &schema_or_reference(schema))));
    }
    out
}

fn parameter(value: &Value) -> Message {
    let mut out = Message::default();
    for (number, member) in [(1, "name"), (2, "in"), (3, "description")] {
        out.text(number, value.text_at(&[member]));
    }
    out.truth(4, value.get("required"));
    if let Some(schema) = value.get("schema") {
        out.message(10, &schema_or_reference(schema));
    }
    out
}

fn schema_or_reference(value: &Value) -> Message {
    match value.get("$ref").and_then(Value::as_str) {
        Some(name) => {
            let mut reference = Message::default();
            reference.text(1, name);
            within(2, &reference)
        }
        None => within(1, &schema(value)),
    }
}

fn schema(value: &Value) -> Message {
    let text = |member: &str| value.text_at(&[member]);
    let mut out = Message::default();
    out.truth(1, value.get("nullable"));
    out.text(9, text("title"));
    out.double(10, value.get("multipleOf"));
    out.double(11, value.get("maximum"));
    out.truth(12, value.get("exclusiveMaximum"));
    out.double(13, value.get("minimum"));
    out.truth(14, value.get("exclusiveMinimum"));
    out.integer(15, value.get("maxLength"));
    out.integer(16, value.get("minLength"));
    out.text(17, text("pattern"));
    out.integer(18, value.get("maxItems"));
    out.integer(19, value.get("minItems"));
    out.truth(20, value.get("uniqueItems"));
    out.integer(21, value.get("maxProperties"));
    out.integer(22, value.get("minProperties"));
    out.texts(23, value.get("required").unwrap_or(&Value::Null));
    for one in items(value.get("enum")) {
        out.message(24, &any(one));
    }
    out.text(25, text("type"));
    for (number, junctor) in [(26, "allOf"), (27, "oneOf"), (28, "anyOf")] {
        for one in items(value.get(junctor)) {
            out.message(number, &schema_or_reference(one));
        }
    }
    if let Some(one) = value.get("not") {
        out.message(29, &schema(one));
    }
    if let Some(one) = value.get("items") {
        out.message(30, &within(1, &schema_or_reference(one)));
    }
    if value.get("properties").is_some() {
        let mut properties = Message::default();
        for (name, one) in members(value.get("properties")) {
            properties.message(1, &named(name, &schema_or_reference(one)));
        }
        out.message(31, &properties);
    }
    match value.get("additionalProperties") {
        Some(Value::Bool(truth)) => {
            let mut either = Message::default();
            either.flag(2, *truth);
            out.message(32, &either);
        }
        Some(one) => out.message(32, &within(1, &schema_or_reference(one))),
        None => {}
    }
    default(value.get("default"), &mut out);
    out.text(34, text("description"));
    out.text(35, text("format"));
    out.extensions(36, value);
    out
}

/// A default, of the kinds that the message knows: objects and lists are none.
fn default(value: Option<&Value>, out: &mut Message) {
    let mut either = Message::default();
    match value {
        Some(Value::Int(_) | Value::Float(_)) => either.double(1, value),
        Some(Value::Bool(truth)) => either.flag(2, *truth),
        Some(Value::String(text)) => either.bytes(3, text.as_bytes()),
        Some(Value::Null | Value::Array(_) | Value::Object(_)) | None => return,
    }
    out.message(33, &either);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gnostic::testing::within_all;

    #[test]
    fn documents_read_back() {
        let text = r##"{"openapi":"3.0.0","info":{"title":"Kubernetes","version":"v1"},
            "paths":{"/a":{"get":{"operationId":"getA","responses":{"200":{"description":"OK",
              "content":{"application/json":{"schema":{"$ref":"#/components/schemas/A"}}}}}}}},
            "components":{"schemas":{"A":{"type":"object","properties":{"n":{"type":"integer","default":0}}}}}}"##;
        let bytes = encode(&apiwright_json::decode(text.as_bytes()).expect("JSON").0);
        let table: &[(&[u64], &[u8])] = &[
            (&[1], b"3.0.0"),
            (&[4, 1, 1], b"/a"),
            (&[4, 1, 2, 4, 5], b"getA"),
            (&[4, 1, 2, 4, 8, 2, 2, 1, 3, 1, 1], b"application/json"),
            (&[4, 1, 2, 4, 8, 2, 2, 1, 3, 1, 2, 1, 2, 1], b"#/components/schemas/A"),
            (&[5, 1, 1, 1], b"A"),
            (&[5, 1, 1, 2, 1, 25], b"object"),
            (&[5, 1, 1, 2, 1, 31, 1, 2, 1, 33, 1], &0.0_f64.to_le_bytes()),
        ];
        for (path, expected) in table {
            assert_eq!(within_all(&bytes, path), *expected, "{path:?}");
        }
    }
}
