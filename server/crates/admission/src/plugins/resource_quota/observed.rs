//! What is used of a quota, counted anew: what a quota controller writes into its status.

use apiwright_json::Value;
use apiwright_meta::GroupResource;

use super::evaluator::{CLAIMS, Evaluator, PLAIN, amount};
use super::{hard_and_used, scopes};
use crate::plugins::values::{ResourceList, add, object_at, resource_list, to_value};

/// What is used of a quota.
#[derive(Debug, Default)]
pub struct Observed(ResourceList);

/// The resources whose objects a quota counts.
pub fn counted(quota: &Value) -> Vec<GroupResource> {
    let hard = resource_list(quota, &["spec", "hard"]);
    let core = ["pods", "services", CLAIMS].into_iter().chain(PLAIN).map(|plural| ("", plural));
    let named = hard.keys().filter_map(|name| {
        let name = name.strip_prefix("count/")?;
        let (plural, group) = name.split_once('.').unwrap_or((name, ""));
        Some((group, plural))
    });
    let mut resources: Vec<GroupResource> = Vec::new();
    for (group, plural) in core.chain(named) {
        let resource = GroupResource { group: group.into(), resource: plural.into() };
        if !Evaluator::new(&resource).restricted(hard.keys()).is_empty() && !resources.contains(&resource) {
            resources.push(resource);
        }
    }
    resources
}

impl Observed {
    /// Counts the objects of a resource.
    pub fn count(
        &mut self,
        quota: &Value,
        resource: &GroupResource,
        objects: impl IntoIterator<Item = Value>,
    ) {
        let evaluator = Evaluator::new(resource);
        let hard = resource_list(quota, &["spec", "hard"]);
        let restricted = evaluator.restricted(hard.keys());
        for name in &restricted {
            self.0.entry(name.clone()).or_insert_with(|| amount(0));
        }
        for object in objects {
            if scopes::cover(quota, &evaluator, &object) {
                let mut usage = evaluator.usage(&object);
                usage.retain(|name, _| restricted.contains(name));
                add(&mut self.0, &usage);
            }
        }
    }

    /// Whether a quota's status says so.
    pub fn is_said_by(&self, quota: &Value) -> bool {
        let (hard, used) = hard_and_used(quota);
        let said = |part: &str| quota.at(&["status", part]).is_some_and(|list| !list.is_null());
        let wanted = resource_list(quota, &["spec", "hard"]);
        (wanted.is_empty() || said("hard") && said("used")) && hard == wanted && used == self.0
    }

    /// Has a quota's status say so.
    pub fn say(&self, quota: &mut Value) {
        let hard = resource_list(quota, &["spec", "hard"]);
        let status = object_at(quota, &["status"]);
        status.insert("hard", to_value(&hard));
        status.insert("used", to_value(&self.0));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(text: &str) -> Value {
        apiwright_json::decode(text.as_bytes()).unwrap().0
    }

    #[test]
    fn which_resources_count() {
        for (hard, expected) in [
            ("{}", ""),
            (r#"{"pods":"1"}"#, "pods"),
            (r#"{"requests.cpu":"1","limits.memory":"1"}"#, "pods"),
            (r#"{"services.nodeports":"1","configmaps":"1"}"#, "services configmaps"),
            (r#"{"gold.storageclass.storage.k8s.io/requests.storage":"1"}"#, "persistentvolumeclaims"),
            (r#"{"count/pods":"1","count/widgets.example.com":"1","odd":"1"}"#, "pods widgets.example.com"),
        ] {
            let quota = value(&format!(r#"{{"spec":{{"hard":{hard}}}}}"#));
            let found: Vec<String> = counted(&quota).iter().map(ToString::to_string).collect();
            assert_eq!(found.join(" "), expected, "{hard}");
        }
    }

    #[test]
    #[rustfmt::skip]
    fn what_is_used() {
        let pod = |cpu: &str, phase: &str| value(&format!(
            r#"{{"metadata":{{"name":"p"}},"spec":{{"containers":[{{"name":"c","resources":{{"requests":{{"cpu":"{cpu}"}}}}}}]}},"status":{{"phase":"{phase}"}}}}"#));
        let table: [(&str, &str, &str); 5] = [
            (r#"{"hard":{"pods":"3","requests.cpu":"2"}}"#, "", r#"{"hard":{"pods":"3","requests.cpu":"2"},"used":{"pods":"0","requests.cpu":"0"}}"#),
            (r#"{"hard":{"pods":"3","requests.cpu":"2"}}"#, "100m Running 1 Running", r#"{"hard":{"pods":"3","requests.cpu":"2"},"used":{"pods":"2","requests.cpu":"1100m"}}"#),
            (r#"{"hard":{"pods":"3","count/pods":"9"}}"#, "1 Running 1 Succeeded", r#"{"hard":{"pods":"3","count/pods":"9"},"used":{"count/pods":"2","pods":"1"}}"#),
            (r#"{"hard":{"pods":"3"},"scopes":["BestEffort"]}"#, "1 Running", r#"{"hard":{"pods":"3"},"used":{"pods":"0"}}"#),
            (r#"{"hard":{"odd":"3"}}"#, "1 Running", r#"{"hard":{"odd":"3"},"used":{}}"#),
        ];
        for (spec, pods, expected) in table {
            let mut quota = value(&format!(r#"{{"spec":{spec}}}"#));
            let words: Vec<&str> = pods.split_whitespace().collect();
            let mut observed = Observed::default();
            for resource in counted(&quota) {
                observed.count(&quota, &resource, words.chunks(2).map(|two| pod(two[0], two[1])));
            }
            assert!(!observed.is_said_by(&quota), "{spec}");
            observed.say(&mut quota);
            assert!(observed.is_said_by(&quota), "{spec}");
            assert_eq!(quota.get("status"), Some(&value(expected)), "{spec} {pods}");
        }
    }
}
