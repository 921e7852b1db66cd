//! The storage.k8s.io group.

mod csi;
mod storage_class;

pub use csi::{CSIDriver, CSINode};
pub use storage_class::StorageClass;
