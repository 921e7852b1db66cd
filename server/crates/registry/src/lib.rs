//! Turns one authorized request into one storage transaction.
//!
//! Position: above `storage` and `schema`, below `admission`. Knows nothing of HTTP.
//! Invariant: no object leaves without a resourceVersion, none is stored with one.

pub mod facts;
pub mod catalogue;
pub mod hooks;
pub mod present;
pub mod resource;
pub mod store;
pub mod typed;

pub use facts::ObjectFacts;
pub use catalogue::Catalogue;
pub use hooks::Hooks;
pub use present::Presented;
pub use resource::{
    Column, ColumnValue, Kind, NameRule, Resource, Scope, Selectable, Strategy, Subresource, SubresourceKind,
    Verb,
};
pub use store::{
    Check, DeleteOptions, Deleted, Freshness, ListPage, Paging, Propagation, Selection, Store, Transform,
    WatchEvent, WatchOptions, WatchStream, WriteOptions, Written,
};
