//! Lists: a head, items and a tail, produced in pieces of about 128 KiB as the client reads.
//!
//! Invariant: a short list is one body with a length; a long one never exists as a whole, unless
//! its form needs that (YAML). In protobuf all pieces exist before the first is sent.

use std::sync::Arc;

use apiwright_chain::{Body, Media, Piece, Response, Rope, respond};
use apiwright_json::{Indenter, Object, Value};
use apiwright_meta::Status;
use apiwright_meta::status::Result;
use apiwright_registry::{ListPage, Sink};
use apiwright_storage::Entry;
use bytes::BufMut;
use futures::StreamExt;

use super::table::Table;
use super::{Writer, gzip, json_answer, protobuf};
use crate::call::Call;
use crate::negotiate::{ConvertTo, Output};
use crate::server::{Flavour, Target};

/// How long the pieces are, about: short enough to be made between two turns of others, long enough to make few.
const PIECE_BYTES: usize = 128 * 1024;

/// How long they are after compression, about: a TLS record.
const COMPRESSED_PIECE_BYTES: usize = 16 * 1024;

/// A list as JSON, in pieces.
struct Pieces {
    head: Vec<u8>,
    tail: Vec<u8>,
    entries: std::vec::IntoIter<Arc<Entry>>,
    writer: Writer,
    state: State,
    /// How much text of its own a piece has, about.
    own_bytes: usize,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Head,
    Items { first: bool },
    Done,
}

/// Answers with a list.
pub(super) fn answer(call: &Call, target: Target<'_>, output: Output, page: ListPage) -> Result<Response> {
    let writer = Writer::new(call, target, output)?;
    writer.check(ConvertTo::PartialObjectMetadata)?;
    if output.form.media == Media::Protobuf {
        let (length, pieces) = protobuf::list(&writer, &page, PIECE_BYTES)?;
        if length <= gzip::LONG_BYTES {
            let mut whole = Vec::with_capacity(length);
            for piece in pieces {
                whole.put(piece);
            }
            return Ok(super::finish(call, 200, output.form, whole.into()));
        }
        return Ok(stream(call, Media::Protobuf, pieces.into_iter().map(Ok)));
    }
    let mut pieces = Pieces::new(writer, page);
    let stays_whole = output.form.media == Media::Yaml;
    let begun = pieces.gather(if stays_whole { usize::MAX } else { gzip::LONG_BYTES })?;
    if stays_whole || pieces.state == State::Done {
        return json_answer(call, 200, output.form, begun);
    }
    let pieces = std::iter::once(Ok(begun.into())).chain(pieces);
    if !output.form.pretty {
        return Ok(stream(call, Media::Json, pieces));
    }
    let mut indenter = Indenter::default();
    let indented = move |piece: Result<Piece>| piece.map(|piece| super::indented(&mut indenter, piece));
    Ok(stream(call, Media::Json, pieces.map(indented)))
}

/// A long list, as the client reads it.
fn stream(
    call: &Call,
    media: Media,
    pieces: impl Iterator<Item = Result<Piece>> + Send + 'static,
) -> Response {
    let plain = futures::stream::iter(pieces);
    let failed = |status: Box<Status>| std::io::Error::other(status.message);
    if !gzip::accepted(&call.head) {
        let body = plain.map(move |piece| piece.map_err(failed));
        return respond::bytes(200, media.mime(), Body::Stream(body.boxed()));
    }
    let compressed =
        futures::stream::unfold((Box::pin(plain), Some(gzip::Encoder::new())), move |state| async move {
            let (mut plain, encoder) = state;
            let mut encoder = encoder?;
            loop {
                match plain.next().await {
                    Some(Err(status)) => return Some((Err(failed(status)), (plain, None))),
                    Some(Ok(piece)) => {
                        encoder.add(piece);
                        if encoder.ready() >= COMPRESSED_PIECE_BYTES {
                            return Some((Ok(encoder.take().into()), (plain, Some(encoder))));
                        }
                    }
                    None => return Some((Ok(encoder.end().into()), (plain, None))),
                }
            }
        });
    gzip::mark(respond::bytes(200, media.mime(), Body::Stream(compressed.boxed())))
}

impl Pieces {
    fn new(writer: Writer, page: ListPage) -> Self {
        let meta = list_meta(page.revision, &page.token, page.remaining);
        let (head, tail) = match (&writer.table, writer.output.convert) {
            (Some(table), _) => {
                let (mut head, mut tail) = (Vec::new(), Vec::new());
                table.write_head(&mut head, &meta, true);
                Table::write_tail(&mut tail);
                tail.push(b'\n');
                (head, tail)
            }
            (None, Some(convert)) => {
                let version = convert.version.api_version();
                envelope(Flavour::BuiltIn, "PartialObjectMetadataList", version, &meta)
            }
            (None, None) => {
                envelope(writer.flavour, &writer.store.resource.list_kind, &writer.api_version, &meta)
            }
        };
        Self { head, tail, entries: page.entries.into_iter(), writer, state: State::Head, own_bytes: 0 }
    }

    /// The beginning of the list, longer than `enough` unless it ends before.
    fn gather(&mut self, enough: usize) -> Result<Rope> {
        let mut out = Rope::with_capacity(self.own_bytes);
        while out.len() <= enough && self.state != State::Done {
            self.append(&mut out)?;
        }
        self.own_bytes = out.own_bytes() + out.own_bytes() / 8;
        Ok(out)
    }

    /// Appends the head, an item or the tail.
    fn append(&mut self, out: &mut Rope) -> Result<()> {
        self.state = match self.state {
            State::Head => {
                out.text().append(&mut self.head);
                State::Items { first: true }
            }
            State::Items { first } => {
                if let Some(entry) = self.entries.next() {
                    if !first {
                        out.text().push(b',');
                    }
                    self.writer.write_item(&entry, out)?;
                    State::Items { first: false }
                } else {
                    out.text().append(&mut self.tail);
                    State::Done
                }
            }
            State::Done => State::Done,
        };
        Ok(())
    }
}

impl Iterator for Pieces {
    type Item = Result<Piece>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.state == State::Done {
            return None;
        }
        let piece = self.gather(PIECE_BYTES).map(Piece::from);
        if piece.is_err() {
            self.state = State::Done;
        }
        Some(piece)
    }
}

/// A list's metadata.
pub(super) fn list_meta(revision: u64, token: &str, remaining: Option<u64>) -> Object {
    let mut meta = Object::new();
    if revision != 0 {
        meta.push("resourceVersion", revision.to_string());
    }
    if !token.is_empty() {
        meta.push("continue", token);
    }
    if let Some(remaining) = remaining {
        meta.push("remainingItemCount", remaining as i64);
    }
    meta
}

/// What comes before and after the items. Lists of custom resources are sorted by name, as maps are.
fn envelope(flavour: Flavour, kind: &str, api_version: &str, meta: &Object) -> (Vec<u8>, Vec<u8>) {
    let mut meta = meta.clone();
    if flavour == Flavour::Custom {
        meta.entry("continue", || Value::from(""));
        meta.sort();
    }
    let meta = apiwright_json::to_string(&Value::Object(meta));
    match flavour {
        Flavour::BuiltIn => (
            format!("{{\"kind\":\"{kind}\",\"apiVersion\":\"{api_version}\",\"metadata\":{meta},\"items\":[")
                .into(),
            b"]}\n".to_vec(),
        ),
        Flavour::Custom => (
            format!("{{\"apiVersion\":\"{api_version}\",\"items\":[").into(),
            format!("],\"kind\":\"{kind}\",\"metadata\":{meta}}}\n").into(),
        ),
    }
}
