//! The objects that fairness cannot do without: their specs are what they were made with.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use apiwright_json::{Value, decode};
use apiwright_meta::{ErrorList, Path, object};
use apiwright_schema::Struct;

use crate::generated::BOOTSTRAP;
use crate::hooks::shared::quoting::internal_member;

const NAMES: [&str; 2] = ["catch-all", "exempt"];

/// What each is made with, by resource and name.
static SPECS: LazyLock<BTreeMap<(&str, String), Value>> = LazyLock::new(|| {
    let objects = BOOTSTRAP.iter().filter(|one| one.group == "flowcontrol.apiserver.k8s.io");
    let decoded = objects.filter_map(|one| Some((one.resource, decode(one.json.as_bytes()).ok()?.0)));
    decoded
        .filter(|(_, object)| NAMES.contains(&object::name(object)))
        .filter_map(|(resource, object)| {
            Some(((resource, object::name(&object).to_owned()), object.get("spec")?.clone()))
        })
        .collect()
});

/// The fault of a spec that is another one; the `exempt` of a level is its administrator's to set.
pub(super) fn faults(resource: &'static str, ty: &Struct, object: &Value, errors: &mut ErrorList) {
    let name = object::name(object);
    let Some(fixed) = SPECS.get(&(resource, name.to_owned())) else { return };
    let spec = object.get("spec").unwrap_or(&Value::Null);
    let without_exempt = |spec: &Value| {
        let mut spec = spec.clone();
        if let Some(spec) = spec.as_object_mut() {
            spec.remove("exempt");
        }
        spec
    };
    let (is_fixed, but) = if resource == "prioritylevelconfigurations" && name == "exempt" {
        (without_exempt(spec) == without_exempt(fixed), " except the 'spec.exempt' field")
    } else {
        (spec == fixed, "")
    };
    if !is_fixed {
        let why = format!("spec of '{name}'{but} must equal the fixed value");
        errors.invalid(Path::new("spec"), internal_member(ty, "spec", Some(spec)), &why);
    }
}
