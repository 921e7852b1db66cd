//! Between served objects and stored bytes: conversion of versions, and what is not stored.

use std::sync::Arc;

use apiwright_json::{Object, Str, Value};
use apiwright_meta::status::Result;
use apiwright_meta::{Status, object};
use apiwright_schema::decode::{ObjectKind, Source, normalise};
use apiwright_schema::defaults::apply_defaults;
use apiwright_schema::{Struct, Text, prune};
use apiwright_storage::{Entry, Revision, VALUE_BYTES_MAX};
use bytes::Bytes;

use crate::facts::{ObjectFacts, readable, unreadable};
use crate::metadata;
use crate::present::Presented;
use crate::resource::{Conversion, Kind};
use crate::store::Store;

impl Store {
    /// What was derived from a stored object: name, labels, flags. Cheap after the first call.
    pub fn facts<'a>(&self, entry: &'a Entry) -> &'a ObjectFacts {
        entry.annex.get_or_derive(|| ObjectFacts::derive(&entry.value, &self.fields))
    }

    /// An entry ready to be written out in this store's version, with its resourceVersion.
    ///
    /// # Errors
    /// 500 where the object cannot be converted.
    pub fn present(&self, entry: &Arc<Entry>) -> Result<Presented> {
        self.present_at(entry, entry.mod_revision)
    }

    /// As [`Store::present`], with another resourceVersion: DELETED events carry that of the deletion.
    ///
    /// # Errors
    /// As [`Store::present`].
    pub fn present_at(&self, entry: &Arc<Entry>, revision: Revision) -> Result<Presented> {
        let facts = readable(&entry.key, self.facts(entry))?;
        if matches!(self.resource.storage.conversion, Conversion::Same) {
            return Ok(Presented::new(entry.value.clone(), facts.cuts, revision));
        }
        let bytes = stored_bytes(&self.decode(entry)?, &self.served_kind());
        let facts = ObjectFacts::derive(&bytes, &crate::facts::FieldPaths::default());
        readable(&entry.key, &facts)?;
        Ok(Presented::new(bytes.into(), facts.cuts, revision))
    }

    /// An entry decoded, in this store's version, with its resourceVersion.
    ///
    /// # Errors
    /// 500 where what is stored cannot be decoded or converted.
    pub fn decode(&self, entry: &Arc<Entry>) -> Result<Value> {
        let Ok((Value::Object(stored), _)) = apiwright_json::decode(&entry.value) else {
            return Err(unreadable(&entry.key));
        };
        let mut object = Object::with_capacity(stored.len() + 1);
        let served = self.served_kind();
        object.push("kind", &*served.kind);
        object.push("apiVersion", self.resource.api_version());
        for (key, value) in stored {
            if key == "kind" || key == "apiVersion" {
                continue;
            }
            match &self.resource.storage.conversion {
                Conversion::Rename(table) => {
                    let here = table.iter().find(|(_, there)| **there == *key).map(|(here, _)| here);
                    object.push(here.map_or(key, |here| (&**here).into()), value);
                }
                Conversion::Same | Conversion::Hook | Conversion::Pruned => object.push(key, value),
            }
        }
        let mut object = Value::Object(object);
        match self.resource.storage.conversion {
            Conversion::Same => {}
            Conversion::Rename(_) => object = normal(&self.resource.schema, &served, object)?,
            Conversion::Hook => {
                self.resource.hooks.from_stored(&mut object)?;
                object = normal(&self.resource.schema, &served, object)?;
            }
            Conversion::Pruned => {
                // The defaults are those of the version that is stored.
                let stored = self.stored_type.as_ref().unwrap_or(&self.resource.schema);
                prune::prune(stored, &mut object);
                apply_defaults(stored, &mut object);
                prune::prune(&self.resource.schema, &mut object);
                prune::sort(&mut object);
            }
        }
        if entry.mod_revision != 0 {
            object::set_resource_version(&mut object, &entry.mod_revision.to_string());
        }
        Ok(object)
    }

    /// The bytes to store for an object of this store's version.
    ///
    /// # Errors
    /// 400 where it is no object, whatever the conversion says.
    pub(crate) fn encode(&self, object: &Value) -> Result<Bytes> {
        let value = self.encode_whole(object)?;
        if value.len() <= VALUE_BYTES_MAX || object.at(&["metadata", "managedFields"]).is_none() {
            return Ok(value);
        }
        // Who owns which field may be most of it, and can be done without.
        let mut object = object.clone();
        if let Some(Value::Object(metadata)) = object.as_object_mut().and_then(|all| all.get_mut("metadata"))
        {
            metadata.remove("managedFields");
        }
        self.encode_whole(&object)
    }

    fn encode_whole(&self, object: &Value) -> Result<Bytes> {
        if object.as_object().is_none() {
            return Err(Status::bad_request("the object is no JSON object"));
        }
        let stored = &self.resource.storage.kind;
        let mut converted = match &self.resource.storage.conversion {
            Conversion::Same => return Ok(stored_bytes(object, stored).into()),
            Conversion::Rename(table) => renamed(object, table),
            Conversion::Hook => {
                let mut object = object.clone();
                self.resource.hooks.to_stored(&mut object)?;
                object
            }
            Conversion::Pruned => {
                let mut object = object.clone();
                prune::prune(self.stored_type.as_ref().unwrap_or(&self.resource.schema), &mut object);
                return Ok(stored_bytes(&object, stored).into());
            }
        };
        if let Some(ty) = &self.stored_type {
            converted = normal(ty, stored, converted)?;
        }
        Ok(stored_bytes(&converted, stored).into())
    }

    fn served_kind(&self) -> Kind {
        let resource = &self.resource;
        Kind { group: resource.group.clone(), version: resource.version.clone(), kind: resource.kind.clone() }
    }
}

/// The bytes under which an object of a kind is stored: type meta first, then everything else as it comes,
/// metadata in its own order, without what is not stored.
pub fn stored_bytes(object: &Value, kind: &Kind) -> Vec<u8> {
    let mut out = Vec::with_capacity(1024);
    out.extend_from_slice(b"{\"kind\":");
    apiwright_json::to_bytes(&Value::from(&*kind.kind), &mut out);
    out.extend_from_slice(b",\"apiVersion\":");
    apiwright_json::to_bytes(&Value::from(api_version(kind)), &mut out);
    for (key, value) in object.as_object().into_iter().flat_map(Object::iter) {
        match (key.as_str(), value) {
            ("kind" | "apiVersion", _) => {}
            ("metadata", Value::Object(members)) => {
                out.extend_from_slice(b",\"metadata\":{");
                let stored = |key: &str| !metadata::NOT_STORED.contains(&key);
                for (at, (key, value)) in members.iter().filter(|(key, _)| stored(key)).enumerate() {
                    if at > 0 {
                        out.push(b',');
                    }
                    member(&mut out, key, value);
                }
                out.push(b'}');
            }
            (key, value) => {
                out.push(b',');
                member(&mut out, key, value);
            }
        }
    }
    if object.get("metadata").is_none() {
        out.extend_from_slice(b",\"metadata\":{}");
    }
    out.push(b'}');
    out
}

fn member(out: &mut Vec<u8>, key: &str, value: &Value) {
    apiwright_json::to_bytes(&Value::from(key), out);
    out.push(b':');
    apiwright_json::to_bytes(value, out);
}

fn api_version(kind: &Kind) -> String {
    if kind.group.is_empty() {
        kind.version.to_string()
    } else {
        format!("{}/{}", &*kind.group, &*kind.version)
    }
}

/// An object whose top-level members have the names of the stored version.
fn renamed(object: &Value, table: &[(Text, Text)]) -> Value {
    let members = object.as_object().into_iter().flat_map(Object::iter);
    let name =
        |key: &Str| table.iter().find(|(here, _)| **here == **key).map(|(_, there)| Str::from(&**there));
    Value::Object(
        members.map(|(key, value)| (name(key).unwrap_or_else(|| key.clone()), value.clone())).collect(),
    )
}

/// A converted object in the normal form of its new type: what one version leaves out, another shows.
fn normal(ty: &Struct, kind: &Kind, object: Value) -> Result<Value> {
    let api_version = api_version(kind);
    let object_kind = ObjectKind { api_version: &api_version, kind: &kind.kind };
    let decoded = normalise(ty, object_kind, object, Source::Json);
    decoded
        .map(|decoded| decoded.value)
        .map_err(|why| Status::internal(format!("cannot convert to {api_version}: {why}")))
}

#[cfg(test)]
mod tests {
    use apiwright_schema::Ref;

    use super::*;

    #[test]
    fn top_level_members_are_renamed() {
        let parsed = |text: &str| apiwright_json::decode(text.as_bytes()).unwrap().0;
        let served =
            parsed(r#"{"kind":"Event","metadata":{"note":1},"note":"note","regarding":{"kind":"Pod"}}"#);
        let table = [("note", "message"), ("regarding", "involvedObject")]
            .map(|(here, there)| (Ref::Static(here), Ref::Static(there)));
        let want =
            r#"{"kind":"Event","metadata":{"note":1},"message":"note","involvedObject":{"kind":"Pod"}}"#;
        assert_eq!(renamed(&served, &table), parsed(want));
    }
}
