//! What YAML cannot say about the built-in kinds: computed columns, computed defaults, rules that
//! reach across fields. One folder a group, one file a kind; `shared` holds what several kinds
//! have in common.

pub mod admissionregistration;
pub mod apiextensions;
pub mod apiregistration;
pub mod apps;
pub mod autoscaling;
pub mod batch;
pub mod certificates;
pub mod coordination;
pub mod core;
pub mod discovery;
pub mod events;
pub mod flowcontrol_apiserver;
pub mod networking;
pub mod node;
pub mod policy;
pub mod rbac_authorization;
pub mod resource;
pub mod scheduling;
pub mod shared;
pub mod storage;
