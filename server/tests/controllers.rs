//! What controllers do, as kubectl sees it.

#![allow(missing_docs)]

mod support;

use std::io::Write;
use std::process::Stdio;
use std::time::{Duration, Instant};

use base64::Engine as _;
use support::{Apiwright, kubectl};

/// Waits for something to become so.
fn eventually(what: &str, mut is_so: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(10);
    while !is_so() {
        assert!(Instant::now() < deadline, "not within 10 s: {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn apply(server: &Apiwright, manifest: &str) {
    let mut child = server.command(&["apply", "-f", "-"]).stdin(Stdio::piped()).spawn().expect("kubectl");
    child.stdin.take().expect("a pipe").write_all(manifest.as_bytes()).expect("kubectl reads");
    assert!(child.wait().expect("kubectl").success(), "{manifest}");
}

fn config_map(server: &Apiwright, name: &str, owner: Option<(&str, &str)>) {
    let owners = owner.map(|(name, uid)| {
        format!(
            "  ownerReferences:\n  - {{apiVersion: v1, kind: ConfigMap, name: {name}, uid: {uid}, \
             blockOwnerDeletion: true}}\n"
        )
    });
    let manifest =
        format!("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {name}\n{}", owners.unwrap_or_default());
    apply(server, &manifest);
}

fn uid(server: &Apiwright, name: &str) -> String {
    server.kubectl(&["get", "configmap", name, "-o", "jsonpath={.metadata.uid}"])
}

fn names(server: &Apiwright) -> String {
    server.kubectl(&["get", "configmaps", "-o", "jsonpath={.items[*].metadata.name}"])
}

#[test]
fn namespaces_are_emptied_and_go() {
    if kubectl().is_none() {
        return;
    }
    let server = Apiwright::start(&["--storage", "memory"]);
    server.kubectl(&["create", "namespace", "full"]);
    let account = ["-n", "full", "get", "serviceaccount", "default"];
    eventually("the service account", || server.run(&account).is_ok_and(|out| out.status.success()));
    let bundle = ["-n", "full", "get", "configmap", "kube-root-ca.crt", "-o", "jsonpath={.data.ca\\.crt}"];
    eventually("the authority", || {
        server.run(&bundle).is_ok_and(|out| out.stdout.starts_with(b"-----BEGIN CERTIFICATE-----"))
    });
    apply(
        &server,
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: full}\n---\napiVersion: apps/v1\nkind: \
         Deployment\nmetadata: {name: b, namespace: full}\nspec:\n  selector: {matchLabels: {a: b}}\n  template:\n    \
         metadata: {labels: {a: b}}\n    spec: {containers: [{name: c, image: d}]}\n---\napiVersion: v1\nkind: \
         Pod\nmetadata: {name: p, namespace: full}\nspec: {containers: [{name: c, image: d}]}\n---\napiVersion: \
         v1\nkind: ConfigMap\nmetadata: {name: held, namespace: full, finalizers: [example.com/hold]}\n",
    );
    server.kubectl(&["delete", "namespace", "full", "--wait=false"]);
    let said = |kind: &str| {
        let path = format!("jsonpath={{.status.conditions[?(@.type==\"{kind}\")].message}}");
        server.kubectl(&["get", "namespace", "full", "-o", &path])
    };
    eventually("one object remains", || {
        said("NamespaceContentRemaining")
            == "Some resources are remaining: configmaps. has 1 resource instances"
    });
    assert_eq!(
        said("NamespaceFinalizersRemaining"),
        "Some finalizers are remaining: example.com/hold in 1 resource instances"
    );
    assert_eq!(said("NamespaceDeletionDiscoveryFailure"), "All resources successfully discovered");
    server.kubectl(&[
        "-n",
        "full",
        "patch",
        "configmap",
        "held",
        "--type=merge",
        "-p",
        r#"{"metadata":{"finalizers":null}}"#,
    ]);
    eventually("the namespace is gone", || {
        server.run(&["get", "namespace", "full"]).is_ok_and(|out| !out.status.success())
    });
}

#[test]
fn what_owners_leave_behind() {
    if kubectl().is_none() {
        return;
    }
    let server = Apiwright::start(&["--storage", "memory"]);
    let family = || {
        config_map(&server, "owner", None);
        config_map(&server, "child", Some(("owner", &uid(&server, "owner"))));
        config_map(&server, "grandchild", Some(("child", &uid(&server, "child"))));
    };
    eventually("the authority", || names(&server) == "kube-root-ca.crt");

    family();
    server.kubectl(&["delete", "configmap", "owner", "--cascade=background"]);
    eventually("all are gone in the background", || names(&server) == "kube-root-ca.crt");

    family();
    server.kubectl(&["delete", "configmap", "owner", "--cascade=foreground"]);
    assert_eq!(names(&server), "kube-root-ca.crt", "the owner went last");

    family();
    server.kubectl(&["delete", "configmap", "owner", "--cascade=orphan"]);
    assert_eq!(names(&server), "child grandchild kube-root-ca.crt");
    let owners = ["get", "configmap", "child", "-o", "jsonpath={.metadata.ownerReferences}"];
    assert_eq!(server.kubectl(&owners), "");

    // Owners are looked for in their dependents' namespaces, and who expects something else is told.
    config_map(&server, "far", None);
    server.kubectl(&["create", "namespace", "elsewhere"]);
    let far = uid(&server, "far");
    apply(
        &server,
        &format!(
            "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: astray\n  namespace: elsewhere\n  ownerReferences: \
             [{{apiVersion: v1, kind: ConfigMap, name: far, uid: {far}}}]\n"
        ),
    );
    eventually("it goes", || {
        server.run(&["-n", "elsewhere", "get", "configmap", "astray"]).is_ok_and(|out| !out.status.success())
    });
    let event =
        ["-n", "elsewhere", "get", "events", "-o", "jsonpath={.items[0].reason}: {.items[0].message}"];
    assert_eq!(
        server.kubectl(&event),
        format!(
            "OwnerRefInvalidNamespace: ownerRef [v1/ConfigMap, namespace: elsewhere, name: far, uid: {far}] does not \
             exist in namespace \"elsewhere\""
        )
    );
    server.kubectl(&["delete", "configmap", "far"]);

    let absent = "00000000-0000-0000-0000-000000000000";
    config_map(&server, "child", Some(("nobody", absent)));
    eventually("the child goes with its child", || names(&server) == "kube-root-ca.crt");
}

#[test]
fn a_real_controller_manager_is_stood_aside_for() {
    if kubectl().is_none() {
        return;
    }
    let server = Apiwright::start(&["--storage", "memory"]);
    let now = std::process::Command::new("date").args(["-u", "+%Y-%m-%dT%H:%M:%S.000000Z"]).output();
    let now = String::from_utf8_lossy(&now.expect("a date").stdout).trim().to_owned();
    let lease = |seconds: u32| {
        format!(
            "apiVersion: coordination.k8s.io/v1\nkind: Lease\nmetadata: {{name: kube-controller-manager, \
             namespace: kube-system}}\nspec: {{holderIdentity: real, leaseDurationSeconds: {seconds}, renewTime: \
             \"{now}\"}}\n"
        )
    };
    apply(&server, &lease(600));
    server.kubectl(&["create", "namespace", "theirs"]);
    std::thread::sleep(Duration::from_millis(500));
    let account = ["-n", "theirs", "get", "serviceaccount", "default"];
    server.kubectl_fails(&account);
    server.kubectl(&["-n", "kube-system", "delete", "lease", "kube-controller-manager"]);
    eventually("they are at work again", || server.run(&account).is_ok_and(|out| out.status.success()));
}

/// A request for a certificate, as PEM in base64.
fn certificate_request(group: &str, name: &str) -> String {
    let mut params = rcgen::CertificateParams::default();
    params.distinguished_name = rcgen::DistinguishedName::new();
    params.distinguished_name.push(rcgen::DnType::OrganizationName, group);
    params.distinguished_name.push(rcgen::DnType::CommonName, name);
    let key = rcgen::KeyPair::generate().expect("a key");
    let pem = params.serialize_request(&key).and_then(|request| request.pem()).expect("a request");
    base64::prelude::BASE64_STANDARD.encode(pem)
}

#[test]
fn certificates_are_approved_and_signed() {
    if kubectl().is_none() {
        return;
    }
    let server = Apiwright::start(&["--storage", "memory"]);
    let manifest = |name: &str, signer: &str, request: &str| {
        format!(
            "apiVersion: certificates.k8s.io/v1\nkind: CertificateSigningRequest\nmetadata: {{name: \
             {name}}}\nspec:\n  signerName: kubernetes.io/{signer}\n  request: {request}\n  username: \
             mallory\n  usages: [client auth, digital signature]\n"
        )
    };
    let field =
        |name: &str, path: &str| server.kubectl(&["get", "csr", name, "-o", &format!("jsonpath={{{path}}}")]);

    apply(&server, &manifest("jane", "kube-apiserver-client", &certificate_request("devs", "jane")));
    assert_eq!(field("jane", ".spec.username"), "kubernetes-admin", "whoever asked, not who it says asked");
    server.kubectl(&["certificate", "approve", "jane"]);
    eventually("it is signed", || !field("jane", ".status.certificate").is_empty());

    for role in
        ["system:node-bootstrapper", "system:certificates.k8s.io:certificatesigningrequests:nodeclient"]
    {
        let name = role.rsplit(':').next().expect("a name");
        let role = format!("--clusterrole={role}");
        server.kubectl(&["create", "clusterrolebinding", name, &role, "--user=bootstrap"]);
    }
    let request = manifest(
        "node",
        "kube-apiserver-client-kubelet",
        &certificate_request("system:nodes", "system:node:a"),
    );
    let mut child = server
        .command(&["create", "--as=bootstrap", "-f", "-"])
        .stdin(Stdio::piped())
        .spawn()
        .expect("kubectl");
    child.stdin.take().expect("a pipe").write_all(request.as_bytes()).expect("kubectl reads");
    assert!(child.wait().expect("kubectl").success());
    eventually("it is approved and signed", || !field("node", ".status.certificate").is_empty());
    assert_eq!(field("node", ".status.conditions[0].reason"), "AutoApproved");

    let unfit = manifest("unfit", "kube-apiserver-client-kubelet", &certificate_request("devs", "jane"));
    apply(&server, &unfit);
    server.kubectl(&["certificate", "approve", "unfit"]);
    eventually("it is refused", || {
        field("unfit", ".status.conditions[1].message") == "subject organization is not system:nodes"
    });
}

#[test]
fn a_controller_is_explained() {
    if kubectl().is_none() {
        return;
    }
    let server = Apiwright::start(&["--storage", "memory"]);
    server.kubectl(&["create", "namespace", "mine"]);
    let explained = || {
        let data = server.data.to_str().expect("a plain path");
        let output = std::process::Command::new(env!("CARGO_BIN_EXE_apiwright"))
            .args(["explain", "controller", "namespace", "--data-dir", data])
            .output()
            .expect("the binary runs");
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    eventually("the namespace stands there", || {
        explained()
            .lines()
            .any(|line| line.split_whitespace().eq("mine Active false true None None nothing 0".split(' ')))
    });
    assert!(explained().contains("deletePods"), "the table comes first");
    let metrics = server.kubectl(&["get", "--raw", "/metrics"]);
    assert!(metrics.contains("workqueue_depth{name=\"namespace-controller\"} 0"));
}

#[test]
fn the_kubernetes_service_comes_back() {
    if kubectl().is_none() {
        return;
    }
    let server = Apiwright::start(&["--storage", "memory", "--controllers=-*"]);
    let get = ["get", "service", "kubernetes", "-o", "jsonpath={.metadata.uid} {.spec.clusterIP}"];
    let before = server.kubectl(&get);
    server.kubectl(&["delete", "service", "kubernetes"]);
    eventually("it is back", || {
        server.run(&get).is_ok_and(|out| out.status.success() && out.stdout != before.as_bytes())
    });
    assert!(server.kubectl(&get).ends_with(" 10.0.0.1"), "at the address that it had");
}

#[test]
fn a_start_mends_roles_and_bindings() {
    if kubectl().is_none() {
        return;
    }
    let home = tempfile::TempDir::new().expect("a folder");
    let start = || Apiwright::start_on(home.path(), support::free_port(), &["--controllers=-*"]);
    let server = start();
    let patch = |kind: &str, name: &str, patch: &str| {
        server.kubectl(&["patch", kind, name, "--type=json", "-p", patch]);
    };
    let took = r#"[{"op":"replace","path":"/rules/0/verbs/0","value":"watch"},{"op":"add","path":"/rules/-","value":
        {"verbs":["get"],"apiGroups":["tea.example.com"],"resources":["teapots"]}}]"#;
    patch("clusterrole", "system:node-problem-detector", took);
    let kept = format!(
        r#"[{{"op":"add","path":"/metadata/annotations/rbac.authorization.kubernetes.io~1autoupdate","value":"false"}},{}"#,
        &took[1..]
    );
    patch("clusterrole", "system:kube-dns", &kept);
    patch(
        "clusterrolebinding",
        "system:discovery",
        r#"[{"op":"replace","path":"/subjects/0/name","value":"devs"}]"#,
    );
    server.kubectl(&["delete", "clusterrolebinding", "system:basic-user"]);
    server.kubectl(&[
        "create",
        "clusterrolebinding",
        "system:basic-user",
        "--clusterrole=view",
        "--user=jane",
    ]);
    let dns = ["get", "clusterrole", "system:kube-dns", "-o", "yaml"];
    let left_alone = server.kubectl(&dns);
    drop(server);

    let server = start();
    let field = |kind: &str, name: &str, path: &str| {
        server.kubectl(&["get", kind, name, "-o", &format!("jsonpath={{{path}}}")])
    };
    let rules = field("clusterrole", "system:node-problem-detector", ".rules");
    assert!(rules.contains("teapots"), "what was added stays: {rules}");
    let can = |verb: &str, what: &str| {
        let output = server.run(&["auth", "can-i", verb, what, "--as=x", "--as-group=problem"]);
        output.is_ok_and(|output| output.status.success())
    };
    let bind = ["--clusterrole=system:node-problem-detector", "--group=problem"];
    server.kubectl(&[&["create", "clusterrolebinding", "problem"], &bind[..]].concat());
    eventually("what was taken is back", || can("get", "nodes"));
    assert_eq!(server.kubectl(&dns), left_alone);
    assert_eq!(
        field("clusterrolebinding", "system:discovery", ".subjects[*].name"),
        "devs system:authenticated"
    );
    assert_eq!(field("clusterrolebinding", "system:basic-user", ".roleRef.name"), "system:basic-user");
    assert_eq!(field("clusterrolebinding", "system:basic-user", ".subjects[*].name"), "system:authenticated");
}

#[test]
fn cluster_roles_are_aggregated() {
    if kubectl().is_none() {
        return;
    }
    let server = Apiwright::start(&["--storage", "memory"]);
    apply(
        &server,
        "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata:\n  name: teapots\n  labels: \
         {rbac.authorization.k8s.io/aggregate-to-view: \"true\"}\nrules:\n- {apiGroups: [tea.example.com], \
         resources: [teapots], verbs: [get]}\n",
    );
    let rules = ["get", "clusterrole", "view", "-o", "jsonpath={.rules[*].apiGroups}"];
    eventually("viewers see teapots", || server.kubectl(&rules).contains("tea.example.com"));
    let owners =
        ["get", "clusterrole", "view", "--show-managed-fields", "-o", "jsonpath={.metadata.managedFields}"];
    let owners = server.kubectl(&owners);
    assert!(
        owners
            .contains(r#""f:rules":{}},"manager":"clusterrole-aggregation-controller","operation":"Apply""#),
        "{owners}"
    );
    server.kubectl(&["delete", "clusterrole", "teapots"]);
    eventually("and no longer", || !server.kubectl(&rules).contains("tea.example.com"));
}

#[test]
fn what_controllers_write_is_admitted_as_what_clients_write() {
    if kubectl().is_none() {
        return;
    }
    let server = Apiwright::start(&["--storage", "memory"]);
    let controller = "system:serviceaccount:kube-system:service-account-controller";
    let policies = format!(
        "apiVersion: admissionregistration.k8s.io/v1\nkind: ValidatingAdmissionPolicy\nmetadata: {{name: \
         closed}}\nspec:\n  matchConstraints: {{resourceRules: [{{apiGroups: [\"\"], apiVersions: [v1], operations: \
         [CREATE], resources: [serviceaccounts]}}]}}\n  validations: [{{expression: \"request.namespace != 'closed' \
         || request.userInfo.username != '{controller}' || !('system:serviceaccounts:kube-system' in \
         request.userInfo.groups)\"}}]\n---\napiVersion: admissionregistration.k8s.io/v1\nkind: \
         ValidatingAdmissionPolicyBinding\nmetadata: {{name: closed}}\nspec: {{policyName: closed, \
         validationActions: [Deny]}}\n---\napiVersion: admissionregistration.k8s.io/v1\nkind: \
         MutatingAdmissionPolicy\nmetadata: {{name: mark}}\nspec:\n  reinvocationPolicy: Never\n  matchConstraints: \
         {{resourceRules: [{{apiGroups: [\"\"], apiVersions: [v1], operations: [CREATE], resources: \
         [configmaps]}}]}}\n  mutations: [{{patchType: ApplyConfiguration, applyConfiguration: {{expression: \
         \"Object{{metadata: Object.metadata{{labels: {{'marked': 'yes'}}}}}}\"}}}}]\n---\napiVersion: \
         admissionregistration.k8s.io/v1\nkind: MutatingAdmissionPolicyBinding\nmetadata: {{name: mark}}\nspec: \
         {{policyName: mark}}\n"
    );
    apply(&server, &policies);
    // Policies hold a moment after they were written.
    let marks =
        ["create", "configmap", "try", "--dry-run=server", "-o", "jsonpath={.metadata.labels.marked}"];
    eventually("policies hold", || server.kubectl(&marks) == "yes");
    server.kubectl(&["create", "namespace", "closed"]);
    server.kubectl(&["create", "namespace", "open"]);
    let account = |namespace: &str| {
        server
            .run(&["-n", namespace, "get", "serviceaccount", "default"])
            .is_ok_and(|out| out.status.success())
    };
    eventually("the open one has an account", || account("open"));
    let mark =
        ["-n", "closed", "get", "configmap", "kube-root-ca.crt", "-o", "jsonpath={.metadata.labels.marked}"];
    eventually("it is marked", || server.run(&mark).is_ok_and(|out| out.stdout == b"yes"));
    assert!(!account("closed"), "who may not be made is not");
    server.kubectl(&["delete", "validatingadmissionpolicybinding", "closed"]);
    eventually("it is tried again", || account("closed"));
}

#[test]
fn quotas_say_what_is_used() {
    if kubectl().is_none() {
        return;
    }
    let server = Apiwright::start(&["--storage", "memory"]);
    server.kubectl(&["create", "namespace", "small"]);
    let authority = ["-n", "small", "get", "configmap", "kube-root-ca.crt"];
    eventually("the authority", || server.run(&authority).is_ok_and(|out| out.status.success()));
    server.kubectl(&["-n", "small", "create", "quota", "few", "--hard=configmaps=3,count/secrets=1,pods=1"]);
    let said = || {
        let path =
            "jsonpath={.status.hard.configmaps}/{.status.used.configmaps} {.status.used['count/secrets']}";
        server.kubectl(&["-n", "small", "get", "quota", "few", "-o", path])
    };
    eventually("what is there is counted", || said() == "3/1 0");
    server.kubectl(&["-n", "small", "create", "configmap", "a"]);
    server.kubectl(&["-n", "small", "create", "configmap", "b"]);
    assert_eq!(said(), "3/3 0", "it is charged at once");
    let refused = server.kubectl_fails(&["-n", "small", "create", "configmap", "c"]);
    assert!(
        refused.contains("exceeded quota: few, requested: configmaps=1, used: configmaps=3"),
        "{refused}"
    );
    server.kubectl(&["-n", "small", "delete", "configmap", "a"]);
    eventually("what went is not used", || said() == "3/2 0");
    server.kubectl(&["-n", "small", "create", "configmap", "c"]);
    let more = r#"{"spec":{"hard":{"configmaps":"5"}}}"#;
    server.kubectl(&["-n", "small", "patch", "quota", "few", "--type=merge", "-p", more]);
    eventually("there may be more", || said() == "5/3 0");
}

#[test]
fn switched_off_they_leave_things_alone() {
    if kubectl().is_none() {
        return;
    }
    let server = Apiwright::start(&["--storage", "memory", "--controllers=-*"]);
    server.kubectl(&["create", "namespace", "still"]);
    server.kubectl(&["delete", "namespace", "still", "--wait=false"]);
    std::thread::sleep(Duration::from_millis(500));
    assert_eq!(
        server.kubectl(&["get", "namespace", "still", "-o", "jsonpath={.status.phase}"]),
        "Terminating"
    );
    assert_eq!(server.kubectl(&["get", "serviceaccounts", "-A", "-o", "name"]), "");
    // The server's own identity is no controller's.
    let leases = server.kubectl(&["get", "leases", "-A", "-o", "name"]);
    assert!(leases.lines().all(|lease| lease.contains("/apiserver-")), "{leases}");
}

#[test]
fn claims_go_when_no_pod_uses_them() {
    if kubectl().is_none() {
        return;
    }
    let server = Apiwright::start(&["--storage", "memory"]);
    let account = ["get", "serviceaccount", "default"];
    eventually("the service account", || server.run(&account).is_ok_and(|out| out.status.success()));
    for name in ["free", "used"] {
        apply(
            &server,
            &format!(
                "apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {{name: {name}}}\nspec:\n  accessModes: \
                 [ReadWriteOnce]\n  resources: {{requests: {{storage: 1Gi}}}}\n"
            ),
        );
    }
    apply(
        &server,
        "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec:\n  nodeName: node-1\n  containers: [{name: c, image: i}]\n  \
         volumes: [{name: v, persistentVolumeClaim: {claimName: used}}]\n",
    );
    server.kubectl(&["delete", "pvc", "free", "used", "--wait=false"]);
    let claims = || server.kubectl(&["get", "pvc", "-o", "jsonpath={.items[*].metadata.name}"]);
    eventually("one claim is left", || claims() == "used");
    server.kubectl(&["delete", "pod", "p", "--grace-period=0", "--force"]);
    eventually("no claim is left", || claims().is_empty());
}
