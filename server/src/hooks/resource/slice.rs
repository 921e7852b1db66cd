//! ResourceSlices.

use apiwright_json::Value;
use apiwright_meta::field::{go_value, quoted};
use apiwright_meta::{ErrorList, Path, names as labels};
use apiwright_registry::Hooks;
use apiwright_registry::hooks::WriteContext;

use super::{device, lists};
use crate::generated::types::core_v1::NODE_SELECTOR;
use crate::hooks::shared::faults::Faults;
use crate::hooks::shared::quoting::internal_member;
use crate::hooks::shared::storage_driver::csi_name;
use crate::hooks::shared::{cells, node_selector};

const DEVICES_MAX: usize = 128;
/// Of devices that have taints, counters or lists.
const COMPLEX_DEVICES_MAX: usize = 64;
const ONE_PLACE: &str =
    "exactly one of `nodeName`, `nodeSelector`, `allNodes`, `perDeviceNodeSelection` is required";

/// The hooks of ResourceSlices.
#[derive(Debug)]
pub struct ResourceSlice;

impl Hooks for ResourceSlice {
    fn validate_create(&self, _context: WriteContext<'_>, object: &Value, errors: &mut ErrorList) {
        faults(object, None, errors);
    }

    fn validate_update(
        &self,
        _context: WriteContext<'_>,
        object: &Value,
        old: &Value,
        errors: &mut ErrorList,
    ) {
        faults(object, Some(old), errors);
    }
}

fn faults(slice: &Value, old: Option<&Value>, errors: &mut ErrorList) {
    let path = Path::new("spec");
    let mut out = Faults::take(errors, &path);
    let Some(spec) = slice.get("spec") else { return };
    csi_name(spec.text_at(&["driver"]), &path.child("driver"), &mut out);
    pool_faults(spec, &path.child("pool"), &mut out);
    if let Some(old) = old.and_then(|old| old.get("spec")) {
        for member in [&["pool", "name"][..], &["driver"], &["nodeName"]] {
            let value = spec.at(member);
            if value != old.at(member) {
                let at = member.iter().fold(path.clone(), |path, name| path.child(name));
                out.invalid(at, value.map_or_else(|| "null".into(), go_value), "field is immutable");
            }
        }
    }
    place_faults(spec, &path, &mut out);
    let (devices, counters) = (spec.get("devices"), spec.get("sharedCounters"));
    if devices.is_some() && counters.is_some() {
        out.invalid(path.clone(), "\"\"", "only one of `sharedCounters` or `devices` is allowed");
    }
    devices_faults(spec, old, &path, &mut out);
    lists::each_once(spec, "sharedCounters", lists::name, &path, &mut out, |set, path, out| {
        device::counter_faults(set, "name", path, out);
    });
}

fn pool_faults(spec: &Value, path: &Path, errors: &mut ErrorList) {
    device::pool_name(spec.text_at(&["pool", "name"]), &path.child("name"), errors);
    let number = |member: &str| spec.at(&["pool", member]).and_then(Value::as_i64).unwrap_or_default();
    let (slices, generation) = (number("resourceSliceCount"), number("generation"));
    if slices <= 0 {
        errors.invalid(path.child("resourceSliceCount"), slices, "must be greater than zero");
    }
    if generation < 0 {
        errors.invalid(path.child("generation"), generation, "must be greater than or equal to zero");
    }
}

fn place_faults(spec: &Value, path: &Path, out: &mut Faults<'_>) {
    let mut set = Vec::new();
    match spec.get("nodeName").and_then(Value::as_str) {
        None => {}
        Some("") => {
            let why = "must be either unset or set to a non-empty string";
            out.invalid(path.child("nodeName"), "\"\"", why);
        }
        Some(name) => {
            set.push("`nodeName`");
            out.invalid_each(&path.child("nodeName"), name, labels::dns1123_subdomain(name));
        }
    }
    if let Some(selector) = spec.get("nodeSelector") {
        set.push("`nodeSelector`");
        let path = path.child("nodeSelector");
        node_selector::faults(selector, &path, out);
        if cells::items(selector, &["nodeSelectorTerms"]).len() != 1 {
            let terms = selector.get("nodeSelectorTerms");
            let shown = internal_member(&NODE_SELECTOR, "nodeSelectorTerms", terms);
            out.invalid(path.child("nodeSelectorTerms"), shown, "must have exactly one node selector term");
        }
    }
    for (member, shown) in
        [("allNodes", "`allNodes`"), ("perDeviceNodeSelection", "`perDeviceNodeSelection`")]
    {
        match spec.get(member).and_then(Value::as_bool) {
            None => {}
            Some(true) => set.push(shown),
            Some(false) => {
                out.invalid(path.child(member), false, "must be either unset or set to true");
            }
        }
    }
    match set.len() {
        0 => out.required(path.clone(), ONE_PLACE),
        1 => {}
        _ => {
            let shown = quoted(&format!("{{{}}}", set.join(", ")));
            out.invalid(path.clone(), shown, &format!("{ONE_PLACE}, but multiple fields are set"));
        }
    }
}

fn devices_faults(spec: &Value, old: Option<&Value>, path: &Path, out: &mut Faults<'_>) {
    let devices = cells::items(spec, &["devices"]);
    let is_complex = |device: &Value| {
        let has = |list: &str| cells::count(device, &[list]) > 0;
        let attributes = device.get("attributes").and_then(Value::as_object);
        let lists = ["bools", "ints", "strings", "versions"];
        has("taints")
            || has("consumesCounters")
            || attributes.is_some_and(|attributes| {
                attributes.values().any(|one| lists.iter().any(|list| one.get(list).is_some()))
            })
    };
    let most = if devices.iter().any(is_complex) { COMPLEX_DEVICES_MAX } else { DEVICES_MAX };
    if devices.len() > most {
        out.too_many(path.child("devices"), devices.len(), most);
        out.drop_below(&path.child("devices"));
        return;
    }
    let placed = spec.get("perDeviceNodeSelection").and_then(Value::as_bool).unwrap_or_default();
    let old = old.map_or(&[][..], |old| cells::items(old, &["spec", "devices"]));
    lists::each_once(spec, "devices", lists::name, path, out, |device, path, out| {
        let before = old.iter().find(|old| lists::name(old) == lists::name(device));
        device::faults(device, before, placed, path, out);
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faults_of_slices() {
        let pool = r#""driver":"a.b","pool":{"name":"p","generation":1,"resourceSliceCount":1}"#;
        let table = [
            (format!(r#"{{{pool},"nodeName":"n","devices":[{{"name":"d"}}]}}"#), "[]".to_owned()),
            (format!("{{{pool}}}"), format!("spec: Required value: {ONE_PLACE}")),
            (
                format!(r#"{{{pool},"nodeName":"n","allNodes":true}}"#),
                format!(
                    "spec: Invalid value: \"{{`nodeName`, `allNodes`}}\": {ONE_PLACE}, but multiple fields are set"
                ),
            ),
            (
                r#"{"driver":"","pool":{"generation":-1},"allNodes":true}"#.into(),
                "[spec.driver: Required value, spec.pool.name: Required value, spec.pool.resourceSliceCount: Invalid \
                 value: 0: must be greater than zero, spec.pool.generation: Invalid value: -1: must be greater than or \
                 equal to zero]"
                    .into(),
            ),
        ];
        for (spec, expected) in table {
            let slice = apiwright_json::decode(format!(r#"{{"spec":{spec}}}"#).as_bytes()).unwrap().0;
            let mut errors = ErrorList::new();
            super::faults(&slice, None, &mut errors);
            assert_eq!(errors.aggregate(), expected, "{spec}");
        }
    }
}
