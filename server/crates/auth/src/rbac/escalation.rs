//! Nobody grants more than they have: roles and bindings are checked against their writer's own rules.
//!
//! Runs last of what may change an object, before its validation. The verbs `escalate` (on a
//! role) and `bind` (on the role that is bound) lift the check.

use std::sync::Arc;

use apiwright_admission::{Attributes, Operation, Plugin};
use apiwright_chain::{Decision, RequestInfo, User};
use apiwright_json::Value;
use apiwright_meta::status::Result;
use apiwright_meta::{Status, object};
use futures::future::BoxFuture;

use super::covers::{lacking, quoted_list};
use super::{Rbac, Rule};
use crate::authorization::Authorization;

const GROUP: &str = "rbac.authorization.k8s.io";

/// The check.
pub struct Escalation {
    rbac: Arc<Rbac>,
    authorization: Arc<Authorization>,
}

impl Escalation {
    /// Checks against these rules; what lifts the check is asked of the authorizers.
    pub fn new(rbac: Arc<Rbac>, authorization: Arc<Authorization>) -> Self {
        Self { rbac, authorization }
    }

    async fn check(&self, request: &Attributes<'_>, object: &Value, old: Option<&Value>) -> Result<()> {
        let user = User {
            name: request.user.name.into(),
            uid: request.user.uid.into(),
            groups: request.user.groups.to_vec(),
            extra: request.user.extra.to_vec(),
        };
        if user.in_group("system:masters") {
            return Ok(());
        }
        match &*request.resource.plural {
            "roles" | "clusterroles" => self.check_role(request, &user, object, old).await,
            _ => self.check_binding(request, &user, object, old).await,
        }
    }

    async fn check_role(
        &self,
        request: &Attributes<'_>,
        user: &User,
        role: &Value,
        old: Option<&Value>,
    ) -> Result<()> {
        let unchanged = |key| old.is_some_and(|old| given(old, key) == given(role, key));
        if unchanged("rules") && unchanged("aggregationRule") {
            return Ok(());
        }
        if self.may(user, "escalate", &request.resource.plural, request.namespace, request.name).await {
            return Ok(());
        }
        let aggregates = |role: &Value| given(role, "aggregationRule").is_some();
        if (aggregates(role) || old.is_some_and(aggregates))
            && !self.missing(user, "", &everything()).0.is_empty()
        {
            let why = "must have cluster-admin privileges to use the aggregationRule";
            return Err(Status::forbidden(&request.resource.group_resource(), object::name(role), why));
        }
        self.refuse_missing(request, user, role, &Rule::read_all(role))
    }

    async fn check_binding(
        &self,
        request: &Attributes<'_>,
        user: &User,
        binding: &Value,
        old: Option<&Value>,
    ) -> Result<()> {
        if old.is_some_and(|old| only_ownership_differs(old, binding)) {
            return Ok(());
        }
        let name = binding.text_at(&["roleRef", "name"]);
        let is_cluster_role = binding.text_at(&["roleRef", "kind"]) == "ClusterRole";
        let plural = if is_cluster_role { "clusterroles" } else { "roles" };
        if self.may(user, "bind", plural, request.namespace, name).await {
            return Ok(());
        }
        let Some(rules) = self.rbac.rules_of(is_cluster_role, request.namespace, name) else {
            return Err(Status::not_found(&request.resource.group_resource(), name));
        };
        self.refuse_missing(request, user, binding, &rules)
    }

    fn refuse_missing(
        &self,
        request: &Attributes<'_>,
        user: &User,
        object: &Value,
        rules: &[Rule],
    ) -> Result<()> {
        let (missing, unresolved) = self.missing(user, request.namespace, rules);
        if missing.is_empty() {
            return Ok(());
        }
        let mut why = format!(
            "user {:?} (groups={}) is attempting to grant RBAC permissions not currently held:\n{}",
            user.name,
            quoted_list(&user.groups),
            missing.join("\n")
        );
        if !unresolved.is_empty() {
            why.push_str(&format!("; resolution errors: [{}]", unresolved.join(", ")));
        }
        Err(Status::forbidden(&request.resource.group_resource(), object::name(object), why))
    }

    /// What a user lacks of some rules, and which of the user's own roles are not there.
    fn missing(&self, user: &User, namespace: &str, rules: &[Rule]) -> (Vec<String>, Vec<String>) {
        let granted = self.rbac.granted(user, namespace);
        (lacking(&granted.rules, rules).into_iter().collect(), granted.errors)
    }

    async fn may(&self, user: &User, verb: &str, plural: &str, namespace: &str, name: &str) -> bool {
        let what = RequestInfo {
            is_resource: true,
            verb: verb.into(),
            group: GROUP.into(),
            version: "*".into(),
            resource: plural.into(),
            namespace: namespace.into(),
            name: name.into(),
            ..RequestInfo::default()
        };
        matches!(self.authorization.decide(user, &what).await, Decision::Allow(_))
    }
}

impl Plugin for Escalation {
    fn name(&self) -> &'static str {
        "RBACEscalation"
    }

    fn concerns(&self, request: &Attributes<'_>) -> bool {
        matches!(request.operation, Operation::Create | Operation::Update)
            && *request.resource.group == *GROUP
            && request.subresource.is_empty()
    }

    fn mutate<'a>(
        &'a self,
        request: &'a Attributes<'a>,
        object: Option<&'a mut Value>,
        old: Option<&'a Value>,
    ) -> BoxFuture<'a, Result<()>> {
        Box::pin(async move {
            match object {
                Some(object) => self.check(request, object, old).await,
                None => Ok(()),
            }
        })
    }
}

/// A member that says something.
fn given<'a>(role: &'a Value, key: &str) -> Option<&'a Value> {
    role.get(key).filter(|value| !value.is_null() && value.as_array().is_none_or(|items| !items.is_empty()))
}

/// All that there is.
fn everything() -> [Rule; 2] {
    let star = || vec!["*".into()];
    [
        Rule { verbs: star(), api_groups: star(), resources: star(), ..Rule::default() },
        Rule { verbs: star(), non_resource_urls: star(), ..Rule::default() },
    ]
}

/// Whether a write changes nothing but what the garbage collector must change to do its work.
fn only_ownership_differs(old: &Value, new: &Value) -> bool {
    let rest = |object: &Value| {
        let mut object = object.clone();
        let metadata = object::metadata_mut(&mut object);
        for key in ["ownerReferences", "finalizers", "managedFields", "resourceVersion", "selfLink"] {
            metadata.remove(key);
        }
        object
    };
    rest(old) == rest(new)
}
