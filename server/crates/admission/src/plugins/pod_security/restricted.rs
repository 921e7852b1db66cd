//! The restricted standard: what pods that need no power should say of themselves.

use std::collections::BTreeSet;

use apiwright_json::Value;

use super::baseline::{added_capabilities, is_confined, unconfined};
use super::fields::{
    bad_values, containers, is_windows, named, of_pod, picked, plural, quoted, security, setters, texts,
};
use super::verdict::Fault;
use crate::plugins::values::{items, text};

/// The kinds of volume that reach nothing of the node.
const VOLUMES: [&str; 8] = [
    "configMap",
    "csi",
    "downwardAPI",
    "emptyDir",
    "ephemeral",
    "persistentVolumeClaim",
    "projected",
    "secret",
];

pub(crate) fn allow_privilege_escalation(pod: &Value) -> Option<Fault> {
    let allows = |container: &Value| {
        security(container, &["allowPrivilegeEscalation"]).and_then(Value::as_bool).unwrap_or(true)
    };
    let bad = if is_windows(pod) { Vec::new() } else { picked(pod, allows) };
    (!bad.is_empty()).then(|| {
        let detail = format!("{} must set securityContext.allowPrivilegeEscalation=false", named(&bad));
        Fault::new("allowPrivilegeEscalation != false", detail)
    })
}

pub(crate) fn capabilities(pod: &Value) -> Option<Fault> {
    if is_windows(pod) {
        return None;
    }
    let drops_all =
        |container: &Value| texts(security(container, &["capabilities", "drop"])).any(|one| one == "ALL");
    let keeping = picked(pod, |container| !drops_all(container));
    let mut details = Vec::new();
    if !keeping.is_empty() {
        details.push(format!("{} must set securityContext.capabilities.drop=[\"ALL\"]", named(&keeping)));
    }
    details.extend(added_capabilities(pod, &["NET_BIND_SERVICE"]));
    (!details.is_empty()).then(|| Fault::new("unrestricted capabilities", details.join("; ")))
}

pub(crate) fn volumes(pod: &Value) -> Option<Fault> {
    let mut bad = Vec::new();
    let mut types = BTreeSet::new();
    for volume in items(pod, &["spec", "volumes"]) {
        let source = volume.as_object().and_then(|members| members.keys().find(|key| *key != "name"));
        let source = source.map_or("unknown", |source| source.as_str());
        if !VOLUMES.contains(&source) {
            bad.push(text(volume, "name"));
            types.insert(source);
        }
    }
    let (volume, verb) = (plural("volume", "volumes", bad.len()), plural("uses", "use", bad.len()));
    let kind = plural("restricted volume type", "restricted volume types", types.len());
    (!bad.is_empty()).then(|| {
        Fault::new(
            "restricted volume types",
            format!("{volume} {} {verb} {kind} {}", quoted(&bad), quoted(types)),
        )
    })
}

pub(crate) fn run_as_non_root(pod: &Value) -> Option<Fault> {
    let said = |value: Option<&Value>| value.and_then(Value::as_bool);
    let path = ["runAsNonRoot"];
    let by_pod = said(of_pod(pod, &path));
    let wrong = picked(pod, |container| said(security(container, &path)) == Some(false));
    let silent = picked(pod, |container| said(security(container, &path)).is_none());
    let detail = if by_pod == Some(false) || !wrong.is_empty() {
        let who = setters(by_pod == Some(false), &wrong);
        format!("{who} must not set securityContext.runAsNonRoot=false")
    } else if by_pod.is_none() && !silent.is_empty() {
        format!("pod or {} must set securityContext.runAsNonRoot=true", named(&silent))
    } else {
        return None;
    };
    Some(Fault::new("runAsNonRoot != true", detail))
}

pub(crate) fn run_as_user(pod: &Value) -> Option<Fault> {
    let is_root = |value: Option<&Value>| value.and_then(Value::as_i64) == Some(0);
    let by_pod = is_root(of_pod(pod, &["runAsUser"]));
    let bad = picked(pod, |container| is_root(security(container, &["runAsUser"])));
    (by_pod || !bad.is_empty())
        .then(|| Fault::new("runAsUser=0", format!("{} must not set runAsUser=0", setters(by_pod, &bad))))
}

pub(crate) fn seccomp_profile(pod: &Value) -> Option<Fault> {
    if is_windows(pod) {
        return None;
    }
    let path = ["seccompProfile", "type"];
    let bad = bad_values(pod, &path, is_confined);
    if !bad.is_empty() {
        return Some(Fault::new("seccompProfile", unconfined(&bad)));
    }
    if of_pod(pod, &path).is_some() || containers(pod).next().is_none() {
        return None;
    }
    let silent = picked(pod, |container| security(container, &["seccompProfile"]).is_none());
    (!silent.is_empty()).then(|| {
        let detail = format!(
            "pod or {} must set securityContext.seccompProfile.type to \"RuntimeDefault\" or \"Localhost\"",
            named(&silent)
        );
        Fault::new("seccompProfile", detail)
    })
}
