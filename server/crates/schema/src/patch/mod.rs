//! The three kinds of patch: read, applied to an object in normal form, and brought back to it.
//!
//! Position: between a PATCH request and the store's transform; apply is no patch in this sense
//! (see `crate::managed`).
//! Invariant: a patch is read once and can be applied again, when a write has lost a race.
//! Absence: no lookup of the object; upstream reads a patch only once it has one, so callers do.

pub mod json;
pub mod merge;
pub mod strategic;

use apiwright_json::{Duplicates, Value};
use apiwright_meta::field::quoted;
use apiwright_meta::{ErrorList, GroupKind, Path, Status, status};

use crate::Struct;
use crate::decode::{self, Decoded, ObjectKind, Source, refusal};
use crate::go;

/// The format of a patch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Format {
    /// `application/json-patch+json`
    Json,
    /// `application/merge-patch+json`
    Merge,
    /// `application/strategic-merge-patch+json`
    Strategic,
}

/// How a request wants unknown and duplicate members treated (`fieldValidation`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum FieldValidation {
    /// Dropped silently.
    Ignore,
    /// Dropped with a warning.
    #[default]
    Warn,
    /// Refused.
    Strict,
}

/// A patch that was read.
#[derive(Clone, Debug)]
pub struct Patch {
    steps: Steps,
    /// What is wrong with the patch itself in the eyes of a strict decoder.
    strict: Vec<String>,
    validation: FieldValidation,
}

#[derive(Clone, Debug)]
enum Steps {
    Json(Vec<json::Operation>),
    Merge(Value),
    Strategic(Value),
}

/// Why a patch does not apply.
#[derive(Clone, Debug, PartialEq)]
pub enum Error {
    /// 400: it is no patch.
    BadRequest(String),
    /// 413: it has so many operations.
    TooLarge(usize),
    /// 422 with upstream's generic text; this one goes to the log.
    Inapplicable(String),
    /// 422: what it makes is no object of the kind.
    Invalid {
        /// The patch or the patched object, as upstream shows it.
        shown: String,
        /// What is wrong.
        why: String,
    },
    /// 500 without a reason.
    Unclassified(String),
}

impl Patch {
    /// Reads a patch.
    ///
    /// # Errors
    /// When the body is no patch of this format.
    pub fn read(format: Format, body: &[u8], validation: FieldValidation) -> Result<Self, Error> {
        let (value, duplicates) =
            apiwright_json::decode(body).map_err(|fault| not_json(format, validation, &fault))?;
        let checked = validation != FieldValidation::Ignore;
        let (steps, strict) = match format {
            Format::Json => {
                let (operations, strict) = json::read(value, &duplicates, checked)?;
                (Steps::Json(operations), strict)
            }
            Format::Merge => {
                let value = merge::read(value, checked)?;
                (Steps::Merge(value), duplicate_fields(&duplicates))
            }
            Format::Strategic => {
                let value = strategic::read(value)?;
                (Steps::Strategic(value), duplicate_fields(&duplicates))
            }
        };
        Ok(Self { steps, strict: if checked { strict } else { Vec::new() }, validation })
    }

    /// Applies the patch to an object of a built-in kind and brings the result to normal form.
    /// What a strict decoder minds comes along, unless the request said to ignore or refuse it.
    ///
    /// # Errors
    /// When the patch does not apply, or makes something that is no object of the kind.
    pub fn apply(&self, ty: &Struct, kind: ObjectKind<'_>, current: &Value) -> Result<Decoded, Error> {
        let patched = self.edit(ty, current)?;
        let (source, shown) = match &self.steps {
            Steps::Strategic(patch) => (Source::Unstructured, go::print(patch)),
            Steps::Json(_) | Steps::Merge(_) => (Source::Json, apiwright_json::to_string(&patched)),
        };
        let invalid = |why: String| Error::Invalid { shown: shown.clone(), why };
        if source == Source::Json {
            is_still(kind, &patched).map_err(invalid)?;
        }
        let mut decoded = decode::normalise(ty, kind, patched, source).map_err(|fault| invalid(fault.0))?;
        decoded.strict.splice(0..0, self.strict.iter().cloned());
        match self.validation {
            FieldValidation::Ignore => decoded.strict.clear(),
            FieldValidation::Strict if !decoded.strict.is_empty() => {
                return Err(invalid(refusal::strict(&decoded.strict)));
            }
            FieldValidation::Warn | FieldValidation::Strict => {}
        }
        Ok(decoded)
    }

    /// Applies the patch and leaves it at that: for custom resources, which are not decoded by a
    /// Go type. The type guides strategic merge patches only.
    ///
    /// # Errors
    /// When the patch does not apply.
    pub fn edit(&self, ty: &Struct, current: &Value) -> Result<Value, Error> {
        match &self.steps {
            Steps::Json(operations) => json::apply(operations, current.clone()).map_err(Error::Inapplicable),
            Steps::Merge(patch) => Ok(merge::apply(current.clone(), patch)),
            Steps::Strategic(patch) => strategic::apply(ty, current.clone(), patch.clone()),
        }
    }

    /// What applying it loses without an error, for people: items that are not those that the patch means.
    pub fn losses(&self, ty: &Struct, current: &Value) -> Vec<String> {
        match &self.steps {
            Steps::Strategic(patch) => strategic::lost(ty, current, patch),
            Steps::Json(_) | Steps::Merge(_) => Vec::new(),
        }
    }

    /// Whether it has no operation.
    pub fn is_empty(&self) -> bool {
        match &self.steps {
            Steps::Json(operations) => operations.is_empty(),
            Steps::Merge(patch) | Steps::Strategic(patch) => {
                patch.as_object().is_some_and(apiwright_json::Object::is_empty)
            }
        }
    }

    /// What a strict decoder minds about the patch itself.
    pub fn strict(&self) -> &[String] {
        &self.strict
    }
}

impl Error {
    /// What the client is told.
    pub fn into_status(self) -> Box<Status> {
        match self {
            Self::BadRequest(text) => Status::bad_request(text),
            Self::TooLarge(count) => Status::failure(
                413,
                status::Reason::RequestEntityTooLarge,
                format!(
                    "Request entity too large: The allowed maximum operations in a JSON patch is {}, got {count}",
                    json::OPERATIONS_MAX
                ),
            ),
            Self::Inapplicable(_) => {
                let text = "the server rejected our request due to an error in our request";
                let mut status = Status::failure(422, status::Reason::Invalid, text);
                status.details = Some(Box::default());
                status
            }
            Self::Invalid { shown, why } => {
                let mut errors = ErrorList::new();
                errors.invalid(Path::new("patch"), quoted(&shown), &why);
                Status::invalid(&GroupKind::default(), "", &errors)
            }
            Self::Unclassified(text) => Status::unclassified(text),
        }
    }
}

impl std::fmt::Display for Error {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::BadRequest(text) | Self::Inapplicable(text) | Self::Unclassified(text) => f.write_str(text),
            Self::TooLarge(count) => write!(f, "{count} operations"),
            Self::Invalid { why, .. } => f.write_str(why),
        }
    }
}

impl std::error::Error for Error {}

impl From<Error> for Box<Status> {
    fn from(error: Error) -> Self {
        error.into_status()
    }
}

fn not_json(format: Format, validation: FieldValidation, fault: &apiwright_json::Error) -> Error {
    Error::BadRequest(match (format, validation) {
        (Format::Strategic, _) | (Format::Json, FieldValidation::Ignore) => fault.to_string(),
        (Format::Merge, FieldValidation::Ignore) => merge::NO_PATCH.into(),
        (Format::Json | Format::Merge, _) => format!("error decoding patch: {fault}"),
    })
}

fn duplicate_fields(duplicates: &Duplicates) -> Vec<String> {
    duplicates.0.iter().map(|path| format!("duplicate field {}", quoted(path))).collect()
}

/// A patch may name the kind of its object and change it no more than that.
fn is_still(kind: ObjectKind<'_>, patched: &Value) -> Result<(), String> {
    let (api_version, name) = refusal::type_meta(patched).map_err(|fault| fault.0)?;
    let api_version = if api_version.is_empty() { kind.api_version } else { api_version };
    let name = if name.is_empty() { kind.kind } else { name };
    if (api_version, name) == (kind.api_version, kind.kind) {
        return Ok(());
    }
    Err(refusal::no_kind(name, api_version))
}

#[cfg(test)]
mod tests;
