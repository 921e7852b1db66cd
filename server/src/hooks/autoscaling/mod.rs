//! The autoscaling group.

mod conversion;
mod horizontal_pod_autoscaler;

pub use horizontal_pod_autoscaler::{HorizontalPodAutoscaler, HorizontalPodAutoscalerV1};
