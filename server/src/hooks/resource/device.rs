//! What makes a device of a ResourceSlice valid.

use apiwright_json::{Object, Value};
use apiwright_meta::field::{go_value, quoted};
use apiwright_meta::{ErrorList, Path, names as labels};

use super::{lists, names, request_policy, tolerations};
use crate::generated::types::resource_v1::DEVICE;
use crate::hooks::shared::faults::Faults;
use crate::hooks::shared::quoting::internal_member;
use crate::hooks::shared::{cells, node_selector};

const POOL_BYTES_MAX: usize = 253;
const ATTRIBUTES_AND_CAPACITIES_MAX: usize = 32;
const ATTRIBUTE_VALUES_MAX: usize = 48;
const VALUE_BYTES_MAX: usize = 64;
const TAINTS_MAX: usize = 16;
const COUNTERS_MAX: usize = 32;
const LISTS: [&str; 4] = ["bools", "ints", "strings", "versions"];
const ONE_PLACE: &str = "exactly one of `nodeName`, `nodeSelector`, or `allNodes` is required when \
     `perDeviceNodeSelection` is set to true in the ResourceSlice spec";

/// The faults of a device; `old` is the one of its name that an update replaces.
pub(super) fn faults(device: &Value, old: Option<&Value>, placed: bool, path: &Path, out: &mut Faults<'_>) {
    let name = lists::name(device);
    out.invalid_each(&path.child("name"), name, labels::dns1123_label(name));
    size_faults(device, path, out);
    let at = path.child("attributes");
    for (name, attribute) in members(device, "attributes") {
        names::qualified(name, &at, out);
        attribute_faults(attribute, &names::key_path(&at, name), out);
    }
    let is_new = |member: &str| old.is_none_or(|old| old.get(member) != device.get(member));
    if is_new("capacity") {
        let shared = device.get("allowMultipleAllocations").and_then(Value::as_bool).unwrap_or_default();
        let at = path.child("capacity");
        for (name, capacity) in members(device, "capacity") {
            names::qualified(name, &at, out);
            request_policy::faults(capacity, shared, &names::key_path(&at, name), out);
        }
    }
    if is_new("taints") {
        let taints = cells::items(device, &["taints"]);
        if taints.len() > TAINTS_MAX {
            out.too_many(path.child("taints"), taints.len(), TAINTS_MAX);
            out.drop_below(&path.child("taints"));
        } else {
            for (at, taint) in taints.iter().enumerate() {
                tolerations::taint(taint, &path.child("taints").index(at), out);
            }
        }
    }
    let set = |one| Value::text_at(one, &["counterSet"]);
    lists::each_once(device, "consumesCounters", set, path, out, |one, path, out| {
        counter_faults(one, "counterSet", path, out);
    });
    place_faults(device, placed, path, out);
    binding_faults(device, path, out);
}

/// The faults of the name of a pool: subdomains with slashes between them.
pub(super) fn pool_name(name: &str, path: &Path, errors: &mut ErrorList) {
    if name.is_empty() {
        errors.required(path.clone(), "");
        return;
    }
    if name.len() > POOL_BYTES_MAX {
        errors.too_long(path.clone(), POOL_BYTES_MAX);
    }
    for part in name.split('/') {
        errors.invalid_each(path, part, labels::dns1123_subdomain(part));
    }
}

/// The faults of a set of counters, or of what a device takes of one.
pub(super) fn counter_faults(counters: &Value, name: &str, path: &Path, out: &mut Faults<'_>) {
    out.declared(&path.child(name));
    let at = path.child("counters");
    out.declared(&at);
    let count = members(counters, "counters").count();
    if count > COUNTERS_MAX {
        out.too_many(at, count, COUNTERS_MAX);
        return;
    }
    for (name, _) in members(counters, "counters") {
        out.invalid_each(&at, name, labels::dns1123_label(name));
    }
}

/// The faults of the conditions that a device waits for, and of those that end the wait.
pub(super) fn binding_faults(device: &Value, path: &Path, out: &mut Faults<'_>) {
    const LISTS: [&str; 2] = ["bindingConditions", "bindingFailureConditions"];
    for list in LISTS {
        lists::each(device, list, path, out, |name, path, out| {
            out.invalid_each(path, lists::text(name), labels::label_key(lists::text(name)));
        });
    }
    let conditions = LISTS.map(|list| cells::items(device, &[list]));
    for (list, names) in LISTS.into_iter().zip(conditions) {
        for (at, name) in names.iter().enumerate() {
            let path = path.child(list).index(at);
            if names[..at].contains(name) {
                out.duplicate(path.clone(), go_value(name));
            }
            if list == LISTS[1] && conditions[0].contains(name) {
                let why = "bindingFailureConditions must not overlap with bindingConditions";
                out.invalid(path, go_value(name), why);
            }
        }
    }
    let why = |list, other| format!("{list} are required to use {other}");
    match conditions.map(<[Value]>::is_empty) {
        [true, false] => out.invalid(path.child(LISTS[0]), "null", &why(LISTS[0], LISTS[1])),
        [false, true] => out.invalid(path.child(LISTS[1]), "null", &why(LISTS[1], LISTS[0])),
        _ => {}
    }
}

fn members<'a>(holder: &'a Value, member: &str) -> impl Iterator<Item = (&'a str, &'a Value)> {
    let members = holder.get(member).and_then(Value::as_object).into_iter().flat_map(Object::iter);
    members.map(|(name, value)| (name.as_str(), value))
}

fn size_faults(device: &Value, path: &Path, errors: &mut ErrorList) {
    let names = members(device, "attributes").count() + members(device, "capacity").count();
    if names > ATTRIBUTES_AND_CAPACITIES_MAX {
        let why = format!(
            "the total number of attributes and capacities must not exceed {ATTRIBUTES_AND_CAPACITIES_MAX}"
        );
        errors.invalid(path.clone(), names, &why);
    }
    let count = |attribute: &Value| -> usize {
        LISTS.iter().map(|list| cells::items(attribute, &[list]).len()).sum::<usize>().max(1)
    };
    let values: usize = members(device, "attributes").map(|(_, attribute)| count(attribute)).sum();
    if values > ATTRIBUTE_VALUES_MAX {
        let why = format!("the total number of attribute values must not exceed {ATTRIBUTE_VALUES_MAX}");
        errors.invalid(path.clone(), values, &why);
    }
}

fn attribute_faults(attribute: &Value, path: &Path, errors: &mut ErrorList) {
    if let Some(text) = attribute.get("string").and_then(Value::as_str) {
        length(text, &path.child("string"), errors);
    }
    if let Some(version) = attribute.get("version").and_then(Value::as_str) {
        version_faults(version, &path.child("version"), errors);
    }
    for list in LISTS {
        let Some(values) = attribute.get(list).and_then(Value::as_array) else { continue };
        let path = path.child(list);
        if values.is_empty() {
            errors.invalid(path.clone(), "[]", "must not be empty if specified");
        }
        for (at, value) in values.iter().filter_map(Value::as_str).enumerate() {
            match list {
                "strings" => length(value, &path.index(at), errors),
                "versions" => version_faults(value, &path.index(at), errors),
                _ => {}
            }
        }
    }
    let set = ["bool", "int", "string", "version"].into_iter().chain(LISTS);
    match set.filter(|member| attribute.get(member).is_some()).count() {
        0 => errors.invalid(path.clone(), "\"\"", "exactly one value must be specified"),
        1 => {}
        _ => {
            let one = Object::from_iter([("a", attribute.clone())]).into();
            let shown = internal_member(&DEVICE, "attributes", Some(&one));
            let shown =
                shown.strip_prefix("{\"a\":").and_then(|shown| shown.strip_suffix('}')).unwrap_or(&shown);
            errors.invalid(path.clone(), shown, "exactly one value must be specified");
        }
    }
}

fn length(text: &str, path: &Path, errors: &mut ErrorList) {
    if text.len() > VALUE_BYTES_MAX {
        errors.too_long(path.clone(), VALUE_BYTES_MAX);
    }
}

fn version_faults(version: &str, path: &Path, errors: &mut ErrorList) {
    if !is_version(version) {
        let why = "must be a string compatible with semver.org spec 2.0.0";
        errors.invalid(path.clone(), quoted(version), why);
    }
    length(version, path, errors);
}

/// Whether a text is a semantic version.
fn is_version(text: &str) -> bool {
    let is_number = |part: &str| {
        !part.is_empty()
            && part.bytes().all(|byte| byte.is_ascii_digit())
            && (part == "0" || !part.starts_with('0'))
    };
    let is_word = |part: &str| {
        !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
    };
    let is_release =
        |part: &str| is_word(part) && (is_number(part) || part.bytes().any(|byte| !byte.is_ascii_digit()));
    let (text, build) = text.split_once('+').map_or((text, None), |(text, build)| (text, Some(build)));
    let (core, release) = text.split_once('-').map_or((text, None), |(core, release)| (core, Some(release)));
    let numbers: Vec<&str> = core.split('.').collect();
    numbers.len() == 3
        && numbers.into_iter().all(is_number)
        && release.is_none_or(|release| release.split('.').all(is_release))
        && build.is_none_or(|build| build.split('.').all(is_word))
}

/// A device says where it is where its slice leaves that to it, and else does not.
fn place_faults(device: &Value, placed: bool, path: &Path, out: &mut Faults<'_>) {
    let [name, selector, all] = ["nodeName", "nodeSelector", "allNodes"].map(|member| device.get(member));
    if !placed {
        if name.or(selector).or(all).is_some() {
            let why = "`nodeName`, `nodeSelector` and `allNodes` can only be set if `perDeviceNodeSelection` is set \
                       to true in the ResourceSlice spec";
            out.invalid(path.clone(), "null", why);
        }
        return;
    }
    let mut set = Vec::new();
    match name.and_then(Value::as_str) {
        None => {}
        Some("") => out.invalid(path.child("nodeName"), "\"\"", "must not be empty"),
        Some(name) => {
            set.push("`nodeName`");
            out.invalid_each(&path.child("nodeName"), name, labels::dns1123_subdomain(name));
        }
    }
    if let Some(selector) = selector {
        set.push("`nodeSelector`");
        node_selector::faults(selector, &path.child("nodeSelector"), out);
    }
    match all.and_then(Value::as_bool) {
        None => {}
        Some(true) => set.push("`allNodes`"),
        Some(false) => {
            out.invalid(path.child("allNodes"), false, "must be either unset or set to true");
        }
    }
    match set.len() {
        0 => out.required(path.clone(), ONE_PLACE),
        1 => {}
        _ => out.invalid(path.clone(), quoted(&format!("{{{}}}", set.join(", "))), ONE_PLACE),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions() {
        let table = [
            ("1.2.3", true),
            ("1.2.3-rc.1+build.5", true),
            ("1.2", false),
            ("01.2.3", false),
            ("1.2.3-01", false),
            ("1.2.3-", false),
        ];
        for (text, expected) in table {
            assert_eq!(is_version(text), expected, "{text}");
        }
    }

    #[test]
    fn faults_of_devices() {
        let table = [
            (r#"{"name":"d","attributes":{"a.b/model":{"string":"x"}}}"#, "[]"),
            (
                r#"{"name":"d","attributes":{"model":{}}}"#,
                "p.attributes[model]: Invalid value: \"\": exactly one value must be specified",
            ),
            (
                r#"{"name":"d","allNodes":true}"#,
                "p: Invalid value: null: `nodeName`, `nodeSelector` and `allNodes` can only be set if \
                 `perDeviceNodeSelection` is set to true in the ResourceSlice spec",
            ),
            (
                r#"{"name":"d","bindingConditions":["a"]}"#,
                "p.bindingFailureConditions: Invalid value: null: bindingFailureConditions are required to use bindingConditions",
            ),
        ];
        for (device, expected) in table {
            let device = apiwright_json::decode(device.as_bytes()).unwrap().0;
            let mut errors = ErrorList::new();
            let mut out = Faults::take(&mut errors, &Path::new("p"));
            super::faults(&device, None, false, &Path::new("p"), &mut out);
            drop(out);
            assert_eq!(errors.aggregate(), expected);
        }
    }
}
