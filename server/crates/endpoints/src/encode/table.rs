//! `meta.k8s.io Table`: what `kubectl get` prints.

pub(crate) mod cells;
pub(crate) mod jsonpath;
mod row;

use std::sync::Arc;

use apiwright_chain::Query;
use apiwright_json::sparse::Wanted;
use apiwright_json::{Object, Value};
use apiwright_meta::Status;
use apiwright_meta::field::quoted;
use apiwright_meta::status::Result;
use apiwright_meta::time::Time;
use apiwright_registry::hooks::NoHooks;
use apiwright_registry::{Presented, Sink, Store};
use apiwright_storage::Entry;
use bytes::Bytes;

use super::writer::write_metadata;
use crate::call::Call;
use crate::negotiate::{Convert, ConvertTo};
use crate::server::Target;

/// What a row says of its object besides the cells.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum IncludeObject {
    /// Nothing.
    None,
    /// Its metadata.
    #[default]
    Metadata,
    /// All.
    Object,
}

impl IncludeObject {
    /// Reads `includeObject`.
    pub(crate) fn read(query: &Query) -> Result<Self> {
        match query.get("includeObject").unwrap_or_default() {
            "" | "Metadata" => Ok(Self::Metadata),
            "Object" => Ok(Self::Object),
            "None" => Ok(Self::None),
            other => Err(Status::bad_request(format!(
                "Unable to convert to Table as requested: includeObject: Invalid value: {}: \
                 must be 'Metadata', 'Object', 'None', or empty",
                quoted(other)
            ))),
        }
    }
}

/// A table of the objects of one resource.
pub(crate) struct Table {
    store: Arc<Store>,
    api_version: String,
    version: &'static str,
    include: IncludeObject,
    /// What the cells are made of.
    wanted: Wanted,
    /// Tells rows of these columns from others of the same objects.
    columns: u64,
}

impl Table {
    /// A table in this version of `meta.k8s.io`.
    pub(crate) fn new(target: Target<'_>, version: &'static str, include: IncludeObject) -> Self {
        let store = Arc::clone(target.store());
        let wanted = cells::wanted(&store.resource.columns, &*store.resource.hooks);
        let columns = cells::id(&store.resource.columns);
        Self { store, api_version: target.server.api_version.clone(), version, include, wanted, columns }
    }

    /// Appends all that comes before the rows. A watch sends the columns once.
    pub(crate) fn write_head(&self, out: &mut Vec<u8>, meta: &Object, with_columns: bool) {
        out.extend_from_slice(b"{\"kind\":\"Table\",\"apiVersion\":\"");
        out.extend_from_slice(self.version.as_bytes());
        out.extend_from_slice(b"\",\"metadata\":");
        apiwright_json::encode::object_to_bytes(meta, out);
        out.extend_from_slice(b",\"columnDefinitions\":");
        let columns =
            if with_columns { cells::definitions(&self.store.resource.columns) } else { Value::Null };
        apiwright_json::to_bytes(&columns, out);
        out.extend_from_slice(b",\"rows\":[");
    }

    /// Appends the row of a stored object as it is at a revision.
    pub(crate) fn write_row(
        &self,
        entry: &Arc<Entry>,
        revision: u64,
        presented: &Presented,
        out: &mut impl Sink,
    ) -> Result<()> {
        let row = match self.store.row(entry, revision, self.columns) {
            Some(row) => row,
            None => {
                let (row, is_fixed) = self.row(&self.store.sparse(entry, revision, &self.wanted)?);
                let row = Bytes::from(row.into_boxed_slice());
                if is_fixed {
                    self.store.keep_row(entry, revision, self.columns, row.clone());
                }
                row
            }
        };
        row::show(&row, Time::now(), out.text());
        match self.include {
            IncludeObject::None => out.text().extend_from_slice(b"null"),
            IncludeObject::Metadata => write_metadata(presented, self.version, out),
            IncludeObject::Object => {
                presented.write(out, Some((&self.store.resource.kind, &self.api_version)));
            }
        }
        out.text().push(b'}');
        Ok(())
    }

    /// Appends the row of a bookmark, which has a version and perhaps annotations.
    pub(crate) fn write_bookmark_row(&self, out: &mut Vec<u8>, object: &Value, ends_initial_events: bool) {
        row::show(&self.row(object).0, Time::now(), out);
        // The annotation that ends the initial events is shown even to those who want no objects.
        let shown = match self.include {
            IncludeObject::Object => object.clone(),
            IncludeObject::None if !ends_initial_events => Value::Null,
            IncludeObject::None | IncludeObject::Metadata => partial(self.version, object),
        };
        apiwright_json::to_bytes(&shown, out);
        out.push(b'}');
    }

    /// Appends what comes after the rows.
    pub(crate) fn write_tail(out: &mut Vec<u8>) {
        out.extend_from_slice(b"]}");
    }

    /// The text of a row up to the value of `object`, and whether it stays.
    fn row(&self, object: &Value) -> (Vec<u8>, bool) {
        let hooks = &*self.store.resource.hooks;
        row::text(cells::row(&self.store.resource.columns, hooks, object), &hooks.row_conditions(object))
    }
}

/// The metadata of a table of one object.
pub(crate) fn object_meta(revision: u64) -> Object {
    super::list::list_meta(revision, "", None)
}

/// An object that has no store of its own, converted: its rows are those of its kind.
pub(crate) fn of_value(call: &Call, target: Target<'_>, convert: Convert, value: &Value) -> Result<Value> {
    let version = convert.version.api_version();
    match convert.to {
        ConvertTo::PartialObjectMetadata | ConvertTo::PartialObjectMetadataList => {
            Ok(partial(version, value))
        }
        ConvertTo::Table => {
            let kind = apiwright_meta::object::gvk(value);
            let known = target.server.shared.catalogue.kind(&kind.group, &kind.version, &kind.kind);
            let columns = known.map(|known| &*known.columns).unwrap_or_default();
            let mut row = Object::new();
            let now = Time::now();
            let cells = cells::row(columns, &NoHooks, value).into_iter().map(|cell| cell.at(now));
            row.push("cells", cells.collect::<Vec<_>>());
            row.push(
                "object",
                match IncludeObject::read(&call.query)? {
                    IncludeObject::None => Value::Null,
                    IncludeObject::Metadata => partial(version, value),
                    IncludeObject::Object => value.clone(),
                },
            );
            let mut table = Object::new();
            table.push("kind", "Table");
            table.push("apiVersion", version);
            table.push(
                "metadata",
                Object::from_iter([("resourceVersion", apiwright_meta::object::resource_version(value))]),
            );
            table.push("columnDefinitions", cells::definitions(columns));
            table.push("rows", vec![Value::Object(row)]);
            Ok(Value::Object(table))
        }
    }
}

/// An object's metadata as an object of its own.
pub(crate) fn partial(version: &str, value: &Value) -> Value {
    let mut partial = Object::with_capacity(3);
    partial.push("kind", "PartialObjectMetadata");
    partial.push("apiVersion", version);
    partial.push("metadata", value.get("metadata").cloned().unwrap_or_else(|| Object::new().into()));
    Value::Object(partial)
}
