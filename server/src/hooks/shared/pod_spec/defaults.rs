//! What a pod spec leaves out, where it hangs on other fields.

use apiwright_json::{Object, Value};

/// Defaults that hang on other fields of a pod spec (upstream: `SetDefaults_PodSpec`, `_Container`,
/// `_Volume` of core/v1).
pub fn set_defaults(spec: &mut Object) {
    copy_service_account(spec);
    for list in ["containers", "initContainers", "ephemeralContainers"] {
        for container in list_mut(spec, list) {
            set_image_pull_policy(container);
        }
    }
    for volume in list_mut(spec, "volumes") {
        if let Some(volume) = volume.as_object_mut()
            && volume.len() <= 1
        {
            volume.insert("emptyDir", Object::new());
        }
    }
}

/// The objects in a list of this name.
pub fn list_mut<'a>(object: &'a mut Object, name: &str) -> impl Iterator<Item = &'a mut Value> {
    object.get_mut(name).and_then(Value::as_array_mut).into_iter().flatten()
}

/// `serviceAccount` is the old name of `serviceAccountName`; both are kept alike.
fn copy_service_account(spec: &mut Object) {
    let name = spec.str("serviceAccountName").filter(|name| !name.is_empty());
    if let Some(name) = name.or_else(|| spec.str("serviceAccount").filter(|name| !name.is_empty())) {
        let name = apiwright_json::Str::from(name);
        spec.insert("serviceAccountName", name.clone());
        spec.insert("serviceAccount", name);
    }
}

/// Images without a tag, or tagged `latest`, are always pulled; others are when they are absent.
fn set_image_pull_policy(container: &mut Value) {
    let Some(container) = container.as_object_mut() else { return };
    if container.str("imagePullPolicy").is_some_and(|policy| !policy.is_empty()) {
        return;
    }
    let policy = match tag(container.str("image").unwrap_or_default()) {
        Some("latest") | None => "Always",
        Some(_) => "IfNotPresent",
    };
    container.insert("imagePullPolicy", policy);
}

/// An image reference's tag, or its digest; `None` where it has neither.
fn tag(image: &str) -> Option<&str> {
    if let Some((_, digest)) = image.split_once('@') {
        return Some(digest);
    }
    let last = image.rsplit('/').next().unwrap_or_default();
    last.split_once(':').map(|(_, tag)| tag)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pull_policy_follows_the_tag() {
        let cases = [
            ("app", "Always"),
            ("app:latest", "Always"),
            ("app:1.2", "IfNotPresent"),
            ("registry.example.com:5000/app", "Always"),
            ("registry.example.com:5000/app:1.2", "IfNotPresent"),
            ("app@sha256:0123", "IfNotPresent"),
        ];
        for (image, expected) in cases {
            let mut container = Value::Object(Object::from_iter([("image", image)]));
            set_image_pull_policy(&mut container);
            assert_eq!(container.text_at(&["imagePullPolicy"]), expected, "{image}");
        }
    }
}
