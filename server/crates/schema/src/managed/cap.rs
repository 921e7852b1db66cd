//! At most ten owners by update: the oldest merge into one a version.

use std::cmp::Ordering;

use super::managers::{Managers, Operation, Owner};
use crate::fieldset::Set;

/// How many owners by update an object keeps.
const UPDATERS_MAX: usize = 10;
/// The manager that the oldest owners become.
const ANCIENT: &str = "ancient-changes";

/// Merges the oldest owners by update until no more than [`UPDATERS_MAX`] are left, or none can be
/// merged, since each is alone with its version.
pub(super) fn cap(managers: &mut Managers) {
    let mut count = managers.0.iter().filter(|owner| owner.operation == Operation::Update).count();
    if count <= UPDATERS_MAX {
        return;
    }
    let mut updaters: Vec<Owner> =
        managers.0.iter().filter(|owner| owner.operation == Operation::Update).cloned().collect();
    updaters.sort_by(oldest_first);
    let mut first_of_version: Vec<Owner> = Vec::new();
    for updater in updaters {
        if count <= UPDATERS_MAX {
            break;
        }
        let first = first_of_version.iter().find(|first| first.api_version == updater.api_version).cloned();
        let Some(first) = first else {
            first_of_version.push(updater);
            continue;
        };
        let bucket = Owner {
            manager: ANCIENT.into(),
            operation: Operation::Update,
            api_version: updater.api_version.clone(),
            subresource: "".into(),
            time: None,
            fields: Set::new().into(),
        };
        if !managers.0.iter().any(|one| one.is_same_as(&bucket)) {
            let fields = managers.take(&first).map_or(Set::new().into(), |first| first.fields);
            managers.put(Owner { fields, ..bucket.clone() });
        }
        let Some(merged) = managers.take(&updater) else { continue };
        count -= 1;
        match managers.0.iter_mut().find(|one| one.is_same_as(&bucket)) {
            Some(slot) => {
                slot.fields.set_mut().absorb(merged.fields.into_set());
                slot.time = merged.time;
            }
            // The updater was the bucket itself.
            None => managers.put(merged),
        }
    }
}

fn oldest_first(a: &Owner, b: &Owner) -> Ordering {
    a.time.cmp(&b.time).then_with(|| a.identifier().cmp(&b.identifier()))
}
