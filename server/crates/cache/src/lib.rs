//! What is held in memory: all entries at the newest revision, a bounded window of changes to read
//! the past and to resume from, and the watches that these changes go to.
//!
//! An engine that keeps its entries in memory anyway is built on [`Memory`]; in front of another, a
//! [`Cached`] keeps them. Either way an entry is in memory once. Knows nothing of disks or networks.

mod cached;
mod difference;
mod facets;
mod follow;
mod history;
mod hub;
mod index;
mod limits;
mod memory;
mod newest;
mod queue;
mod snapshot;
mod watch;

pub use cached::{Cached, Options};
pub use hub::FIRST_REVISION;
pub use limits::Limits;
pub use memory::Memory;
pub use snapshot::{Map, Snapshot};
