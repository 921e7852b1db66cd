//! Stored objects in other forms than JSON, made once an object where many may ask.

use std::sync::Arc;

use apiwright_json::sparse::{self, Wanted};
use apiwright_json::{Duplicates, Value};
use apiwright_meta::Status;
use apiwright_meta::status::Result;
use apiwright_schema::proto;
use apiwright_storage::{Entry, Revision};
use bytes::Bytes;

use crate::resource::Conversion;
use crate::store::Store;

impl Store {
    /// The protobuf message of an object as it is at a revision: that of its last change, unless it was deleted.
    ///
    /// # Errors
    /// 500 where what is stored is no such object.
    pub fn protobuf(&self, entry: &Arc<Entry>, revision: Revision) -> Result<Bytes> {
        let keeps = self.keeps_forms(entry, revision);
        if keeps && let Some(message) = self.facts(entry).protobuf.get(0) {
            return Ok(message);
        }
        let mut json = Vec::new();
        self.present_at(entry, revision)?.write(&mut json, None);
        let mut message = Vec::with_capacity(json.len());
        proto::transcode_message(&self.resource.schema, &json, &mut message).map_err(Status::internal)?;
        let message = Bytes::from(message.into_boxed_slice());
        if keeps {
            self.facts(entry).protobuf.put(0, message.clone());
        }
        Ok(message)
    }

    /// What is wanted of an object as it is at a revision, decoded; more, where the text is not of our encoder.
    ///
    /// # Errors
    /// 500 where what is stored is no object.
    pub fn sparse(&self, entry: &Arc<Entry>, revision: Revision, wanted: &Wanted) -> Result<Value> {
        let mut json = Vec::new();
        let kind = (&*self.resource.kind, &*self.resource.api_version());
        self.present_at(entry, revision)?.write_unmanaged(&mut json, Some(kind));
        match sparse::decode_wanted(&json, wanted) {
            Some(object) => Ok(object),
            None => decoded(&json),
        }
    }

    /// A row that was made of an object as it is at a revision, for columns with this id.
    pub fn row(&self, entry: &Arc<Entry>, revision: Revision, columns: u64) -> Option<Bytes> {
        if self.keeps_forms(entry, revision) { self.facts(entry).row.get(columns) } else { None }
    }

    /// Keeps a row for who asks next.
    pub fn keep_row(&self, entry: &Arc<Entry>, revision: Revision, columns: u64, row: Bytes) {
        if self.keeps_forms(entry, revision) {
            self.facts(entry).row.put(columns, row);
        }
    }

    /// Whether what is made of an object is the same for all who ask: it is shown as it is stored, and as it is now.
    fn keeps_forms(&self, entry: &Arc<Entry>, revision: Revision) -> bool {
        let (resource, stored) = (&self.resource, &self.resource.storage.kind);
        matches!(resource.storage.conversion, Conversion::Same)
            && *resource.group == *stored.group
            && *resource.version == *stored.version
            && *resource.kind == *stored.kind
            && revision == entry.mod_revision
            && revision != 0
    }
}

fn decoded(json: &[u8]) -> Result<Value> {
    let (value, Duplicates(_)) =
        apiwright_json::decode(json).map_err(|error| Status::internal(error.message))?;
    Ok(value)
}
