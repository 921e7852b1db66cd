//! What several kinds have in common.

pub mod amounts;
pub mod brackets;
pub mod cells;
pub mod diff;
pub mod faults;
pub mod ip;
pub mod keys;
pub mod node_selector;
pub mod old_labels;
pub mod pod_spec;
pub mod ports;
pub mod quoting;
pub mod references;
pub mod resources;
pub mod signer;
pub mod storage;
pub mod storage_driver;
pub mod volume_source;
pub mod webhook_client;
