//! `NodeRestriction`: a kubelet changes its own node, and what runs on it, and nothing else.
//!
//! The node authorizer lets kubelets do what depends on objects that it cannot see: this plugin sees them.

mod accounts;
mod nodes;
mod pods;

use std::sync::Arc;

use apiwright_json::Value;
use apiwright_meta::node_identity::node_of;
use apiwright_meta::object;
use apiwright_meta::status::{Result, Status};
use futures::FutureExt;
use futures::future::BoxFuture;

use super::certificate_subject_restriction::common_name;
use super::values::text;
use crate::attributes::{Attributes, Operation};
use crate::objects::Objects;
use crate::permits::Permits;
use crate::plugin::Plugin;

const LEASES: &str = "kube-node-lease";
/// Who signs kubelets' certificates.
const SIGNERS: [&str; 2] = ["kubernetes.io/kubelet-serving", "kubernetes.io/kube-apiserver-client-kubelet"];

/// The plugin.
pub(crate) struct NodeRestriction {
    objects: Objects,
    permits: Arc<dyn Permits>,
}

/// A request of a node.
#[derive(Clone, Copy)]
struct Asking<'a> {
    node: &'a str,
    request: &'a Attributes<'a>,
    object: Option<&'a Value>,
    old: Option<&'a Value>,
}

impl Asking<'_> {
    fn forbid(&self, why: impl std::fmt::Display) -> Result<()> {
        Err(self.refusal(why))
    }

    fn refusal(&self, why: impl std::fmt::Display) -> Box<Status> {
        self.request.forbid(self.object.or(self.old), why)
    }

    /// The name of the object: creations say it in the object only.
    fn name(&self) -> &str {
        match self.request.name {
            "" => self.object.map(object::name).unwrap_or_default(),
            name => name,
        }
    }

    /// Refuses an object of another name than the node's.
    fn own_name(&self, why: &str) -> Result<()> {
        if self.name() == self.node { Ok(()) } else { self.forbid(why) }
    }
}

impl NodeRestriction {
    pub(crate) fn new(objects: Objects, permits: Arc<dyn Permits>) -> Self {
        Self { objects, permits }
    }

    async fn admit(&self, asking: Asking<'_>) -> Result<()> {
        let Asking { node, request, object, .. } = asking;
        if node.is_empty() {
            return asking.forbid(format!("could not determine node from user {:?}", request.user.name));
        }
        match (&*request.resource.group, &*request.resource.plural) {
            ("", "pods") => pods::admit(&self.objects, asking).await,
            ("", "nodes") => nodes::admit(asking),
            ("", "persistentvolumeclaims") if request.subresource == "status" => nodes::admit_claim(asking),
            ("", "persistentvolumeclaims") => asking.forbid("may only update PVC status"),
            ("", "serviceaccounts") if request.subresource == "token" => {
                accounts::admit(&self.objects, self.permits.as_ref(), asking).await
            }
            ("coordination.k8s.io", "leases") if request.namespace != LEASES => {
                asking.forbid(format!("can only access leases in the {LEASES:?} system namespace"))
            }
            ("coordination.k8s.io", "leases") => {
                asking.own_name("can only access node lease with the same name as the requesting node")
            }
            ("storage.k8s.io", "csinodes") => {
                asking.own_name("can only access CSINode with the same name as the requesting node")
            }
            ("resource.k8s.io", "resourceslices") => slice(asking),
            ("certificates.k8s.io", "podcertificaterequests") => {
                asking.forbid("PodCertificateRequest feature gate is disabled")
            }
            ("certificates.k8s.io", "certificatesigningrequests") => {
                object.map_or(Ok(()), |object| certificate(asking, object))
            }
            _ => Ok(()),
        }
    }
}

/// The authorizer sees neither what is created nor each of a collection that is deleted.
fn slice(asking: Asking<'_>) -> Result<()> {
    let (verb, slice) = match asking.request.operation {
        Operation::Create => ("create", asking.object),
        Operation::Delete => ("delete", asking.old),
        Operation::Update | Operation::Connect => return Ok(()),
    };
    let named = slice.map(|slice| slice.text_at(&["spec", "nodeName"]));
    if named == Some(asking.node) {
        return Ok(());
    }
    asking.forbid(format!("can only {verb} ResourceSlice with the same NodeName as the requesting node"))
}

/// A kubelet's certificate is for the kubelet's own name.
fn certificate(asking: Asking<'_>, request: &Value) -> Result<()> {
    let signer = request.text_at(&["spec", "signerName"]);
    if asking.request.operation != Operation::Create || !SIGNERS.contains(&signer) {
        return Ok(());
    }
    let name = common_name(request.text_at(&["spec", "request"]))
        .map_err(|why| asking.refusal(format!("unable to parse csr: {why}")))?;
    let own = format!("system:node:{}", asking.node);
    if name == own { Ok(()) } else { asking.forbid(format!("can only create a node CSR with CN={own}")) }
}

impl Plugin for NodeRestriction {
    fn name(&self) -> &'static str {
        "NodeRestriction"
    }

    fn concerns(&self, request: &Attributes<'_>) -> bool {
        request.operation != Operation::Connect && node_of(request.user.name, request.user.groups).is_some()
    }

    fn mutate<'a>(
        &'a self,
        request: &'a Attributes<'a>,
        object: Option<&'a mut Value>,
        old: Option<&'a Value>,
    ) -> BoxFuture<'a, Result<()>> {
        let node = node_of(request.user.name, request.user.groups);
        let object = object.map(|object| &*object);
        async move {
            match node {
                Some(node) => self.admit(Asking { node, request, object, old }).await,
                None => Ok(()),
            }
        }
        .boxed()
    }
}

/// A pod, if it is there.
async fn pod(objects: &Objects, asking: &Asking<'_>, name: &str) -> Result<Value> {
    let found = objects.get("", "pods", asking.request.namespace, name).await?;
    found.ok_or_else(|| {
        let pods = apiwright_meta::GroupResource { group: "".into(), resource: "pods".into() };
        Status::not_found(&pods, name)
    })
}

/// The node that a pod runs on.
fn node_name(pod: &Value) -> &str {
    pod.get("spec").map(|spec| text(spec, "nodeName")).unwrap_or_default()
}
