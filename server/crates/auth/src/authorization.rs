//! The authorizers in the order of `--authorization-mode`, behind the group that may do everything.

use std::sync::Arc;

use apiwright_chain::{Authorizer, Decision, Failure, RequestInfo, User};
use apiwright_meta::node_identity::node_of;
use arc_swap::ArcSwap;
use futures::future::BoxFuture;

use crate::node::NodeAuthorizer;
use crate::rbac::{Granted, Rbac, Rule};
use crate::webhook::WebhookAuthorizer;

/// The group that is never asked.
const MASTERS: &str = "system:masters";

/// One authorizer.
#[derive(Clone)]
pub enum Mode {
    /// Yes to everything.
    AlwaysAllow,
    /// No to everything.
    AlwaysDeny,
    /// What nodes may.
    Node(Arc<NodeAuthorizer>),
    /// Roles and bindings.
    Rbac(Arc<Rbac>),
    /// A server outside.
    Webhook(Arc<WebhookAuthorizer>),
}

/// Asks one mode after the other: the first that has an opinion decides.
pub struct Authorization(ArcSwap<Vec<Mode>>);

impl Authorization {
    /// These modes, in order.
    pub fn new(modes: Vec<Mode>) -> Self {
        Self(ArcSwap::from_pointee(modes))
    }

    /// Other modes, for requests from now on.
    pub fn replace(&self, modes: Vec<Mode>) {
        self.0.store(Arc::new(modes));
    }

    /// The decision.
    pub async fn decide(&self, user: &User, what: &RequestInfo) -> Decision {
        if user.in_group(MASTERS) {
            return Decision::Allow(None);
        }
        let modes = self.0.load_full();
        let (mut reasons, mut errors) = (Vec::new(), Vec::new());
        for mode in modes.iter() {
            match mode.decide(user, what).await {
                Decision::NoOpinion(reason) => reasons.push(reason),
                Decision::Failed(failure) if !failure.denies => {
                    reasons.push(failure.reason);
                    errors.push(failure.error);
                }
                decided => return decided,
            }
        }
        reasons.retain(|reason| !reason.is_empty());
        let reason = reasons.join("\n");
        match aggregate(errors) {
            None => Decision::NoOpinion(reason),
            Some(error) => Decision::Failed(Box::new(Failure { denies: false, reason, error })),
        }
    }

    /// The rules that apply to a user in a namespace, as far as the modes can list them.
    pub fn rules(&self, user: &User, namespace: &str) -> Granted {
        let mut all = Granted::default();
        for mode in self.0.load().iter() {
            match mode {
                Mode::AlwaysAllow => {
                    let star = || vec!["*".into()];
                    let resources =
                        Rule { verbs: star(), api_groups: star(), resources: star(), ..Rule::default() };
                    all.rules.push(resources);
                    all.rules.push(Rule { verbs: star(), non_resource_urls: star(), ..Rule::default() });
                }
                Mode::AlwaysDeny => {}
                Mode::Node(_) => {
                    if node_of(&user.name, &user.groups).is_some() {
                        all.is_incomplete = true;
                        all.errors.push("node authorizer does not support user rule resolution".into());
                    }
                }
                Mode::Webhook(_) => {
                    all.is_incomplete = true;
                    all.errors.push("webhook authorizer does not support user rule resolution".into());
                }
                Mode::Rbac(rbac) => {
                    let granted = rbac.granted(user, namespace);
                    all.rules.extend(granted.rules);
                    all.errors.extend(granted.errors);
                }
            }
        }
        all
    }
}

impl Mode {
    async fn decide(&self, user: &User, what: &RequestInfo) -> Decision {
        match self {
            Self::AlwaysAllow => Decision::Allow(None),
            Self::AlwaysDeny => Decision::NoOpinion("Everything is forbidden.".into()),
            Self::Node(nodes) => nodes.decide(user, what),
            Self::Rbac(rbac) => rbac.decide(user, what),
            Self::Webhook(webhook) => webhook.decide(user, what).await,
        }
    }
}

/// Errors as upstream tells several: each once, in brackets.
pub(crate) fn aggregate(mut errors: Vec<String>) -> Option<String> {
    let mut seen = std::collections::HashSet::new();
    errors.retain(|error| seen.insert(error.clone()));
    match errors.as_slice() {
        [] => None,
        [one] => Some(one.clone()),
        several => Some(format!("[{}]", several.join(", "))),
    }
}

impl Authorizer for Authorization {
    fn authorize<'a>(&'a self, user: &'a User, what: &'a RequestInfo) -> BoxFuture<'a, Decision> {
        Box::pin(self.decide(user, what))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_first_opinion_counts() {
        let user = User { name: "u".into(), ..User::default() };
        let master = User { groups: vec![MASTERS.into()], ..User::default() };
        let what = RequestInfo::default();
        let denied = Decision::NoOpinion("Everything is forbidden.".into());
        for (modes, who, expected) in [
            (vec![Mode::AlwaysAllow], &user, Decision::Allow(None)),
            (vec![Mode::AlwaysDeny], &user, denied.clone()),
            (vec![Mode::AlwaysDeny, Mode::AlwaysAllow], &user, Decision::Allow(None)),
            (vec![Mode::AlwaysDeny, Mode::Rbac(Arc::default())], &user, denied),
            (vec![Mode::AlwaysDeny], &master, Decision::Allow(None)),
            (vec![], &user, Decision::NoOpinion(String::new())),
        ] {
            assert_eq!(Authorization::new(modes).decide(who, &what).await, expected);
        }
    }
}
