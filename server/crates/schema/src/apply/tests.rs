//! Managers that apply side by side, as kube-apiserver 1.36 lets them.

use apiwright_json::Value;
use apiwright_meta::{Status, status};

use super::{Apply, apply, check, merge};
use crate::fieldset::Filter;
use crate::fieldset::testing::{config_map, custom, deployment, value};
use crate::managed::{OneVersion, Request, Versions, update};
use crate::table::{Ref, Struct};
use crate::testing::json;

/// A server with one object.
struct Server {
    ty: Ref<Struct>,
    api_version: &'static str,
    kind: &'static str,
    live: Option<Value>,
    clock: u32,
}

impl Server {
    fn new(ty: Ref<Struct>, api_version: &'static str, kind: &'static str) -> Self {
        Self { ty, api_version, kind, live: None, clock: 0 }
    }

    fn config_map() -> Self {
        Self::new(config_map(), "v1", "ConfigMap")
    }

    fn request<'a>(&self, manager: &'a str, now: &'a str, api_version: &'a str) -> Request<'a> {
        let _ = self;
        Request { manager, api_version, subresource: "", now, filter: &Filter::All, versions: &OneVersion }
    }

    fn tick(&mut self) -> String {
        self.clock += 1;
        format!("t{}", self.clock)
    }

    /// Applies what stands below kind and apiVersion.
    fn apply(&mut self, manager: &str, rest: &str, force: bool) -> status::Result<Value> {
        let mut config = value(rest);
        let members = config.as_object_mut().expect("an object");
        members.insert("apiVersion", self.api_version);
        members.insert("kind", self.kind);
        let now = self.tick();
        let request = self.request(manager, &now, self.api_version);
        let how = Apply { request, kind: self.kind, force, finish: &|object| Ok(object) };
        let mut object = apply(&self.ty, self.live.as_ref(), &config, &how)?;
        if self.live.is_none() {
            object.at_mut(&["metadata"]).and_then(Value::as_object_mut).expect("metadata").insert("uid", "u");
        }
        self.live = Some(object.clone());
        Ok(object)
    }

    fn put(&mut self, manager: &str, rest: &str) {
        let mut new = value(rest);
        let now = self.tick();
        let members = new.as_object_mut().expect("an object");
        members.insert("apiVersion", self.api_version);
        members.insert("kind", self.kind);
        let metadata = members.object("metadata");
        metadata.insert("uid", "u");
        update(&self.ty, self.live.as_ref(), &mut new, &self.request(manager, &now, self.api_version));
        self.live = Some(new);
    }

    /// The owners, one a line: manager, operation, time, fields.
    fn owners(&self) -> Vec<String> {
        let entries = self.live.as_ref().and_then(|live| live.at(&["metadata", "managedFields"]));
        let entries = entries.and_then(Value::as_array).cloned().unwrap_or_default();
        let line = |entry: &Value| {
            let text = |name: &str| entry.text_at(&[name]);
            let fields = apiwright_json::to_string(entry.get("fieldsV1").expect("fields"));
            format!("{} {} {} {fields}", text("manager"), text("operation"), text("time"))
        };
        entries.iter().map(line).collect()
    }

    fn data(&self) -> String {
        self.live
            .as_ref()
            .and_then(|live| live.get("data"))
            .map(apiwright_json::to_string)
            .unwrap_or_default()
    }
}

fn message(result: status::Result<Value>) -> (u16, String) {
    let status: Box<Status> = result.expect_err("refused");
    (status.code, status.message)
}

#[test]
fn what_is_applied_is_owned_and_what_is_no_longer_applied_goes() {
    let mut server = Server::config_map();
    server
        .apply(
            "mgr",
            r#"{"metadata":{"name":"c","labels":{"app":"web"}},"data":{"one":"1","two":"2"}}"#,
            false,
        )
        .expect("created");
    assert_eq!(
        server.owners(),
        [r#"mgr Apply t1 {"f:data":{"f:one":{},"f:two":{}},"f:metadata":{"f:labels":{"f:app":{}}}}"#]
    );

    // The same again: not even the time changes.
    server
        .apply(
            "mgr",
            r#"{"metadata":{"name":"c","labels":{"app":"web"}},"data":{"one":"1","two":"2"}}"#,
            true,
        )
        .expect("same");
    assert_eq!(server.owners()[0].split(' ').nth(2), Some("t1"));

    // Another shares one field and adds its own.
    server
        .apply("other", r#"{"metadata":{"name":"c"},"data":{"two":"2","three":"3"}}"#, false)
        .expect("shared");
    server.apply("mgr", r#"{"metadata":{"name":"c"},"data":{"one":"1"}}"#, false).expect("dropped");
    assert_eq!(server.data(), r#"{"one":"1","two":"2","three":"3"}"#);
    assert_eq!(
        server.owners(),
        [r#"other Apply t3 {"f:data":{"f:three":{},"f:two":{}}}"#, r#"mgr Apply t4 {"f:data":{"f:one":{}}}"#]
    );
    let live = server.live.clone().expect("an object");
    assert_eq!(live.at(&["metadata", "labels"]), None);

    server.apply("other", r#"{"metadata":{"name":"c"}}"#, false).expect("dropped all");
    assert_eq!((server.data(), server.owners().len()), (r#"{"one":"1"}"#.into(), 1));
}

#[test]
fn who_changes_what_others_own_is_told_so() {
    let mut server = Server::config_map();
    server.put("conform", r#"{"metadata":{"name":"c"},"data":{"one":"1","two":"2"}}"#);
    server
        .apply("mgr", r#"{"metadata":{"name":"c"},"data":{"one":"1","three":"3"}}"#, false)
        .expect("the same value is shared");
    let refused = server.apply("mgr", r#"{"metadata":{"name":"c"},"data":{"one":"x","three":"3"}}"#, false);
    let status = refused.clone().expect_err("a conflict");
    assert_eq!(
        message(refused),
        (409, r#"Apply failed with 1 conflict: conflict with "conform" using v1: .data.one"#.into())
    );
    let causes = status.details.expect("details").causes;
    assert_eq!(
        (causes[0].reason.as_str(), causes[0].message.as_str(), causes[0].field.as_str(), causes.len()),
        ("FieldManagerConflict", r#"conflict with "conform" using v1"#, ".data.one", 1)
    );

    let several =
        server.apply("late", r#"{"metadata":{"name":"c"},"data":{"one":"x","two":"y","three":"z"}}"#, false);
    let lines = [
        r#"Apply failed with 4 conflicts: conflicts with "conform" using v1:"#,
        "- .data.one",
        "- .data.two",
        r#"conflicts with "mgr":"#,
        "- .data.one",
        "- .data.three",
    ];
    assert_eq!(message(several), (409, lines.join("\n")));

    server.apply("mgr", r#"{"metadata":{"name":"c"},"data":{"one":"x","three":"3"}}"#, true).expect("forced");
    assert_eq!(
        server.owners(),
        [
            r#"mgr Apply t5 {"f:data":{"f:one":{},"f:three":{}}}"#,
            r#"conform Update t1 {"f:data":{".":{},"f:two":{}}}"#
        ]
    );
    // An update takes over without asking.
    server.put("putter", r#"{"metadata":{"name":"c"},"data":{"one":"1","two":"2","three":"changed"}}"#);
    // (A client that sends no managedFields keeps those that there are.)
    assert_eq!(
        server.owners(),
        [
            r#"conform Update t1 {"f:data":{".":{},"f:two":{}}}"#,
            r#"putter Update t6 {"f:data":{"f:one":{},"f:three":{}}}"#
        ]
    );
}

#[test]
fn keyed_items_merge_and_keep_an_order_that_suits_both() {
    let containers = |names: &str| {
        let items: Vec<String> =
            names.chars().map(|name| format!(r#"{{"name":"{name}","image":"i"}}"#)).collect();
        format!(
            r#"{{"metadata":{{"name":"d"}},"spec":{{"template":{{"spec":{{"containers":[{}]}}}}}}}}"#,
            items.join(",")
        )
    };
    let mut server = Server::new(deployment(), "apps/v1", "Deployment");
    for (manager, applied, expected) in [
        ("alpha", "ba", "ba"),
        ("beta", "z", "baz"),
        ("alpha", "ab", "azb"),
        ("alpha", "amb", "azmb"),
        ("alpha", "b", "zb"),
    ] {
        let object = server.apply(manager, &containers(applied), false).expect("applies");
        let items =
            object.at(&["spec", "template", "spec", "containers"]).and_then(Value::as_array).expect("a list");
        let names: String = items.iter().map(|item| item.text_at(&["name"])).collect();
        assert_eq!(names, expected, "{manager} applies {applied}");
    }
}

#[test]
fn parts_of_items_have_their_owners() {
    let mut server = Server::new(deployment(), "apps/v1", "Deployment");
    server
        .apply("alpha", r#"{"metadata":{"name":"d"},"spec":{"selector":{"matchLabels":{"a":"b"}},"template":{"metadata":{"labels":{"a":"b"}},
            "spec":{"containers":[{"name":"main","image":"i:1","env":[{"name":"A","value":"1"}],"ports":[{"containerPort":80}],
            "resources":{"requests":{"cpu":"100m"}}}]}}}}"#, false)
        .expect("created");
    server
        .apply("beta", r#"{"metadata":{"name":"d"},"spec":{"replicas":3,"template":{"spec":{"containers":[{"name":"side","image":"s:1"},
            {"name":"main","env":[{"name":"B","value":"2"}],"ports":[{"containerPort":53,"protocol":"UDP"}]}]}}}}"#, false)
        .expect("added");
    assert_eq!(
        server.owners(),
        [
            concat!(
                r#"alpha Apply t1 {"f:spec":{"f:selector":{},"f:template":{"f:metadata":{"f:labels":{"f:a":{}}},"f:spec":{"f:containers":"#,
                r#"{"k:{\"name\":\"main\"}":{".":{},"f:env":{"k:{\"name\":\"A\"}":{".":{},"f:name":{},"f:value":{}}},"f:image":{},"f:name":{},"#,
                r#""f:ports":{"k:{\"containerPort\":80,\"protocol\":\"TCP\"}":{".":{},"f:containerPort":{}}},"f:resources":{"f:requests":{"f:cpu":{}}}}}}}}}"#
            ),
            concat!(
                r#"beta Apply t2 {"f:spec":{"f:replicas":{},"f:template":{"f:spec":{"f:containers":{"k:{\"name\":\"main\"}":{".":{},"#,
                r#""f:env":{"k:{\"name\":\"B\"}":{".":{},"f:name":{},"f:value":{}}},"f:name":{},"f:ports":{"k:{\"containerPort\":53,\"protocol\":\"UDP\"}":"#,
                r#"{".":{},"f:containerPort":{},"f:protocol":{}}}},"k:{\"name\":\"side\"}":{".":{},"f:image":{},"f:name":{}}}}}}}"#
            )
        ]
    );
    let refused = server.apply(
        "beta",
        r#"{"metadata":{"name":"d"},"spec":{"replicas":3,"template":{"spec":{"nodeSelector":{"a":"b"},
        "containers":[{"name":"main","image":"i:2","env":[{"name":"A","value":"x"}]}]}}}}"#,
        false,
    );
    let lines = [
        r#"Apply failed with 2 conflicts: conflicts with "alpha":"#,
        r#"- .spec.template.spec.containers[name="main"].image"#,
        r#"- .spec.template.spec.containers[name="main"].env[name="A"].value"#,
    ];
    assert_eq!(message(refused), (409, lines.join("\n")));
    // What the first no longer wants goes, what the second wants stays.
    server
        .apply("alpha", r#"{"metadata":{"name":"d"},"spec":{"selector":{"matchLabels":{"a":"b"}},"template":{"metadata":{"labels":{"a":"b"}},
            "spec":{"containers":[{"name":"main","image":"i:3"}]}}}}"#, false)
        .expect("changed");
    let live = server.live.clone().expect("an object");
    let containers = live.at(&["spec", "template", "spec", "containers"]).expect("containers");
    assert_eq!(
        containers,
        &json(
            r#"[{"name":"side","image":"s:1"},{"name":"main","image":"i:3","env":[{"name":"B","value":"2"}],"ports":[{"containerPort":53,"protocol":"UDP"}]}]"#
        )
    );
    server.apply("beta", r#"{"metadata":{"name":"d"},"spec":{"replicas":3}}"#, false).expect("dropped");
    let live = server.live.clone().expect("an object");
    assert_eq!(
        live.at(&["spec", "template", "spec", "containers"]),
        Some(&json(r#"[{"name":"main","image":"i:3"}]"#))
    );
}

#[test]
fn sets_are_shared_value_by_value() {
    let mut server = Server::config_map();
    server
        .apply("alpha", r#"{"metadata":{"name":"c","finalizers":["example.com/a"]}}"#, false)
        .expect("created");
    server
        .apply("beta", r#"{"metadata":{"name":"c","finalizers":["example.com/b","example.com/a"]}}"#, false)
        .expect("added");
    let finalizers = |server: &Server| {
        let live = server.live.as_ref().expect("an object");
        live.at(&["metadata", "finalizers"]).map(apiwright_json::to_string)
    };
    assert_eq!(finalizers(&server).as_deref(), Some(r#"["example.com/b","example.com/a"]"#));
    server.apply("alpha", r#"{"metadata":{"name":"c"}}"#, false).expect("dropped");
    assert_eq!(finalizers(&server).as_deref(), Some(r#"["example.com/b","example.com/a"]"#));
    server.apply("beta", r#"{"metadata":{"name":"c"}}"#, false).expect("dropped");
    assert_eq!(finalizers(&server), None);
}

#[test]
fn what_was_there_before_belongs_to_nobody_in_particular() {
    let mut server = Server::config_map();
    server.live = Some(value(
        r#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"c","uid":"u"},"data":{"one":"1","two":"2"}}"#,
    ));
    server
        .apply("mgr", r#"{"metadata":{"name":"c"},"data":{"one":"1","three":"3"}}"#, false)
        .expect("applied");
    assert_eq!(
        server.owners(),
        [
            r#"mgr Apply t1 {"f:data":{"f:one":{},"f:three":{}}}"#,
            r#"before-first-apply Update t1 {"f:data":{".":{},"f:one":{},"f:two":{}}}"#
        ]
    );
    let refused = server.apply("mgr", r#"{"metadata":{"name":"c"},"data":{"one":"x"}}"#, false);
    assert_eq!(
        message(refused),
        (
            409,
            r#"Apply failed with 1 conflict: conflict with "before-first-apply" using v1: .data.one"#.into()
        )
    );
}

#[test]
fn kubectl_takes_over_what_it_applied_client_side() {
    let applied = |annotation: &str| {
        format!(
            r#"{{"metadata":{{"name":"c","annotations":{{"kubectl.kubernetes.io/last-applied-configuration":{}}}}},"data":{{"one":"1"}}}}"#,
            apiwright_json::to_string(&annotation.into())
        )
    };
    let annotation = r#"{"apiVersion":"v1","data":{"one":"1"},"kind":"ConfigMap","metadata":{"annotations":{},"name":"c"}}"#;
    let mut server = Server::config_map();
    server.put("kubectl-client-side-apply", &applied(annotation));
    let mine = r#"{"metadata":{"name":"c"},"data":{"one":"2"}}"#;
    assert_eq!(message(server.apply("somebody", mine, false)).0, 409);
    let object = server.apply("kubectl", mine, false).expect("its own");
    assert_eq!(object.text_at(&["data", "one"]), "2");
    assert_eq!(
        object.text_at(&["metadata", "annotations", "kubectl.kubernetes.io/last-applied-configuration"]),
        "{\"apiVersion\":\"v1\",\"data\":{\"one\":\"2\"},\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"c\"}}\n"
    );
    // What somebody changed since, or what the annotation does not hold, conflicts.
    let mut server = Server::config_map();
    server.put("kubectl-client-side-apply", &applied(annotation));
    let mut live = server.live.clone().expect("an object");
    live.as_object_mut().expect("an object").insert("data", json(r#"{"one":"by-hand","two":"by-hand"}"#));
    server.put("hand", &apiwright_json::to_string(&live));
    let refused = server.apply("kubectl", r#"{"metadata":{"name":"c"},"data":{"one":"1","two":"2"}}"#, false);
    let lines =
        ["Apply failed with 2 conflicts: conflicts with \"hand\" using v1:", "- .data.one", "- .data.two"];
    assert_eq!(message(refused), (409, lines.join("\n")));
}

#[test]
fn what_does_not_fit_the_schema_is_refused() {
    let prefix = "failed to create typed patch object (ns/d; apps/v1, Kind=Deployment): ";
    let containers = |items: &str| format!(r#""spec":{{"template":{{"spec":{{"containers":{items}}}}}}}"#);
    for (rest, error) in [
        (r#""color":"red""#.to_owned(), ".color: field not declared in schema"),
        (
            containers(r#"[{"name":"c","imagePullpolicy":"x"}]"#),
            r#".spec.template.spec.containers[name="c"].imagePullpolicy: field not declared in schema"#,
        ),
        (
            r#""metadata":{"labels":{"k":5}}"#.to_owned(),
            ".metadata.labels.k: expected string, got &value.valueUnstructured{Value:5}",
        ),
        (
            r#""metadata":{"labels":{"k":["a",1.5]}}"#.to_owned(),
            r#".metadata.labels.k: expected string, got &value.valueUnstructured{Value:[]interface {}{"a", 1.5}}"#,
        ),
        (r#""metadata":{"labels":"text"}"#.to_owned(), ".metadata.labels: expected map, got &{text}"),
        (containers(r#"{"name":"c"}"#), ".spec.template.spec.containers: expected list, got &{map[name:c]}"),
        (
            containers(r#"[{"name":"c"},{"name":"c"}]"#),
            r#".spec.template.spec.containers: duplicate entries for key [name="c"]"#,
        ),
        (
            r#""metadata":{"finalizers":["a/b","a/b"]}"#.to_owned(),
            r#".metadata.finalizers: duplicate entries for key [="a/b"]"#,
        ),
        (
            r#""spec":{"replicas":"x"}"#.to_owned(),
            ".spec.replicas: expected numeric (int or float), got string",
        ),
        (
            containers(r#"[{"name":"c","tty":"yes","args":[1]}]"#),
            concat!(
                "errors:\n  .spec.template.spec.containers[name=\"c\"].tty: expected boolean, got &{yes}",
                "\n  .spec.template.spec.containers[name=\"c\"].args[0]: expected string, got &value.valueUnstructured{Value:1}"
            ),
        ),
        (
            containers("[null]"),
            ".spec.template.spec.containers: element 0: associative list with keys may not have a null element",
        ),
    ] {
        let rest = if rest.starts_with("\"metadata\":{") {
            rest.replacen("\"metadata\":{", "\"metadata\":{\"name\":\"d\",\"namespace\":\"ns\",", 1)
        } else {
            format!(r#""metadata":{{"name":"d","namespace":"ns"}},{rest}"#)
        };
        let mut server = Server::new(deployment(), "apps/v1", "Deployment");
        assert_eq!(
            message(server.apply("mgr", &format!("{{{rest}}}"), false)),
            (500, format!("{prefix}{error}"))
        );
    }
    assert!(check::check(&custom(), &value(r#"{"x":{"y":[1]},"spec":5}"#)).is_ok());
}

#[test]
fn configurations_of_another_kind_are_refused() {
    for (config, error) in [
        ("{}", "invalid object type: /, Kind="),
        (r#"{"apiVersion":"v1"}"#, "invalid object type: /v1, Kind="),
        (r#"{"kind":"ConfigMap"}"#, "invalid object type: /, Kind=ConfigMap"),
        (r#"{"apiVersion":"apps/v1","kind":"ConfigMap"}"#, "invalid object type: apps/v1, Kind=ConfigMap"),
        (r#"{"apiVersion":"v1","kind":"Secret"}"#, "invalid object type: /v1, Kind=Secret"),
        (
            r#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"managedFields":[]}}"#,
            "metadata.managedFields must be nil",
        ),
    ] {
        let server = Server::config_map();
        let how = Apply {
            request: server.request("m", "t", "v1"),
            kind: "ConfigMap",
            force: false,
            finish: &|object| Ok(object),
        };
        assert_eq!(message(apply(&server.ty, None, &value(config), &how)), (400, error.into()), "{config}");
    }
    let server = Server::config_map();
    let finish = |_| Err("error decoding from json: illegal base64 data at input byte 0".to_owned());
    let how =
        Apply { request: server.request("m", "t", "v1"), kind: "ConfigMap", force: false, finish: &finish };
    let config =
        value(r#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"t"},"binaryData":{"k":"*"}}"#);
    assert_eq!(
        message(apply(&server.ty, None, &config, &how)),
        (500, "failed to convert new object (/t; /v1, Kind=ConfigMap) to proper version: unable to convert unstructured object to /v1, Kind=ConfigMap: error decoding from json: illegal base64 data at input byte 0".into())
    );
}

#[test]
fn nulls_and_empties_are_owned() {
    for (rest, fields) in [
        (r#"{"data":{"k":null,"l":"v"}}"#, r#"{"f:data":{"f:k":{},"f:l":{}}}"#),
        (
            r#"{"metadata":{"name":"b","labels":null},"data":null}"#,
            r#"{"f:data":{},"f:metadata":{"f:labels":{}}}"#,
        ),
        (
            r#"{"metadata":{"name":"c","labels":{},"annotations":{}},"data":{}}"#,
            r#"{"f:data":{},"f:metadata":{"f:annotations":{},"f:labels":{}}}"#,
        ),
        (
            r#"{"metadata":{"name":"e","creationTimestamp":null,"generation":4},"data":{"k":"v"}}"#,
            r#"{"f:data":{"f:k":{}}}"#,
        ),
    ] {
        let mut server = Server::config_map();
        server.apply("mgr", rest, false).expect("created");
        assert_eq!(server.owners(), [format!("mgr Apply t1 {fields}")], "{rest}");
    }
}

/// Versions of a `ConfigMap`, v2 calling `data` `binaryData`.
#[derive(Debug)]
struct Renaming(Ref<Struct>);

impl Versions for Renaming {
    fn ty(&self, api_version: &str) -> Option<Ref<Struct>> {
        matches!(api_version, "v1" | "v2").then(|| self.0.clone())
    }

    fn convert(&self, object: &Value, api_version: &str) -> status::Result<Value> {
        let renamed = object.as_object().expect("an object").iter().map(|(name, value)| {
            let name = match name.as_str() {
                "data" => "binaryData",
                "binaryData" => "data",
                name => name,
            };
            (name.to_owned(), value.clone())
        });
        let mut converted: apiwright_json::Object = renamed.collect();
        converted.insert("apiVersion", api_version);
        Ok(converted.into())
    }
}

#[test]
fn managers_of_several_versions_share_an_object() {
    let ty = config_map();
    let versions = Renaming(ty.clone());
    let run = |live: Option<&Value>, api_version: &str, manager: &str, rest: &str| {
        let mut config = value(rest);
        config.as_object_mut().expect("an object").insert("apiVersion", api_version);
        config.as_object_mut().expect("an object").insert("kind", "ConfigMap");
        let request = Request {
            manager,
            api_version,
            subresource: "",
            now: "t",
            filter: &Filter::All,
            versions: &versions,
        };
        apply(
            &ty,
            live,
            &config,
            &Apply { request, kind: "ConfigMap", force: false, finish: &|object| Ok(object) },
        )
    };
    let one =
        run(None, "v1", "alpha", r#"{"metadata":{"name":"c"},"data":{"a":"1","b":"2"}}"#).expect("created");
    let as_v2 = versions.convert(&one, "v2").expect("converts");
    let two = run(Some(&as_v2), "v2", "beta", r#"{"metadata":{"name":"c"},"binaryData":{"b":"2","c":"3"}}"#)
        .expect("shared");
    assert_eq!(
        message(run(Some(&two), "v2", "beta", r#"{"binaryData":{"a":"x"}}"#)),
        (409, r#"Apply failed with 1 conflict: conflict with "alpha": .data.a"#.into())
    );
    // The first goes on in the other version: what it owned in its old one is pruned there.
    let three = run(Some(&two), "v2", "alpha", r#"{"metadata":{"name":"c"},"binaryData":{"a":"1"}}"#)
        .expect("dropped");
    assert_eq!(three.get("binaryData"), Some(&json(r#"{"a":"1","b":"2","c":"3"}"#)));
    let four = run(Some(&three), "v2", "beta", r#"{"metadata":{"name":"c"},"binaryData":{"c":"3"}}"#)
        .expect("dropped");
    assert_eq!(four.get("binaryData"), Some(&json(r#"{"a":"1","c":"3"}"#)));
}

#[test]
fn merging_takes_nothing_out() {
    for (ty, live, config, merged) in [
        (config_map(), r#"{"data":{"a":"1"}}"#, r#"{"data":null}"#, r#"{"data":{"a":"1"}}"#),
        (
            config_map(),
            r#"{"data":{"a":"1"}}"#,
            r#"{"data":{"b":"2","a":"3"}}"#,
            r#"{"data":{"a":"3","b":"2"}}"#,
        ),
        (config_map(), "{}", r#"{"data":{}}"#, r#"{"data":{}}"#),
        (
            deployment(),
            r#"{"spec":{"selector":{"matchLabels":{"a":"b"}}}}"#,
            r#"{"spec":{"selector":{"matchLabels":{"c":"d"}}}}"#,
            r#"{"spec":{"selector":{"matchLabels":{"c":"d"}}}}"#,
        ),
        (
            custom(),
            r#"{"spec":{"a":[1],"b":{"c":1}}}"#,
            r#"{"spec":{"a":[2],"b":{"d":2}}}"#,
            r#"{"spec":{"a":[2],"b":{"c":1,"d":2}}}"#,
        ),
        (custom(), r#"{"spec":{"a":[1]}}"#, r#"{"spec":{"a":"text"}}"#, r#"{"spec":{"a":"text"}}"#),
    ] {
        assert_eq!(merge::merge(&ty, &value(live), &value(config)), Ok(value(merged)), "{live} + {config}");
    }
}
