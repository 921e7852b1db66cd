//! How a write makes the new object of the old one: by replacing it, by a patch or by applying.
//!
//! Invariant: it is called again with another old object where a write has lost a race, so it
//! changes nothing of its own.

use apiwright_json::Value;
use apiwright_json::yaml::{self, Collisions};
use apiwright_meta::status::Result;
use apiwright_meta::{Status, object};
use apiwright_registry::Transform;
use apiwright_schema::decode::ObjectKind;
use apiwright_schema::patch::{FieldValidation, Format, Patch};
use bytes::Bytes;
use futures::future::BoxFuture;

use crate::admit::Admit;
use crate::call::Call;
use crate::decode::{self, Wanted};
use crate::identity::{check_name, check_namespace};
use crate::owners::{self, Moment};
use crate::ownership::Ownership;
use crate::server::{Flavour, Target};

/// What is to become of the old object.
pub(crate) enum Change {
    /// This object takes its place.
    Replace(Value),
    /// This patch is applied to it.
    Patch(Format, Bytes),
    /// This configuration is applied: its fields are owned from now on.
    Apply {
        /// YAML.
        body: Bytes,
        /// Whether fields of other owners are taken over.
        force: bool,
    },
}

/// A change on its way.
pub(crate) struct Changing<'a> {
    pub(crate) call: &'a Call,
    pub(crate) target: Target<'a>,
    /// The type of what is changed: the resource's, or a Scale.
    pub(crate) wanted: Wanted<'a>,
    pub(crate) change: Change,
    pub(crate) validation: FieldValidation,
    pub(crate) ownership: Ownership<'a>,
    pub(crate) admit: &'a Admit<'a>,
}

impl Changing<'_> {
    /// The new object, owned and admitted.
    pub(crate) async fn make(&self, old: Option<&Value>) -> Result<Value> {
        let mut new = self.draft(old)?;
        self.admit.mutate(&mut new, old).await?;
        owners::dedup(&mut new, Moment::Mutated, &self.call.warnings);
        Ok(new)
    }

    /// The new object as the request has it.
    fn draft(&self, old: Option<&Value>) -> Result<Value> {
        let mut new = match &self.change {
            Change::Replace(object) => {
                let mut new = object.clone();
                self.ownership.update(self.wanted, old, &mut new);
                return Ok(new);
            }
            Change::Patch(format, body) => {
                let resource = self.target.resource();
                let old =
                    old.ok_or_else(|| Status::not_found(&resource.group_resource(), &self.call.info.name))?;
                let mut new = self.patch(*format, body, old)?;
                self.ownership.update(self.wanted, Some(old), &mut new);
                new
            }
            Change::Apply { body, force } => self.apply(old, body, *force)?,
        };
        self.check_identity(old, &mut new)?;
        Ok(new)
    }

    /// What a patch makes, in normal form and with defaults.
    fn patch(&self, format: Format, body: &[u8], old: &Value) -> Result<Value> {
        let patch = Patch::read(format, body, self.validation)?;
        let api_version = self.wanted.api_version();
        let kind = ObjectKind { api_version: &api_version, kind: self.wanted.kind };
        let decoded = match self.wanted.flavour {
            Flavour::BuiltIn => patch.apply(self.wanted.ty, kind, old)?,
            Flavour::Custom => {
                decode::patched(self.wanted, &patch, old, self.validation, &self.call.warnings)?
            }
        };
        decoded.strict.iter().for_each(|fault| self.call.warnings.add(fault.as_str()));
        self.call.warnings.extend(patch.losses(self.wanted.ty, old));
        let mut new = decoded.value;
        if mentions_ownership(body) && decode::disowns(&patch.edit(self.wanted.ty, old)?) {
            decode::disown(&mut new);
        }
        self.set_defaults(&mut new);
        Ok(new)
    }

    /// What applying makes, with defaults.
    fn apply(&self, old: Option<&Value>, body: &[u8], force: bool) -> Result<Value> {
        let (config, collisions) = configuration(body)?;
        let finish = |merged| self.finish(merged);
        let new = self.ownership.apply(self.wanted, old, &config, force, &finish)?;
        match (self.validation, collisions.strict_error()) {
            (FieldValidation::Strict, Some(error)) => Err(Status::bad_request(format!(
                "error strict decoding YAML: error converting YAML to JSON: {error}"
            ))),
            (FieldValidation::Warn, Some(_)) => {
                self.call.warnings.extend(collisions.0);
                Ok(new)
            }
            (FieldValidation::Strict | FieldValidation::Warn | FieldValidation::Ignore, _) => Ok(new),
        }
    }

    /// A merged object in normal form, with defaults.
    fn finish(&self, merged: Value) -> Result<Value, String> {
        let mut new = decode::merged(self.wanted, merged)?;
        self.set_defaults(&mut new);
        Ok(new)
    }

    /// A patch must not make another object of it.
    fn check_identity(&self, old: Option<&Value>, new: &mut Value) -> Result<()> {
        let uid = object::uid(new);
        if old.is_none() && !uid.is_empty() {
            let why = format!(
                "uid mismatch: the provided object specified uid {uid}, and no existing object was found"
            );
            let resource = self.target.resource().group_resource();
            return Err(Status::conflict(&resource, &self.call.info.name, why));
        }
        check_namespace(self.call, self.target, new)?;
        check_name(self.call, new)
    }

    fn set_defaults(&self, new: &mut Value) {
        // A Scale has none.
        if self.wanted.kind == &*self.target.resource().kind {
            decode::set_defaults(self.target, new);
        }
    }
}

impl Transform for Changing<'_> {
    fn apply<'a>(&'a mut self, old: Option<&'a Value>) -> BoxFuture<'a, Result<Value>> {
        Box::pin(self.make(old))
    }

    fn uid(&self) -> Option<&str> {
        match &self.change {
            Change::Replace(object) => Some(object::uid(object)).filter(|uid| !uid.is_empty()),
            Change::Patch(..) | Change::Apply { .. } => None,
        }
    }
}

/// An apply configuration.
fn configuration(body: &[u8]) -> Result<(Value, Collisions)> {
    let refuse = |why: String| Status::bad_request(format!("error decoding YAML: {why}"));
    let (config, collisions) = yaml::decode(body)
        .map_err(|error| refuse(format!("error converting YAML to JSON: {}", error.message)))?;
    match &config {
        Value::Object(_) | Value::Null => Ok((config, collisions)),
        other => Err(refuse(format!(
            "error unmarshaling JSON: while decoding JSON: json: cannot unmarshal {} into Go value of type \
             map[string]interface {{}}",
            other.go_kind()
        ))),
    }
}

/// Whether a patch may be about `metadata.managedFields`: few are.
fn mentions_ownership(patch: &[u8]) -> bool {
    std::str::from_utf8(patch).is_ok_and(|patch| patch.contains("managedFields"))
}

/// The format of a patch type, `None` for apply.
pub(crate) fn format_of(patch_type: &str) -> Option<Format> {
    match patch_type {
        "application/json-patch+json" => Some(Format::Json),
        "application/merge-patch+json" => Some(Format::Merge),
        "application/strategic-merge-patch+json" => Some(Format::Strategic),
        _ => None,
    }
}
