//! VolumeAttachments.

use apiwright_json::{Object, Value};
use apiwright_meta::{ErrorList, Path, names};
use apiwright_registry::Hooks;
use apiwright_registry::hooks::WriteContext;

use crate::hooks::core::inline_volume_faults;
use crate::hooks::shared::faults::Faults;
use crate::hooks::shared::storage_driver;

/// How many bytes the metadata of an attachment have at most, and a message.
const METADATA_BYTES_MAX: usize = 256 * 1024;
const MESSAGE_BYTES_MAX: usize = 1024;
const ONE_SOURCE: &str = "must specify exactly one of inlineVolumeSpec and persistentVolumeName";

/// The hooks of VolumeAttachments.
#[derive(Debug)]
pub struct VolumeAttachment;

impl Hooks for VolumeAttachment {
    fn validate_create(&self, _context: WriteContext<'_>, object: &Value, errors: &mut ErrorList) {
        faults(object, errors);
        let path = Path::new("spec");
        storage_driver::csi_name(object.text_at(&["spec", "attacher"]), &path.child("attacher"), errors);
        if let Some(name) = volume_name(object) {
            let path = path.child("source").child("persistentVolumeName");
            errors.invalid_each(&path, name, names::dns1123_subdomain(name));
        }
    }

    fn validate_update(
        &self,
        _context: WriteContext<'_>,
        object: &Value,
        _old: &Value,
        errors: &mut ErrorList,
    ) {
        // That the spec stays is a word; upstream says it last.
        let mut out = Faults::take(errors, &Path::new("spec"));
        faults(object, &mut out);
    }
}

fn volume_name(attachment: &Value) -> Option<&str> {
    attachment.at(&["spec", "source", "persistentVolumeName"]).and_then(Value::as_str)
}

fn faults(attachment: &Value, errors: &mut ErrorList) {
    let path = Path::new("spec");
    if attachment.text_at(&["spec", "attacher"]).is_empty() {
        errors.required(path.child("attacher"), "");
    }
    let at = path.child("source");
    match (attachment.at(&["spec", "source", "inlineVolumeSpec"]), volume_name(attachment)) {
        (None, None) => errors.required(at, ONE_SOURCE),
        (Some(_), Some(_)) => errors.forbidden(at, ONE_SOURCE),
        (None, Some("")) => {
            errors.required(at.child("persistentVolumeName"), "must specify non empty persistentVolumeName");
        }
        (None, Some(_)) => {}
        (Some(spec), None) => {
            inline_volume_faults(spec, &at.child("inlineVolumeSpec"), errors);
        }
    }
    let node = attachment.text_at(&["spec", "nodeName"]);
    errors.invalid_each(&path.child("nodeName"), node, names::dns1123_subdomain(node));
    if let Some(status) = attachment.get("status") {
        status_faults(status, &Path::new("status"), errors);
    }
}

fn status_faults(status: &Value, path: &Path, errors: &mut ErrorList) {
    let metadata = status.get("attachmentMetadata").and_then(Value::as_object);
    let bytes = |(key, value): (&apiwright_json::Str, &Value)| key.len() + value.as_str().map_or(0, str::len);
    if metadata.into_iter().flat_map(Object::iter).map(bytes).sum::<usize>() > METADATA_BYTES_MAX {
        errors.too_long(path.child("attachmentMetadata"), METADATA_BYTES_MAX);
    }
    for member in ["attachError", "detachError"] {
        let Some(error) = status.get(member) else { continue };
        if error.text_at(&["message"]).len() > MESSAGE_BYTES_MAX {
            // Upstream names the other bound.
            errors.too_long(path.child(member).child("message"), METADATA_BYTES_MAX);
        }
        let code = error.get("errorCode").and_then(Value::as_i64).unwrap_or_default();
        if code < 0 {
            let why = format!("must be between 0 and {}, inclusive", i32::MAX);
            errors.invalid(path.child(member).child("errorCode"), code, &why);
        }
    }
}
