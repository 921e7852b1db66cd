//! Name and namespace of a body against those of the address.

use apiwright_json::Value;
use apiwright_meta::status::Result;
use apiwright_meta::{Status, object};

use crate::call::Call;
use crate::server::Target;

/// Drops what only the server sets, from an object that is to be created.
pub(crate) fn wipe_system_fields(value: &mut Value) {
    let metadata = object::metadata_mut(value);
    for name in ["uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "selfLink"] {
        metadata.remove(name);
    }
}

/// Puts an object into the namespace of the request. One that names another is refused; a
/// cluster-scoped one is in none, whatever it says.
///
/// # Errors
/// 400.
pub(crate) fn check_namespace(call: &Call, target: Target<'_>, value: &mut Value) -> Result<()> {
    let expected = target.namespace(&call.info);
    let given = object::namespace(value);
    if given == expected {
        return Ok(());
    }
    if !given.is_empty() && !expected.is_empty() {
        return Err(Status::bad_request(
            "the namespace of the provided object does not match the namespace sent on the request",
        ));
    }
    if expected.is_empty() {
        object::metadata_mut(value).remove("namespace");
    } else {
        object::set_namespace(value, expected);
    }
    Ok(())
}

/// Checks that an object that replaces another has its name.
///
/// # Errors
/// 400.
pub(crate) fn check_name(call: &Call, value: &Value) -> Result<()> {
    let expected = &call.info.name;
    match object::name(value) {
        _ if expected.is_empty() => Err(Status::bad_request("name must be provided")),
        "" => Err(Status::bad_request(format!(
            "the name of the object ({expected} based on URL) was undeterminable: name must be provided"
        ))),
        name if name != expected => Err(Status::bad_request(format!(
            "the name of the object ({name}) does not match the name on the URL ({expected})"
        ))),
        _ => Ok(()),
    }
}
