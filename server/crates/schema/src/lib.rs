//! Compiled schemas and every operation that they drive: decoding with strictness, pruning,
//! defaulting, validation, patches, merging and ownership of fields, protobuf.
//!
//! Position: above `meta`. Knows objects as [`apiwright_json::Value`] and types as tables; no
//! I/O, no HTTP. Built-in kinds bring static tables made by codegen, custom resources the same
//! structures made at run time, shared between equal subtrees.

pub mod apply;
pub mod decode;
pub mod defaults;
pub mod fieldset;
pub mod go;
#[cfg(test)]
mod laws;
pub mod managed;
pub mod patch;
mod plan;
pub mod proto;
pub mod prune;
pub mod table;
#[cfg(test)]
mod testing;
mod trail;
pub mod validate;

pub use table::{Field, Junctor, List, ListKind, Map, Node, Ref, Rule, Shape, Struct, Table, Text};
