//! OpenAPI v2.

use apiwright_json::Value;

use super::{Message, any, items, members, named, within};

/// A document.
pub fn encode(document: &Value) -> Vec<u8> {
    let mut out = Message::default();
    out.text(1, document.text_at(&["swagger"]));
    out.message(2, &info(document.get("info")));
    let mut paths = Message::default();
    for (path, item) in members(document.get("paths")) {
        paths.message(2, &named(path, &path_item(item)));
    }
    out.message(8, &paths);
    let mut definitions = Message::default();
    for (name, definition) in members(document.get("definitions")) {
        definitions.message(1, &named(name, &schema(definition)));
    }
    out.message(9, &definitions);
    let mut parameters = Message::default();
    for (name, one) in members(document.get("parameters")) {
        parameters.message(1, &named(name, &parameter(one)));
    }
    out.message(10, &parameters);
    for requirement in items(document.get("security")) {
        let mut message = Message::default();
        for (name, scopes) in members(Some(requirement)) {
            let mut list = Message::default();
            list.texts(1, scopes);
            message.message(1, &named(name, &list));
        }
        out.message(12, &message);
    }
    let mut security = Message::default();
    for (name, key) in members(document.get("securityDefinitions")) {
        let mut api_key = Message::default();
        for (number, member) in [(1, "type"), (2, "name"), (3, "in"), (4, "description")] {
            api_key.text(number, key.text_at(&[member]));
        }
        security.message(1, &named(name, &within(2, &api_key)));
    }
    out.message(13, &security);
    out.0
}

fn info(info: Option<&Value>) -> Message {
    let mut out = Message::default();
    if let Some(info) = info {
        for (number, member) in [(1, "title"), (2, "version"), (3, "description")] {
            out.text(number, info.text_at(&[member]));
        }
    }
    out
}

fn path_item(item: &Value) -> Message {
    const METHODS: [(u64, &str); 7] =
        [(2, "get"), (3, "put"), (4, "post"), (5, "delete"), (6, "options"), (7, "head"), (8, "patch")];
    let mut out = Message::default();
    for (number, method) in METHODS {
        if let Some(one) = item.get(method) {
            out.message(number, &operation(one));
        }
    }
    for one in items(item.get("parameters")) {
        out.message(9, &parameter_or_reference(one));
    }
    out.extensions(10, item);
    out
}

fn operation(operation: &Value) -> Message {
    let mut out = Message::default();
    let list = |member: &str| operation.get(member).cloned().unwrap_or_default();
    out.texts(1, &list("tags"));
    out.text(3, operation.text_at(&["description"]));
    out.text(5, operation.text_at(&["operationId"]));
    out.texts(6, &list("produces"));
    out.texts(7, &list("consumes"));
    for one in items(operation.get("parameters")) {
        out.message(8, &parameter_or_reference(one));
    }
    let mut responses = Message::default();
    for (code, answer) in members(operation.get("responses")) {
        let mut response = Message::default();
        response.text(1, answer.text_at(&["description"]));
        if let Some(one) = answer.get("schema") {
            response.message(2, &within(1, &schema(one)));
        }
        responses.message(1, &named(code, &within(1, &response)));
    }
    out.message(9, &responses);
    out.texts(10, &list("schemes"));
    out.extensions(13, operation);
    out
}

fn parameter_or_reference(value: &Value) -> Message {
    match value.get("$ref").and_then(Value::as_str) {
        Some(reference) => {
            let mut out = Message::default();
            out.text(1, reference);
            within(2, &out)
        }
        None => within(1, &parameter(value)),
    }
}

/// A body's parameter, or one of a query or a path.
fn parameter(value: &Value) -> Message {
    let text = |member: &str| value.text_at(&[member]);
    let mut out = Message::default();
    match text("in") {
        "body" => {
            out.text(1, text("description"));
            out.text(2, text("name"));
            out.text(3, text("in"));
            out.truth(4, value.get("required"));
            if let Some(one) = value.get("schema") {
                out.message(5, &schema(one));
            }
            within(1, &out)
        }
        place => {
            // A path's parameter has no `allowEmptyValue`: what follows it moves up.
            let (kind, is_path) = if place == "path" { (4, true) } else { (3, false) };
            let number = |number: u64| if is_path { number - 1 } else { number };
            out.truth(1, value.get("required"));
            out.text(2, place);
            out.text(3, text("description"));
            out.text(4, text("name"));
            out.text(number(6), text("type"));
            out.text(number(7), text("format"));
            out.truth(number(20), value.get("uniqueItems"));
            within(2, &within(kind, &out))
        }
    }
}

fn schema(value: &Value) -> Message {
    let mut out = Message::default();
    out.text(1, value.text_at(&["$ref"]));
    out.text(2, value.text_at(&["format"]));
    out.text(3, value.text_at(&["title"]));
    out.text(4, value.text_at(&["description"]));
    if let Some(default) = value.get("default") {
        out.message(5, &any(default));
    }
    out.double(6, value.get("multipleOf"));
    out.double(7, value.get("maximum"));
    out.truth(8, value.get("exclusiveMaximum"));
    out.double(9, value.get("minimum"));
    out.truth(10, value.get("exclusiveMinimum"));
    out.integer(11, value.get("maxLength"));
    out.integer(12, value.get("minLength"));
    out.text(13, value.text_at(&["pattern"]));
    out.integer(14, value.get("maxItems"));
    out.integer(15, value.get("minItems"));
    out.truth(16, value.get("uniqueItems"));
    out.integer(17, value.get("maxProperties"));
    out.integer(18, value.get("minProperties"));
    if let Some(required) = value.get("required") {
        out.texts(19, required);
    }
    for one in items(value.get("enum")) {
        out.message(20, &any(one));
    }
    match value.get("additionalProperties") {
        Some(Value::Bool(truth)) => {
            let mut either = Message::default();
            either.flag(2, *truth);
            out.message(21, &either);
        }
        Some(one) => out.message(21, &within(1, &schema(one))),
        None => {}
    }
    if let Some(kind) = value.get("type").and_then(Value::as_str) {
        let mut item = Message::default();
        item.text(1, kind);
        out.message(22, &item);
    }
    if let Some(one) = value.get("items") {
        out.message(23, &within(1, &schema(one)));
    }
    for one in items(value.get("allOf")) {
        out.message(24, &schema(one));
    }
    if value.get("properties").is_some() {
        let mut properties = Message::default();
        for (name, one) in members(value.get("properties")) {
            properties.message(1, &named(name, &schema(one)));
        }
        out.message(25, &properties);
    }
    out.extensions(31, value);
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gnostic::testing::{fields, within_all};

    #[test]
    fn documents_read_back() {
        let text = r##"{"swagger":"2.0","info":{"title":"Kubernetes","version":"v1"},
            "paths":{"/a":{"get":{"operationId":"getA","parameters":[{"$ref":"#/parameters/p"},
              {"name":"name","in":"path","type":"string","required":true}],
              "responses":{"200":{"description":"OK","schema":{"$ref":"#/definitions/A"}}},"x-kubernetes-action":"get"}}},
            "definitions":{"A":{"type":"object","properties":{"n":{"type":"integer","minimum":1}}}}}"##;
        let bytes = encode(&apiwright_json::decode(text.as_bytes()).expect("JSON").0);
        let table: &[(&[u64], &[u8])] = &[
            (&[1], b"2.0"),
            (&[2, 1], b"Kubernetes"),
            (&[8, 2, 1], b"/a"),
            (&[8, 2, 2, 2, 5], b"getA"),
            (&[8, 2, 2, 2, 8, 2, 1], b"#/parameters/p"),
            (&[8, 2, 2, 2, 9, 1, 1], b"200"),
            (&[8, 2, 2, 2, 9, 1, 2, 1, 2, 1, 1], b"#/definitions/A"),
            (&[8, 2, 2, 2, 13, 1], b"x-kubernetes-action"),
            (&[8, 2, 2, 2, 13, 2, 2], b"\"get\"\n"),
            (&[9, 1, 1], b"A"),
            (&[9, 1, 2, 22, 1], b"object"),
            (&[9, 1, 2, 25, 1, 2, 9], &1.0_f64.to_le_bytes()),
        ];
        for (path, expected) in table {
            assert_eq!(within_all(&bytes, path), *expected, "{path:?}");
        }
        let mut path =
            fields(&within_all(&bytes, &[8, 2, 2, 2])).into_iter().filter(|(number, _)| *number == 8);
        let named = path.next_back().expect("two parameters").1;
        assert_eq!(within_all(&named, &[1, 2, 4, 5]), b"string");
    }
}
