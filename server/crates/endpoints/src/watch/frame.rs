//! One event as a frame: a line of JSON, or protobuf with its length before it.

use std::sync::Arc;

use apiwright_chain::{Media, Rope, respond};
use apiwright_meta::Status;
use apiwright_meta::status::Result;
use apiwright_registry::{Sink, WatchEvent};
use apiwright_schema::proto;
use apiwright_storage::Entry;

use super::bookmark;
use crate::call::Call;
use crate::encode::table::{self, Table};
use crate::encode::{Writer, protobuf};
use crate::negotiate::{ConvertTo, Output};
use crate::server::Target;

/// Writes the events of one watch.
pub(super) struct Frames {
    writer: Writer,
    /// Whether a table has told its columns.
    columns_sent: bool,
}

impl Frames {
    /// Frames for one request.
    pub(super) fn new(call: &Call, target: Target<'_>, output: Output) -> Result<Self> {
        Ok(Self { writer: Writer::new(call, target, output)?, columns_sent: false })
    }

    /// Appends an event; says whether it was the last. What cannot be written ends the watch with
    /// an error that the client sees.
    pub(super) fn write(&mut self, event: Result<WatchEvent>, out: &mut Rope) -> bool {
        let mark = out.mark();
        let failure = match event.and_then(|event| self.event(event, out)) {
            Ok(()) => return false,
            Err(status) => status,
        };
        out.back_to(mark);
        self.error(&failure, out.text());
        true
    }

    fn event(&mut self, event: WatchEvent, out: &mut Rope) -> Result<()> {
        match event {
            WatchEvent::Added(entry) => self.object("ADDED", &entry, entry.mod_revision, out),
            WatchEvent::Modified(entry) => self.object("MODIFIED", &entry, entry.mod_revision, out),
            WatchEvent::Deleted(entry, revision) => self.object("DELETED", &entry, revision, out),
            WatchEvent::Bookmark(revision, ends_initial_events) => {
                self.bookmark(revision, ends_initial_events, out.text())
            }
        }
    }

    fn object(
        &mut self,
        kind: &'static str,
        entry: &Arc<Entry>,
        revision: u64,
        out: &mut Rope,
    ) -> Result<()> {
        self.writer.check(ConvertTo::PartialObjectMetadataList)?;
        let with_columns = !std::mem::replace(&mut self.columns_sent, true);
        if self.writer.output.form.media == Media::Protobuf {
            return protobuf::event(&self.writer, kind, entry, revision, out);
        }
        begin(kind, out.text());
        self.writer.write_single(entry, revision, with_columns, out)?;
        end(out.text());
        Ok(())
    }

    fn bookmark(&mut self, revision: u64, ends_initial_events: bool, out: &mut Vec<u8>) -> Result<()> {
        let object = bookmark::object(&self.writer, revision, ends_initial_events);
        if self.writer.output.form.media == Media::Protobuf {
            proto::encode_watch_event("BOOKMARK", &self.writer.protobuf_of(&object)?, out);
            return Ok(());
        }
        begin("BOOKMARK", out);
        match (&self.writer.table, self.writer.output.convert) {
            (Some(table), _) => {
                let with_columns = !std::mem::replace(&mut self.columns_sent, true);
                table.write_head(out, &table::object_meta(revision), with_columns);
                table.write_bookmark_row(out, &object, ends_initial_events);
                Table::write_tail(out);
            }
            (None, Some(convert)) => {
                apiwright_json::to_bytes(&table::partial(convert.version.api_version(), &object), out);
            }
            (None, None) => apiwright_json::to_bytes(&object, out),
        }
        end(out);
        Ok(())
    }

    fn error(&self, status: &Status, out: &mut Vec<u8>) {
        if self.writer.output.form.media == Media::Protobuf {
            proto::encode_watch_event("ERROR", &respond::status_protobuf(status), out);
            return;
        }
        let value = status.to_value();
        begin("ERROR", out);
        apiwright_json::to_bytes(&value, out);
        end(out);
    }
}

fn begin(kind: &str, out: &mut Vec<u8>) {
    out.extend_from_slice(b"{\"type\":\"");
    out.extend_from_slice(kind.as_bytes());
    out.extend_from_slice(b"\",\"object\":");
}

fn end(out: &mut Vec<u8>) {
    out.extend_from_slice(b"}\n");
}
