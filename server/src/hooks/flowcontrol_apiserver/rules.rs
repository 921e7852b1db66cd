//! What makes a FlowSchema valid.

use apiwright_json::Value;
use apiwright_meta::field::{go_value, quoted};
use apiwright_meta::{ErrorList, Path, names, object};

use crate::generated::types::flowcontrol_apiserver_v1::FLOW_SCHEMA_SPEC;
use crate::hooks::shared::cells;
use crate::hooks::shared::quoting::internal_member;

const PRECEDENCE_MAX: i64 = 10_000;
const EXEMPT: &str = "exempt";
const VERBS: [&str; 9] =
    ["create", "delete", "deletecollection", "get", "list", "patch", "proxy", "update", "watch"];
/// The kinds of subjects, and the members that hold them, in the order in which strangers are refused.
const SUBJECTS: [(&str, &str); 3] =
    [("ServiceAccount", "serviceAccount"), ("User", "user"), ("Group", "group")];

/// The faults of a schema.
pub(super) fn schema(schema: &Value, errors: &mut ErrorList) {
    let Some(spec) = schema.get("spec") else { return };
    let path = Path::new("spec");
    let precedence = spec.get("matchingPrecedence").and_then(Value::as_i64).unwrap_or_default();
    let mut refuse = |why: &str| errors.invalid(path.child("matchingPrecedence"), precedence, why);
    if precedence <= 0 {
        refuse("must be a positive value");
    }
    if precedence > PRECEDENCE_MAX {
        refuse(&format!("must not be greater than {PRECEDENCE_MAX}"));
    }
    if precedence == 1 && object::name(schema) != EXEMPT {
        refuse("only the schema named 'exempt' may have matchingPrecedence 1");
    }
    if let Some(method) = spec.get("distinguisherMethod")
        && !matches!(method.text_at(&["type"]), "ByNamespace" | "ByUser")
    {
        let shown = internal_member(&FLOW_SCHEMA_SPEC, "distinguisherMethod", Some(method));
        let at = path.child("distinguisherMethod").child("type");
        errors.not_supported(at, shown, &["ByNamespace", "ByUser"]);
    }
    let at = path.child("priorityLevelConfiguration").child("name");
    match spec.text_at(&["priorityLevelConfiguration", "name"]) {
        "" => errors.required(at, "must reference a priority level"),
        name => errors.invalid_each(&at, name, names::dns1123_subdomain(name)),
    }
    for (at, rule) in cells::items(spec, &["rules"]).iter().enumerate() {
        rule_faults(rule, &path.child("rules").index(at), errors);
    }
}

fn rule_faults(rule: &Value, path: &Path, errors: &mut ErrorList) {
    let subjects = cells::items(rule, &["subjects"]);
    for (at, subject) in subjects.iter().enumerate() {
        subject_faults(subject, &path.child("subjects").index(at), errors);
    }
    if subjects.is_empty() {
        errors.required(path.child("subjects"), "subjects must contain at least one value");
    }
    let (resources, urls) =
        (cells::items(rule, &["resourceRules"]), cells::items(rule, &["nonResourceRules"]));
    if resources.is_empty() && urls.is_empty() {
        let why = "at least one of resourceRules and nonResourceRules has to be non-empty";
        errors.required(path.clone(), why);
    }
    for (at, rule) in resources.iter().enumerate() {
        resource_faults(rule, &path.child("resourceRules").index(at), errors);
    }
    for (at, rule) in urls.iter().enumerate() {
        url_faults(rule, &path.child("nonResourceRules").index(at), errors);
    }
}

fn subject_faults(subject: &Value, path: &Path, errors: &mut ErrorList) {
    let kind = subject.text_at(&["kind"]);
    let Some((_, own)) = SUBJECTS.iter().find(|(name, _)| *name == kind) else {
        errors.not_supported(path.child("kind"), quoted(kind), &["Group", "ServiceAccount", "User"]);
        return;
    };
    let at = path.child(own);
    match subject.get(own) {
        None => errors.required(at, &format!("{own} is required when subject kind is '{kind}'")),
        Some(value) if kind == "ServiceAccount" => account_faults(value, &at, errors),
        Some(value) if value.text_at(&["name"]).is_empty() => errors.required(at.child("name"), ""),
        Some(_) => {}
    }
    for (name, member) in SUBJECTS.iter().filter(|(_, member)| member != own) {
        if subject.get(member).is_some() {
            let why = format!("{member} is forbidden when subject kind is not '{name}'");
            errors.forbidden(path.child(member), &why);
        }
    }
}

fn account_faults(account: &Value, path: &Path, errors: &mut ErrorList) {
    match account.text_at(&["name"]) {
        "" => errors.required(path.child("name"), ""),
        "*" => {}
        name => errors.invalid_each(&path.child("name"), name, names::dns1123_subdomain(name)),
    }
    match account.text_at(&["namespace"]) {
        "" => errors.required(path.child("namespace"), "must specify namespace for service account"),
        name => errors.invalid_each(&path.child("namespace"), name, names::dns1123_label(name)),
    }
}

fn resource_faults(rule: &Value, path: &Path, errors: &mut ErrorList) {
    verb_faults(rule, path, errors);
    for (member, what, many) in
        [("apiGroups", "api group", "api groups"), ("resources", "resource", "resources")]
    {
        let why = format!("resource rules must supply at least one {what}");
        some_or_all(rule, member, &why, many, path, errors);
    }
    let (namespaces, at) = (cells::items(rule, &["namespaces"]), path.child("namespaces"));
    let is_cluster = rule.get("clusterScope").and_then(Value::as_bool).unwrap_or_default();
    if namespaces.is_empty() && !is_cluster {
        let why = "resource rules that are not cluster scoped must supply at least one namespace";
        errors.required(at, why);
    } else if has_all(namespaces) {
        all_alone(namespaces, "namespaces", at, errors);
    } else {
        for (index, name) in namespaces.iter().filter_map(Value::as_str).enumerate() {
            let faults = names::dns1123_label(name).into_iter();
            let faults =
                faults.map(|why| format!("each member of this list must be '*' or a DNS-1123 label; {why}"));
            errors.invalid_each(&at.index(index), name, faults);
        }
    }
}

fn url_faults(rule: &Value, path: &Path, errors: &mut ErrorList) {
    verb_faults(rule, path, errors);
    let (urls, at) = (cells::items(rule, &["nonResourceURLs"]), path.child("nonResourceURLs"));
    if urls.is_empty() {
        errors.required(at, "nonResourceURLs must contain at least one value");
    } else if has_all(urls) {
        all_alone(urls, "non-resource URLs", at, errors);
    } else {
        for (index, url) in urls.iter().filter_map(Value::as_str).enumerate() {
            if let Some(why) = url_fault(url) {
                errors.invalid(at.index(index), quoted(url), why);
            }
        }
    }
}

fn url_fault(url: &str) -> Option<&'static str> {
    match url {
        "" => Some("must not be empty"),
        "/" => None,
        url if !url.starts_with('/') => Some("must start with slash"),
        url if url.contains(' ') => Some("must not contain white-space"),
        url if url.contains("//") => Some("must not contain double slash"),
        url => match url.matches('*').count() {
            0 => None,
            1 if url.ends_with("/*") => None,
            _ => Some("wildcard can only do suffix matching"),
        },
    }
}

fn verb_faults(rule: &Value, path: &Path, errors: &mut ErrorList) {
    let (verbs, at) = (cells::items(rule, &["verbs"]), path.child("verbs"));
    if verbs.is_empty() {
        errors.required(at, "verbs must contain at least one value");
    } else if has_all(verbs) {
        all_alone(verbs, "verbs", at, errors);
    } else if verbs.iter().filter_map(Value::as_str).any(|verb| !VERBS.contains(&verb)) {
        errors.not_supported(at, go_value(&verbs.to_vec().into()), &VERBS);
    }
}

fn some_or_all(rule: &Value, member: &str, none: &str, many: &str, path: &Path, errors: &mut ErrorList) {
    let (texts, at) = (cells::items(rule, &[member]), path.child(member));
    if texts.is_empty() {
        errors.required(at, none);
    } else if has_all(texts) {
        all_alone(texts, many, at, errors);
    }
}

fn has_all(texts: &[Value]) -> bool {
    texts.iter().any(|text| text.as_str() == Some("*"))
}

fn all_alone(texts: &[Value], what: &str, path: Path, errors: &mut ErrorList) {
    if texts.len() > 1 {
        let why = format!("if '*' is present, must not specify other {what}");
        errors.invalid(path, go_value(&texts.to_vec().into()), &why);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faults_of_schemas() {
        let rule = |rule: &str| {
            format!(
                r#"{{"matchingPrecedence":9,"priorityLevelConfiguration":{{"name":"a"}},"rules":[{rule}]}}"#
            )
        };
        let user = r#""subjects":[{"kind":"User","user":{"name":"*"}}]"#;
        let table = [
            (
                rule(&format!(
                    r#"{{{user},"nonResourceRules":[{{"verbs":["*"],"nonResourceURLs":["/a/*"]}}]}}"#
                )),
                "[]",
            ),
            (
                rule(&format!("{{{user}}}")),
                "spec.rules[0]: Required value: at least one of resourceRules and nonResourceRules has to be non-empty",
            ),
            (
                rule(&format!(
                    r#"{{{user},"resourceRules":[{{"verbs":["get","*"],"apiGroups":["*"],"resources":["*"],"namespaces":["A"],"clusterScope":false}}]}}"#
                )),
                "[spec.rules[0].resourceRules[0].verbs: Invalid value: [\"get\",\"*\"]: if '*' is present, must not \
                 specify other verbs, spec.rules[0].resourceRules[0].namespaces[0]: Invalid value: \"A\": each member \
                 of this list must be '*' or a DNS-1123 label; a lowercase RFC 1123 label must consist of lower case \
                 alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. \
                 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')]",
            ),
            (
                r#"{"matchingPrecedence":1,"priorityLevelConfiguration":{}}"#.to_owned(),
                "[spec.matchingPrecedence: Invalid value: 1: only the schema named 'exempt' may have matchingPrecedence 1, \
                 spec.priorityLevelConfiguration.name: Required value: must reference a priority level]",
            ),
        ];
        for (spec, expected) in table {
            let object = apiwright_json::decode(format!(r#"{{"spec":{spec}}}"#).as_bytes()).unwrap().0;
            let mut errors = ErrorList::new();
            schema(&object, &mut errors);
            assert_eq!(errors.aggregate(), expected, "{spec}");
        }
    }

    #[test]
    fn faults_of_urls() {
        let table = [
            ("/healthz", None),
            ("/a*", Some("wildcard can only do suffix matching")),
            ("a", Some("must start with slash")),
            ("//", Some("must not contain double slash")),
        ];
        for (url, expected) in table {
            assert_eq!(url_fault(url), expected, "{url}");
        }
    }
}
