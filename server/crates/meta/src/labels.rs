//! Label selectors: parsing, with upstream's words for what cannot be parsed, and matching.
//!
//! Invariant: requirements are sorted by key, so that equal selectors show equally.

use apiwright_json::Value;

use crate::field::{ErrorList, Path, quoted};
use crate::names;

mod parse;
mod validate;

pub use validate::{SelectorLeniency, validate_label_selector, validate_labels};

/// A label selector; the default selects everything.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LabelSelector {
    /// All must hold.
    pub requirements: Vec<Requirement>,
}

/// One requirement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Requirement {
    /// The label's key.
    pub key: String,
    /// What its value must be.
    pub operator: Operator,
    /// The values of the operator.
    pub values: Vec<String>,
}

/// What a requirement asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Operator {
    In,
    NotIn,
    Exists,
    DoesNotExist,
    Equals,
    DoubleEquals,
    NotEquals,
    GreaterThan,
    LessThan,
}

impl LabelSelector {
    /// Parses `a=b,c in (d,e),!f,g>1`.
    ///
    /// # Errors
    /// With upstream's text, for instance `unable to parse requirement: …`.
    pub fn parse(text: &str) -> Result<Self, String> {
        parse::parse(text, &Path::default())
    }

    /// The selector of a `metav1.LabelSelector` object. `None` (no object) is for the caller to treat as selecting
    /// nothing; an empty object selects everything.
    ///
    /// # Errors
    /// With upstream's text when a requirement is no valid one.
    pub fn from_object(selector: &Value) -> Result<Self, String> {
        let mut requirements = Vec::new();
        if let Some(labels) = selector.get("matchLabels").and_then(Value::as_object) {
            for (key, value) in labels.iter() {
                let values = vec![value.as_str().unwrap_or_default().to_owned()];
                requirements.push(Requirement::new(key, Operator::Equals, values, &Path::default())?);
            }
        }
        for expression in selector.get("matchExpressions").and_then(Value::as_array).into_iter().flatten() {
            let operator = match expression.text_at(&["operator"]) {
                "In" => Operator::In,
                "NotIn" => Operator::NotIn,
                "Exists" => Operator::Exists,
                "DoesNotExist" => Operator::DoesNotExist,
                other => return Err(format!("{} is not a valid label selector operator", quoted(other))),
            };
            let values = strings(expression.get("values"));
            let key = expression.text_at(&["key"]);
            requirements.push(Requirement::new(key, operator, values, &Path::default())?);
        }
        Ok(Self::of(requirements))
    }

    /// Whether labels, looked up by key, meet all requirements.
    pub fn matches<'a>(&self, label: impl Fn(&str) -> Option<&'a str>) -> bool {
        self.requirements.iter().all(|requirement| requirement.matches(label(&requirement.key)))
    }

    /// Whether everything is selected.
    pub fn is_empty(&self) -> bool {
        self.requirements.is_empty()
    }

    /// The one value that a label must have, where the first requirement on it says so.
    pub fn exact(&self, key: &str) -> Option<&str> {
        let requirement = self.requirements.iter().find(|requirement| requirement.key == key)?;
        match (requirement.operator, requirement.values.as_slice()) {
            (Operator::Equals | Operator::DoubleEquals | Operator::In, [value]) => Some(value),
            _ => None,
        }
    }

    fn of(mut requirements: Vec<Requirement>) -> Self {
        requirements.sort_by(|a, b| a.key.cmp(&b.key));
        Self { requirements }
    }
}

/// As it is written in a query and in `status.selector` of a Scale.
impl std::fmt::Display for LabelSelector {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for (at, requirement) in self.requirements.iter().enumerate() {
            if at > 0 {
                f.write_str(",")?;
            }
            requirement.fmt(f)?;
        }
        Ok(())
    }
}

impl std::str::FromStr for LabelSelector {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Self::parse(text)
    }
}

impl Requirement {
    /// A requirement whose parts fit each other.
    ///
    /// # Errors
    /// With upstream's text for every fault; `path` is where a selector in an object is.
    pub fn new(key: &str, operator: Operator, values: Vec<String>, path: &Path) -> Result<Self, String> {
        let mut errors = ErrorList::new();
        let faults = names::label_key(key);
        if !faults.is_empty() {
            errors.invalid(path.child("key"), quoted(key), &faults.join("; "));
        }
        let values_path = path.child("values");
        let words = match operator {
            Operator::In | Operator::NotIn if values.is_empty() => {
                Some("for 'in', 'notin' operators, values set can't be empty")
            }
            Operator::Equals | Operator::DoubleEquals | Operator::NotEquals if values.len() != 1 => {
                Some("exact-match compatibility requires one single value")
            }
            Operator::Exists | Operator::DoesNotExist if !values.is_empty() => {
                Some("values set must be empty for exists and does not exist")
            }
            Operator::GreaterThan | Operator::LessThan if values.len() != 1 => {
                Some("for 'Gt', 'Lt' operators, exactly one value is required")
            }
            _ => None,
        };
        if let Some(words) = words {
            errors.invalid(values_path.clone(), json_strings(&values), words);
        }
        for (at, value) in values.iter().enumerate() {
            if matches!(operator, Operator::GreaterThan | Operator::LessThan) && integer(value).is_none() {
                let words = "for 'Gt', 'Lt' operators, the value must be an integer";
                errors.invalid(values_path.index(at), quoted(value), words);
            }
        }
        for (at, value) in values.iter().enumerate() {
            let faults = names::label_value(value);
            if !faults.is_empty() {
                errors.invalid(values_path.index(at).key(key), quoted(value), &faults.join("; "));
            }
        }
        if errors.is_empty() {
            Ok(Self { key: key.to_owned(), operator, values })
        } else {
            Err(errors.aggregate())
        }
    }

    /// Whether a label's value, `None` where there is no such label, meets the requirement.
    pub fn matches(&self, label: Option<&str>) -> bool {
        let listed = |value: &str| self.values.iter().any(|one| one == value);
        match self.operator {
            Operator::In | Operator::Equals | Operator::DoubleEquals => label.is_some_and(listed),
            Operator::NotIn | Operator::NotEquals => !label.is_some_and(listed),
            Operator::Exists => label.is_some(),
            Operator::DoesNotExist => label.is_none(),
            Operator::GreaterThan | Operator::LessThan => {
                let bound = self.values.first().and_then(|value| integer(value));
                match (label.and_then(integer), bound) {
                    (Some(value), Some(bound)) if self.operator == Operator::GreaterThan => value > bound,
                    (Some(value), Some(bound)) => value < bound,
                    _ => false,
                }
            }
        }
    }
}

impl std::fmt::Display for Requirement {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut values = self.values.clone();
        values.sort();
        let (key, values) = (&self.key, values.join(","));
        match self.operator {
            Operator::In => write!(f, "{key} in ({values})"),
            Operator::NotIn => write!(f, "{key} notin ({values})"),
            Operator::Exists => f.write_str(key),
            Operator::DoesNotExist => write!(f, "!{key}"),
            Operator::Equals => write!(f, "{key}={values}"),
            Operator::DoubleEquals => write!(f, "{key}=={values}"),
            Operator::NotEquals => write!(f, "{key}!={values}"),
            Operator::GreaterThan => write!(f, "{key}>{values}"),
            Operator::LessThan => write!(f, "{key}<{values}"),
        }
    }
}

/// A decimal number as Go's `ParseInt` takes it.
fn integer(text: &str) -> Option<i64> {
    text.parse().ok()
}

/// The strings of a list; what is none counts as empty.
fn strings(list: Option<&Value>) -> Vec<String> {
    let items = list.and_then(Value::as_array).into_iter().flatten();
    items.map(|item| item.as_str().unwrap_or_default().to_owned()).collect()
}

/// Strings as the JSON list that errors show; upstream's empty list is null where it is absent.
fn json_strings(values: &[String]) -> String {
    if values.is_empty() {
        return "null".into();
    }
    apiwright_json::to_string(&Value::Array(values.iter().map(|value| value.as_str().into()).collect()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn selector(text: &str) -> LabelSelector {
        LabelSelector::parse(text).unwrap_or_else(|error| panic!("{text}: {error}"))
    }

    #[test]
    fn matching() {
        let labels = |key: &str| match key {
            "a" => Some("1"),
            "b" => Some(""),
            "c" => Some("x"),
            _ => None,
        };
        let table = [
            ("", true),
            ("a", true),
            ("!a", false),
            ("z", false),
            ("!z", true),
            ("a=1", true),
            ("a==1,c=x", true),
            ("a!=1", false),
            ("z!=1", true),
            ("b=", true),
            ("b", true),
            ("c in (x,y)", true),
            ("c notin (x,y)", false),
            ("z notin (x)", true),
            ("z in (x)", false),
            ("a>0", true),
            ("a<1", false),
            ("c>0", false),
            ("z<5", false),
        ];
        for (text, expected) in table {
            assert_eq!(selector(text).matches(labels), expected, "{text}");
        }
    }

    #[test]
    fn from_objects() {
        let object =
            |text: &str| apiwright_json::decode(text.as_bytes()).map(|decoded| decoded.0).unwrap_or_default();
        let table: &[(&str, Result<&str, &str>)] = &[
            ("{}", Ok("")),
            (r#"{"matchLabels":{"b":"1","a":""}}"#, Ok("a=,b=1")),
            (
                r#"{"matchLabels":{"b":"1"},"matchExpressions":[{"key":"a","operator":"In","values":["y","x"]},{"key":"c","operator":"DoesNotExist"}]}"#,
                Ok("a in (x,y),b=1,!c"),
            ),
            (
                r#"{"matchExpressions":[{"key":"a","operator":"Is"}]}"#,
                Err("\"Is\" is not a valid label selector operator"),
            ),
            (
                r#"{"matchExpressions":[{"key":"a","operator":"In"}]}"#,
                Err("values: Invalid value: null: for 'in', 'notin' operators, values set can't be empty"),
            ),
            (
                r#"{"matchExpressions":[{"key":"a","operator":"Exists","values":["x"]}]}"#,
                Err("values: Invalid value: [\"x\"]: values set must be empty for exists and does not exist"),
            ),
        ];
        for (text, expected) in table {
            let shown = LabelSelector::from_object(&object(text)).map(|selector| selector.to_string());
            assert_eq!(shown.as_deref().map_err(String::as_str), *expected, "{text}");
        }
    }

    #[test]
    fn exact() {
        let selector = selector("a=1,b in (x),c in (x,y),d");
        for (key, expected) in [("a", Some("1")), ("b", Some("x")), ("c", None), ("d", None), ("e", None)] {
            assert_eq!(selector.exact(key), expected);
        }
    }
}
