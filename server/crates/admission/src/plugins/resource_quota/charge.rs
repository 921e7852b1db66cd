//! What a request costs each quota of its namespace, or why it costs too much. Pure.

use apiwright_json::Value;
use apiwright_meta::object;
use apiwright_meta::quantity::Quantity;
use apiwright_meta::status::Result;

use super::evaluator::Evaluator;
use super::{hard_and_used, scopes};
use crate::attributes::{Attributes, Operation};
use crate::plugins::values::{ResourceList, add};

/// A quota's usage once the request has happened.
pub(crate) struct Charge {
    pub(crate) quota: Value,
    pub(crate) used: ResourceList,
}

/// The charges of a request, in the order of the quotas.
///
/// # Errors
/// 403 in upstream's words: what must be specified, or what exceeds which quota.
pub(crate) fn charge<'a>(
    quotas: impl Iterator<Item = &'a Value>,
    evaluator: &Evaluator,
    request: &Attributes<'_>,
    object: &Value,
    old: Option<&Value>,
) -> Result<Vec<Charge>> {
    let forbid = |why: String| request.forbid(Some(object), why);
    let mut relevant = Vec::new();
    for quota in quotas {
        let (hard, used) = hard_and_used(quota);
        let restricted = evaluator.restricted(hard.keys());
        if restricted.is_empty() || !scopes::cover(quota, evaluator, object) {
            continue;
        }
        let name = object::name(quota);
        evaluator
            .required(&restricted, object)
            .map_err(|why| forbid(format!("failed quota: {name}: {why}")))?;
        if restricted.iter().any(|resource| !used.contains_key(resource)) {
            let resources = restricted.join(",");
            return Err(forbid(format!("status unknown for quota: {name}, resources: {resources}")));
        }
        relevant.push((quota, hard, used));
    }
    let usage = evaluator.usage(object);
    let negative: Vec<&str> =
        usage.iter().filter(|(_, amount)| amount.sign() < 0).map(|(name, _)| name.as_str()).collect();
    if !negative.is_empty() {
        return Err(forbid(format!("quota usage is negative for resource(s): {}", negative.join(","))));
    }

    let mut charges = Vec::new();
    for (quota, hard, used) in relevant {
        let before =
            old.filter(|old| request.operation == Operation::Update && scopes::cover(quota, evaluator, old));
        let mut delta = match before {
            Some(old) => growth(&usage, &evaluator.usage(old)),
            None => usage.clone(),
        };
        delta.retain(|name, amount| !amount.is_zero() && hard.contains_key(name));
        if delta.is_empty() {
            continue;
        }
        let mut after = used.clone();
        add(&mut after, &delta);
        let exceeds = |name: &&String| after.get(*name) > hard.get(*name);
        let exceeded: Vec<&String> = delta.keys().filter(exceeds).collect();
        if !exceeded.is_empty() {
            return Err(forbid(format!(
                "exceeded quota: {}, requested: {}, used: {}, limited: {}",
                object::name(quota),
                shown(&delta, &exceeded),
                shown(&used, &exceeded),
                shown(&hard, &exceeded)
            )));
        }
        charges.push(Charge { quota: quota.clone(), used: after });
    }
    Ok(charges)
}

/// How much more one usage is than another; less counts as nothing.
fn growth(usage: &ResourceList, before: &ResourceList) -> ResourceList {
    let zero = Quantity::default();
    usage
        .iter()
        .map(|(name, amount)| {
            let mut grown = amount.clone();
            if let Some(before) = before.get(name) {
                grown.sub(before);
            }
            (name.clone(), if grown > zero { grown } else { zero.clone() })
        })
        .collect()
}

/// `pods=1,requests.cpu=300m`.
fn shown(list: &ResourceList, names: &[&String]) -> String {
    let parts: Vec<String> =
        names.iter().filter_map(|name| Some(format!("{name}={}", list.get(*name)?))).collect();
    parts.join(",")
}
