//! Answers: objects and lists, whole or converted, in the negotiated form.
//!
//! Plain JSON is what nearly everybody asks for and what is stored, so it is copied, never encoded
//! anew; indented JSON and YAML are made from it. Lists come in pieces as the client reads them.

mod gzip;
mod list;
pub(crate) mod protobuf;
pub(crate) mod table;
mod writer;

use std::sync::Arc;

use apiwright_chain::trail::Depth;
use apiwright_chain::{Form, Media, Piece, Response, Rope, Trail, respond};
use apiwright_json::{Indenter, Value};
use apiwright_meta::Status;
use apiwright_meta::status::Result;
use apiwright_registry::{ListPage, Sink};
use apiwright_storage::Entry;
use bytes::{Buf, Bytes};

use crate::call::Call;
use crate::decode::go_package;
use crate::negotiate::{ConvertTo, Output, no_list};
use crate::server::{Flavour, Target};

pub(crate) use writer::Writer;

/// Whether a printer column's path can be read; the columns of a CRD end before one that cannot.
pub fn is_json_path(text: &str) -> bool {
    table::jsonpath::JsonPath::parse(text).is_some()
}

/// Answers with a stored object.
pub(crate) fn object(
    call: &Call,
    target: Target<'_>,
    output: Output,
    code: u16,
    entry: &Arc<Entry>,
) -> Result<Response> {
    let writer = Writer::new(call, target, output)?;
    writer.check(ConvertTo::PartialObjectMetadataList)?;
    let mut out = Rope::default();
    writer.write_single(entry, entry.mod_revision, true, &mut out)?;
    if let Some(trail) = wanting(call, output) {
        let form = Form { media: Media::Json, pretty: false };
        let mut json = Rope::default();
        let plain = Writer::new(call, target, Output { form, ..output })?;
        plain.write_single(entry, entry.mod_revision, true, &mut json)?;
        let mut piece = Piece::from(json);
        trail.response_object(|| piece.copy_to_bytes(piece.remaining()));
    }
    if output.form.media == Media::Protobuf {
        return Ok(finish(call, code, output.form, out.into()));
    }
    out.text().push(b'\n');
    json_answer(call, code, output.form, out)
}

/// Answers with an object that is not stored in this form: a Scale, a review, a subresource's own.
pub(crate) fn value(
    call: &Call,
    target: Target<'_>,
    output: Output,
    code: u16,
    value: &Value,
) -> Result<Response> {
    if output.convert.is_some_and(|convert| convert.to == ConvertTo::PartialObjectMetadataList) {
        let kind = apiwright_meta::object::gvk(value);
        let package = match target.server.flavour {
            Flavour::BuiltIn => go_package(&kind.group),
            Flavour::Custom => &*kind.version,
        };
        return Err(no_list(&format!("*{package}.{}", kind.kind)));
    }
    if let Some(trail) = wanting(call, output) {
        trail.response_object(|| json_line(value).into());
    }
    let out = match (output.convert, output.form.media) {
        (None, Media::Protobuf) => protobuf::known(target.server.shared.catalogue, value)?,
        (None, _) => json_line(value),
        (Some(convert), media) => {
            let converted = table::of_value(call, target, convert, value)?;
            match media {
                Media::Protobuf => protobuf::known(target.server.shared.catalogue, &converted)?,
                _ => json_line(&converted),
            }
        }
    };
    if output.form.media == Media::Protobuf {
        return Ok(finish(call, code, output.form, out.into()));
    }
    json_answer(call, code, output.form, out)
}

/// Answers with a list, in pieces where it is long.
pub(crate) fn list(call: &Call, target: Target<'_>, output: Output, page: ListPage) -> Result<Response> {
    list::answer(call, target, output, page)
}

/// Where an answer is to be noted that cannot be read from the wire: one that is no JSON.
fn wanting(call: &Call, output: Output) -> Option<&Trail> {
    let wanted = call.trail.as_deref().filter(|trail| trail.depth >= Depth::RequestResponse);
    wanted.filter(|_| output.form.media != Media::Json)
}

fn json_line(value: &Value) -> Vec<u8> {
    let mut json = Vec::new();
    apiwright_json::to_bytes(value, &mut json);
    json.push(b'\n');
    json
}

/// JSON, a line of its own, as an answer in any text form.
fn json_answer(call: &Call, code: u16, form: Form, json: impl Into<Piece>) -> Result<Response> {
    let json = json.into();
    let body = match form {
        Form { media: Media::Json, pretty: false } => json,
        Form { media: Media::Json, pretty: true } => indented(&mut Indenter::default(), json),
        form => {
            let (value, _) = apiwright_json::decode(&Bytes::from(json))
                .map_err(|error| Status::internal(error.message))?;
            respond::encode_value(form, &value).into()
        }
    };
    Ok(finish(call, code, form, body))
}

/// JSON, or a piece of it, indented.
fn indented(indenter: &mut Indenter, mut json: Piece) -> Piece {
    let mut out = Vec::new();
    while json.has_remaining() {
        let part = json.chunk();
        indenter.add(part, &mut out);
        json.advance(part.len());
    }
    out.into()
}

/// A whole body as an answer, compressed where it is long and the client can read that.
fn finish(call: &Call, code: u16, form: Form, body: Piece) -> Response {
    if body.remaining() > gzip::LONG_BYTES && gzip::accepted(&call.head) {
        return gzip::mark(respond::bytes(code, form.media.mime(), gzip::whole(body)));
    }
    respond::bytes(code, form.media.mime(), body)
}
