//! The names and parameters of what drives storage.

use apiwright_json::{Object, Value};
use apiwright_meta::field::quoted;
use apiwright_meta::{ErrorList, Path, names};

/// How long a driver's name is at most.
const NAME_BYTES_MAX: usize = 63;
/// How many parameters there are at most, and how long all of them.
const PARAMETERS_MAX: usize = 512;
const PARAMETER_BYTES_MAX: usize = 256 * 1024;

/// The faults of the name of a CSI driver, in capitals or not.
pub fn csi_name(name: &str, path: &Path, errors: &mut ErrorList) {
    if name.is_empty() {
        errors.required(path.clone(), "");
        return;
    }
    if name.len() > NAME_BYTES_MAX {
        errors.too_long(path.clone(), NAME_BYTES_MAX);
    }
    errors.invalid_each(path, name, names::dns1123_subdomain(&name.to_ascii_lowercase()));
}

/// The faults of the name of a provisioner.
pub fn provisioner(name: &str, path: &Path, errors: &mut ErrorList) {
    if name.is_empty() {
        errors.required(path.clone(), "");
        return;
    }
    let name = name.to_lowercase();
    errors.invalid_each(path, &name, names::qualified_name(&name));
}

/// The faults of a provisioner's parameters.
pub fn parameters(parameters: Option<&Value>, may_be_none: bool, path: &Path, errors: &mut ErrorList) {
    let none = Object::new();
    let parameters = parameters.and_then(Value::as_object).unwrap_or(&none);
    if parameters.len() > PARAMETERS_MAX {
        errors.too_long(path.clone(), PARAMETERS_MAX);
        return;
    }
    let mut bytes = 0;
    for (key, value) in parameters.iter() {
        if key.is_empty() {
            errors.invalid(path.clone(), quoted(key), "field can not be empty.");
        }
        bytes += key.len() + value.as_str().map_or(0, str::len);
    }
    if bytes > PARAMETER_BYTES_MAX {
        errors.too_long(path.clone(), PARAMETER_BYTES_MAX);
    }
    if !may_be_none && parameters.is_empty() {
        errors.required(path.clone(), "must contain at least one key/value pair");
    }
}

/// What stays as it is, in the words of storage.
pub fn fixed(object: &Value, old: &Value, member: &str, errors: &mut ErrorList) {
    if object.get(member) != old.get(member) {
        errors.forbidden(Path::new(member), &format!("updates to {member} are forbidden."));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_parameters() {
        type Check = fn(&str, &Path, &mut ErrorList);
        let table: &[(Check, &str, &str)] = &[
            (csi_name, "CSI.example.com", "[]"),
            (csi_name, "", "a: Required value"),
            (provisioner, "", "a: Required value"),
            (provisioner, "Example.com/Disk", "[]"),
        ];
        for (check, name, expected) in table {
            let mut errors = ErrorList::new();
            check(name, &Path::new("a"), &mut errors);
            assert_eq!(errors.aggregate(), *expected, "{name}");
        }
        let mut errors = ErrorList::new();
        parameters(None, false, &Path::new("a"), &mut errors);
        assert_eq!(errors.aggregate(), "a: Required value: must contain at least one key/value pair");
    }
}
