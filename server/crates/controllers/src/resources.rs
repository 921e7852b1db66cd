//! What is stored, for those who look at all of it.

use std::sync::Arc;

use apiwright_registry::Store;

/// Every stored resource, built in or custom. Told by whoever assembles the chain; custom resources
/// come and go.
pub trait Resources: Send + Sync + 'static {
    /// The store of what lies below `/registry/<prefix>/`.
    fn at(&self, prefix: &str) -> Option<Arc<Store>>;

    /// One store for each resource that is served, in a steady order.
    fn all(&self) -> Vec<Arc<Store>>;

    /// The store of a kind, as a reference to an owner names it.
    fn of_kind(&self, group: &str, version: &str, kind: &str) -> Option<Arc<Store>>;
}
