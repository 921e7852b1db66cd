//! OpenAPI v3: where the recorded documents of a kube-apiserver are beside the checkout, every
//! schema and operation is compared with them, descriptions aside.

use std::path::{Path, PathBuf};

use apiwright::chain::types;
use apiwright::generated::catalogue;
use apiwright_json::{Value, decode};
use apiwright_openapi::OpenApi;

/// What is not compared: texts, and a format that is not served.
const IGNORED: &[&str] =
    &["description", "application/cbor", "application/cbor-seq", "application/apply-patch+cbor"];

#[test]
fn equals_the_recorded_documents() {
    let Some(facts) = facts() else { return };
    let openapi = OpenApi::new(types(catalogue()));
    for version in catalogue().groups.iter().flat_map(|group| group.versions.iter()) {
        openapi.set(&version.group, &version.name, version.shared());
    }
    let mut faults = Vec::new();
    for (path, document) in openapi.paths() {
        let file = facts.join(format!("{}_openapi.json", path.replace('/', "__")));
        let Ok(text) = std::fs::read(&file) else { continue };
        let (theirs, _) = decode(&text).expect("JSON");
        let (ours, _) = decode(&openapi.built(&document).json).expect("JSON");
        for part in ["/components/schemas", "/paths"] {
            let pick = |value: &Value| {
                part.split('/').skip(1).try_fold(value.clone(), |at, key| at.get(key).cloned())
            };
            let (Some(theirs), Some(ours)) = (pick(&theirs), pick(&ours)) else { continue };
            compare(&theirs, &ours, &format!("{path}{part}"), &mut faults);
        }
    }
    assert!(
        faults.is_empty(),
        "{} differences:\n{}",
        faults.len(),
        faults[..faults.len().min(60)].join("\n")
    );
}

#[test]
fn parameters_are_described() {
    let openapi = OpenApi::new(types(catalogue()));
    for version in catalogue().groups.iter().flat_map(|group| group.versions.iter()) {
        openapi.set(&version.group, &version.name, version.shared());
    }
    let (swagger, _) = decode(&openapi.swagger().json).expect("JSON");
    let mut silent = Vec::new();
    described(&swagger, "", &mut silent);
    assert!(silent.is_empty(), "{silent:?}");
    let pod = "/api/v1/namespaces/{namespace}/pods/{name}";
    let table = [
        (pod, "get", "name", "name of the Pod"),
        (&format!("{pod}/eviction"), "post", "name", "name of the Eviction"),
        (&format!("{pod}/exec"), "post", "name", "name of the PodExecOptions"),
        (
            &format!("{pod}/exec"),
            "post",
            "stdout",
            "Redirect the standard output stream of the pod for this call.",
        ),
        (&format!("{pod}/log"), "get", "name", "name of the Pod"),
        (&format!("{pod}/log"), "get", "follow", "Follow the log stream of the pod. Defaults to false."),
        (&format!("{pod}/proxy/{{path}}"), "get", "path", "path to the resource"),
        (
            "/apis/apps/v1/deployments",
            "get",
            "watch",
            "Watch for changes to the described resources and return them as a stream of add, update, and remove notifications. Specify resourceVersion.",
        ),
    ];
    for (path, method, name, doc) in table {
        let item = swagger.at(&["paths", path]).expect(path);
        let own = item.at(&[method, "parameters"]).and_then(Value::as_array).into_iter().flatten();
        let shared = item.get("parameters").and_then(Value::as_array).into_iter().flatten();
        let entry = shared.chain(own).map(|one| match one.text_at(&["$ref"]).rsplit('/').next() {
            Some(known) if !known.is_empty() => swagger.at(&["parameters", known]).expect(known),
            _ => one,
        });
        let found = entry.clone().find(|one| one.text_at(&["name"]) == name).expect(name);
        assert_eq!(found.text_at(&["description"]), doc, "{path} {name}");
    }
}

/// Where parameters have no description.
fn described(value: &Value, at: &str, silent: &mut Vec<String>) {
    match value {
        Value::Object(object) => {
            let place = object.get("in").and_then(Value::as_str);
            if matches!(place, Some("path" | "query")) && value.text_at(&["description"]).is_empty() {
                silent.push(at.to_owned());
            }
            object.iter().for_each(|(key, value)| described(value, &format!("{at}/{key}"), silent));
        }
        Value::Array(items) => {
            items
                .iter()
                .enumerate()
                .for_each(|(index, item)| described(item, &format!("{at}/{index}"), silent));
        }
        _ => {}
    }
}

/// The recorded documents, where they are at hand.
fn facts() -> Option<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/facts/openapi-v3");
    if folder.is_dir() {
        return Some(folder);
    }
    eprintln!("skipped: no recorded documents at {}", folder.display());
    None
}

fn compare(theirs: &Value, ours: &Value, at: &str, faults: &mut Vec<String>) {
    match (theirs, ours) {
        (Value::Object(theirs), Value::Object(ours)) => {
            for (key, value) in theirs.iter().filter(|(key, _)| !IGNORED.contains(&key.as_str())) {
                match ours.get(key) {
                    Some(our) => compare(value, our, &format!("{at}/{key}"), faults),
                    None => faults.push(format!("{at}/{key} is missing")),
                }
            }
            let extra =
                ours.keys().filter(|key| !theirs.contains_key(key) && !IGNORED.contains(&key.as_str()));
            faults.extend(extra.map(|key| format!("{at}/{key} is ours alone")));
        }
        (Value::Array(theirs), Value::Array(ours)) => {
            if theirs.len() != ours.len() {
                faults.push(format!("{at} has {} items, not {}", ours.len(), theirs.len()));
            }
            for (index, (theirs, ours)) in theirs.iter().zip(ours).enumerate() {
                compare(theirs, ours, &format!("{at}/{index}"), faults);
            }
        }
        (theirs, ours) if theirs == ours => {}
        (theirs, ours) => faults.push(format!("{at}: {ours:?}, not {theirs:?}")),
    }
}
