//! Messages as kube-apiserver 1.36 writes them, and as nobody should.

use apiwright_json::{Object, Value};
use base64::Engine as _;
use proptest::prelude::*;

use super::{
    MAGIC, decode_message, encode, encode_list, encode_message, encode_watch_event, open, transcode_message,
};
use crate::table::{Field, Proto, Ref, Shape, Struct};
use crate::testing::{With, field, json, list, map, string, structure, text};

/// A field with its number.
fn pb(number: u32, field: Field) -> Field {
    within(&[], number, field)
}

/// A field that protobuf nests.
fn within(within: &'static [u32], tag: u32, mut field: Field) -> Field {
    field.proto = Some(Proto { tag, within });
    field
}

fn status() -> Ref<Struct> {
    let meta = structure(
        "ListMeta",
        vec![
            pb(1, field("selfLink", string())),
            pb(2, field("resourceVersion", string())),
            pb(3, field("continue", string())),
            pb(4, field("remainingItemCount", Shape::Int64).pointer()),
        ],
    );
    let cause = structure(
        "StatusCause",
        vec![
            pb(1, field("reason", string())),
            pb(2, field("message", string())),
            pb(3, field("field", string())),
        ],
    );
    let details = structure(
        "StatusDetails",
        vec![
            pb(1, field("name", string())),
            pb(2, field("group", string())),
            pb(3, field("kind", string())),
            pb(6, field("uid", string())),
            pb(4, field("causes", list(Shape::Struct(cause)))),
            pb(5, field("retryAfterSeconds", Shape::Int32)),
        ],
    );
    structure(
        "Status",
        vec![
            field("kind", string()),
            field("apiVersion", string()),
            pb(1, field("metadata", Shape::Struct(meta))),
            pb(2, field("status", string())),
            pb(3, field("message", string())),
            pb(4, field("reason", string())),
            pb(5, field("details", Shape::Struct(details)).pointer()),
            pb(6, field("code", Shape::Int32)),
        ],
    )
}

fn api_resource_list() -> Ref<Struct> {
    let resource = structure(
        "APIResource",
        vec![
            pb(1, field("name", string()).keep()),
            pb(6, field("singularName", string()).keep()),
            pb(2, field("namespaced", Shape::Bool).keep()),
            pb(8, field("group", string())),
            pb(9, field("version", string())),
            pb(3, field("kind", string()).keep()),
            // A list that is a message of its own, which holds the items.
            within(&[4], 1, field("verbs", list(string())).keep()),
            pb(5, field("shortNames", list(string()))),
            pb(7, field("categories", list(string()))),
            pb(10, field("storageVersionHash", string())),
        ],
    );
    structure(
        "APIResourceList",
        vec![
            field("kind", string()),
            pb(1, field("groupVersion", string()).keep()),
            pb(2, field("resources", list(Shape::Struct(resource))).keep()),
        ],
    )
}

/// A type with a field of every shape.
fn everything() -> Ref<Struct> {
    let props = "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.";
    let inner = structure("Inner", vec![pb(1, field("a", string())), pb(2, field("b", Shape::Int32))]);
    structure(
        "Everything",
        vec![
            pb(1, field("bool", Shape::Bool)),
            pb(2, field("int", Shape::Int64)),
            pb(3, field("maybe", Shape::Int32).pointer()),
            pb(4, field("double", Shape::Double).pointer()),
            pb(5, field("bytes", Shape::Bytes)),
            pb(6, field("time", Shape::Time)),
            pb(7, field("micro", Shape::MicroTime).pointer()),
            pb(8, field("duration", Shape::Duration).pointer()),
            pb(9, field("quantity", Shape::Quantity).pointer()),
            pb(10, field("port", Shape::IntOrString).pointer()),
            pb(11, field("raw", Shape::RawObject).pointer()),
            pb(12, field("fields", Shape::FieldsV1).pointer()),
            pb(13, field("strings", list(string()))),
            pb(14, field("numbers", list(Shape::Int64))),
            pb(15, field("inner", Shape::Struct(inner.clone()))),
            pb(16, field("inners", list(Shape::Struct(inner)))),
            pb(17, field("labels", map(string()))),
            pb(18, field("extra", map(list(string())))),
            pb(19, field("limits", map(Shape::Quantity))),
            pb(20, field("binary", map(Shape::Bytes))),
            within(&[21], 1, field("hostPath", string()).pointer()),
            within(&[21, 3], 1, field("deep", string()).pointer()),
            pb(22, field("any", Shape::Any(text(&format!("{props}JSON")))).pointer()),
            pb(23, field("orBool", Shape::Any(text(&format!("{props}JSONSchemaPropsOrBool")))).pointer()),
            pb(24, field("orArray", Shape::Any(text(&format!("{props}JSONSchemaPropsOrArray")))).pointer()),
            pb(
                25,
                field("orStrings", Shape::Any(text(&format!("{props}JSONSchemaPropsOrStringArray"))))
                    .pointer(),
            ),
        ],
    )
}

fn bytes(ty: &Struct, object: &str) -> Vec<u8> {
    let mut out = Vec::new();
    encode_message(ty, &json(object), &mut out).expect("fits");
    out
}

#[test]
fn a_status_is_written_as_upstream_writes_it() {
    let mut out = Vec::new();
    let object = json(
        r#"{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"configmaps \"none\" not found",
            "reason":"NotFound","details":{"name":"none","kind":"configmaps"},"code":404}"#,
    );
    encode(&status(), &object, "v1", "Status", &mut out).expect("fits");
    assert_eq!(
        base64::engine::general_purpose::STANDARD.encode(&out),
        "azhzAAoMCgJ2MRIGU3RhdHVzElUKBgoAEgAaABIHRmFpbHVyZRobY29uZmlnbWFwcyAibm9uZSIgbm90IGZvdW5kIghOb3RGb3VuZCoYCgRub25lEgAaCmNvbmZpZ21hcHMoADIAMJQDGgAiAA=="
    );
    let envelope = open(&out).expect("an envelope");
    assert_eq!((&*envelope.api_version, &*envelope.kind), ("v1", "Status"));
    let back = decode_message(&status(), envelope.raw).expect("a message");
    assert_eq!(back.text_at(&["details", "name"]), "none");
    assert_eq!(back.get("code"), Some(&Value::Int(404)));
}

#[test]
fn discovery_is_written_as_upstream_writes_it() {
    let mut out = Vec::new();
    let object = json(
        r#"{"kind":"APIResourceList","apiVersion":"v1","groupVersion":"policy/v1","resources":[
        {"name":"poddisruptionbudgets","singularName":"poddisruptionbudget","namespaced":true,"kind":"PodDisruptionBudget",
         "verbs":["create","delete","deletecollection","get","list","patch","update","watch"],"shortNames":["pdb"],"storageVersionHash":"EVWiDmWqyJw="},
        {"name":"poddisruptionbudgets/status","singularName":"","namespaced":true,"kind":"PodDisruptionBudget","verbs":["get","patch","update"]}]}"#,
    );
    encode(&api_resource_list(), &object, "v1", "APIResourceList", &mut out).expect("fits");
    assert_eq!(
        base64::engine::general_purpose::STANDARD.encode(&out),
        concat!(
            "azhzAAoVCgJ2MRIPQVBJUmVzb3VyY2VMaXN0EoACCglwb2xpY3kvdjESngEKFHBvZGRpc3J1cHRpb25idWRnZXRzEAEaE1BvZERpc3J1",
            "cHRpb25CdWRnZXQiQwoGY3JlYXRlCgZkZWxldGUKEGRlbGV0ZWNvbGxlY3Rpb24KA2dldAoEbGlzdAoFcGF0Y2gKBnVwZGF0ZQoFd2F0",
            "Y2gqA3BkYjITcG9kZGlzcnVwdGlvbmJ1ZGdldEIASgBSDEVWV2lEbVdxeUp3PRJSChtwb2RkaXNydXB0aW9uYnVkZ2V0cy9zdGF0dXMQ",
            "ARoTUG9kRGlzcnVwdGlvbkJ1ZGdldCIUCgNnZXQKBXBhdGNoCgZ1cGRhdGUyAEIASgBSABoAIgA="
        )
    );
}

#[test]
fn every_shape_has_its_bytes() {
    let ty = everything();
    // What is no pointer is always there; fields by number.
    let always = "08001000320 07a0412080a00".replace(' ', "");
    let always = always.replace("7a0412080a00", "7a040a001000");
    let empty = bytes(&ty, "{}");
    assert_eq!(hex(&empty), format!("{always}aa01021a00"));
    for (object, expected) in [
        (r#"{"bool":true}"#, "0801"),
        (r#"{"int":-1}"#, "10ffffffffffffffffff01"),
        (r#"{"maybe":0}"#, "1800"),
        (r#"{"double":1.5}"#, "21000000000000f83f"),
        (r#"{"double":2}"#, "210000000000000040"),
        (r#"{"bytes":"AQI="}"#, "2a020102"),
        (r#"{"bytes":""}"#, "2a00"),
        (r#"{"time":"1970-01-01T00:00:01Z"}"#, "320408011000"),
        (r#"{"micro":"1970-01-01T00:00:01.000002Z"}"#, "3a05080110d00f"),
        (r#"{"micro":null}"#, ""),
        (r#"{"duration":"1µs"}"#, "420308e807"),
        (r#"{"quantity":"100m"}"#, "4a060a043130306d"),
        (r#"{"port":80}"#, "5206080010501a00"),
        (r#"{"port":"web"}"#, "5209080110001a03776562"),
        (r#"{"raw":{"a":1}}"#, "5a090a077b2261223a317d"),
        (r#"{"fields":{}}"#, "62040a027b7d"),
        (r#"{"strings":["","b"]}"#, "6a006a0162"),
        (r#"{"numbers":[1,300]}"#, "700170ac02"),
        (r#"{"inner":{"a":"x","b":5}}"#, "7a050a01781005"),
        (r#"{"inners":[{}]}"#, "8201040a001000"),
        (r#"{"labels":{"b":"2","a":""}}"#, "8a01050a016112008a01060a0162120132"),
        (r#"{"extra":{"k":["v"]}}"#, "9201080a016b12030a0176"),
        (r#"{"limits":{"cpu":"1"}}"#, "9a010a0a0363707512030a0131"),
        (r#"{"binary":{"k":"AQ=="}}"#, "a201060a016b120101"),
        (r#"{"hostPath":"/"}"#, "aa01050a012f1a00"),
        (r#"{"deep":"d"}"#, "aa01051a030a0164"),
        (r#"{"any":[1]}"#, "b201050a035b315d"),
        (r#"{"orBool":true}"#, "ba01020801"),
        (r#"{"orBool":false}"#, "ba01020800"),
        (r#"{"orStrings":["a"]}"#, "ca0103120161"),
    ] {
        let written = hex(&bytes(&ty, object));
        assert!(written.contains(expected), "{object}: {expected} not in {written}");
        let back = decode_message(&ty, &bytes(&ty, object)).expect("a message");
        for (name, value) in
            json(object).as_object().expect("an object").iter().filter(|member| !member.1.is_null())
        {
            let found = back.get(name);
            if name != "inners" {
                assert_eq!(found.map(sorted), Some(sorted(value)), "{object}");
            }
        }
    }
    // A union may hold a whole schema: that of the message around it.
    let nested = json(r#"{"orBool":{"maybe":7},"orArray":[{"maybe":8},{"maybe":9}]}"#);
    let back = decode_message(&ty, &bytes(&ty, &apiwright_json::to_string(&nested))).expect("a message");
    assert_eq!(back.at(&["orBool", "maybe"]), Some(&Value::Int(7)));
    let items = back.get("orArray").and_then(Value::as_array).expect("an array");
    assert_eq!(
        items.iter().map(|item| item.get("maybe").cloned()).collect::<Vec<_>>(),
        [Some(Value::Int(8)), Some(Value::Int(9))]
    );
}

/// A value with its members sorted, without the zero values that decoding adds.
fn sorted(value: &Value) -> Value {
    let mut value = value.clone();
    if let Value::Object(object) = &mut value {
        object.sort();
    }
    value
}

fn hex(bytes: &[u8]) -> String {
    let mut out = String::new();
    for byte in bytes {
        out.push_str(&format!("{byte:02x}"));
    }
    out
}

#[test]
fn lists_and_watch_events_go_around_objects() {
    let ty = structure("Thing", vec![pb(1, field("name", string()))]);
    let mut out = Vec::new();
    let items = [json(r#"{"name":"a"}"#), json(r#"{"name":"b"}"#)];
    let meta = json(r#"{"resourceVersion":"7","remainingItemCount":3}"#);
    encode_list(&ty, &items, &meta, "v1", "ThingList", &mut out).expect("fits");
    let envelope = open(&out).expect("an envelope");
    assert_eq!(envelope.kind, "ThingList");
    assert_eq!(hex(envelope.raw), "0a090a001201371a00200312030a016112030a0162");

    let mut frame = vec![0xff];
    encode_watch_event("ADDED", b"k8s\0x", &mut frame);
    assert_eq!(hex(&frame), "ff000000100a0541444445441207 0a056b38730078".replace(' ', ""));
}

#[test]
fn bodies_that_are_none_are_refused_in_upstreams_words() {
    let prefix = "provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]";
    for (body, error) in [
        (&b""[..], "empty data"),
        (b"not protobuf at all", prefix),
        (b"k8s", prefix),
        (b"k8s\0", "empty body"),
        (b"k8s\0\x0a\x05\x0a", "unexpected EOF"),
        (b"k8s\0\x08\x01", "proto: wrong wireType = 0 for field TypeMeta"),
        (b"k8s\0\x00", "proto: Unknown: illegal tag 0 (wire type 0)"),
        (b"k8s\0\x0c", "proto: Unknown: wiretype end group for non-group"),
        (b"k8s\0\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", "proto: integer overflow"),
        (
            b"k8s\0\x12\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01",
            "proto: negative length found during unmarshaling",
        ),
    ] {
        assert_eq!(open(body).expect_err("no body").to_string(), error, "{body:?}");
    }
    for (message, error) in [
        (&b"\x0a\x01x"[..], "proto: wrong wireType = 2 for field Bool"),
        (b"\x32\x03\x0a\x01x", "proto: wrong wireType = 2 for field Seconds"),
        (b"\x5a\x03\x0a\x01{", "unexpected end of JSON input"),
        (b"\x0b", "unexpected EOF"),
    ] {
        assert_eq!(
            decode_message(&everything(), message).expect_err("no message").to_string(),
            error,
            "{message:?}"
        );
    }
    // Unknown fields of any kind are skipped, a message may come in parts.
    let parts = b"\xfa\x07\x01x\xf8\x07\x05\xf9\x0712345678\xfd\x071234\xfb\x07\x08\x01\xfc\x07\x7a\x03\x0a\x01x\x7a\x02\x10\x05";
    let whole = decode_message(&everything(), parts).expect("a message");
    assert_eq!(whole.get("inner"), Some(&json(r#"{"a":"x","b":5}"#)));
    // Packed numbers.
    let packed = decode_message(&everything(), b"\x72\x03\x01\xac\x02").expect("a message");
    assert_eq!(packed.get("numbers"), Some(&json("[1,300]")));
}

#[test]
fn nesting_is_bounded() {
    let ty = everything();
    let mut message = Vec::new();
    for _ in 0..100_000 {
        let mut around = Vec::with_capacity(message.len() + 16);
        let mut inner = Vec::new();
        super::wire::put_bytes(2, &message, &mut inner);
        super::wire::put_bytes(23, &inner, &mut around);
        message = around;
        if message.len() > 20_000 {
            break;
        }
    }
    assert_eq!(decode_message(&ty, &message).expect_err("too deep").to_string(), "exceeded max depth");
}

#[test]
fn json_within_a_message_leaves_room_for_what_is_around_it() {
    for (depth, fits) in [(9600, true), (9601, false), (10_000, false)] {
        let decoded = move || {
            let (mut raw, mut message) = (Vec::new(), Vec::new());
            super::wire::put_bytes(
                1,
                &["[".repeat(depth), "]".repeat(depth)].concat().into_bytes(),
                &mut raw,
            );
            super::wire::put_bytes(11, &raw, &mut message);
            decode_message(&everything(), &message).map(|_| ()).map_err(|error| error.to_string())
        };
        let thread = std::thread::Builder::new().stack_size(apiwright_json::STACK_BYTES).spawn(decoded);
        let decoded = thread.expect("a thread").join().expect("no panic");
        assert_eq!(decoded, if fits { Ok(()) } else { Err("exceeded max depth".into()) }, "{depth}");
    }
}

fn values() -> impl Strategy<Value = Value> {
    let text = "[a-z]{0,6}";
    (
        (any::<bool>(), any::<i64>(), proptest::option::of(any::<i32>()), proptest::option::of(-1e9..1e9f64)),
        proptest::collection::vec(text, 0..4),
        proptest::collection::vec(any::<i64>(), 0..4),
        proptest::collection::btree_map("[a-z]{1,3}", text, 0..4),
        proptest::collection::btree_map("[a-z]{1,3}", proptest::collection::vec(text, 1..3), 0..3),
        (proptest::option::of(text), proptest::option::of(text), 0..4_000_000_000i64),
        proptest::collection::vec(any::<u8>(), 1..6),
    )
        .prop_map(
            |((truth, int, maybe, double), strings, numbers, labels, extra, (path, deep, seconds), bytes)| {
                let mut object = Object::new();
                object.push("bool", truth);
                object.push("int", int);
                if let Some(maybe) = maybe {
                    object.push("maybe", maybe);
                }
                if let Some(double) = double {
                    object.push("double", double + 0.5e-3);
                }
                object.push("bytes", base64::engine::general_purpose::STANDARD.encode(&bytes));
                if !strings.is_empty() {
                    object.push("strings", strings.into_iter().map(Value::from).collect::<Vec<_>>());
                }
                if !numbers.is_empty() {
                    object.push("numbers", numbers.into_iter().map(Value::from).collect::<Vec<_>>());
                }
                let labels: Object = labels.into_iter().collect();
                if !labels.is_empty() {
                    object.push("labels", labels);
                }
                let extra: Object = extra
                    .into_iter()
                    .map(|(key, items)| (key, items.into_iter().map(Value::from).collect::<Vec<_>>()))
                    .collect();
                if !extra.is_empty() {
                    object.push("extra", extra);
                }
                if let Some(path) = path {
                    object.push("hostPath", path);
                }
                if let Some(deep) = deep {
                    object.push("deep", deep);
                }
                object.push(
                    "duration",
                    apiwright_meta::time::Duration::from_nanos(seconds * 1_000_003).to_string(),
                );
                object.push("port", seconds as i32);
                object.push("inner", json(r#"{"a":"","b":1}"#));
                object.into()
            },
        )
}

proptest! {
    #[test]
    fn objects_come_back(object in values()) {
        let ty = everything();
        let mut out = Vec::new();
        encode_message(&ty, &object, &mut out).expect("fits");
        let mut back = decode_message(&ty, &out).expect("a message");
        // The zero time is null.
        back.as_object_mut().expect("an object").remove("time");
        prop_assert_eq!(back, object);
        let mut twice = out.clone();
        twice.extend(&out);
        prop_assert!(decode_message(&ty, &twice).is_ok());
    }

    #[test]
    fn nothing_makes_the_decoder_panic(noise in proptest::collection::vec(any::<u8>(), 0..200)) {
        let _ = decode_message(&everything(), &noise);
        let mut body = MAGIC.to_vec();
        body.extend(noise);
        let _ = open(&body);
    }

    #[test]
    fn damage_makes_no_panic(object in values(), at in any::<prop::sample::Index>(), byte in any::<u8>()) {
        let ty = everything();
        let mut out = Vec::new();
        encode_message(&ty, &object, &mut out).expect("fits");
        let at = at.index(out.len());
        out[at] = byte;
        if let Ok(value) = decode_message(&ty, &out) {
            let _ = encode_message(&ty, &value, &mut Vec::new());
        }
        let _ = decode_message(&ty, &out[..at]);
    }
}

/// Fields whose numbers are not in the order of JSON.
#[test]
fn stored_fields_are_put_in_order() {
    for text in [
        r#"{"name":"n","group":"g","kind":"k","uid":"u","causes":[{"field":"f"}],"retryAfterSeconds":7}"#,
        r#"{"uid":"u","retryAfterSeconds":7}"#,
        r#"{"kind":"k","causes":[],"uid":"u"}"#,
        r#"{"retryAfterSeconds":7,"uid":"u","name":"n"}"#,
        "{}",
    ] {
        for text in [text.to_owned(), format!(r#"{{"details":{text},"code":1}}"#)] {
            let status = status();
            let Shape::Struct(details) = &status.field("details").expect("a field").node.shape else {
                panic!("no message");
            };
            for ty in [&status, details] {
                let mut out = Vec::new();
                assert_eq!(transcode_message(ty, text.as_bytes(), &mut out), Ok(()), "{text}");
                assert_eq!(hex(&out), hex(&bytes(ty, &text)), "{text}");
            }
        }
    }
}

/// Objects as they are stored, and as they should not be.
#[test]
fn stored_text_gives_what_the_value_gives() {
    let ty = everything();
    for text in [
        "{}",
        r#"{"bool":true,"int":-1,"maybe":0,"double":2,"bytes":"AQI=","time":"1970-01-01T00:00:01Z"}"#,
        r#"{"micro":"1970-01-01T00:00:01.000002Z","duration":"1µs","quantity":"100m","port":80}"#,
        r#"{"port":"w\u0026\"b","raw":{"a":[1,"]"]},"fields":{},"strings":["","b\n"],"numbers":[1,300]}"#,
        r#"{"inner":{"a":"x","b":5},"inners":[{},{"b":1}],"labels":{"a":"","b":"2"},"limits":{"cpu":"1"}}"#,
        r#"{"extra":{"k":["v"]},"binary":{"k":"AQ==","l":null},"hostPath":"/","deep":"d","any":[1]}"#,
        r#"{"orBool":true,"orStrings":["a"],"orArray":[{"maybe":8}]}"#,
        r#"{"orBool":{"maybe":7,"inner":{"b":2}},"unknown":{"x":[1]},"raw":null,"time":null}"#,
        // Out of order, twice, unsorted, escaped, and of other forms.
        r#"{"inner":{"b":5,"a":"x"},"int":3}"#,
        r#"{"inner":{"a":"x","a":"y"},"int":3,"int":4}"#,
        r#"{"labels":{"b":"2","a":"1","b":"3"},"limits":{"c\"pu":3}}"#,
        r#"{"int":1.0,"maybe":1e2,"double":1.5,"quantity":12,"bytes":"AQI\u003d"}"#,
        r#" { "int" : 1 , "inner" : { "a" : "x" } } "#,
        r#"{"inn\u0065r":{"a":"x"},"raw":{"a": 1}}"#,
        r#"{"strings":["\ud83d\ude00"],"labels":{"k":"\u2028"}}"#,
        "[]",
        r#"{"int":"x"}"#,
        r#"{"inner":{"b":"x"}}"#,
        r#"{"time":"never","strings":{}}"#,
        r#"{"strings":[1]}"#,
        r#"{"bytes":"?"}"#,
        r#"{"bool":"x","labels":[]}"#,
    ] {
        let mut expected = vec![7];
        let expected = encode_message(&ty, &json(text), &mut expected).map(|()| expected);
        let mut out = vec![7];
        assert_eq!(transcode_message(&ty, text.as_bytes(), &mut out).map(|()| out), expected, "{text}");
    }
    for text in
        ["", "{", "{\"int\"", "{\"int\":", "{\"inner\":{\"a\":\"x}", "{\"int\":1}}", "{\"labels\":{\"a\":1"]
    {
        assert!(transcode_message(&ty, text.as_bytes(), &mut Vec::new()).is_err(), "{text}");
    }
}

proptest! {
    #[test]
    fn stored_objects_give_what_values_give(object in values(), at in any::<prop::sample::Index>(), byte in any::<u8>()) {
        let ty = everything();
        let (mut expected, mut out) = (Vec::new(), Vec::new());
        let mut text = apiwright_json::to_string(&object).into_bytes();
        encode_message(&ty, &object, &mut expected).expect("fits");
        prop_assert_eq!(transcode_message(&ty, &text, &mut out), Ok(()));
        prop_assert_eq!(&out, &expected);
        // Damage makes no panic.
        let at = at.index(text.len());
        text[at] = byte;
        let _ = transcode_message(&ty, &text, &mut Vec::new());
        let _ = transcode_message(&ty, &text[..at], &mut Vec::new());
    }
}
