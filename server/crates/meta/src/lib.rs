//! Kubernetes' common vocabulary: kinds, Status, selectors, quantities, names.
//!
//! Position: above `json`, below everything else. No I/O, no clock but `time::now`.

pub mod address;
pub mod conditions;
pub mod domains;
pub mod field;
pub mod fields;
pub mod gvk;
pub mod labels;
pub mod metrics;
pub mod names;
pub mod node_identity;
pub mod object;
pub mod quantity;
pub mod regexp;
pub mod status;
pub mod time;
pub mod url;

pub use field::{Cause, ErrorList, Path};
pub use gvk::{GroupKind, GroupResource, GroupVersion, GroupVersionKind, GroupVersionResource};
pub use status::Status;
