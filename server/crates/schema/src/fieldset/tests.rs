//! The laws of sets, and what objects and their differences become.

use apiwright_json::Value;
use proptest::prelude::*;

use super::testing::{config_map, custom, deployment, paths, set, shown, value};
use super::{Element, Fields, Filter, Set, compare, from_value};

#[test]
fn fields_are_written_in_order() {
    for (given, written) in [
        ("{}", "{}"),
        (r#"{"f:b":{},"f:a":{}}"#, r#"{"f:a":{},"f:b":{}}"#),
        (r#"{"f:a":{"f:b":{},".":{}}}"#, r#"{"f:a":{".":{},"f:b":{}}}"#),
        (r#"{"f:a":{".":{}}}"#, r#"{"f:a":{}}"#),
        (
            r#"{"i:2":{},"v:\"x\"":{},"k:{\"b\":1,\"a\":2}":{},"f:z":{}}"#,
            r#"{"f:z":{},"k:{\"a\":2,\"b\":1}":{},"v:\"x\"":{},"i:2":{}}"#,
        ),
        (
            r#"{"v:2":{},"v:\"10\"":{},"v:10":{},"v:1.5":{},"v:true":{}}"#,
            r#"{"v:1.5":{},"v:2":{},"v:10":{},"v:\"10\"":{},"v:true":{}}"#,
        ),
        // Unknown kinds of elements are ignored, so that here nothing is left below f:a.
        (r#"{"f:a":{"x:odd":{}}}"#, r#"{"f:a":{}}"#),
        (r#"{"x:odd":{}}"#, "{}"),
        (r#"{"f:a":null}"#, r#"{"f:a":{}}"#),
        (r#"{"f:":{}}"#, r#"{"f:":{}}"#),
        (r#"{"f:a<b":{},"v:\"a<b\"":{}}"#, r#"{"f:a\u003cb":{},"v:\"a\\u003cb\"":{}}"#),
    ] {
        assert_eq!(shown(&set(given)), written, "{given}");
    }
}

#[test]
fn what_is_no_set_is_refused() {
    for given in [
        "5",
        r#"{"f:a":5}"#,
        r#"{"bad":{}}"#,
        r#"{"f":{}}"#,
        r#"{"k:5":{}}"#,
        r#"{"v:":{}}"#,
        r#"{"i:x":{}}"#,
        r#"{"f:a":[]}"#,
    ] {
        assert!(Set::from_fields(&value(given)).is_err(), "{given}");
    }
}

#[test]
fn paths_read_as_in_conflicts() {
    let set = set(
        r#"{"f:a":{".":{},"f:b":{}},"f:l":{"k:{\"n\":\"x\",\"p\":80}":{"f:v":{}}},"f:s":{"v:\"q\"":{},"v:1":{},"i:3":{}},"f:z":{}}"#,
    );
    // Members of a level come before what is below them.
    assert_eq!(paths(&set), [".a", ".z", ".a.b", ".l[n=\"x\",p=80].v", ".s[=1]", ".s[=\"q\"]", ".s[3]"]);
}

#[test]
fn objects_set_fields() {
    let deployment = deployment();
    for (object, fields) in [
        (r#"{"kind":"D","metadata":{"name":"d"}}"#, r#"{"f:kind":{},"f:metadata":{"f:name":{}}}"#),
        // Entries of maps own themselves, fields do not; atomic values are leaves.
        (r#"{"metadata":{"labels":{"a":"b"}}}"#, r#"{"f:metadata":{"f:labels":{"f:a":{}}}}"#),
        (r#"{"spec":{"selector":{"matchLabels":{"a":"b"}}}}"#, r#"{"f:spec":{"f:selector":{}}}"#),
        (
            r#"{"spec":{"template":{"spec":{"nodeSelector":{"a":"b"}}}}}"#,
            r#"{"f:spec":{"f:template":{"f:spec":{"f:nodeSelector":{}}}}}"#,
        ),
        // Nulls and empty objects own themselves, empty merged lists nothing.
        (
            r#"{"metadata":{"labels":{},"annotations":null,"finalizers":[]},"spec":{}}"#,
            r#"{"f:metadata":{"f:annotations":{},"f:labels":{}},"f:spec":{}}"#,
        ),
        (
            r#"{"metadata":{"finalizers":["b","a"]}}"#,
            r#"{"f:metadata":{"f:finalizers":{"v:\"a\"":{},"v:\"b\"":{}}}}"#,
        ),
        // A key that is absent counts with its default.
        (
            r#"{"spec":{"template":{"spec":{"containers":[{"name":"c","ports":[{"containerPort":80}],"args":["x"]}]}}}}"#,
            r#"{"f:spec":{"f:template":{"f:spec":{"f:containers":{"k:{\"name\":\"c\"}":{".":{},"f:args":{},"f:name":{},"f:ports":{"k:{\"containerPort\":80,\"protocol\":\"TCP\"}":{".":{},"f:containerPort":{}}}}}}}}}"#,
        ),
        (
            r#"{"spec":{"template":{"spec":{"containers":[{"image":"i"}]}}}}"#,
            r#"{"f:spec":{"f:template":{"f:spec":{"f:containers":{"k:{\"name\":\"\"}":{".":{},"f:image":{}}}}}}}"#,
        ),
        // Items that cannot be told apart are owned as one.
        (
            r#"{"status":{"conditions":[{"type":"A","status":"x"},{"type":"A","status":"y"},{"type":"B"}]}}"#,
            r#"{"f:status":{"f:conditions":{"k:{\"type\":\"A\"}":{},"k:{\"type\":\"B\"}":{".":{},"f:type":{}}}}}"#,
        ),
    ] {
        let fields_of = from_value(&deployment, &value(object)).expect("fits");
        assert_eq!(shown(&fields_of), fields, "{object}");
    }
}

#[test]
fn without_a_schema_the_value_decides() {
    let fields =
        from_value(&custom(), &value(r#"{"spec":{"a":{"b":1,"c":[{"d":2}],"e":{}}},"more":{"x":null}}"#));
    assert_eq!(
        shown(&fields.expect("fits")),
        r#"{"f:more":{".":{},"f:x":{}},"f:spec":{"f:a":{".":{},"f:b":{},"f:c":{},"f:e":{}}}}"#
    );
}

#[test]
fn objects_differ() {
    let deployment = deployment();
    for (old, new, removed, modified, added) in [
        (r#"{"spec":{"replicas":1}}"#, r#"{"spec":{"replicas":1}}"#, "{}", "{}", "{}"),
        (
            r#"{"spec":{"replicas":1}}"#,
            r#"{"spec":{"replicas":2}}"#,
            "{}",
            r#"{"f:spec":{"f:replicas":{}}}"#,
            "{}",
        ),
        (r#"{"spec":{"replicas":1}}"#, r#"{"spec":{"replicas":1.0}}"#, "{}", "{}", "{}"),
        (
            "{}",
            r#"{"metadata":{"labels":{"a":"b"}}}"#,
            "{}",
            "{}",
            r#"{"f:metadata":{".":{},"f:labels":{".":{},"f:a":{}}}}"#,
        ),
        (
            r#"{"metadata":{}}"#,
            r#"{"metadata":{"labels":{"a":"b"}}}"#,
            "{}",
            "{}",
            r#"{"f:metadata":{"f:labels":{".":{},"f:a":{}}}}"#,
        ),
        // Null is there, though it holds nothing.
        (
            r#"{"metadata":{"labels":null}}"#,
            r#"{"metadata":{"labels":{"a":"b"}}}"#,
            "{}",
            "{}",
            r#"{"f:metadata":{"f:labels":{"f:a":{}}}}"#,
        ),
        (
            r#"{"metadata":{"labels":{}}}"#,
            r#"{"metadata":{"labels":null}}"#,
            "{}",
            r#"{"f:metadata":{"f:labels":{}}}"#,
            "{}",
        ),
        (
            r#"{"metadata":{"labels":{"a":"b","c":"d"}}}"#,
            r#"{"metadata":{"labels":{"c":"e","f":"g"}}}"#,
            r#"{"f:metadata":{"f:labels":{"f:a":{}}}}"#,
            r#"{"f:metadata":{"f:labels":{"f:c":{}}}}"#,
            r#"{"f:metadata":{"f:labels":{"f:f":{}}}}"#,
        ),
        (
            r#"{"spec":{"selector":{"matchLabels":{"a":"b"}}}}"#,
            r#"{"spec":{"selector":{"matchLabels":{"a":"c"}}}}"#,
            "{}",
            r#"{"f:spec":{"f:selector":{}}}"#,
            "{}",
        ),
        (
            r#"{"metadata":{"finalizers":["a","b"]}}"#,
            r#"{"metadata":{"finalizers":["c","b"]}}"#,
            r#"{"f:metadata":{"f:finalizers":{"v:\"a\"":{}}}}"#,
            "{}",
            r#"{"f:metadata":{"f:finalizers":{"v:\"c\"":{}}}}"#,
        ),
        // Items move, and members come in any order.
        (
            r#"{"status":{"conditions":[{"type":"A","status":"x"},{"type":"B","status":"y"}]}}"#,
            r#"{"status":{"conditions":[{"status":"z","type":"B"},{"status":"x","type":"A"},{"type":"C"}]}}"#,
            "{}",
            r#"{"f:status":{"f:conditions":{"k:{\"type\":\"B\"}":{"f:status":{}}}}}"#,
            r#"{"f:status":{"f:conditions":{"k:{\"type\":\"C\"}":{".":{},"f:type":{}}}}}"#,
        ),
        (
            r#"{"status":{"conditions":[{"type":"A","status":"x"}]}}"#,
            r#"{"status":{"conditions":[{"type":"A","status":"x"},{"type":"A","status":"y"}]}}"#,
            r#"{"f:status":{"f:conditions":{"k:{\"type\":\"A\"}":{".":{},"f:status":{},"f:type":{}}}}}"#,
            "{}",
            r#"{"f:status":{"f:conditions":{"k:{\"type\":\"A\"}":{}}}}"#,
        ),
        (
            r#"{"status":{"conditions":[{"type":"A","status":"x"},{"type":"A","status":"y"}]}}"#,
            r#"{"status":{"conditions":[{"type":"A","status":"x"},{"type":"A","status":"z"}]}}"#,
            "{}",
            r#"{"f:status":{"f:conditions":{"k:{\"type\":\"A\"}":{}}}}"#,
            "{}",
        ),
    ] {
        let comparison = compare(&deployment, &value(old), &value(new)).expect("both fit");
        assert_eq!(
            [shown(&comparison.removed), shown(&comparison.modified), shown(&comparison.added)],
            [removed, modified, added],
            "{old} -> {new}"
        );
    }
}

#[test]
fn filters_keep_what_may_be_owned() {
    let all = r#"{"f:metadata":{"f:labels":{"f:a":{}}},"f:spec":{"f:containers":{"k:{\"name\":\"c\"}":{".":{},"f:image":{},"f:resources":{"f:limits":{}}}}},"f:status":{".":{},"f:phase":{}}}"#;
    let resize = Filter::Include(vec![vec![
        Some(Element::field("spec")),
        Some(Element::field("containers")),
        None,
        Some(Element::field("resources")),
    ]]);
    for (filter, kept) in [
        (Filter::All, all),
        (
            Filter::without(&["status", "metadata"]),
            r#"{"f:spec":{"f:containers":{"k:{\"name\":\"c\"}":{".":{},"f:image":{},"f:resources":{"f:limits":{}}}}}}"#,
        ),
        (
            resize,
            r#"{"f:spec":{"f:containers":{"k:{\"name\":\"c\"}":{".":{},"f:resources":{"f:limits":{}}}}}}"#,
        ),
        (Filter::Include(vec![]), "{}"),
    ] {
        assert_eq!(shown(&filter.apply(set(all))), kept, "{filter:?}");
    }
}

#[test]
fn a_type_that_became_atomic_is_owned_whole() {
    for (before, after) in [
        (r#"{"f:spec":{"f:selector":{"f:matchLabels":{"f:a":{}}}}}"#, r#"{"f:spec":{"f:selector":{}}}"#),
        (r#"{"f:spec":{"f:selector":{}}}"#, r#"{"f:spec":{"f:selector":{}}}"#),
        (
            r#"{"f:spec":{"f:template":{"f:spec":{"f:containers":{"k:{\"name\":\"c\"}":{"f:args":{"i:0":{}}}}}}}}"#,
            r#"{"f:spec":{"f:template":{"f:spec":{"f:containers":{"k:{\"name\":\"c\"}":{"f:args":{}}}}}}}"#,
        ),
        (r#"{"f:unknown":{"f:a":{}}}"#, r#"{"f:unknown":{"f:a":{}}}"#),
    ] {
        let mut fields = set(before);
        super::reconcile::reconcile(&deployment(), &mut fields);
        assert_eq!(shown(&fields), after, "{before}");
        let mut stored = Fields::stored(value(before));
        stored.reconcile(&deployment());
        assert_eq!(stored.to_set(), fields);
    }
}

fn element() -> impl Strategy<Value = Element> {
    prop_oneof![
        4 => "[a-d]".prop_map(|name| Element::field(&name)),
        2 => ("[xy]", 0..2i64).prop_map(|(name, port)| Element::key([("name", Value::from(name)), ("port", Value::from(port))])),
        1 => prop_oneof![Just(Value::from("v")), Just(Value::Int(1)), Just(Value::Float(1.5)), Just(Value::Bool(true))]
            .prop_map(Element::Value),
        1 => (0..3i64).prop_map(Element::Index),
    ]
}

fn sets() -> impl Strategy<Value = Set> {
    proptest::collection::vec(proptest::collection::vec(element(), 1..4), 0..12).prop_map(|paths| {
        let mut set = Set::new();
        for path in &paths {
            set.insert(path);
        }
        set
    })
}

proptest! {
    #[test]
    fn sets_come_back_from_their_fields(set in sets()) {
        prop_assert_eq!(Set::from_fields(&set.to_fields()).expect("a set"), set);
    }

    #[test]
    fn sets_obey_the_laws(a in sets(), b in sets(), c in sets()) {
        prop_assert_eq!(a.union(&b), b.union(&a));
        prop_assert_eq!(a.union(&b).union(&c), a.union(&b.union(&c)));
        prop_assert_eq!(a.union(&a), a.clone());
        prop_assert_eq!(a.intersection(&b), b.intersection(&a));
        prop_assert_eq!(a.intersects(&b), !a.intersection(&b).is_empty());
        prop_assert_eq!(a.difference(&b).union(&a.intersection(&b)), a.clone());
        prop_assert!(a.difference(&b).intersection(&b).is_empty());
        prop_assert_eq!(a.union(&b).len() + a.intersection(&b).len(), a.len() + b.len());
        prop_assert!(a.clone().recursive_difference(&b).difference(&a.difference(&b)).is_empty());
        prop_assert!(a.leaves().difference(&a).is_empty());
        let mut count = 0;
        a.for_each(&mut |path| { count += 1; assert!(a.has(path)); });
        prop_assert_eq!(count, a.len());
    }

    #[test]
    fn stored_fields_are_the_same_set(a in sets(), b in sets()) {
        let mut stored = Fields::stored(a.to_fields());
        prop_assert_eq!(stored.intersects(&b), a.intersects(&b));
        prop_assert_eq!(stored.is_empty(), a.is_empty());
        prop_assert_eq!(stored.clone().into_fields(), a.to_fields());
        stored.remove_all(&b);
        prop_assert_eq!(stored.into_set(), a.difference(&b));
    }

    #[test]
    fn comparing_agrees_with_the_fields(old in labels(), new in labels()) {
        let ty = config_map();
        let (before, after) = (from_value(&ty, &old).expect("fits"), from_value(&ty, &new).expect("fits"));
        let found = compare(&ty, &old, &new).expect("fits");
        let leaves = |set: Set| set.leaves();
        prop_assert_eq!(leaves(found.added).difference(&leaves(after.difference(&before))), Set::new());
        prop_assert_eq!(leaves(found.removed).difference(&leaves(before.difference(&after))), Set::new());
        prop_assert!(found.modified.difference(&after).is_empty());
        prop_assert_eq!(compare(&ty, &old, &old).map(|same| same.is_same()), Ok(true));
    }
}

fn labels() -> impl Strategy<Value = Value> {
    proptest::collection::vec(("[a-e]", "[xy]"), 1..5).prop_map(|entries| {
        let data: apiwright_json::Object = entries.into_iter().collect();
        let mut object = apiwright_json::Object::new();
        object.push("data", data);
        object.into()
    })
}
