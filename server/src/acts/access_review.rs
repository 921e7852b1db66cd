//! `SubjectAccessReview`, its local form, and that about oneself: whether somebody may do something.

use std::sync::Arc;

use apiwright_auth::Authorization;
use apiwright_chain::{Decision, RequestInfo, User};
use apiwright_json::{Object, Value};
use apiwright_meta::field::{Path, go_value, quoted};
use apiwright_meta::gvk::GroupKind;
use apiwright_meta::status::Result;
use apiwright_meta::{ErrorList, Status, names, object};

use super::{Act, Acting, Answer, BoxFuture, list, selectors};

/// Reviews access.
pub(super) struct AccessReview {
    pub(super) authorization: Arc<Authorization>,
    pub(super) whose: Whose,
}

/// Whose access is reviewed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Whose {
    /// Of whomever the review names.
    Anybodys,
    /// The same, in one namespace.
    AnybodysHere,
    /// That of the caller.
    Own,
}

impl Act for AccessReview {
    fn act<'a>(&'a self, acting: Acting<'a>) -> BoxFuture<'a, Result<Answer>> {
        Box::pin(async move {
            let Acting { call, namespace, object, .. } = acting;
            review(&self.authorization, self.whose, &call.user, namespace, object).await.map(Answer::Object)
        })
    }
}

async fn review(
    authorization: &Authorization,
    whose: Whose,
    caller: &User,
    namespace: &str,
    mut review: Value,
) -> Result<Value> {
    let spec = review.get("spec").cloned().unwrap_or_default();
    if whose == Whose::AnybodysHere && object::namespace(&review) != namespace {
        return Err(Status::bad_request(format!(
            "spec.resourceAttributes.namespace must match namespace: {namespace}"
        )));
    }
    let errors = validate(whose, &review, &spec);
    if !errors.is_empty() {
        let nameless = GroupKind { group: "authorization.k8s.io".into(), kind: "".into() };
        return Err(Status::invalid(&nameless, "", &errors));
    }
    let named;
    let user = if whose == Whose::Own {
        caller
    } else {
        named = User {
            name: spec.text_at(&["user"]).into(),
            uid: spec.text_at(&["uid"]).into(),
            groups: list(spec.get("groups")),
            extra: extra(spec.get("extra")),
        };
        &named
    };
    let none = Value::Null;
    let attributes = spec.get("resourceAttributes").unwrap_or(&none);
    let (fields, labels) = (selectors::fields(attributes), selectors::labels(attributes));
    let what = RequestInfo { field_selector: fields.text, label_selector: labels.text, ..what(&spec) };
    let decision = authorization.decide(user, &what).await;
    let mut status = Object::new();
    status.push("allowed", matches!(decision, Decision::Allow(_)));
    let failure = match &decision {
        Decision::Failed(failure) => Some(failure),
        Decision::Allow(_) | Decision::Deny(_) | Decision::NoOpinion(_) => None,
    };
    if matches!(decision, Decision::Deny(_)) || failure.is_some_and(|failure| failure.denies) {
        status.push("denied", true);
    }
    if !decision.reason().is_empty() {
        status.push("reason", decision.reason());
    }
    let failed = failure.map(|failure| failure.error.clone());
    let errors: Vec<String> = failed.into_iter().chain(fields.complaint).chain(labels.complaint).collect();
    if !errors.is_empty() {
        status.push("evaluationError", errors.join("; "));
    }
    if let Some(members) = review.as_object_mut() {
        members.insert("status", status);
    }
    Ok(review)
}

/// The request that the review is about.
fn what(spec: &Value) -> RequestInfo {
    if let Some(resource) = spec.get("resourceAttributes").filter(|it| !it.is_null()) {
        let text = |key| resource.text_at(&[key]).to_owned();
        let version = text("version");
        return RequestInfo {
            is_resource: true,
            verb: text("verb"),
            group: text("group"),
            version: if version.is_empty() { "*".into() } else { version },
            namespace: text("namespace"),
            resource: text("resource"),
            subresource: text("subresource"),
            name: text("name"),
            ..RequestInfo::default()
        };
    }
    let text = |key| spec.text_at(&["nonResourceAttributes", key]).to_owned();
    RequestInfo { verb: text("verb"), path: text("path"), ..RequestInfo::default() }
}

fn extra(extra: Option<&Value>) -> Vec<(String, Vec<String>)> {
    let members = extra.and_then(Value::as_object).into_iter().flat_map(Object::iter);
    members.map(|(key, values)| (key.to_string(), list(Some(values)))).collect()
}

fn validate(whose: Whose, review: &Value, spec: &Value) -> ErrorList {
    let mut errors = ErrorList::new();
    let path = Path::new("spec");
    let given = |key| spec.get(key).filter(|it| !it.is_null());
    let (resource, other) = (given("resourceAttributes"), given("nonResourceAttributes"));
    if let (Some(_), Some(other)) = (resource, other) {
        let detail = "cannot be specified in combination with resourceAttributes";
        errors.invalid(path.child("nonResourceAttributes"), go_struct(other), detail);
    }
    if resource.is_none() && other.is_none() {
        let detail = "exactly one of nonResourceAttributes or resourceAttributes must be specified";
        errors.required(path.child("resourceAttributes"), detail);
    }
    if whose != Whose::Own && spec.text_at(&["user"]).is_empty() && list(spec.get("groups")).is_empty() {
        errors.required(path.child("user"), "at least one of user or group must be specified");
    }
    if let Some(resource) = resource {
        let path = path.child("resourceAttributes");
        validate_selector(&mut errors, &path, resource, "fieldSelector");
        validate_selector(&mut errors, &path, resource, "labelSelector");
    }
    let metadata = object::metadata(review);
    let own_namespace = |key: &str| key == "namespace" && whose == Whose::AnybodysHere;
    if metadata
        .keys()
        .any(|key| !matches!(key.as_str(), "managedFields" | "creationTimestamp") && !own_namespace(key))
    {
        let shown = go_value(&Value::Object(metadata.clone()));
        errors.invalid(Path::new("metadata"), shown, "must be empty");
    }
    if whose == Whose::AnybodysHere {
        if let Some(resource) = resource
            && resource.text_at(&["namespace"]) != object::namespace(review)
        {
            let shown = quoted(resource.text_at(&["namespace"]));
            errors.invalid(
                path.child("resourceAttributes").child("namespace"),
                shown,
                "must match metadata.namespace",
            );
        }
        if let Some(other) = other {
            let detail = "disallowed on this kind of request";
            errors.invalid(path.child("nonResourceAttributes"), go_struct(other), detail);
        }
    }
    errors
}

/// `NonResourceAttributes` as Go's internal type shows itself.
fn go_struct(attributes: &Value) -> String {
    let text = |key| quoted(attributes.text_at(&[key]));
    format!("{{\"Path\":{},\"Verb\":{}}}", text("path"), text("verb"))
}

fn validate_selector(errors: &mut ErrorList, path: &Path, resource: &Value, key: &str) {
    let Some(selector) = resource.get(key).filter(|it| !it.is_null()) else { return };
    let path = path.child(key);
    let raw = selector.text_at(&["rawSelector"]);
    let requirements = requirements(selector);
    match (raw.is_empty(), requirements.is_empty()) {
        (false, false) => {
            errors.invalid(
                path.child("rawSelector"),
                quoted(raw),
                "may not specified at the same time as requirements",
            );
        }
        (true, true) => {
            let detail = format!("when {path} is specified, requirements or rawSelector is required");
            errors.required(path.child("requirements"), &detail);
        }
        _ => {}
    }
    for (at, requirement) in requirements.iter().enumerate() {
        let path = path.child("requirements").index(at);
        let name = requirement.text_at(&["key"]);
        if key == "fieldSelector" && name.is_empty() {
            errors.required(path.child("key"), "must be specified");
        }
        let values = list(requirement.get("values"));
        match requirement.text_at(&["operator"]) {
            "In" | "NotIn" if values.is_empty() => {
                errors.required(path.child("values"), "must be specified when `operator` is 'In' or 'NotIn'");
            }
            "Exists" | "DoesNotExist" if !values.is_empty() => {
                errors.forbidden(
                    path.child("values"),
                    "may not be specified when `operator` is 'Exists' or 'DoesNotExist'",
                );
            }
            _ => {}
        }
        if key == "labelSelector" {
            errors.invalid_each(&path.child("key"), name, names::label_key(name));
            for (at, value) in values.iter().enumerate() {
                errors.invalid_each(&path.child("values").index(at), value, names::label_value(value));
            }
        }
    }
}

fn requirements(selector: &Value) -> &[Value] {
    selector.get("requirements").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use apiwright_auth::Mode;
    use apiwright_auth::rbac::{Kind, Rbac};
    use apiwright_json::{decode, to_string};

    fn authorization() -> Authorization {
        let rbac = Rbac::default();
        let role = r#"{"rules":[{"apiGroups":[""],"resources":["pods"],"verbs":["list"]}]}"#;
        let binding = r#"{"roleRef":{"kind":"Role","name":"r"},"subjects":[{"kind":"User","name":"alice"}]}"#;
        rbac.set(Kind::Role, "ns/r", Some(role.as_bytes()));
        rbac.set(Kind::RoleBinding, "ns/b", Some(binding.as_bytes()));
        Authorization::new(vec![Mode::Rbac(Arc::new(rbac))])
    }

    async fn ask(whose: Whose, metadata: &str, spec: &str) -> Result<String, String> {
        let text = format!(r#"{{"metadata":{metadata},"spec":{spec},"status":{{}}}}"#);
        let (object, _) = decode(text.as_bytes()).unwrap();
        let alice = User { name: "alice".into(), ..User::default() };
        let reviewed = review(&authorization(), whose, &alice, "ns", object).await;
        reviewed.map(|review| to_string(review.get("status").unwrap())).map_err(|status| status.message)
    }

    #[tokio::test]
    async fn answers() {
        let allowed = r#"{"allowed":true,"reason":"RBAC: allowed by RoleBinding \"b/ns\" of Role \"r\" to User \"alice\""}"#;
        #[rustfmt::skip]
        let table = [
            (Whose::Own, r#"{"resourceAttributes":{"namespace":"ns","verb":"list","resource":"pods"}}"#, Ok(allowed)),
            (Whose::Own, r#"{"resourceAttributes":{"namespace":"ns","verb":"get","resource":"pods"}}"#, Ok(r#"{"allowed":false}"#)),
            (Whose::Own, r#"{"nonResourceAttributes":{"path":"/x","verb":"get"}}"#, Ok(r#"{"allowed":false}"#)),
            (Whose::Anybodys, r#"{"user":"alice","resourceAttributes":{"namespace":"ns","verb":"list","resource":"pods"}}"#, Ok(allowed)),
            (Whose::Anybodys, r#"{"groups":["system:masters"],"resourceAttributes":{"verb":"list","resource":"pods"}}"#, Ok(r#"{"allowed":true}"#)),
            (Whose::Anybodys, "{}", Err(r#".authorization.k8s.io "" is invalid: [spec.resourceAttributes: Required value: exactly one of nonResourceAttributes or resourceAttributes must be specified, spec.user: Required value: at least one of user or group must be specified]"#)),
            (Whose::Own, r#"{"resourceAttributes":{},"nonResourceAttributes":{"path":"/"}}"#, Err(r#".authorization.k8s.io "" is invalid: spec.nonResourceAttributes: Invalid value: {"Path":"/","Verb":""}: cannot be specified in combination with resourceAttributes"#)),
            (Whose::Own, r#"{"resourceAttributes":{"labelSelector":{"rawSelector":"a in ("}}}"#, Ok(r#"{"allowed":false,"evaluationError":"spec.resourceAttributes.labelSelector ignored due to parse error"}"#)),
            (Whose::Own, r#"{"resourceAttributes":{"labelSelector":{"requirements":[{"key":"a","operator":"In"}]}}}"#, Err(r#".authorization.k8s.io "" is invalid: spec.resourceAttributes.labelSelector.requirements[0].values: Required value: must be specified when `operator` is 'In' or 'NotIn'"#)),
            (Whose::Own, r#"{"resourceAttributes":{"fieldSelector":{}}}"#, Err(r#".authorization.k8s.io "" is invalid: spec.resourceAttributes.fieldSelector.requirements: Required value: when spec.resourceAttributes.fieldSelector is specified, requirements or rawSelector is required"#)),
            (Whose::Own, r#"{"resourceAttributes":{"fieldSelector":{"requirements":[{"key":"a","operator":"Near","values":["b"]},{"key":"a","operator":"In","values":["b"]}]}}}"#, Ok(r#"{"allowed":false,"evaluationError":"spec.resourceAttributes.fieldSelector partially ignored due to parse error"}"#)),
        ];
        for (whose, spec, expected) in table {
            let expected = expected.map(str::to_owned).map_err(str::to_owned);
            assert_eq!(ask(whose, "{}", spec).await, expected, "{spec}");
        }
    }

    #[tokio::test]
    async fn local_reviews_are_about_their_namespace() {
        let spec = |namespace: &str| {
            format!(
                r#"{{"user":"alice","resourceAttributes":{{"namespace":"{namespace}","verb":"list","resource":"pods"}}}}"#
            )
        };
        let here = r#"{"namespace":"ns"}"#;
        assert!(ask(Whose::AnybodysHere, here, &spec("ns")).await.unwrap().starts_with(r#"{"allowed":true"#));
        assert_eq!(
            ask(Whose::AnybodysHere, here, &spec("other")).await.unwrap_err(),
            ".authorization.k8s.io \"\" is invalid: spec.resourceAttributes.namespace: Invalid value: \"other\": must match metadata.namespace"
        );
        assert_eq!(
            ask(Whose::AnybodysHere, r#"{"namespace":"other"}"#, &spec("other")).await.unwrap_err(),
            "spec.resourceAttributes.namespace must match namespace: ns"
        );
    }
}
