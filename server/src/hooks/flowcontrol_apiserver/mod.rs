//! The flowcontrol.apiserver.k8s.io group.

mod conditions;
mod flow_schema;
mod levels;
mod mandatory;
mod priority_level_configuration;
mod rules;

pub use flow_schema::FlowSchema;
pub use priority_level_configuration::PriorityLevelConfiguration;
