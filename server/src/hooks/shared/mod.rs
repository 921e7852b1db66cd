//! What several kinds have in common.

pub mod cells;
pub mod pod_spec;
