//! What holds for protobuf and every kind that is served: a protobuf library reads what is written and writes what
//! is read, nothing is lost on the way there and back, and stored text and decoded value give the same bytes.

#![allow(missing_docs, unreachable_pub)] // a test

mod agreement;
mod descriptors;
mod maker;
#[path = "../support/mod.rs"]
mod support;
mod wire;

use apiwright::generated::catalogue;
use apiwright_json::{Object, Value, to_string};
use apiwright_registry::catalogue::KindType;
use apiwright_schema::decode::{ObjectKind, Source, normalise};
use apiwright_schema::proto::{decode_message, encode_message, transcode_message};
use maker::Maker;
use prost_reflect::DynamicMessage;
use prost_reflect::prost::Message;

/// A made-up object of a kind, in normal form, of what protobuf has numbers for.
fn object(known: &KindType, seed: u64) -> Option<Value> {
    normal(known, Maker { seed, numbered: true }.object(known.schema, 0))
}

fn normal(known: &KindType, object: Value) -> Option<Value> {
    let kind = ObjectKind { api_version: "v1", kind: &known.kind.kind };
    Some(normalise(known.schema, kind, object, Source::Json).ok()?.value)
}

/// The same without the difference that no protobuf makes: a list or map of nothing is none.
fn without_empty(value: Value) -> Value {
    match value {
        Value::Array(items) if items.is_empty() => Value::Null,
        Value::Object(members) if members.is_empty() => Value::Null,
        Value::Array(items) => items.into_iter().map(without_empty).collect::<Vec<_>>().into(),
        Value::Object(members) => {
            members.into_iter().map(|(key, value)| (key, without_empty(value))).collect::<Object>().into()
        }
        scalar => scalar,
    }
}

#[test]
fn a_library_reads_what_is_written_and_writes_what_is_read() {
    let pool = descriptors::pool();
    let mut compared = 0;
    for known in catalogue().kinds.iter() {
        let name = descriptors::message_name(&known.schema.name);
        let descriptor = pool.get_message_by_name(&name).expect(&name);
        for seed in 1..30 {
            let Some(object) = object(known, seed) else { continue };
            let mut ours = Vec::new();
            encode_message(known.schema, &object, &mut ours).expect("it fits");
            let read = DynamicMessage::decode(descriptor.clone(), &*ours).expect("a message");
            let members = object.as_object().expect("an object");
            agreement::agree(known.schema, members, &read)
                .unwrap_or_else(|why| panic!("{name} {why}: {}", to_string(&object)));

            let theirs = read.encode_to_vec();
            let back = decode_message(known.schema, &theirs).expect("a message");
            let back = normal(known, back).expect("it is right");
            let expected = to_string(&without_empty(object));
            assert_eq!(to_string(&without_empty(back)), expected, "{name}");

            // What nobody knows is passed over.
            let unknown = [theirs, vec![0xfa, 0xff, 0x7f, 3, b'a', b'b', b'c']].concat();
            let back = decode_message(known.schema, &unknown).expect("a message");
            let back = normal(known, back).expect("it is right");
            assert_eq!(to_string(&without_empty(back)), expected, "{name}");
            compared += 1;
        }
    }
    assert!(compared > 1000, "{compared} objects");
}

#[test]
fn malformed_messages_are_errors() {
    let (mut wrong, mut right) = (0, 0);
    for known in catalogue().kinds.iter() {
        for seed in 1..10 {
            let Some(object) = object(known, seed) else { continue };
            let mut bytes = Vec::new();
            encode_message(known.schema, &object, &mut bytes).expect("it fits");
            let mut chance = Maker { seed, numbered: true };
            for _ in 0..20 {
                let mut changed = bytes.clone();
                match (chance.below(3), bytes.len()) {
                    (_, 0) => changed.push(chance.below(256) as u8),
                    (0, length) => changed.truncate(chance.below(length)),
                    (1, length) => changed[chance.below(length)] = chance.below(256) as u8,
                    (_, length) => changed.insert(chance.below(length), chance.below(256) as u8),
                }
                // Neither may panic; what comes of it has to be an object or an error.
                match decode_message(known.schema, &changed) {
                    Ok(value) => {
                        let _ = normal(known, value);
                        right += 1;
                    }
                    Err(_) => wrong += 1,
                }
            }
        }
    }
    assert!(wrong > 1000 && right > 1000, "{wrong} errors, {right} objects");
}

#[test]
fn stored_text_and_value_give_the_same_bytes() {
    let (mut made, mut written) = (0, 0);
    for known in catalogue().kinds.iter() {
        let kind = ObjectKind { api_version: "v1", kind: &known.kind.kind };
        for seed in 1..40 {
            let object = Maker { seed, numbered: false }.object(known.schema, 0);
            let Ok(normal) = normalise(known.schema, kind, object, Source::Json) else { continue };
            made += 1;
            let text = to_string(&normal.value);
            let (mut expected, mut out) = (Vec::new(), Vec::new());
            let judged = encode_message(known.schema, &normal.value, &mut expected);
            let found = transcode_message(known.schema, text.as_bytes(), &mut out);
            assert_eq!(found, judged, "{}: {text}", &*known.kind.kind);
            if judged.is_ok() {
                assert!(out == expected, "{}: {text}", &*known.kind.kind);
                assert!(decode_message(known.schema, &out).is_ok(), "{}: {text}", &*known.kind.kind);
                written += out.len();
            }
        }
    }
    assert!(made > 1000 && written > 100_000, "{made} objects, {written} bytes");
}
