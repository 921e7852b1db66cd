//! Labels of nodes that have other names now, and warnings about those who still select by them.

use apiwright_json::{Object, Value};
use apiwright_meta::Path;

use super::cells;

const OLD_LABELS: [(&str, &str); 6] = [
    ("beta.kubernetes.io/arch", "deprecated since v1.14; use \"kubernetes.io/arch\" instead"),
    ("beta.kubernetes.io/os", "deprecated since v1.14; use \"kubernetes.io/os\" instead"),
    (
        "failure-domain.beta.kubernetes.io/region",
        "deprecated since v1.17; use \"topology.kubernetes.io/region\" instead",
    ),
    (
        "failure-domain.beta.kubernetes.io/zone",
        "deprecated since v1.17; use \"topology.kubernetes.io/zone\" instead",
    ),
    (
        "beta.kubernetes.io/instance-type",
        "deprecated since v1.17; use \"node.kubernetes.io/instance-type\" instead",
    ),
    ("node-role.kubernetes.io/master", "use \"node-role.kubernetes.io/control-plane\" instead"),
];

/// What is to be said about a label, where something is.
pub fn message(label: &str) -> Option<&'static str> {
    OLD_LABELS.iter().find(|(old, _)| *old == label).map(|(_, why)| *why)
}

/// Warnings about a term of a `NodeSelector`, and about the expressions of any selector.
pub fn of_term(term: &Value, path: &Path, texts: &mut Vec<String>) {
    for (at, expression) in cells::items(term, &["matchExpressions"]).iter().enumerate() {
        let key = expression.text_at(&["key"]);
        if let Some(why) = message(key) {
            let path = path.child("matchExpressions").index(at).child("key");
            texts.push(format!("{path}: {key} is {why}"));
        }
    }
}

/// Warnings about a label selector of nodes.
pub fn of_selector(selector: &Value, path: &Path, texts: &mut Vec<String>) {
    of_term(selector, path, texts);
    for label in selector.get("matchLabels").and_then(Value::as_object).into_iter().flat_map(Object::keys) {
        if let Some(why) = message(label) {
            texts.push(format!("{}: {why}", path.child("matchLabels").child(label)));
        }
    }
}
