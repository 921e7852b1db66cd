//! ResourceQuotas.

mod validate;

use apiwright_json::Value;
use apiwright_meta::ErrorList;
use apiwright_registry::Hooks;
use apiwright_registry::hooks::WriteContext;

/// The hooks of ResourceQuotas.
#[derive(Debug)]
pub struct ResourceQuota;

impl Hooks for ResourceQuota {
    fn validate_create(&self, _context: WriteContext<'_>, object: &Value, errors: &mut ErrorList) {
        validate::spec(object, errors);
        validate::status(object, errors);
    }

    fn validate_update(
        &self,
        context: WriteContext<'_>,
        object: &Value,
        old: &Value,
        errors: &mut ErrorList,
    ) {
        match context.subresource {
            "status" => validate::status(object, errors),
            _ => {
                validate::spec(object, errors);
                validate::same_scopes(object, old, errors);
            }
        }
    }

    fn cell(&self, column: &str, object: &Value) -> Value {
        match column {
            "Request" => usage(object, |resource| !resource.starts_with("limits.")).into(),
            "Limit" => usage(object, |resource| resource.starts_with("limits.")).into(),
            _ => Value::Null,
        }
    }
}

/// `pods: 1/10, services: 0/5`, sorted by resource.
fn usage(object: &Value, shown: impl Fn(&str) -> bool) -> String {
    let Some(hard) = object.at(&["status", "hard"]).and_then(Value::as_object) else { return String::new() };
    let mut entries: Vec<(&str, String)> = hard
        .iter()
        .filter(|(resource, _)| shown(resource))
        .map(|(resource, hard)| {
            let used =
                object.at(&["status", "used"]).map(|used| used.text_at(&[resource])).unwrap_or_default();
            let used = if used.is_empty() { "0" } else { used };
            (resource.as_str(), format!("{resource}: {used}/{}", hard.as_str().unwrap_or_default()))
        })
        .collect();
    entries.sort();
    entries.into_iter().map(|(_, text)| text).collect::<Vec<_>>().join(", ")
}
