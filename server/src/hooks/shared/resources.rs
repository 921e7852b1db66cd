//! The names of what is counted: `cpu`, `hugepages-2Mi`, `example.com/gpu`.

use apiwright_meta::field::quoted;
use apiwright_meta::quantity::Quantity;
use apiwright_meta::{ErrorList, Path, names};

/// What every container can have.
const CONTAINER: &[&str] = &["cpu", "memory", "ephemeral-storage"];

/// What is counted in whole numbers.
const WHOLE: &[&str] = &[
    "configmaps",
    "persistentvolumeclaims",
    "pods",
    "replicationcontrollers",
    "resourcequotas",
    "secrets",
    "services",
    "services.loadbalancers",
    "services.nodeports",
];

/// What can be named without a domain.
const STANDARD: &[&str] = &[
    "configmaps",
    "cpu",
    "ephemeral-storage",
    "limits.cpu",
    "limits.ephemeral-storage",
    "limits.memory",
    "memory",
    "persistentvolumeclaims",
    "pods",
    "replicationcontrollers",
    "requests.cpu",
    "requests.ephemeral-storage",
    "requests.memory",
    "requests.storage",
    "resourcequotas",
    "secrets",
    "services",
    "services.loadbalancers",
    "services.nodeports",
    "storage",
];

/// The faults of a resource's name.
pub fn name_faults(name: &str, path: &Path, errors: &mut ErrorList) {
    let faults = names::qualified_name(name);
    if faults.is_empty() && !name.contains('/') && !is_standard(name) {
        errors.invalid(path.clone(), quoted(name), "must be a standard resource type or fully qualified");
    }
    errors.invalid_each(path, name, faults);
}

/// The faults of the name of something that a container has.
pub fn container_name_faults(name: &str, path: &Path, errors: &mut ErrorList) {
    name_faults(name, path, errors);
    if !name.contains('/') {
        if !CONTAINER.contains(&name) && !is_huge_page(name) {
            errors.invalid(path.clone(), quoted(name), "must be a standard resource for containers");
        }
    } else if !is_native(name) && !is_extended(name) {
        errors.invalid(path.clone(), quoted(name), "doesn't follow extended resource name standard");
    }
}

/// The faults of the name of something that a quota counts.
pub fn quota_name_faults(name: &str, path: &Path, errors: &mut ErrorList) {
    name_faults(name, path, errors);
    if !name.contains('/') && !is_standard_for_quota(name) {
        errors.invalid(path.clone(), quoted(name), "must be a standard resource for quota");
    }
}

/// Whether a quota knows it without a domain.
pub fn is_standard_for_quota(name: &str) -> bool {
    name != "storage" && is_standard(name)
}

/// The faults of an amount: it is not negative, and whole where only whole ones are counted.
pub fn amount_faults(name: &str, amount: &Quantity, path: &Path, errors: &mut ErrorList) {
    if amount.sign() < 0 {
        errors.invalid(path.clone(), quoted(&amount.to_string()), "must be greater than or equal to 0");
    }
    if (WHOLE.contains(&name) || is_extended(name)) && amount.milli_value() % 1000 != 0 {
        errors.invalid(path.clone(), quoted(&amount.to_string()), "must be an integer");
    }
}

/// Whether more of it can be promised than there is.
pub fn is_overcommit_allowed(name: &str) -> bool {
    is_native(name) && !is_huge_page(name)
}

/// Whether it is memory in pages of one size.
pub fn is_huge_page(name: &str) -> bool {
    name.starts_with("hugepages-")
}

/// Whether it is counted in whole numbers: what Kubernetes does not know of.
pub fn is_extended(name: &str) -> bool {
    !is_native(name)
        && !name.starts_with("requests.")
        && names::qualified_name(&format!("requests.{name}")).is_empty()
}

/// Whether it is Kubernetes' own.
pub fn is_native(name: &str) -> bool {
    !name.contains('/') || name.contains("kubernetes.io/")
}

fn is_standard(name: &str) -> bool {
    STANDARD.contains(&name) || is_huge_page(name) || name.starts_with("requests.hugepages-")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_resources() {
        let table = [
            ("cpu", "[]", "[]"),
            ("hugepages-2Mi", "[]", "[]"),
            ("example.com/gpu", "[]", "[]"),
            ("pods", "[]", "a: Invalid value: \"pods\": must be a standard resource for containers"),
            (
                "requests.example.com/gpu",
                "[]",
                "a: Invalid value: \"requests.example.com/gpu\": doesn't follow extended resource name standard",
            ),
            (
                "gpu",
                "a: Invalid value: \"gpu\": must be a standard resource type or fully qualified",
                "[a: Invalid value: \"gpu\": must be a standard resource type or fully qualified, \
                 a: Invalid value: \"gpu\": must be a standard resource for containers]",
            ),
        ];
        for (name, any, container) in table {
            for (check, expected) in
                [(name_faults as fn(&str, &Path, &mut ErrorList), any), (container_name_faults, container)]
            {
                let mut errors = ErrorList::new();
                check(name, &Path::new("a"), &mut errors);
                assert_eq!(errors.aggregate(), expected, "{name}");
            }
        }
    }
}
