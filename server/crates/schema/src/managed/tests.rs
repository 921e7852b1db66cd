//! Ownership through the life of objects.

use apiwright_json::Value;
use apiwright_meta::status;

use super::{
    OneVersion, Request, Scale, Versions, keep_times_if_same, manager_of_user_agent, put_entries, update,
};
use crate::fieldset::Filter;
use crate::fieldset::testing::{config_map, deployment, value};
use crate::table::{Ref, Struct};

/// The entries of an object, one a line: `manager operation version subresource time fields`.
fn owners(object: &Value) -> Vec<String> {
    let entries = object.at(&["metadata", "managedFields"]).and_then(Value::as_array).cloned();
    let line = |entry: &Value| {
        let text = |name: &str| entry.text_at(&[name]).to_owned();
        let fields = apiwright_json::to_string(entry.get("fieldsV1").expect("fields"));
        let words = [
            text("manager"),
            text("operation"),
            text("apiVersion"),
            text("subresource"),
            text("time"),
            fields,
        ];
        words.into_iter().filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ")
    };
    entries.unwrap_or_default().iter().map(line).collect()
}

fn request<'a>(manager: &'a str, now: &'a str) -> Request<'a> {
    Request { manager, api_version: "v1", subresource: "", now, filter: &Filter::All, versions: &OneVersion }
}

/// Replaces an object, as the server does: the rest of the metadata is kept.
fn put(ty: &Struct, live: Option<&Value>, new: &str, request: Request<'_>) -> Value {
    let mut new = value(new);
    update(ty, live, &mut new, &request);
    new
}

const ONE_TWO: &str = r#"{"metadata":{"name":"c","uid":"u"},"data":{"one":"1","two":"2"}}"#;

#[test]
fn ownership_moves_with_the_values() {
    let ty = config_map();
    let created = put(&ty, None, ONE_TWO, request("a", "t1"));
    assert_eq!(owners(&created), [r#"a Update v1 t1 {"f:data":{".":{},"f:one":{},"f:two":{}}}"#]);

    for (new, by, expected) in [
        // Nothing changes.
        (ONE_TWO, "a", vec![r#"a Update v1 t1 {"f:data":{".":{},"f:one":{},"f:two":{}}}"#]),
        (ONE_TWO, "b", vec![r#"a Update v1 t1 {"f:data":{".":{},"f:one":{},"f:two":{}}}"#]),
        // The same manager again.
        (
            r#"{"metadata":{"name":"c","uid":"u"},"data":{"one":"x","two":"2"}}"#,
            "a",
            vec![r#"a Update v1 t2 {"f:data":{".":{},"f:one":{},"f:two":{}}}"#],
        ),
        // Another takes over what it changes and adds, removes what it removes.
        (
            r#"{"metadata":{"name":"c","uid":"u"},"data":{"one":"x","three":"3"}}"#,
            "b",
            vec![r#"a Update v1 t1 {"f:data":{}}"#, r#"b Update v1 t2 {"f:data":{"f:one":{},"f:three":{}}}"#],
        ),
        // Who has nothing left is gone.
        (r#"{"metadata":{"name":"c","uid":"u"}}"#, "b", vec![]),
        // What the server sets is nobody's.
        (
            r#"{"metadata":{"name":"c","uid":"u","generation":2,"resourceVersion":"5","labels":{"l":"m"}},"data":{"one":"1","two":"2"}}"#,
            "",
            vec![
                r#"a Update v1 t1 {"f:data":{".":{},"f:one":{},"f:two":{}}}"#,
                r#"unknown Update v1 t2 {"f:metadata":{"f:labels":{".":{},"f:l":{}}}}"#,
            ],
        ),
    ] {
        let updated = put(&ty, Some(&created), new, request(by, "t2"));
        assert_eq!(owners(&updated), expected, "{by}: {new}");
    }
}

#[test]
fn what_is_always_there_is_nobodys() {
    let created = put(
        &deployment(),
        None,
        r#"{"metadata":{"name":"d","finalizers":["example.com/f"]},"spec":{"replicas":1,"selector":{"matchLabels":{"a":"b"}},
            "template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"c","image":"i","resources":{"limits":{"cpu":"1"}},
            "ports":[{"containerPort":80,"protocol":"TCP"}],"env":[{"name":"E","value":"1"}]}],"securityContext":{}}},
            "strategy":{"type":"Recreate"}},"status":{}}"#,
        request("builder", "t1"),
    );
    assert_eq!(
        owners(&created),
        [concat!(
            r#"builder Update v1 t1 {"f:metadata":{"f:finalizers":{".":{},"v:\"example.com/f\"":{}}},"f:spec":{"f:replicas":{},"#,
            r#""f:selector":{},"f:strategy":{"f:type":{}},"f:template":{"f:metadata":{"f:labels":{".":{},"f:a":{}}},"#,
            r#""f:spec":{"f:containers":{"k:{\"name\":\"c\"}":{".":{},"f:env":{".":{},"k:{\"name\":\"E\"}":{".":{},"f:name":{},"f:value":{}}},"#,
            r#""f:image":{},"f:name":{},"f:ports":{".":{},"k:{\"containerPort\":80,\"protocol\":\"TCP\"}":{".":{},"f:containerPort":{},"f:protocol":{}}},"#,
            r#""f:resources":{".":{},"f:limits":{".":{},"f:cpu":{}}}}},"f:securityContext":{}}}}}"#
        )]
    );
}

#[test]
fn a_subresource_owns_only_its_fields() {
    let ty = deployment();
    let base = r#"{"metadata":{"name":"d","uid":"u"},"spec":{"replicas":1},"status":{}}"#;
    let live = put(&ty, None, base, request("a", "t1"));
    let status = Filter::without(&["spec", "metadata"]);
    let through = Request { subresource: "status", filter: &status, ..request("a", "t2") };
    let updated = put(
        &ty,
        Some(&live),
        r#"{"metadata":{"name":"d","uid":"u","labels":{"x":"y"},"managedFields":[{}]},"spec":{"replicas":2},"status":{"replicas":1}}"#,
        through,
    );
    assert_eq!(
        owners(&updated),
        [
            r#"a Update v1 t1 {"f:spec":{"f:replicas":{}}}"#,
            r#"a Update v1 status t2 {"f:status":{"f:replicas":{}}}"#
        ]
    );
}

#[test]
fn entries_can_be_edited_and_reset() {
    let ty = config_map();
    let live = put(&ty, None, ONE_TWO, request("a", "t1"));
    let mine = r#"a Update v1 t1 {"f:data":{".":{},"f:one":{},"f:two":{}}}"#;
    for (entries, expected) in [
        ("null", vec![mine]),
        ("[]", vec![]),
        ("[{}]", vec![]),
        (
            r#"[{"manager":"n","operation":"Apply","apiVersion":"v1","fieldsType":"FieldsV1","fieldsV1":{"f:data":{"f:ghost":{}}}}]"#,
            vec![r#"n Apply v1 {"f:data":{"f:ghost":{}}}"#],
        ),
        (r#"[{"manager":"n","operation":"Guess","apiVersion":"v1","fieldsType":"FieldsV1"}]"#, vec![mine]),
        (r#"[{"manager":"n","operation":"Apply","apiVersion":"v1","fieldsType":"FieldsV9"}]"#, vec![mine]),
        (r#"[{"manager":"n","operation":"Apply","fieldsType":"FieldsV1"}]"#, vec![mine]),
        (
            r#"[{"manager":"n","operation":"Apply","apiVersion":"v1","fieldsType":"FieldsV1","fieldsV1":5}]"#,
            vec![mine],
        ),
        (
            r#"[{"manager":"n","operation":"Apply","apiVersion":"v1","fieldsType":"FieldsV1","fieldsV1":{"x:odd":{}}}]"#,
            vec![],
        ),
        // The version is not served.
        (
            r#"[{"manager":"n","operation":"Apply","apiVersion":"v9","fieldsType":"FieldsV1","fieldsV1":{"f:data":{}}}]"#,
            vec![],
        ),
    ] {
        let mut new = value(ONE_TWO);
        put_entries(&mut new, Some(value(entries)));
        update(&ty, Some(&live), &mut new, &request("z", "t2"));
        assert_eq!(owners(&new), expected, "{entries}");
    }
    // Without owners, updates go unrecorded; creations never do.
    let unowned = value(ONE_TWO);
    let changed =
        put(&ty, Some(&unowned), r#"{"metadata":{"uid":"u"},"data":{"x":"y"}}"#, request("a", "t1"));
    assert!(owners(&changed).is_empty());
    let created =
        put(&ty, None, r#"{"metadata":{"managedFields":[{}]},"data":{"x":"y"}}"#, request("a", "t1"));
    assert_eq!(owners(&created).len(), 1);
}

#[test]
fn what_cannot_be_compared_stays_as_it_was() {
    let ty = deployment();
    let live = put(&ty, None, r#"{"metadata":{"uid":"u"},"spec":{"replicas":1}}"#, request("a", "t1"));
    let broken = r#"{"metadata":{"uid":"u","finalizers":[null]},"spec":{"replicas":2}}"#;
    assert_eq!(owners(&put(&ty, Some(&live), broken, request("b", "t2"))), owners(&live));
    let mut no_object = Value::from("x");
    update(&ty, Some(&live), &mut no_object, &request("b", "t2"));
    assert_eq!(no_object, Value::from("x"));
}

#[test]
fn the_oldest_of_many_updaters_merge() {
    let ty = config_map();
    let mut live = put(&ty, None, r#"{"metadata":{"uid":"u"},"data":{"k0":"0"}}"#, request("m0", "t00"));
    for at in 1..13 {
        let mut new = live.clone();
        let data = new.at_mut(&["data"]).and_then(Value::as_object_mut).expect("data");
        data.insert(format!("k{at:02}"), "x");
        update(&ty, Some(&live), &mut new, &request(&format!("m{at}"), &format!("t{at:02}")));
        live = new;
    }
    let owners = owners(&live);
    assert_eq!(owners.len(), 10);
    assert_eq!(
        owners[0],
        r#"ancient-changes Update v1 t03 {"f:data":{".":{},"f:k0":{},"f:k01":{},"f:k02":{},"f:k03":{}}}"#
    );
    assert_eq!(owners[9], r#"m12 Update v1 t12 {"f:data":{"f:k12":{}}}"#);
}

/// A kind whose version v2 calls `data` `binaryData`.
#[derive(Debug)]
struct Renaming(Ref<Struct>);

impl Versions for Renaming {
    fn ty(&self, api_version: &str) -> Option<Ref<Struct>> {
        matches!(api_version, "v1" | "v2").then(|| self.0.clone())
    }

    fn convert(&self, object: &Value, api_version: &str) -> status::Result<Value> {
        let mut converted = apiwright_json::Object::new();
        let other = |name: &str| match name {
            "data" => "binaryData".to_owned(),
            "binaryData" => "data".to_owned(),
            name => name.to_owned(),
        };
        for (name, value) in object.as_object().expect("an object").iter() {
            converted.insert(other(name), value.clone());
        }
        converted.insert("apiVersion", api_version);
        Ok(converted.into())
    }
}

#[test]
fn owners_in_other_versions_lose_what_changes_there() {
    let ty = config_map();
    let versions = Renaming(ty.clone());
    let mut live = value(r#"{"apiVersion":"v1","metadata":{"uid":"u"},"data":{"a":"1","b":"2"}}"#);
    put_entries(
        &mut live,
        Some(value(
            r#"[{"manager":"n","operation":"Apply","apiVersion":"v2","fieldsType":"FieldsV1","fieldsV1":{"f:binaryData":{"f:a":{},"f:b":{}}}}]"#,
        )),
    );
    let new = r#"{"apiVersion":"v1","metadata":{"uid":"u"},"data":{"a":"x"}}"#;
    let updated = put(&ty, Some(&live), new, Request { versions: &versions, ..request("m", "t2") });
    assert_eq!(owners(&updated), [r#"m Update v1 t2 {"f:data":{"f:a":{}}}"#]);
}

#[test]
fn times_alone_are_no_change() {
    let ty = config_map();
    let live = put(&ty, None, ONE_TWO, request("a", "t1"));
    for (new, now, kept) in [
        (ONE_TWO, "t2", true),
        (r#"{"metadata":{"name":"c","uid":"u"},"data":{"one":"1","two":"x"}}"#, "t2", false),
        (r#"{"metadata":{"name":"c","uid":"v"},"data":{"one":"1","two":"2"}}"#, "t2", false),
    ] {
        let mut new = put(&ty, None, new, request("a", now));
        keep_times_if_same(&live, &mut new);
        assert_eq!(new.at(&["metadata", "managedFields"]) == live.at(&["metadata", "managedFields"]), kept);
    }
}

#[test]
fn scaling_moves_the_replicas() {
    let scale = Scale {
        api_version: "apps/v1".into(),
        replicas: vec![("apps/v1".into(), Some(Scale::path("spec.replicas"))), ("apps/v0".into(), None)],
    };
    let object = value(
        r#"[{"manager":"alpha","operation":"Apply","apiVersion":"apps/v1","time":"t1","fieldsType":"FieldsV1","fieldsV1":{"f:spec":{"f:paused":{},"f:replicas":{}}}}]"#,
    );
    let of_scale = scale.to_scale(Some(&object)).expect("valid").expect("an owner");
    assert_eq!(
        apiwright_json::to_string(&of_scale),
        r#"[{"manager":"alpha","operation":"Apply","apiVersion":"autoscaling/v1","time":"t1","fieldsType":"FieldsV1","fieldsV1":{"f:spec":{"f:replicas":{}}}}]"#
    );
    // Nothing was written: nothing moves.
    let same = scale.to_object(Some(&object), Some(&of_scale)).expect("valid");
    assert_eq!(same.as_ref(), Some(&object));
    // Somebody scaled.
    let taken = value(
        r#"[{"manager":"putter","operation":"Update","apiVersion":"autoscaling/v1","time":"t2","fieldsType":"FieldsV1","fieldsV1":{"f:spec":{"f:replicas":{}}},"subresource":"scale"}]"#,
    );
    let after = scale.to_object(Some(&object), Some(&taken)).expect("valid").expect("owners");
    assert_eq!(
        apiwright_json::to_string(&after),
        concat!(
            r#"[{"manager":"alpha","operation":"Apply","apiVersion":"apps/v1","time":"t1","fieldsType":"FieldsV1","fieldsV1":{"f:spec":{"f:paused":{}}}},"#,
            r#"{"manager":"putter","operation":"Update","apiVersion":"apps/v1","fieldsType":"FieldsV1","fieldsV1":{"f:spec":{"f:replicas":{}}},"subresource":"scale"}]"#
        )
    );
}

#[test]
fn user_agents_name_managers() {
    assert_eq!(manager_of_user_agent("kube-controller-manager/v1.36.0"), "kube-controller-manager");
}
