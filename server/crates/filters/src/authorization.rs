//! Whether they may.

use std::time::Instant;

use apiwright_chain::{Authorized, Authorizer, Refused, Request, RequestInfo, Response, User, respond};
use apiwright_meta::Status;
use apiwright_meta::gvk::GroupResource;
use tracing::{debug, error};

use crate::metrics::Metrics;
use crate::metrics::access::Authorization as Counted;

/// The permit, or the answer 403; 500 where nobody could tell.
pub(crate) async fn ask(
    request: Request,
    authorizer: &dyn Authorizer,
    metrics: &Metrics,
) -> Result<Authorized<Request>, Box<Response>> {
    let begun = Instant::now();
    let asked = Authorized::ask(request, authorizer).await;
    let result = match &asked {
        Ok(_) => Counted::Allowed,
        Err((_, Refused::Denied(_))) => Counted::Denied,
        Err((_, Refused::NoOpinion(_))) => Counted::NoOpinion,
        Err((_, Refused::Failed(_))) => Counted::Error,
    };
    metrics.authorized(result, begun);
    asked.map_err(|(request, why)| {
        let (audit_id, user) = (&request.audit_id, &request.user.name);
        Box::new(match why {
            Refused::Denied(why) | Refused::NoOpinion(why) => {
                debug!(audit_id, user, %why, "forbidden");
                respond::refusal(&request.head, &forbidden(&request.user, &request.info, &why))
            }
            Refused::Failed(why) => {
                error!(audit_id, user, %why, "cannot decide about a request");
                let address = request.head.uri.path_and_query().map_or("/", |address| address.as_str());
                let message = format!("Internal Server Error: {address:?}: {why}");
                respond::text_error(500, &without_markup(&message))
            }
        })
    })
}

/// The Status of a refusal.
pub(crate) fn forbidden(user: &User, info: &RequestInfo, why: &str) -> Status {
    let mut message = without_markup(&what(user, info));
    if !why.is_empty() {
        message.push_str(": ");
        message.push_str(why);
    }
    let resource =
        GroupResource { group: info.group.as_str().into(), resource: info.resource.as_str().into() };
    *Status::forbidden(&resource, &info.name, message)
}

fn what(user: &User, info: &RequestInfo) -> String {
    let (name, verb) = (&user.name, &info.verb);
    if !info.is_resource {
        return format!("User {name:?} cannot {verb} path {:?}", info.path);
    }
    let slash = if info.subresource.is_empty() { "" } else { "/" };
    let resource = format!("{}{slash}{}", info.resource, info.subresource);
    let place = if info.namespace.is_empty() {
        "at the cluster scope".into()
    } else {
        format!("in the namespace {:?}", info.namespace)
    };
    format!("User {name:?} cannot {verb} resource {resource:?} in API group {:?} {place}", info.group)
}

/// A browser must not take the text for HTML.
pub(crate) fn without_markup(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::Method;

    #[test]
    fn texts() {
        let bob = User { name: "bob".into(), ..User::default() };
        #[rustfmt::skip]
        let table = [
            ("GET", "/x", "", "forbidden: User \"bob\" cannot get path \"/x\""),
            ("POST", "/<b>", "", "forbidden: User \"bob\" cannot post path \"/&lt;b&gt;\""),
            ("GET", "/api/v1/namespaces/x/configmaps", "", "configmaps is forbidden: User \"bob\" cannot list resource \"configmaps\" in API group \"\" in the namespace \"x\""),
            ("GET", "/api/v1/namespaces/x", "", "namespaces \"x\" is forbidden: User \"bob\" cannot get resource \"namespaces\" in API group \"\" in the namespace \"x\""),
            ("PUT", "/apis/apps/v1/namespaces/x/deployments/d/scale", "", "deployments.apps \"d\" is forbidden: User \"bob\" cannot update resource \"deployments/scale\" in API group \"apps\" in the namespace \"x\""),
            ("GET", "/api/v1/nodes", "RBAC: clusterrole.rbac.authorization.k8s.io \"r\" not found", "nodes is forbidden: User \"bob\" cannot list resource \"nodes\" in API group \"\" at the cluster scope: RBAC: clusterrole.rbac.authorization.k8s.io \"r\" not found"),
        ];
        for (method, path, why, expected) in table {
            let method: Method = method.parse().unwrap();
            let info = RequestInfo::parse(&method, path, "").unwrap();
            let status = forbidden(&bob, &info, why);
            assert_eq!((status.code, status.message.as_str()), (403, expected));
            assert!(status.details.is_some());
        }
    }
}
