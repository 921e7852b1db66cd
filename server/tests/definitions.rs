//! Many definitions, one after the other: all are served soon, take little memory and, afterwards, no time.
//!
//! `APIWRIGHT_DEFINITIONS=1000` makes that many; the figures are printed.

mod support;

use std::fmt::Write;
use std::time::{Duration, Instant};

use apiwright_json::Value;
use support::api::Api;
use support::process::Server;
use tempfile::TempDir;

const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const GROUP: &str = "many.example.com";
const PROPERTIES: usize = 30;
/// A clock tick of `/proc`.
const TICK: Duration = Duration::from_millis(10);

/// A definition whose objects have properties of every kind.
fn definition(number: usize) -> String {
    let mut properties = String::new();
    for at in 0..PROPERTIES {
        let schema = match at % 6 {
            0 => r#"{"type":"string","maxLength":64,"description":"What it is called."}"#,
            1 => r#"{"type":"integer","minimum":0,"default":1}"#,
            2 => r#"{"type":"array","maxItems":8,"items":{"type":"string"}}"#,
            3 => r#"{"type":"object","additionalProperties":{"type":"string"}}"#,
            4 => r#"{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"boolean"}}}"#,
            _ => r#"{"type":"string","enum":["A","B","C"],"default":"A"}"#,
        };
        let comma = if at == 0 { "" } else { "," };
        write!(properties, "{comma}\"p{number}x{at}\":{schema}").expect("text");
    }
    format!(
        r#"{{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition",
        "metadata":{{"name":"things{number}.{GROUP}"}},"spec":{{"group":"{GROUP}","scope":"Namespaced",
        "names":{{"plural":"things{number}","singular":"thing{number}","kind":"Thing{number}"}},
        "versions":[{{"name":"v1","served":true,"storage":true,"subresources":{{"status":{{}}}},"schema":{{
        "openAPIV3Schema":{{"type":"object","properties":{{"spec":{{"type":"object","properties":{{{properties}}},
        "x-kubernetes-validations":[{{"rule":"self.p{number}x1 < 10"}}]}},
        "status":{{"type":"object","properties":{{"phase":{{"type":"string"}}}}}}}}}}}}}}]}}}}"#
    )
}

fn resident(id: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{id}/status")).expect("a process");
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("its memory");
    line.trim().trim_end_matches(" kB").parse::<u64>().expect("a number") << 10
}

/// The CPU time that a process has taken.
fn busy(id: u32) -> Duration {
    let stat = std::fs::read_to_string(format!("/proc/{id}/stat")).expect("a process");
    let (_, rest) = stat.rsplit_once(") ").expect("a name");
    let ticks = |at: usize| rest.split(' ').nth(at).and_then(|text| text.parse::<u32>().ok()).unwrap_or(0);
    TICK * (ticks(11) + ticks(12))
}

fn is_established(definition: &Value) -> bool {
    let conditions = definition.at(&["status", "conditions"]).and_then(Value::as_array);
    conditions
        .into_iter()
        .flatten()
        .any(|one| one.text_at(&["type"]) == "Established" && one.text_at(&["status"]) == "True")
}

/// How many definitions are established.
async fn established(api: &Api) -> usize {
    let list = api.get(DEFINITIONS).await.ok();
    let items = list.get("items").and_then(Value::as_array);
    items.into_iter().flatten().filter(|one| is_established(one)).count()
}

/// How many resources discovery tells of, subresources aside.
async fn discovered(api: &Api) -> usize {
    let answer = api.get(&format!("/apis/{GROUP}/v1")).await;
    if answer.code != 200 {
        return 0;
    }
    let list = answer.ok();
    let items = list.get("resources").and_then(Value::as_array);
    items.into_iter().flatten().filter(|one| !one.text_at(&["name"]).contains('/')).count()
}

#[tokio::test(flavor = "multi_thread")]
async fn many_definitions_are_no_burden() {
    let wanted = std::env::var("APIWRIGHT_DEFINITIONS").ok().and_then(|text| text.parse().ok()).unwrap_or(60);
    let home = TempDir::new().expect("a folder");
    let server = Server::start(home.path(), &[]);
    let api = Api(server.client().await);
    let (empty, idle_before) = (resident(server.id()), busy(server.id()));
    let began = Instant::now();
    for number in 1..wanted {
        assert_eq!(api.post(DEFINITIONS, &definition(number)).await.code, 201);
    }
    let last = Instant::now();
    assert_eq!(api.post(DEFINITIONS, &definition(wanted)).await.code, 201);
    while discovered(&api).await < wanted {
        assert!(last.elapsed() < Duration::from_secs(10), "the last definition is not in discovery");
    }
    let in_discovery = last.elapsed();
    let document = api.get(&format!("/openapi/v3/apis/{GROUP}/v1")).await;
    let in_openapi = last.elapsed();
    assert!(
        document.ok().at(&["components", "schemas", &format!("com.example.many.v1.Thing{wanted}")]).is_some()
    );
    while established(&api).await < wanted {
        assert!(began.elapsed() < Duration::from_secs(60), "not all are established");
    }
    let (took, cost) = (began.elapsed(), busy(server.id()) - idle_before);
    let made = resident(server.id());
    // Whoever uses them makes the server compile them.
    for number in 1..=wanted {
        let path = format!("/apis/{GROUP}/v1/namespaces/default/things{number}");
        let body = format!(
            r#"{{"apiVersion":"{GROUP}/v1","kind":"Thing{number}","metadata":{{"name":"one"}},"spec":{{"p{number}x1":3}}}}"#
        );
        assert_eq!(api.post(&path, &body).await.code, 201);
    }
    let used = resident(server.id());
    tokio::time::sleep(Duration::from_secs(1)).await;
    let rest = busy(server.id());
    tokio::time::sleep(Duration::from_secs(3)).await;
    let idle = busy(server.id()) - rest;
    let each = |bytes: u64| (bytes.saturating_sub(empty) / wanted as u64) >> 10;
    println!(
        "{wanted} definitions of {PROPERTIES} properties: established and in discovery after {took:.1?}, {cost:.1?} of CPU \
         time; {} KiB each, {} KiB with an object; the last in discovery after {in_discovery:.0?}, in OpenAPI after \
         {in_openapi:.0?}; then {idle:.0?} of CPU time in 3 s",
        each(made),
        each(used),
    );
    // Machines are busy; the factors say what is not by chance.
    assert!(took < Duration::from_secs(15) + Duration::from_millis(50) * wanted as u32);
    assert!(wanted < 500 || each(used) < 300, "{} KiB each", each(used));
    assert!(idle <= Duration::from_millis(60), "it has nothing to do and is busy: {idle:?}");
}
