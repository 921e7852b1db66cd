//! Admission: mutating plugins, then validating ones, in the order that the chain declares.
//!
//! Position: above `registry`, below the handlers, which ask it before they write. Plugins read
//! other objects through [`Objects`]; they know nothing of HTTP.
//! Absence: webhooks and policies are plugins like the others and live above, with their clients.

pub mod admission;
pub mod annotations;
pub mod attributes;
mod figures;
pub mod forms;
pub mod matching;
pub mod objects;
pub mod permits;
pub mod plugin;
pub mod plugins;
pub mod pod_references;
pub mod reinvocation;
pub mod warnings;

pub use admission::{Admission, ChoiceError};
pub use annotations::{Annotations, Wanted};
pub use attributes::{Attributes, Operation, User};
pub use forms::{Forms, OneForm};
pub use objects::Objects;
pub use permits::{Ask, Permits};
pub use plugin::Plugin;
pub use plugins::{Tolerations, built_in, quota};
pub use reinvocation::Reinvocation;
pub use warnings::Warnings;
