use apiwright_json::to_string;
use apiwright_meta::status::Reason;

use super::{Error, FieldValidation, Format, Patch};
use crate::decode::{ObjectKind, Source, normalise};
use crate::testing::{deployment, json, secret};

const DEPLOYMENT: ObjectKind<'_> = ObjectKind { api_version: "apps/v1", kind: "Deployment" };
const SECRET: ObjectKind<'_> = ObjectKind { api_version: "v1", kind: "Secret" };

#[test]
fn a_patched_object_is_in_normal_form() {
    let ty = deployment();
    let current = r#"{"metadata":{"name":"d"},"spec":{"replicas":0,"template":{"spec":{"containers":[{"name":"one","env":[{"name":"A"},{"name":"B"}]},{"name":"two"},{"name":"three"}]}}}}"#;
    let current = normalise(&ty, DEPLOYMENT, json(current), Source::Json).expect("a Deployment").value;
    for (format, patch, want) in [
        (
            Format::Strategic,
            r#"{"spec":{"template":{"spec":{"containers":[{"$patch":"delete","name":"two"},{"name":"one","env":[{"$patch":"delete","name":"A"}]}]}}}}"#,
            r#"[{"name":"one","env":[{"name":"B"}],"resources":{}},{"name":"three","resources":{}}]"#,
        ),
        (
            Format::Strategic,
            r#"{"spec":{"template":{"spec":{"$setElementOrder/containers":[{"name":"three"},{"name":"four"},{"name":"one"}],"containers":[{"name":"four","image":"i"}]}}}}"#,
            r#"[{"name":"two","resources":{}},{"name":"three","resources":{}},{"name":"four","image":"i","resources":{}},{"name":"one","env":[{"name":"A"},{"name":"B"}],"resources":{}}]"#,
        ),
        (
            Format::Merge,
            r#"{"spec":{"template":{"spec":{"containers":[{"image":"i","name":"only"}]}}}}"#,
            r#"[{"name":"only","image":"i","resources":{}}]"#,
        ),
        (
            Format::Json,
            r#"[{"op":"remove","path":"/spec/template/spec/containers/0"},{"op":"replace","path":"/spec/template/spec/containers/-1","value":{"name":"last"}}]"#,
            r#"[{"name":"two","resources":{}},{"name":"last","resources":{}}]"#,
        ),
    ] {
        let read = Patch::read(format, patch.as_bytes(), FieldValidation::Strict).expect(patch);
        let patched = read.apply(&ty, DEPLOYMENT, &current).expect(patch).value;
        let containers = patched.at(&["spec", "template", "spec", "containers"]).expect("containers");
        assert_eq!(to_string(containers), want, "{patch}");
        assert!(
            to_string(&patched).starts_with(r#"{"kind":"Deployment","apiVersion":"apps/v1","metadata":"#)
        );
    }
}

#[test]
fn strictness_is_as_the_request_says() {
    let ty = secret();
    let current = json(r#"{"kind":"Secret","apiVersion":"v1","metadata":{"name":"s"}}"#);
    for (format, patch, strict, shown) in [
        (
            Format::Merge,
            r#"{"extra":1,"stringData":{"a":"1","a":"2"}}"#,
            &["duplicate field \"stringData.a\"", "unknown field \"extra\""][..],
            None,
        ),
        (Format::Strategic, r#"{"extra":1}"#, &["unknown field \"extra\""], Some("map[extra:1]")),
        (
            Format::Strategic,
            r#"{"stringData":{"a":"1","a":"2"}}"#,
            &["duplicate field \"stringData.a\""],
            Some("map[stringData:map[a:2]]"),
        ),
        (
            Format::Json,
            r#"[{"op":"add","path":"/extra","value":1,"why":"so"}]"#,
            &["json patch unknown field \"[0].why\"", "unknown field \"extra\""],
            None,
        ),
    ] {
        let run =
            |validation| Patch::read(format, patch.as_bytes(), validation)?.apply(&ty, SECRET, &current);
        assert_eq!(run(FieldValidation::Ignore).map(|decoded| decoded.strict), Ok(vec![]));
        assert_eq!(
            run(FieldValidation::Warn).map(|decoded| decoded.strict),
            Ok(strict.iter().map(|s| (*s).into()).collect())
        );
        match run(FieldValidation::Strict) {
            Err(Error::Invalid { shown: got, why }) => {
                assert_eq!(why, format!("strict decoding error: {}", strict.join(", ")));
                assert!(shown.is_none_or(|shown| shown == got), "{got}");
            }
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn refusals_have_upstreams_codes_and_words() {
    let ty = deployment();
    let current = json(
        r#"{"kind":"Deployment","apiVersion":"apps/v1","metadata":{"name":"d"},"spec":{"template":{"spec":{"containers":[{"name":"a"}]}}}}"#,
    );
    for (format, patch, code, reason, message) in [
        (
            Format::Merge,
            "{\"data\": ",
            400,
            Some(Reason::BadRequest),
            "error decoding patch: unexpected end of JSON input",
        ),
        (
            Format::Merge,
            "[1, 2]",
            400,
            Some(Reason::BadRequest),
            "error decoding patch: json: cannot unmarshal array into Go value of type map[string]interface {}",
        ),
        (Format::Merge, "null", 400, Some(Reason::BadRequest), "Invalid JSON Patch"),
        (
            Format::Json,
            "{}",
            400,
            Some(Reason::BadRequest),
            "error decoding patch: json: cannot unmarshal object into Go value of type []handlers.jsonPatchOp",
        ),
        (
            Format::Json,
            r#"[{"op":"remove","path":"/x"}]"#,
            422,
            Some(Reason::Invalid),
            "the server rejected our request due to an error in our request",
        ),
        (Format::Strategic, "{\"spec\":", 400, Some(Reason::BadRequest), "unexpected end of JSON input"),
        (
            Format::Strategic,
            "[]",
            400,
            Some(Reason::BadRequest),
            "json: cannot unmarshal array into Go value of type map[string]interface {}",
        ),
        (
            Format::Strategic,
            r#"{"spec":{"replicas":"many"}}"#,
            422,
            Some(Reason::Invalid),
            " \"\" is invalid: patch: Invalid value: \"map[spec:map[replicas:many]]\": unrecognized type: int32",
        ),
        (
            Format::Strategic,
            r#"{"spec":"text"}"#,
            422,
            Some(Reason::Invalid),
            " \"\" is invalid: patch: Invalid value: \"map[spec:text]\": cannot restore struct from: string",
        ),
        (
            Format::Strategic,
            r#"{"spec":{"template":{"spec":{"containers":[{"image":"i"}]}}}}"#,
            500,
            None,
            "map: map[image:i] does not contain declared merge key: name",
        ),
        (
            Format::Merge,
            r#"{"kind":"Gizmo","metadata":1}"#,
            422,
            Some(Reason::Invalid),
            " \"\" is invalid: patch: Invalid value: \"{\\\"kind\\\":\\\"Gizmo\\\",\\\"apiVersion\\\":\\\"apps/v1\\\",\\\"metadata\\\":1,\\\"spec\\\":{\\\"template\\\":{\\\"spec\\\":{\\\"containers\\\":[{\\\"name\\\":\\\"a\\\"}]}}}}\": no kind \"Gizmo\" is registered for version \"apps/v1\" in scheme \"k8s.io/kubernetes/pkg/api/legacyscheme/scheme.go:30\"",
        ),
    ] {
        let refused = Patch::read(format, patch.as_bytes(), FieldValidation::Warn)
            .and_then(|read| read.apply(&ty, DEPLOYMENT, &current))
            .expect_err(patch);
        let status = refused.into_status();
        assert_eq!((status.code, status.reason, status.message.as_str()), (code, reason, message), "{patch}");
    }
    let many = format!("[{}{{}}]", "{},".repeat(10_000));
    let refused = Patch::read(Format::Json, many.as_bytes(), FieldValidation::Warn).expect_err("too many");
    let status = refused.into_status();
    assert_eq!((status.code, status.reason), (413, Some(Reason::RequestEntityTooLarge)));
    assert_eq!(
        status.message,
        "Request entity too large: The allowed maximum operations in a JSON patch is 10000, got 10001"
    );
}
