//! The part of a server's OpenAPI v2 document that is about one group version.
//!
//! A server may tell of everything that it has; what counts of it is what requests are sent there for.

use std::collections::BTreeSet;

use apiwright_json::{Object, Value};

const DEFINITIONS: &str = "#/definitions/";
const PARAMETERS: &str = "#/parameters/";

/// The paths below a prefix, with the definitions and parameters that they need; `None` where there is
/// no such path.
pub(crate) fn below(document: &Value, prefix: &str) -> Option<Value> {
    let members = |name: &str| document.get(name).and_then(Value::as_object);
    let paths: Object = members("paths")?
        .iter()
        .filter(|(path, _)| path.starts_with(prefix))
        .map(|(path, item)| (path.clone(), item.clone()))
        .collect();
    if paths.is_empty() {
        return None;
    }
    let mut needed = BTreeSet::new();
    let mut open: Vec<&Value> = paths.values().collect();
    while let Some(value) = open.pop() {
        let mut found = Vec::new();
        references(value, &mut found);
        for reference in found {
            if !needed.insert(reference) {
                continue;
            }
            let (part, name) = match reference.strip_prefix(DEFINITIONS) {
                Some(name) => ("definitions", name),
                None => ("parameters", reference.strip_prefix(PARAMETERS).unwrap_or_default()),
            };
            open.extend(members(part).and_then(|members| members.get(name)));
        }
    }
    let part = |name: &str, place: &str| -> Object {
        let all = members(name).into_iter().flat_map(Object::iter);
        all.filter(|(name, _)| needed.contains(format!("{place}{name}").as_str()))
            .map(|(name, value)| (name.clone(), value.clone()))
            .collect()
    };
    let (definitions, parameters) = (part("definitions", DEFINITIONS), part("parameters", PARAMETERS));
    let mut found = Object::new();
    found.push("paths", paths);
    found.push("definitions", definitions);
    found.push("parameters", parameters);
    Some(found.into())
}

fn references<'a>(value: &'a Value, found: &mut Vec<&'a str>) {
    match value {
        Value::Array(items) => items.iter().for_each(|item| references(item, found)),
        Value::Object(members) => {
            found.extend(members.str("$ref"));
            members.values().for_each(|member| references(member, found));
        }
        Value::Null | Value::Bool(_) | Value::Int(_) | Value::Float(_) | Value::String(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_group_version_needs() {
        let document = r##"{"swagger":"2.0","paths":{
            "/apis/a/v1/x":{"parameters":[{"$ref":"#/parameters/p"}],"get":{"schema":{"$ref":"#/definitions/A"}}},
            "/apis/a/v10/x":{"get":{"schema":{"$ref":"#/definitions/D"}}}},
            "definitions":{"A":{"items":[{"$ref":"#/definitions/B"}]},"B":{"$ref":"#/definitions/A"},"D":{}},
            "parameters":{"p":{"name":"p"},"q":{}}}"##;
        let (document, _) = apiwright_json::decode(document.as_bytes()).unwrap();
        assert_eq!(below(&document, "/apis/b/v1/"), None);
        let found = below(&document, "/apis/a/v1/").unwrap();
        let names = |part: &str| -> Vec<String> {
            let members = found.get(part).and_then(Value::as_object);
            members.into_iter().flat_map(Object::keys).map(ToString::to_string).collect()
        };
        assert_eq!(names("paths"), ["/apis/a/v1/x"]);
        assert_eq!(names("definitions"), ["A", "B"]);
        assert_eq!(names("parameters"), ["p"]);
    }
}
