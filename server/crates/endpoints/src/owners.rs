//! Owner references that come twice: kept once, with a warning.

use apiwright_chain::respond::Warnings;
use apiwright_json::Value;

/// When the references are looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Moment {
    /// As the client sent them.
    Received,
    /// As mutating admission left them.
    Mutated,
}

/// Drops references that are equal to earlier ones.
pub(crate) fn dedup(object: &mut Value, moment: Moment, warnings: &Warnings) {
    let Some(Value::Array(references)) = object.at_mut(&["metadata", "ownerReferences"]) else { return };
    let mut duplicates = Vec::new();
    let mut kept: Vec<Value> = Vec::with_capacity(references.len());
    for reference in std::mem::take(references) {
        if kept.contains(&reference) {
            duplicates.push(reference.text_at(&["uid"]).to_owned());
        } else {
            kept.push(reference);
        }
    }
    *references = kept;
    if duplicates.is_empty() {
        return;
    }
    let when = match moment {
        Moment::Received => "",
        Moment::Mutated => " after mutating admission happens",
    };
    warnings.add(format!(
        ".metadata.ownerReferences contains duplicate entries{when}; API server dedups owner references in 1.20+, \
         and may reject such requests as early as 1.24; please fix your requests; duplicate UID(s) observed: {}",
        duplicates.join(", ")
    ));
}
