//! The order of groups and versions (upstream: APIService priorities, then Kubernetes' version order).

use std::cmp::{Ordering, Reverse};
use std::collections::HashMap;
use std::sync::Arc;

use crate::source::{Registered, Source};

/// Sorts into discovery order: groups by their highest priority, then by name; the versions of a
/// group by priority, then as Kubernetes orders versions.
pub fn sort(sources: &mut [Arc<Source>]) {
    let mut priorities: HashMap<String, i32> = HashMap::new();
    for source in sources.iter() {
        let known = priorities.entry(source.group.clone()).or_insert(source.group_priority);
        *known = source.group_priority.max(*known);
    }
    let priority = |group: &str| priorities.get(group).copied().unwrap_or_default();
    sources.sort_by(|a, b| {
        Reverse(priority(&a.group))
            .cmp(&Reverse(priority(&b.group)))
            .then_with(|| a.group.cmp(&b.group))
            .then_with(|| b.version_priority.cmp(&a.version_priority))
            .then_with(|| versions(&a.version, &b.version))
    });
}

/// Sorts APIServices as the legacy lists tell them: groups by their highest priority, then by the name
/// of the APIService that has it; the versions of a group by priority, then as Kubernetes orders versions.
pub fn sort_registered(all: &mut [Registered]) {
    all.sort_by(|a, b| b.group_priority.cmp(&a.group_priority).then_with(|| a.name.cmp(&b.name)));
    let mut groups: Vec<String> = Vec::new();
    for one in all.iter() {
        if !groups.contains(&one.group) {
            groups.push(one.group.clone());
        }
    }
    let place = |group: &str| groups.iter().position(|one| one == group);
    all.sort_by(|a, b| {
        place(&a.group)
            .cmp(&place(&b.group))
            .then_with(|| b.version_priority.cmp(&a.version_priority))
            .then_with(|| versions(&a.version, &b.version))
    });
}

/// Kubernetes' version order, best first: stable before beta before alpha, higher numbers first,
/// then whatever is no Kubernetes version, by name.
pub fn versions(a: &str, b: &str) -> Ordering {
    match (parse(a), parse(b)) {
        (Some(a), Some(b)) => b.cmp(&a),
        (Some(_), None) => Ordering::Less,
        (None, Some(_)) => Ordering::Greater,
        (None, None) => a.cmp(b),
    }
}

#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum Stability {
    Alpha,
    Beta,
    Stable,
}

/// `v2beta1` as (Beta, 2, 1); `None` for what is no Kubernetes version.
fn parse(version: &str) -> Option<(Stability, u32, u32)> {
    let rest = version.strip_prefix('v')?;
    let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
    let major = number(&rest[..end])?;
    let (stability, minor) = match &rest[end..] {
        "" => return Some((Stability::Stable, major, 0)),
        rest => match rest.strip_prefix("beta") {
            Some(minor) => (Stability::Beta, minor),
            None => (Stability::Alpha, rest.strip_prefix("alpha")?),
        },
    };
    Some((stability, major, number(minor)?))
}

/// A positive number without leading zeros.
fn number(digits: &str) -> Option<u32> {
    let plain = !digits.is_empty() && !digits.starts_with('0') && digits.bytes().all(|b| b.is_ascii_digit());
    plain.then(|| digits.parse().ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kubernetes_version_order() {
        let mut mixed = vec![
            "foo1",
            "v1alpha1",
            "v10beta3",
            "v2",
            "v1",
            "v11alpha2",
            "v3beta1",
            "v12alpha1",
            "foo10",
            "v10",
            "v01",
            "v1beta",
        ];
        mixed.sort_by(|a, b| versions(a, b));
        let sorted = [
            "v10",
            "v2",
            "v1",
            "v10beta3",
            "v3beta1",
            "v12alpha1",
            "v11alpha2",
            "v1alpha1",
            "foo1",
            "foo10",
            "v01",
            "v1beta",
        ];
        assert_eq!(mixed, sorted);
    }
}
