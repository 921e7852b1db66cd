//! What a manager no longer wants: it goes, unless somebody else owns it.

use std::borrow::Cow;
use std::ops::Deref;

use apiwright_json::Value;

use super::Refusal;
use super::remove::remove;
use crate::fieldset::{Faults, Set, from_value, with_named_fields};
use crate::managed::{Managers, Owner, Request};
use crate::table::{Ref, Struct};

/// The merged object without what `last`, the manager's previous entry, owned, and neither its new
/// one nor anybody else does.
pub(super) fn prune(
    ty: &Struct,
    merged: Value,
    managers: &Managers,
    last: &Owner,
    request: &Request<'_>,
) -> Result<Value, Refusal> {
    let last_set = last.fields.to_set();
    if last_set.is_empty() {
        return Ok(merged);
    }
    let Some(at) = View::new(ty, &merged, &last.api_version, request)? else { return Ok(merged) };
    let pruned = remove(&at.ty, &at.object, &with_named_fields(&at.ty, last_set.clone()));
    let pruned = add_back_owned(ty, &at, pruned, managers, request)?;
    let pruned = add_back_dangling(&at, in_version(&pruned, &last.api_version, request)?.as_ref(), &last_set);
    let pruned = pruned.map_err(failed)?;
    Ok(in_version(&pruned, request.api_version, request)?.into_owned())
}

fn failed(faults: Faults) -> Refusal {
    Refusal::text(format!("failed to prune fields: {faults}"))
}

/// An object in some version, with its type there.
struct View<'a> {
    ty: TypeOf<'a>,
    object: Cow<'a, Value>,
}

impl<'a> View<'a> {
    /// `None` where the version is not served. `ty` is the type in the version of the request.
    fn new(
        ty: &'a Struct,
        object: &'a Value,
        api_version: &str,
        request: &Request<'_>,
    ) -> Result<Option<Self>, Refusal> {
        let ty = if api_version == request.api_version {
            TypeOf::Requested(ty)
        } else {
            match request.versions.ty(api_version) {
                Some(ty) => TypeOf::Other(ty),
                None => return Ok(None),
            }
        };
        Ok(Some(Self { ty, object: in_version(object, api_version, request)? }))
    }
}

/// A type in the version of the request, or in another.
enum TypeOf<'a> {
    Requested(&'a Struct),
    Other(Ref<Struct>),
}

impl Deref for TypeOf<'_> {
    type Target = Struct;

    fn deref(&self) -> &Struct {
        match self {
            Self::Requested(ty) => ty,
            Self::Other(ty) => ty,
        }
    }
}

fn in_version<'a>(
    object: &'a Value,
    version: &str,
    request: &Request<'_>,
) -> Result<Cow<'a, Value>, Refusal> {
    if object.text_at(&["apiVersion"]) == version {
        return Ok(Cow::Borrowed(object));
    }
    request.versions.convert(object, version).map(Cow::Owned).map_err(Refusal::Other)
}

/// Adds back what was pruned and somebody owns, in the versions in which it is owned: first in the
/// one that was pruned, so that what conversion needs is there again.
fn add_back_owned(
    ty: &Struct,
    at: &View<'_>,
    mut pruned: Value,
    managers: &Managers,
    request: &Request<'_>,
) -> Result<Value, Refusal> {
    let mut versions: Vec<(&str, Set)> = Vec::new();
    for owner in &managers.0 {
        match versions.iter_mut().find(|(version, _)| *version == owner.api_version) {
            Some((_, set)) => set.absorb(owner.fields.to_set()),
            None => versions.push((&owner.api_version, owner.fields.to_set())),
        }
    }
    let first = at.object.text_at(&["apiVersion"]);
    versions.sort_by_key(|(version, _)| *version != first);
    for (version, owned) in versions {
        let Some(merged) = View::new(ty, &at.object, version, request)? else { continue };
        let kept = keep_owned(&merged.ty, &merged.object, &*in_version(&pruned, version, request)?, owned);
        pruned = kept.map_err(failed)?;
    }
    Ok(pruned)
}

/// The merged object without what is not in the pruned one and nobody owns.
fn keep_owned(ty: &Struct, merged: &Value, pruned: &Value, owned: Set) -> Result<Value, Faults> {
    let mut kept = with_named_fields(ty, from_value(ty, pruned)?);
    kept.absorb(with_named_fields(ty, owned));
    let mut gone = with_named_fields(ty, from_value(ty, merged)?);
    gone.remove_all(&kept);
    Ok(remove(ty, merged, &gone))
}

/// Adds back what is gone though the manager did not own it: what was in something that it owned.
fn add_back_dangling(at: &View<'_>, pruned: &Value, last: &Set) -> Result<Value, Faults> {
    let mut gone = with_named_fields(&at.ty, from_value(&at.ty, &at.object)?);
    gone.remove_all(&with_named_fields(&at.ty, from_value(&at.ty, pruned)?));
    Ok(remove(&at.ty, &at.object, &gone.intersection(&with_named_fields(&at.ty, last.clone()))))
}
