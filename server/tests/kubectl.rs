//! The main job, done with a real kubectl.

mod support;

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use support::{Apiwright, free_port, kubectl};

const APP: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/app.yaml");
const CRON_TAB: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/crontab.yaml");
const KINDS: &str = "configmaps,secrets,serviceaccounts,deployments,statefulsets,services,ingresses,\
poddisruptionbudgets,horizontalpodautoscalers,jobs,cronjobs,networkpolicies,roles,rolebindings,persistentvolumeclaims";

#[test]
fn an_application_lives_its_life() {
    if kubectl().is_none() {
        return;
    }
    let server = Apiwright::start(&[]);
    server.kubectl(&["create", "namespace", "shop"]);
    let created = server.kubectl(&["apply", "-f", APP]);
    assert_eq!(created.lines().filter(|line| line.ends_with(" created")).count(), 15, "{created}");
    // kubectl says `configured` of some (it sends stringData and atomic lists each time): nothing changes.
    let versions =
        ["-n", "shop", "get", KINDS, "-l", "app=shop", "-o", "jsonpath={.items[*].metadata.resourceVersion}"];
    let before = server.kubectl(&versions);
    assert_eq!(before.split(' ').count(), 15, "{before}");
    server.kubectl(&["apply", "-f", APP]);
    assert_eq!(server.kubectl(&versions), before, "applying again changed something");

    let wide = server.kubectl(&["-n", "shop", "get", "deployments", "-o", "wide"]);
    let mut lines = wide.lines();
    let heading: Vec<&str> = lines.next().unwrap_or_default().split_whitespace().collect();
    assert_eq!(
        heading,
        ["NAME", "READY", "UP-TO-DATE", "AVAILABLE", "AGE", "CONTAINERS", "IMAGES", "SELECTOR"]
    );
    let row: Vec<&str> = lines.next().unwrap_or_default().split_whitespace().collect();
    assert_eq!(row[..4], ["web", "0/2", "0", "0"], "{wide}");
    assert_eq!(row[5..], ["web", "registry.example.com/shop/web:1.4.2", "app=shop,tier=web"], "{wide}");

    let image = "jsonpath={.spec.template.spec.containers[0].image}";
    assert_eq!(
        server.kubectl(&["-n", "shop", "get", "deployment", "web", "-o", image]),
        "registry.example.com/shop/web:1.4.2"
    );
    let yaml = server.kubectl(&["-n", "shop", "get", "service", "web", "-o", "yaml"]);
    assert!(yaml.contains("sessionAffinity: None") && yaml.contains("type: ClusterIP"), "{yaml}");
    let secret =
        server.kubectl(&["-n", "shop", "get", "secret", "shop-secret", "-o", "jsonpath={.data.password}"]);
    assert_eq!(secret, "czNjcmV0");

    server.kubectl(&["-n", "shop", "scale", "deployment", "web", "--replicas=3"]);
    server.kubectl(&["-n", "shop", "label", "configmap", "shop-config", "season=winter"]);
    server.kubectl(&["-n", "shop", "annotate", "configmap", "shop-config", "note=hello world"]);
    server.kubectl(&[
        "-n",
        "shop",
        "patch",
        "configmap",
        "shop-config",
        "-p",
        r#"{"data":{"greeting":"hi"}}"#,
    ]);
    server.kubectl(&[
        "-n",
        "shop",
        "patch",
        "deployment",
        "web",
        "--type=json",
        "-p",
        r#"[{"op":"replace","path":"/spec/paused","value":true}]"#,
    ]);
    server.kubectl(&[
        "-n",
        "shop",
        "set",
        "image",
        "deployment/web",
        "web=registry.example.com/shop/web:1.5.0",
    ]);
    let replaced = server
        .command(&["-n", "shop", "edit", "configmap", "shop-config"])
        .env("KUBE_EDITOR", "sed -i s/8080/9090/")
        .output()
        .expect("kubectl runs");
    assert!(replaced.status.success(), "{}", String::from_utf8_lossy(&replaced.stderr));
    let state = server.kubectl(&[
        "-n",
        "shop",
        "get",
        "configmap",
        "shop-config",
        "-o",
        "jsonpath={.data} {.metadata.labels} {.metadata.annotations.note}",
    ]);
    assert!(state.contains("\"greeting\":\"hi\"") && state.contains("port = 9090"), "{state}");
    assert!(state.contains("\"season\":\"winter\"") && state.ends_with("hello world"), "{state}");
    let spec = server.kubectl(&[
        "-n",
        "shop",
        "get",
        "deployment",
        "web",
        "-o",
        "jsonpath={.spec.replicas} {.spec.paused} {.metadata.generation}",
    ]);
    assert_eq!(spec, "3 true 4");

    let selected = server.kubectl(&["get", "all,cm", "-A", "-l", "app=shop,season=winter", "-o", "name"]);
    assert_eq!(selected.trim(), "configmap/shop-config");

    let explained = server.kubectl(&["explain", "deployment.spec.replicas"]);
    assert!(
        explained.contains("FIELD: replicas <integer>") && explained.contains("desired pods"),
        "{explained}"
    );
    let resources = server.kubectl(&["api-resources", "-o", "name"]);
    assert!(
        resources.lines().any(|line| line == "deployments.apps")
            && resources.lines().any(|line| line == "pods")
    );
    let versions = server.kubectl(&["api-versions"]);
    assert!(
        versions.lines().any(|line| line == "autoscaling/v2") && versions.lines().any(|line| line == "v1")
    );
    let refused = server.kubectl_fails(&["-n", "shop", "create", "configmap", "Bad_Name"]);
    assert!(refused.contains("a lowercase RFC 1123 subdomain must consist of"), "{refused}");

    let deleted = server.kubectl(&["delete", "-f", APP, "--wait=false", "--cascade=background"]);
    assert_eq!(deleted.lines().filter(|line| line.contains(" deleted")).count(), 15, "{deleted}");
    // A claim goes once it is seen that no pod uses it.
    let left = || server.kubectl(&["-n", "shop", "get", KINDS, "-l", "app=shop", "-o", "name"]);
    let deadline = Instant::now() + Duration::from_secs(10);
    while !left().is_empty() {
        assert!(Instant::now() < deadline, "{}", left());
    }
}

#[test]
fn a_custom_resource_lives_its_life() {
    if kubectl().is_none() {
        return;
    }
    let server = Apiwright::start(&[]);
    server.kubectl(&["create", "-f", CRON_TAB]);
    let established = "--for=condition=Established";
    server.kubectl(&["wait", established, "crd/crontabs.stable.example.com", "--timeout=10s"]);
    assert!(server.kubectl(&["api-resources"]).contains("crontabs"));
    let object = |spec: &str| {
        let path = std::env::temp_dir().join(format!("apiwright-crontab-{}.json", std::process::id()));
        let head = r#"{"apiVersion":"stable.example.com/v1","kind":"CronTab","metadata":{"name":"mine"}"#;
        std::fs::write(&path, format!(r#"{head},"spec":{spec}}}"#)).expect("a temporary file");
        path.display().to_string()
    };
    let refused = server.kubectl_fails(&["create", "-f", &object(r#"{"replicas":-1}"#)]);
    assert!(refused.contains("spec.cronSpec: Required value"), "{refused}");
    server.kubectl(&["apply", "-f", &object(r#"{"cronSpec":"* * * * *"}"#)]);
    let table = server.kubectl(&["get", "ct"]);
    assert!(table.contains("SPEC") && table.contains("* * * * *"), "{table}");
    server.kubectl(&["scale", "ct", "mine", "--replicas=4"]);
    assert_eq!(server.kubectl(&["get", "ct", "mine", "-o", "jsonpath={.spec.replicas}"]), "4");
    let explained = server.kubectl(&["explain", "crontab.spec.cronSpec"]);
    assert!(explained.contains("When it runs."), "{explained}");

    server.kubectl(&["delete", "crd", "crontabs.stable.example.com", "--timeout=10s"]);
    assert!(!server.kubectl(&["api-resources"]).contains("crontabs"));
}

#[test]
fn a_watch_follows_changes() {
    if kubectl().is_none() {
        return;
    }
    let server = Apiwright::start(&[]);
    server.kubectl(&["create", "configmap", "seen", "--from-literal=a=1"]);
    let mut watch = server
        .command(&[
            "get",
            "configmaps",
            "--watch",
            "-o",
            "jsonpath={.metadata.name}={.data.a}{\"\\n\"}",
            "--field-selector",
            "metadata.name=seen",
        ])
        .stdout(Stdio::piped())
        .spawn()
        .expect("kubectl runs");
    let mut lines = BufReader::new(watch.stdout.take().expect("its output")).lines().map_while(Result::ok);
    assert_eq!(lines.next().as_deref(), Some("seen=1"));
    server.kubectl(&["create", "configmap", "other", "--from-literal=a=1"]);
    server.kubectl(&["patch", "configmap", "seen", "-p", r#"{"data":{"a":"2"}}"#]);
    assert_eq!(lines.next().as_deref(), Some("seen=2"));
    let _ = watch.kill();
    let _ = watch.wait();
}

#[test]
fn mistakes_of_operators_get_one_line() {
    let home = tempfile::TempDir::new().expect("a folder");
    let taken = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = taken.local_addr().expect("an address").port().to_string();
    let file = home.path().join("file");
    std::fs::write(&file, "no certificate").expect("a file");
    let (data, file) = (home.path().join("data"), file.to_str().expect("a plain path").to_owned());
    let free = free_port().to_string();
    let cases: &[(&[&str], &str)] = &[
        (&["--secure-port", &port], &port),
        (&["--secure-port", &free, "--no-such-flag"], "--no-such-flag"),
        (&["--secure-port", &free, "--oidc-issuer-url=https://x"], "oidc-client-id"),
        (&["--secure-port", &free, "--tls-cert-file", &file, "--tls-private-key-file", &file], &file),
        (&["--secure-port", &free, "--token-auth-file", "/no/such/file"], "/no/such/file"),
        (&["--secure-port", &free, "--data-dir", &file], &file),
    ];
    for (arguments, mention) in cases {
        let (status, complaint) = run_to_end(&data, arguments);
        assert!(!status, "{arguments:?} succeeded");
        assert!(complaint.contains(mention), "{arguments:?}: {complaint}");
        assert!(complaint.trim().lines().count() <= 3, "{arguments:?}: {complaint}");
    }
}

#[test]
fn a_data_directory_serves_one_process() {
    if kubectl().is_none() {
        return;
    }
    let server = Apiwright::start(&[]);
    let port = free_port().to_string();
    let (status, complaint) = run_to_end(&server.data, &["--secure-port", &port]);
    assert!(!status && complaint.contains(server.data.to_str().expect("a plain path")), "{complaint}");
    server.kubectl(&["get", "namespaces"]);
}

fn run_to_end(data: &Path, arguments: &[&str]) -> (bool, String) {
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_apiwright"));
    if !arguments.contains(&"--data-dir") {
        command.arg("--data-dir").arg(data);
    }
    let output = command.args(arguments).stdin(Stdio::null()).output().expect("the binary runs");
    (output.status.success(), String::from_utf8_lossy(&output.stderr).into_owned())
}
