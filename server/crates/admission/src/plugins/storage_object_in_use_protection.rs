//! `StorageObjectInUseProtection`: volumes and claims are born with a finalizer, so that they stay
//! while something uses them.

use apiwright_json::Value;
use apiwright_meta::object;
use apiwright_meta::status::Result;
use futures::FutureExt;
use futures::future::BoxFuture;

use crate::attributes::{Attributes, Operation};
use crate::plugin::Plugin;

const FINALIZERS: [(&str, &str, &str); 3] = [
    ("", "persistentvolumes", "kubernetes.io/pv-protection"),
    ("", "persistentvolumeclaims", "kubernetes.io/pvc-protection"),
    ("storage.k8s.io", "volumeattributesclasses", "kubernetes.io/vac-protection"),
];

/// The plugin.
pub(crate) struct StorageObjectInUseProtection;

impl Plugin for StorageObjectInUseProtection {
    fn name(&self) -> &'static str {
        "StorageObjectInUseProtection"
    }

    fn concerns(&self, request: &Attributes<'_>) -> bool {
        request.operation == Operation::Create && finalizer(request).is_some()
    }

    fn mutate<'a>(
        &'a self,
        request: &'a Attributes<'a>,
        object: Option<&'a mut Value>,
        _old: Option<&'a Value>,
    ) -> BoxFuture<'a, Result<()>> {
        if let (Some(object), Some(finalizer)) = (object, finalizer(request)) {
            let mut finalizers: Vec<String> = object::finalizers(object).map(str::to_owned).collect();
            if !finalizers.iter().any(|one| one == finalizer) {
                finalizers.push(finalizer.to_owned());
                object::set_finalizers(object, finalizers);
            }
        }
        async { Ok(()) }.boxed()
    }
}

fn finalizer(request: &Attributes<'_>) -> Option<&'static str> {
    let (_, _, finalizer) = FINALIZERS.iter().find(|(group, plural, _)| request.is(group, plural))?;
    Some(finalizer)
}
