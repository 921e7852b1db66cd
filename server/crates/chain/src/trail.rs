//! What an audit wants to know of a request that its address does not tell, noted on the way down.
//!
//! A request has a trail only where its audit policy wants one: notes cost nothing otherwise.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use apiwright_json::Value;
use apiwright_meta::object;
use bytes::Bytes;

use crate::user::User;

/// How much is to be noted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Depth {
    /// Who, what, when and how it ended.
    Metadata,
    /// The object in the request, too.
    Request,
    /// And that in the answer.
    RequestResponse,
}

/// The notes of one request.
#[derive(Debug)]
pub struct Trail {
    /// How much is to be noted.
    pub depth: Depth,
    notes: Mutex<Notes>,
}

/// What has been noted.
#[derive(Clone, Debug, Default)]
pub struct Notes {
    /// Words of authorizers and admission plugins.
    pub annotations: BTreeMap<String, String>,
    /// Whom the caller acts as, and the verb of the mode that let them.
    pub impersonated: Option<(Arc<User>, Option<String>)>,
    /// What the object in the request says of itself.
    pub object: Named,
    /// The object or the patch in the request, as JSON.
    pub request: Option<Bytes>,
    /// The object in the answer, as JSON.
    pub response: Option<Bytes>,
}

/// What an object says of itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Named {
    /// `metadata.namespace`.
    pub namespace: String,
    /// `metadata.name`.
    pub name: String,
    /// `metadata.uid`.
    pub uid: String,
    /// `metadata.resourceVersion`.
    pub resource_version: String,
}

impl Trail {
    /// No notes yet.
    pub fn new(depth: Depth) -> Self {
        Self { depth, notes: Mutex::default() }
    }

    /// Adds an annotation; the first of a key stays.
    pub fn annotate(&self, key: impl Into<String>, value: impl Into<String>) {
        self.notes().annotations.entry(key.into()).or_insert_with(|| value.into());
    }

    /// The caller acts as somebody else.
    pub fn impersonated(&self, user: Arc<User>, constraint: Option<String>) {
        self.notes().impersonated = Some((user, constraint));
    }

    /// The object in the request.
    pub fn request_object(&self, value: &Value) {
        let object = Named {
            namespace: object::namespace(value).to_owned(),
            name: object::name(value).to_owned(),
            uid: object::uid(value).to_owned(),
            resource_version: object::resource_version(value).to_owned(),
        };
        let json = (self.depth >= Depth::Request).then(|| encode(value));
        let mut notes = self.notes();
        notes.object = object;
        notes.request = json.or(notes.request.take());
    }

    /// The patch in the request. One in YAML is noted as JSON.
    pub fn request_patch(&self, patch: &Bytes) {
        if self.depth < Depth::Request {
            return;
        }
        let is_json = apiwright_json::decode(patch).is_ok();
        let json = if is_json {
            Some(patch.clone())
        } else {
            apiwright_json::yaml::decode(patch).ok().map(|(value, _)| encode(&value))
        };
        self.notes().request = json;
    }

    /// The object in the answer, as JSON.
    pub fn response_object(&self, json: impl FnOnce() -> Bytes) {
        if self.depth >= Depth::RequestResponse {
            self.notes().response = Some(json());
        }
    }

    /// All notes so far.
    pub fn notes(&self) -> MutexGuard<'_, Notes> {
        self.notes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn encode(value: &Value) -> Bytes {
    let mut json = Vec::new();
    apiwright_json::to_bytes(value, &mut json);
    json.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_wanted_is_noted() {
        let object =
            br#"{"kind":"Pod","metadata":{"name":"p","namespace":"n","uid":"u","resourceVersion":"7"}}"#;
        let (value, _) = apiwright_json::decode(object).unwrap();
        for (depth, request, response) in [
            (Depth::Metadata, false, false),
            (Depth::Request, true, false),
            (Depth::RequestResponse, true, true),
        ] {
            let trail = Trail::new(depth);
            trail.request_object(&value);
            trail.response_object(|| Bytes::from_static(b"{}"));
            trail.annotate("key", "first");
            trail.annotate("key", "second");
            let notes = trail.notes();
            assert_eq!((notes.request.is_some(), notes.response.is_some()), (request, response));
            assert_eq!((notes.object.name.as_str(), notes.object.resource_version.as_str()), ("p", "7"));
            assert_eq!(notes.annotations["key"], "first");
        }
    }

    #[test]
    fn patches_are_noted_as_json() {
        let trail = Trail::new(Depth::Request);
        for (patch, expected) in [("{\"a\": 1}", "{\"a\": 1}"), ("a: 1\n", "{\"a\":1}")] {
            trail.request_patch(&Bytes::copy_from_slice(patch.as_bytes()));
            assert_eq!(trail.notes().request.as_deref(), Some(expected.as_bytes()));
        }
    }
}
