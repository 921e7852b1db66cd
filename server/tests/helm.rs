//! A release's life, done with a real helm 4: a local chart with a custom resource's definition and hooks.

mod support;

use std::process::Command;

use support::{Apiwright, helm, kubectl};
use tempfile::TempDir;

const CHART: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/chart");

#[test]
fn a_release_lives_its_life() {
    if kubectl().is_none() {
        return;
    }
    let Some(helm) = helm() else { return };
    let server = Apiwright::start(&[]);
    let home = TempDir::new().expect("a folder");
    let run = |arguments: &[&str]| {
        let output = Command::new(&helm)
            .args(arguments)
            .env("KUBECONFIG", server.kubeconfig())
            .env("HELM_CACHE_HOME", home.path())
            .env("HELM_CONFIG_HOME", home.path())
            .env("HELM_DATA_HOME", home.path())
            .output()
            .expect("helm runs");
        let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert!(output.status.success(), "helm {arguments:?}: {out}{err}");
        out.into_owned()
    };
    // What the release made: the deployment's replicas, the mug's colour, the revision that ran the last hook.
    let state = || {
        let of = |kind: &str, path: &str| server.kubectl(&["-n", "shop", "get", kind, "-o", path]);
        [
            of("deploy/shop", "jsonpath={.spec.replicas}"),
            of("mug/shop", "jsonpath={.spec.colour}"),
            of("cm/shop-hook", "jsonpath={.data.revision}"),
        ]
        .join(" ")
    };

    let installed = run(&["install", "shop", CHART, "-n", "shop", "--create-namespace", "--wait=hookOnly"]);
    assert!(installed.contains("STATUS: deployed"), "{installed}");
    assert_eq!(state(), "2 red 1");
    run(&["upgrade", "shop", CHART, "-n", "shop", "--set", "colour=blue", "--set", "replicas=3"]);
    assert_eq!(state(), "3 blue 2");
    // Not every upgrade is a server-side apply.
    run(&["upgrade", "shop", CHART, "-n", "shop", "--set", "colour=green", "--server-side=false"]);
    assert_eq!(state(), "2 green 3");
    run(&["rollback", "shop", "2", "-n", "shop"]);
    assert!(state().starts_with("3 blue "), "{}", state());
    let history = run(&["history", "shop", "-n", "shop"]);
    assert!(history.contains("Rollback to 2") && history.matches("superseded").count() == 3, "{history}");
    let status = run(&["status", "shop", "-n", "shop"]);
    assert!(status.contains("REVISION: 4") && status.contains("==> v1/Mug"), "{status}");
    let planned = run(&["install", "second", CHART, "-n", "shop", "--dry-run=server"]);
    assert!(planned.contains("name: second-config"), "{planned}");

    run(&["uninstall", "shop", "-n", "shop"]);
    let left = server.kubectl(&["-n", "shop", "get", "deploy,mug,secret,cm", "-o", "name"]);
    assert_eq!(
        left.split_whitespace().collect::<Vec<_>>(),
        ["configmap/kube-root-ca.crt", "configmap/shop-hook"]
    );
    server.kubectl(&["get", "crd", "mugs.kitchen.example.com"]);
    assert_eq!(run(&["list", "-A", "-q"]), "");
}
