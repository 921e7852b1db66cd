//! OpenAPI: the published schemas and operations, one document per group version
//! (`/openapi/v3/…`), the index of them, and all in one (`/openapi/v2`).
//!
//! Position: above `discovery`. Invariant: a document is built when it is first asked for after
//! its group version changed, and shared until the next change; its hash names it.

pub mod custom;
pub mod document;
pub mod gnostic;
pub mod handler;
mod kinds;
pub mod operations;
pub mod parameters;
pub mod schemas;
pub mod source;
pub mod swagger;

pub use handler::OpenApiHandler;
pub use source::{Document, OpenApi, Published};
