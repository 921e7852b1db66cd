//! What a namespace says of its deletion, in kube-controller-manager's words.

use std::collections::BTreeMap;

use apiwright_aggregator::Held;
use apiwright_json::{Object, Value};
use apiwright_meta::{object, time};

use super::content::Content;

/// Type, status, reason, message.
pub(super) type Condition = (&'static str, bool, &'static str, String);

/// The five conditions.
pub(super) fn of(content: &Content, failures: &[String]) -> [Condition; 5] {
    let resources: Vec<String> = content
        .kinds
        .iter()
        .map(|(store, entries)| {
            let resource = &store.resource;
            format!("{}.{} has {} resource instances", &*resource.plural, &*resource.group, entries.len())
        })
        .chain(
            content
                .elsewhere
                .held
                .iter()
                .map(|held| format!("{} has {} resource instances", held.resource(), held.count())),
        )
        .collect();
    let finalizers: Vec<String> = finalizers(content)
        .into_iter()
        .map(|(finalizer, count)| format!("{finalizer} in {count} resource instances"))
        .collect();
    said(resources, finalizers, failures.to_vec(), &content.elsewhere.unknown)
}

fn said(
    mut resources: Vec<String>,
    mut finalizers: Vec<String>,
    mut failures: Vec<String>,
    unknown: &[String],
) -> [Condition; 5] {
    for list in [&mut resources, &mut finalizers, &mut failures] {
        list.sort();
    }
    let removed = || "All content successfully removed".to_owned();
    [
        match unknown {
            [] => (
                "NamespaceDeletionDiscoveryFailure",
                false,
                "ResourcesDiscovered",
                "All resources successfully discovered".to_owned(),
            ),
            unknown => {
                let each = unknown.iter().map(|one| format!("{one}: stale GroupVersion discovery: {one}"));
                (
                    "NamespaceDeletionDiscoveryFailure",
                    true,
                    "DiscoveryFailed",
                    format!(
                        "Discovery failed for some groups, {} failing: unable to retrieve the complete list of server APIs: {}",
                        unknown.len(),
                        each.collect::<Vec<_>>().join(", ")
                    ),
                )
            }
        },
        (
            "NamespaceDeletionGroupVersionParsingFailure",
            false,
            "ParsedGroupVersions",
            "All legacy kube types successfully parsed".to_owned(),
        ),
        match failures.len() {
            0 => (
                "NamespaceDeletionContentFailure",
                false,
                "ContentDeleted",
                "All content successfully deleted, may be waiting on finalization".to_owned(),
            ),
            count => (
                "NamespaceDeletionContentFailure",
                true,
                "ContentDeletionFailed",
                format!("Failed to delete all resource types, {count} remaining: {}", failures.join(", ")),
            ),
        },
        match resources.len() {
            0 => ("NamespaceContentRemaining", false, "ContentRemoved", removed()),
            _ => (
                "NamespaceContentRemaining",
                true,
                "SomeResourcesRemain",
                format!("Some resources are remaining: {}", resources.join(", ")),
            ),
        },
        match finalizers.len() {
            0 => ("NamespaceFinalizersRemaining", false, "ContentRemoved", removed()),
            _ => (
                "NamespaceFinalizersRemaining",
                true,
                "SomeFinalizersRemain",
                format!("Some finalizers are remaining: {}", finalizers.join(", ")),
            ),
        },
    ]
}

/// How many objects each finalizer holds.
fn finalizers(content: &Content) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    for (store, entries) in &content.kinds {
        for entry in entries.iter().filter(|entry| store.facts(entry).finalizers) {
            // What cannot be read holds the namespace all the same; the content says so.
            let Ok(held) = store.decode(entry) else { continue };
            for finalizer in object::finalizers(&held) {
                *counts.entry(finalizer.to_owned()).or_default() += 1;
            }
        }
    }
    for finalizer in content.elsewhere.held.iter().flat_map(Held::finalizers) {
        *counts.entry(finalizer.to_owned()).or_default() += 1;
    }
    counts
}

/// Sets the conditions; times change with statuses only.
pub(super) fn set(namespace: &mut Value, said: &[Condition]) {
    let Some(namespace) = namespace.as_object_mut() else { return };
    let conditions = namespace.object("status").entry("conditions", || Value::Null);
    if conditions.is_null() {
        *conditions = Vec::<Value>::new().into();
    }
    let Some(conditions) = conditions.as_array_mut() else { return };
    for (kind, status, reason, message) in said {
        let status = if *status { "True" } else { "False" };
        let there = conditions.iter_mut().find(|one| one.text_at(&["type"]) == *kind);
        let since = there
            .as_ref()
            .filter(|one| one.text_at(&["status"]) == status)
            .map(|one| one.text_at(&["lastTransitionTime"]).to_owned());
        let condition: Object = [
            ("type", *kind),
            ("status", status),
            ("lastTransitionTime", &*since.unwrap_or_else(time::now)),
            ("reason", *reason),
            ("message", &**message),
        ]
        .into_iter()
        .collect();
        match there {
            Some(there) => *there = condition.into(),
            None => conditions.push(condition.into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(list: &[&str]) -> Vec<String> {
        list.iter().map(|text| (*text).to_owned()).collect()
    }

    #[test]
    fn what_remains_is_said_in_order() {
        let said = said(
            texts(&["pods. has 2 resource instances", "jobs.batch has 1 resource instances"]),
            texts(&["b/c in 2 resource instances", "a/b in 1 resource instances"]),
            texts(&["no"]),
            &[],
        );
        let messages: Vec<&str> = said[2..].iter().map(|one| one.3.as_str()).collect();
        assert_eq!(
            messages,
            [
                "Failed to delete all resource types, 1 remaining: no",
                "Some resources are remaining: jobs.batch has 1 resource instances, pods. has 2 resource instances",
                "Some finalizers are remaining: a/b in 1 resource instances, b/c in 2 resource instances",
            ]
        );
    }

    #[test]
    fn times_change_with_statuses_only() {
        let mut namespace: Value = Object::new().into();
        set(&mut namespace, &said(Vec::new(), Vec::new(), Vec::new(), &[]));
        let list = namespace.at_mut(&["status", "conditions"]).and_then(Value::as_array_mut);
        for one in list.into_iter().flatten().filter_map(Value::as_object_mut) {
            one.insert("lastTransitionTime", "2020-01-01T00:00:00Z");
        }
        let once = namespace.clone();
        set(&mut namespace, &said(Vec::new(), Vec::new(), Vec::new(), &[]));
        assert_eq!(namespace, once);
        set(&mut namespace, &said(texts(&["x"]), Vec::new(), Vec::new(), &[]));
        let times = namespace.at(&["status", "conditions"]).and_then(Value::as_array);
        let old: Vec<bool> = times
            .into_iter()
            .flatten()
            .map(|one| one.text_at(&["lastTransitionTime"]) == "2020-01-01T00:00:00Z")
            .collect();
        assert_eq!(old, [true, true, true, false, true]);
    }
}
