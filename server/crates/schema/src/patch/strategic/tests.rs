use apiwright_json::to_string;

use super::{apply, lost};
use crate::patch::Error;
use crate::testing::{
    With, deployment, field, json, list, list_of, map, node, secret, string, structure, text,
};
use crate::{ListKind, Ref, Shape, Struct};

/// A type with one field for each way to merge.
fn ty() -> crate::Ref<Struct> {
    let item = || {
        let inner = structure("x.v1.Inner", vec![field("name", string()), field("value", Shape::Int64)]);
        structure(
            "x.v1.Item",
            vec![
                field("name", string()),
                field("value", Shape::Int64),
                field("other", Shape::Int64),
                field("nested", list(Shape::Struct(inner))).merge("name"),
            ],
        )
    };
    structure(
        "x.v1.Thing",
        vec![
            field("merging", list(Shape::Struct(item()))).merge("name"),
            field("replaced", list(Shape::Struct(item()))),
            field("set", list(string())).merge(""),
            field("plain", list(string())),
            field("keyless", list(Shape::Struct(item()))).merge(""),
            field("retained", Shape::Struct(item())).retain_keys(),
            field("labels", map(string())),
            field("deep", map(Shape::Struct(item()))),
            field("text", string()),
        ],
    )
}

#[test]
fn patches_apply() {
    let ty = ty();
    for (original, patch, want) in [
        ("{}", "{}", "{}"),
        (r#"{"text":"a"}"#, r#"{"text":null}"#, "{}"),
        ("{}", r#"{"text":null,"labels":{"a":null,"b":"c"}}"#, r#"{"labels":{"b":"c"}}"#),
        (r#"{"labels":{"a":"1"}}"#, r#"{"labels":{"b":"2"}}"#, r#"{"labels":{"a":"1","b":"2"}}"#),
        (r#"{"labels":{"a":"1"}}"#, r#"{"labels":{"$patch":"replace","b":"2"}}"#, r#"{"labels":{"b":"2"}}"#),
        (r#"{"labels":{"a":"1"}}"#, r#"{"labels":{"$patch":"delete"}}"#, r#"{"labels":{}}"#),
        ("{}", r#"{"labels":{"$patch":"replace","b":"2"}}"#, "{}"),
        (r#"{"text":"a","labels":{"b":"c"}}"#, r#"{"$patch":"replace","text":"x"}"#, r#"{"text":"x"}"#),
        (r#"{"text":"a"}"#, r#"{"$patch":"delete"}"#, "{}"),
        (r#"{"text":"a"}"#, r#"{"text":{"b":1}}"#, r#"{"text":{"b":1}}"#),
        // Lists of maps.
        (
            r#"{"merging":[{"name":"a","value":1},{"name":"b","value":2}]}"#,
            r#"{"merging":[{"name":"b","other":3},{"name":"c"}]}"#,
            r#"{"merging":[{"name":"a","value":1},{"name":"b","value":2,"other":3},{"name":"c"}]}"#,
        ),
        (
            r#"{"merging":[{"name":"a"},{"name":"b"},{"name":"c"}]}"#,
            r#"{"merging":[{"name":"c"},{"name":"d"},{"name":"a"}]}"#,
            r#"{"merging":[{"name":"b"},{"name":"c"},{"name":"d"},{"name":"a"}]}"#,
        ),
        (
            r#"{"merging":[{"name":"a"},{"name":"b"},{"name":"a"}]}"#,
            r#"{"merging":[{"$patch":"delete","name":"a"},{"$patch":"delete","name":"z"}]}"#,
            r#"{"merging":[{"name":"b"}]}"#,
        ),
        (
            r#"{"merging":[{"name":"a"}]}"#,
            r#"{"merging":[{"$patch":"replace"},{"name":"b"}]}"#,
            r#"{"merging":[{"name":"b"}]}"#,
        ),
        (
            "{}",
            r#"{"merging":[{"$patch":"delete","name":"a"},{"name":"b","value":null}]}"#,
            r#"{"merging":[{"name":"b"}]}"#,
        ),
        (
            r#"{"merging":[{"name":"a","nested":[{"name":"x","value":1}]}]}"#,
            r#"{"merging":[{"name":"a","nested":[{"name":"y"},{"name":"x","value":2}]}]}"#,
            r#"{"merging":[{"name":"a","nested":[{"name":"y"},{"name":"x","value":2}]}]}"#,
        ),
        (
            r#"{"replaced":[{"name":"a"}]}"#,
            r#"{"replaced":[{"name":"b"}]}"#,
            r#"{"replaced":[{"name":"b"}]}"#,
        ),
        (
            r#"{"merging":[{"name":"a"},{"name":"b"},{"name":"c"}]}"#,
            r#"{"$setElementOrder/merging":[{"name":"c"},{"name":"d"},{"name":"a"}],"merging":[{"name":"d"},{"$patch":"delete","name":"b"}]}"#,
            r#"{"merging":[{"name":"c"},{"name":"d"},{"name":"a"}]}"#,
        ),
        (
            r#"{"merging":[{"name":"x"},{"name":"a"},{"name":"b"},{"name":"y"}]}"#,
            r#"{"$setElementOrder/merging":[{"name":"b"},{"name":"a"}]}"#,
            r#"{"merging":[{"name":"x"},{"name":"b"},{"name":"a"},{"name":"y"}]}"#,
        ),
        (
            "{}",
            r#"{"$setElementOrder/merging":[{"name":"b"},{"name":"a"}],"merging":[{"name":"b"},{"name":"a"}]}"#,
            r#"{"merging":[{"name":"b"},{"name":"a"}]}"#,
        ),
        ("{}", r#"{"$setElementOrder/merging":[{"name":"b"}]}"#, "{}"),
        // Lists of scalars.
        (r#"{"set":["a","b"]}"#, r#"{"set":["c","b"]}"#, r#"{"set":["c","a","b"]}"#),
        (r#"{"set":["one"]}"#, r#"{"set":["two","one"]}"#, r#"{"set":["two","one"]}"#),
        (r#"{"set":["a","b"]}"#, r#"{"$deleteFromPrimitiveList/set":["a","z"]}"#, r#"{"set":["b"]}"#),
        ("{}", r#"{"$deleteFromPrimitiveList/set":["a"]}"#, "{}"),
        (r#"{"plain":["a","b"]}"#, r#"{"$deleteFromPrimitiveList/plain":["a"]}"#, r#"{"plain":["b"]}"#),
        (r#"{"set":["a"]}"#, r#"{"$deleteFromPrimitiveList/set":"a"}"#, r#"{"set":["a"]}"#),
        (
            r#"{"set":["two"]}"#,
            r#"{"set":["three"],"$setElementOrder/set":["three","two"]}"#,
            r#"{"set":["three","two"]}"#,
        ),
        (r#"{"plain":["a","b"]}"#, r#"{"plain":["c"]}"#, r#"{"plain":["c"]}"#),
        // Retained keys.
        (
            r#"{"retained":{"name":"a","value":1,"other":2}}"#,
            r#"{"retained":{"$retainKeys":["name","other"],"name":"b","value":null}}"#,
            r#"{"retained":{"name":"b","other":2}}"#,
        ),
    ] {
        let merged = apply(&ty, json(original), json(patch)).map(|value| to_string(&value));
        assert_eq!(merged.as_deref(), Ok(want), "{original} {patch}");
    }
}

#[test]
fn patches_fail_with_upstreams_words() {
    let ty = ty();
    let other = |text: &str| Error::Unclassified(text.into());
    let bad = |text: &str| Error::BadRequest(text.into());
    for (original, patch, want) in [
        (
            r#"{"labels":{"a":"1"}}"#,
            r#"{"labels":{"$patch":"merge","d":"4"}}"#,
            other("unknown patch type: merge in map: map[$patch:merge d:4]"),
        ),
        (
            r#"{"labels":{"a":"1"}}"#,
            r#"{"labels":{"$patch":5}}"#,
            other("unknown patch type: %!s(int64=5) in map: map[$patch:5]"),
        ),
        (
            r#"{"merging":[{"name":"a"}]}"#,
            r#"{"merging":[{"value":9,"other":1}]}"#,
            other("map: map[other:1 value:9] does not contain declared merge key: name"),
        ),
        (
            r#"{"merging":[{"name":"a"}]}"#,
            r#"{"merging":[{"$patch":"delete"}]}"#,
            other("map: map[$patch:delete] does not contain declared merge key: name"),
        ),
        (
            r#"{"merging":[{"name":"a"}]}"#,
            r#"{"merging":[{"$patch":"merge","name":"a"}]}"#,
            other("merging lists cannot yet be specified in the patch"),
        ),
        (
            r#"{"merging":[{"name":"a"}]}"#,
            r#"{"merging":["a"]}"#,
            other("list element types are not identical: [[map[name:a]] [a]]"),
        ),
        (
            r#"{"keyless":[{"name":"a"}]}"#,
            r#"{"keyless":[{"name":"a"}]}"#,
            other("cannot merge lists without merge key for struct"),
        ),
        (
            r#"{"set":[["a"]]}"#,
            r#"{"set":["a"]}"#,
            Error::Inapplicable("lists of lists are not supported".into()),
        ),
        ("{}", r#"{"$deleteFromPrimitiveListset":["a"]}"#, bad("invalid patch format of primitive list")),
        ("{}", r#"{"$setElementOrderset":["a"]}"#, bad("invalid patch format of setElementOrder list")),
        ("{}", r#"{"$setElementOrder/set":"a"}"#, other("expected a []interface {}, but received a string")),
        (
            "{}",
            r#"{"$setElementOrder/none":[]}"#,
            other("unable to find api field in struct Thing for the json field \"none\""),
        ),
        ("{}", r#"{"$setElementOrder/labels":[]}"#, other("expected slice or array type, but got: struct")),
        (
            r#"{"set":[]}"#,
            r#"{"$setElementOrder/set":["a"]}"#,
            other("no elements in any of the given slices"),
        ),
        (
            r#"{"set":["a"]}"#,
            r#"{"$setElementOrder/set":["a"],"set":["b"]}"#,
            other("The order in patch list:\n[b]\n doesn't match $setElementOrder list:\n[a]\n"),
        ),
        (
            r#"{"retained":{"name":"a"}}"#,
            r#"{"retained":{"$retainKeys":["name"],"value":1}}"#,
            bad("invalid patch format of retainKeys"),
        ),
        (
            r#"{"retained":{"name":"a"}}"#,
            r#"{"retained":{"$retainKeys":"name"}}"#,
            bad("invalid patch format of retainKeys"),
        ),
        (
            r#"{"deep":{"a":{"name":"x"}}}"#,
            r#"{"deep":{"a":{"name":"y"}}}"#,
            other("merging an object in json but data type is not struct, instead is: map"),
        ),
    ] {
        assert_eq!(apply(&ty, json(original), json(patch)), Err(want), "{original} {patch}");
    }
}

#[test]
fn what_merges_with_something_else_is_told() {
    let port = structure(
        "x.v1.Port",
        vec![field("port", Shape::Int64), field("protocol", string()), field("name", string())],
    );
    let keys = |keys: &[&str]| ListKind::Map(Ref::Shared(keys.iter().map(|key| text(key)).collect()));
    let ports = |kind| field("ports", list_of(node(Shape::Struct(port.clone())), kind)).merge("port");
    let host = structure("x.v1.Host", vec![field("name", string()), ports(keys(&["port", "protocol"]))]);
    let hosts = field("hosts", list_of(node(Shape::Struct(host)), keys(&["name"]))).merge("name");
    let both = structure("x.v1.Both", vec![ports(keys(&["port", "protocol"])), hosts]);
    let by_port = structure("x.v1.ByPort", vec![ports(keys(&["port"]))]);

    let one = r#"{"ports":[{"port":53,"protocol":"TCP"}]}"#;
    let two = r#"{"ports":[{"port":53,"protocol":"TCP"},{"port":53,"protocol":"UDP"}]}"#;
    let deep = |ports: &str| format!(r#"{{"hosts":[{{"name":"a","ports":[{ports}]}}]}}"#);
    let (tcp, udp) = (r#"{"port":53,"protocol":"TCP"}"#, r#"{"port":53,"protocol":"UDP"}"#);
    let told = |path: &str, what: &str| {
        format!("{path}: strategic merge patches tell items apart by port alone, and several have 53: {what}")
    };
    let into_one = "what the patch says of all of them went into one";
    for (ty, original, patch, want) in [
        (&both, one, two, vec![told("ports", into_one)]),
        (&both, two, one, vec![told("ports", "only the first was changed")]),
        (&both, one, one, vec![]),
        (&both, "{}", two, vec![]),
        (&both, two, r#"{"ports":[{"port":53,"$patch":"delete"}]}"#, vec![]),
        (&both, two, r#"{"ports":[{"$patch":"replace"},{"port":53}]}"#, vec![]),
        (&both, two, r#"{"ports":null}"#, vec![]),
        (&by_port, two, two, vec![]),
        (&both, &deep(tcp), &deep(&format!("{tcp},{udp}")), vec![told("hosts.ports", into_one)]),
    ] {
        assert_eq!(lost(ty, &json(original), &json(patch)), want, "{original} {patch}");
    }
}

#[test]
fn no_patch_panics() {
    // Each original with each patch of every row above would say little; these are the odd shapes.
    let odd = [
        "{}",
        "[]",
        "null",
        "1",
        r#"{"$patch":null}"#,
        r#"{"merging":{}}"#,
        r#"{"merging":[null]}"#,
        r#"{"merging":[[]]}"#,
        r#"{"set":[{}]}"#,
        r#"{"set":[null,1]}"#,
        r#"{"$setElementOrder/merging":[1]}"#,
        r#"{"$setElementOrder/merging":[{"name":1}],"merging":[null]}"#,
        r#"{"$retainKeys":[{}]}"#,
        r#"{"$deleteFromPrimitiveList/merging":[{"name":"a"}]}"#,
        r#"{"merging":[{"name":{}}]}"#,
        r#"{"labels":[]}"#,
    ];
    for ty in [ty(), secret(), deployment()] {
        for original in odd {
            for patch in odd {
                let _ = apply(&ty, json(original), json(patch));
                let _ = lost(&ty, &json(original), &json(patch));
            }
        }
    }
}
