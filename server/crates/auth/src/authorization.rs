//! The authorizers in the order of `--authorization-mode`, behind the group that may do everything.

use std::sync::Arc;

use apiwright_chain::{Authorizer, Decision, RequestInfo, User};
use futures::future::BoxFuture;

use crate::rbac::{Granted, Rbac, Rule};

/// The group that is never asked.
const MASTERS: &str = "system:masters";

/// One authorizer.
#[derive(Clone)]
pub enum Mode {
    /// Yes to everything.
    AlwaysAllow,
    /// No to everything.
    AlwaysDeny,
    /// Roles and bindings.
    Rbac(Arc<Rbac>),
}

/// Asks one mode after the other: the first that has an opinion decides.
#[derive(Clone)]
pub struct Authorization(Vec<Mode>);

impl Authorization {
    /// These modes, in order.
    pub fn new(modes: Vec<Mode>) -> Self {
        Self(modes)
    }

    /// The decision. Reads memory only.
    pub fn decide(&self, user: &User, what: &RequestInfo) -> Decision {
        if user.in_group(MASTERS) {
            return Decision::Allow(None);
        }
        let mut reasons: Vec<String> = Vec::new();
        for mode in &self.0 {
            let decision = match mode {
                Mode::AlwaysAllow => Decision::Allow(None),
                Mode::AlwaysDeny => Decision::NoOpinion("Everything is forbidden.".into()),
                Mode::Rbac(rbac) => rbac.decide(user, what),
            };
            match decision {
                Decision::NoOpinion(reason) if reason.is_empty() => {}
                Decision::NoOpinion(reason) => reasons.push(reason),
                decided => return decided,
            }
        }
        Decision::NoOpinion(reasons.join("\n"))
    }

    /// The rules that apply to a user in a namespace, as far as the modes can list them.
    pub fn rules(&self, user: &User, namespace: &str) -> Granted {
        let mut all = Granted::default();
        for mode in &self.0 {
            match mode {
                Mode::AlwaysAllow => {
                    let star = || vec!["*".into()];
                    let resources =
                        Rule { verbs: star(), api_groups: star(), resources: star(), ..Rule::default() };
                    all.rules.push(resources);
                    all.rules.push(Rule { verbs: star(), non_resource_urls: star(), ..Rule::default() });
                }
                Mode::AlwaysDeny => {}
                Mode::Rbac(rbac) => {
                    let granted = rbac.granted(user, namespace);
                    all.rules.extend(granted.rules);
                    all.missing.extend(granted.missing);
                }
            }
        }
        all
    }
}

impl Authorizer for Authorization {
    fn authorize<'a>(&'a self, user: &'a User, what: &'a RequestInfo) -> BoxFuture<'a, Decision> {
        Box::pin(std::future::ready(self.decide(user, what)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_opinion_counts() {
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
            assert_eq!(Authorization::new(modes).decide(who, &what), expected);
        }
    }
}
