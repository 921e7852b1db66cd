//! How much of a device's capacity can be asked for, of devices that several share.

use apiwright_json::Value;
use apiwright_meta::field::quoted;
use apiwright_meta::quantity::Quantity;
use apiwright_meta::{ErrorList, Path};

use crate::hooks::shared::cells;

const VALUES_MAX: usize = 10;

/// The faults of a capacity's policy; only devices that are `shared` have one.
pub(super) fn faults(capacity: &Value, shared: bool, path: &Path, errors: &mut ErrorList) {
    let Some(policy) = capacity.get("requestPolicy") else { return };
    let path = path.child("requestPolicy");
    if !shared {
        errors.forbidden(path, "allowMultipleAllocations must be true");
        return;
    }
    let all = quantity(capacity, "value").unwrap_or_default();
    let default = quantity(policy, "default");
    let (values, range) = (cells::items(policy, &["validValues"]), policy.get("validRange"));
    let required = |what: &str, errors: &mut ErrorList| {
        errors.required(path.child("default"), &format!("required when {what} is defined"));
    };
    match (values.is_empty(), range, default) {
        (false, Some(_), _) => {
            let why = "exactly one policy can be specified, cannot specify \"validValues\" and \"validRange\" at the same time";
            errors.forbidden(path, why);
        }
        (false, None, None) => required("validValues", errors),
        (true, Some(_), None) => required("validRange", errors),
        (false, None, Some(default)) => {
            value_faults(values, &default, &all, &path.child("validValues"), errors);
        }
        (true, Some(range), Some(default)) => {
            range_faults(range, &default, &all, &path.child("validRange"), errors);
        }
        (true, None, _) => {}
    }
}

fn quantity(holder: &Value, member: &str) -> Option<Quantity> {
    holder.get(member).and_then(|amount| Quantity::from_value(amount).ok())
}

fn value_faults(values: &[Value], default: &Quantity, all: &Quantity, path: &Path, errors: &mut ErrorList) {
    let values: Vec<Quantity> = values.iter().filter_map(|value| Quantity::from_value(value).ok()).collect();
    for (at, pair) in values.windows(2).enumerate().filter(|(_, pair)| pair[0] > pair[1]) {
        let shown = quoted(&pair[1].to_string());
        errors.invalid(path.index(at + 1), shown, "values must be sorted in ascending order");
    }
    if values.len() > VALUES_MAX {
        errors.too_many(path.clone(), values.len(), VALUES_MAX);
    } else {
        for (at, value) in values.iter().enumerate().filter(|(_, value)| *value > all) {
            let why = format!("option is larger than capacity value: {all}");
            errors.invalid(path.index(at), quoted(&value.to_string()), &why);
        }
        for (at, value) in values.iter().enumerate() {
            if values[..at].iter().any(|other| other.value() == value.value()) {
                errors.duplicate(path.index(at), quoted(&value.value().to_string()));
            }
        }
    }
    if !values.contains(default) {
        let why = "default value is not valid according to the requestPolicy";
        errors.invalid(path.clone(), quoted(&default.to_string()), why);
    }
}

fn range_faults(range: &Value, default: &Quantity, all: &Quantity, path: &Path, errors: &mut ErrorList) {
    let Some(least) = quantity(range, "min") else {
        errors.required(path.child("min"), "required when validRange is defined");
        return;
    };
    let mut refuse = |member: &str, amount: &Quantity, why: String| {
        errors.invalid(path.child(member), quoted(&amount.to_string()), &why);
    };
    if least > *all {
        refuse("min", &least, format!("min is larger than capacity value: {all}"));
    }
    if *default < least {
        refuse("default", default, format!("default is less than min: {least}"));
    }
    let most = quantity(range, "max");
    if let Some(most) = &most {
        if least > *most {
            refuse("max", &least, format!("min is larger than max: {most}"));
        }
        if most > all {
            refuse("max", most, format!("max is larger than capacity value: {all}"));
        }
        if default > most {
            refuse("default", default, format!("default is more than max: {most}"));
        }
    }
    let Some(step) = quantity(range, "step") else { return };
    if step.sign() <= 0 {
        refuse("step", &step, "must be greater than zero".into());
        return;
    }
    let mut one = least.clone();
    one.add(&step);
    if one > *all {
        refuse("step", &step, format!("one step {one} is larger than capacity value: {all}"));
    }
    for amount in [Some(default), most.as_ref()].into_iter().flatten() {
        let off = i128::from(amount.value()) - i128::from(least.value());
        if step.value() > 0 && off % i128::from(step.value()) != 0 {
            let why = format!("value is not a multiple of a given step ({step}) from ({least})");
            refuse("step", amount, why);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faults_of_policies() {
        let table = [
            (true, r#"{"default":"2","validValues":["1","2"]}"#, "[]"),
            (
                false,
                r#"{"default":"2"}"#,
                "p.requestPolicy: Forbidden: allowMultipleAllocations must be true",
            ),
            (
                true,
                r#"{"validRange":{"min":"1"}}"#,
                "p.requestPolicy.default: Required value: required when validRange is defined",
            ),
            (
                true,
                r#"{"default":"4","validRange":{"min":"1","step":"2"}}"#,
                "p.requestPolicy.validRange.step: Invalid value: \"4\": value is not a multiple of a given step (2) from (1)",
            ),
            (
                true,
                r#"{"default":"3","validValues":["1","2"]}"#,
                "p.requestPolicy.validValues: Invalid value: \"3\": default value is not valid according to the requestPolicy",
            ),
        ];
        for (shared, policy, expected) in table {
            let text = format!(r#"{{"value":"8","requestPolicy":{policy}}}"#);
            let mut errors = ErrorList::new();
            let capacity = apiwright_json::decode(text.as_bytes()).unwrap().0;
            super::faults(&capacity, shared, &Path::new("p"), &mut errors);
            assert_eq!(errors.aggregate(), expected, "{policy}");
        }
    }
}
