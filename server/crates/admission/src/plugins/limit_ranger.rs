//! `LimitRanger`: fills in what containers leave out, and refuses what is out of a namespace's ranges.

use apiwright_json::Value;
use apiwright_meta::object;
use apiwright_meta::quantity::Quantity;
use apiwright_meta::status::Result;
use futures::FutureExt;
use futures::future::BoxFuture;

use super::limits::{Constraint, Usage};
use super::pod_resources::{Side, of_container, of_containers};
use super::values::{ResourceList, items, object_at, resource_list, text};
use crate::attributes::{Attributes, Operation};
use crate::objects::Objects;
use crate::plugin::Plugin;

const ANNOTATION: &str = "kubernetes.io/limit-ranger";

/// The plugin.
pub(crate) struct LimitRanger {
    objects: Objects,
}

impl LimitRanger {
    pub(crate) fn new(objects: Objects) -> Self {
        Self { objects }
    }

    async fn ranges(&self, request: &Attributes<'_>) -> Result<Vec<Value>> {
        self.objects.list("", "limitranges", request.namespace).await
    }

    async fn admit(&self, request: &Attributes<'_>, pod: &mut Value) -> Result<()> {
        for range in self.ranges(request).await? {
            fill_in(pod, &range);
        }
        Ok(())
    }

    async fn check(&self, request: &Attributes<'_>, object: &Value) -> Result<()> {
        for range in self.ranges(request).await? {
            let mut faults = Vec::new();
            for limit in items(&range, &["spec", "limits"]) {
                if request.is_of("", "pods") {
                    check_pod(limit, object, &mut faults);
                } else {
                    check_claim(limit, object, &mut faults);
                }
            }
            if let Some(why) = aggregate(faults) {
                return Err(request.forbid(Some(object), why));
            }
        }
        Ok(())
    }
}

impl Plugin for LimitRanger {
    fn name(&self) -> &'static str {
        "LimitRanger"
    }

    fn concerns(&self, request: &Attributes<'_>) -> bool {
        match request.operation {
            Operation::Create => request.is("", "pods") || request.is("", "persistentvolumeclaims"),
            // A pod's resources change through its resize endpoint only.
            Operation::Update => {
                request.is("", "persistentvolumeclaims")
                    || (request.is_of("", "pods") && request.subresource == "resize")
            }
            Operation::Delete | Operation::Connect => false,
        }
    }

    fn mutate<'a>(
        &'a self,
        request: &'a Attributes<'a>,
        object: Option<&'a mut Value>,
        old: Option<&'a Value>,
    ) -> BoxFuture<'a, Result<()>> {
        async move {
            match object {
                Some(pod) if request.is_of("", "pods") && !is_deleting(old) => self.admit(request, pod).await,
                _ => Ok(()),
            }
        }
        .boxed()
    }

    fn validate<'a>(
        &'a self,
        request: &'a Attributes<'a>,
        object: Option<&'a Value>,
        old: Option<&'a Value>,
    ) -> BoxFuture<'a, Result<()>> {
        async move {
            match object {
                Some(object) if !is_deleting(old) => self.check(request, object).await,
                _ => Ok(()),
            }
        }
        .boxed()
    }
}

fn is_deleting(old: Option<&Value>) -> bool {
    old.is_some_and(|old| object::deletion_timestamp(old).is_some())
}

/// Gives containers the requests and limits that they leave out, and notes which.
fn fill_in(pod: &mut Value, range: &Value) {
    let mut requests = ResourceList::new();
    let mut limits = ResourceList::new();
    for limit in items(range, &["spec", "limits"]).filter(|limit| text(limit, "type") == "Container") {
        requests.extend(resource_list(limit, &["defaultRequest"]));
        limits.extend(resource_list(limit, &["default"]));
    }
    let mut notes = Vec::new();
    for (member, what) in [("containers", "container"), ("initContainers", "init container")] {
        let containers = pod.at_mut(&["spec", member]).and_then(Value::as_array_mut);
        for container in containers.into_iter().flatten() {
            let name = text(container, "name").to_owned();
            let filled = [("limits", &limits), ("requests", &requests)]
                .map(|(side, defaults)| fill(container, side, defaults));
            let [limited, requested] = filled;
            for (set, side) in [(requested, "request"), (limited, "limit")] {
                if !set.is_empty() {
                    notes.push(format!("{} {side} for {what} {name}", set.join(", ")));
                }
            }
        }
    }
    if !notes.is_empty() {
        object::set_annotation(pod, ANNOTATION, &format!("LimitRanger plugin set: {}", notes.join("; ")));
    }
}

/// Fills in one side of a container's resources; gives the names of what it set, sorted.
fn fill(container: &mut Value, side: &str, defaults: &ResourceList) -> Vec<String> {
    let has = |container: &Value, name: &str| container.at(&["resources", side, name]).is_some();
    let missing: Vec<(String, String)> = defaults
        .iter()
        .filter(|(name, _)| !has(container, name))
        .map(|(name, amount)| (name.clone(), amount.to_string()))
        .collect();
    if missing.is_empty() {
        return Vec::new();
    }
    let list = object_at(container, &["resources", side]);
    for (name, amount) in &missing {
        list.insert(name.as_str(), amount.as_str());
    }
    list.sort();
    missing.into_iter().map(|(name, _)| name).collect()
}

fn check_pod(limit: &Value, pod: &Value, faults: &mut Vec<String>) {
    match text(limit, "type") {
        "Container" => {
            for member in ["containers", "initContainers"] {
                for container in items(pod, &["spec", member]) {
                    let requests = of_container(container, Side::Requests);
                    let limits = of_container(container, Side::Limits);
                    check_limit(limit, "Container", &requests, &limits, faults);
                }
            }
        }
        "Pod" => {
            let requests = of_containers(pod, Side::Requests);
            let limits = of_containers(pod, Side::Limits);
            check_limit(limit, "Pod", &requests, &limits, faults);
        }
        _ => {}
    }
}

fn check_limit(
    limit: &Value,
    kind: &str,
    requests: &ResourceList,
    limits: &ResourceList,
    faults: &mut Vec<String>,
) {
    for (member, constraint) in [
        ("min", Constraint::Minimum),
        ("max", Constraint::Maximum),
        ("maxLimitRequestRatio", Constraint::Ratio),
    ] {
        for (name, enforced) in resource_list(limit, &[member]) {
            let usage = Usage { request: requests.get(&name), limit: limits.get(&name) };
            faults.extend(constraint.fault(kind, &name, &enforced, usage));
        }
    }
}

fn check_claim(limit: &Value, claim: &Value, faults: &mut Vec<String>) {
    let kind = "PersistentVolumeClaim";
    if text(limit, "type") != kind {
        return;
    }
    let requests = resource_list(claim, &["spec", "resources", "requests"]);
    for (member, constraint) in [("min", Constraint::Minimum), ("max", Constraint::MaximumRequest)] {
        for (name, enforced) in resource_list(limit, &[member]) {
            let usage = Usage { request: requests.get(&name), limit: None::<&Quantity> };
            faults.extend(constraint.fault(kind, &name, &enforced, usage));
        }
    }
}

/// Faults as Go's aggregated errors read: each once, in brackets where there are several.
fn aggregate(faults: Vec<String>) -> Option<String> {
    let mut distinct: Vec<String> = Vec::new();
    for fault in faults {
        if !distinct.contains(&fault) {
            distinct.push(fault);
        }
    }
    match distinct.len() {
        0 => None,
        1 => distinct.pop(),
        _ => Some(format!("[{}]", distinct.join(", "))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RANGE: &str = r#"{"spec":{"limits":[
        {"type":"Container","max":{"cpu":"2","memory":"1Gi"},"min":{"cpu":"100m"},
         "default":{"cpu":"1","memory":"512Mi"},"defaultRequest":{"cpu":"200m","memory":"512Mi"},
         "maxLimitRequestRatio":{"cpu":"5"}},
        {"type":"Pod","max":{"cpu":"2"}},
        {"type":"PersistentVolumeClaim","min":{"storage":"1Gi"},"max":{"storage":"2Gi"}}]}}"#;

    fn parsed(text: &str) -> Value {
        apiwright_json::decode(text.as_bytes()).unwrap().0
    }

    #[test]
    fn what_is_left_out_is_filled_in() {
        let mut pod = parsed(
            r#"{"metadata":{},"spec":{"initContainers":[{"name":"first","resources":{"limits":{"memory":"64Mi"},"requests":{"memory":"64Mi"}}}],
                "containers":[{"name":"c","resources":{}},{"name":"d","resources":{"requests":{"cpu":"250m"}}}]}}"#,
        );
        fill_in(&mut pod, &parsed(RANGE));
        assert_eq!(
            object::annotation(&pod, ANNOTATION),
            Some(
                "LimitRanger plugin set: cpu, memory request for container c; cpu, memory limit for container c; \
                 memory request for container d; cpu, memory limit for container d; \
                 cpu request for init container first; cpu limit for init container first"
            )
        );
        let resources =
            pod.at(&["spec", "containers"]).and_then(Value::as_array).unwrap()[1].get("resources").unwrap();
        let want = r#"{"requests":{"cpu":"250m","memory":"512Mi"},"limits":{"cpu":"1","memory":"512Mi"}}"#;
        assert_eq!(*resources, parsed(want));
    }

    #[test]
    fn what_is_out_of_range() {
        let container = |requests: &str, limits: &str| {
            format!(
                r#"{{"spec":{{"containers":[{{"resources":{{"requests":{{"cpu":"{requests}"}},"limits":{{"cpu":"{limits}","memory":"1Mi"}}}}}}]}}}}"#
            )
        };
        for (pod, want) in [
            (container("500m", "1"), None),
            (
                container("50m", "1"),
                Some(
                    "[minimum cpu usage per Container is 100m, but request is 50m, \
                     cpu max limit to request ratio per Container is 5, but provided ratio is 20.000000]",
                ),
            ),
            (
                container("2", "3"),
                Some(
                    "[maximum cpu usage per Container is 2, but limit is 3, maximum cpu usage per Pod is 2, but limit is 3]",
                ),
            ),
            (
                container("100m", "1"),
                Some("cpu max limit to request ratio per Container is 5, but provided ratio is 10.000000"),
            ),
        ] {
            let mut faults = Vec::new();
            let range = parsed(RANGE);
            for limit in items(&range, &["spec", "limits"]) {
                check_pod(limit, &parsed(&pod), &mut faults);
            }
            assert_eq!(aggregate(faults).as_deref(), want, "{pod}");
        }
        for (storage, want) in [
            ("1Mi", Some("minimum storage usage per PersistentVolumeClaim is 1Gi, but request is 1Mi")),
            ("1Ti", Some("maximum storage usage per PersistentVolumeClaim is 2Gi, but request is 1Ti")),
            ("2Gi", None),
        ] {
            let claim =
                parsed(&format!(r#"{{"spec":{{"resources":{{"requests":{{"storage":"{storage}"}}}}}}}}"#));
            let mut faults = Vec::new();
            let range = parsed(RANGE);
            for limit in items(&range, &["spec", "limits"]) {
                check_claim(limit, &claim, &mut faults);
            }
            assert_eq!(aggregate(faults).as_deref(), want);
        }
    }
}
