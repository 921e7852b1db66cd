//! Types by name: the tables of the specs, and the structs that codegen emits for kinds that Rust touches.

use std::sync::Arc;

use apiwright_schema::{Ref, Struct};

/// Finds a named type of the specs, by its OpenAPI definition name: those that resources share
/// (`Status`, `DeleteOptions`, `Scale`).
pub type Types = Arc<dyn Fn(&str) -> Option<Ref<Struct>> + Send + Sync>;

/// A struct that is one kind's object. Derived: `#[derive(Resource)]` of `apiwright-macros`.
pub trait TypedResource {
    /// The type of `metadata`.
    type Metadata;
    /// Empty for the core group.
    const GROUP: &'static str;
    /// For instance `v1`.
    const VERSION: &'static str;
    /// For instance `Deployment`.
    const KIND: &'static str;
    /// For instance `deployments`.
    const PLURAL: &'static str;
    /// Whether its objects live in namespaces.
    const NAMESPACED: bool;

    /// The object's metadata.
    fn metadata(&self) -> &Self::Metadata;
    /// The object's metadata, to change.
    fn metadata_mut(&mut self) -> &mut Self::Metadata;

    /// `apps/v1`, or `v1` in the core group.
    fn api_version() -> String {
        if Self::GROUP.is_empty() {
            Self::VERSION.into()
        } else {
            format!("{}/{}", Self::GROUP, Self::VERSION)
        }
    }
}
