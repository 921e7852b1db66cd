//! How fast an autoscaler scales where it does not say: what is absent of either direction.

use apiwright_json::{Object, Value};

/// Fills what the rules of both directions leave out, where there is a behavior at all.
pub(super) fn set_defaults(spec: &mut Object) {
    let Some(behavior) = spec.get_mut("behavior").and_then(Value::as_object_mut) else { return };
    let up = behavior.object("scaleUp");
    up.entry("stabilizationWindowSeconds", || 0.into());
    up.entry("selectPolicy", || "Max".into());
    up.entry("policies", || vec![policy("Pods", 4), policy("Percent", 100)].into());
    let down = behavior.object("scaleDown");
    down.entry("selectPolicy", || "Max".into());
    down.entry("policies", || vec![policy("Percent", 100)].into());
}

/// At most so much in a quarter of a minute.
fn policy(kind: &str, value: i64) -> Value {
    let mut policy = Object::new();
    policy.push("type", kind);
    policy.push("value", value);
    policy.push("periodSeconds", 15);
    policy.into()
}
