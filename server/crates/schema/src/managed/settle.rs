//! The rule of ownership: who changes a field takes it from all others; who removes it, from all.

use apiwright_json::{Str, Value};
use apiwright_meta::Status;

use super::managers::{Managers, Owner};
use super::{Request, entries};
use crate::fieldset::{self, Comparison, Faults, Path, Set};
use crate::table::Struct;

/// Why ownership could not be settled.
#[derive(Debug)]
pub(crate) enum Trouble {
    /// Others own fields that would change: each owner with its fields, sorted by identifier.
    Conflicts(Vec<(Owner, Vec<Path>)>),
    /// An object does not fit its type.
    Faults(Faults),
    /// An object cannot be expressed in an owner's version.
    Conversion(Box<Status>),
}

impl From<Faults> for Trouble {
    fn from(faults: Faults) -> Self {
        Self::Faults(faults)
    }
}

/// Forgets the owners in versions that are not served, and fits the others' sets to the types as
/// they are now.
pub(crate) fn reconcile_all(ty: &Struct, managers: &mut Managers, request: &Request<'_>) {
    managers.0.retain_mut(|owner| {
        if owner.api_version == request.api_version {
            owner.fields.reconcile(ty);
            return true;
        }
        let ty = request.versions.ty(&owner.api_version);
        if let Some(ty) = &ty {
            owner.fields.reconcile(ty);
        }
        ty.is_some()
    });
}

/// Takes what changes between `old` and `new` from all owners but `workflow`, and forgets those
/// who have nothing left. The answer is what changes, in the version of the request.
///
/// # Errors
/// When something changes that others own and `force` is not given.
pub(crate) fn settle(
    ty: &Struct,
    old: &Value,
    new: &Value,
    managers: &mut Managers,
    workflow: Option<&Owner>,
    force: bool,
    request: &Request<'_>,
) -> Result<Comparison, Trouble> {
    let comparison = compare(ty, old, new, request)?;
    if managers.is_empty() {
        return Ok(comparison);
    }
    let mut versions = vec![Seen::new(request.api_version, comparison)];
    for owner in &managers.0 {
        let known = versions.iter().any(|version| version.of == owner.api_version);
        if known || workflow.is_some_and(|workflow| owner.is_same_as(workflow)) {
            continue;
        }
        // reconcile_all has dropped the owners of versions without a type.
        let Some(ty) = request.versions.ty(&owner.api_version) else { continue };
        let convert = |object: &Value| {
            request.versions.convert(object, &owner.api_version).map_err(Trouble::Conversion)
        };
        let comparison = compare(&ty, &convert(old)?, &convert(new)?, request)?;
        versions.push(Seen::new(&owner.api_version, comparison));
    }
    let of = |owner: &Owner| {
        let is_workflow = workflow.is_some_and(|workflow| owner.is_same_as(workflow));
        versions.iter().find(|version| !is_workflow && version.of == owner.api_version)
    };
    if !force {
        let conflicts = conflicts(managers, of);
        if !conflicts.is_empty() {
            return Err(Trouble::Conflicts(conflicts));
        }
    }
    for owner in &mut managers.0 {
        if let Some(version) = of(owner) {
            owner.fields.remove_all(&version.touched);
            owner.fields.remove_all(&version.comparison.removed);
        }
    }
    managers.0.retain(|owner| !owner.fields.is_empty());
    Ok(versions.swap_remove(0).comparison)
}

/// What changes, seen in one version.
struct Seen {
    of: Str,
    comparison: Comparison,
    /// What is modified or added.
    touched: Set,
}

impl Seen {
    fn new(api_version: &str, comparison: Comparison) -> Self {
        let touched = comparison.modified.union(&comparison.added);
        Self { of: api_version.into(), comparison, touched }
    }
}

fn compare(ty: &Struct, old: &Value, new: &Value, request: &Request<'_>) -> Result<Comparison, Faults> {
    let mut comparison = fieldset::compare(ty, old, new)?;
    if entries(old).is_some() || entries(new).is_some() {
        // Ownership is not itself owned.
        for set in [&mut comparison.removed, &mut comparison.modified, &mut comparison.added] {
            set.remove_all(super::ownership());
        }
    }
    Ok(Comparison {
        removed: request.filter.apply(comparison.removed),
        modified: request.filter.apply(comparison.modified),
        added: request.filter.apply(comparison.added),
    })
}

fn conflicts<'v>(managers: &Managers, of: impl Fn(&Owner) -> Option<&'v Seen>) -> Vec<(Owner, Vec<Path>)> {
    let mut conflicts = Vec::new();
    for owner in &managers.0 {
        let Some(version) = of(owner).filter(|version| owner.fields.intersects(&version.touched)) else {
            continue;
        };
        let mut paths: Vec<Path> = Vec::new();
        owner.fields.to_set().intersection(&version.touched).for_each(&mut |path| paths.push(path.to_vec()));
        conflicts.push((owner.clone(), paths));
    }
    conflicts.sort_by_cached_key(|(owner, _)| owner.identifier());
    conflicts
}
