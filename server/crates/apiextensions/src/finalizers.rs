//! What writers of custom resources are warned of: finalizers that others may use, too.

use std::collections::BTreeSet;

use apiwright_json::Value;
use apiwright_meta::{names, object};

/// Whatever their names: these are Kubernetes' own.
const STANDARD: [&str; 3] = ["orphan", "foregroundDeletion", "kubernetes"];

/// Warnings about the finalizers that an object has and its predecessor had not.
pub(crate) fn warnings(object: &Value, old: Option<&Value>) -> Vec<String> {
    let had: BTreeSet<&str> = old.into_iter().flat_map(object::finalizers).collect();
    let added: BTreeSet<&str> = object::finalizers(object).filter(|one| !had.contains(one)).collect();
    added.into_iter().flat_map(about).collect()
}

fn about(finalizer: &str) -> Vec<String> {
    let mut faults = names::qualified_name(finalizer);
    if !finalizer.contains('/') && !STANDARD.contains(&finalizer) {
        let with = if finalizer.contains('.') { " including a path (/)" } else { "" };
        faults.push(format!(
            "prefer a domain-qualified finalizer name{with} to avoid accidental conflicts with other finalizer writers"
        ));
    }
    faults.into_iter().map(|fault| format!("metadata.finalizers: {finalizer:?}: {fault}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unqualified_finalizers() {
        let with = |names: &str| {
            let json = format!(r#"{{"metadata":{{"finalizers":[{names}]}}}}"#);
            apiwright_json::decode(json.as_bytes()).unwrap().0
        };
        let tail = "to avoid accidental conflicts with other finalizer writers";
        let plain =
            format!("metadata.finalizers: \"plain\": prefer a domain-qualified finalizer name {tail}");
        let dotted = format!(
            "metadata.finalizers: \"b.example\": prefer a domain-qualified finalizer name including a path (/) {tail}"
        );
        let object = with(r#""plain","b.example","a.example/x","orphan""#);
        assert_eq!(warnings(&object, None), [dotted.clone(), plain]);
        assert_eq!(warnings(&object, Some(&with(r#""plain""#))), [dotted]);
    }
}
