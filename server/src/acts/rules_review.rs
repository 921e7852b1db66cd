//! `SelfSubjectRulesReview`: what the caller may do in a namespace.

use std::sync::Arc;

use apiwright_auth::Authorization;
use apiwright_auth::rbac::Rule;
use apiwright_chain::User;
use apiwright_json::{Object, Str, Value};
use apiwright_meta::Status;
use apiwright_meta::status::Result;

use super::{Act, Acting, Answer, BoxFuture, ready, texts};

/// Lists rules.
pub(super) struct RulesReview {
    pub(super) authorization: Arc<Authorization>,
}

impl Act for RulesReview {
    fn act<'a>(&'a self, acting: Acting<'a>) -> BoxFuture<'a, Result<Answer>> {
        ready(review(&self.authorization, &acting.call.user, &acting.object))
    }
}

/// The answer is an object of its own: nothing of the question is kept.
fn review(authorization: &Authorization, user: &User, asked: &Value) -> Result<Value> {
    let namespace = asked.text_at(&["spec", "namespace"]);
    if namespace.is_empty() {
        return Err(Status::bad_request("no namespace on request"));
    }
    let granted = authorization.rules(user, namespace);
    let mut resources: Vec<Value> = Vec::new();
    let mut paths: Vec<Value> = Vec::new();
    for rule in &granted.rules {
        if !rule.resources.is_empty() {
            resources.push(resource_rule(rule));
        }
        if !rule.non_resource_urls.is_empty() {
            let mut shown = Object::new();
            shown.push("verbs", texts(&rule.verbs));
            shown.push("nonResourceURLs", texts(&rule.non_resource_urls));
            paths.push(shown.into());
        }
    }
    let mut status = Object::new();
    status.push("resourceRules", resources);
    status.push("nonResourceRules", paths);
    status.push("incomplete", granted.is_incomplete);
    match granted.errors.as_slice() {
        [] => {}
        [one] => status.push("evaluationError", one.as_str()),
        several => status.push("evaluationError", format!("[{}]", several.join(", "))),
    }
    let mut answer = Object::new();
    answer.push("kind", "SelfSubjectRulesReview");
    answer.push("apiVersion", "authorization.k8s.io/v1");
    answer.push("metadata", Object::new());
    answer.push("spec", Object::new());
    answer.push("status", status);
    Ok(answer.into())
}

fn resource_rule(rule: &Rule) -> Value {
    let mut shown = Object::new();
    shown.push("verbs", texts(&rule.verbs));
    let mut push = |key: &'static str, list: &[Str]| {
        if !list.is_empty() {
            shown.push(key, texts(list));
        }
    };
    push("apiGroups", &rule.api_groups);
    push("resources", &rule.resources);
    push("resourceNames", &rule.resource_names);
    shown.into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use apiwright_auth::Mode;
    use apiwright_auth::rbac::{Kind, Rbac};
    use apiwright_json::{decode, to_string};

    #[test]
    fn rules_of_the_caller() {
        let rbac = Rbac::default();
        for (kind, key, json) in [
            (
                Kind::Role,
                "ns/r",
                r#"{"rules":[{"apiGroups":[""],"resources":["pods"],"resourceNames":["p"],"verbs":["get"]}]}"#,
            ),
            (
                Kind::RoleBinding,
                "ns/b",
                r#"{"roleRef":{"kind":"Role","name":"r"},"subjects":[{"kind":"User","name":"u"}]}"#,
            ),
            (
                Kind::RoleBinding,
                "ns/c",
                r#"{"roleRef":{"kind":"Role","name":"gone"},"subjects":[{"kind":"User","name":"u"}]}"#,
            ),
            (Kind::ClusterRole, "c", r#"{"rules":[{"nonResourceURLs":["/x"],"verbs":["get"]}]}"#),
            (
                Kind::ClusterRoleBinding,
                "c",
                r#"{"roleRef":{"kind":"ClusterRole","name":"c"},"subjects":[{"kind":"User","name":"u"}]}"#,
            ),
        ] {
            rbac.set(kind, key, Some(json.as_bytes()));
        }
        let authorization = Authorization::new(vec![Mode::Rbac(Arc::new(rbac))]);
        let user = User { name: "u".into(), ..User::default() };
        let ask = |spec: &str| {
            let (asked, _) = decode(format!(r#"{{"spec":{spec}}}"#).as_bytes()).unwrap();
            review(&authorization, &user, &asked)
                .map(|answer| to_string(&answer))
                .map_err(|status| status.message)
        };
        assert_eq!(
            ask(r#"{"namespace":"ns"}"#).unwrap(),
            r#"{"kind":"SelfSubjectRulesReview","apiVersion":"authorization.k8s.io/v1","metadata":{},"spec":{},"status":{"resourceRules":[{"verbs":["get"],"apiGroups":[""],"resources":["pods"],"resourceNames":["p"]}],"nonResourceRules":[{"verbs":["get"],"nonResourceURLs":["/x"]}],"incomplete":false,"evaluationError":"role.rbac.authorization.k8s.io \"gone\" not found"}}"#
        );
        assert_eq!(ask("{}").unwrap_err(), "no namespace on request");
    }
}
