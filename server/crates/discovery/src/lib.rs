//! Discovery: what is served, told in two forms. The legacy documents (`/api`, `/apis`,
//! `/apis/<group>`, `/apis/<group>/<version>`) and the aggregated one (`apidiscovery.k8s.io/v2`,
//! KEP-3352) with its entity tag.
//!
//! Position: above `chain`; fed by the links, which say what each of their group versions holds.
//! Invariant: documents are built when they are first asked for after a change, and shared
//! until the next one. Absence: no HTTP beyond the answers of [`handler`]; no storage.

pub mod aggregated;
pub mod documents;
pub mod handler;
pub mod order;
pub mod source;

pub use handler::DiscoveryHandler;
pub use source::{Content, Discovery, Freshness, Registered, Source};
