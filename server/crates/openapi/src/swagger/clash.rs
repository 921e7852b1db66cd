//! Documents of several servers in one: what has the same name and says something else gets another name.
//!
//! Invariant: what was there keeps its name, and every reference of what comes leads to what it led to before.

use std::collections::{BTreeMap, HashMap, HashSet};

use apiwright_json::{Object, Value};

use super::{KINDS, Swagger, add_kinds};

/// Adds a document of version 2 to what is there. Where no path is new, nothing is.
pub(super) fn merge(into: &mut Swagger, document: &Value) {
    let members =
        |part: &str| document.get(part).and_then(Value::as_object).into_iter().flat_map(Object::iter);
    let paths: Vec<_> =
        members("paths").filter(|(path, _)| !into.paths.contains_key(path.as_str())).collect();
    if paths.is_empty() {
        return;
    }
    let definitions = Names::choose(&into.definitions, || members("definitions"), is_same_definition);
    let parameters = Names::choose(&into.parameters, || members("parameters"), PartialEq::eq);
    let references: HashMap<String, String> =
        definitions.references("#/definitions/").chain(parameters.references("#/parameters/")).collect();
    for (name, value) in members("definitions") {
        let name = definitions.of(name);
        match into.definitions.get_mut(name) {
            Some(known) => add_kinds(known, value),
            None => drop(into.definitions.insert(name.to_owned(), renamed(value, &references))),
        }
    }
    for (name, value) in members("parameters") {
        let name = parameters.of(name).to_owned();
        into.parameters.entry(name).or_insert_with(|| renamed(value, &references));
    }
    for (path, item) in paths {
        into.paths.insert(path.to_string(), renamed(item, &references));
    }
}

/// The other names of what cannot keep its own.
struct Names(HashMap<String, String>);

impl Names {
    /// A clashing name gets a number, from 2 on: that of something that is there and says the same, or a free one.
    fn choose<'a, K: AsRef<str> + ?Sized + 'a, I: Iterator<Item = (&'a K, &'a Value)>>(
        known: &BTreeMap<String, Value>,
        new: impl Fn() -> I,
        is_same: fn(&Value, &Value) -> bool,
    ) -> Self {
        let mut taken: HashSet<String> = new().map(|(name, _)| name.as_ref().to_owned()).collect();
        let mut names = HashMap::new();
        for (name, value) in new() {
            let name = name.as_ref();
            if known.get(name).is_none_or(|known| is_same(known, value)) {
                continue;
            }
            let numbered = (2..).map(|number| format!("{name}_v{number}"));
            let fits = |other: &String| match known.get(other) {
                Some(known) => is_same(known, value),
                None => !taken.contains(other),
            };
            if let Some(other) = { numbered }.find(fits) {
                taken.insert(other.clone());
                names.insert(name.to_owned(), other);
            }
        }
        Self(names)
    }

    fn of<'a>(&'a self, name: &'a str) -> &'a str {
        self.0.get(name).map_or(name, String::as_str)
    }

    fn references(&self, place: &str) -> impl Iterator<Item = (String, String)> {
        self.0.iter().map(move |(name, other)| (format!("{place}{name}"), format!("{place}{other}")))
    }
}

/// Whether definitions say the same, whatever kinds they are of.
fn is_same_definition(one: &Value, other: &Value) -> bool {
    let rest = |of: &Value| {
        let members = of.as_object().into_iter().flat_map(Object::iter).filter(|(name, _)| *name != KINDS);
        members.map(|(name, value)| (name.clone(), value.clone())).collect::<Object>()
    };
    one == other || rest(one) == rest(other)
}

/// The same, with references to what has another name now.
fn renamed(value: &Value, references: &HashMap<String, String>) -> Value {
    if references.is_empty() {
        return value.clone();
    }
    match value {
        Value::Array(items) => items.iter().map(|item| renamed(item, references)).collect::<Vec<_>>().into(),
        Value::Object(members) => {
            let member = |(name, value): (&_, &Value)| {
                let other = value.as_str().filter(|_| *name == "$ref").and_then(|one| references.get(one));
                (
                    Clone::clone(name),
                    other.map_or_else(|| renamed(value, references), |other| other.as_str().into()),
                )
            };
            members.iter().map(member).collect::<Object>().into()
        }
        other => other.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(text: &str) -> Value {
        apiwright_json::decode(text.as_bytes()).unwrap().0
    }

    #[test]
    #[rustfmt::skip]
    fn what_clashes_gets_another_name() {
        let object = r#"{"type":"object"}"#;
        let text = r#"{"type":"string"}"#;
        // Definitions that are there, those that come, which of them the path names, and what there is then.
        let table: &[(&str, &str, &str, &str, &str)] = &[
            ("{}", &format!(r#"{{"a":{object}}}"#), "a", &format!(r#"{{"a":{object}}}"#), "a"),
            (&format!(r#"{{"a":{object}}}"#), &format!(r#"{{"a":{object}}}"#), "a", &format!(r#"{{"a":{object}}}"#), "a"),
            (&format!(r#"{{"a":{object}}}"#), &format!(r#"{{"a":{text}}}"#), "a", &format!(r#"{{"a":{object},"a_v2":{text}}}"#), "a_v2"),
            // What has been renamed once is found again; other numbers are taken.
            (&format!(r#"{{"a":{object},"a_v2":{text}}}"#), &format!(r#"{{"a":{text}}}"#), "a", &format!(r#"{{"a":{object},"a_v2":{text}}}"#), "a_v2"),
            (&format!(r#"{{"a":{object},"a_v2":{object}}}"#), &format!(r#"{{"a":{text},"a_v3":{{}}}}"#), "a", &format!(r#"{{"a":{object},"a_v2":{object},"a_v3":{{}},"a_v4":{text}}}"#), "a_v4"),
            // References follow.
            (&format!(r#"{{"a":{object}}}"#), &format!(r##"{{"a":{text},"b":{{"items":[{{"$ref":"#/definitions/a"}}]}}}}"##), "b",
             &format!(r##"{{"a":{object},"a_v2":{text},"b":{{"items":[{{"$ref":"#/definitions/a_v2"}}]}}}}"##), "b"),
            // Kinds do not make a difference; they are added.
            (r#"{"a":{"x-kubernetes-group-version-kind":[{"group":"g","kind":"A","version":"v1"}]}}"#,
             r#"{"a":{"x-kubernetes-group-version-kind":[{"group":"h","kind":"A","version":"v1"}]}}"#, "a",
             r#"{"a":{"x-kubernetes-group-version-kind":[{"group":"g","kind":"A","version":"v1"},{"group":"h","kind":"A","version":"v1"}]}}"#, "a"),
        ];
        for (there, new, named, definitions, reference) in table {
            let mut swagger = Swagger::default();
            merge(&mut swagger, &value(&format!(r#"{{"paths":{{"/first":{{}}}},"definitions":{there}}}"#)));
            let path = |name: &str| format!(r##"{{"get":{{"schema":{{"$ref":"#/definitions/{name}"}}}}}}"##);
            merge(&mut swagger, &value(&format!(r#"{{"paths":{{"/second":{}}},"definitions":{new}}}"#, path(named))));
            let found: Object = swagger.definitions.iter().map(|(name, value)| (name.as_str(), value.clone())).collect();
            assert_eq!(Value::from(found), value(definitions), "{there} {new}");
            assert_eq!(swagger.paths["/second"], value(&path(reference)), "{there} {new}");
        }
    }

    #[test]
    fn parameters_clash_as_well_and_paths_stay() {
        let mut swagger = Swagger::default();
        merge(&mut swagger, &value(r#"{"paths":{"/a":{}},"parameters":{"p":{"in":"query"}}}"#));
        let other = r##"{"paths":{"/a":{"x":1},"/b":{"parameters":[{"$ref":"#/parameters/p"}]}},"parameters":{"p":{"in":"path"}}}"##;
        merge(&mut swagger, &value(other));
        assert_eq!(swagger.paths["/a"], value("{}"));
        assert_eq!(swagger.paths["/b"], value(r##"{"parameters":[{"$ref":"#/parameters/p_v2"}]}"##));
        assert_eq!(swagger.parameters["p_v2"], value(r#"{"in":"path"}"#));
        merge(&mut swagger, &value(r#"{"paths":{"/a":{}},"definitions":{"unused":{}}}"#));
        assert!(swagger.definitions.is_empty(), "a document without new paths adds nothing");
    }
}
