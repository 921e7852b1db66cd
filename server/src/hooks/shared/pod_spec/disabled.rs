//! Members of pod specs that belong to features which upstream leaves off by default: they are dropped, unless the
//! stored object has them already.

use apiwright_json::Value;

use super::cells;

/// Sources of projected volumes.
const SOURCES: [&str; 2] = ["clusterTrustBundle", "podCertificate"];

/// Drops from the pod spec at a path what an old object does not use.
pub fn drop_disabled(object: &mut Value, old: Option<&Value>, path: &[&str]) {
    let old = old.and_then(|old| old.at(path));
    let Some(spec) = object.at_mut(path) else { return };
    if old.is_none_or(|old| old.get("schedulingGroup").is_none())
        && let Some(spec) = spec.as_object_mut()
    {
        spec.remove("schedulingGroup");
    }
    for source in SOURCES {
        if old.is_none_or(|old| !has_source(old, source)) {
            drop_source(spec, source);
        }
    }
    for volume in spec.at_mut(&["volumes"]).and_then(Value::as_array_mut).into_iter().flatten() {
        if let Some(claim) = volume.at_mut(&["ephemeral", "volumeClaimTemplate", "spec"]) {
            drop_far_source(claim, None);
        }
    }
}

/// Drops a claim's source in another namespace, unless the old claim has one.
pub fn drop_far_source(claim: &mut Value, old: Option<&Value>) {
    let is_far = !claim.text_at(&["dataSourceRef", "namespace"]).is_empty();
    let is_new = old.is_none_or(|old| old.get("dataSourceRef").is_none());
    if let Some(claim) = claim.as_object_mut().filter(|_| is_far && is_new) {
        claim.remove("dataSourceRef");
    }
}

fn has_source(spec: &Value, source: &str) -> bool {
    let mut sources =
        cells::items(spec, &["volumes"]).iter().flat_map(|one| cells::items(one, &["projected", "sources"]));
    sources.any(|one| one.get(source).is_some())
}

fn drop_source(spec: &mut Value, source: &str) {
    for volume in spec.at_mut(&["volumes"]).and_then(Value::as_array_mut).into_iter().flatten() {
        let sources = volume.at_mut(&["projected", "sources"]).and_then(Value::as_array_mut);
        for one in sources.into_iter().flatten().filter_map(Value::as_object_mut) {
            one.remove(source);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_off() {
        let volume =
            |source: &str| format!(r#"{{"volumes":[{{"name":"a","projected":{{"sources":[{source}]}}}}]}}"#);
        let (bundle, none) = (volume(r#"{"clusterTrustBundle":{"path":"a"}}"#), volume("{}"));
        let far = |source: &str| {
            format!(r#"{{"volumes":[{{"ephemeral":{{"volumeClaimTemplate":{{"spec":{{{source}}}}}}}}}]}}"#)
        };
        let table = [
            (r#"{"schedulingGroup":{"podGroupName":"a"}}"#.to_owned(), None, "{}".to_owned()),
            (
                r#"{"schedulingGroup":{"podGroupName":"a"}}"#.to_owned(),
                Some(r#"{"schedulingGroup":{}}"#.to_owned()),
                r#"{"schedulingGroup":{"podGroupName":"a"}}"#.to_owned(),
            ),
            (bundle.clone(), None, none.clone()),
            (bundle.clone(), Some(none.clone()), none),
            (bundle.clone(), Some(bundle.clone()), bundle),
            (far(r#""dataSourceRef":{"name":"a","namespace":"b"}"#), None, far("")),
            (far(r#""dataSourceRef":{"name":"a"}"#), None, far(r#""dataSourceRef":{"name":"a"}"#)),
        ];
        let parsed =
            |spec: &str| apiwright_json::decode(format!("{{\"spec\":{spec}}}").as_bytes()).unwrap().0;
        for (spec, old, expected) in table {
            let mut object = parsed(&spec);
            drop_disabled(&mut object, old.as_deref().map(parsed).as_ref(), &["spec"]);
            assert_eq!(object, parsed(&expected), "{spec} {old:?}");
        }
    }
}
