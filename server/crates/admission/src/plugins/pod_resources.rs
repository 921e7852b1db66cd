//! What a pod asks for altogether (upstream: `k8s.io/component-helpers/resource`).

use apiwright_json::Value;

use super::values::{ResourceList, add, items, raise, resource_list, text};

/// `requests` or `limits`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    Requests,
    Limits,
}

impl Side {
    fn member(self) -> &'static str {
        match self {
            Self::Requests => "requests",
            Self::Limits => "limits",
        }
    }
}

/// What a pod's containers ask for: all that run at once, or the hungriest that runs before them.
pub(crate) fn of_containers(pod: &Value, side: Side) -> ResourceList {
    let mut running = ResourceList::new();
    for container in items(pod, &["spec", "containers"]) {
        add(&mut running, &of_container(container, side));
    }
    let mut sidecars = ResourceList::new();
    let mut starting = ResourceList::new();
    for container in items(pod, &["spec", "initContainers"]) {
        let own = of_container(container, side);
        if text(container, "restartPolicy") == "Always" {
            add(&mut running, &own);
            add(&mut sidecars, &own);
            raise(&mut starting, &sidecars);
        } else {
            let mut alone = own;
            add(&mut alone, &sidecars);
            raise(&mut starting, &alone);
        }
    }
    raise(&mut running, &starting);
    // Resources of the pod as a whole replace the sum of those of its containers.
    for (name, amount) in resource_list(pod, &["spec", "resources", side.member()]) {
        running.insert(name, amount);
    }
    running
}

/// The same with the overhead of the pod's runtime.
pub(crate) fn with_overhead(pod: &Value, side: Side) -> ResourceList {
    let mut list = of_containers(pod, side);
    for (name, amount) in resource_list(pod, &["spec", "overhead"]) {
        match (list.get_mut(&name), side) {
            (Some(total), _) => total.add(&amount),
            (None, Side::Requests) => {
                list.insert(name, amount);
            }
            // A pod without a limit has none because of its overhead either.
            (None, Side::Limits) => {}
        }
    }
    list
}

/// What one container asks for.
pub(crate) fn of_container(container: &Value, side: Side) -> ResourceList {
    resource_list(container, &["resources", side.member()])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn containers_that_run_before_others() {
        let pod = r#"{"spec":{
            "initContainers":[
                {"resources":{"requests":{"cpu":"1","memory":"1Gi"}}},
                {"restartPolicy":"Always","resources":{"requests":{"cpu":"200m"}}},
                {"resources":{"requests":{"cpu":"500m"}}}],
            "containers":[{"resources":{"requests":{"cpu":"100m"}}},{"resources":{"requests":{"cpu":"300m"}}}],
            "overhead":{"cpu":"50m","memory":"10Mi"}}}"#;
        let pod = apiwright_json::decode(pod.as_bytes()).unwrap().0;
        let shown = |list: ResourceList| {
            list.iter().map(|(name, amount)| format!("{name}={amount}")).collect::<Vec<_>>().join(",")
        };
        assert_eq!(shown(of_containers(&pod, Side::Requests)), "cpu=1,memory=1Gi");
        assert_eq!(shown(with_overhead(&pod, Side::Requests)), "cpu=1050m,memory=1034Mi");
        assert_eq!(shown(with_overhead(&pod, Side::Limits)), "");
    }
}
