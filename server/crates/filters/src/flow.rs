//! Which flow schema and priority level a request belongs to.

use apiwright_chain::{RequestInfo, Response, User};
use http::{HeaderName, HeaderValue};

const FLOW_SCHEMA_UID: HeaderName = HeaderName::from_static("x-kubernetes-pf-flowschema-uid");
const PRIORITY_LEVEL_UID: HeaderName = HeaderName::from_static("x-kubernetes-pf-prioritylevel-uid");

/// The uids of a request's `FlowSchema` and `PriorityLevelConfiguration`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Flow {
    /// Of the `FlowSchema`.
    pub schema_uid: HeaderValue,
    /// Of the `PriorityLevelConfiguration`.
    pub level_uid: HeaderValue,
}

/// Classifies requests.
pub trait Flows: Send + Sync + 'static {
    /// The flow of a request; `None` while there are no flow schemas.
    fn flow(&self, user: &User, info: &RequestInfo) -> Option<Flow>;
}

/// Nobody classifies.
pub struct NoFlows;

impl Flows for NoFlows {
    fn flow(&self, _: &User, _: &RequestInfo) -> Option<Flow> {
        None
    }
}

/// Tells the client.
pub(crate) fn put_on(response: &mut Response, flow: Flow) {
    let headers = response.headers_mut();
    headers.insert(FLOW_SCHEMA_UID, flow.schema_uid);
    headers.insert(PRIORITY_LEVEL_UID, flow.level_uid);
}
