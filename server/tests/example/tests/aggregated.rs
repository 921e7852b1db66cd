//! The example behind the main server: an aggregated API server made of this library.

mod support;

use std::sync::Arc;

use apiwright_auth::{Authority, RequestHeader};
use apiwright_chain::{Authorizer, Decision, RequestInfo, User, drain};
use apiwright_example::serve::{Settings, serve};
use apiwright_json::Value;
use apiwright_remote::{Backend, Trust, Via, empty};
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use futures::future::BoxFuture;
use http::{Method, Request};
use http_body_util::BodyExt;

use support::{Main, certificate, condition, value};

const TEAPOTS: &str = "/apis/tea.example.com/v1/namespaces/default/teapots";
const BROWN: &str = r#"{"apiVersion":"tea.example.com/v1","kind":"Teapot","metadata":{"name":"brown"},"spec":{"leaves":"Assam"}}"#;

/// Lets those in the group devs, who empties namespaces, and whoever may do everything.
struct Developers;

impl Authorizer for Developers {
    fn authorize<'a>(&'a self, user: &'a User, _: &'a RequestInfo) -> BoxFuture<'a, Decision> {
        let empties = user.name == "system:serviceaccount:kube-system:namespace-controller";
        let known = empties || user.in_group("devs") || user.in_group("system:masters");
        let decision =
            if known { Decision::Allow(None) } else { Decision::NoOpinion("not a developer".into()) };
        Box::pin(std::future::ready(decision))
    }
}

/// What a stock aggregated server reads of whom to believe.
async fn front_proxy(main: &Main) -> RequestHeader {
    let path = "/api/v1/namespaces/kube-system/configmaps/extension-apiserver-authentication";
    let told = main.until(path, |code, _| code == 200).await;
    let text = |key: &str| told.text_at(&["data", key]).to_owned();
    let list = |key: &str| {
        let items = value(text(key).as_bytes());
        let items = items.as_array().expect("a list").iter();
        items.map(|item| item.as_str().expect("a text").to_owned()).collect::<Vec<_>>()
    };
    let file = main.home.path().join("front-proxy-ca.crt");
    std::fs::write(&file, text("requestheader-client-ca-file")).expect("a file");
    RequestHeader {
        authority: Arc::new(Authority::load(&[file]).expect("an authority")),
        allowed_names: list("requestheader-allowed-names"),
        username_headers: list("requestheader-username-headers"),
        uid_headers: list("requestheader-uid-headers"),
        group_headers: list("requestheader-group-headers"),
        extra_header_prefixes: list("requestheader-extra-headers-prefix"),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn it_serves_behind_the_main_server() {
    let main = Main::start(&[]).await;
    let (serving, authority) = certificate(&main.home, &["teapots.default.svc"]);
    let (drainer, drain) = drain();
    let settings = Settings {
        address: ([127, 0, 0, 1], 0).into(),
        serving,
        front_proxy: front_proxy(&main).await,
        authorizer: Arc::new(Developers),
    };
    let address = serve(settings, drain).await.expect("a server");
    main.service("teapots").await;
    let bundle = BASE64_STANDARD.encode(&authority);
    let trust = format!("\"caBundle\":\"{bundle}\"");
    for version in ["v1", "v1beta1"] {
        main.register(("tea.example.com", version), "teapots", address.port(), &trust).await;
    }
    for version in ["v1", "v1beta1"] {
        main.reason(&format!("{version}.tea.example.com"), "Passed").await;
    }

    // Who asks comes across: a developer may, others may not, and nobody may say that they are one.
    let alice = "alicetoken";
    let allow_all = r#"{"metadata":{"name":"all"},"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"ClusterRole","name":"cluster-admin"},
        "subjects":[{"kind":"Group","apiGroup":"rbac.authorization.k8s.io","name":"system:authenticated"}]}"#;
    main.must(Method::POST, "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings", allow_all).await;
    main.until("/apis/rbac.authorization.k8s.io/v1/clusterrolebindings/all", |code, _| code == 200).await;
    let (code, created) = main.ask(alice, Method::POST, TEAPOTS, BROWN).await;
    assert_eq!(code, 201, "{}", String::from_utf8_lossy(&created));
    assert_eq!(value(&created).at(&["spec", "cups"]).and_then(Value::as_i64), Some(1));
    let (code, refused) = main.ask("bobtoken", Method::GET, TEAPOTS, "").await;
    assert_eq!(code, 403);
    let refused = value(&refused);
    assert!(refused.text_at(&["message"]).contains("User \"bob\" cannot list"), "{refused:?}");
    let direct = Backend::new(Via::Address, None, &Trust::Insecure, None).expect("a client");
    let forged = Request::get(format!("https://{address}{TEAPOTS}"))
        .header("x-remote-user", "alice")
        .header("x-remote-group", "devs")
        .body(empty());
    let answer = direct.send(forged.expect("a request")).await.expect("an answer");
    assert_eq!(answer.status(), 403, "without the front proxy's certificate nobody is believed");

    // It is told of as everything else is.
    let group = main.get("/apis/tea.example.com").await.1;
    assert_eq!(group.text_at(&["preferredVersion", "version"]), "v1");
    let resources = main.get("/apis/tea.example.com/v1").await.1;
    let first = &resources.at(&["resources"]).and_then(Value::as_array).expect("resources")[0];
    assert_eq!(first.text_at(&["name"]), "teapots");
    let path = "/openapi/v3";
    let has = |value: &Value| value.at(&["paths", "apis/tea.example.com/v1"]).is_some();
    let index = main.until(path, |_, value| has(value)).await;
    let document = index.text_at(&["paths", "apis/tea.example.com/v1", "serverRelativeURL"]);
    let (code, document) = main.get(document).await;
    assert!(code == 200 && document.at(&["paths", TEAPOTS_TEMPLATE]).is_some(), "{code}");

    let template = TEAPOTS_TEMPLATE;
    main.until("/openapi/v2", |_, value| value.at(&["paths", template]).is_some()).await;

    // A watch comes as it happens, and ends with its server.
    let mut watch = Request::get(format!("https://127.0.0.1:{}{TEAPOTS}?watch=1", main.port))
        .body(empty())
        .expect("a request");
    watch.headers_mut().insert("authorization", "Bearer alicetoken".parse().expect("a header"));
    let mut watched = direct.send(watch).await.expect("an answer").into_body();
    let first = watched.frame().await.expect("an event").expect("a frame").into_data().expect("data");
    assert_eq!(value(&first).text_at(&["object", "metadata", "name"]), "brown");
    let patch = r#"{"spec":{"cups":3}}"#;
    assert_eq!(main.ask(alice, Method::PATCH, &format!("{TEAPOTS}/brown"), patch).await.0, 200);
    let second = watched.frame().await.expect("an event").expect("a frame").into_data().expect("data");
    assert_eq!(value(&second).text_at(&["type"]), "MODIFIED");

    // A namespace takes along what it holds there.
    main.must(Method::POST, "/api/v1/namespaces", r#"{"metadata":{"name":"kitchen"}}"#).await;
    let kitchen = TEAPOTS.replace("default", "kitchen");
    for name in ["green", "white"] {
        let (code, _) = main.ask(alice, Method::POST, &kitchen, &BROWN.replace("brown", name)).await;
        assert_eq!(code, 201);
    }
    main.must(Method::DELETE, "/api/v1/namespaces/kitchen", "").await;
    main.until("/api/v1/namespaces/kitchen", |code, _| code == 404).await;
    let left = main.get(&kitchen).await.1;
    assert!(left.at(&["items"]).and_then(Value::as_array).is_some_and(Vec::is_empty), "{left:?}");
    let others = main.get(TEAPOTS).await.1;
    assert_eq!(others.at(&["items"]).and_then(Value::as_array).map(Vec::len), Some(1));

    // When it stops, its own group is unavailable and nothing else.
    drainer.begin();
    // Whoever asks first finds out; nobody has to wait for the next check.
    main.until(TEAPOTS, |code, _| code == 503).await;
    let down = main.reason("v1.tea.example.com", "FailedDiscoveryCheck").await;
    let message = format!(
        "failing or missing response from https://127.0.0.1:{0}/apis/tea.example.com/v1: \
         Get \"https://127.0.0.1:{0}/apis/tea.example.com/v1\": dial tcp 127.0.0.1:{0}: connect: connection refused",
        address.port()
    );
    assert_eq!(condition(&down).text_at(&["message"]), message);
    let unavailable =
        |code: u16, value: &Value| code == 503 && value.as_str() == Some("service unavailable\n");
    main.until(TEAPOTS, unavailable).await;
    assert_eq!(main.get("/api/v1/namespaces/default").await.0, 200);
}

const TEAPOTS_TEMPLATE: &str = "/apis/tea.example.com/v1/namespaces/{namespace}/teapots";
