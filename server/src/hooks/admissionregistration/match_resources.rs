//! Which requests a policy or a binding is about.

use apiwright_json::Value;
use apiwright_meta::field::quoted;
use apiwright_meta::labels::{SelectorLeniency, validate_label_selector};
use apiwright_meta::{ErrorList, Path, names};

use super::{items, rules};
use crate::hooks::shared::faults::Faults;

/// The faults of `matchConstraints` or `matchResources`, where there are some.
pub(super) fn match_resources(resources: &Value, path: &Path, faults: &mut Faults<'_>) {
    faults.declared_below(&path.child("matchPolicy"));
    for name in ["namespaceSelector", "objectSelector"] {
        let errors =
            validate_label_selector(resources.get(name), SelectorLeniency::default(), &path.child(name));
        faults.append(errors);
    }
    for member in ["resourceRules", "excludeResourceRules"] {
        for (at, rule) in items(resources, member).iter().enumerate() {
            let path = path.child(member).index(at);
            resource_names(rule, &path.child("resourceNames"), faults);
            rules::rule(rule, &path, faults);
        }
    }
}

/// What is deleted is not mutated.
pub(super) fn no_deletions(resources: &Value, path: &Path, errors: &mut ErrorList) {
    let mut operations = items(resources, "resourceRules").iter().flat_map(|rule| items(rule, "operations"));
    if operations.any(|operation| operation.as_str() == Some("DELETE")) {
        let path = path.child("resourceRules").child("operations");
        errors.not_supported(path, quoted("DELETE"), &["*", "CONNECT", "CREATE", "UPDATE"]);
    }
}

fn resource_names(rule: &Value, path: &Path, errors: &mut ErrorList) {
    let all = items(rule, "resourceNames");
    for (at, name) in all.iter().enumerate() {
        let text = name.as_str().unwrap_or_default();
        errors.invalid_each(&path.index(at), text, names::path_segment_name(text));
        if all[..at].contains(name) {
            errors.duplicate(path.index(at), quoted(text));
        }
    }
}
