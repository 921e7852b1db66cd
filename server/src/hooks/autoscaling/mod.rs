//! The autoscaling group.

mod behavior;
mod conversion;
mod horizontal_pod_autoscaler;
mod metrics;
mod validate;

pub use horizontal_pod_autoscaler::{HorizontalPodAutoscaler, HorizontalPodAutoscalerV1};
