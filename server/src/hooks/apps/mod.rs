//! The apps group.

mod controller_revision;
mod workload;

pub use controller_revision::ControllerRevision;
pub use workload::{DaemonSet, Deployment, ReplicaSet, StatefulSet};
