//! A request as a `SubjectAccessReview` puts it: what webhooks are sent, and what conditions look at.

use apiwright_chain::{RequestInfo, User};
use apiwright_json::{Object, Value};
use apiwright_meta::fields::FieldSelector;
use apiwright_meta::labels::{LabelSelector, Operator};

use super::ReviewVersion;

/// The spec of a review; members that say nothing are left out.
pub(super) fn spec(user: &User, what: &RequestInfo, version: ReviewVersion) -> Object {
    let mut spec = Object::with_capacity(6);
    if what.is_resource {
        spec.push("resourceAttributes", resource(what));
    } else {
        spec.push("nonResourceAttributes", filled(&[("path", &what.path), ("verb", &what.verb)]));
    }
    if !user.name.is_empty() {
        spec.push("user", user.name.as_str());
    }
    if !user.groups.is_empty() {
        // The older version has another name for it.
        let groups = if version == ReviewVersion::V1 { "groups" } else { "group" };
        spec.push(groups, texts(&user.groups));
    }
    if !user.extra.is_empty() {
        spec.push("extra", extra(user));
    }
    if !user.uid.is_empty() {
        spec.push("uid", user.uid.as_str());
    }
    spec
}

/// The same with all members, as conditions see it.
pub(super) fn whole(user: &User, what: &RequestInfo) -> Value {
    let mut spec = Object::with_capacity(6);
    spec.push("user", user.name.as_str());
    spec.push("groups", texts(&user.groups));
    spec.push("uid", user.uid.as_str());
    spec.push("extra", extra(user));
    if what.is_resource {
        let mut attributes: Object =
            resource_texts(what).iter().map(|(member, text)| (*member, text.as_str())).collect();
        push_selectors(&mut attributes, what);
        spec.push("resourceAttributes", attributes);
    } else {
        let attributes = [("verb", what.verb.as_str()), ("path", what.path.as_str())];
        spec.push("nonResourceAttributes", attributes.into_iter().collect::<Object>());
    }
    spec.into()
}

/// What of a request its caller may make as long as they like, in bytes.
pub(super) fn controlled_bytes(what: &RequestInfo) -> usize {
    resource_texts(what).iter().map(|(_, text)| text.len()).sum::<usize>() + what.path.len()
}

fn resource_texts(what: &RequestInfo) -> [(&'static str, &String); 7] {
    [
        ("namespace", &what.namespace),
        ("verb", &what.verb),
        ("group", &what.group),
        ("version", &what.version),
        ("resource", &what.resource),
        ("subresource", &what.subresource),
        ("name", &what.name),
    ]
}

fn resource(what: &RequestInfo) -> Object {
    let mut attributes = filled(&resource_texts(what));
    push_selectors(&mut attributes, what);
    attributes
}

/// Selectors that cannot be read limit nothing.
fn push_selectors(attributes: &mut Object, what: &RequestInfo) {
    let fields = FieldSelector::parse(&what.field_selector).unwrap_or_default();
    let fields: Vec<Value> = fields
        .requirements
        .iter()
        .map(|one| {
            let operator = if one.negated { "NotIn" } else { "In" };
            requirement(&one.field, operator, std::slice::from_ref(&one.value))
        })
        .collect();
    let labels = LabelSelector::parse(&what.label_selector).unwrap_or_default();
    let labels: Vec<Value> = labels
        .requirements
        .iter()
        .filter_map(|one| Some(requirement(&one.key, operator(one.operator)?, &one.values)))
        .collect();
    for (member, requirements) in [("fieldSelector", fields), ("labelSelector", labels)] {
        if !requirements.is_empty() {
            attributes.push(member, [("requirements", requirements)].into_iter().collect::<Object>());
        }
    }
}

fn operator(operator: Operator) -> Option<&'static str> {
    match operator {
        Operator::In | Operator::Equals | Operator::DoubleEquals => Some("In"),
        Operator::NotIn | Operator::NotEquals => Some("NotIn"),
        Operator::Exists => Some("Exists"),
        Operator::DoesNotExist => Some("DoesNotExist"),
        // Reviews do not know them; without them the question is broader.
        Operator::GreaterThan | Operator::LessThan => None,
    }
}

fn requirement(key: &str, operator: &str, values: &[String]) -> Value {
    let mut requirement = Object::with_capacity(3);
    requirement.push("key", key);
    requirement.push("operator", operator);
    if !values.is_empty() {
        requirement.push("values", texts(values));
    }
    requirement.into()
}

fn filled(members: &[(&'static str, &String)]) -> Object {
    let filled = members.iter().filter(|(_, text)| !text.is_empty());
    filled.map(|(member, text)| (*member, text.as_str())).collect()
}

fn extra(user: &User) -> Object {
    let mut extra: Object = user.extra.iter().map(|(key, values)| (key.as_str(), texts(values))).collect();
    extra.sort();
    extra
}

fn texts(texts: &[String]) -> Vec<Value> {
    texts.iter().map(|text| text.as_str().into()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::Method;

    #[test]
    fn requests_as_reviews() {
        let user = User {
            name: "jane".into(),
            uid: "u".into(),
            groups: vec!["g".into()],
            extra: vec![("b".into(), vec!["1".into()]), ("a".into(), vec!["2".into()])],
        };
        #[rustfmt::skip]
        let table = [
            ("/version", ReviewVersion::V1, r#"{"nonResourceAttributes":{"path":"/version","verb":"get"},"user":"jane","groups":["g"],"extra":{"a":["2"],"b":["1"]},"uid":"u"}"#),
            ("/apis/apps/v1/namespaces/n/deployments/d/scale", ReviewVersion::V1Beta1, r#"{"resourceAttributes":{"namespace":"n","verb":"get","group":"apps","version":"v1","resource":"deployments","subresource":"scale","name":"d"},"user":"jane","group":["g"],"extra":{"a":["2"],"b":["1"]},"uid":"u"}"#),
            ("/api/v1/pods?fieldSelector=spec.nodeName%3Dn,a!%3Db&labelSelector=x,y+in+(1,2)", ReviewVersion::V1, r#"{"resourceAttributes":{"verb":"list","version":"v1","resource":"pods","fieldSelector":{"requirements":[{"key":"a","operator":"NotIn","values":["b"]},{"key":"spec.nodeName","operator":"In","values":["n"]}]},"labelSelector":{"requirements":[{"key":"x","operator":"Exists"},{"key":"y","operator":"In","values":["1","2"]}]}},"user":"jane","groups":["g"],"extra":{"a":["2"],"b":["1"]},"uid":"u"}"#),
        ];
        for (address, version, expected) in table {
            let (path, query) = address.split_once('?').unwrap_or((address, ""));
            let what = RequestInfo::parse(&Method::GET, path, query).unwrap();
            let found = apiwright_json::to_string(&spec(&user, &what, version).into());
            assert_eq!(found, expected, "{address}");
        }
    }
}
