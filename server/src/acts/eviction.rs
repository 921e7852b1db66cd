//! `pods/eviction`: deletes a pod where its disruption budget lets it go.

use std::sync::Arc;

use apiwright_json::{Object, Value};
use apiwright_meta::field::Cause;
use apiwright_meta::gvk::GroupResource;
use apiwright_meta::labels::LabelSelector;
use apiwright_meta::status::Result;
use apiwright_meta::{Status, object, time};
use apiwright_registry::{
    Check, DeleteOptions, Freshness, Paging, Propagation, Selection, Store, WriteOptions,
};
use apiwright_storage::Storage;

use super::{Act, Acting, Answer, BoxFuture, stores};

const WOULD_VIOLATE: &str = "Cannot evict pod as it would violate the pod's disruption budget.";
const TWO_BUDGETS: &str =
    "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.";
/// How many evictions a budget may wait to hear of.
const DISRUPTED_MAX: i64 = 2000;

/// Evicts pods.
pub(super) struct Eviction {
    pub(super) storage: Arc<dyn Storage>,
}

impl Act for Eviction {
    fn act<'a>(&'a self, acting: Acting<'a>) -> BoxFuture<'a, Result<Answer>> {
        Box::pin(async move {
            let (eviction, name) = (&acting.object, acting.name);
            if object::name(eviction) != name {
                return Err(Status::bad_request("name in URL does not match name in Eviction object"));
            }
            let pods = acting.server.store();
            let dry_run = is_dry_run(&acting)?;
            let pod = pods.decode(&pods.get(acting.namespace, name, Freshness::Latest).await?)?;
            acting.check.check(Some(eviction), None).await?;
            let mut options = delete_options(eviction);
            let is_protected = !may_go(&pod) && self.ask_budget(&pod, dry_run).await?;
            if !is_protected && options.resource_version.is_none() {
                // What was decided holds for the pod as it was seen.
                options.resource_version = Some(object::resource_version(&pod).to_owned());
            }
            if !dry_run {
                let mut is_told = false;
                let mut say_why = |pod: &mut Value| {
                    is_told = concerns(&options, pod);
                    if is_told {
                        disrupted(pod);
                    }
                    Ok(())
                };
                let told = pods.adjust(acting.namespace, name, false, &mut say_why).await?;
                if is_told && options.resource_version.is_some() {
                    options.resource_version = Some(told.mod_revision.to_string());
                }
            }
            let write = WriteOptions { user: acting.call.writer(), dry_run, ..WriteOptions::default() };
            pods.delete(&write, acting.namespace, name, &options, &Anything).await?;
            Ok(Answer::Done)
        })
    }
}

impl Eviction {
    /// Asks the pod's budget, where there is one; gives whether it was charged.
    async fn ask_budget(&self, pod: &Value, dry_run: bool) -> Result<bool> {
        let store = stores::store("policy", "poddisruptionbudgets", &self.storage)?;
        let namespace = object::namespace(pod);
        let budgets = budgets(&store, namespace, pod).await?;
        let budget = match budgets.as_slice() {
            [] => return Ok(false),
            [budget] => budget,
            _ => return Err(Status::unclassified(TWO_BUDGETS)),
        };
        if !is_ready(pod) {
            let count = |member: &str| number(budget, member);
            let healthy = count("currentHealthy") >= count("desiredHealthy") && count("desiredHealthy") > 0;
            if budget.text_at(&["spec", "unhealthyPodEvictionPolicy"]) == "AlwaysAllow" || healthy {
                return Ok(false);
            }
        }
        let mut change = |budget: &mut Value| charge(budget, object::name(pod));
        store.adjust(namespace, object::name(budget), dry_run, &mut change).await?;
        Ok(true)
    }
}

/// The budgets whose selector matches the pod.
async fn budgets(store: &Store, namespace: &str, pod: &Value) -> Result<Vec<Value>> {
    let labels = pod.at(&["metadata", "labels"]).and_then(Value::as_object);
    let Some(labels) = labels.filter(|labels| !labels.is_empty()) else { return Ok(Vec::new()) };
    let selection = Selection { namespace: namespace.into(), ..Selection::default() };
    let page = store.list(&selection, Freshness::Latest, &Paging::default()).await?;
    let mut found = Vec::new();
    for entry in &page.entries {
        let budget = store.decode(entry)?;
        let selector = budget.at(&["spec", "selector"]).filter(|selector| !selector.is_null());
        let parsed = selector.and_then(|selector| LabelSelector::from_object(selector).ok());
        if parsed.is_some_and(|selector| selector.matches(|key| labels.str(key))) {
            found.push(budget);
        }
    }
    Ok(found)
}

/// Takes one disruption from a budget.
fn charge(budget: &mut Value, pod: &str) -> Result<()> {
    let name = object::name(budget).to_owned();
    let count = |member: &str| number(budget, member);
    if count("observedGeneration") < object::generation(budget) {
        let why = format!("The disruption budget {name} is still being processed by the server.");
        return Err(too_many(10, why));
    }
    let allowed = count("disruptionsAllowed");
    let resource = GroupResource { group: "policy".into(), resource: "poddisruptionbudget".into() };
    if allowed < 0 {
        return Err(Status::forbidden(&resource, &name, "pdb disruptions allowed is negative"));
    }
    let waiting = budget.at(&["status", "disruptedPods"]).and_then(Value::as_object).map_or(0, Object::len);
    if i64::try_from(waiting).is_ok_and(|waiting| waiting > DISRUPTED_MAX) {
        let why = "DisruptedPods map too big - too many evictions not confirmed by PDB controller";
        return Err(Status::forbidden(&resource, &name, why));
    }
    if allowed == 0 {
        let why = format!(
            "The disruption budget {name} needs {} healthy pods and has {} currently",
            count("desiredHealthy"),
            count("currentHealthy")
        );
        return Err(too_many(0, why));
    }
    let generation = object::generation(budget);
    let Some(status) = budget.as_object_mut().map(|budget| budget.object("status")) else { return Ok(()) };
    status.insert("disruptionsAllowed", allowed - 1);
    if allowed == 1 {
        exhausted(status, generation);
    }
    let disrupted = status.object("disruptedPods");
    disrupted.insert(pod, time::now());
    disrupted.sort();
    Ok(())
}

/// Notes that nothing more may be disrupted.
fn exhausted(status: &mut Object, generation: i64) {
    let mut condition = Object::from_iter([("type", "DisruptionAllowed"), ("status", "False")]);
    condition.push("observedGeneration", generation);
    condition.push("lastTransitionTime", time::now());
    condition.push("reason", "InsufficientPods");
    condition.push("message", "");
    let conditions = status.entry("conditions", || Value::Array(Vec::new()));
    let Some(conditions) = conditions.as_array_mut() else { return };
    match conditions.iter_mut().find(|one| one.text_at(&["type"]) == "DisruptionAllowed") {
        Some(one) => *one = condition.into(),
        None => conditions.push(condition.into()),
    }
}

fn too_many(retry_after_seconds: u32, why: String) -> Box<Status> {
    let mut status = Status::too_many_requests(WOULD_VIOLATE, retry_after_seconds);
    let cause = Cause { reason: "DisruptionBudget".into(), message: why, field: String::new() };
    status.details.get_or_insert_default().causes.push(cause);
    status
}

/// Whether it is this very pod that is to go; the deletion says what is wrong otherwise.
fn concerns(options: &DeleteOptions, pod: &Value) -> bool {
    let holds = |wanted: &Option<String>, is: &str| wanted.as_deref().is_none_or(|wanted| wanted == is);
    holds(&options.uid, object::uid(pod)) && holds(&options.resource_version, object::resource_version(pod))
}

/// Notes why the pod goes: what runs it may want to know that it was not the pod's fault.
fn disrupted(pod: &mut Value) {
    let generation = object::generation(pod);
    let Some(status) = pod.as_object_mut().map(|pod| pod.object("status")) else { return };
    let mut condition = Object::from_iter([("type", "DisruptionTarget")]);
    if generation != 0 {
        condition.push("observedGeneration", generation);
    }
    condition.push("status", "True");
    condition.push("lastProbeTime", Value::Null);
    condition.push("lastTransitionTime", time::now());
    condition.push("reason", "EvictionByEvictionAPI");
    condition.push("message", "Eviction API: evicting");
    let conditions = status.entry("conditions", || Value::Array(Vec::new()));
    let Some(conditions) = conditions.as_array_mut() else { return };
    match conditions.iter_mut().find(|one| one.text_at(&["type"]) == "DisruptionTarget") {
        Some(one) => {
            if one.text_at(&["status"]) == "True"
                && let Some(since) = one.get("lastTransitionTime")
            {
                condition.insert("lastTransitionTime", since.clone());
            }
            *one = condition.into();
        }
        None => conditions.push(condition.into()),
    }
}

/// Whether a pod disrupts nobody any more, or not yet.
fn may_go(pod: &Value) -> bool {
    matches!(pod.text_at(&["status", "phase"]), "Succeeded" | "Failed" | "Pending")
        || object::deletion_timestamp(pod).is_some()
}

fn is_ready(pod: &Value) -> bool {
    let conditions = pod.at(&["status", "conditions"]).and_then(Value::as_array);
    let mut conditions = conditions.into_iter().flatten();
    conditions.any(|one| one.text_at(&["type"]) == "Ready" && one.text_at(&["status"]) == "True")
}

fn number(budget: &Value, member: &str) -> i64 {
    budget.at(&["status", member]).and_then(Value::as_i64).unwrap_or_default()
}

/// The query and the body must agree on whether anything is stored.
fn is_dry_run(acting: &Acting<'_>) -> Result<bool> {
    let asked: Vec<&str> = acting
        .object
        .at(&["deleteOptions", "dryRun"])
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    let query: &[&str] = if acting.dry_run { &["All"] } else { &[] };
    if acting.dry_run && !asked.is_empty() && asked != query {
        return Err(Status::bad_request(format!(
            "Non-matching dry-run options in request and content: [{}] and [{}]",
            query.join(" "),
            asked.join(" ")
        )));
    }
    Ok(acting.dry_run || !asked.is_empty())
}

fn delete_options(eviction: &Value) -> DeleteOptions {
    let text = |path: &[&str]| {
        let path = [&["deleteOptions"], path].concat();
        eviction.at(&path).and_then(Value::as_str).map(str::to_owned)
    };
    let orphan = eviction.at(&["deleteOptions", "orphanDependents"]).and_then(Value::as_bool);
    let propagation = match (text(&["propagationPolicy"]).as_deref(), orphan) {
        (Some("Orphan"), _) | (None, Some(true)) => Some(Propagation::Orphan),
        (Some("Background"), _) | (None, Some(false)) => Some(Propagation::Background),
        (Some("Foreground"), _) => Some(Propagation::Foreground),
        _ => None,
    };
    DeleteOptions {
        grace_period_seconds: eviction.at(&["deleteOptions", "gracePeriodSeconds"]).and_then(Value::as_i64),
        uid: text(&["preconditions", "uid"]),
        resource_version: text(&["preconditions", "resourceVersion"]),
        propagation,
    }
}

/// Whoever may evict a pod may delete it.
struct Anything;

impl Check for Anything {
    fn check<'a>(&'a self, _new: Option<&'a Value>, _old: Option<&'a Value>) -> BoxFuture<'a, Result<()>> {
        Box::pin(std::future::ready(Ok(())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pods_are_told_why_they_go() {
        let told = |pod: &str| {
            let mut pod = apiwright_json::decode(pod.as_bytes()).unwrap().0;
            disrupted(&mut pod);
            pod.at(&["status", "conditions"]).and_then(Value::as_array).unwrap().clone()
        };
        let first = told(r#"{"metadata":{"generation":2},"status":{"conditions":[{"type":"Ready"}]}}"#);
        assert_eq!(first.len(), 2);
        assert_eq!(first[1].text_at(&["reason"]), "EvictionByEvictionAPI");
        assert_eq!(first[1].at(&["observedGeneration"]).and_then(Value::as_i64), Some(2));
        let again = r#"{"status":{"conditions":[{"type":"DisruptionTarget","status":"True","lastTransitionTime":"2026-01-02T03:04:05Z"}]}}"#;
        let again = told(again);
        assert_eq!(again.len(), 1);
        assert_eq!(again[0].text_at(&["lastTransitionTime"]), "2026-01-02T03:04:05Z");
    }

    #[test]
    fn it_is_that_pod_or_none() {
        let pod = apiwright_json::decode(br#"{"metadata":{"uid":"u","resourceVersion":"7"}}"#).unwrap().0;
        for (uid, version, expected) in [
            (None, None, true),
            (Some("u"), Some("7"), true),
            (Some("x"), None, false),
            (None, Some("6"), false),
        ] {
            let options = DeleteOptions {
                uid: uid.map(str::to_owned),
                resource_version: version.map(str::to_owned),
                ..DeleteOptions::default()
            };
            assert_eq!(concerns(&options, &pod), expected, "{uid:?} {version:?}");
        }
    }

    #[test]
    fn charging_a_budget() {
        let table = [
            (r#""disruptionsAllowed":1"#, "", 0),
            (
                r#""disruptionsAllowed":0,"desiredHealthy":2,"currentHealthy":1"#,
                "The disruption budget b needs 2 healthy pods and has 1 currently",
                0,
            ),
            (
                r#""observedGeneration":-1"#,
                "The disruption budget b is still being processed by the server.",
                10,
            ),
        ];
        for (status, expected, retry) in table {
            let text = format!("{{\"metadata\":{{\"name\":\"b\"}},\"status\":{{{status}}}}}");
            let mut budget = apiwright_json::decode(text.as_bytes()).unwrap().0;
            match charge(&mut budget, "p") {
                Ok(()) => {
                    assert_eq!(expected, "");
                    assert_eq!(number(&budget, "disruptionsAllowed"), 0);
                    assert!(budget.at(&["status", "disruptedPods", "p"]).is_some());
                }
                Err(status) => {
                    assert_eq!(status.code, 429);
                    let details = status.details.unwrap();
                    assert_eq!(details.causes[0].message, expected);
                    assert_eq!(details.retry_after_seconds, retry);
                }
            }
        }
    }
}
