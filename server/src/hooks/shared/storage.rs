//! What volumes and claims have in common: modes, amounts, classes.

use apiwright_json::Value;
use apiwright_meta::field::quoted;
use apiwright_meta::quantity::Quantity;
use apiwright_meta::{ErrorList, Path, names};

use super::cells;

const MODES: [&str; 4] = ["ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod"];
const ONE_POD: &str = "ReadWriteOncePod";

/// The faults of access modes.
pub fn mode_faults(spec: &Value, required: &str, path: &Path, errors: &mut ErrorList) {
    let modes: Vec<&str> = cells::items(spec, &["accessModes"]).iter().filter_map(Value::as_str).collect();
    let path = path.child("accessModes");
    if modes.is_empty() {
        errors.required(path.clone(), required);
    }
    for mode in modes.iter().filter(|mode| !MODES.contains(mode)) {
        errors.not_supported(path.clone(), quoted(mode), &MODES);
    }
    if modes.contains(&ONE_POD) && modes.iter().any(|mode| *mode != ONE_POD && MODES.contains(mode)) {
        errors.forbidden(path, "may not use ReadWriteOncePod with other access modes");
    }
}

/// The faults of the name of a class, where there is one.
pub fn class_faults(spec: &Value, member: &str, path: &Path, errors: &mut ErrorList) {
    let class = spec.text_at(&[member]);
    if !class.is_empty() {
        errors.invalid_each(&path.child(member), class, names::name_is_dns_subdomain(class, false));
    }
}

/// An amount that must be more than nothing.
pub fn positive(amount: &Quantity, path: &Path, errors: &mut ErrorList) {
    if amount.sign() <= 0 {
        errors.invalid(path.clone(), quoted(&amount.to_string()), "must be greater than zero");
    }
}

/// An amount that is not less than nothing.
pub fn basic(amount: &Quantity, path: &Path, errors: &mut ErrorList) {
    if amount.value() < 0 {
        errors.invalid(path.clone(), amount.value(), "must be a valid resource quantity");
    }
}
