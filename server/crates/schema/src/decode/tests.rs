use apiwright_json::{Duplicates, Value, decode as parse, to_string};

use super::{Decoded, Error, ObjectKind, Source, decode, decode_plain, hollow, normalise, refusal};
use crate::testing::{With, deployment, field, list, map, object_meta, secret, string, structure};
use crate::{Ref, Shape, Struct};

const SECRET: ObjectKind<'_> = ObjectKind { api_version: "v1", kind: "Secret" };
const DEPLOYMENT: ObjectKind<'_> = ObjectKind { api_version: "apps/v1", kind: "Deployment" };

fn run(ty: &Struct, kind: ObjectKind<'_>, body: &str) -> Result<Decoded, Error> {
    let (value, duplicates) = parse(body.as_bytes()).expect("the tests' bodies are JSON");
    decode(ty, kind, value, &duplicates, Source::Json)
}

#[test]
fn normal_form_is_what_go_prints() {
    let deployment = deployment();
    for (body, want) in [
        (
            "{}",
            r#"{"kind":"Deployment","apiVersion":"apps/v1","metadata":{},"spec":{"selector":null,"template":{"metadata":{},"spec":{"containers":null}},"strategy":{}},"status":{}}"#,
        ),
        (
            r#"{"status":null,"spec":{"template":{"spec":{"containers":[{"ports":[{"protocol":"UDP","containerPort":0}],"image":"i","tty":false,"args":[]},null],"volumes":[{"emptyDir":{},"name":"v"}],"nodeSelector":{"b":null,"a":"x"},"terminationGracePeriodSeconds":0}},"selector":{"matchLabels":{}},"replicas":0,"paused":false},"metadata":{"labels":{},"name":"d","creationTimestamp":null,"finalizers":[]}}"#,
            r#"{"kind":"Deployment","apiVersion":"apps/v1","metadata":{"name":"d"},"spec":{"replicas":0,"selector":{},"template":{"metadata":{},"spec":{"volumes":[{"name":"v","emptyDir":{}}],"containers":[{"name":"","image":"i","ports":[{"containerPort":0,"protocol":"UDP"}],"resources":{}},{"name":"","resources":{}}],"nodeSelector":{"a":"x","b":""},"terminationGracePeriodSeconds":0}},"strategy":{}},"status":{}}"#,
        ),
        (
            r#"{"status":{"conditions":[{"status":"True"}]},"spec":{"template":{"spec":{"containers":[]}}}}"#,
            r#"{"kind":"Deployment","apiVersion":"apps/v1","metadata":{},"spec":{"selector":null,"template":{"metadata":{},"spec":{"containers":[]}},"strategy":{}},"status":{"conditions":[{"type":"","status":"True","lastUpdateTime":null}]}}"#,
        ),
    ] {
        let decoded = run(&deployment, DEPLOYMENT, body).expect(body);
        assert_eq!(to_string(&decoded.value), want);
        let again = normalise(&deployment, DEPLOYMENT, decoded.value.clone(), Source::Json);
        assert_eq!(
            again,
            Ok(Decoded { value: decoded.value, strict: vec![] }),
            "normal form is a fixed point"
        );
    }
}

#[test]
fn empty_lists_that_are_printed_are_null_in_storage() {
    let deployment = deployment();
    let body = r#"{"spec":{"template":{"spec":{"containers":[]}}}}"#;
    let mut object = run(&deployment, DEPLOYMENT, body).expect(body).value;
    let containers = ["spec", "template", "spec", "containers"];
    assert_eq!(object.at(&containers), Some(&Value::Array(vec![])));
    hollow(&deployment, &mut object);
    assert_eq!(object.at(&containers), Some(&Value::Null));
}

#[test]
fn scalars_are_spelt_canonically() {
    let all = structure(
        "x.v1.All",
        vec![
            field("bytes", Shape::Bytes),
            field("double", Shape::Double),
            field("quantity", Shape::Quantity),
            field("time", Shape::Time),
            field("micro", Shape::MicroTime),
            field("duration", Shape::Duration).pointer(),
            field("either", Shape::IntOrString).pointer(),
            field("raw", Shape::RawObject),
        ],
    );
    let zero = r#"{"quantity":"0","time":null,"micro":null,"raw":null}"#;
    for (body, want) in [
        ("{}", zero),
        (r#"{"quantity":null,"time":null,"duration":null,"either":null,"bytes":null}"#, zero),
        (r#"{"quantity":0.5}"#, r#"{"quantity":"500m","time":null,"micro":null,"raw":null}"#),
        (
            r#"{"bytes":"YW\nJj","double":2.0,"quantity":" 1000m","time":"2024-01-01T02:00:00+02:00","micro":"2024-01-01T00:00:00.000000Z","duration":"90s","either":"50%","raw":{"b":1,"a":null}}"#,
            r#"{"bytes":"YWJj","double":2,"quantity":"1","time":"2024-01-01T00:00:00Z","micro":"2024-01-01T00:00:00.000000Z","duration":"1m30s","either":"50%","raw":{"b":1,"a":null}}"#,
        ),
        (r#"{"bytes":[104,105]}"#, r#"{"bytes":"aGk=","quantity":"0","time":null,"micro":null,"raw":null}"#),
    ] {
        let (value, duplicates) = parse(body.as_bytes()).expect(body);
        let decoded = decode_plain(&all, value, &duplicates, Source::Json).expect(body);
        assert_eq!(to_string(&decoded.value), want, "{body}");
    }
}

#[test]
fn strict_errors_come_in_document_order() {
    let (secret, deployment) = (secret(), deployment());
    let rows: [(&Ref<Struct>, &str, &[&str]); 6] = [
        (
            &secret,
            r#"{"metadata":{"name":"s","colour":"blue"},"extra":1,"more":{"x":"y"}}"#,
            &["unknown field \"metadata.colour\"", "unknown field \"extra\"", "unknown field \"more\""],
        ),
        (
            &secret,
            r#"{"metadata":{"name":"a","name":"b"},"stringData":{"a":"1"},"stringData":{"a":"2","a":"3"}}"#,
            &[
                "duplicate field \"metadata.name\"",
                "duplicate field \"stringData\"",
                "duplicate field \"stringData.a\"",
            ],
        ),
        (
            &secret,
            r#"{"foo":1,"foo":{"a":1,"a":2},"stringData":{"a":"1","a":"2"}}"#,
            &["unknown field \"foo\"", "duplicate field \"stringData.a\""],
        ),
        (&secret, r#"{"Data":{}}"#, &["unknown field \"Data\""]),
        (&secret, r#"{"a\"b":1}"#, &["unknown field \"a\\\"b\""]),
        (
            &deployment,
            r#"{"spec":{"template":{"spec":{"containers":[{"name":"c"},{"imagePolicy":"Always","ports":[{"hostport":1}]}]}}}}"#,
            &[
                "unknown field \"spec.template.spec.containers[1].imagePolicy\"",
                "unknown field \"spec.template.spec.containers[1].ports[0].hostport\"",
            ],
        ),
    ];
    for (ty, body, want) in rows {
        assert_eq!(run(ty, SECRET, body).expect(body).strict, want, "{body}");
    }
    let many: Vec<String> = (0..150).map(|at| format!("\"x{at}\":0")).collect();
    assert_eq!(
        run(&secret, SECRET, &format!("{{{}}}", many.join(","))).expect("unknown only").strict.len(),
        100
    );
}

#[test]
fn mismatches_have_gos_words() {
    let (secret, deployment) = (secret(), deployment());
    let rows: [(&Ref<Struct>, &str, &str); 21] = [
        (
            &secret,
            r#"{"stringData":{"a":1}}"#,
            "json: cannot unmarshal number into Go struct field Secret.stringData of type string",
        ),
        (
            &secret,
            r#"{"stringData":"a"}"#,
            "json: cannot unmarshal string into Go struct field Secret.stringData of type map[string]string",
        ),
        (
            &secret,
            r#"{"metadata":{"name":7}}"#,
            "json: cannot unmarshal number into Go struct field ObjectMeta.metadata.name of type string",
        ),
        (
            &secret,
            r#"{"metadata":"me"}"#,
            "json: cannot unmarshal string into Go struct field Secret.metadata of type v1.ObjectMeta",
        ),
        (
            &secret,
            r#"{"type":true}"#,
            "json: cannot unmarshal bool into Go struct field Secret.type of type v1.SecretType",
        ),
        (
            &secret,
            r#"{"data":{"a":5}}"#,
            "json: cannot unmarshal number into Go struct field Secret.data of type []uint8",
        ),
        (
            &secret,
            r#"{"data":[]}"#,
            "json: cannot unmarshal array into Go struct field Secret.data of type map[string][]uint8",
        ),
        (&secret, r#"{"data":{"a":"***"}}"#, "illegal base64 data at input byte 0"),
        (
            &secret,
            r#"{"metadata":{"name":7,"generation":"x"},"data":{"a":"***"}}"#,
            "json: cannot unmarshal number into Go struct field ObjectMeta.metadata.name of type string",
        ),
        (
            &secret,
            r#"{"metadata":{"name":7,"creationTimestamp":"yesterday"}}"#,
            "parsing time \"yesterday\" as \"2006-01-02T15:04:05Z07:00\": cannot parse \"yesterday\" as \"2006\"",
        ),
        (
            &secret,
            r#"{"metadata":{"creationTimestamp":5}}"#,
            "json: cannot unmarshal number into Go struct field ObjectMeta.metadata.creationTimestamp of type string",
        ),
        (
            &deployment,
            r#"{"spec":{"replicas":"3"}}"#,
            "json: cannot unmarshal string into Go struct field DeploymentSpec.spec.replicas of type int32",
        ),
        (
            &deployment,
            r#"{"spec":{"replicas":1.5}}"#,
            "json: cannot unmarshal number 1.5 into Go struct field DeploymentSpec.spec.replicas of type int32",
        ),
        (
            &deployment,
            r#"{"spec":{"replicas":3.0}}"#,
            "json: cannot unmarshal number 3.0 into Go struct field DeploymentSpec.spec.replicas of type int32",
        ),
        (
            &deployment,
            r#"{"spec":{"replicas":4294967296}}"#,
            "json: cannot unmarshal number 4294967296 into Go struct field DeploymentSpec.spec.replicas of type int32",
        ),
        (
            &deployment,
            r#"{"spec":{"template":{"spec":{"containers":{}}}}}"#,
            "json: cannot unmarshal object into Go struct field PodSpec.spec.template.spec.containers of type []v1.Container",
        ),
        (
            &deployment,
            r#"{"spec":{"template":{"spec":{"containers":["c"]}}}}"#,
            "json: cannot unmarshal string into Go struct field PodSpec.spec.template.spec.containers of type v1.Container",
        ),
        (
            &deployment,
            r#"{"spec":{"template":{"spec":{"containers":[{"tty":"yes"}]}}}}"#,
            "json: cannot unmarshal string into Go struct field Container.spec.template.spec.containers.tty of type bool",
        ),
        (
            &deployment,
            r#"{"spec":{"template":{"spec":{"containers":[{"resources":{"limits":{"cpu":"lots"}}}]}}}}"#,
            "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'",
        ),
        (
            &deployment,
            r#"{"spec":{"template":{"spec":{"containers":[{"resources":{"limits":5}}]}}}}"#,
            "json: cannot unmarshal number into Go struct field ResourceRequirements.spec.template.spec.containers.resources.limits of type v1.ResourceList",
        ),
        (
            &deployment,
            r#"{"spec":{"strategy":{"rollingUpdate":{"maxSurge":true}}}}"#,
            "json: cannot unmarshal bool into Go struct field RollingUpdateDeployment.spec.strategy.rollingUpdate.maxSurge of type int32",
        ),
    ];
    for (ty, body, want) in rows {
        assert_eq!(run(ty, SECRET, body), Err(Error(want.into())), "{body}");
    }
    let (value, none) = (Value::from("x"), Duplicates::default());
    let fault = decode_plain(&object_meta(), value, &none, Source::Json).expect_err("not an object");
    assert_eq!(fault.0, "json: cannot unmarshal string into Go value of type v1.ObjectMeta");
}

#[test]
fn unstructured_objects_have_the_converters_words() {
    let (secret, deployment) = (secret(), deployment());
    let rows: [(&Ref<Struct>, &str, &str); 9] = [
        (&deployment, r#"{"spec":{"replicas":"many"}}"#, "unrecognized type: int32"),
        (&deployment, r#"{"spec":{"replicas":1.5}}"#, "cannot convert float64 to int32"),
        (&deployment, r#"{"spec":"text"}"#, "cannot restore struct from: string"),
        (
            &deployment,
            r#"{"spec":{"template":{"spec":{"containers":{"name":"one"}}}}}"#,
            "cannot restore slice from map",
        ),
        (&deployment, r#"{"spec":{"paused":"x"}}"#, "unrecognized type: bool"),
        (&secret, r#"{"stringData":[]}"#, "cannot restore map from slice"),
        (&secret, r#"{"type":5}"#, "cannot convert int64 to v1.SecretType"),
        (&secret, r#"{"data":{"a":"***"}}"#, "error decoding from json: illegal base64 data at input byte 0"),
        (&secret, r#"{"data":{"a":5}}"#, "cannot restore slice from int64"),
    ];
    for (ty, body, want) in rows {
        let (value, _) = parse(body.as_bytes()).expect(body);
        assert_eq!(normalise(ty, SECRET, value, Source::Unstructured), Err(Error(want.into())), "{body}");
    }
    let (value, _) = parse(br#"{"z":1,"metadata":{"y":1},"b":2}"#).expect("JSON");
    let decoded = normalise(&secret, SECRET, value, Source::Unstructured).expect("unknown only");
    assert_eq!(
        decoded.strict,
        ["unknown field \"b\"", "unknown field \"metadata.y\"", "unknown field \"z\""],
        "sorted"
    );
}

#[test]
fn nesting_is_bounded() {
    // A type cannot contain itself here, so nest as deep as the recursive types of CRDs would.
    let mut ty = structure("x.v1.Leaf", vec![field("leaf", string())]);
    for _ in 0..500 {
        ty = structure(
            "x.v1.Nest",
            vec![field("items", list(Shape::Struct(ty))).pointer(), field("map", map(string()))],
        );
    }
    let body = format!("{}{{}}{}", r#"{"items":["#.repeat(450), "]}".repeat(450));
    let (value, none) = parse(body.as_bytes()).expect("JSON");
    let fault = decode_plain(&ty, value, &none, Source::Json).expect_err("too deep");
    assert_eq!(fault.0, "exceeded max depth");
}

#[test]
fn bodies_that_do_not_say_what_they_are() {
    for (body, want) in [
        ("null", Ok(("", ""))),
        (r#"{"kind":"Pod","apiVersion":"v1"}"#, Ok(("v1", "Pod"))),
        (
            "[]",
            Err(
                r#"couldn't get version/kind; json parse error: json: cannot unmarshal array into Go value of type struct { APIVersion string "json:\"apiVersion,omitempty\""; Kind string "json:\"kind,omitempty\"" }"#,
            ),
        ),
        (
            r#"{"kind":5}"#,
            Err(
                "couldn't get version/kind; json parse error: json: cannot unmarshal number into Go struct field .kind of type string",
            ),
        ),
    ] {
        let (value, _) = parse(body.as_bytes()).expect(body);
        assert_eq!(refusal::type_meta(&value), want.map_err(|text| Error(text.into())));
    }
    for (body, want) in [
        ("", "x (<empty>)"),
        ("hello", "x (68656c6c6f)"),
        ("{\"apiVersion\": \"v1\", \"kind\": \"ConfigMap\"", "x ({\"apiVersion\": \"v1\", \"kind\": \" ...)"),
    ] {
        let want = format!("the object provided is unrecognized (must be of type ConfigMap): {want}");
        assert_eq!(refusal::unrecognized("ConfigMap", "x", body.as_bytes()), want);
    }
    assert_eq!(
        refusal::unfit(
            "Pod",
            "v1",
            "Pod",
            refusal::strict(&["unknown field \"a\"", "duplicate field \"b\""])
        ),
        "Pod in version \"v1\" cannot be handled as a Pod: strict decoding error: unknown field \"a\", duplicate field \"b\""
    );
    assert_eq!(
        refusal::unfit("Secret", "v1", "ConfigMap", refusal::other_kind("Secret", "v1", "ConfigMap", "")),
        "Secret in version \"v1\" cannot be handled as a ConfigMap: converting (v1.Secret) to (core.ConfigMap): unknown conversion"
    );
    assert!(
        refusal::other_kind("Pod", "v1", "TokenRequest", "authentication.k8s.io")
            .contains("(authentication.TokenRequest)")
    );
    assert_eq!(
        refusal::no_kind("Gizmo", "v1"),
        "no kind \"Gizmo\" is registered for version \"v1\" in scheme \"k8s.io/kubernetes/pkg/api/legacyscheme/scheme.go:30\""
    );
}
