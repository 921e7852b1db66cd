//! What several kinds have in common.

pub mod cells;
pub mod ip;
pub mod keys;
pub mod pod_spec;
pub mod ports;
pub mod resources;
