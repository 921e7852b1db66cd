use std::sync::Arc;

use apiwright_meta::{ErrorList, Path};

use super::validate;
use crate::testing::{With, field, json, list, list_of, map, node, string, structure, text};
use crate::{Field, ListKind, Ref, Rule, Shape, Struct, Table};

fn texts(values: &[&str]) -> Table<Ref<str>> {
    Ref::Shared(values.iter().map(|value| text(value)).collect::<Arc<[_]>>())
}

fn ty(fields: Vec<Field>) -> Ref<Struct> {
    structure("io.k8s.api.x.v1.Thing", fields)
}

fn faults(ty: &Struct, value: &str, old: Option<&str>) -> Vec<String> {
    let mut errors = ErrorList::new();
    let old = old.map(json);
    validate(ty, &json(value), old.as_ref(), &Path::new("spec"), &mut errors);
    errors.0.iter().map(ToString::to_string).collect()
}

#[test]
fn each_rule_has_its_words() {
    let count = || field("f", Shape::Int32);
    let name = || field("f", string());
    let many = || field("f", list(string()));
    for (field, value, want) in [
        (name().rules(vec![Rule::Required]), "{}", &["spec.f: Required value"][..]),
        (name().rules(vec![Rule::Required, Rule::MinLength(2)]), r#"{"f":""}"#, &["spec.f: Required value"]),
        (many().rules(vec![Rule::Required]), r#"{"f":[]}"#, &["spec.f: Required value"]),
        (count().pointer().rules(vec![Rule::Required]), r#"{"f":0}"#, &[]),
        (name().rules(vec![Rule::Published(texts(&["A"]))]), r#"{"f":"C"}"#, &[]),
        (
            name().rules(vec![Rule::Enum(texts(&["\"A\"", "B"]))]),
            r#"{"f":"C"}"#,
            &["spec.f: Unsupported value: \"C\": supported values: \"A\", \"B\""],
        ),
        (name().rules(vec![Rule::Enum(texts(&["\"A\"", "B"]))]), r#"{"f":"A"}"#, &[]),
        (
            count().rules(vec![Rule::Enum(texts(&["1", "2"]))]),
            r#"{"f":7}"#,
            &["spec.f: Unsupported value: 7: supported values: \"1\", \"2\""],
        ),
        (
            many().rules(vec![Rule::Enum(texts(&["A"]))]),
            r#"{"f":["A","B"]}"#,
            &["spec.f[1]: Unsupported value: \"B\": supported values: \"A\""],
        ),
        (
            count().rules(vec![Rule::Minimum(0.0)]),
            r#"{"f":-1}"#,
            &["spec.f: Invalid value: -1: must be greater than or equal to 0"],
        ),
        (
            count().rules(vec![Rule::Maximum(9.0)]),
            r#"{"f":10}"#,
            &["spec.f: Invalid value: 10: must be less than or equal to 9"],
        ),
        (
            name().rules(vec![Rule::MinLength(3)]),
            r#"{"f":"äh"}"#,
            &["spec.f: Too short: must be at least 3 characters"],
        ),
        (
            name().rules(vec![Rule::MaxLength(2)]),
            r#"{"f":"äöü"}"#,
            &["spec.f: Too long: may not be more than 2 characters"],
        ),
        (
            name().rules(vec![Rule::MaxBytes(3)]),
            r#"{"f":"äö"}"#,
            &["spec.f: Too long: may not be more than 3 bytes"],
        ),
        (
            name().rules(vec![Rule::Pattern(text("^a+$"))]),
            r#"{"f":"b"}"#,
            &["spec.f: Invalid value: \"b\": spec.f in body should match '^a+$'"],
        ),
        (name().rules(vec![Rule::Pattern(text("("))]), r#"{"f":"b"}"#, &[]),
        (
            many().rules(vec![Rule::MinItems(2)]),
            r#"{"f":["a"]}"#,
            &["spec.f: Too few: 1: must have at least 2 items"],
        ),
        (
            many().rules(vec![Rule::MaxItems(1)]),
            r#"{"f":["a","b"]}"#,
            &["spec.f: Too many: 2: must have at most 1 item"],
        ),
        (name().rules(vec![Rule::Immutable]), r#"{"f":"a"}"#, &[]),
    ] {
        let ty = ty(vec![field]);
        assert_eq!(faults(&ty, value, None), want, "{value}");
    }
}

#[test]
fn formats_have_their_words() {
    let long = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
    for (format, value, want) in [
        ("k8s-short-name", "a-b", None),
        ("k8s-long-name", "a.b", None),
        ("k8s-long-name-caseless", "Example.com", None),
        ("k8s-long-name-caseless", "-", Some(format!("Invalid value: \"-\": {long}"))),
        ("k8s-label-key", "example.com/a", None),
        ("k8s-path-segment-name", "a/b", Some("Invalid value: \"a/b\": may not contain '/'".into())),
        ("k8s-uuid", "123e4567-e89b-12d3-a456-426614174000", None),
        ("k8s-uuid", "X", Some("Invalid value: \"X\": error validating uid: invalid UUID format".into())),
        ("k8s-resource-pool-name", "a/-", Some(format!("Invalid value: \"-\": {long}"))),
        ("k8s-extended-resource-name", "kubernetes.io/x", Some("Invalid value: \"kubernetes.io/x\": must be a valid extended resource name".into())),
        ("k8s-extended-resource-name", "example.com/gpu", None),
        ("k8s-resource-fully-qualified-name", "gpu", Some("Invalid value: \"gpu\": a fully qualified name must be a domain and a name separated by a slash".into())),
        ("k8s-resource-fully-qualified-name", "/gpu", Some("Invalid value: \"\": the domain must not be empty".into())),
        ("date-time", "anything", None),
    ] {
        let ty = ty(vec![field("f", string()).rules(vec![Rule::Format(text(format))])]);
        let want: Vec<String> = want.into_iter().map(|want| format!("spec.f: {want}")).collect();
        assert_eq!(faults(&ty, &format!("{{\"f\":\"{value}\"}}"), None), want, "{format} {value}");
    }
}

#[test]
fn faults_come_in_the_order_of_fields_wherever_they_are() {
    let inner =
        || structure("io.k8s.api.x.v1.Inner", vec![field("n", Shape::Int32).rules(vec![Rule::Minimum(1.0)])]);
    let ty = ty(vec![
        field("first", string()).rules(vec![Rule::Required]),
        field("items", list(Shape::Struct(inner()))),
        field("map", map(Shape::Struct(inner()))),
        field("last", string()).rules(vec![Rule::Required]),
    ]);
    let value = r#"{"map":{"a/b":{"n":-2}},"items":[{"n":1},{"n":-1}]}"#;
    let message = "must be greater than or equal to 1";
    assert_eq!(
        faults(&ty, value, None),
        [
            "spec.first: Required value".to_owned(),
            format!("spec.items[1].n: Invalid value: -1: {message}"),
            format!("spec.map[a/b].n: Invalid value: -2: {message}"),
            "spec.last: Required value".to_owned(),
        ]
    );
}

#[test]
fn updates_leave_alone_what_they_leave_as_it_was() {
    let inner = || {
        structure(
            "io.k8s.api.x.v1.Inner",
            vec![field("name", string()), field("n", Shape::Int32).rules(vec![Rule::Minimum(1.0)])],
        )
    };
    let keyed = list_of(node(Shape::Struct(inner())), ListKind::Map(texts(&["name"])));
    let ty = ty(vec![
        field("n", Shape::Int32).rules(vec![Rule::Minimum(1.0)]),
        field("keyed", keyed),
        field("fixed", string()).rules(vec![Rule::Immutable]),
        field("whole", Shape::Struct(inner())).pointer().rules(vec![Rule::Immutable]),
    ]);
    let number =
        |path: &str, n: i64| format!("{path}: Invalid value: {n}: must be greater than or equal to 1");
    for (old, new, want) in [
        (r#"{"n":-1}"#, r#"{"n":-1,"fixed":""}"#, vec![]),
        (r#"{"n":-1}"#, r#"{"n":-2}"#, vec![number("spec.n", -2)]),
        (
            r#"{"keyed":[{"name":"a","n":-1},{"name":"b","n":-1}]}"#,
            r#"{"keyed":[{"name":"b","n":-1},{"name":"a","n":-2},{"name":"c","n":-3}]}"#,
            vec![number("spec.keyed[1].n", -2), number("spec.keyed[2].n", -3)],
        ),
        (
            r#"{"fixed":"a"}"#,
            r#"{"fixed":"b"}"#,
            vec!["spec.fixed: Invalid value: \"b\": field is immutable".into()],
        ),
        (r#"{"fixed":"a"}"#, "{}", vec!["spec.fixed: Invalid value: \"\": field is immutable".into()]),
        (
            r#"{"whole":{"n":1}}"#,
            r#"{"whole":{"n":2}}"#,
            vec![r#"spec.whole: Invalid value: {"Name":"","N":2}: field is immutable"#.into()],
        ),
    ] {
        assert_eq!(faults(&ty, new, Some(old)), want, "{old} {new}");
    }
}
