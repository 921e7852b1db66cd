//! Role-based access control: who may do what, by Roles and bindings.
//!
//! Everything is in memory, found by subject, and follows storage by its watch. Invariant: a
//! binding counts as soon as its event has come, and no longer; a role that is missing grants
//! nothing and is named in the refusal.

mod covers;
mod escalation;
mod follow;
mod index;
mod roles;
mod rules;

use std::sync::{Arc, PoisonError, RwLock};

use apiwright_chain::{Decision, RequestInfo, User};

pub use covers::missing;
pub use escalation::Escalation;
pub use follow::Kind;
pub use rules::Rule;

use crate::authorization::aggregate;
use index::Index;
use roles::{Bits, RoleRef};

/// The rules in force.
#[derive(Default)]
pub struct Rbac {
    index: RwLock<Index>,
}

/// The rules that apply to a user, and why there may be more.
#[derive(Debug, Default)]
pub struct Granted {
    /// Binding by binding.
    pub rules: Vec<Rule>,
    /// What could not be found out: roles that are bound and not there.
    pub errors: Vec<String>,
    /// Whether somebody else may allow more.
    pub is_incomplete: bool,
}

impl Rbac {
    /// Whether a rule allows this; without one, which bound roles are missing.
    pub fn decide(&self, user: &User, what: &RequestInfo) -> Decision {
        let index = self.read();
        let mut missing = Vec::new();
        let question = Bits::of(what);
        let grants = index.grants(user, &what.namespace);
        for grant in grants.filter(|grant| index.roles.may_cover(grant.role, question)) {
            match index.roles.at(grant.role) {
                Ok(rules) if rules.iter().any(|rule| rule.allows(what)) => {
                    return Decision::Allow(Some(Arc::clone(&grant.reason)));
                }
                Ok(_) => {}
                Err(role) => missing.push(role.not_found()),
            }
        }
        Decision::NoOpinion(refusal(missing))
    }

    /// All rules that apply to a user in a namespace, those of the whole cluster among them;
    /// empty for the whole cluster only.
    pub fn granted(&self, user: &User, namespace: &str) -> Granted {
        let index = self.read();
        let mut granted = Granted::default();
        for grant in index.grants(user, namespace) {
            match index.roles.at(grant.role) {
                Ok(rules) => granted.rules.extend(rules.iter().cloned()),
                Err(role) => granted.errors.push(role.not_found()),
            }
        }
        granted
    }

    /// The rules of a role, as a binding refers to it: a Role of the namespace, or a `ClusterRole`.
    pub fn rules_of(&self, cluster_role: bool, namespace: &str, name: &str) -> Option<Vec<Rule>> {
        let index = self.read();
        index.roles.get(&RoleRef::new(cluster_role, namespace, name)).map(|rules| rules.to_vec())
    }

    fn read(&self) -> std::sync::RwLockReadGuard<'_, Index> {
        self.index.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> std::sync::RwLockWriteGuard<'_, Index> {
        self.index.write().unwrap_or_else(PoisonError::into_inner)
    }
}

fn refusal(missing: Vec<String>) -> String {
    aggregate(missing).map(|missing| format!("RBAC: {missing}")).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::Method;

    fn put(rbac: &Rbac, kind: Kind, key: &str, json: &str) {
        rbac.set(kind, key, Some(json.as_bytes()));
    }

    fn rbac() -> Rbac {
        let rbac = Rbac::default();
        #[rustfmt::skip]
        let objects = [
            (Kind::Role, "ns/reader", r#"{"rules":[{"apiGroups":[""],"resources":["configmaps"],"verbs":["get","list"]}]}"#),
            (Kind::RoleBinding, "ns/reader", r#"{"roleRef":{"kind":"Role","name":"reader"},"subjects":[{"kind":"User","name":"alice"},{"kind":"ServiceAccount","name":"robot","namespace":"other"},{"kind":"ServiceAccount","name":"local"}]}"#),
            (Kind::ClusterRole, "wide", r#"{"rules":[{"apiGroups":["apps"],"resources":["*/scale","deployments"],"verbs":["*"]},{"nonResourceURLs":["/logs","/metrics/*"],"verbs":["get"]},{"apiGroups":[""],"resources":["secrets"],"resourceNames":["s"],"verbs":["get"]}]}"#),
            (Kind::ClusterRoleBinding, "wide", r#"{"roleRef":{"kind":"ClusterRole","name":"wide"},"subjects":[{"kind":"Group","name":"devs"}]}"#),
            (Kind::RoleBinding, "ns/view", r#"{"roleRef":{"kind":"ClusterRole","name":"view"},"subjects":[{"kind":"Group","name":"devs"}]}"#),
            (Kind::RoleBinding, "ns/gone", r#"{"roleRef":{"kind":"Role","name":"gone"},"subjects":[{"kind":"User","name":"bob"}]}"#),
            (Kind::ClusterRoleBinding, "gone", r#"{"roleRef":{"kind":"ClusterRole","name":"gone"},"subjects":[{"kind":"User","name":"bob"}]}"#),
        ];
        for (kind, key, json) in objects {
            put(&rbac, kind, key, json);
        }
        rbac
    }

    fn ask(rbac: &Rbac, name: &str, groups: &[&str], method: &str, address: &str) -> Decision {
        let user = User {
            name: name.into(),
            groups: groups.iter().map(|&group| group.into()).collect(),
            ..User::default()
        };
        let (path, query) = address.split_once('?').unwrap_or((address, ""));
        let method: Method = method.parse().unwrap();
        rbac.decide(&user, &RequestInfo::parse(&method, path, query).unwrap())
    }

    #[test]
    fn decisions() {
        let rbac = rbac();
        let robot = "system:serviceaccount:other:robot";
        #[rustfmt::skip]
        let table = [
            ("alice", &[][..], "GET", "/api/v1/namespaces/ns/configmaps", true),
            ("alice", &[], "GET", "/api/v1/namespaces/ns/configmaps/x", true),
            ("alice", &[], "GET", "/api/v1/namespaces/ns/configmaps?watch=1", false),
            ("alice", &[], "POST", "/api/v1/namespaces/ns/configmaps", false),
            ("alice", &[], "GET", "/api/v1/namespaces/other/configmaps", false),
            ("alice", &[], "GET", "/api/v1/configmaps", false),
            ("alice", &[], "GET", "/api/v1/namespaces/ns/secrets", false),
            (robot, &[], "GET", "/api/v1/namespaces/ns/configmaps", true),
            ("system:serviceaccount:ns:local", &[], "GET", "/api/v1/namespaces/ns/configmaps", true),
            ("carol", &["devs"], "DELETE", "/apis/apps/v1/namespaces/any/deployments/d", true),
            ("carol", &["devs"], "GET", "/apis/apps/v1/namespaces/any/deployments/d/status", false),
            ("carol", &["devs"], "GET", "/apis/apps/v1/namespaces/any/statefulsets/d/scale", true),
            ("carol", &["devs"], "GET", "/logs", true),
            ("carol", &["devs"], "POST", "/logs", false),
            ("carol", &["devs"], "GET", "/logs/x", false),
            ("carol", &["devs"], "GET", "/metrics/x/y", true),
            ("carol", &["devs"], "GET", "/metrics", false),
            ("carol", &["devs"], "GET", "/api/v1/namespaces/a/secrets/s", true),
            ("carol", &["devs"], "GET", "/api/v1/namespaces/a/secrets/t", false),
            ("carol", &["devs"], "GET", "/api/v1/namespaces/a/secrets", false),
            ("carol", &[], "GET", "/logs", false),
        ];
        for (name, groups, method, address, expected) in table {
            let allowed = matches!(ask(&rbac, name, groups, method, address), Decision::Allow(Some(_)));
            assert_eq!(allowed, expected, "{name} {groups:?} {method} {address}");
        }
    }

    #[test]
    fn reasons() {
        let rbac = rbac();
        #[rustfmt::skip]
        let table = [
            ("alice", &[][..], "/api/v1/namespaces/ns/configmaps", Decision::Allow(Some("RBAC: allowed by RoleBinding \"reader/ns\" of Role \"reader\" to User \"alice\"".into()))),
            ("system:serviceaccount:other:robot", &[], "/api/v1/namespaces/ns/configmaps", Decision::Allow(Some("RBAC: allowed by RoleBinding \"reader/ns\" of Role \"reader\" to ServiceAccount \"robot/other\"".into()))),
            ("carol", &["devs"], "/logs", Decision::Allow(Some("RBAC: allowed by ClusterRoleBinding \"wide\" of ClusterRole \"wide\" to Group \"devs\"".into()))),
            ("carol", &[], "/logs", Decision::NoOpinion(String::new())),
            ("bob", &[], "/logs", Decision::NoOpinion("RBAC: clusterrole.rbac.authorization.k8s.io \"gone\" not found".into())),
            ("bob", &[], "/api/v1/namespaces/ns/configmaps", Decision::NoOpinion("RBAC: [clusterrole.rbac.authorization.k8s.io \"gone\" not found, role.rbac.authorization.k8s.io \"gone\" not found]".into())),
        ];
        for (name, groups, address, expected) in table {
            assert_eq!(ask(&rbac, name, groups, "GET", address), expected, "{name} {address}");
        }
    }

    #[test]
    fn changes_count_at_once() {
        let rbac = rbac();
        let may = |method| {
            matches!(ask(&rbac, "alice", &[], method, "/api/v1/namespaces/ns/configmaps"), Decision::Allow(_))
        };
        assert!(may("GET") && !may("POST"));
        put(
            &rbac,
            Kind::Role,
            "ns/reader",
            r#"{"rules":[{"apiGroups":["*"],"resources":["*"],"verbs":["create"]}]}"#,
        );
        assert!(!may("GET") && may("POST"));
        rbac.set(Kind::Role, "ns/reader", None);
        assert!(!may("POST"));
        put(
            &rbac,
            Kind::Role,
            "ns/reader",
            r#"{"rules":[{"apiGroups":[""],"resources":["configmaps"],"verbs":["create"]}]}"#,
        );
        put(
            &rbac,
            Kind::RoleBinding,
            "ns/reader",
            r#"{"roleRef":{"kind":"Role","name":"reader"},"subjects":[{"kind":"User","name":"bob"}]}"#,
        );
        assert!(!may("POST"));
        rbac.set(Kind::RoleBinding, "ns/reader", None);
        assert!(!matches!(
            ask(&rbac, "bob", &[], "POST", "/api/v1/namespaces/ns/configmaps"),
            Decision::Allow(_)
        ));
    }

    /// The fastest of several rounds: what others do on the machine is not the question. The bounds are for a debug
    /// build.
    fn cost(rbac: &Rbac, user: &User, address: &str) -> std::time::Duration {
        let what = RequestInfo::parse(&Method::GET, address, "").unwrap();
        let round = || {
            let begun = std::time::Instant::now();
            for _ in 0..100 {
                std::hint::black_box(rbac.decide(user, &what));
            }
            begun.elapsed() / 100
        };
        (0..20).map(|_| round()).min().unwrap_or_default()
    }

    #[test]
    fn a_decision_costs_microseconds_however_many_bindings_there_are() {
        const NAMESPACES: usize = 1000;
        let rbac = Rbac::default();
        let reader = r#"{"rules":[{"apiGroups":["","apps"],"resources":["pods","deployments"],"verbs":["get","list"]}]}"#;
        put(&rbac, Kind::ClusterRole, "reader", reader);
        for at in 0..10 * NAMESPACES {
            let binding = format!(
                r#"{{"roleRef":{{"kind":"ClusterRole","name":"reader"}},"subjects":[{{"kind":"User","name":"u{at}"}},{{"kind":"Group","name":"g{}"}}]}}"#,
                at % 100
            );
            put(&rbac, Kind::RoleBinding, &format!("n{}/b{at}", at % NAMESPACES), &binding);
        }
        let groups = ["g1", "g2", "g3", "system:authenticated"].map(str::to_owned).to_vec();
        let user = User { name: "u42".into(), groups, ..User::default() };
        assert!(matches!(ask(&rbac, "u42", &[], "GET", "/api/v1/namespaces/n42/pods/p"), Decision::Allow(_)));
        let yes = cost(&rbac, &user, "/api/v1/namespaces/n42/pods/p");
        let no = cost(&rbac, &user, "/api/v1/namespaces/n43/secrets/s");
        println!("a decision among 10,000 bindings: yes {yes:?}, no {no:?}");
        assert!(yes.max(no) < std::time::Duration::from_micros(50), "{yes:?} {no:?}");
    }

    #[test]
    fn one_user_may_be_bound_to_thousands_of_roles() {
        let rbac = Rbac::default();
        for at in 0..10_000 {
            let role =
                format!(r#"{{"rules":[{{"apiGroups":["g"],"resources":["r{at}"],"verbs":["get"]}}]}}"#);
            put(&rbac, Kind::ClusterRole, &format!("r{at}"), &role);
            let binding = format!(
                r#"{{"roleRef":{{"kind":"ClusterRole","name":"r{at}"}},"subjects":[{{"kind":"User","name":"u"}}]}}"#
            );
            put(&rbac, Kind::ClusterRoleBinding, &format!("b{at}"), &binding);
        }
        let user = User { name: "u".into(), ..User::default() };
        assert!(matches!(ask(&rbac, "u", &[], "GET", "/apis/g/v1/r9999/x"), Decision::Allow(_)));
        let no = cost(&rbac, &user, "/apis/g/v1/none/x");
        println!("a decision among 10,000 roles of one user: {no:?}");
        assert!(no < std::time::Duration::from_millis(5), "{no:?}");
    }
}
