//! When an indexed Job has succeeded before all of it has.

use apiwright_json::Value;
use apiwright_meta::Path;
use apiwright_meta::field::quoted;

use super::indexes;
use crate::hooks::shared::cells;
use crate::hooks::shared::faults::Faults;

const RULES_MAX: usize = 20;
const INDEX_BYTES_MAX: usize = 64 * 1024;

/// The faults of a success policy.
pub(super) fn faults(spec: &Value, policy: &Value, path: &Path, out: &mut Faults<'_>) {
    let rules = cells::items(policy, &["rules"]);
    let path = path.child("rules");
    if rules.is_empty() {
        let why = "at least one rules must be specified when the successPolicy is specified";
        out.required(path.clone(), why);
    }
    if rules.len() > RULES_MAX {
        out.too_many(path.clone(), rules.len(), RULES_MAX);
    }
    let completions = spec.get("completions").and_then(Value::as_i64).unwrap_or_default();
    for (at, rule) in rules.iter().enumerate() {
        rule_faults(rule, completions, &path.index(at), out);
    }
}

fn rule_faults(rule: &Value, completions: i64, path: &Path, out: &mut Faults<'_>) {
    let count = rule.get("succeededCount").and_then(Value::as_i64);
    let succeeded = rule.get("succeededIndexes").and_then(Value::as_str);
    if count.is_none() && succeeded.is_none() {
        let why = "at least one of succeededCount or succeededIndexes must be specified";
        out.required(path.clone(), why);
    }
    let mut total = 0;
    if let Some(text) = succeeded {
        let path = path.child("succeededIndexes");
        if text.len() > INDEX_BYTES_MAX {
            out.too_long(path.clone(), INDEX_BYTES_MAX);
        }
        match indexes::count(text, completions) {
            Ok(count) => total = count,
            Err(why) => out.invalid(path, quoted(text), &format!("error parsing succeededIndexes: {why}")),
        }
    }
    let Some(count) = count else { return };
    let path = path.child("succeededCount");
    if count < 0 {
        out.invalid(path.clone(), count, "must be greater than or equal to 0");
    }
    if count > completions {
        let why =
            format!("must be less than or equal to {completions} (the number of specified completions)");
        out.invalid(path.clone(), count, &why);
    }
    if succeeded.is_some() && count > total {
        let why = format!(
            "must be less than or equal to {total} (the number of indexes in the specified succeededIndexes field)"
        );
        out.invalid(path, count, &why);
    }
}
