//! Annotations of pods and templates that mean something, most of them from before there was a field.

use apiwright_json::{Object, Value};
use apiwright_meta::field::quoted;
use apiwright_meta::{Path, object};

use super::CONTAINER_LISTS;
use crate::hooks::shared::cells;
use crate::hooks::shared::faults::Faults;
use crate::hooks::shared::volume_source;

/// Before a container's name: its AppArmor profile.
pub const APP_ARMOR: &str = "container.apparmor.security.beta.kubernetes.io/";
const DELETION_COST: &str = "controller.kubernetes.io/pod-deletion-cost";
const MIRROR: &str = "kubernetes.io/config.mirror";
/// A pod's seccomp profile.
pub(super) const SECCOMP: &str = "seccomp.security.alpha.kubernetes.io/pod";
/// Before a container's name: its seccomp profile.
pub(super) const SECCOMP_OF: &str = "container.seccomp.security.alpha.kubernetes.io/";
/// Two names of the profile that a runtime has.
const RUNTIME_SECCOMP: [&str; 2] = ["runtime/default", "docker/default"];

/// The faults of the annotations of a pod, or of a template of pods; `path` is theirs.
pub fn faults(object: &Value, path: &Path, out: &mut Faults<'_>) {
    let Some(annotations) = annotations(object) else { return };
    let spec = object.get("spec").unwrap_or(&Value::Null);
    if let Some(hash) = annotations.str(MIRROR)
        && spec.text_at(&["nodeName"]).is_empty()
    {
        let why = "must set spec.nodeName if mirror pod annotation is set";
        out.invalid(path.key(MIRROR), quoted(hash), why);
    }
    if let Some(cost) = annotations.str(DELETION_COST)
        && !is_cost(cost)
    {
        out.invalid(path.key(DELETION_COST), quoted(cost), "must be a 32bit integer");
    }
    if let Some(profile) = annotations.str(SECCOMP) {
        seccomp(profile, &path.child(SECCOMP), out);
    }
    let texts = || annotations.iter().filter_map(|(key, value)| Some((key.as_str(), value.as_str()?)));
    for (key, profile) in texts().filter(|(key, _)| key.starts_with(SECCOMP_OF)) {
        seccomp(profile, &path.child(key), out);
    }
    for (key, profile) in texts() {
        let Some(name) = key.strip_prefix(APP_ARMOR) else { continue };
        if !containers(spec, &Path::default()).any(|(container, _)| container.text_at(&["name"]) == name) {
            out.invalid(path.key(key), quoted(name), "container not found");
        }
        let is_known = matches!(profile, "" | "runtime/default" | "unconfined");
        if !is_known && !profile.starts_with("localhost/") {
            let why = format!("invalid AppArmor profile name: {}", quoted(profile));
            out.invalid(path.key(key), quoted(profile), &why);
        }
    }
}

/// The faults of changed annotations of a pod that is there: some stay as they are.
pub fn update_faults(pod: &Value, old: &Value, path: &Path, out: &mut Faults<'_>) {
    let nothing = Object::new();
    let (now, before) = (annotations(pod).unwrap_or(&nothing), annotations(old).unwrap_or(&nothing));
    let mut refuse = |key: &str, verb: &str| {
        if key.starts_with(APP_ARMOR) {
            out.forbidden(path.key(key), &format!("may not {verb} AppArmor annotations"));
        }
        if key == MIRROR {
            out.forbidden(path.key(key), &format!("may not {verb} mirror pod annotation"));
        }
    };
    for (key, _) in before.iter().filter(|(key, value)| now.get(key) != Some(value)) {
        refuse(key, "remove or update");
    }
    for key in now.keys().filter(|key| !before.contains_key(key)) {
        refuse(key, "add");
    }
}

/// The faults of annotations and fields that say different things; `path` is that of the spec.
pub fn mismatches(object: &Value, path: &Path, out: &mut Faults<'_>) {
    let Some(annotations) = annotations(object) else { return };
    let spec = object.get("spec").unwrap_or(&Value::Null);
    let of_pod = |member: &str| spec.at(&["securityContext", member]);
    if let (Some(profile), Some(annotation)) = (of_pod("seccompProfile"), annotations.str(SECCOMP)) {
        let path = path.child("securityContext").child("seccompProfile");
        mismatch(profile, annotation, "seccomp", &RUNTIME_SECCOMP, &path, out);
    }
    for (container, path) in containers(spec, path) {
        let key = format!("{SECCOMP_OF}{}", container.text_at(&["name"]));
        let own = container.at(&["securityContext", "seccompProfile"]);
        if let (Some(profile), Some(annotation)) = (own, annotations.str(&key)) {
            let path = path.child("securityContext").child("seccompProfile");
            mismatch(profile, annotation, "seccomp", &RUNTIME_SECCOMP, &path, out);
        }
    }
    if spec.text_at(&["os", "name"]) == "windows" {
        return;
    }
    for (container, path) in containers(spec, path) {
        let key = format!("{APP_ARMOR}{}", container.text_at(&["name"]));
        let own = container.at(&["securityContext", "appArmorProfile"]).or(of_pod("appArmorProfile"));
        if let (Some(profile), Some(annotation)) = (own, annotations.str(&key)) {
            let path = path.child("securityContext").child("appArmorProfile");
            mismatch(profile, annotation, "apparmor", &RUNTIME_SECCOMP[..1], &path, out);
        }
    }
}

fn mismatch(
    profile: &Value,
    annotation: &str,
    what: &str,
    runtime: &[&str],
    path: &Path,
    out: &mut Faults<'_>,
) {
    let member = match profile.text_at(&["type"]) {
        "Unconfined" if annotation != "unconfined" => "type",
        "RuntimeDefault" if !runtime.contains(&annotation) => "type",
        "Localhost" => match annotation.strip_prefix("localhost/") {
            None => "type",
            Some(local) if local != profile.text_at(&["localhostProfile"]) => "localhostProfile",
            Some(_) => return,
        },
        _ => return,
    };
    let said = if member == "type" { "type" } else { "profile" };
    out.forbidden(path.child(member), &format!("{what} {said} in annotation and field must match"));
}

fn seccomp(profile: &str, path: &Path, out: &mut Faults<'_>) {
    match profile.strip_prefix("localhost/") {
        Some(local) => volume_source::descending(local, path, out),
        None if profile == "unconfined" || RUNTIME_SECCOMP.contains(&profile) => {}
        None => out.invalid(path.clone(), quoted(profile), "must be a valid seccomp profile"),
    }
}

fn annotations(object: &Value) -> Option<&Object> {
    object::metadata(object).get("annotations").and_then(Value::as_object)
}

/// All containers, with their paths below that of the spec.
fn containers<'a>(spec: &'a Value, path: &Path) -> impl Iterator<Item = (&'a Value, Path)> {
    CONTAINER_LISTS.iter().flat_map(move |list| {
        let path = path.child(list);
        cells::items(spec, &[list]).iter().enumerate().map(move |(at, one)| (one, path.index(at)))
    })
}

fn is_cost(cost: &str) -> bool {
    let digits = cost.strip_prefix('-').unwrap_or(cost);
    let leading = digits.len() > 1 && digits.starts_with('0') || cost == "-0" || cost.starts_with('+');
    !leading && cost.parse::<i32>().is_ok()
}

#[cfg(test)]
mod tests {
    use apiwright_meta::ErrorList;

    use super::*;

    fn pod(annotations: &str, spec: &str) -> Value {
        let text = format!(r#"{{"metadata":{{"annotations":{{{annotations}}}}},"spec":{{{spec}}}}}"#);
        apiwright_json::decode(text.as_bytes()).unwrap().0
    }

    fn said(look: impl FnOnce(&mut Faults<'_>)) -> String {
        let mut errors = ErrorList::new();
        look(&mut Faults::take(&mut errors, &Path::new("spec")));
        errors.aggregate()
    }

    #[test]
    fn faults_of_annotations() {
        const SPEC: &str = r#""containers":[{"name":"c"}]"#;
        let table = [
            (r#""a":"b""#.to_owned(), "[]"),
            (
                format!(r#""{DELETION_COST}":"+1""#),
                "a[controller.kubernetes.io/pod-deletion-cost]: Invalid value: \"+1\": must be a 32bit integer",
            ),
            (
                format!(r#""{MIRROR}":"1""#),
                "a[kubernetes.io/config.mirror]: Invalid value: \"1\": must set spec.nodeName if mirror pod \
                 annotation is set",
            ),
            (
                format!(r#""{APP_ARMOR}d":"odd""#),
                "[a[container.apparmor.security.beta.kubernetes.io/d]: Invalid value: \"d\": container not found, \
                 a[container.apparmor.security.beta.kubernetes.io/d]: Invalid value: \"odd\": invalid AppArmor \
                 profile name: \"odd\"]",
            ),
            (format!(r#""{APP_ARMOR}c":"localhost/a","{SECCOMP_OF}c":"docker/default""#), "[]"),
            (
                format!(r#""{SECCOMP}":"odd""#),
                "a.seccomp.security.alpha.kubernetes.io/pod: Invalid value: \"odd\": must be a valid seccomp profile",
            ),
        ];
        for (annotations, expected) in table {
            let object = pod(&annotations, SPEC);
            assert_eq!(said(|out| faults(&object, &Path::new("a"), out)), expected, "{annotations}");
        }
    }

    #[test]
    fn annotations_that_stay() {
        let [none, one, other] = ["", "1", "2"].map(|hash| match hash {
            "" => pod("", ""),
            hash => pod(&format!(r#""{MIRROR}":"{hash}""#), ""),
        });
        let changed =
            "a[kubernetes.io/config.mirror]: Forbidden: may not remove or update mirror pod annotation";
        let added = "a[kubernetes.io/config.mirror]: Forbidden: may not add mirror pod annotation";
        for (now, old, expected) in
            [(&one, &one, "[]"), (&none, &one, changed), (&other, &one, changed), (&one, &none, added)]
        {
            assert_eq!(said(|out| update_faults(now, old, &Path::new("a"), out)), expected);
        }
    }

    #[test]
    fn annotations_and_fields() {
        let field = r#""securityContext":{"seccompProfile":{"type":"Localhost","localhostProfile":"a"}}"#;
        for (annotation, expected) in [
            ("localhost/a", "[]"),
            (
                "localhost/b",
                "spec.securityContext.seccompProfile.localhostProfile: Forbidden: seccomp profile in annotation and \
                 field must match",
            ),
            (
                "unconfined",
                "spec.securityContext.seccompProfile.type: Forbidden: seccomp type in annotation and field must match",
            ),
        ] {
            let object = pod(&format!(r#""{SECCOMP}":"{annotation}""#), field);
            assert_eq!(said(|out| mismatches(&object, &Path::new("spec"), out)), expected);
        }
    }
}
