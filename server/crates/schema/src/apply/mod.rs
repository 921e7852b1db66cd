//! Server-side apply: what a manager wants, merged into what there is.
//!
//! Position: above `managed`, below the patch handler. A manager's configuration is checked
//! against the schema, merged, what it no longer wants and nobody else owns is taken out, and the
//! fields become its own, unless others who own them set them otherwise.
//! Invariant: texts, owners and order of items are those of kube-apiserver's `FieldManager` and
//! structured-merge-diff v6.
//! Absence: no decoding and no defaults of its own: [`Apply::finish`] brings the merged object
//! into normal form.

mod atomics;
mod check;
mod conflict;
mod lastapplied;
#[cfg(test)]
mod laws;
mod merge;
mod prune;
mod remove;
#[cfg(test)]
mod tests;

use std::borrow::Cow;

use apiwright_json::Value;
use apiwright_meta::{Status, status};

use crate::fieldset;
use crate::managed::{
    Managers, Operation, Owner, Request, Trouble, blank, entries, put_entries, reconcile_all, record, settle,
    take_entries, unowned,
};
use crate::table::Struct;

/// The manager of what was there before anybody owned anything.
const BEFORE_FIRST_APPLY: &str = "before-first-apply";

/// An apply request.
#[derive(Clone, Copy)]
pub struct Apply<'a> {
    /// Who applies, as what.
    pub request: Request<'a>,
    /// The kind that the address stands for.
    pub kind: &'a str,
    /// Whether to take fields from others.
    pub force: bool,
    /// Brings a merged object into normal form, defaults included; the error is what decoding says.
    pub finish: &'a dyn Fn(Value) -> Result<Value, String>,
}

impl std::fmt::Debug for Apply<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Apply")
            .field("request", &self.request)
            .field("kind", &self.kind)
            .field("force", &self.force)
            .finish_non_exhaustive()
    }
}

/// Merges a configuration into an object without regard to owners: nothing is taken out, and what is atomic must not
/// be said.
///
/// # Errors
/// With upstream's text, where the configuration does not fit the schema.
pub fn merged(ty: &Struct, live: &Value, config: &Value) -> Result<Value, String> {
    check::check(ty, config)
        .map_err(|why| format!("failed to convert patch object to typed object: {why}"))?;
    let atomics = atomics::find(ty, config);
    if !atomics.is_empty() {
        let places = atomics.join(", ");
        return Err(format!(
            "invalid ApplyConfiguration: may not mutate atomic arrays, maps or structs: {places}"
        ));
    }
    merge::merge(ty, live, config).map_err(|why| format!("failed to merge patch: {why}"))
}

/// Applies a configuration to the live object, or to nothing (`None`): the object that is to be
/// stored, with its `managedFields`.
///
/// # Errors
/// 400 for a configuration of another kind, 500 for one that does not fit the schema, 409 when
/// others own what would change.
pub fn apply(ty: &Struct, live: Option<&Value>, config: &Value, apply: &Apply<'_>) -> status::Result<Value> {
    let managers = Managers::decode(live.and_then(entries))
        .map_err(|why| Status::unclassified(format!("failed to decode managed fields: {why}")))?;
    if config.text_at(&["apiVersion"]) != apply.request.api_version || config.text_at(&["kind"]) != apply.kind
    {
        return Err(Status::bad_request(format!("invalid object type: {}", gvk(config))));
    }
    let live = match live {
        Some(live) => {
            let mut live = live.clone();
            take_entries(&mut live);
            live
        }
        None => new_object(ty, apply),
    };
    let applied = match attempt(ty, &live, config, managers.clone(), apply, apply.force) {
        Err(Refusal::Conflicts(conflicts)) if apply.request.manager == lastapplied::KUBECTL => {
            match lastapplied::without_own(ty, &live, conflicts, apply) {
                Ok(()) => attempt(ty, &live, config, managers, apply, true),
                Err(conflicts) => Err(Refusal::Conflicts(conflicts)),
            }
        }
        other => other,
    };
    let (object, managers) = applied.map_err(Refusal::status)?;
    let mut object = object.unwrap_or(live);
    if apply.request.manager == lastapplied::KUBECTL {
        lastapplied::refresh(&mut object, config);
    }
    put_entries(&mut object, managers.encode());
    Ok(object)
}

/// Fields with the owners they have.
type Conflicts = Vec<(Owner, Vec<fieldset::Path>)>;

/// Why an attempt failed.
enum Refusal {
    Conflicts(Conflicts),
    Other(Box<Status>),
}

impl Refusal {
    fn text(message: impl Into<String>) -> Self {
        Self::Other(Status::unclassified(message))
    }

    fn status(self) -> Box<Status> {
        match self {
            Self::Conflicts(conflicts) => conflict::status(&conflicts),
            Self::Other(status) => status,
        }
    }

    fn of(trouble: Trouble, what: &str) -> Self {
        match trouble {
            Trouble::Conflicts(conflicts) => Self::Conflicts(conflicts),
            Trouble::Faults(faults) => Self::text(format!("{what}{faults}")),
            Trouble::Conversion(status) => Self::Other(status),
        }
    }
}

/// The object and its owners; no object when it stays as it is.
fn attempt(
    ty: &Struct,
    live: &Value,
    config: &Value,
    mut managers: Managers,
    apply: &Apply<'_>,
    force: bool,
) -> Result<(Option<Value>, Managers), Refusal> {
    let request = &apply.request;
    if managers.is_empty() {
        let before = Request { manager: BEFORE_FIRST_APPLY, ..*request };
        record(ty, &new_object(ty, apply), live, &mut managers, &before)
            .map_err(|trouble| Refusal::of(trouble, "failed to create manager for existing fields: "))?;
    }
    if config.at(&["metadata", "managedFields"]).is_some_and(|given| matches!(given, Value::Array(_))) {
        return Err(Refusal::Other(Status::bad_request("metadata.managedFields must be nil")));
    }
    check::check(ty, config).map_err(|faults| {
        Refusal::text(format!("failed to create typed patch object ({}): {faults}", describe(config)))
    })?;
    reconcile_all(ty, &mut managers, request);
    let merged = merge::merge(ty, live, config)
        .map_err(|faults| Refusal::text(format!("failed to merge config: {faults}")))?;
    let set = fieldset::from_value(ty, config)
        .map_err(|faults| Refusal::text(format!("failed to get field set: {faults}")))?;
    let mut owner = Owner {
        manager: if request.manager.is_empty() { "unknown".into() } else { request.manager.into() },
        operation: Operation::Apply,
        api_version: request.api_version.into(),
        subresource: request.subresource.into(),
        time: None,
        fields: request.filter.apply(set).into(),
    };
    let last = managers.take(&owner);
    owner.time = last.as_ref().and_then(|last| last.time.clone());
    managers.put(owner.clone());
    let merged = match last {
        Some(last) => prune::prune(ty, merged, &managers, &last, request)?,
        None => merged,
    };
    settle(ty, live, &merged, &mut managers, Some(&owner), force, request)
        .map_err(|trouble| Refusal::of(trouble, "failed to compare objects: "))?;
    let changed = !fieldset::equal(live, &merged);
    if let Some(mut owner) = managers.take(&owner) {
        owner.fields.remove_all(unowned());
        if changed {
            owner.time = Some(request.now.into());
        }
        if !owner.fields.is_empty() {
            managers.put(owner);
        }
    }
    if !changed {
        return Ok((None, managers));
    }
    let object = (apply.finish)(merged).map_err(|why| {
        Refusal::text(format!(
            "failed to convert new object ({}) to proper version: unable to convert unstructured object to {}: {why}",
            describe(config),
            gvk(config)
        ))
    })?;
    Ok((Some(object), managers))
}

/// The object that apply finds where there is none.
fn new_object(ty: &Struct, apply: &Apply<'_>) -> Value {
    let mut object = blank(ty);
    if let Value::Object(members) = &mut object {
        members.insert("apiVersion", apply.request.api_version);
        members.insert("kind", apply.kind);
    }
    object
}

/// `namespace/name; group/version, Kind=kind`.
fn describe(object: &Value) -> String {
    let (namespace, name) =
        (object.text_at(&["metadata", "namespace"]), object.text_at(&["metadata", "name"]));
    format!("{namespace}/{name}; {}", gvk(object))
}

/// `group/version, Kind=kind` of what an object says it is.
fn gvk(object: &Value) -> String {
    let api_version = object.text_at(&["apiVersion"]);
    let group_version = match api_version.matches('/').count() {
        0 => Cow::Owned(format!("/{api_version}")),
        1 => Cow::Borrowed(api_version),
        _ => Cow::Borrowed("/"),
    };
    format!("{group_version}, Kind={}", object.text_at(&["kind"]))
}
