//! `NamespaceLifecycle`: nothing is made in a namespace that is absent or going away, and the
//! namespaces of the system stay.

use apiwright_json::Value;
use apiwright_meta::field::Cause;
use apiwright_meta::status::Result;
use apiwright_meta::{GroupResource, Status};
use futures::FutureExt;
use futures::future::BoxFuture;

use crate::attributes::{Attributes, Operation};
use crate::objects::Objects;
use crate::plugin::Plugin;

const IMMORTAL: [&str; 3] = ["default", "kube-system", "kube-public"];

/// The plugin.
pub(crate) struct NamespaceLifecycle {
    objects: Objects,
}

impl NamespaceLifecycle {
    pub(crate) fn new(objects: Objects) -> Self {
        Self { objects }
    }

    async fn admit(&self, request: &Attributes<'_>, object: Option<&Value>) -> Result<()> {
        if request.operation == Operation::Delete {
            return Err(Status::forbidden(
                &request.group_resource(),
                request.name,
                "this namespace may not be deleted",
            ));
        }
        let namespace = request.namespace;
        let Some(stored) = self.objects.stored("", "namespaces", "", namespace).await? else {
            let namespaces = GroupResource { group: "".into(), resource: "namespaces".into() };
            return Err(Status::not_found(&namespaces, namespace));
        };
        if request.operation != Operation::Create || !stored.facts().deleting {
            return Ok(());
        }
        let why =
            format!("unable to create new content in namespace {namespace} because it is being terminated");
        let mut status = request.forbid(object, why);
        status.details_mut().causes.push(Cause {
            reason: "NamespaceTerminating".into(),
            message: format!("namespace {namespace} is being terminated"),
            field: "metadata.namespace".into(),
        });
        Err(status)
    }
}

impl Plugin for NamespaceLifecycle {
    fn name(&self) -> &'static str {
        "NamespaceLifecycle"
    }

    fn concerns(&self, request: &Attributes<'_>) -> bool {
        let is_namespace = request.kind.kind == "Namespace" && request.kind.group.is_empty();
        match request.operation {
            Operation::Delete => is_namespace && IMMORTAL.contains(&request.name),
            Operation::Create | Operation::Update => {
                // Reviews ask about namespaces, also about those that are not there.
                let review = request.is_of("authorization.k8s.io", "localsubjectaccessreviews");
                !is_namespace && !request.namespace.is_empty() && !review
            }
            Operation::Connect => false,
        }
    }

    fn mutate<'a>(
        &'a self,
        request: &'a Attributes<'a>,
        object: Option<&'a mut Value>,
        _old: Option<&'a Value>,
    ) -> BoxFuture<'a, Result<()>> {
        async move { self.admit(request, object.as_deref()).await }.boxed()
    }
}
