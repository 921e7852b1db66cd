//! Encryption at rest: values are sealed before an engine gets them, and opened once when they come back.
//!
//! Position: between an engine and the cache in front of it, so that what is in memory is plain and each value is
//! opened once, however often it is read. What lies in the engine is bit for bit what kube-apiserver
//! writes: `k8s:enc:<provider>:v1:<key>:` and the sealed value, bound to its key in etcd where the cipher can.
//! Knows keys and bytes, and from a key its resource; nothing of objects.
//! Absence: the first version of KMS plugins, which upstream has switched off.

mod aes_cbc;
mod aes_gcm;
mod config;
mod encrypted;
#[cfg(feature = "kms")]
mod kms;
mod provider;
mod random;
mod resources;
mod secretbox;
mod transform;

pub use config::Configuration;
pub use encrypted::Encrypted;
pub use provider::Providers;
pub use resources::{GroupResource, ResourceOf, Transformers};
