//! What kubectl makes of patches, apply, OpenAPI and watches: command by command, with a real one.

mod support;

use std::fs;
use std::io::{BufRead, BufReader};
use std::process::Stdio;

use support::{Apiwright, kubectl};
use tempfile::TempDir;

/// A server, and a folder with files to send to it.
struct Desk {
    server: Apiwright,
    folder: TempDir,
}

/// What a line of a table does: the arguments of a command, and what its answer has to contain.
type Line<'a> = (&'a [&'a str], &'a str);

impl Desk {
    fn new(arguments: &[&str]) -> Option<Self> {
        kubectl()?;
        Some(Self { server: Apiwright::start(arguments), folder: TempDir::new().expect("a folder") })
    }

    /// The path of a new file.
    fn file(&self, name: &str, text: &str) -> String {
        let path = self.folder.path().join(name);
        fs::write(&path, text).expect("a file");
        path.to_str().expect("a plain path").to_owned()
    }

    /// The path of a file with a deployment.
    fn deployment(&self, name: &str, field: &str) -> String {
        self.file(
            name,
            &format!(
                "apiVersion: apps/v1\nkind: Deployment\nmetadata: {{name: web, labels: {{app: web}}}}\nspec:\n  {field}\n  \
                 selector: {{matchLabels: {{app: web}}}}\n  template:\n    metadata: {{labels: {{app: web}}}}\n    \
                 spec: {{containers: [{{name: web, image: registry.example.com/web}}]}}\n"
            ),
        )
    }

    fn succeed(&self, lines: &[Line<'_>]) {
        for (arguments, mention) in lines {
            let told = self.server.kubectl(arguments);
            assert!(told.contains(mention), "kubectl {arguments:?}: {told}");
        }
    }

    fn fail(&self, lines: &[Line<'_>]) {
        for (arguments, mention) in lines {
            let told = self.server.kubectl_fails(arguments);
            assert!(told.contains(mention), "kubectl {arguments:?}: {told}");
        }
    }
}

#[test]
fn apply_and_validation() {
    let Some(desk) = Desk::new(&[]) else { return };
    let (two, three) =
        (desk.deployment("two.yaml", "replicas: 2"), desk.deployment("three.yaml", "replicas: 3"));
    let wrong = desk.deployment("wrong.yaml", "replicaz: 2");
    let mistyped = desk.deployment("mistyped.yaml", "replicas: two");
    desk.fail(&[
        (
            &["create", "-f", &wrong, "--validate=strict"],
            "strict decoding error: unknown field \"spec.replicaz\"",
        ),
        (
            &["create", "-f", &mistyped],
            "cannot unmarshal string into Go struct field DeploymentSpec.spec.replicas of type int32",
        ),
    ]);
    let warned = desk
        .server
        .run(&["create", "-f", &wrong, "--validate=warn", "--dry-run=server"])
        .expect("kubectl runs");
    assert!(warned.status.success());
    assert!(String::from_utf8_lossy(&warned.stderr).contains("Warning: unknown field \"spec.replicaz\""));
    desk.succeed(&[
        (
            &["apply", "--server-side", "--field-manager=a", "-f", &two],
            "deployment.apps/web serverside-applied",
        ),
        (
            &["apply", "--server-side", "--field-manager=a", "-f", &two, "--dry-run=server"],
            "(server dry run)",
        ),
    ]);
    desk.fail(&[(
        &["apply", "--server-side", "--field-manager=b", "-f", &three],
        "error: Apply failed with 1 conflict: conflict with \"a\": .spec.replicas",
    )]);
    desk.fail(&[(&["diff", "--server-side", "--field-manager=b", "--force-conflicts", "-f", &three], "")]);
    let managers = "jsonpath={range .metadata.managedFields[*]}{.manager}={.operation} {end}";
    desk.succeed(&[
        (
            &["apply", "--server-side", "--field-manager=b", "--force-conflicts", "-f", &three],
            "serverside-applied",
        ),
        (&["get", "deploy", "web", "-o", managers], "a=Apply b=Apply "),
        (&["get", "deploy", "web", "-o", "jsonpath={.spec.replicas}"], "3"),
        // Client-side apply takes over, and server-side apply takes over what that left behind.
        (&["apply", "-f", &two], "configured"),
        (&["apply", "--server-side", "-f", &three, "--force-conflicts"], "serverside-applied"),
        (&["apply", "view-last-applied", "deploy/web"], "replicas: 3"),
        (&["diff", "-f", &three], ""),
    ]);
    let difference = desk.server.run(&["diff", "-f", &two]).expect("kubectl runs");
    let text = String::from_utf8_lossy(&difference.stdout);
    assert_eq!(difference.status.code(), Some(1), "{text}");
    assert!(text.contains("-  replicas: 3\n+  replicas: 2\n"), "{text}");
}

#[test]
fn patches_of_all_kinds() {
    let Some(desk) = Desk::new(&[]) else { return };
    let two = desk.deployment("two.yaml", "replicas: 2");
    let list = "jsonpath={.spec.template.spec.containers[*].name}";
    let second = r#"{"spec":{"template":{"spec":{"containers":[{"name":"log","image":"log"}]}}}}"#;
    let none = r#"{"spec":{"template":{"spec":{"containers":[{"$patch":"delete","name":"log"}]}}}}"#;
    desk.succeed(&[
        (&["apply", "-f", &two], "created"),
        (&["patch", "deploy", "web", "-p", second], "patched"),
        (&["get", "deploy", "web", "-o", list], "log web"),
        (&["patch", "deploy", "web", "-p", second], "patched (no change)"),
        (&["patch", "deploy", "web", "-p", none], "patched"),
        (
            &[
                "patch",
                "deploy",
                "web",
                "--type=merge",
                "-p",
                r#"{"metadata":{"labels":{"app":null,"a":"b"}}}"#,
            ],
            "patched",
        ),
        (&["get", "deploy", "web", "-o", "jsonpath={.metadata.labels}"], r#"{"a":"b"}"#),
        (
            &[
                "patch",
                "deploy",
                "web",
                "--type=json",
                "-p",
                r#"[{"op":"add","path":"/metadata/labels/c~1d","value":"e"}]"#,
            ],
            "patched",
        ),
        (
            &[
                "patch",
                "deploy",
                "web",
                "--subresource=scale",
                "--type=merge",
                "-p",
                r#"{"spec":{"replicas":4}}"#,
            ],
            "patched",
        ),
        (
            &[
                "patch",
                "deploy",
                "web",
                "--subresource=status",
                "--type=merge",
                "-p",
                r#"{"status":{"replicas":4}}"#,
            ],
            "patched",
        ),
        (
            &[
                "get",
                "deploy",
                "web",
                "-o",
                "jsonpath={.spec.replicas} {.status.replicas} {.metadata.labels}",
            ],
            r#"4 4 {"a":"b","c/d":"e"}"#,
        ),
        (&["label", "deploy", "web", "c/d-", "f=g"], "modified"),
        (&["annotate", "deploy", "web", "note=one"], "annotated"),
        (&["annotate", "deploy", "web", "note=two", "--overwrite"], "annotated"),
        (&["annotate", "deploy", "web", "--list"], "note=two"),
    ]);
    desk.fail(&[
        (
            &[
                "patch",
                "deploy",
                "web",
                "--type=json",
                "-p",
                r#"[{"op":"test","path":"/spec/replicas","value":9}]"#,
            ],
            "The request is invalid",
        ),
        (&["label", "deploy", "web", "f=h"], "already has a value"),
        (
            &[
                "patch",
                "deploy",
                "web",
                "--type=merge",
                "-p",
                r#"{"spec":{"selector":{"matchLabels":{"x":"y"}}}}"#,
            ],
            "field is immutable",
        ),
    ]);
}

#[test]
fn rollouts_waits_and_deletions() {
    let Some(desk) = Desk::new(&[]) else { return };
    let two = desk.deployment("two.yaml", "replicas: 2");
    let done = r#"{"status":{"observedGeneration":9,"replicas":5,"updatedReplicas":5,"readyReplicas":5,"availableReplicas":5}}"#;
    desk.succeed(&[
        (&["apply", "-f", &two], "created"),
        (&["scale", "deploy", "web", "--replicas=5", "--current-replicas=2"], "scaled"),
        (&["rollout", "history", "deploy/web"], "deployment.apps/web"),
        (&["rollout", "restart", "deploy/web"], "restarted"),
        (&["rollout", "pause", "deploy/web"], "paused"),
        (&["rollout", "resume", "deploy/web"], "resumed"),
        (&["patch", "deploy", "web", "--subresource=status", "--type=merge", "-p", done], "patched"),
        (&["rollout", "status", "deploy/web", "--timeout=10s"], "successfully rolled out"),
        (
            &["wait", "deploy/web", "--for=jsonpath={.status.readyReplicas}=5", "--timeout=10s"],
            "condition met",
        ),
        (&["describe", "deploy", "web"], "5 desired | 5 updated | 5 total | 5 available | 0 unavailable"),
    ]);
    desk.fail(&[
        (
            &["scale", "deploy", "web", "--replicas=1", "--current-replicas=2"],
            "Expected replicas to be 2, was 5",
        ),
        (&["rollout", "undo", "deploy/web"], "no rollout history found"),
        (
            &["wait", "deploy/web", "--for=condition=Available", "--timeout=1s"],
            "timed out waiting for the condition",
        ),
    ]);
    let uid = desk.server.kubectl(&["get", "deploy", "web", "-o", "jsonpath={.metadata.uid}"]);
    let child = |name: &str| {
        let object = format!(
            r#"{{"apiVersion":"v1","kind":"ConfigMap","metadata":{{"name":"{name}","ownerReferences":[
            {{"apiVersion":"apps/v1","kind":"Deployment","name":"web","uid":"{uid}"}}]}}}}"#
        );
        desk.file(&format!("{name}.json"), &object)
    };
    desk.succeed(&[
        (&["create", "-f", &child("orphan")], "created"),
        (&["delete", "deploy", "web", "--cascade=orphan"], "deleted"),
        (&["get", "cm", "orphan", "-o", "jsonpath=[{.metadata.ownerReferences}]"], "[]"),
        (&["apply", "-f", &two], "created"),
    ]);
    let uid = desk.server.kubectl(&["get", "deploy", "web", "-o", "jsonpath={.metadata.uid}"]);
    let owner = format!(
        r#"{{"metadata":{{"ownerReferences":[{{"apiVersion":"apps/v1","kind":"Deployment","name":"web","uid":"{uid}","blockOwnerDeletion":true}}]}}}}"#
    );
    desk.succeed(&[
        (&["patch", "cm", "orphan", "-p", &owner], "patched"),
        (&["delete", "deploy", "web", "--cascade=foreground", "--timeout=20s"], "deleted"),
        (&["get", "cm", "orphan", "--ignore-not-found"], ""),
        (&["wait", "cm/orphan", "--for=delete", "--timeout=20s"], ""),
    ]);
}

#[test]
fn what_the_server_tells_of_itself() {
    let Some(desk) = Desk::new(&["--authorization-mode=RBAC"]) else { return };
    desk.succeed(&[
        (&["explain", "pods.spec.containers.resources"], "Compute Resources required by this container."),
        (&["explain", "deploy", "--api-version=apps/v1", "--recursive"], "maxUnavailable\t<IntOrString>"),
        (&["explain", "pods", "--output=plaintext-openapiv2"], "FIELDS:"),
        (&["explain", "crd.spec.versions.schema.openAPIV3Schema.properties"], "JSONSchemaProps"),
        (&["api-resources", "--verbs=list", "--namespaced", "-o", "name"], "deployments.apps"),
        (
            &["api-resources", "--api-group=apps", "-o", "wide"],
            "create,delete,deletecollection,get,list,patch,update,watch",
        ),
        (&["api-versions"], "admissionregistration.k8s.io/v1"),
        (&["auth", "can-i", "create", "deployments.apps"], "yes"),
        (&["auth", "can-i", "--list"], "*.*"),
        (&["auth", "whoami"], "system:masters"),
        (&["cluster-info"], "Kubernetes control plane"),
        (&["version"], "Server Version: v1.36"),
        (&["get", "--raw", "/openapi/v3"], "serverRelativeURL"),
        (&["create", "role", "reader", "--verb=get,list", "--resource=pods"], "created"),
        (&["create", "rolebinding", "reader", "--role=reader", "--user=bob"], "created"),
        (&["auth", "can-i", "list", "pods", "--as=bob"], "yes"),
    ]);
    let denied = desk.server.run(&["auth", "can-i", "delete", "pods", "--as=bob"]).expect("kubectl runs");
    assert_eq!((denied.status.code(), &*denied.stdout), (Some(1), &b"no\n"[..]));
    desk.fail(&[
        (&["explain", "pods.spec.nothing"], "field \"nothing\" does not exist"),
        (&["top", "pods"], "Metrics API not available"),
        (&["top", "nodes"], "Metrics API not available"),
        (&["get", "teapots"], "the server doesn't have a resource type \"teapots\""),
        (&["get", "secrets", "--as=bob"], "secrets is forbidden: User \"bob\" cannot list resource \"secrets\" in API group \"\" in the namespace \"default\""),
    ]);
}

#[test]
fn watches_show_tables() {
    let Some(desk) = Desk::new(&[]) else { return };
    let mut watch = desk
        .server
        .command(&["get", "configmaps", "-w", "--output-watch-events", "-l", "app=web"])
        .stdout(Stdio::piped())
        .spawn()
        .expect("kubectl runs");
    // kubectl prints the heading with the first event.
    let two = desk.file(
        "map.yaml",
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: seen, labels: {app: web}}\ndata: {a: b}\n",
    );
    desk.succeed(&[(&["create", "-f", &two], "created"), (&["delete", "cm", "seen"], "deleted")]);
    let lines = BufReader::new(watch.stdout.take().expect("its output")).lines().map_while(Result::ok);
    let words: Vec<String> =
        lines.take(3).map(|line| line.split_whitespace().take(3).collect::<Vec<_>>().join(" ")).collect();
    let _ = watch.kill();
    let _ = watch.wait();
    assert_eq!(words, ["EVENT NAME DATA", "ADDED seen 1", "DELETED seen 1"]);
}
