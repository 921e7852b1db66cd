//! What drivers are told of devices in words of their own.

use apiwright_json::{Value, to_string};
use apiwright_meta::{ErrorList, Path};

use crate::hooks::shared::faults::Faults;
use crate::hooks::shared::storage_driver::csi_name;

/// How long a driver's own JSON is at most.
const BYTES_MAX: usize = 10 * 1024;

/// The faults of a configuration, which is one of a driver's; `stored` ones may be longer.
pub(super) fn faults(configuration: &Value, stored: bool, path: &Path, out: &mut Faults<'_>) {
    let path = path.child("opaque");
    out.drop_below(&path);
    let Some(opaque) = configuration.get("opaque") else {
        out.required(path, "");
        return;
    };
    csi_name(opaque.text_at(&["driver"]), &path.child("driver"), out);
    object_faults(opaque.get("parameters"), stored, &path.child("parameters"), out);
}

/// The faults of JSON that has to be an object.
pub(super) fn object_faults(value: Option<&Value>, stored: bool, path: &Path, errors: &mut ErrorList) {
    match value {
        None | Some(Value::Null) => errors.required(path.clone(), ""),
        Some(value) if !stored && to_string(value).len() > BYTES_MAX => {
            errors.too_long(path.clone(), BYTES_MAX);
        }
        Some(Value::Object(_)) => {}
        Some(_) => errors.invalid(path.clone(), "\"<value omitted>\"", "must be a valid JSON object"),
    }
}
