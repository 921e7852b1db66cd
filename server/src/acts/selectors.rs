//! The selectors that a review of access is limited to, as authorizers are asked about them.
//!
//! Invariant: what cannot be understood is left out, which makes the question broader: a yes to it holds for the
//! narrower one, too.

use apiwright_json::Value;
use apiwright_meta::fields::{FieldSelector, Requirement};
use apiwright_meta::labels::LabelSelector;

use super::list;

/// A selector as it would be written in a query.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Understood {
    pub(super) text: String,
    /// What the caller is told of what was left out.
    pub(super) complaint: Option<String>,
}

/// The selector that `resourceAttributes` have as `fieldSelector`.
pub(super) fn fields(attributes: &Value) -> Understood {
    let read = |raw: &str| FieldSelector::parse(raw).map(|selector| selector.to_string());
    let requirement = |one: &Value| {
        let values = list(one.get("values"));
        let ([value], negated @ ("In" | "NotIn")) = (values.as_slice(), one.text_at(&["operator"])) else {
            return None;
        };
        let field = one.text_at(&["key"]).to_owned();
        let requirement = Requirement { field, value: value.clone(), negated: negated == "NotIn" };
        Some(FieldSelector { requirements: vec![requirement] }.to_string())
    };
    understand(attributes, "fieldSelector", read, requirement)
}

/// The selector that `resourceAttributes` have as `labelSelector`.
pub(super) fn labels(attributes: &Value) -> Understood {
    let read = |raw: &str| LabelSelector::parse(raw).map(|_| raw.to_owned());
    let requirement = |one: &Value| {
        let (key, values) = (one.text_at(&["key"]), list(one.get("values")).join(","));
        match one.text_at(&["operator"]) {
            "In" => Some(format!("{key} in ({values})")),
            "NotIn" => Some(format!("{key} notin ({values})")),
            "Exists" => Some(key.to_owned()),
            "DoesNotExist" => Some(format!("!{key}")),
            _ => None,
        }
    };
    understand(attributes, "labelSelector", read, requirement)
}

fn understand<E>(
    attributes: &Value,
    member: &str,
    read: impl Fn(&str) -> Result<String, E>,
    requirement: impl Fn(&Value) -> Option<String>,
) -> Understood {
    let Some(selector) = attributes.get(member).filter(|selector| !selector.is_null()) else {
        return Understood::default();
    };
    let complain = |how: &str| Some(format!("spec.resourceAttributes.{member} {how} due to parse error"));
    match selector.text_at(&["rawSelector"]) {
        "" => {
            let all = selector.get("requirements").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
            let good: Vec<String> = all.iter().filter_map(requirement).collect();
            let complaint = match good.len() {
                understood if understood == all.len() => None,
                0 => complain("ignored"),
                _ => complain("partially ignored"),
            };
            Understood { text: good.join(","), complaint }
        }
        raw => match read(raw) {
            Ok(text) => Understood { text, complaint: None },
            Err(_) => Understood { text: String::new(), complaint: complain("ignored") },
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn selectors_are_understood_as_far_as_they_can_be() {
        #[rustfmt::skip]
        let table = [
            ("{}", "", "", None),
            (r#"{"fieldSelector":{"rawSelector":"spec.nodeName=n"}}"#, "spec.nodeName=n", "", None),
            (r#"{"fieldSelector":{"requirements":[{"key":"a","operator":"In","values":["b,c"]},{"key":"d","operator":"NotIn","values":["e"]}]}}"#, "a=b\\,c,d!=e", "", None),
            (r#"{"fieldSelector":{"requirements":[{"key":"a","operator":"In","values":["b","c"]},{"key":"d","operator":"NotIn","values":["e"]}]}}"#, "d!=e", "", Some("spec.resourceAttributes.fieldSelector partially ignored due to parse error")),
            (r#"{"labelSelector":{"requirements":[{"key":"a","operator":"In","values":["b","c"]},{"key":"d","operator":"Exists"},{"key":"e","operator":"DoesNotExist"}]}}"#, "", "a in (b,c),d,!e", None),
            (r#"{"labelSelector":{"rawSelector":"a in ("}}"#, "", "", Some("spec.resourceAttributes.labelSelector ignored due to parse error")),
        ];
        for (json, field, label, complaint) in table {
            let attributes = apiwright_json::decode(json.as_bytes()).unwrap().0;
            let (fields, labels) = (fields(&attributes), labels(&attributes));
            assert_eq!((fields.text.as_str(), labels.text.as_str()), (field, label), "{json}");
            assert_eq!(fields.complaint.or(labels.complaint).as_deref(), complaint, "{json}");
        }
    }
}
