//! A server of two small resources over memory, asked as a client asks.

use apiwright_json::Value;
use bytes::Bytes;
use futures::StreamExt;
use http_body_util::BodyExt;

use crate::server::Flavour;
use crate::testing::{TestServer, read};

fn thing(name: &str, more: &str) -> String {
    format!(r#"{{"apiVersion":"example.com/v1","kind":"Thing","metadata":{{"name":"{name}"}}{more}}}"#)
}

/// An answer without what differs from run to run.
fn plain(value: &Value) -> String {
    let mut value = value.clone();
    scrub(&mut value);
    apiwright_json::to_string(&value)
}

fn scrub(value: &mut Value) {
    match value {
        Value::Object(object) => {
            for name in ["uid", "resourceVersion", "creationTimestamp", "managedFields"] {
                object.remove(name);
            }
            object.iter_mut().for_each(|(_, value)| scrub(value));
        }
        Value::Array(items) => items.iter_mut().for_each(scrub),
        _ => {}
    }
}

#[tokio::test]
async fn every_verb_answers() {
    let server = TestServer::new(Flavour::BuiltIn);
    let a = "/namespaces/ns/things/a";
    let spec = |spec: &str| format!(r#""spec":{spec}"#);
    let base = |generation: u32, spec: &str| {
        format!(
            r#"{{"kind":"Thing","apiVersion":"example.com/v1","metadata":{{"name":"a","namespace":"ns","generation":{generation}}},"spec":{spec},"status":{{}}}}"#
        )
    };

    let (code, created) = server
        .json("POST", "/namespaces/ns/things", &thing("a", &format!(",{}", spec(r#"{"color":"red"}"#))))
        .await;
    assert_eq!((code, plain(&created)), (201, base(1, r#"{"replicas":1,"color":"red"}"#)));
    assert!(!created.text_at(&["metadata", "uid"]).is_empty());
    let owners = created.at(&["metadata", "managedFields"]).expect("owners");
    assert!(apiwright_json::to_string(owners).contains(r#""f:color":{}"#), "{owners:?}");

    let (code, got) = server.json("GET", a, "").await;
    assert_eq!((code, &got), (200, &created));

    let (code, again) = server.json("POST", "/namespaces/ns/things", &thing("a", "")).await;
    assert_eq!((code, again.text_at(&["message"])), (409, r#"things.example.com "a" already exists"#));

    let (code, put) = server.json("PUT", a, &thing("a", &format!(",{}", spec(r#"{"replicas":3}"#)))).await;
    assert_eq!((code, plain(&put)), (200, base(2, r#"{"replicas":3}"#)));

    let merge = [("content-type", "application/merge-patch+json")];
    let (code, patched) = read(server.send("PATCH", a, &merge, r#"{"spec":{"color":"blue"}}"#).await).await;
    assert_eq!((code, plain(&patched)), (200, base(3, r#"{"replicas":3,"color":"blue"}"#)));

    let (code, same) = read(server.send("PATCH", a, &merge, r#"{"spec":{"color":"blue"}}"#).await).await;
    assert_eq!((code, &same), (200, &patched));

    let (code, scale) = server.json("GET", &format!("{a}/scale"), "").await;
    let expected = r#"{"kind":"Scale","apiVersion":"autoscaling/v1","metadata":{"name":"a","namespace":"ns"},"spec":{"replicas":3},"status":{"replicas":0}}"#;
    assert_eq!((code, plain(&scale).as_str()), (200, expected));
    let scaling =
        r#"{"kind":"Scale","apiVersion":"autoscaling/v1","metadata":{"name":"a"},"spec":{"replicas":5}}"#;
    let (code, scale) = server.json("PUT", &format!("{a}/scale"), scaling).await;
    assert_eq!((code, scale.at(&["spec", "replicas"])), (200, Some(&Value::Int(5))));

    let (code, status) =
        server.json("PUT", &format!("{a}/status"), &thing("a", r#","status":{"replicas":2}"#)).await;
    assert_eq!((code, status.at(&["status", "replicas"])), (200, Some(&Value::Int(2))));
    assert_eq!(status.at(&["spec", "replicas"]), Some(&Value::Int(5)));

    server.json("POST", "/namespaces/ns/things", &thing("b", "")).await;
    let (code, list) = server.json("GET", "/things?limit=1", "").await;
    assert_eq!((code, list.text_at(&["kind"])), (200, "ThingList"));
    assert_eq!(list.at(&["metadata", "remainingItemCount"]), Some(&Value::Int(1)));
    assert_eq!(list.get("items").and_then(Value::as_array).map(Vec::len), Some(1));

    let (code, deleted) = server.json("DELETE", a, "").await;
    assert_eq!(code, 200);
    assert_eq!(
        plain(&deleted),
        r#"{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Success","details":{"name":"a","group":"example.com","kind":"things"}}"#
    );
    let (code, all) = server.json("DELETE", "/namespaces/ns/things", "").await;
    assert_eq!((code, all.get("items").and_then(Value::as_array).map(Vec::len)), (200, Some(1)));
    let (code, gone) = server.json("GET", a, "").await;
    assert_eq!((code, gone.text_at(&["message"])), (404, r#"things.example.com "a" not found"#));
}

#[tokio::test]
async fn bodies_are_refused_in_upstreams_words() {
    let server = TestServer::new(Flavour::BuiltIn);
    let json = "application/json";
    let cases = [
        (
            json,
            "",
            "",
            400,
            "the object provided is unrecognized (must be of type Thing): couldn't get version/kind; json parse error: unexpected end of JSON input (<empty>)",
        ),
        (
            json,
            "",
            r#"{"kind":"Gizmo","apiVersion":"v1"}"#,
            400,
            r#"Gizmo in version "v1" cannot be handled as a Thing: no kind "Gizmo" is registered for version "v1" in scheme "k8s.io/kubernetes/pkg/api/legacyscheme/scheme.go:30""#,
        ),
        (
            json,
            "",
            r#"{"kind":"Other","apiVersion":"example.com/v1"}"#,
            400,
            r#"Other in version "v1" cannot be handled as a Thing: converting (v1.Other) to (example.Thing): unknown conversion"#,
        ),
        (
            json,
            "?fieldValidation=Strict",
            r#"{"metadata":{"name":"x","colour":1},"extra":2}"#,
            400,
            r#"Thing in version "v1" cannot be handled as a Thing: strict decoding error: unknown field "metadata.colour", unknown field "extra""#,
        ),
        (
            json,
            "?dryRun=foo",
            "{}",
            422,
            r#"CreateOptions.meta.k8s.io "" is invalid: dryRun: Unsupported value: ["foo"]: supported values: "All""#,
        ),
        (
            json,
            "",
            r#"{"metadata":{"name":"x","namespace":"other"}}"#,
            400,
            "the namespace of the provided object does not match the namespace sent on the request",
        ),
        (
            "text/plain",
            "",
            "x",
            415,
            "the body of the request was in an unknown format - accepted media types include: application/json, application/yaml, application/vnd.kubernetes.protobuf",
        ),
        (
            "application/vnd.kubernetes.protobuf",
            "",
            "not protobuf at all",
            400,
            "the object provided is unrecognized (must be of type Thing): provided data does not appear to be a protobuf message, expected prefix [107 56 115 0] (6e6f742070726f746f62756620617420616c6c)",
        ),
    ];
    for (media, query, body, code, message) in cases {
        let path = format!("/namespaces/ns/things{query}");
        let (its_code, answer) =
            read(server.send("POST", &path, &[("content-type", media)], body).await).await;
        assert_eq!((its_code, answer.text_at(&["message"])), (code, message), "{body}");
    }
    let (code, _) = server.json("PUT", "/namespaces/ns/things/x", &thing("y", "")).await;
    assert_eq!(code, 400);
}

#[tokio::test]
async fn warnings_are_sent_also_with_failures() {
    let server = TestServer::new(Flavour::BuiltIn);
    for (name, code) in [("fine", 201), ("Not_Fine", 422)] {
        let body = thing(name, r#","extra":1"#);
        let response = server.send("POST", "/namespaces/ns/things", &[], &body).await;
        let warnings: Vec<_> = response.headers().get_all("warning").iter().collect();
        assert_eq!(response.status().as_u16(), code);
        assert_eq!(warnings, [r#"299 - "unknown field \"extra\"""#]);
    }
}

#[tokio::test]
async fn unknown_addresses_are_told() {
    let server = TestServer::new(Flavour::BuiltIn);
    let cases = [
        ("GET", "/namespaces/ns/nothings", 404, "the server could not find the requested resource"),
        ("GET", "/things/x", 404, "the server could not find the requested resource"),
        (
            "PUT",
            "/namespaces/ns/things",
            405,
            "the server does not allow this method on the requested resource",
        ),
        (
            "GET",
            "/things?fieldSelector=data.a%3Db",
            400,
            r#""data.a" is not a known field selector: only "metadata.name", "metadata.namespace""#,
        ),
        (
            "GET",
            "/things?resourceVersion=latest",
            400,
            r#"invalid resource version: resourceVersion: Invalid value: "latest": strconv.ParseUint: parsing "latest": invalid syntax"#,
        ),
        (
            "GET",
            "/namespaces/ns/things/x?resourceVersion=latest",
            500,
            r#"resourceVersion: Invalid value: "latest": strconv.ParseUint: parsing "latest": invalid syntax"#,
        ),
    ];
    for (method, path, code, message) in cases {
        let (its_code, answer) = server.json(method, path, "").await;
        assert_eq!((its_code, answer.text_at(&["message"])), (code, message), "{method} {path}");
    }
    let custom = TestServer::new(Flavour::Custom);
    let (code, answer) = custom.json("PATCH", "/namespaces/ns/things", "{}").await;
    assert_eq!(
        (code, answer.text_at(&["message"])),
        (
            415,
            "the body of the request was in an unknown format - accepted media types include: application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml"
        )
    );
}

#[tokio::test]
async fn tables_and_metadata_are_made() {
    let server = TestServer::new(Flavour::BuiltIn);
    server.json("POST", "/namespaces/ns/things", &thing("a", "")).await;
    let table = [("accept", "application/json;as=Table;v=v1;g=meta.k8s.io,application/json")];
    let (code, answer) = read(server.send("GET", "/things?includeObject=None", &table, "").await).await;
    let expected = r#"{"kind":"Table","apiVersion":"meta.k8s.io/v1","metadata":{},"columnDefinitions":[{"name":"Name","type":"string","format":"name","description":"","priority":0},{"name":"Wish","type":"integer","format":"","description":"","priority":0},{"name":"Age","type":"string","format":"","description":"","priority":0}],"rows":[{"cells":["a",1,"0s"],"object":null}]}"#;
    assert_eq!((code, plain(&answer).as_str()), (200, expected));
    let (_, single) = read(server.send("GET", "/namespaces/ns/things/a", &table, "").await).await;
    let row = single.get("rows").and_then(Value::as_array).and_then(|rows| rows.first()).expect("a row");
    assert_eq!(row.text_at(&["object", "kind"]), "PartialObjectMetadata");

    let list = [("accept", "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io")];
    let (_, answer) = read(server.send("GET", "/things", &list, "").await).await;
    assert_eq!(
        plain(&answer),
        r#"{"kind":"PartialObjectMetadataList","apiVersion":"meta.k8s.io/v1","metadata":{},"items":[{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1","metadata":{"name":"a","namespace":"ns","generation":1}}]}"#
    );
    for (path, go_type) in [("a", "*example.Thing"), ("a/scale", "*autoscaling.Scale")] {
        let path = format!("/namespaces/ns/things/{path}");
        let (code, answer) = read(server.send("GET", &path, &list, "").await).await;
        let message = format!(
            "you requested PartialObjectMetadataList, but the requested object is not a list ({go_type})"
        );
        assert_eq!((code, answer.text_at(&["message"])), (406, message.as_str()));
    }
}

#[tokio::test]
async fn a_last_bookmark_comes_before_the_end_of_a_watch() {
    let server = TestServer::new(Flavour::BuiltIn);
    server.json("POST", "/namespaces/ns/things", &thing("a", "")).await;
    let path = "/namespaces/ns/things?watch=1&allowWatchBookmarks=true&resourceVersion=1&timeoutSeconds=3";
    let response = server.send("GET", path, &[], "").await;
    let mut frames = http_body_util::BodyStream::new(response.into_body());
    let mut text = String::new();
    while let Some(frame) = frames.next().await {
        let frame = frame.expect("no error");
        text.push_str(&String::from_utf8_lossy(&Bytes::from(frame.into_data().expect("data"))));
    }
    let last = text.lines().last().unwrap_or_default();
    assert!(last.contains(r#""type":"BOOKMARK""#), "{text}");
}

#[tokio::test]
async fn watches_stream_until_the_drain() {
    let server = TestServer::new(Flavour::BuiltIn);
    server.json("POST", "/namespaces/ns/things", &thing("a", "")).await;
    let path = "/namespaces/ns/things?watch=1&allowWatchBookmarks=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan";
    let response = server.send("GET", path, &[], "").await;
    assert_eq!(response.headers()["content-type"], "application/json");
    let mut frames = http_body_util::BodyStream::new(response.into_body());
    let mut text = String::new();
    let until = |events: usize| move |text: &String| text.lines().count() < events;
    while until(2)(&text) {
        let frame = frames.next().await.expect("a frame").expect("no error");
        text.push_str(&String::from_utf8_lossy(&Bytes::from(frame.into_data().expect("data"))));
    }
    server.json("DELETE", "/namespaces/ns/things/a", "").await;
    while until(3)(&text) {
        let frame = frames.next().await.expect("a frame").expect("no error");
        text.push_str(&String::from_utf8_lossy(&Bytes::from(frame.into_data().expect("data"))));
    }
    let events: Vec<Value> =
        text.lines().map(|line| apiwright_json::decode(line.as_bytes()).expect("JSON").0).collect();
    let seen: Vec<_> = events
        .iter()
        .map(|event| (event.text_at(&["type"]), event.text_at(&["object", "metadata", "name"])))
        .collect();
    assert_eq!(seen, [("ADDED", "a"), ("BOOKMARK", ""), ("DELETED", "a")]);
    assert_eq!(
        events[1].text_at(&["object", "metadata", "annotations", "k8s.io/initial-events-end"]),
        "true"
    );
    server.drainer.begin();
    assert!(frames.next().await.is_none());
}

#[tokio::test]
async fn long_lists_are_compressed_and_come_in_pieces() {
    let server = TestServer::new(Flavour::BuiltIn);
    let color = "x".repeat(20_000);
    for at in 0..10 {
        let body = thing(&format!("t{at}"), &format!(r#","spec":{{"color":"{color}"}}"#));
        server.json("POST", "/namespaces/ns/things", &body).await;
    }
    let (code, plain) = server.json("GET", "/things", "").await;
    assert_eq!((code, plain.get("items").and_then(Value::as_array).map(Vec::len)), (200, Some(10)));
    let response = server.send("GET", "/things", &[("accept-encoding", "gzip")], "").await;
    assert_eq!(response.headers()["content-encoding"], "gzip");
    assert_eq!(response.headers()["vary"], "Accept-Encoding");
    let compressed = response.into_body().collect().await.expect("a body").to_bytes();
    let mut text = Vec::new();
    std::io::Read::read_to_end(&mut flate2::read::GzDecoder::new(&compressed[..]), &mut text).expect("gzip");
    assert_eq!(apiwright_json::decode(&text).expect("JSON").0, plain);
    let response = server.send("GET", "/things?pretty=1", &[], "").await;
    let indented = response.into_body().collect().await.expect("a body").to_bytes();
    assert!(indented == apiwright_json::to_string_pretty(&plain));
}

#[tokio::test]
async fn applying_makes_and_owns() {
    let server = TestServer::new(Flavour::BuiltIn);
    let media = [("content-type", "application/apply-patch+yaml")];
    let a = "/namespaces/ns/things/a?fieldManager=me";
    let config =
        "apiVersion: example.com/v1\nkind: Thing\nmetadata: {name: a}\nspec:\n  color: red\n  color: blue\n";
    let response = server.send_as("mallory", "PATCH", a, &media, config).await;
    let (code, refused) = read(response).await;
    let text = r#"things.example.com "a" is forbidden: User "mallory" cannot create resource "things" in API group "example.com" in the namespace "ns""#;
    assert_eq!((code, refused.text_at(&["message"])), (403, text));

    let response = server.send("PATCH", a, &media, config).await;
    assert_eq!(response.headers()["warning"], r#"299 - "line 6: key \"color\" already set in map""#);
    let (code, made) = read(response).await;
    assert_eq!((code, made.text_at(&["spec", "color"])), (201, "blue"));
    assert_eq!(made.at(&["spec", "replicas"]), Some(&Value::Int(1)));
    let owners = apiwright_json::to_string(made.at(&["metadata", "managedFields"]).expect("owners"));
    assert!(
        owners.contains(r#""operation":"Apply""#) && owners.contains(r#"{"f:spec":{"f:color":{}}}"#),
        "{owners}"
    );

    let other = config.replace("blue", "green");
    let (code, conflict) = read(server.send("PATCH", &a.replace("=me", "=you"), &media, &other).await).await;
    assert_eq!((code, conflict.text_at(&["reason"])), (409, "Conflict"));
    let (code, _) =
        read(server.send("PATCH", &a.replace("=me", "=you&force=true"), &media, &other).await).await;
    assert_eq!(code, 200);
    let (code, strict) =
        read(server.send("PATCH", &format!("{a}&fieldValidation=Strict"), &media, config).await).await;
    assert_eq!((code, strict.text_at(&["reason"])), (409, "Conflict"));
}

#[tokio::test]
async fn yaml_and_protobuf_are_spoken() {
    let server = TestServer::new(Flavour::BuiltIn);
    let yaml = [("content-type", "application/yaml"), ("accept", "application/yaml")];
    let body = "metadata:\n  name: a\nspec:\n  color: \"yes\"\n";
    let response = server.send("POST", "/namespaces/ns/things?dryRun=All", &yaml, body).await;
    assert_eq!(
        (response.status().as_u16(), &response.headers()["content-type"]),
        (201, &"application/yaml".parse().expect("a header"))
    );
    let text = response.into_body().collect().await.expect("a body").to_bytes();
    let text = String::from_utf8_lossy(&text).into_owned();
    assert!(text.starts_with("apiVersion: example.com/v1\nkind: Thing\nmetadata:\n"), "{text}");
    assert!(text.ends_with("spec:\n  color: \"yes\"\n  replicas: 1\nstatus: {}\n"), "{text}");

    let accept = [("accept", "application/vnd.kubernetes.protobuf")];
    let response = server.send("GET", "/namespaces/ns/things/a", &accept, "").await;
    let bytes = response.into_body().collect().await.expect("a body").to_bytes();
    assert!(bytes.starts_with(b"k8s\0"));
}

#[tokio::test]
async fn custom_resources_are_pruned() {
    let server = TestServer::new(Flavour::Custom);
    let things = "/namespaces/ns/things";
    let cases = [
        (
            r#"{"name":"a","bogus":1}"#,
            r#","spec":{"color":"red","b":1},"extra":1"#,
            400,
            r#"Thing in version "v1" cannot be handled as a Thing: strict decoding error: unknown field "metadata.bogus", unknown field "extra", unknown field "spec.b""#,
        ),
        (
            r#"{"name":5}"#,
            "",
            400,
            r#"Thing in version "v1" cannot be handled as a Thing: json: cannot unmarshal number into Go struct field ObjectMeta.name of type string"#,
        ),
        (
            r#""x""#,
            "",
            400,
            r#"Thing in version "v1" cannot be handled as a Thing: json: cannot unmarshal string into Go value of type v1.ObjectMeta"#,
        ),
        (r#"{"name":"a"}"#, r#","spec":{"color":"red"}"#, 201, ""),
    ];
    for (metadata, more, code, message) in cases {
        let body = format!(r#"{{"apiVersion":"example.com/v1","kind":"Thing","metadata":{metadata}{more}}}"#);
        let (its_code, answer) =
            server.json("POST", &format!("{things}?fieldValidation=Strict"), &body).await;
        assert_eq!((its_code, answer.text_at(&["message"])), (code, message), "{body}");
    }
    let (code, other) = server
        .json("POST", things, r#"{"apiVersion":"example.com/v1","kind":"Gizmo","metadata":{"name":"x"}}"#)
        .await;
    assert_eq!(
        (code, other.text_at(&["message"])),
        (422, r#"Gizmo.example.com "x" is invalid: kind: Invalid value: "Gizmo": must be Thing"#)
    );

    let merge = [("content-type", "application/merge-patch+json")];
    let response =
        server.send("PATCH", &format!("{things}/a"), &merge, r#"{"spec":{"b":1,"replicas":2}}"#).await;
    assert_eq!(response.headers()["warning"], r#"299 - "unknown field \"spec.b\"""#);
    let (code, patched) = read(response).await;
    assert_eq!((code, patched.at(&["spec", "replicas"])), (200, Some(&Value::Int(2))));
    assert!(patched.at(&["spec", "b"]).is_none());
    let (_, list) = server.json("GET", things, "").await;
    assert_eq!(list.at(&["metadata", "continue"]), Some(&Value::from("")));
}
