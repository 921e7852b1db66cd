//! What checks share: ways to containers and words about them.

use std::collections::BTreeSet;

use apiwright_json::Value;

use crate::plugins::values::{items, text};

/// A pod's containers in the order in which faults name them.
pub(crate) fn containers(pod: &Value) -> impl Iterator<Item = &Value> {
    ["initContainers", "containers", "ephemeralContainers"]
        .into_iter()
        .flat_map(|member| items(pod, &["spec", member]))
}

/// The names of the containers that a test picks.
pub(crate) fn picked(pod: &Value, test: impl Fn(&Value) -> bool) -> Vec<&str> {
    containers(pod).filter(|container| test(container)).map(|container| text(container, "name")).collect()
}

/// `container "c"` or `containers "a", "b"`.
pub(crate) fn named(names: &[&str]) -> String {
    format!("{} {}", plural("container", "containers", names.len()), quoted(names))
}

/// Who did it: the pod, some containers or both; empty for nobody.
pub(crate) fn setters(pod: bool, containers: &[&str]) -> String {
    match (pod, containers.is_empty()) {
        (true, true) => "pod".into(),
        (true, false) => format!("pod and {}", named(containers)),
        (false, true) => String::new(),
        (false, false) => named(containers),
    }
}

/// One word or the other.
pub(crate) fn plural<'a>(one: &'a str, many: &'a str, count: usize) -> &'a str {
    if count == 1 { one } else { many }
}

/// `"a", "b"`.
pub(crate) fn quoted<S: AsRef<str>>(names: impl IntoIterator<Item = S>) -> String {
    let names: Vec<String> = names.into_iter().map(|name| format!("\"{}\"", name.as_ref())).collect();
    names.join(", ")
}

/// A member of a container's or pod's security context.
pub(crate) fn security<'a>(holder: &'a Value, path: &[&str]) -> Option<&'a Value> {
    holder.get("securityContext")?.at(path)
}

/// The same of the pod itself.
pub(crate) fn of_pod<'a>(pod: &'a Value, path: &[&str]) -> Option<&'a Value> {
    security(pod.get("spec")?, path)
}

/// Texts of a list.
pub(crate) fn texts(list: Option<&Value>) -> impl Iterator<Item = &str> {
    list.and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str)
}

/// Whether a pod runs on Windows, where some settings mean nothing.
pub(crate) fn is_windows(pod: &Value) -> bool {
    pod.text_at(&["spec", "os", "name"]) == "windows"
}

/// Values that some containers and perhaps the pod have and should not have.
pub(crate) struct Bad<'a> {
    pub(crate) pod: bool,
    pub(crate) containers: Vec<&'a str>,
    pub(crate) values: BTreeSet<&'a str>,
}

/// Finds the values of a text setting that are not fine.
pub(crate) fn bad_values<'a>(pod: &'a Value, path: &[&str], fine: impl Fn(&str) -> bool) -> Bad<'a> {
    let bad = |holder: Option<&'a Value>| holder.and_then(Value::as_str).filter(|value| !fine(value));
    let mut found = Bad { pod: false, containers: Vec::new(), values: BTreeSet::new() };
    if let Some(value) = bad(of_pod(pod, path)) {
        found.pod = true;
        found.values.insert(value);
    }
    for container in containers(pod) {
        if let Some(value) = bad(security(container, path)) {
            found.containers.push(text(container, "name"));
            found.values.insert(value);
        }
    }
    found
}

impl Bad<'_> {
    /// Whether there are none.
    pub(crate) fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// Who has them.
    pub(crate) fn setters(&self) -> String {
        setters(self.pod, &self.containers)
    }
}
