//! Which requests a webhook or a policy is about: rules, what is exempt, selectors.
//!
//! Position: below webhooks and policies, which share it. Compiled once, when the object that
//! says it is read.
//! Invariant: the rules alone decide without allocating or waiting, so that what matches nothing
//! costs nothing; namespaces are looked at last.

mod converted;
mod criteria;
mod described;
mod matched;
mod rule;

pub use converted::Converted;
pub use criteria::{Criteria, MatchPolicy};
pub use described::describe;
pub use matched::Matched;
pub use rule::Rule;

use crate::attributes::Attributes;

/// Whether no webhook and no policy has a say in a request: whoever configures them must be able
/// to mend them.
pub fn is_exempt(request: &Attributes<'_>) -> bool {
    const EXEMPT: [&str; 6] = [
        "validatingwebhookconfigurations",
        "mutatingwebhookconfigurations",
        "validatingadmissionpolicies",
        "validatingadmissionpolicybindings",
        "mutatingadmissionpolicies",
        "mutatingadmissionpolicybindings",
    ];
    *request.resource.group == *"admissionregistration.k8s.io" && EXEMPT.contains(&&*request.resource.plural)
}
