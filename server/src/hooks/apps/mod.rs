//! The apps group.

mod controller_revision;
mod daemon_set;
mod deployment;
mod replica_set;
mod stateful_set;
mod workload;

pub use controller_revision::ControllerRevision;
pub use daemon_set::DaemonSet;
pub use deployment::Deployment;
pub use replica_set::ReplicaSet;
pub use stateful_set::StatefulSet;
