//! Requests for certificates say who made them: the server notes it, whatever the client says.
//!
//! A hook would know the name only; an admission plugin knows the user. Nobody can switch it off.

use apiwright_admission::{Attributes, Operation, Plugin};
use apiwright_json::{Object, Value};
use apiwright_meta::status::Result;
use futures::FutureExt;
use futures::future::BoxFuture;

/// Notes who requests certificates.
#[derive(Debug)]
pub(crate) struct CertificateRequester;

impl Plugin for CertificateRequester {
    fn name(&self) -> &'static str {
        "CertificateRequester"
    }

    fn concerns(&self, request: &Attributes<'_>) -> bool {
        request.operation == Operation::Create
            && request.is("certificates.k8s.io", "certificatesigningrequests")
    }

    fn mutate<'a>(
        &'a self,
        request: &'a Attributes<'a>,
        object: Option<&'a mut Value>,
        _old: Option<&'a Value>,
    ) -> BoxFuture<'a, Result<()>> {
        if let Some(object) = object.and_then(Value::as_object_mut) {
            note(object.object("spec"), request);
        }
        async { Ok(()) }.boxed()
    }
}

/// The members come last in the specification, in this order.
fn note(spec: &mut Object, request: &Attributes<'_>) {
    for member in ["username", "uid", "groups", "extra"] {
        spec.remove(member);
    }
    let user = request.user;
    for (member, text) in [("username", user.name), ("uid", user.uid)] {
        if !text.is_empty() {
            spec.push(member, text);
        }
    }
    let texts = |all: &[String]| all.iter().map(|text| Value::from(text.as_str())).collect::<Vec<_>>();
    if !user.groups.is_empty() {
        spec.push("groups", texts(user.groups));
    }
    if !user.extra.is_empty() {
        let mut extra: Object = user.extra.iter().map(|(key, all)| (key.as_str(), texts(all))).collect();
        extra.sort();
        spec.push("extra", extra);
    }
}
