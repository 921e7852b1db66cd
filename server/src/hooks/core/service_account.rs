//! `ServiceAccounts`.

use apiwright_json::{Object, Value};
use apiwright_meta::object;
use apiwright_registry::Hooks;
use apiwright_registry::hooks::WriteContext;

const MOUNTABLE_ONLY: &str = "kubernetes.io/enforce-mountable-secrets";

/// The hooks of `ServiceAccounts`.
#[derive(Debug)]
pub struct ServiceAccount;

impl Hooks for ServiceAccount {
    fn prepare_create(&self, _context: WriteContext<'_>, object: &mut Value) {
        only_names(object);
    }

    fn prepare_update(&self, _context: WriteContext<'_>, object: &mut Value, _old: &Value) {
        only_names(object);
    }

    fn warnings(&self, object: &Value, old: Option<&Value>) -> Vec<String> {
        let has = |object: &Value| object::annotation(object, MOUNTABLE_ONLY).is_some();
        let is_new = has(object) && !old.is_some_and(has);
        let text = || {
            format!(
                "metadata.annotations[{MOUNTABLE_ONLY}]: deprecated in v1.32+; prefer separate namespaces to isolate \
                 access to mounted secrets"
            )
        };
        is_new.then(text).into_iter().collect()
    }
}

/// Of the secrets, only the names are kept.
fn only_names(object: &mut Value) {
    for secret in object.at_mut(&["secrets"]).and_then(Value::as_array_mut).into_iter().flatten() {
        let name = secret.get("name").cloned();
        *secret = Value::Object(name.map(|name| ("name", name)).into_iter().collect::<Object>());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_names() {
        let parsed = |text: &str| apiwright_json::decode(text.as_bytes()).unwrap().0;
        let mut account = parsed(r#"{"secrets":[{"kind":"Secret","name":"a","uid":"b"},{"kind":"Secret"}]}"#);
        only_names(&mut account);
        assert_eq!(account, parsed(r#"{"secrets":[{"name":"a"},{}]}"#));
    }
}
