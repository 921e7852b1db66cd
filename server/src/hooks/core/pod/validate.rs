//! What makes a pod valid.

use apiwright_json::Value;
use apiwright_meta::{ErrorList, Path, object};

use crate::hooks::shared::cells;
use crate::hooks::shared::faults::Faults;
use crate::hooks::shared::pod_spec::{self, Owner, annotations};

/// The faults of a new pod.
pub(super) fn create(pod: &Value, errors: &mut ErrorList) {
    metadata_and_spec(pod, errors);
    let path = Path::new("spec");
    if !cells::items(pod, &["spec", "ephemeralContainers"]).is_empty() {
        errors.forbidden(path.child("ephemeralContainers"), "cannot be set on create");
    }
    if !pod.text_at(&["spec", "nodeName"]).is_empty()
        && !cells::items(pod, &["spec", "schedulingGates"]).is_empty()
    {
        let why = "cannot be set until all schedulingGates have been cleared";
        errors.forbidden(path.child("nodeName"), why);
    }
    annotations::mismatches(pod, &path, &mut Faults::take(errors, &path.child("none")));
}

/// The faults of any pod.
pub(super) fn metadata_and_spec(pod: &Value, errors: &mut ErrorList) {
    let path = Path::new("spec");
    let mut out = Faults::take(errors, &path);
    annotations::faults(pod, &Path::new("metadata").child("annotations"), &mut out);
    let nothing = Value::Null;
    let spec = pod.get("spec").unwrap_or(&nothing);
    pod_spec::faults(spec, Owner::Pod(object::name(pod)), &path, &mut out);
    if spec.text_at(&["serviceAccountName"]).is_empty() {
        tokens_of_nobody(spec, &path, &mut out);
    }
}

/// A token is an account's.
fn tokens_of_nobody(spec: &Value, path: &Path, out: &mut Faults<'_>) {
    for (at, volume) in cells::items(spec, &["volumes"]).iter().enumerate() {
        for (source_at, source) in cells::items(volume, &["projected", "sources"]).iter().enumerate() {
            if source.get("serviceAccountToken").is_some() {
                let path = path.child("volumes").index(at).child("projected").child("sources");
                let why = "must not be specified when serviceAccountName is not set";
                out.forbidden(path.index(source_at).child("serviceAccountToken"), why);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faults_of_pods() {
        const C: &str = r#"{"name":"c","image":"i","imagePullPolicy":"Always"}"#;
        let table = [
            (format!(r#"{{"spec":{{"containers":[{C}]}}}}"#), "[]".to_owned()),
            (
                format!(r#"{{"spec":{{"containers":[{C},{C}]}}}}"#),
                "spec.containers[1].name: Duplicate value: \"c\"".into(),
            ),
            (
                format!(
                    r#"{{"spec":{{"nodeName":"n","schedulingGates":[{{"name":"a"}}],"containers":[{C}]}}}}"#
                ),
                "spec.nodeName: Forbidden: cannot be set until all schedulingGates have been cleared".into(),
            ),
        ];
        for (pod, expected) in table {
            let mut errors = ErrorList::new();
            create(&apiwright_json::decode(pod.as_bytes()).unwrap().0, &mut errors);
            assert_eq!(errors.aggregate(), expected, "{pod}");
        }
    }
}
