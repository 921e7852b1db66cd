//! Turns one authorized request into one storage transaction.
//!
//! Position: above `storage` and `schema`, below `admission`. Knows nothing of HTTP.
//! Invariant: no object leaves without a resourceVersion, none is stored with one.

mod adjust;
mod at_hand;
pub mod catalogue;
mod codec;
mod convert;
mod create;
mod delete;
mod delete_collection;
mod deletion;
mod errors;
mod facet;
pub mod facts;
mod forms;
mod get;
pub mod hooks;
mod kept;
mod keys;
mod label_set;
mod list;
pub mod metadata;
mod names;
pub mod present;
pub mod reserve;
pub mod resource;
mod scan;
mod selection;
pub mod store;
mod strategy;
mod token;
pub mod typed;
mod update;
mod validate;
mod watch;

pub use catalogue::Catalogue;
pub use codec::stored_bytes;
pub use convert::convert;
pub use facts::ObjectFacts;
pub use hooks::{DeletionStep, Hooks};
pub use names::generate as generate_name;
pub use present::{Presented, Sink};
pub use reserve::{Fate, Held, Reservation, Reserve};
pub use resource::{
    Column, ColumnValue, Kind, NameRule, Resource, Scope, Selectable, Strategy, Subresource, SubresourceKind,
    Verb,
};
pub use store::{
    Check, DeleteOptions, Deleted, Freshness, ListPage, Paging, Propagation, Selection, Store, Transform,
    WatchEvent, WatchOptions, WatchStream, WriteOptions, Writer, Written,
};
