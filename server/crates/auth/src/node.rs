//! The node authorizer: a kubelet may see what pods on its node need, and nothing of other nodes.
//!
//! Users in `system:nodes` are answered by what they ask for: objects that pods name are looked up in a graph, what is
//! the node's own is known by its name, and for the rest fixed rules hold, the same for all nodes. What depends on the
//! object that a request brings is the admission plugin `NodeRestriction`'s to decide.

mod graph;
mod related;

use std::collections::HashSet;

use apiwright_chain::{Decision, RequestInfo, User};
use apiwright_meta::fields::FieldSelector;
use apiwright_meta::node_identity::node_of;

use crate::follow::View;
use crate::rbac::Rule;

use graph::{Asked, Graph};
use related::Related;

const LEASES: &str = "kube-node-lease";
/// What a node may do with objects that bear its name.
const OWN_VERBS: [&str; 5] = ["get", "create", "update", "patch", "delete"];

/// The authorizer.
pub struct NodeAuthorizer {
    graph: Graph,
    rules: Vec<Rule>,
}

/// Yes, or why not.
type Verdict = Result<(), String>;

impl NodeAuthorizer {
    /// With the rules that hold for all nodes.
    pub fn new(rules: Vec<Rule>) -> Self {
        Self { graph: Graph::default(), rules }
    }

    /// The decision; no opinion about users that are no nodes.
    pub fn decide(&self, user: &User, what: &RequestInfo) -> Decision {
        match node_of(&user.name, &user.groups) {
            None => Decision::NoOpinion(String::new()),
            Some("") => Decision::NoOpinion(format!("unknown node for user {:?}", user.name)),
            Some(node) => match self.judge(node, what) {
                Ok(()) => Decision::Allow(None),
                Err(why) => Decision::NoOpinion(why),
            },
        }
    }

    fn judge(&self, node: &str, what: &RequestInfo) -> Verdict {
        if !what.is_resource {
            return self.by_rules(what);
        }
        match (what.group.as_str(), what.resource.as_str()) {
            ("", "secrets") => self.read(node, Related::Secret, what),
            ("", "configmaps") => self.read(node, Related::ConfigMap, what),
            ("", "persistentvolumeclaims") if what.subresource == "status" => {
                check(
                    matches!(what.verb.as_str(), "update" | "patch"),
                    "can only get/update/patch this type",
                )?;
                self.related(node, Asked::Named(Related::Claim), what)
            }
            ("", "persistentvolumeclaims") => self.get(node, Asked::Named(Related::Claim), what),
            ("", "persistentvolumes") => self.get(node, Asked::PersistentVolume, what),
            ("resource.k8s.io", "resourceclaims") => {
                self.get(node, Asked::Named(Related::ResourceClaim), what)
            }
            ("storage.k8s.io", "volumeattachments") => self.get(node, Asked::VolumeAttachment, what),
            ("", "serviceaccounts") => self.account(node, what),
            ("coordination.k8s.io", "leases") => lease(node, what),
            ("storage.k8s.io", "csinodes") => csi_node(node, what),
            ("resource.k8s.io", "resourceslices") => self.slice(node, what),
            ("", "nodes") => own_node(node, what),
            ("", "pods") => self.pod(node, what),
            _ => self.by_rules(what),
        }
    }

    fn by_rules(&self, what: &RequestInfo) -> Verdict {
        check(self.rules.iter().any(|rule| rule.allows(what)), "")
    }

    fn read(&self, node: &str, kind: Related, what: &RequestInfo) -> Verdict {
        check(
            matches!(what.verb.as_str(), "get" | "list" | "watch"),
            "can only read resources of this type",
        )?;
        check(what.subresource.is_empty(), "cannot read subresource")?;
        check(!what.namespace.is_empty(), "can only read namespaced object of this type")?;
        self.related(node, Asked::Named(kind), what)
    }

    fn get(&self, node: &str, asked: Asked, what: &RequestInfo) -> Verdict {
        check(what.verb == "get", "can only get individual resources of this type")?;
        check(what.subresource.is_empty(), "cannot get subresource")?;
        self.related(node, asked, what)
    }

    fn related(&self, node: &str, asked: Asked, what: &RequestInfo) -> Verdict {
        check(!what.name.is_empty(), "No Object name found")?;
        if self.graph.relates(node, asked, &what.namespace, &what.name) {
            return Ok(());
        }
        Err(format!("no relationship found between node '{node}' and this object"))
    }

    fn account(&self, node: &str, what: &RequestInfo) -> Verdict {
        if what.verb == "get" && what.subresource.is_empty() {
            return self.read(node, Related::ServiceAccount, what);
        }
        check(
            what.verb == "create" && !what.name.is_empty(),
            "can only create tokens for individual service accounts",
        )?;
        check(what.subresource == "token", "can only create token subresource of serviceaccount")?;
        self.related(node, Asked::Named(Related::ServiceAccount), what)
    }

    fn slice(&self, node: &str, what: &RequestInfo) -> Verdict {
        check(what.subresource.is_empty(), "cannot authorize ResourceSlice subresources")?;
        match what.verb.as_str() {
            "create" => Ok(()),
            "get" | "update" | "patch" | "delete" => self.related(node, Asked::ResourceSlice, what),
            "watch" | "list" | "deletecollection" => check(
                selects(what, "spec.nodeName", node),
                "can only list/watch/deletecollection resourceslices with nodeName field selector",
            ),
            _ => check(
                false,
                "only the following verbs are allowed for a ResourceSlice: get, watch, list, create, update, patch, \
                 delete, deletecollection",
            ),
        }
    }

    fn pod(&self, node: &str, what: &RequestInfo) -> Verdict {
        match (what.subresource.as_str(), what.verb.as_str()) {
            ("", "get") => self.get(node, Asked::Pod, what),
            ("", "list" | "watch") if selects(what, "spec.nodeName", node) => Ok(()),
            ("", "list" | "watch") if !what.name.is_empty() => self.related(node, Asked::Pod, what),
            ("", "list" | "watch") => {
                check(false, "can only list/watch pods with spec.nodeName field selector")
            }
            ("", "create" | "delete") | ("status", "update" | "patch") | ("eviction", "create") => Ok(()),
            _ => check(false, ""),
        }
    }
}

impl View for NodeAuthorizer {
    fn prefixes(&self) -> &'static [&'static str] {
        self.graph.prefixes()
    }

    fn apply(&self, which: usize, key: &str, value: Option<&[u8]>) {
        self.graph.apply(which, key, value);
    }

    fn retain(&self, which: usize, keys: &HashSet<&str>) {
        self.graph.retain(which, keys);
    }
}

fn check(holds: bool, why: &str) -> Verdict {
    if holds { Ok(()) } else { Err(why.to_owned()) }
}

fn lease(node: &str, what: &RequestInfo) -> Verdict {
    check(
        OWN_VERBS.contains(&what.verb.as_str()),
        "can only get, create, update, patch, or delete a node lease",
    )?;
    if what.namespace != LEASES {
        return Err(format!("can only access leases in the {LEASES:?} system namespace"));
    }
    // Whoever creates says the name in the object.
    check(
        what.verb == "create" || what.name == node,
        "can only access node lease with the same name as the requesting node",
    )
}

fn csi_node(node: &str, what: &RequestInfo) -> Verdict {
    check(
        OWN_VERBS.contains(&what.verb.as_str()),
        "can only get, create, update, patch, or delete a CSINode",
    )?;
    check(what.subresource.is_empty(), "cannot authorize CSINode subresources")?;
    check(
        what.verb == "create" || what.name == node,
        "can only access CSINode with the same name as the requesting node",
    )
}

fn own_node(node: &str, what: &RequestInfo) -> Verdict {
    match (what.subresource.as_str(), what.verb.as_str()) {
        ("", "create" | "update" | "patch") | ("status", "update" | "patch") => Ok(()),
        ("", "get" | "list" | "watch") => match what.name.as_str() {
            name if name == node => Ok(()),
            "" => Err(format!("node '{node}' cannot read all nodes, only its own Node object")),
            name => Err(format!("node '{node}' cannot read '{name}', only its own Node object")),
        },
        _ => check(false, ""),
    }
}

/// Whether a request is limited to objects of which a field is so.
fn selects(what: &RequestInfo, field: &str, value: &str) -> bool {
    !what.field_selector.is_empty()
        && FieldSelector::parse(&what.field_selector).is_ok_and(|selector| {
            selector.requirements.iter().any(|one| one.field == field && one.value == value && !one.negated)
        })
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::Method;

    const POD: &str = r#"{"metadata":{"name":"p","uid":"u"},"spec":{"nodeName":"n","serviceAccountName":"a","volumes":[{"name":"s","secret":{"secretName":"s"}},{"name":"c","persistentVolumeClaim":{"claimName":"c"}}]}}"#;

    fn authorizer() -> NodeAuthorizer {
        let rule = apiwright_json::decode(
            br#"{"verbs":["get","list","watch"],"apiGroups":[""],"resources":["services"]}"#,
        );
        let authorizer = NodeAuthorizer::new(vec![Rule::read(&rule.unwrap().0)]);
        authorizer.apply(0, "ns/p", Some(POD.as_bytes()));
        authorizer
    }

    fn node(name: &str) -> User {
        User { name: format!("system:node:{name}"), groups: vec!["system:nodes".into()], ..User::default() }
    }

    #[test]
    fn what_nodes_may() {
        const UNRELATED: &str = "no relationship found between node 'n' and this object";
        let authorizer = authorizer();
        #[rustfmt::skip]
        let table: &[(&str, &str, Option<&str>)] = &[
            ("GET", "/api/v1/namespaces/ns/secrets/s", None),
            ("GET", "/api/v1/namespaces/ns/secrets?watch=1&fieldSelector=metadata.name%3Ds", None),
            ("GET", "/api/v1/namespaces/ns/secrets/other", Some(UNRELATED)),
            ("GET", "/api/v1/namespaces/ns/secrets", Some("No Object name found")),
            ("GET", "/api/v1/secrets", Some("can only read namespaced object of this type")),
            ("DELETE", "/api/v1/namespaces/ns/secrets/s", Some("can only read resources of this type")),
            ("GET", "/api/v1/namespaces/ns/configmaps/s", Some(UNRELATED)),
            ("GET", "/api/v1/namespaces/ns/persistentvolumeclaims/c", None),
            ("PATCH", "/api/v1/namespaces/ns/persistentvolumeclaims/c/status", None),
            ("GET", "/api/v1/namespaces/ns/persistentvolumeclaims/c/status", Some("can only get/update/patch this type")),
            ("GET", "/api/v1/namespaces/ns/persistentvolumeclaims", Some("can only get individual resources of this type")),
            ("GET", "/api/v1/namespaces/ns/serviceaccounts/a", None),
            ("POST", "/api/v1/namespaces/ns/serviceaccounts/a/token", None),
            ("POST", "/api/v1/namespaces/ns/serviceaccounts/b/token", Some(UNRELATED)),
            ("POST", "/api/v1/namespaces/ns/serviceaccounts", Some("can only create tokens for individual service accounts")),
            ("GET", "/api/v1/namespaces/ns/pods/p", None),
            ("GET", "/api/v1/namespaces/ns/pods/q", Some(UNRELATED)),
            ("GET", "/api/v1/pods?fieldSelector=spec.nodeName%3Dn", None),
            ("GET", "/api/v1/pods?fieldSelector=spec.nodeName%3Dm", Some("can only list/watch pods with spec.nodeName field selector")),
            ("GET", "/api/v1/pods?fieldSelector=spec.nodeName!%3Dn", Some("can only list/watch pods with spec.nodeName field selector")),
            ("PUT", "/api/v1/namespaces/ns/pods/p/status", None),
            ("PUT", "/api/v1/namespaces/ns/pods/p", Some("")),
            ("GET", "/api/v1/nodes/n", None),
            ("GET", "/api/v1/nodes/m", Some("node 'n' cannot read 'm', only its own Node object")),
            ("GET", "/api/v1/nodes", Some("node 'n' cannot read all nodes, only its own Node object")),
            ("PATCH", "/api/v1/nodes/m/status", None),
            ("DELETE", "/api/v1/nodes/n", Some("")),
            ("PUT", "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/n", None),
            ("PUT", "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/m", Some("can only access node lease with the same name as the requesting node")),
            ("PUT", "/apis/coordination.k8s.io/v1/namespaces/ns/leases/n", Some("can only access leases in the \"kube-node-lease\" system namespace")),
            ("GET", "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases", Some("can only get, create, update, patch, or delete a node lease")),
            ("GET", "/apis/storage.k8s.io/v1/csinodes/m", Some("can only access CSINode with the same name as the requesting node")),
            ("GET", "/apis/resource.k8s.io/v1/resourceslices?fieldSelector=spec.nodeName%3Dn", None),
            ("GET", "/apis/resource.k8s.io/v1/resourceslices", Some("can only list/watch/deletecollection resourceslices with nodeName field selector")),
            ("GET", "/api/v1/services", None),
            ("POST", "/api/v1/namespaces/ns/services", Some("")),
            ("GET", "/logs", Some("")),
        ];
        for (method, address, refused) in table {
            let (path, query) = address.split_once('?').unwrap_or((address, ""));
            let method: Method = method.parse().unwrap();
            let what = RequestInfo::parse(&method, path, query).unwrap();
            let expected = refused.map_or(Decision::Allow(None), |why| Decision::NoOpinion(why.to_owned()));
            assert_eq!(authorizer.decide(&node("n"), &what), expected, "{method} {address}");
        }
    }

    #[test]
    fn others_are_not_its_business() {
        let what = RequestInfo::parse(&Method::GET, "/api/v1/namespaces/ns/secrets/s", "").unwrap();
        let stranger = User { groups: Vec::new(), ..node("n") };
        assert_eq!(authorizer().decide(&stranger, &what), Decision::NoOpinion(String::new()));
        let nameless = Decision::NoOpinion("unknown node for user \"system:node:\"".into());
        assert_eq!(authorizer().decide(&node(""), &what), nameless);
    }
}
