//! The apiextensions.k8s.io group.

mod definition;
mod formats;
mod openapi;
mod parts;
mod shown;
mod structural;
mod validate;

pub use definition::CustomResourceDefinition;
