//! What makes a PriorityLevelConfiguration valid.

use apiwright_json::Value;
use apiwright_meta::field::quoted;
use apiwright_meta::{ErrorList, Path, object};

const EXEMPT: &str = "exempt";
const QUEUES_MAX: i64 = 10_000_000;
/// As many bits of a hash are there to deal a hand of queues.
const HASH_BITS_MAX: i64 = 60;

/// The faults of a level.
pub(super) fn level(level: &Value, errors: &mut ErrorList) {
    let (path, kind) = (Path::new("spec"), level.text_at(&["spec", "type"]));
    let (exempt, limited) = (level.at(&["spec", "exempt"]), level.at(&["spec", "limited"]));
    if (object::name(level) == EXEMPT) != (kind == "Exempt") {
        let why = "type must be 'Exempt' if and only if name is 'exempt'";
        errors.invalid(path.child("type"), quoted(kind), why);
    }
    match kind {
        "Exempt" => {
            if limited.is_some() {
                errors.forbidden(path.child("limited"), "must be nil if the type is not Limited");
            }
            if let Some(exempt) = exempt {
                let path = path.child("exempt");
                at_least_none(
                    exempt,
                    "nominalConcurrencyShares",
                    "must be a non-negative integer",
                    &path,
                    errors,
                );
                percent(exempt, &path, errors);
            }
        }
        "Limited" => {
            if exempt.is_some() {
                errors.forbidden(path.child("exempt"), "must be nil if the type is Limited");
            }
            match limited {
                None => errors.required(path.child("limited"), "must not be empty when type is Limited"),
                Some(limited) => limited_faults(limited, &path.child("limited"), errors),
            }
        }
        other => errors.not_supported(path.child("type"), quoted(other), &["Exempt", "Limited"]),
    }
}

fn number(object: &Value, member: &str) -> i64 {
    object.get(member).and_then(Value::as_i64).unwrap_or_default()
}

fn at_least_none(object: &Value, member: &str, why: &str, path: &Path, errors: &mut ErrorList) {
    if number(object, member) < 0 {
        errors.invalid(path.child(member), number(object, member), why);
    }
}

fn percent(object: &Value, path: &Path, errors: &mut ErrorList) {
    let percent = number(object, "lendablePercent");
    if !(0..=100).contains(&percent) {
        errors.invalid(path.child("lendablePercent"), percent, "must be between 0 and 100, inclusive");
    }
}

fn limited_faults(limited: &Value, path: &Path, errors: &mut ErrorList) {
    at_least_none(limited, "nominalConcurrencyShares", "must be a non-negative integer", path, errors);
    let response = limited.get("limitResponse").unwrap_or(&Value::Null);
    response_faults(response, &path.child("limitResponse"), errors);
    percent(limited, path, errors);
    let why = "if specified, must be a non-negative integer";
    at_least_none(limited, "borrowingLimitPercent", why, path, errors);
}

fn response_faults(response: &Value, path: &Path, errors: &mut ErrorList) {
    let (queuing, at) = (response.get("queuing"), path.child("queuing"));
    match (response.text_at(&["type"]), queuing) {
        ("Reject", Some(_)) => {
            errors.forbidden(at, "must be nil if limited.limitResponse.type is not Limited");
        }
        ("Queue", None) => {
            errors.required(at, "must not be empty if limited.limitResponse.type is Limited");
        }
        ("Queue", Some(queuing)) => queuing_faults(queuing, &at, errors),
        ("Reject", None) => {}
        (other, _) => errors.not_supported(path.child("type"), quoted(other), &["Queue", "Reject"]),
    }
}

fn queuing_faults(queuing: &Value, path: &Path, errors: &mut ErrorList) {
    let (queues, hand) = (number(queuing, "queues"), number(queuing, "handSize"));
    let positive = |member: &str, errors: &mut ErrorList| {
        let is_positive = number(queuing, member) > 0;
        if !is_positive {
            errors.invalid(path.child(member), number(queuing, member), "must be positive");
        }
        is_positive
    };
    positive("queueLengthLimit", errors);
    if positive("queues", errors) && queues > QUEUES_MAX {
        let why = format!("must not be greater than {QUEUES_MAX}");
        errors.invalid(path.child("queues"), queues, &why);
    }
    if !positive("handSize", errors) {
        return;
    }
    if hand > queues {
        let why = format!("should not be greater than queues ({queues})");
        errors.invalid(path.child("handSize"), hand, &why);
    } else if hash_bits(queues, hand) > HASH_BITS_MAX {
        let why = format!(
            "required entropy bits of deckSize {queues} and handSize {hand} should not be greater than {HASH_BITS_MAX}"
        );
        errors.invalid(path.child("handSize"), hand, &why);
    }
}

/// How many bits it takes to choose a hand of queues.
fn hash_bits(queues: i64, hand: i64) -> i64 {
    ((queues as f64).log2() * hand as f64).ceil() as i64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faults_of_levels() {
        let queuing = |queuing: &str| {
            format!(
                r#"{{"type":"Limited","limited":{{"limitResponse":{{"type":"Queue","queuing":{queuing}}}}}}}"#
            )
        };
        let table = [
            (queuing(r#"{"queues":64,"handSize":8,"queueLengthLimit":50}"#), "[]"),
            (
                queuing(r#"{"queues":2,"handSize":8,"queueLengthLimit":50}"#),
                "spec.limited.limitResponse.queuing.handSize: Invalid value: 8: should not be greater than queues (2)",
            ),
            (
                queuing(r#"{"queues":64,"handSize":11,"queueLengthLimit":50}"#),
                "spec.limited.limitResponse.queuing.handSize: Invalid value: 11: required entropy bits of deckSize 64 \
                 and handSize 11 should not be greater than 60",
            ),
            (
                r#"{"type":"Exempt"}"#.to_owned(),
                "spec.type: Invalid value: \"Exempt\": type must be 'Exempt' if and only if name is 'exempt'",
            ),
            (
                r#"{"type":"Limited"}"#.to_owned(),
                "spec.limited: Required value: must not be empty when type is Limited",
            ),
            (
                r#"{"type":""}"#.to_owned(),
                "spec.type: Unsupported value: \"\": supported values: \"Exempt\", \"Limited\"",
            ),
        ];
        for (spec, expected) in table {
            let level = apiwright_json::decode(format!(r#"{{"spec":{spec}}}"#).as_bytes()).unwrap().0;
            let mut errors = ErrorList::new();
            super::level(&level, &mut errors);
            assert_eq!(errors.aggregate(), expected, "{spec}");
        }
    }
}
