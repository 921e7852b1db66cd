//! The coordination.k8s.io group.

mod lease;
mod lease_candidate;

pub use lease::Lease;
pub use lease_candidate::LeaseCandidate;

use apiwright_meta::field::quoted;
use apiwright_meta::{ErrorList, Path, names};

/// The one way to elect that Kubernetes knows.
const OLDEST: &str = "OldestEmulationVersion";

/// The faults of a way to elect: Kubernetes' own has no domain, others have.
fn strategy_faults(strategy: &str, path: &Path, errors: &mut ErrorList) {
    // Upstream names the field twice.
    let path = path.child("strategy");
    if strategy.contains('/') {
        errors.invalid_each(&path, strategy, names::qualified_name(strategy));
    } else if strategy != OLDEST {
        errors.not_supported(path, quoted(strategy), &[OLDEST]);
    }
}
