//! What an address says: the fixed grammar of Kubernetes' paths (upstream: `RequestInfo`).

/// A request's verb and object, as the path, the method and the query have it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RequestInfo {
    /// Whether the path is that of a resource: `/api/…` or `/apis/…` with a version and more.
    pub is_resource: bool,
    /// The decoded path.
    pub path: String,
    /// `get`, `list`, `watch`, `create`, `update`, `patch`, `delete`, `deletecollection`, or the
    /// lower-case method of a path that is no resource's.
    pub verb: String,
    /// `api` or `apis`.
    pub prefix: String,
    /// Empty for the core group.
    pub group: String,
    /// For instance `v1`.
    pub version: String,
    /// Empty for cluster-wide requests.
    pub namespace: String,
    /// The plural.
    pub resource: String,
    /// For instance `status`.
    pub subresource: String,
    /// Empty for collections.
    pub name: String,
    /// The decoded segments from the resource on.
    pub parts: Vec<String>,
    /// The field selector of a collection request, as it came.
    pub field_selector: String,
    /// The label selector of a collection request, as it came.
    pub label_selector: String,
}
