//! The resources of a running pod: what may change through the `resize` subresource.

use apiwright_json::{Object, Value};
use apiwright_meta::field::quoted;
use apiwright_meta::quantity::Quantity;
use apiwright_meta::{ErrorList, Path, object};

use super::qos::qos_class;
use super::{update, validate};
use crate::hooks::shared::cells;

const LISTS: [&str; 2] = ["initContainers", "containers"];
const RESIZABLE: [&str; 2] = ["cpu", "memory"];
const MIRROR: &str = "kubernetes.io/config.mirror";

/// Through this subresource only resources and how they are resized change.
pub(super) fn keep_all_but_resources(object: &mut Value, old: &Value) {
    let wanted: Vec<(&str, Vec<Value>)> =
        LISTS.iter().map(|list| (*list, cells::items(object, &["spec", list]).to_vec())).collect();
    update::restore(object, old);
    for (list, wanted) in wanted {
        let own = object.at_mut(&["spec", list]).and_then(Value::as_array_mut);
        let Some(own) = own else { continue };
        let name = |container: &Value| container.text_at(&["name"]).to_owned();
        if own.len() != wanted.len() || own.iter().zip(&wanted).any(|(own, one)| name(own) != name(one)) {
            continue;
        }
        for (own, wanted) in own.iter_mut().filter_map(Value::as_object_mut).zip(wanted) {
            for member in ["resources", "resizePolicy"] {
                match wanted.get(member) {
                    Some(value) => own.insert(member, value.clone()),
                    None => own.remove(member),
                };
            }
        }
    }
}

/// The faults of a resize.
pub(super) fn faults(pod: &Value, old: &Value, errors: &mut ErrorList) {
    let mut before = ErrorList::new();
    std::mem::swap(errors, &mut before);
    validate::metadata_and_spec(pod, &mut before);
    let refusal = [
        (object::annotation(old, MIRROR).is_some(), "static pods cannot be resized"),
        (old.text_at(&["spec", "os", "name"]) == "windows", "windows pods cannot be resized"),
    ];
    if let Some((_, why)) = refusal.iter().find(|(applies, _)| *applies) {
        errors.forbidden(Path::default(), why);
        return;
    }
    *errors = before;
    let path = Path::new("spec");
    let class = match old.text_at(&["status", "qosClass"]) {
        "" => qos_class(old),
        class => class,
    };
    if class != qos_class(pod) {
        let shown = quoted(pod.text_at(&["status", "qosClass"]));
        errors.invalid(path.clone(), shown, "Pod QOS Class may not change as a result of resizing");
    }
    if !is_supported(old) {
        errors.forbidden(path.clone(), "Pod running on node without support for resize");
    }
    for list in LISTS {
        let pairs = cells::items(pod, &["spec", list]).iter().zip(cells::items(old, &["spec", list]));
        for (at, (now, old)) in pairs.enumerate() {
            if list == "containers" || is_sidecar(old) {
                let path = path.child(list).index(at).child("resources");
                container(now, old, &path, errors);
            }
        }
    }
    only_cpu_and_memory(pod, old, &path, errors);
}

fn is_sidecar(container: &Value) -> bool {
    container.text_at(&["restartPolicy"]) == "Always"
}

/// A node that resizes says what its containers have.
fn is_supported(pod: &Value) -> bool {
    let statuses = cells::items(pod, &["status", "containerStatuses"]);
    let running = statuses.iter().find(|status| status.at(&["state", "running"]).is_some());
    running.is_none_or(|status| status.get("resources").is_some())
}

fn container(now: &Value, old: &Value, path: &Path, errors: &mut ErrorList) {
    let list = |container: &Value, list: &str| {
        container.at(&["resources", list]).and_then(Value::as_object).cloned().unwrap_or_default()
    };
    for (kind, why) in
        [("requests", "resource requests cannot be removed"), ("limits", "resource limits cannot be removed")]
    {
        let (now, old): (Object, Object) = (list(now, kind), list(old, kind));
        if old.keys().any(|name| !now.contains_key(name)) {
            errors.forbidden(path.child(kind), why);
        }
    }
}

/// What else a container has stays.
fn only_cpu_and_memory(pod: &Value, old: &Value, path: &Path, errors: &mut ErrorList) {
    for list in ["containers", "initContainers"] {
        let pairs = cells::items(pod, &["spec", list]).iter().zip(cells::items(old, &["spec", list]));
        for (now, old) in pairs {
            let why = match list {
                "containers" => "only cpu and memory resources are mutable",
                _ if is_sidecar(old) => "only cpu and memory resources for sidecar containers are mutable",
                _ => "resources for non-sidecar init containers are immutable",
            };
            let is_same = if list == "containers" || is_sidecar(old) {
                others(now) == others(old)
            } else {
                now.get("resources") == old.get("resources")
            };
            if !is_same {
                errors.forbidden(path.clone(), why);
            }
        }
    }
}

/// The amounts of a container that may not change, sorted.
fn others(container: &Value) -> Vec<(String, String, Option<Quantity>)> {
    let mut others = Vec::new();
    for list in ["limits", "requests"] {
        let amounts = container.at(&["resources", list]).and_then(Value::as_object);
        for (name, amount) in amounts.into_iter().flat_map(Object::iter) {
            if !RESIZABLE.contains(&name.as_str()) {
                others.push((list.to_owned(), name.to_string(), Quantity::from_value(amount).ok()));
            }
        }
    }
    others
}
