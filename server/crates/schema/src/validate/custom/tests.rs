use std::sync::Arc;

use apiwright_meta::{ErrorList, Path};

use super::custom;
use crate::table::Junctor;
use crate::testing::{With, field, json, list, list_of, map, node, string, structure, text};
use crate::validate::repeated;
use crate::{Field, List, ListKind, Node, Ref, Rule, Shape, Table};

fn texts(values: &[&str]) -> Table<Ref<str>> {
    Ref::Shared(values.iter().map(|value| text(value)).collect::<Arc<[_]>>())
}

fn ruled(shape: Shape, rules: Vec<Rule>) -> Node {
    Node { rules: Ref::Shared(rules.into()), ..node(shape) }
}

fn any(rules: Vec<Rule>) -> Node {
    ruled(Shape::Any(text("")), rules)
}

fn object(fields: Vec<Field>, rules: Vec<Rule>) -> Node {
    ruled(Shape::Struct(structure("", fields)), rules)
}

fn junctor(junctor: Junctor, branches: Vec<Node>) -> Rule {
    Rule::Junctor(junctor, Ref::Shared(branches.into()))
}

fn members(names: &[&str]) -> Rule {
    Rule::Members(texts(names))
}

/// The faults of a value at `f`, without the words that each of them has.
fn faults(of: Node, value: &str, old: Option<&str>) -> Vec<String> {
    let root = object(vec![Field { node: of, ..field("f", string()) }], Vec::new());
    let mut errors = ErrorList::new();
    let within = |value: &str| json(&format!(r#"{{"f":{value}}}"#));
    let old = old.map(within);
    custom(&root, &within(value), old.as_ref(), &Path::default(), &mut errors);
    errors
        .0
        .iter()
        .map(|error| error.to_string().replace("Invalid value", "!").replace(" in body", ""))
        .collect()
}

#[test]
fn each_word_has_its_text() {
    let beyond = |words: &str| format!("<nil>: !: \"\": {words} in f");
    for (node, value, want) in [
        (node(Shape::Int64), "1.0", vec![]),
        (node(Shape::Double), "1", vec![]),
        (node(Shape::IntOrString), "\"x\"", vec![]),
        (
            node(Shape::IntOrString),
            "true",
            vec!["f: !: \"boolean\": f must be of type integer,string: \"boolean\"".into()],
        ),
        (
            node(Shape::Int64),
            "1.5",
            vec![
                "f: !: \"number\": f must be of type integer: \"number\"".into(),
                beyond("Checked value must be of type integer (default format)"),
            ],
        ),
        (node(string()), "null", vec!["f: !: \"null\": f must be of type string: \"null\"".into()]),
        (Node { nullable: true, ..node(string()) }, "null", vec![]),
        // Null is in no enum.
        (
            Node { nullable: true, ..ruled(string(), vec![Rule::Enum(texts(&["\"a\"", "null"]))]) },
            "null",
            vec!["f: Unsupported value: null: supported values: \"a\", \"null\"".into()],
        ),
        (
            ruled(Shape::Int64, vec![Rule::Format(text("int32"))]),
            "2147483648",
            vec![beyond("Checked value must be of type integer with format int32")],
        ),
        // A text that has a format may be a list, and is no number of that name.
        (ruled(string(), vec![Rule::Format(text("date"))]), "[1]", vec![]),
        (
            ruled(string(), vec![Rule::Format(text("date"))]),
            "5",
            vec!["f: !: \"int64\": f must be of type date: \"int64\"".into()],
        ),
        (
            ruled(string(), vec![Rule::Format(text("date"))]),
            "true",
            vec!["f: !: \"\": f must be of type date: \"\"".into()],
        ),
        (
            ruled(string(), vec![Rule::Format(text("date"))]),
            "\"x\"",
            vec!["f: !: \"x\": f must be of type date: \"x\"".into()],
        ),
        // Of a text, the first fault only.
        (
            ruled(string(), vec![Rule::MinLength(3), Rule::Pattern(text("^b"))]),
            "\"äh\"",
            vec!["f: !: \"äh\": f should be at least 3 chars long".into()],
        ),
        (
            ruled(string(), vec![Rule::MaxLength(1), Rule::Pattern(text("^b"))]),
            "\"äh\"",
            vec!["f: Too long: may not be more than 1 byte".into()],
        ),
        (
            ruled(string(), vec![Rule::Pattern(text("^b"))]),
            "\"äh\"",
            vec!["f: !: \"äh\": f should match '^b'".into()],
        ),
        // What is left of a bound as an integer counts for integers.
        (
            ruled(Shape::Double, vec![Rule::Maximum(5.5)]),
            "6",
            vec!["f: !: 6: f should be less than or equal to 5".into()],
        ),
        (
            ruled(Shape::Int64, vec![Rule::Maximum(5.5)]),
            "6",
            vec![
                beyond("Maximum boundary value must be of type integer (default format)"),
                "f: !: 6: f should be less than or equal to 5.5".into(),
            ],
        ),
        (
            ruled(Shape::Double, vec![Rule::ExclusiveMinimum(0.5)]),
            "0.5",
            vec!["f: !: 0.5: f should be greater than 0.5".into()],
        ),
        (ruled(Shape::Double, vec![Rule::MultipleOf(0.1)]), "0.3", vec![]),
        (
            ruled(Shape::Double, vec![Rule::MultipleOf(0.5)]),
            "1",
            vec!["f: !: 0: factor MultipleOf declared for f must be positive: 0".into()],
        ),
        (ruled(Shape::Double, vec![Rule::Enum(texts(&["1"]))]), "1.5", vec![]),
        (
            ruled(list(Shape::Int64), vec![Rule::MaxItems(1), Rule::Enum(texts(&["[1]"]))]),
            "[1,\"a\"]",
            vec![
                "f[1]: !: \"string\": f[1] must be of type integer: \"string\"".into(),
                "f: Too many: 2: must have at most 1 item".into(),
                "f: Unsupported value: [1,\"a\"]: supported values: \"[1]\"".into(),
            ],
        ),
        (
            object(vec![field("a", string())], vec![Rule::MinProperties(2), members(&["c", "b"])]),
            r#"{"a":1}"#,
            vec![
                "f: !: 1: f should have at least 2 properties".into(),
                "f.a: !: \"integer\": f.a must be of type string: \"integer\"".into(),
                "f.c: Required value".into(),
                "f.b: Required value".into(),
            ],
        ),
        (
            ruled(map(Shape::Int64), vec![]),
            r#"{"a/b":""}"#,
            vec!["f.a/b: !: \"string\": f.a/b must be of type integer: \"string\"".into()],
        ),
        (
            ruled(Shape::Struct(structure("", vec![])), vec![Rule::Closed(texts(&["a"]))]),
            r#"{"a":1,"b":1}"#,
            vec!["f: !: \"b\": f.b is a forbidden property".into()],
        ),
        (ruled(string(), vec![Rule::Untyped]), "5", vec![]),
    ] {
        let told = format!("{node:?}");
        assert_eq!(faults(node, value, None), want, "{value} as {told}");
    }
}

#[test]
fn junctors_tell_what_comes_nearest_once() {
    let least = |bound: f64| any(vec![Rule::Minimum(bound)]);
    let with = |name: &str, bound: f64| {
        let of = Field { node: least(bound), ..field(name, string()) };
        any(vec![Rule::Properties(structure("", vec![of]))])
    };
    for (rules, value, want) in [
        (vec![junctor(Junctor::AnyOf, vec![least(9.0), least(1.0)])], "5", &[][..]),
        (
            vec![junctor(Junctor::AnyOf, vec![least(9.0), least(8.0)])],
            "5",
            &[
                "<nil>: !: \"\": \"f\" must validate at least one schema (anyOf)",
                "f: !: 5: f should be greater than or equal to 9",
            ],
        ),
        // The second passed more checks.
        (
            vec![junctor(Junctor::AnyOf, vec![any(vec![members(&["x"])]), with("a", 9.0)])],
            r#"{"a":5}"#,
            &[
                "<nil>: !: \"\": \"f\" must validate at least one schema (anyOf)",
                "f.a: !: 5: f.a should be greater than or equal to 9",
            ],
        ),
        (
            vec![junctor(Junctor::OneOf, vec![least(1.0), least(2.0), least(9.0)])],
            "5",
            &[
                "<nil>: !: \"\": \"f\" must validate one and only one schema (oneOf). Found 2 valid alternatives",
            ],
        ),
        (
            vec![junctor(Junctor::OneOf, vec![least(9.0)])],
            "5",
            &[
                "<nil>: !: \"\": \"f\" must validate one and only one schema (oneOf). Found none valid",
                "f: !: 5: f should be greater than or equal to 9",
            ],
        ),
        // The same fault is not told again.
        (
            vec![junctor(Junctor::AllOf, vec![least(9.0), least(9.0)]), Rule::Minimum(9.0)],
            "5",
            &[
                "f: !: 5: f should be greater than or equal to 9",
                "<nil>: !: \"\": \"f\" must validate all the schemas (allOf). None validated",
            ],
        ),
        (
            vec![junctor(Junctor::Not, vec![least(1.0)])],
            "5",
            &["<nil>: !: \"\": \"f\" must not validate the schema (not)"],
        ),
        // A branch that is about members says nothing of a text.
        (vec![junctor(Junctor::AllOf, vec![with("a", 9.0)])], "\"x\"", &[]),
        (
            vec![junctor(
                Junctor::AllOf,
                vec![any(vec![Rule::Items(Ref::Shared(Arc::new(List {
                    item: least(2.0),
                    kind: ListKind::Atomic,
                })))])],
            )],
            "[1]",
            &[
                "f[0]: !: 1: f[0] should be greater than or equal to 2",
                "<nil>: !: \"\": \"f\" must validate all the schemas (allOf). None validated",
            ],
        ),
    ] {
        assert_eq!(faults(any(rules), value, None), want, "{value}");
    }
}

#[test]
fn what_stays_as_it_was_may_be_wrong() {
    let number = || field("n", Shape::Int64).rules(vec![Rule::Minimum(1.0)]);
    let item = || node(Shape::Struct(structure("", vec![field("k", string()), number()])));
    let keyed = || node(list_of(item(), ListKind::Map(texts(&["k"]))));
    let few = || ruled(list_of(item(), ListKind::Map(texts(&["k"]))), vec![Rule::MaxItems(1)]);
    let set = || node(list_of(ruled(Shape::Int64, vec![Rule::Minimum(1.0)]), ListKind::Set));
    let open = || object(vec![number()], vec![Rule::MaxProperties(1)]);
    let low = |path: &str| vec![format!("{path}: !: 0: {path} should be greater than or equal to 1")];
    for (node, old, new, want) in [
        (object(vec![number()], vec![]), r#"{"n":0}"#, r#"{"n":0}"#, vec![]),
        (object(vec![number()], vec![]), r#"{"n":-1}"#, r#"{"n":0}"#, low("f.n")),
        (keyed(), r#"[{"k":"a","n":0}]"#, r#"[{"k":"b","n":1},{"k":"a","n":0}]"#, vec![]),
        (keyed(), r#"[{"k":"a","n":0}]"#, r#"[{"k":"b","n":0}]"#, low("f[0].n")),
        // The order of keyed items means nothing.
        (few(), r#"[{"k":"a"},{"k":"b"}]"#, r#"[{"k":"b"},{"k":"a"}]"#, vec![]),
        // Items of other lists are not known again, the whole list is.
        (set(), "[0]", "[0]", vec![]),
        (set(), "[0]", "[0,1]", low("f[0]")),
        // A member that the schema does not name is never the same.
        (
            open(),
            r#"{"n":1,"x":1}"#,
            r#"{"n":1,"x":1}"#,
            vec!["f: Too many: 2: must have at most 1 item".to_owned()],
        ),
        // Inside of junctors, members may stay as they were, too.
        (
            any(vec![
                junctor(Junctor::AnyOf, vec![any(vec![Rule::Properties(structure("", vec![number()]))])]),
                Rule::Properties(structure("", vec![number()])),
            ]),
            r#"{"n":0}"#,
            r#"{"n":0,"m":1}"#,
            vec![],
        ),
    ] {
        assert_eq!(faults(node, new, Some(old)), want, "{old} {new}");
    }
}

#[test]
fn lists_whose_items_have_to_differ() {
    for (kind, items, want) in [
        (ListKind::Atomic, r#"["a","a"]"#, vec![]),
        (ListKind::Set, r#"["a","b","a","a",1,1.0]"#, vec!["m[k][2]: Duplicate value: \"a\""]),
        (
            ListKind::Set,
            r#"[{"a":1,"b":2},{"b":2,"a":1}]"#,
            vec!["m[k][1]: Duplicate value: {\"a\":1,\"b\":2}"],
        ),
        (
            ListKind::Map(texts(&["port", "name"])),
            r#"[{"name":"a","port":1},{"name":"a","port":2},{"port":1,"name":"a","x":1}]"#,
            vec![r#"m[k][2]: Duplicate value: {"name":"a","port":1}"#],
        ),
        (ListKind::Map(texts(&["name"])), "[{},null]", vec!["m[k][1]: Duplicate value: {}"]),
        (
            ListKind::Map(texts(&["name"])),
            "[1,1]",
            vec!["m[k][0]: Invalid value: 1: must be an object for an array of list-type map"],
        ),
    ] {
        let any = || node(Shape::Any(text("")));
        let root = node(Shape::Struct(structure("", vec![field("m", map(list_of(any(), kind)))])));
        let mut errors = ErrorList::new();
        repeated(&root, &json(&format!(r#"{{"m":{{"k":{items}}}}}"#)), &mut errors);
        assert_eq!(errors.0.iter().map(ToString::to_string).collect::<Vec<_>>(), want, "{items}");
    }
}
