//! `metadata.managedFields`: who owns which fields of an object.
//!
//! Position: above `fieldset`; called once a write, with the live object and the new one in the
//! version of the request. [`update`] records creates, updates and patches; server-side apply
//! ([`crate::apply`]) shares the rest.
//! Invariant: entries, their order and their times are those that kube-apiserver's `FieldManager`
//! would write; what cannot be recorded leaves ownership as it was, since no write fails for it.
//! Absence: no clock and no conversion of its own: [`Request`] brings both.

mod blank;
mod cap;
mod managers;
mod name;
mod scale;
mod settle;
#[cfg(test)]
mod tests;
mod times;
mod update;

pub use blank::blank;
pub use managers::{Invalid, Managers, Operation, Owner};
pub use name::manager_of_user_agent;
pub use scale::Scale;
pub use times::keep_times_if_same;
pub use update::{update, validate};

pub(crate) use update::record;

pub(crate) use settle::{Trouble, reconcile_all, settle};

use apiwright_json::{Object, Value};
use apiwright_meta::status;

use crate::fieldset::{Filter, Set};
use crate::table::{Ref, Struct};

/// Who writes, as what.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// The manager's name: `fieldManager`, or what [`manager_of_user_agent`] makes of the client.
    pub manager: &'a str,
    /// The version in which the objects are, `apps/v1`.
    pub api_version: &'a str,
    /// The subresource that is written; empty for the object itself.
    pub subresource: &'a str,
    /// The current time, RFC 3339 in UTC with seconds.
    pub now: &'a str,
    /// The fields that may be owned through this (sub)resource.
    pub filter: &'a Filter,
    /// The kind's other versions.
    pub versions: &'a dyn Versions,
}

/// The other versions of a kind: where owners use them, what they own is looked at there.
pub trait Versions: std::fmt::Debug {
    /// The type in a version; `None` where it is not served. Owners of such versions are forgotten.
    fn ty(&self, api_version: &str) -> Option<Ref<Struct>>;

    /// The object, whose `apiVersion` says what it is, in a version that [`Versions::ty`] knows.
    ///
    /// # Errors
    /// When the object cannot be expressed there.
    fn convert(&self, object: &Value, api_version: &str) -> status::Result<Value>;
}

/// A kind that is served in the version of the request only.
#[derive(Clone, Copy, Debug)]
pub struct OneVersion;

impl Versions for OneVersion {
    fn ty(&self, _: &str) -> Option<Ref<Struct>> {
        None
    }

    fn convert(&self, object: &Value, _: &str) -> status::Result<Value> {
        Ok(object.clone())
    }
}

/// The fields that nobody owns, because the server sets them or they name the object.
pub(crate) fn unowned() -> &'static Set {
    static UNOWNED: std::sync::LazyLock<Set> = std::sync::LazyLock::new(|| {
        Set::of_fields(&[
            &["apiVersion"],
            &["kind"],
            &["metadata"],
            &["metadata", "name"],
            &["metadata", "namespace"],
            &["metadata", "creationTimestamp"],
            &["metadata", "selfLink"],
            &["metadata", "uid"],
            &["metadata", "clusterName"],
            &["metadata", "generation"],
            &["metadata", "managedFields"],
            &["metadata", "resourceVersion"],
        ])
    });
    &UNOWNED
}

/// The field that ownership itself is in.
pub(crate) fn ownership() -> &'static Set {
    static OWNERSHIP: std::sync::LazyLock<Set> =
        std::sync::LazyLock::new(|| Set::of_fields(&[&["metadata", "managedFields"]]));
    &OWNERSHIP
}

/// The `managedFields` of an object.
pub(crate) fn entries(object: &Value) -> Option<&Value> {
    object.at(&["metadata", "managedFields"])
}

/// Takes `managedFields` out of an object's metadata.
pub(crate) fn take_entries(object: &mut Value) -> Option<Value> {
    metadata(object)?.remove("managedFields")
}

/// Puts `managedFields` into an object's metadata, as its last member; `None` for none.
pub(crate) fn put_entries(object: &mut Value, entries: Option<Value>) {
    if let Some(metadata) = metadata(object) {
        metadata.remove("managedFields");
        if let Some(entries) = entries {
            metadata.push("managedFields", entries);
        }
    }
}

fn metadata(object: &mut Value) -> Option<&mut Object> {
    object.as_object_mut()?.get_mut("metadata")?.as_object_mut()
}
