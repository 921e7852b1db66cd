//! The resource.k8s.io group: devices, who has them and who wants them.

mod claim;
mod claim_template;
mod configuration;
mod defaults;
mod device;
mod device_class;
mod expressions;
mod lists;
mod names;
mod request_policy;
mod requests;
mod slice;
mod status;
mod tolerations;
mod v1beta1;

pub use claim::ResourceClaim;
pub use claim_template::ResourceClaimTemplate;
pub use device_class::DeviceClass;
pub use slice::ResourceSlice;
pub use v1beta1::{ResourceClaimTemplateV1Beta1, ResourceClaimV1Beta1, ResourceSliceV1Beta1};
