//! A rule as it is written.

use apiwright_json::{Object, Value};
use apiwright_meta::field::go_value;

/// A rule.
#[derive(Clone, Debug, Default)]
pub(super) struct Rule {
    pub(super) text: String,
    pub(super) message: String,
    pub(super) message_expression: String,
    pub(super) reason: Option<String>,
    pub(super) field_path: String,
    pub(super) optional_old_self: Option<bool>,
}

/// The rules of a schema node.
pub(super) fn of(schema: &Object) -> Vec<Rule> {
    let rules = schema.get("x-kubernetes-validations").and_then(Value::as_array);
    rules.into_iter().flatten().map(Rule::read).collect()
}

impl Rule {
    fn read(value: &Value) -> Self {
        let text = |name: &str| value.text_at(&[name]).to_owned();
        Self {
            text: text("rule"),
            message: text("message"),
            message_expression: text("messageExpression"),
            reason: value.get("reason").and_then(Value::as_str).map(str::to_owned),
            field_path: text("fieldPath"),
            optional_old_self: value.get("optionalOldSelf").and_then(Value::as_bool),
        }
    }

    /// Whether it sees what was before as something that may be absent.
    pub(super) fn is_optional(&self) -> bool {
        self.optional_old_self.unwrap_or_default()
    }

    /// As upstream's internal type shows it.
    pub(super) fn shown(&self) -> String {
        let mut shown = Object::new();
        shown.push("Rule", self.text.as_str());
        shown.push("Message", self.message.as_str());
        shown.push("MessageExpression", self.message_expression.as_str());
        shown.push("Reason", self.reason.as_deref().map_or(Value::Null, Value::from));
        shown.push("FieldPath", self.field_path.as_str());
        shown.push("OptionalOldSelf", self.optional_old_self.map_or(Value::Null, Value::Bool));
        go_value(&shown.into())
    }

    /// What stands for it in errors.
    pub(super) fn title(&self) -> &str {
        if self.message.is_empty() { self.text.trim() } else { self.message.trim() }
    }

    /// What it says when it fails.
    pub(super) fn failure(&self) -> String {
        if self.message.is_empty() {
            format!("failed rule: {}", self.title())
        } else {
            self.message.trim().to_owned()
        }
    }
}
