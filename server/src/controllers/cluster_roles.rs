//! ClusterRoles that are made of others.

use std::collections::BTreeSet;
use std::sync::{PoisonError, RwLock};

use apiwright_controllers::{Cache, Change, Identity, Next, Result, Writer};
use apiwright_json::{Object, Value};
use apiwright_meta::labels::LabelSelector;
use apiwright_meta::object;
use apiwright_meta::status::Reason;
use tracing::warn;

use super::look_up;
use crate::generated::controllers::clusterrole_aggregation_controller::{Controller, Facts, Role, Rules};

pub(super) const IDENTITY: Identity = Identity {
    user: "system:serviceaccount:kube-system:clusterrole-aggregation-controller",
    manager: "clusterrole-aggregation-controller",
};

/// Aggregates.
pub(super) struct Aggregation {
    roles: Cache,
    /// The names of those that aggregate.
    aggregated: RwLock<BTreeSet<Box<str>>>,
    writer: Writer,
}

impl Aggregation {
    pub(super) fn new(roles: Cache, writer: Writer) -> Self {
        Self { roles, aggregated: RwLock::default(), writer }
    }

    /// The rules of all that a role selects, each once.
    fn rules(&self, role: &Value) -> Vec<Value> {
        let store = &self.roles.store;
        let mut others = self.roles.list();
        others.sort_by(|a, b| store.facts(a).name.cmp(&store.facts(b).name));
        let mut rules: Vec<Value> = Vec::new();
        for selector in items(role.at(&["aggregationRule", "clusterRoleSelectors"])) {
            let selector = match LabelSelector::from_object(selector) {
                Ok(selector) => selector,
                Err(why) => {
                    warn!(role = object::name(role), why, "a selector of cluster roles is no selector");
                    continue;
                }
            };
            for other in &others {
                let facts = store.facts(other);
                if facts.name == object::name(role) || !selector.matches(|key| facts.label(key)) {
                    continue;
                }
                let Ok(other) = store.decode(other) else { continue };
                for rule in items(other.get("rules")) {
                    if !rules.contains(rule) {
                        rules.push(rule.clone());
                    }
                }
            }
        }
        rules
    }
}

impl Controller for Aggregation {
    type Observed = Vec<Value>;

    async fn observe(&self, key: &str) -> Result<(Facts, Vec<Value>)> {
        let Some(role) = look_up::object(&self.roles.store, "", key).await? else {
            return Ok((Facts { role: Role::Absent, rules: Rules::Current }, Vec::new()));
        };
        if !aggregates(&role) {
            return Ok((Facts { role: Role::Plain, rules: Rules::Current }, Vec::new()));
        }
        let wanted = self.rules(&role);
        let is_current = items(role.get("rules")).eq(wanted.iter());
        let rules = if is_current { Rules::Current } else { Rules::Stale };
        Ok((Facts { role: Role::Aggregated, rules }, wanted))
    }

    async fn aggregate(&self, key: &str, rules: Vec<Value>) -> Result<Next> {
        let mut config =
            Object::from_iter([("kind", "ClusterRole"), ("apiVersion", "rbac.authorization.k8s.io/v1")]);
        config.push("metadata", Object::from_iter([("name", key)]));
        if !rules.is_empty() {
            config.push("rules", rules);
        }
        let written = self.writer.apply(&self.roles.store, ("", key), "", &config.into()).await;
        look_up::unless(written, Reason::NotFound).map(|()| Next::Done)
    }

    fn keys(&self, change: &Change<'_>, add: &mut dyn FnMut(&str)) {
        let Some(facts) = change.facts() else { return };
        let mut all = self.aggregated.write().unwrap_or_else(PoisonError::into_inner);
        if change.new.is_some() && change.decode().is_some_and(|role| aggregates(&role)) {
            all.insert(facts.name.as_str().into());
        } else {
            all.remove(facts.name.as_str());
        }
        for name in all.iter() {
            add(name);
        }
    }
}

fn aggregates(role: &Value) -> bool {
    role.get("aggregationRule").is_some_and(|rule| !rule.is_null())
}

fn items(list: Option<&Value>) -> impl Iterator<Item = &Value> {
    list.and_then(Value::as_array).into_iter().flatten()
}
