//! Turns one authorized request into one storage transaction.
//!
//! Position: above `storage` and `schema`, below `admission`. Knows nothing of HTTP.
//! Invariant: no object leaves without a resourceVersion, none is stored with one.

pub mod hooks;
pub mod resource;
pub mod store;

pub use hooks::Hooks;
pub use resource::{Column, ColumnValue, Kind, NameRule, Resource, Scope, Selectable, Strategy, Subresource, SubresourceKind, Verb};
