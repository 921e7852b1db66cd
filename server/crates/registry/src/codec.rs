//! Between served objects and stored bytes: conversion of versions, and what is not stored.

use std::sync::Arc;

use apiwright_json::{Object, Value};
use apiwright_meta::status::Result;
use apiwright_meta::{Status, object};
use apiwright_storage::{Entry, Revision};
use bytes::Bytes;

use crate::facts::{ObjectFacts, readable, unreadable};
use crate::metadata;
use crate::present::Presented;
use crate::resource::{Conversion, Kind};
use crate::scan::{Cursor, unescaped};
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
        let bytes = match &self.resource.storage.conversion {
            Conversion::Same => return Ok(Presented::new(entry.value.clone(), facts.cuts, revision)),
            Conversion::Rename(table) => renamed(&entry.value, |stored| {
                table.iter().find(|(_, there)| **there == *stored).map(|(here, _)| &**here)
            })
            .ok_or_else(|| unreadable(&entry.key))?,
            Conversion::Hook => {
                let object = self.decode(entry)?;
                encoded(&object, &self.served_kind(), |key| key)
            }
        };
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
                Conversion::Same | Conversion::Hook => object.push(key, value),
            }
        }
        let mut object = Value::Object(object);
        if matches!(self.resource.storage.conversion, Conversion::Hook) {
            self.resource.hooks.from_stored(&mut object)?;
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
        if object.as_object().is_none() {
            return Err(Status::bad_request("the object is no JSON object"));
        }
        let stored = &self.resource.storage.kind;
        let bytes = match &self.resource.storage.conversion {
            Conversion::Same => encoded(object, stored, |key| key),
            Conversion::Rename(table) => encoded(object, stored, |key| {
                table.iter().find(|(here, _)| **here == *key).map_or(key, |(_, there)| there)
            }),
            Conversion::Hook => {
                let mut object = object.clone();
                self.resource.hooks.to_stored(&mut object)?;
                encoded(&object, stored, |key| key)
            }
        };
        Ok(bytes.into())
    }

    fn served_kind(&self) -> Kind {
        let resource = &self.resource;
        Kind { group: resource.group.clone(), version: resource.version.clone(), kind: resource.kind.clone() }
    }
}

/// Type meta first, then everything else as it comes, metadata in its own order.
fn encoded<'a>(object: &'a Value, kind: &Kind, name: impl Fn(&'a str) -> &'a str) -> Vec<u8> {
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
                member(&mut out, name(key), value);
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

/// Bytes whose top-level members have other names.
fn renamed<'a>(bytes: &[u8], name: impl Fn(&str) -> Option<&'a str>) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity(bytes.len() + 32);
    let mut copied = 0;
    Cursor::new(bytes, 0).members(|cursor, start, key| {
        if let Some(name) = name(&unescaped(key)) {
            out.extend_from_slice(&bytes[copied..start]);
            out.push(b'"');
            out.extend_from_slice(name.as_bytes());
            out.extend_from_slice(b"\":");
            copied = cursor.position();
        }
        Some(())
    })?;
    out.extend_from_slice(&bytes[copied..]);
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn top_level_members_are_renamed() {
        let stored =
            br#"{"kind":"Event","metadata":{"note":1},"message":"note","involvedObject":{"kind":"Pod"}}"#;
        let names = |key: &str| match key {
            "message" => Some("note"),
            "involvedObject" => Some("regarding"),
            _ => None,
        };
        let want = r#"{"kind":"Event","metadata":{"note":1},"note":"note","regarding":{"kind":"Pod"}}"#;
        assert_eq!(String::from_utf8(renamed(stored, names).unwrap()).unwrap(), want);
    }
}
