//! CSIDrivers.

use apiwright_json::Value;
use apiwright_meta::field::{go_value, quoted};
use apiwright_meta::{ErrorList, Path};
use apiwright_registry::Hooks;
use apiwright_registry::hooks::WriteContext;

use crate::hooks::shared::cells;
use crate::hooks::shared::faults::Faults;

/// How long the tokens of drivers live.
const TOKEN_SECONDS_MIN: i64 = 600;
const TOKEN_SECONDS_MAX: i64 = 1 << 32;
/// How often the capacities of nodes are looked at, at most.
const PERIOD_SECONDS_MIN: i64 = 10;
const MODES: [&str; 2] = ["Persistent", "Ephemeral"];

/// The hooks of CSIDrivers.
#[derive(Debug)]
pub struct CSIDriver;

impl Hooks for CSIDriver {
    fn validate_create(&self, _context: WriteContext<'_>, object: &Value, errors: &mut ErrorList) {
        faults(object, errors);
    }

    fn validate_update(
        &self,
        _context: WriteContext<'_>,
        object: &Value,
        old: &Value,
        errors: &mut ErrorList,
    ) {
        faults(object, errors);
        // Upstream misspells the first.
        for (member, said) in
            [("attachRequired", "attachedRequired"), ("volumeLifecycleModes", "volumeLifecycleModes")]
        {
            let value = object.at(&["spec", member]);
            if value != old.at(&["spec", member]) {
                let shown = value.map_or_else(|| "null".into(), go_value);
                errors.invalid(Path::new("spec").child(said), shown, "field is immutable");
            }
        }
    }

    fn cell(&self, column: &str, object: &Value) -> Value {
        match column {
            "Modes" => {
                let modes = cells::items(object, &["spec", "volumeLifecycleModes"]);
                cells::join(modes.iter().filter_map(Value::as_str), ",").into()
            }
            "TokenRequests" => {
                let requests = cells::items(object, &["spec", "tokenRequests"]);
                if requests.is_empty() {
                    "<unset>".into()
                } else {
                    cells::names(object, &["spec", "tokenRequests"], "audience").into()
                }
            }
            _ => Value::Null,
        }
    }
}

fn faults(driver: &Value, errors: &mut ErrorList) {
    let path = Path::new("spec");
    let mut out = Faults::take(errors, &path);
    out.declared(&path.child("fsGroupPolicy"));
    let requests = cells::items(driver, &["spec", "tokenRequests"]);
    token_faults(requests, &path.child("tokenRequests"), &mut out);
    for mode in cells::items(driver, &["spec", "volumeLifecycleModes"]).iter().filter_map(Value::as_str) {
        if !MODES.contains(&mode) {
            out.not_supported(path.child("volumeLifecycleModes"), quoted(mode), &MODES);
        }
    }
    let period = driver.at(&["spec", "nodeAllocatableUpdatePeriodSeconds"]).and_then(Value::as_i64);
    if let Some(period) = period.filter(|period| *period < PERIOD_SECONDS_MIN) {
        let why = format!("must be greater than or equal to {PERIOD_SECONDS_MIN} seconds");
        out.invalid(path.child("nodeAllocatableUpdatePeriodSeconds"), period, &why);
    }
    let in_secrets = driver.at(&["spec", "serviceAccountTokenInSecrets"]);
    if let Some(in_secrets) = in_secrets.filter(|_| requests.is_empty()) {
        let why = "must only be set when tokenRequests is set";
        out.invalid(path.child("serviceAccountTokenInSecrets"), go_value(in_secrets), why);
    }
}

/// Tokens are for different audiences.
fn token_faults(requests: &[Value], path: &Path, errors: &mut ErrorList) {
    let mut audiences = Vec::new();
    for (at, request) in requests.iter().enumerate() {
        let (path, audience) = (path.index(at), request.text_at(&["audience"]));
        if audiences.contains(&audience) {
            errors.duplicate(path.child("audience"), quoted(audience));
            continue;
        }
        audiences.push(audience);
        let Some(seconds) = request.get("expirationSeconds").and_then(Value::as_i64) else { continue };
        let path = path.child("expirationSeconds");
        if seconds < TOKEN_SECONDS_MIN {
            errors.invalid(path.clone(), seconds, "may not specify a duration less than 10 minutes");
        }
        if seconds > TOKEN_SECONDS_MAX {
            errors.invalid(path, seconds, "may not specify a duration larger than 2^32 seconds");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faults_of_drivers() {
        let table = [
            (r#"{"tokenRequests":[{"audience":""},{"audience":"a","expirationSeconds":600}]}"#, "[]"),
            (
                r#"{"tokenRequests":[{"audience":"a"},{"audience":"a"}]}"#,
                "spec.tokenRequests[1].audience: Duplicate value: \"a\"",
            ),
            (
                r#"{"volumeLifecycleModes":["Odd"]}"#,
                "spec.volumeLifecycleModes: Unsupported value: \"Odd\": supported values: \"Persistent\", \"Ephemeral\"",
            ),
            (
                r#"{"nodeAllocatableUpdatePeriodSeconds":9}"#,
                "spec.nodeAllocatableUpdatePeriodSeconds: Invalid value: 9: must be greater than or equal to 10 seconds",
            ),
        ];
        for (spec, expected) in table {
            let driver = apiwright_json::decode(format!(r#"{{"spec":{spec}}}"#).as_bytes()).unwrap().0;
            let mut errors = ErrorList::new();
            faults(&driver, &mut errors);
            assert_eq!(errors.aggregate(), expected, "{spec}");
        }
    }
}
