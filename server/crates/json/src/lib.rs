//! The value that a request body becomes, and its way from and to JSON and YAML.
//!
//! Position: the bottom of the layers; knows nothing of Kubernetes types.
//! Invariant: numbers are `i64` where they fit and `f64` elsewhere, as Go's decoder into
//! `interface{}` of sigs.k8s.io/json has them; object members keep the order they came in.
//! Absence: no schema, no I/O.

pub mod cursor;
pub mod decode;
pub mod encode;
pub mod go;
pub mod indent;
mod nesting;
mod scan;
pub mod sparse;
mod swar;
pub mod value;
pub mod yaml;

pub use decode::{Duplicates, Error, decode};
pub use encode::{to_bytes, to_bytes_pretty, to_string, to_string_pretty};
pub use indent::Indenter;
pub use value::{Object, Str, Value};

/// The stack that a thread needs to walk the deepest value: to drop, copy, compare or encode it, and what else
/// recurses into it. Values nest up to [`decode::DEPTH_MAX`] deep because Go's do.
pub const STACK_BYTES: usize = 64 << 20;
