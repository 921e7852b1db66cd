//! Stored objects to protobuf messages, without a tree between.
//!
//! Position: beside `encode`, which does the same for values; reads what the encoder of `json` wrote.
//! Invariant: gives byte for byte what `encode` gives of the decoded text, however the text looks: what is not in
//! normal form (members out of order, twice, or with escapes in their names; maps that are not sorted; texts
//! where numbers should be) is decoded and left to `encode`, field by field. JSON inside of messages is copied as
//! it is written. Each byte of the text is looked at once, and what protobuf orders otherwise than JSON is copied twice.

use apiwright_json::cursor::{Cursor, Raw};
use apiwright_json::{Duplicates, Value};
use apiwright_meta::time::{Duration, Time};
use base64::Engine as _;

use super::encode::{self, Writer};
use super::{Depth, Error, envelope, props, wire};
use crate::plan::{Facts, Plan};
use crate::table::{Field, Map, Shape, Struct};

/// Appends the body of an object: `json` is its text in normal form.
///
/// # Errors
/// When the text is no JSON, or a value is not one that the type has.
pub fn transcode(
    ty: &Struct,
    json: &[u8],
    api_version: &str,
    kind: &str,
    out: &mut Vec<u8>,
) -> Result<(), Error> {
    envelope::seal(api_version, kind, out, |out| transcode_message(ty, json, out))
}

/// Appends the message of an object, as [`transcode`] does.
///
/// # Errors
/// As [`transcode`].
pub fn transcode_message(ty: &Struct, json: &[u8], out: &mut Vec<u8>) -> Result<(), Error> {
    let length = out.len();
    let mut transcoder = Transcoder { cursor: Cursor::new(json), spans: Vec::new() };
    let written = transcoder.message(ty, Depth::default(), out);
    let ends = || if transcoder.cursor.peek().is_none() { Ok(()) } else { Err(Stop::Odd) };
    match written.and_then(|()| ends()) {
        Err(Stop::Odd) => {
            out.truncate(length);
            encode::encode_message(ty, &decoded(json)?, out)
        }
        Err(Stop::Failed(error)) => Err(error),
        Ok(()) => Ok(()),
    }
}

/// Why a value is not written the short way.
enum Stop {
    /// It does not look as expected: the long way knows.
    Odd,
    /// It cannot be written at all.
    Failed(Error),
}

type Step<T = ()> = Result<T, Stop>;

impl From<Error> for Stop {
    fn from(error: Error) -> Self {
        Self::Failed(error)
    }
}

struct Transcoder<'a> {
    cursor: Cursor<'a>,
    /// Where the fields of the messages that are being put in order are; those of the innermost come last.
    spans: Vec<Span>,
}

/// Where in the output a field is; `None` where it is absent.
type Span = Option<(usize, usize)>;

impl<'a> Transcoder<'a> {
    /// The fields of the object at hand.
    fn message(&mut self, ty: &Struct, depth: Depth, out: &mut Vec<u8>) -> Step {
        let depth = depth.below()?;
        let plan = Plan::of(ty);
        if plan.straight { self.straight(ty, plan, depth, out) } else { self.crooked(ty, plan, depth, out) }
    }

    /// Fields that come in the order in which they are written.
    fn straight(&mut self, ty: &Struct, plan: &Facts, depth: Depth, out: &mut Vec<u8>) -> Step {
        let mut due = plan.wire.iter().copied().peekable();
        self.members(ty, plan, |this, at| {
            while let Some(absent) = due.next_if(|due| *due < at) {
                absent_field(&ty.fields[usize::from(absent)], depth, out)?;
            }
            if due.next_if_eq(&at).is_none() {
                return Err(Stop::Odd);
            }
            this.field(ty, &ty.fields[usize::from(at)], depth, out)
        })?;
        for absent in due {
            absent_field(&ty.fields[usize::from(absent)], depth, out)?;
        }
        Ok(())
    }

    /// Fields that are put in order once all of them are written.
    fn crooked(&mut self, ty: &Struct, plan: &Facts, depth: Depth, out: &mut Vec<u8>) -> Step {
        let (tail, base) = (out.len(), self.spans.len());
        self.spans.resize(base + ty.fields.len(), None);
        self.members(ty, plan, |this, at| {
            let start = out.len();
            this.field(ty, &ty.fields[usize::from(at)], depth, out)?;
            let span = &mut this.spans[base + usize::from(at)];
            match span.replace((start, out.len())) {
                None => Ok(()),
                Some(_) => Err(Stop::Odd),
            }
        })?;
        let ordered = out.len();
        arrange(ty, plan, &self.spans[base..], depth, out)?;
        out.drain(tail..ordered);
        self.spans.truncate(base);
        Ok(())
    }

    /// Calls `visit` before the value of each member that protobuf carries.
    fn members(&mut self, ty: &Struct, plan: &Facts, mut visit: impl FnMut(&mut Self, u16) -> Step) -> Step {
        let mut more = self.cursor.enter(b'{').ok_or(Stop::Odd)?;
        while more {
            let key = self.cursor.key().ok_or(Stop::Odd)?;
            if key.escaped {
                return Err(Stop::Odd);
            }
            if !self.cursor.null() {
                match plan.position_of(ty, key.bytes) {
                    Some(at) if ty.fields[at].proto.is_some() => visit(self, at as u16)?,
                    _ => {
                        self.cursor.skip().ok_or(Stop::Odd)?;
                    }
                }
            }
            more = self.cursor.more(b'{').ok_or(Stop::Odd)?;
        }
        Ok(())
    }

    /// A field that is there: the short way, or else the long one.
    fn field(&mut self, ty: &Struct, field: &Field, depth: Depth, out: &mut Vec<u8>) -> Step {
        let number = field.proto.map_or(0, |proto| proto.tag);
        let (start, length, spans) = (self.cursor.position(), out.len(), self.spans.len());
        let written = match &field.node.shape {
            Shape::List(list) => self.list(&list.item.shape, number, depth, out),
            Shape::Map(map) => self.map(map, number, depth, out),
            shape => self.single(shape, number, depth, out),
        };
        let written = match written {
            Err(Stop::Odd) => {
                out.truncate(length);
                self.spans.truncate(spans);
                self.cursor.seek(start);
                let value = decoded(self.cursor.skip().ok_or(Stop::Odd)?)?;
                let writer = Writer { ty, depth };
                writer.field(field, number, Some(&value), out).map_err(Stop::Failed)
            }
            written => written,
        };
        written.map_err(|stop| match stop {
            Stop::Failed(error) => Stop::Failed(Error(format!("{}: {error}", &*field.name))),
            Stop::Odd => Stop::Odd,
        })
    }

    fn list(&mut self, item: &Shape, number: u32, depth: Depth, out: &mut Vec<u8>) -> Step {
        let mut more = self.cursor.enter(b'[').ok_or(Stop::Odd)?;
        while more {
            self.single(item, number, depth, out)?;
            more = self.cursor.more(b'[').ok_or(Stop::Odd)?;
        }
        Ok(())
    }

    fn map(&mut self, map: &Map, number: u32, depth: Depth, out: &mut Vec<u8>) -> Step {
        let shape = &map.value.shape;
        let mut before: Option<&[u8]> = None;
        let mut more = self.cursor.enter(b'{').ok_or(Stop::Odd)?;
        while more {
            let key = self.cursor.key().ok_or(Stop::Odd)?;
            if key.escaped || before.is_some_and(|before| before >= key.bytes) {
                return Err(Stop::Odd);
            }
            before = Some(key.bytes);
            wire::put_message(number, out, |out| {
                wire::put_bytes(1, key.bytes, out);
                if self.cursor.null() {
                    return Ok(encode::zero(shape, 2, depth, out)?);
                }
                self.single(shape, 2, depth, out)
            })?;
            more = self.cursor.more(b'{').ok_or(Stop::Odd)?;
        }
        Ok(())
    }

    /// A value that is there, and neither a list nor a map.
    fn single(&mut self, shape: &Shape, number: u32, depth: Depth, out: &mut Vec<u8>) -> Step {
        match shape {
            Shape::String(_) => put_text(number, self.text()?, out)?,
            Shape::Bool => {
                let truth = match self.cursor.word() {
                    Some(b"true") => 1,
                    Some(b"false") => 0,
                    _ => return Err(Stop::Odd),
                };
                wire::put_varint(number, truth, out);
            }
            Shape::Int32 | Shape::Int64 => wire::put_varint(number, self.integer()? as u64, out),
            Shape::Struct(ty) => return wire::put_message(number, out, |out| self.message(ty, depth, out)),
            Shape::RawObject | Shape::FieldsV1 => return self.raw(number, out),
            Shape::Any(name) if props::Kind::of(name).is_none() => return self.raw(number, out),
            Shape::Time | Shape::MicroTime => {
                let text = self.plain()?;
                let is_micro = matches!(shape, Shape::MicroTime);
                let time = if is_micro { Time::parse_micro(text) } else { Time::parse(text) };
                let time = time.map_err(|_| Stop::Odd)?;
                return wire::put_message(number, out, |out| {
                    super::convert::put_parsed(time, is_micro, out);
                    Ok(())
                });
            }
            Shape::Quantity => {
                let text = self.text()?;
                return wire::put_message(number, out, |out| put_text(1, text, out));
            }
            Shape::IntOrString => return self.int_or_string(number, out),
            Shape::Bytes => {
                let text = self.plain()?;
                let engine = &base64::engine::general_purpose::STANDARD;
                return wire::put_message(number, out, |out| {
                    engine.decode_vec(text, out).map_err(|_| Stop::Odd)
                });
            }
            Shape::Duration => {
                let duration = Duration::parse(self.plain()?).map_err(|_| Stop::Odd)?;
                return wire::put_message(number, out, |out| {
                    wire::put_varint(1, duration.nanos() as u64, out);
                    Ok(())
                });
            }
            Shape::Double | Shape::Any(_) | Shape::List(_) | Shape::Map(_) => return Err(Stop::Odd),
        }
        Ok(())
    }

    /// A message that holds the text of a value.
    fn raw(&mut self, number: u32, out: &mut Vec<u8>) -> Step {
        let json = self.cursor.skip().ok_or(Stop::Odd)?;
        // Often long: its length is told at once, not made room for afterwards.
        wire::put_length(number, wire::length_of_bytes(json.len()), out);
        wire::put_bytes(1, json, out);
        Ok(())
    }

    fn int_or_string(&mut self, number: u32, out: &mut Vec<u8>) -> Step {
        let is_text = self.cursor.peek() == Some(b'"');
        let (integer, text) =
            if is_text { (0, self.text()?) } else { (self.integer()?, Raw { bytes: b"", escaped: false }) };
        wire::put_message(number, out, |out| {
            wire::put_varint(1, u64::from(is_text), out);
            wire::put_varint(2, integer as u64, out);
            put_text(3, text, out)
        })
    }

    fn text(&mut self) -> Step<Raw<'a>> {
        self.cursor.string().ok_or(Stop::Odd)
    }

    /// A text without escapes.
    fn plain(&mut self) -> Step<&'a str> {
        let raw = self.text()?;
        if raw.escaped {
            return Err(Stop::Odd);
        }
        std::str::from_utf8(raw.bytes).map_err(|_| Stop::Odd)
    }

    fn integer(&mut self) -> Step<i64> {
        let word = self.cursor.word().and_then(|word| std::str::from_utf8(word).ok());
        let is_number = |word: &&str| !word.starts_with('+');
        word.filter(is_number).and_then(|word| word.parse().ok()).ok_or(Stop::Odd)
    }
}

fn put_text(number: u32, text: Raw<'_>, out: &mut Vec<u8>) -> Step {
    if !text.escaped {
        wire::put_bytes(number, text.bytes, out);
        return Ok(());
    }
    wire::put_message(number, out, |out| text.unescape(out).ok_or(Stop::Odd))
}

/// A field that JSON leaves out.
fn absent_field(field: &Field, depth: Depth, out: &mut Vec<u8>) -> Result<(), Error> {
    match field.proto {
        Some(proto) if !field.pointer => encode::zero(&field.node.shape, proto.tag, depth, out),
        _ => Ok(()),
    }
}

/// Appends fields again, in their order and in the messages that protobuf nests them in.
fn arrange(ty: &Struct, plan: &Facts, spans: &[Span], depth: Depth, out: &mut Vec<u8>) -> Result<(), Error> {
    if plan.nested {
        return encode::grouped(ty, &plan.wire, 0, out, &mut |at, out| {
            match spans[usize::from(at)] {
                None => return absent_field(&ty.fields[usize::from(at)], depth, out),
                Some((start, end)) => out.extend_from_within(start..end),
            }
            Ok(())
        });
    }
    // What stays together is copied together.
    let mut run = (0, 0);
    for &at in &plan.wire {
        let field = &ty.fields[usize::from(at)];
        match spans[usize::from(at)] {
            Some((start, end)) if start == run.1 => run.1 = end,
            None if field.pointer || is_nothing(&field.node.shape) => {}
            span => {
                out.extend_from_within(run.0..run.1);
                run = span.unwrap_or_default();
                if span.is_none() {
                    absent_field(field, depth, out)?;
                }
            }
        }
    }
    out.extend_from_within(run.0..run.1);
    Ok(())
}

/// Whether nothing is written of an absent value.
fn is_nothing(shape: &Shape) -> bool {
    matches!(shape, Shape::Bytes | Shape::List(_) | Shape::Map(_))
}

fn decoded(json: &[u8]) -> Result<Value, Error> {
    let (value, Duplicates(_)) = apiwright_json::decode(json).map_err(|error| Error(error.message))?;
    Ok(value)
}
