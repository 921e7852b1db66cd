//! A kind's schema by itself, with everything that it refers to in its place: for those who ask what values are.

use std::sync::Arc;

use apiwright_json::{Object, Value};
use apiwright_registry::Resource;

use crate::custom;
use crate::schemas::{DEFINITIONS, Schemas};
use crate::source::{OpenApi, Published};

const OBJECT_META: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta";
const INT_OR_STRING: &str = "x-kubernetes-int-or-string";

impl OpenApi {
    /// What the objects of a resource are called and how they look; `name` is its plural or its singular.
    pub fn of_resource(&self, group: &str, version: &str, name: &str) -> Option<(String, Value)> {
        self.described(group, version, |resource| *resource.plural == *name || *resource.singular == *name)
    }

    /// How the objects of a kind look.
    pub fn of_kind(&self, group: &str, version: &str, kind: &str) -> Option<Value> {
        self.described(group, version, |resource| *resource.kind == *kind).map(|(_, schema)| schema)
    }

    fn described(
        &self,
        group: &str,
        version: &str,
        is_it: impl Fn(&Resource) -> bool,
    ) -> Option<(String, Value)> {
        let published = self.published(group, version);
        let Published { resource, schema } = published.into_iter().find(|one| is_it(&one.resource))?;
        let mut schemas = Schemas::new(Arc::clone(self.types()));
        match schema {
            Some(written) => {
                let schema = custom::schema(&written, &resource.selectable, self.types());
                schemas.put(&resource.schema.name, schema);
                schemas.add(&*(self.types())(OBJECT_META)?);
            }
            None => schemas.add(&resource.schema),
        }
        let all = schemas.into_value();
        let all = all.as_object()?;
        let mut within = vec![&*resource.schema.name];
        let schema = in_place(all.get(&resource.schema.name)?, all, &mut within)?;
        Some((resource.kind.to_string(), schema))
    }
}

/// A value with what it refers to put in place; `None` where something contains itself.
fn in_place<'a>(value: &'a Value, all: &'a Object, within: &mut Vec<&'a str>) -> Option<Value> {
    match value {
        Value::Object(schema) => {
            let mut placed = Object::new();
            for (word, value) in schema.iter() {
                match referred(word, value) {
                    Some(name) => {
                        if within.contains(&name) {
                            return None;
                        }
                        within.push(name);
                        let itself = in_place(all.get(name)?, all, within)?;
                        within.pop();
                        for (word, value) in itself.as_object()?.iter() {
                            placed.insert(word.clone(), value.clone());
                        }
                    }
                    None => {
                        placed.insert(word.clone(), in_place(value, all, within)?);
                    }
                }
            }
            if placed.get("format").and_then(Value::as_str) == Some("int-or-string") {
                placed.insert(INT_OR_STRING, true);
            }
            Some(placed.into())
        }
        Value::Array(items) => {
            let items: Option<Vec<Value>> = items.iter().map(|item| in_place(item, all, within)).collect();
            items.map(Value::from)
        }
        other => Some(other.clone()),
    }
}

/// The definition that a word refers to: by itself, or alone in an `allOf` that allows others beside it.
fn referred<'a>(word: &str, value: &'a Value) -> Option<&'a str> {
    let reference = match (word, value) {
        ("$ref", value) => value,
        ("allOf", Value::Array(items)) if items.len() == 1 => items[0].get("$ref")?,
        _ => return None,
    };
    reference.as_str()?.strip_prefix(DEFINITIONS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_are_put_in_place() {
        let all = r##"{"A":{"type":"object","properties":{"b":{"allOf":[{"$ref":"#/components/schemas/B"}],"default":{}},"n":{"$ref":"#/components/schemas/N"}}},
            "B":{"type":"object","properties":{"c":{"type":"string"}}},
            "N":{"format":"int-or-string","oneOf":[]},
            "Self":{"properties":{"me":{"$ref":"#/components/schemas/Self"}}}}"##;
        let all = apiwright_json::decode(all.as_bytes()).unwrap().0;
        let all = all.as_object().unwrap();
        let placed = in_place(all.get("A").unwrap(), all, &mut vec!["A"]).unwrap();
        assert_eq!(placed.text_at(&["properties", "b", "properties", "c", "type"]), "string");
        assert_eq!(placed.at(&["properties", "n", INT_OR_STRING]), Some(&Value::Bool(true)));
        assert!(in_place(all.get("Self").unwrap(), all, &mut vec!["Self"]).is_none());
    }
}
