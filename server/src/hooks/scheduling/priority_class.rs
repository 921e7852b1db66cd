//! PriorityClasses.

use apiwright_json::Value;
use apiwright_meta::field::go_value;
use apiwright_meta::{ErrorList, Path, object};
use apiwright_registry::Hooks;
use apiwright_registry::hooks::WriteContext;

use crate::hooks::shared::faults::Faults;

/// The highest priority of a class that is not the system's.
const USER_MAX: i64 = 1_000_000_000;
/// What the names of the system's classes start with, and which they are.
const SYSTEM_PREFIX: &str = "system-";
const SYSTEM: [(&str, i64); 2] =
    [("system-node-critical", 2_000_001_000), ("system-cluster-critical", 2_000_000_000)];

/// The hooks of PriorityClasses.
#[derive(Debug)]
pub struct PriorityClass;

impl Hooks for PriorityClass {
    fn validate_create(&self, _context: WriteContext<'_>, object: &Value, errors: &mut ErrorList) {
        let mut out = Faults::take(errors, &Path::new("preemptionPolicy"));
        let value = value(object);
        if object::name(object).starts_with(SYSTEM_PREFIX) {
            if let Some(why) = system_fault(object) {
                let why = format!(
                    "priority class names with '{SYSTEM_PREFIX}' prefix are reserved for system use only. error: {why}"
                );
                out.forbidden(Path::new("metadata").child("name"), &why);
            }
        } else if value > USER_MAX {
            let why = format!("maximum allowed value of a user defined priority is {USER_MAX}");
            out.forbidden(Path::new("value"), &why);
        }
    }

    fn validate_update(
        &self,
        _context: WriteContext<'_>,
        object: &Value,
        old: &Value,
        errors: &mut ErrorList,
    ) {
        let path = Path::new("preemptionPolicy");
        let mut out = Faults::take(errors, &path);
        out.drop_below(&path);
        if value(object) != value(old) {
            out.forbidden(Path::new("value"), "may not be changed in an update.");
        }
        let policy = object.get("preemptionPolicy");
        if policy != old.get("preemptionPolicy") {
            let shown = policy.map_or_else(|| "null".into(), go_value);
            out.invalid(path, shown, "field is immutable");
        }
    }
}

fn value(class: &Value) -> i64 {
    class.get("value").and_then(Value::as_i64).unwrap_or_default()
}

/// Why a class is none of the system's.
fn system_fault(class: &Value) -> Option<String> {
    let name = object::name(class);
    let Some((_, wanted)) = SYSTEM.iter().find(|(known, _)| *known == name) else {
        return Some(format!("{name} is not a known system priority class"));
    };
    if value(class) != *wanted {
        return Some(format!("value of {name} PriorityClass must be {wanted}"));
    }
    let is_default = class.get("globalDefault").and_then(Value::as_bool).unwrap_or_default();
    is_default.then(|| format!("globalDefault of {name} PriorityClass must be false"))
}

#[cfg(test)]
mod tests {
    use std::sync::LazyLock;

    use apiwright_registry::Writer;
    use apiwright_registry::hooks::Notes;

    use super::*;

    static NOTES: LazyLock<Notes> = LazyLock::new(Notes::default);

    fn context(user: &Writer) -> WriteContext<'_> {
        WriteContext { subresource: "", user, dry_run: false, notes: &NOTES }
    }

    fn class(name: &str, value: i64, policy: &str) -> Value {
        let text =
            format!(r#"{{"metadata":{{"name":"{name}"}},"value":{value},"preemptionPolicy":"{policy}"}}"#);
        apiwright_json::decode(text.as_bytes()).unwrap().0
    }

    #[test]
    fn names_and_values() {
        let system = "metadata.name: Forbidden: priority class names with 'system-' prefix are reserved for system use only. error: ";
        let table = [
            ("high", USER_MAX, "[]".to_owned()),
            (
                "high",
                USER_MAX + 1,
                "value: Forbidden: maximum allowed value of a user defined priority is 1000000000".into(),
            ),
            ("system-node-critical", 2_000_001_000, "[]".into()),
            (
                "system-node-critical",
                1,
                format!("{system}value of system-node-critical PriorityClass must be 2000001000"),
            ),
            ("system-x", 1, format!("{system}system-x is not a known system priority class")),
        ];
        for (name, value, expected) in table {
            let mut errors = ErrorList::new();
            PriorityClass.validate_create(
                context(&Writer::default()),
                &class(name, value, "Never"),
                &mut errors,
            );
            assert_eq!(errors.aggregate(), expected, "{name} {value}");
        }
    }

    #[test]
    fn values_stay() {
        let mut errors = ErrorList::new();
        PriorityClass.validate_update(
            context(&Writer::default()),
            &class("a", 2, "Never"),
            &class("a", 1, "PreemptLowerPriority"),
            &mut errors,
        );
        assert_eq!(
            errors.aggregate(),
            "[value: Forbidden: may not be changed in an update., preemptionPolicy: Invalid value: \"Never\": field is immutable]"
        );
    }
}
