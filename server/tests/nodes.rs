//! What kubelets may do: the node authorizer, and the admission plugin that sees what it cannot.

mod support;

use http::Method;
use support::api::Api;
use support::process::{ADMIN, Server};
use tempfile::TempDir;

const NODES: &str =
    "n1token,system:node:n1,u1,\"system:nodes\"\nn2token,system:node:n2,u2,\"system:nodes\"\n";
const FLAGS: [&str; 3] =
    ["--storage=memory", "--authorization-mode=Node,RBAC", "--enable-admission-plugins=NodeRestriction"];

fn pod(name: &str, node: &str, secret: &str) -> String {
    format!(
        r#"{{"metadata":{{"name":"{name}"}},"spec":{{"nodeName":"{node}","containers":[{{"name":"c","image":"i"}}],"volumes":[{{"name":"s","secret":{{"secretName":"{secret}"}}}}]}}}}"#
    )
}

fn mirror(node: &str, owner: &str, volumes: &str) -> String {
    format!(
        r#"{{"metadata":{{"name":"static","annotations":{{"kubernetes.io/config.mirror":"x"}},"ownerReferences":{owner}}},"spec":{{"nodeName":"{node}","containers":[{{"name":"c","image":"i"}}],"volumes":{volumes}}}}}"#
    )
}

#[tokio::test(flavor = "multi_thread")]
async fn a_kubelet_minds_its_own_node() {
    let home = TempDir::new().expect("a folder");
    std::fs::write(home.path().join("tokens.csv"), format!("{ADMIN}{NODES}")).expect("a file");
    let server = Server::start(home.path(), &FLAGS);
    let client = server.client().await;
    let (admin, own) = (Api(client.clone()), Api(client.bearing("n1token")));
    let uid = own
        .post("/api/v1/nodes", r#"{"metadata":{"name":"n1","labels":{"kubernetes.io/os":"linux"}}}"#)
        .await
        .ok()
        .text_at(&["metadata", "uid"])
        .to_owned();
    admin.post("/api/v1/nodes", r#"{"metadata":{"name":"n2"}}"#).await.ok();
    let pods = "/api/v1/namespaces/default/pods";
    let (mut pod_uid, mut other_uid) = (String::new(), String::new());
    for (name, node, uid) in [("p1", "n1", &mut pod_uid), ("p2", "n2", &mut other_uid)] {
        let secret = format!(r#"{{"metadata":{{"name":"s-{name}"}}}}"#);
        admin.post("/api/v1/namespaces/default/secrets", &secret).await.ok();
        let made = admin.post(pods, &pod(name, node, &format!("s-{name}"))).await.ok();
        made.text_at(&["metadata", "uid"]).clone_into(uid);
    }
    let owner =
        format!(r#"[{{"apiVersion":"v1","kind":"Node","name":"n1","uid":"{uid}","controller":true}}]"#);
    let token = |pod: &str, uid: &str, audience: &str| {
        format!(
            r#"{{"spec":{{"audiences":[{audience}],"boundObjectRef":{{"apiVersion":"v1","kind":"Pod","name":"{pod}","uid":"{uid}"}}}}}}"#
        )
    };
    let tokens = "/api/v1/namespaces/default/serviceaccounts/default/token";
    let ready = r#"{"status":{"phase":"Running"}}"#;
    let cannot = |what: &str, why: &str| format!("{what} is forbidden: User \"system:node:n1\" cannot {why}");
    let unrelated = "no relationship found between node 'n1' and this object";
    #[rustfmt::skip]
    let table: Vec<(Method, &str, String, String)> = vec![
        (Method::GET, "/api/v1/namespaces/default/secrets/s-p1", String::new(), String::new()),
        (Method::GET, "/api/v1/namespaces/default/secrets/s-p2", String::new(), cannot("secrets \"s-p2\"", &format!("get resource \"secrets\" in API group \"\" in the namespace \"default\": {unrelated}"))),
        (Method::GET, "/api/v1/namespaces/default/configmaps/kube-root-ca.crt", String::new(), String::new()),
        (Method::GET, "/api/v1/pods?fieldSelector=spec.nodeName%3Dn1", String::new(), String::new()),
        (Method::GET, "/api/v1/pods", String::new(), cannot("pods", "list resource \"pods\" in API group \"\" at the cluster scope: can only list/watch pods with spec.nodeName field selector")),
        (Method::GET, "/api/v1/nodes/n2", String::new(), cannot("nodes \"n2\"", "get resource \"nodes\" in API group \"\" at the cluster scope: node 'n1' cannot read 'n2', only its own Node object")),
        (Method::PATCH, "/api/v1/nodes/n2", r#"{"metadata":{"labels":{"a":"b"}}}"#.into(), "nodes \"n2\" is forbidden: node \"n1\" is not allowed to modify node \"n2\"".into()),
        (Method::PATCH, "/api/v1/nodes/n1", r#"{"metadata":{"labels":{"a":"b"}}}"#.into(), String::new()),
        (Method::PATCH, "/api/v1/nodes/n1", r#"{"metadata":{"labels":{"node-restriction.kubernetes.io/a":"b","kubernetes.io/z":"b"}}}"#.into(), "nodes \"n1\" is forbidden: is not allowed to modify labels: kubernetes.io/z, node-restriction.kubernetes.io/a".into()),
        (Method::PATCH, "/api/v1/nodes/n1", r#"{"spec":{"taints":[{"key":"a","effect":"NoSchedule"}]}}"#.into(), "nodes \"n1\" is forbidden: node \"n1\" is not allowed to modify taints".into()),
        (Method::PATCH, "/api/v1/nodes/n1", format!(r#"{{"metadata":{{"ownerReferences":{owner}}}}}"#), "nodes \"n1\" is forbidden: node \"n1\" is not allowed to modify ownerReferences".into()),
        (Method::POST, "/api/v1/nodes", r#"{"metadata":{"name":"n3"}}"#.into(), "nodes \"n3\" is forbidden: node \"n1\" is not allowed to modify node \"n3\"".into()),
        (Method::PATCH, "/api/v1/namespaces/default/pods/p1/status", ready.into(), String::new()),
        (Method::PATCH, "/api/v1/namespaces/default/pods/p2/status", ready.into(), "pods \"p2\" is forbidden: node \"n1\" can only update pod status for pods with spec.nodeName set to itself".into()),
        (Method::POST, pods, pod("p3", "n1", "s"), "pods \"p3\" is forbidden: pod does not have \"kubernetes.io/config.mirror\" annotation, node \"n1\" can only create mirror pods".into()),
        (Method::POST, pods, mirror("n2", &owner, "[]"), "pods \"static\" is forbidden: node \"n1\" can only create pods with spec.nodeName set to itself".into()),
        (Method::POST, pods, mirror("n1", "[]", "[]"), "pods \"static\" is forbidden: node \"n1\" can only create pods with an owner reference set to itself".into()),
        (Method::POST, pods, mirror("n1", &owner.replace(&uid, "x"), "[]"), format!("pods \"static\" is forbidden: node n1 UID mismatch: expected x got {uid}")),
        (Method::POST, pods, mirror("n1", &owner, r#"[{"name":"s","configMap":{"name":"c"}}]"#), "pods \"static\" is forbidden: node \"n1\" can not create pods that reference configmaps".into()),
        (Method::POST, pods, mirror("n1", &owner, r#"[{"name":"s","persistentVolumeClaim":{"claimName":"c"}}]"#), "pods \"static\" is forbidden: node \"n1\" can not create pods that reference persistentvolumeclaims".into()),
        (Method::POST, pods, mirror("n1", &owner, "[]"), String::new()),
        (Method::POST, "/api/v1/namespaces/default/pods/p2/eviction", r#"{"apiVersion":"policy/v1","kind":"Eviction","metadata":{"name":"p2"}}"#.into(), "pods \"p2\" is forbidden: node n1 can only evict pods with spec.nodeName set to itself".into()),
        (Method::POST, tokens, token("p1", &pod_uid, ""), String::new()),
        (Method::POST, tokens, token("p1", "x", ""), "serviceaccounts \"default\" is forbidden: the UID in the bound object reference (x) does not match the UID in record. The object might have been deleted and then recreated".into()),
        (Method::POST, tokens, token("p2", &other_uid, ""), "serviceaccounts \"default\" is forbidden: node requested token bound to a pod scheduled on a different node".into()),
        (Method::POST, tokens, "{\"spec\":{}}".into(), "serviceaccounts \"default\" is forbidden: node requested token not bound to a pod".into()),
        (Method::POST, tokens, token("p1", &pod_uid, "\"vault\""), "serviceaccounts \"default\" is forbidden: audience \"vault\" not found in pod spec volume, system:node:n1 is not authorized to request tokens for this audience".into()),
        (Method::POST, "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases", r#"{"metadata":{"name":"n1"}}"#.into(), String::new()),
        (Method::POST, "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases", r#"{"metadata":{"name":"n2"}}"#.into(), "leases.coordination.k8s.io \"n2\" is forbidden: can only access node lease with the same name as the requesting node".into()),
        (Method::POST, "/apis/storage.k8s.io/v1/csinodes", r#"{"metadata":{"name":"n2"},"spec":{"drivers":[]}}"#.into(), "csinodes.storage.k8s.io \"n2\" is forbidden: can only access CSINode with the same name as the requesting node".into()),
        (Method::DELETE, "/api/v1/namespaces/default/pods/p2", String::new(), "pods \"p2\" is forbidden: node \"n1\" can only delete pods with spec.nodeName set to itself".into()),
        (Method::DELETE, "/api/v1/namespaces/default/pods/p1?gracePeriodSeconds=0", String::new(), String::new()),
    ];
    for (method, path, body, refused) in table {
        let answer = own.call(method.clone(), path, &body).await;
        let (code, text) = (answer.code, answer.text());
        if refused.is_empty() {
            assert!(code < 300, "{method} {path}: {code} {text}");
        } else {
            assert_eq!((code, answer.object().text_at(&["message"])), (403, &*refused), "{method} {path}");
        }
    }
    // The pod is gone, and with it what its node might see. The node learns of it by watching.
    let mut code = 200;
    for _ in 0..200 {
        code = own.get("/api/v1/namespaces/default/secrets/s-p1").await.code;
        if code == 403 {
            break;
        }
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    }
    assert_eq!(code, 403);
    let rules = own
        .post("/apis/authorization.k8s.io/v1/selfsubjectrulesreviews", r#"{"spec":{"namespace":"default"}}"#)
        .await
        .ok();
    assert_eq!(rules.at(&["status", "incomplete"]).and_then(apiwright_json::Value::as_bool), Some(true));
    let error = "node authorizer does not support user rule resolution";
    assert_eq!(rules.text_at(&["status", "evaluationError"]), error);
    let review = r#"{"spec":{"user":"system:node:n2","groups":["system:nodes"],"resourceAttributes":{"verb":"list","resource":"pods","version":"v1","fieldSelector":{"requirements":[{"key":"spec.nodeName","operator":"In","values":["n2"]}]}}}}"#;
    let reviewed = admin.post("/apis/authorization.k8s.io/v1/subjectaccessreviews", review).await.ok();
    assert_eq!(reviewed.at(&["status", "allowed"]).and_then(apiwright_json::Value::as_bool), Some(true));
}
