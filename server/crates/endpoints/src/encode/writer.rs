//! How the objects of one resource are written in one request's form: in answers, lists and events.

use std::sync::Arc;

use apiwright_chain::Media;
use apiwright_json::Value;
use apiwright_meta::status::Result;
use apiwright_registry::{Presented, Sink, Store};
use apiwright_storage::Entry;

use super::protobuf;
use super::table::{self, IncludeObject, Table};
use crate::call::Call;
use crate::decode::go_package;
use crate::negotiate::{ConvertTo, Output, cannot_convert, no_list};
use crate::server::{Flavour, Target};

/// Writes the objects of one resource.
pub(crate) struct Writer {
    /// The form.
    pub(crate) output: Output,
    /// Where the objects are.
    pub(crate) store: Arc<Store>,
    /// `apps/v1`, or `v1` in the core group.
    pub(crate) api_version: String,
    /// Whether the resource is compiled in.
    pub(crate) flavour: Flavour,
    /// The table, where one is asked for.
    pub(crate) table: Option<Table>,
}

impl Writer {
    /// A writer for one request.
    ///
    /// # Errors
    /// 400 where a table's options are not valid.
    pub(crate) fn new(call: &Call, target: Target<'_>, output: Output) -> Result<Self> {
        let table = match output.convert {
            Some(convert) if convert.to == ConvertTo::Table => {
                let include = IncludeObject::read(&call.query)?;
                Some(Table::new(target, convert.version.api_version(), include))
            }
            _ => None,
        };
        Ok(Self {
            output,
            store: Arc::clone(target.store()),
            api_version: target.server.api_version.clone(),
            flavour: target.server.flavour,
            table,
        })
    }

    /// Refuses a conversion that what is written does not know: lists have no metadata of one
    /// object, objects none of a list.
    pub(crate) fn check(&self, refused: ConvertTo) -> Result<()> {
        if self.output.convert.map(|convert| convert.to) != Some(refused) {
            return Ok(());
        }
        let resource = &self.store.resource;
        Err(match refused {
            ConvertTo::PartialObjectMetadata => cannot_convert(format!(
                "you requested PartialObjectMetadata, but the requested object is a list ({})",
                self.go_type(&resource.list_kind, "UnstructuredList")
            )),
            ConvertTo::PartialObjectMetadataList | ConvertTo::Table => {
                no_list(&self.go_type(&resource.kind, "Unstructured"))
            }
        })
    }

    /// Appends an object that stands for itself, as it is at this revision.
    pub(crate) fn write_single(
        &self,
        entry: &Arc<Entry>,
        revision: u64,
        with_columns: bool,
        out: &mut impl Sink,
    ) -> Result<()> {
        if self.output.form.media == Media::Protobuf {
            return protobuf::stored(self, entry, revision, out);
        }
        let presented = self.store.present_at(entry, revision)?;
        if let Some(table) = &self.table {
            table.write_head(out.text(), &table::object_meta(revision), with_columns);
            table.write_row(entry, revision, &presented, out)?;
            Table::write_tail(out.text());
            return Ok(());
        }
        self.write(&presented, true, out);
        Ok(())
    }

    /// Appends an item of a list, a table's row where one is asked for.
    pub(crate) fn write_item(&self, entry: &Arc<Entry>, out: &mut impl Sink) -> Result<()> {
        let presented = self.store.present(entry)?;
        if let Some(table) = &self.table {
            return table.write_row(entry, entry.mod_revision, &presented, out);
        }
        // Items of built-in lists do not say again what they are.
        self.write(&presented, self.flavour == Flavour::Custom, out);
        Ok(())
    }

    /// A decoded object in protobuf's envelope.
    pub(crate) fn protobuf_of(&self, value: &Value) -> Result<Vec<u8>> {
        let resource = &self.store.resource;
        match self.output.convert {
            None => protobuf::object(&resource.schema, &self.api_version, &resource.kind, value),
            Some(convert) => protobuf::partial(&resource.schema, convert.version.api_version(), value),
        }
    }

    fn write(&self, presented: &Presented, with_kind: bool, out: &mut impl Sink) {
        if let Some(convert) = self.output.convert {
            return write_metadata(presented, convert.version.api_version(), out);
        }
        let type_meta = with_kind.then_some((&*self.store.resource.kind, self.api_version.as_str()));
        presented.write(out, type_meta);
    }

    /// What Go calls the type of an object of a kind.
    fn go_type(&self, kind: &str, unstructured: &str) -> String {
        match self.flavour {
            Flavour::Custom => format!("*unstructured.{unstructured}"),
            Flavour::BuiltIn => format!("*{}.{kind}", go_package(&self.store.resource.group)),
        }
    }
}

/// Appends an object's metadata as a `PartialObjectMetadata`.
pub(crate) fn write_metadata(presented: &Presented, api_version: &str, out: &mut impl Sink) {
    let text = out.text();
    text.extend_from_slice(b"{\"kind\":\"PartialObjectMetadata\",\"apiVersion\":\"");
    text.extend_from_slice(api_version.as_bytes());
    text.extend_from_slice(b"\",\"metadata\":");
    presented.write_metadata(out);
    out.text().push(b'}');
}
