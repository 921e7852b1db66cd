//! Metrics have upstream's names and labels.

mod support;

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use http::Method;
use support::process::Server;
use tempfile::TempDir;

/// The labels of a sample, `le` aside, by its name; none where there is no such sample.
fn labels(text: &str, name: &str) -> Option<BTreeSet<String>> {
    let sample = text.lines().find(|line| {
        line.strip_prefix(name)
            .is_some_and(|rest| rest.starts_with('{') || rest.starts_with(' ') || rest.starts_with("_bucket"))
    })?;
    let Some((_, rest)) = sample.split_once('{') else { return Some(BTreeSet::new()) };
    let (inside, _) = rest.rsplit_once('}')?;
    let names = inside.split("\",").filter_map(|label| Some(label.split_once('=')?.0.to_owned()));
    Some(names.filter(|name| name != "le").collect())
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_stable_upstream_is_there() {
    let home = TempDir::new().expect("a folder");
    let server = Server::start(home.path(), &[]);
    let client = server.client().await;
    let maps = "/api/v1/namespaces/default/configmaps";
    for (query, name) in [("", "a"), ("?dryRun=All", "b"), ("?dryRun=Some", "c")] {
        let body = format!(r#"{{"metadata":{{"name":"{name}"}}}}"#);
        client.call(Method::POST, &format!("{maps}{query}"), &body).await.expect("an answer");
    }
    client.call(Method::GET, maps, "").await.expect("an answer");
    let _watch = client.send(Method::GET, &format!("{maps}?watch=1"), "").await.expect("an answer");
    client.call(Method::GET, "/readyz", "").await.expect("an answer");
    let deadline = Instant::now() + Duration::from_secs(10);
    let text = loop {
        let (_, text) = client.call(Method::GET, "/metrics", "").await.expect("an answer");
        if text.contains("apiserver_storage_objects{") || Instant::now() > deadline {
            break text;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    };
    let request = "component,group,resource,scope,subresource,verb,version";
    for (name, expected) in [
        ("apiserver_admission_controller_admission_duration_seconds", "name,operation,rejected,type"),
        ("apiserver_admission_step_admission_duration_seconds", "operation,rejected,type"),
        ("apiserver_current_inflight_requests", "request_kind"),
        ("apiserver_longrunning_requests", request),
        (
            "apiserver_request_duration_seconds",
            "component,dry_run,group,resource,scope,subresource,verb,version",
        ),
        ("apiserver_request_total", "code,component,dry_run,group,resource,scope,subresource,verb,version"),
        ("apiserver_response_sizes", request),
        ("apiserver_storage_objects", "resource"),
        ("apiserver_resource_objects", "group,resource"),
        ("apiserver_storage_size_bytes", "storage_cluster_id"),
        ("apiserver_flowcontrol_nominal_limit_seats", "priority_level"),
        ("workqueue_depth", "name"),
        ("process_resident_memory_bytes", ""),
    ] {
        let expected: BTreeSet<String> =
            expected.split(',').filter(|label| !label.is_empty()).map(str::to_owned).collect();
        let found = labels(&text, name);
        assert_eq!(found, Some(expected), "{name}\n{text}");
    }
    for sample in [
        r#"apiserver_request_total{code="201",component="apiserver",dry_run="All",group="",resource="configmaps",scope="resource",subresource="",verb="POST",version="v1"} 1"#,
        r#"apiserver_request_total{code="422",component="apiserver",dry_run="invalid",group="",resource="configmaps",scope="resource",subresource="",verb="POST",version="v1"} 1"#,
        r#"apiserver_response_sizes_count{component="apiserver",group="",resource="configmaps",scope="namespace",subresource="",verb="LIST",version="v1"} 1"#,
        r#"apiserver_storage_objects{resource="serviceaccounts"} "#,
        r#"apiserver_storage_objects{resource="clusterroles.rbac.authorization.k8s.io"} "#,
    ] {
        assert!(text.lines().any(|line| line.starts_with(sample)), "{sample}\n{text}");
    }
    let (_, indicators) = client.call(Method::GET, "/metrics/slis", "").await.expect("an answer");
    for (name, expected) in
        [("kubernetes_healthcheck", "name,type"), ("kubernetes_healthchecks_total", "name,status,type")]
    {
        let expected: BTreeSet<String> = expected.split(',').map(str::to_owned).collect();
        assert_eq!(labels(&indicators, name), Some(expected), "{name}");
    }
}
