//! `LimitRanges`.

use std::collections::BTreeSet;

use apiwright_json::{Object, Value};
use apiwright_meta::field::quoted;
use apiwright_meta::quantity::{Format, Quantity};
use apiwright_meta::{ErrorList, Path, names};
use apiwright_registry::Hooks;
use apiwright_registry::hooks::WriteContext;

use crate::hooks::shared::{cells, resources};

/// The types without a domain.
const TYPES: &[&str] = &["Container", "PersistentVolumeClaim", "Pod"];

/// The hooks of `LimitRanges`.
#[derive(Debug)]
pub struct LimitRange;

impl Hooks for LimitRange {
    /// What a container is limited to by default is its maximum; what it requests by default is
    /// that limit, or its minimum.
    fn default(&self, object: &mut Value) {
        for item in object.at_mut(&["spec", "limits"]).and_then(Value::as_array_mut).into_iter().flatten() {
            let Some(item) = item.as_object_mut() else { continue };
            if item.str("type") == Some("Container") {
                fill(item, "default", "max");
                fill(item, "defaultRequest", "default");
                fill(item, "defaultRequest", "min");
            }
        }
    }

    fn validate_create(&self, _context: WriteContext<'_>, object: &Value, errors: &mut ErrorList) {
        faults(object, errors);
    }

    fn validate_update(
        &self,
        _context: WriteContext<'_>,
        object: &Value,
        _old: &Value,
        errors: &mut ErrorList,
    ) {
        faults(object, errors);
    }
}

fn faults(object: &Value, errors: &mut ErrorList) {
    let path = Path::new("spec").child("limits");
    let mut types = BTreeSet::new();
    for (at, item) in cells::items(object, &["spec", "limits"]).iter().enumerate() {
        let (path, kind) = (path.index(at), item.text_at(&["type"]));
        type_faults(kind, &path.child("type"), errors);
        if !types.insert(kind) {
            errors.duplicate(path.child("type"), quoted(kind));
        }
        item_faults(kind, item, &path, errors);
    }
}

fn type_faults(kind: &str, path: &Path, errors: &mut ErrorList) {
    let faults = names::qualified_name(kind);
    if faults.is_empty() && !kind.contains('/') && !TYPES.contains(&kind) {
        errors.invalid(path.clone(), quoted(kind), "must be a standard limit type or fully qualified");
    }
    errors.invalid_each(path, kind, faults);
}

fn item_faults(kind: &str, item: &Value, path: &Path, errors: &mut ErrorList) {
    let check = match kind {
        "Pod" | "Container" => resources::container_name_faults,
        _ => resources::name_faults,
    };
    let mut all = BTreeSet::new();
    for list in ["max", "min", "default", "defaultRequest"] {
        if kind == "Pod" && list.starts_with("default") {
            if cells::count(item, &[list]) > 0 {
                errors.forbidden(path.child(list), "may not be specified when `type` is 'Pod'");
            }
            continue;
        }
        name_faults(item, list, check, path, &mut all, errors);
    }
    let storage = |list: &str| item.at(&[list, "storage"]).is_some();
    if kind == "PersistentVolumeClaim" && !storage("min") && !storage("max") {
        let why = "either minimum or maximum storage value is required, but neither was provided";
        errors.required(path.child("limits"), why);
    }
    name_faults(item, "maxLimitRequestRatio", check, path, &mut all, errors);
    for resource in all {
        amount_faults(kind, item, resource, path, errors);
    }
}

fn name_faults<'a>(
    item: &'a Value,
    list: &str,
    check: fn(&str, &Path, &mut ErrorList),
    path: &Path,
    all: &mut BTreeSet<&'a str>,
    errors: &mut ErrorList,
) {
    let amounts = item.get(list).and_then(Value::as_object);
    for name in amounts.into_iter().flat_map(Object::keys) {
        check(name, &path.child(list).key(name), errors);
        all.insert(name);
    }
}

/// How the amounts of one resource must be ordered.
fn amount_faults(kind: &str, item: &Value, resource: &str, path: &Path, errors: &mut ErrorList) {
    let amount = |list: &str| item.at(&[list, resource]).and_then(|one| Quantity::from_value(one).ok());
    let (min, max) = (amount("min"), amount("max"));
    let defaults = |list: &str| amount(list).filter(|_| kind != "Pod");
    let (limit, request) = (defaults("default"), defaults("defaultRequest"));
    // What must not be greater, than what, where it is shown, the value shown, the words.
    let rules = [
        (&min, &max, "min", &min, ["min value", "max value"]),
        (&min, &request, "defaultRequest", &request, ["min value", "default request value"]),
        (&request, &max, "defaultRequest", &request, ["default request value", "max value"]),
        (&request, &limit, "defaultRequest", &request, ["default request value", "default limit value"]),
        (&min, &limit, "default", &min, ["min value", "default value"]),
        (&limit, &max, "default", &max, ["default value", "max value"]),
    ];
    for (low, high, list, shown, [low_word, high_word]) in rules {
        if let (Some(low), Some(high), Some(shown)) = (low, high, shown)
            && low > high
        {
            let why = format!("{low_word} {low} is greater than {high_word} {high}");
            errors.invalid(path.child(list).key(resource), quoted(&shown.to_string()), &why);
        }
    }
    if let Some(ratio) = amount("maxLimitRequestRatio") {
        let path = path.child("maxLimitRequestRatio").key(resource);
        let mut refuse = |why: String| errors.invalid(path.clone(), quoted(&ratio.to_string()), &why);
        if ratio < Quantity::new(1, Format::DecimalSI) {
            refuse(format!("ratio {ratio} is less than 1"));
        }
        if let (Some(min), Some(max)) = (&min, &max) {
            let limit = max.as_f64() / min.as_f64();
            if ratio.as_f64() > limit {
                refuse(format!("ratio {ratio} is greater than max/min = {limit:.6}"));
            }
        }
    }
    if let (Some(limit), Some(request)) = (&limit, &request)
        && !resources::is_overcommit_allowed(resource)
        && limit != request
    {
        let why = format!("default value {limit} must equal to defaultRequest value {request} in {resource}");
        errors.invalid(path.child("defaultRequest").key(resource), quoted(&request.to_string()), &why);
    }
}

/// Takes over from one list what another does not have.
fn fill(item: &mut Object, list: &str, from: &str) {
    let Some(Value::Object(source)) = item.get(from).cloned() else { return };
    if source.is_empty() {
        return;
    }
    let list = item.object(list);
    for (resource, amount) in source {
        list.entry(&resource, || amount);
    }
    list.sort();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faults_of_limits() {
        let table = [
            (r#"{"type":"Container","max":{"cpu":"2"},"min":{"cpu":"100m"}}"#, "[]"),
            (r#"{"type":"example.com/odd"}"#, "[]"),
            (
                r#"{"type":"Container","min":{"cpu":"2"},"max":{"cpu":"1"}}"#,
                "spec.limits[0].min[cpu]: Invalid value: \"2\": min value 2 is greater than max value 1",
            ),
            (
                r#"{"type":"Container","maxLimitRequestRatio":{"cpu":"500m"}}"#,
                "spec.limits[0].maxLimitRequestRatio[cpu]: Invalid value: \"500m\": ratio 500m is less than 1",
            ),
            (
                r#"{"type":"Pod","max":{"cpu":"2"},"min":{"cpu":"1"},"maxLimitRequestRatio":{"cpu":"3"}}"#,
                "spec.limits[0].maxLimitRequestRatio[cpu]: Invalid value: \"3\": ratio 3 is greater than max/min = 2.000000",
            ),
            (
                r#"{"type":"Container","default":{"example.com/gpu":"2"},"defaultRequest":{"example.com/gpu":"1"}}"#,
                "spec.limits[0].defaultRequest[example.com/gpu]: Invalid value: \"1\": default value 2 must equal to defaultRequest value 1 in example.com/gpu",
            ),
            (
                r#"{"type":"Odd"}"#,
                "spec.limits[0].type: Invalid value: \"Odd\": must be a standard limit type or fully qualified",
            ),
        ];
        for (item, expected) in table {
            let object = format!("{{\"spec\":{{\"limits\":[{item}]}}}}");
            let mut errors = ErrorList::new();
            faults(&apiwright_json::decode(object.as_bytes()).unwrap().0, &mut errors);
            assert_eq!(errors.aggregate(), expected, "{item}");
        }
    }
}
