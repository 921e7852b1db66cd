//! The core group.

mod component_status;
mod config_map;
mod endpoints;
mod event;
mod limit_range;
mod namespace;
mod node;
mod persistent_volume;
mod persistent_volume_claim;
mod pod;
mod pod_template;
mod replication_controller;
mod resource_quota;
mod secret;
mod service;
mod service_account;

pub use component_status::ComponentStatus;
pub use config_map::ConfigMap;
pub use endpoints::Endpoints;
pub use event::Event;
pub use limit_range::LimitRange;
pub use namespace::Namespace;
pub use node::Node;
pub use persistent_volume::{PersistentVolume, inline_faults as inline_volume_faults};
pub use persistent_volume_claim::{
    PersistentVolumeClaim, spec_faults as claim_spec_faults, warnings as claim_warnings,
};
pub use pod::Pod;
pub use pod_template::PodTemplate;
pub use replication_controller::ReplicationController;
pub use resource_quota::ResourceQuota;
pub use secret::Secret;
pub use service::Service;
pub use service_account::ServiceAccount;
