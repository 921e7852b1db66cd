//! The `AdmissionReview` that a webhook is sent.

use apiwright_admission::Attributes;
use apiwright_admission::matching::{Matched, describe};
use apiwright_json::{Object, Value, to_bytes};

use crate::hook::ReviewVersion;

/// The objects of a request, in the version in which a webhook sees them.
#[derive(Clone, Copy)]
pub(crate) struct Objects<'a> {
    pub(crate) object: Option<&'a Value>,
    pub(crate) old: Option<&'a Value>,
}

impl<'a> From<(Option<&'a Value>, Option<&'a Value>)> for Objects<'a> {
    fn from((object, old): (Option<&'a Value>, Option<&'a Value>)) -> Self {
        Self { object, old }
    }
}

/// The bytes of a review. The objects, which may be large, are not copied on the way.
pub(crate) fn write(
    version: ReviewVersion,
    uid: &str,
    request: &Attributes<'_>,
    matched: Matched<'_>,
    objects: Objects<'_>,
) -> Vec<u8> {
    let mut out = Vec::with_capacity(4096);
    out.extend_from_slice(b"{\"kind\":\"AdmissionReview\",\"apiVersion\":\"");
    out.extend_from_slice(version.api_version().as_bytes());
    out.extend_from_slice(b"\",\"request\":");
    to_bytes(&Value::Object(head(uid, request, matched)), &mut out);
    // The head's brace is opened again for what follows.
    out.pop();
    let dry_run = Value::from(request.dry_run);
    let null = Value::Null;
    for (name, value) in [
        ("object", objects.object.unwrap_or(&null)),
        ("oldObject", objects.old.unwrap_or(&null)),
        ("dryRun", &dry_run),
        ("options", request.options.unwrap_or(&null)),
    ] {
        out.extend_from_slice(b",\"");
        out.extend_from_slice(name.as_bytes());
        out.extend_from_slice(b"\":");
        to_bytes(value, &mut out);
    }
    out.extend_from_slice(b"}}");
    out
}

/// All of a request but its objects.
fn head(uid: &str, request: &Attributes<'_>, matched: Matched<'_>) -> Object {
    let mut head = Object::with_capacity(12);
    head.push("uid", uid);
    describe(request, matched, &mut head);
    head
}
