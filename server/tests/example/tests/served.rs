//! The example group, through the whole chain: everything that YAML promises is served.

use std::sync::Arc;
use std::time::Duration;

use apiwright::chain::{Outside, Parts, assemble};
use apiwright_admission::Tolerations;
use apiwright_auth::{Authorization, Mode};
use apiwright_chain::request::RequestBody;
use apiwright_chain::{Authorized, Delegate, Request, RequestInfo, User, drain};
use apiwright_example::generated::{CATALOGUE, CHAIN};
use apiwright_json::{Value, decode};
use apiwright_storage_embedded::{Embedded, Options};
use http::Method;
use http_body_util::BodyExt;

const TEAPOTS: &str = "/apis/tea.example.com/v1/namespaces/default/teapots";

struct Server {
    head: Arc<dyn Delegate>,
    authorizer: Arc<Authorization>,
}

impl Server {
    fn start() -> Self {
        let authorizer = Arc::new(Authorization::new(vec![Mode::AlwaysAllow]));
        let (_, drain) = drain();
        let assembled = assemble(Parts {
            acts: Box::new(|_, _| Vec::new()),
            reserves: Box::new(|_, _| None),
            catalogue: &CATALOGUE,
            chain: &CHAIN,
            storage: Arc::new(Embedded::memory(Options::default())),
            authorizer: Arc::clone(&authorizer) as _,
            drain,
            serves: Box::new(|version| version.served),
            checks: Vec::new(),
            enable_admission_plugins: Vec::new(),
            disable_admission_plugins: Vec::new(),
            tolerations: Tolerations::default(),
            event_ttl: Duration::from_hours(1),
            watch_timeout_min: Duration::from_mins(1),
            address: "127.0.0.1:6443".into(),
            pages: Vec::new(),
            outside: Outside::default(),
        })
        .expect("the chain");
        Self { head: assembled.server.prepare().head(), authorizer }
    }

    /// Sends a request; gives the code and the answer.
    async fn ask(&self, method: Method, path: &str, headers: &[(&str, &str)], body: &str) -> (u16, Value) {
        let mut request = http::Request::builder().method(method.clone()).uri(path);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let (head, ()) = request.body(()).expect("a request").into_parts();
        let info = RequestInfo::parse(&method, head.uri.path(), head.uri.query().unwrap_or_default())
            .expect("a path");
        let request = Request {
            head,
            body: RequestBody::Full(bytes::Bytes::copy_from_slice(body.as_bytes())),
            info,
            user: Arc::new(User::loopback()),
            audit_id: "a".into(),
            deadline: None,
            remote: None,
            trail: None,
        };
        let Ok(permit) = Authorized::ask(request, &*self.authorizer).await else { panic!("refused") };
        let response = self.head.serve(permit).await;
        let code = response.status().as_u16();
        let bytes = response.into_body().collect().await.expect("a body").to_bytes();
        (code, decode(&bytes).map(|(value, _)| value).unwrap_or_default())
    }

    async fn create(&self, body: &str) -> (u16, Value) {
        self.ask(Method::POST, TEAPOTS, &[("content-type", "application/json")], body).await
    }
}

const BROWN: &str = r#"{"apiVersion":"tea.example.com/v1","kind":"Teapot","metadata":{"name":"brown"},
    "spec":{"leaves":"Assam","guests":[{"name":"ada"}]}}"#;

#[tokio::test]
async fn defaults_and_validation_are_what_the_spec_says() {
    let server = Server::start();
    let (code, object) = server.create(BROWN).await;
    assert_eq!((code, object.at(&["spec", "cups"])), (201, Some(&Value::Int(1))), "{object:?}");
    assert_eq!(object.at(&["metadata", "generation"]), Some(&Value::Int(1)));

    let (code, refused) = server.create(&BROWN.replace("Assam", "Coffee").replace("brown", "green")).await;
    assert_eq!(code, 422);
    assert_eq!(
        refused.text_at(&["message"]),
        "Teapot.tea.example.com \"green\" is invalid: spec.leaves: Unsupported value: \"Coffee\": \
         supported values: \"Assam\", \"Sencha\""
    );
    let (code, refused) = server.create(&BROWN.replace("\"leaves\":", "\"cups\":-1,\"leaves\":")).await;
    assert_eq!(code, 422);
    assert!(
        refused
            .text_at(&["message"])
            .contains("spec.cups: Invalid value: -1: must be greater than or equal to 0")
    );
    let (code, _) = server.create(&BROWN.replace("brown", "Not_A_Name")).await;
    assert_eq!(code, 422);
}

#[tokio::test]
async fn both_versions_show_one_object() {
    let server = Server::start();
    server.create(BROWN).await;
    let old = TEAPOTS.replace("/v1/", "/v1beta1/") + "/brown";
    let (code, object) = server.ask(Method::GET, &old, &[], "").await;
    assert_eq!(code, 200);
    assert_eq!(object.text_at(&["apiVersion"]), "tea.example.com/v1beta1");
    assert_eq!(object.text_at(&["order", "leaves"]), "Assam");
    assert!(object.get("spec").is_none());
    let patch = r#"{"order":{"leaves":"Sencha"}}"#;
    let (code, _) =
        server.ask(Method::PATCH, &old, &[("content-type", "application/merge-patch+json")], patch).await;
    assert_eq!(code, 200);
    let (_, object) = server.ask(Method::GET, &(TEAPOTS.to_owned() + "/brown"), &[], "").await;
    assert_eq!(object.text_at(&["spec", "leaves"]), "Sencha");
}

#[tokio::test]
async fn status_and_scale_are_apart() {
    let server = Server::start();
    server.create(BROWN).await;
    let merge = [("content-type", "application/merge-patch+json")];
    let status = TEAPOTS.to_owned() + "/brown/status";
    let (code, object) =
        server.ask(Method::PATCH, &status, &merge, r#"{"spec":{"cups":9},"status":{"poured":2}}"#).await;
    assert_eq!(code, 200);
    assert_eq!(object.at(&["status", "poured"]), Some(&Value::Int(2)));
    assert_eq!(object.at(&["spec", "cups"]), Some(&Value::Int(1)));
    assert_eq!(object.at(&["metadata", "generation"]), Some(&Value::Int(1)));

    let scale = TEAPOTS.to_owned() + "/brown/scale";
    let (code, object) = server.ask(Method::PATCH, &scale, &merge, r#"{"spec":{"replicas":4}}"#).await;
    assert_eq!((code, object.text_at(&["kind"])), (200, "Scale"), "{object:?}");
    assert_eq!(object.at(&["status", "replicas"]), Some(&Value::Int(2)));
    let (_, object) = server.ask(Method::GET, &(TEAPOTS.to_owned() + "/brown"), &[], "").await;
    assert_eq!(object.at(&["spec", "cups"]), Some(&Value::Int(4)));
    assert_eq!(object.at(&["metadata", "generation"]), Some(&Value::Int(2)));
}

#[tokio::test]
async fn tables_and_selectors_know_the_fields() {
    let server = Server::start();
    server.create(BROWN).await;
    server.create(&BROWN.replace("brown", "white").replace("Assam", "Sencha")).await;
    let table = [("accept", "application/json;as=Table;v=v1;g=meta.k8s.io")];
    let (code, rows) = server.ask(Method::GET, TEAPOTS, &table, "").await;
    assert_eq!(code, 200);
    let columns: Vec<&str> = rows
        .get("columnDefinitions")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .map(|column| column.text_at(&["name"]))
        .collect();
    assert_eq!(columns, ["Name", "Leaves", "Poured", "Age"]);
    let first = rows
        .get("rows")
        .and_then(Value::as_array)
        .and_then(|rows| rows.first())
        .and_then(|row| row.get("cells"));
    let cells: Vec<&Value> = first.and_then(Value::as_array).into_iter().flatten().take(3).collect();
    assert_eq!(cells, [&"brown".into(), &"Assam".into(), &"0/1".into()]);

    let (code, list) =
        server.ask(Method::GET, &format!("{TEAPOTS}?fieldSelector=spec.leaves%3DSencha"), &[], "").await;
    assert_eq!(code, 200);
    let items = list.get("items").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    assert_eq!(items.iter().map(|item| item.text_at(&["metadata", "name"])).collect::<Vec<_>>(), ["white"]);
}

#[tokio::test]
async fn lists_merge_by_key_under_strategic_patches_and_apply() {
    let server = Server::start();
    server.create(BROWN).await;
    let object = TEAPOTS.to_owned() + "/brown";
    let strategic = [("content-type", "application/strategic-merge-patch+json")];
    let (code, merged) = server
        .ask(Method::PATCH, &object, &strategic, r#"{"spec":{"guests":[{"name":"bob","sugar":2}]}}"#)
        .await;
    assert_eq!(code, 200);
    let names = |object: &Value| -> Vec<String> {
        let guests = object.at(&["spec", "guests"]).and_then(Value::as_array);
        let mut names: Vec<String> =
            guests.into_iter().flatten().map(|guest| guest.text_at(&["name"]).to_owned()).collect();
        names.sort();
        names
    };
    assert_eq!(names(&merged), ["ada", "bob"]);
    let apply = [("content-type", "application/apply-patch+yaml")];
    let body = "{apiVersion: tea.example.com/v1, kind: Teapot, spec: {guests: [{name: cleo}]}}";
    let (code, applied) = server.ask(Method::PATCH, &format!("{object}?fieldManager=me"), &apply, body).await;
    assert_eq!(code, 200, "{applied:?}");
    assert_eq!(names(&applied), ["ada", "bob", "cleo"]);
}

#[tokio::test]
async fn discovery_and_openapi_tell_of_it() {
    let server = Server::start();
    let (code, list) = server.ask(Method::GET, "/apis/tea.example.com/v1", &[], "").await;
    assert_eq!(code, 200);
    let names: Vec<&str> = list
        .get("resources")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .map(|resource| resource.text_at(&["name"]))
        .collect();
    assert_eq!(names, ["teapots", "teapots/scale", "teapots/status"]);
    let (code, group) = server.ask(Method::GET, "/apis/tea.example.com", &[], "").await;
    assert_eq!((code, group.text_at(&["preferredVersion", "version"])), (200, "v1"));
    let (code, document) = server.ask(Method::GET, "/openapi/v3/apis/tea.example.com/v1", &[], "").await;
    assert_eq!(code, 200);
    let cups = document.at(&["components", "schemas", "com.example.tea.v1.TeapotSpec", "properties", "cups"]);
    assert_eq!(cups.map(|cups| cups.text_at(&["description"])), Some("How many cups it pours."));
    let (code, _) = server.ask(Method::GET, "/apis/coffee.example.com/v1", &[], "").await;
    assert_eq!(code, 404);
}
