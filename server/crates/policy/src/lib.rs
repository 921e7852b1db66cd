//! Admission policies: expressions that are asked about requests, and that change them.
//!
//! Position: above `admission`, whose plugins it brings two more to, and `cel`; below `webhook`, whose match conditions
//! it evaluates.
//! Invariant: where nothing is configured, a request costs one load of an atomic pointer. Expressions are compiled
//! once, when a policy changes, by event.
//! Absence: the status of policies is a controller's to write; what it writes of their types is found here.

mod annotations;
mod authority;
mod bindings;
mod conditions;
mod definitions;
mod evaluation;
mod expression;
mod mutating;
mod mutation;
mod params;
mod plugins;
mod request;
pub mod typecheck;
mod validating;
pub mod vocabulary;

pub use conditions::{Conditions, Unmet};
pub use expression::{Expected, compile, fault, shown};
pub use params::Kinds;
pub use plugins::AdmissionPolicies;
pub use request::Asked;
