//! How much containers and pods ask for, and get at most.

use std::collections::HashSet;

use apiwright_json::{Object, Value};
use apiwright_meta::Path;
use apiwright_meta::field::quoted;
use apiwright_meta::quantity::Quantity;

use super::claims;
use super::validate::Context;
use crate::hooks::shared::cells;
use crate::hooks::shared::faults::Faults;
use crate::hooks::shared::resources;

const POD_LEVEL: [&str; 2] = ["cpu", "memory"];

/// The faults of a container's requirements.
pub(super) fn container(context: &Context<'_>, container: &Value, path: &Path, out: &mut Faults<'_>) {
    let Some(requirements) = container.get("resources") else { return };
    amounts(requirements, path, resources::container_name_faults, out);
    claims::used(requirements, &context.claims, &path.child("claims"), out);
}

/// The faults of amounts as of a container that gets no more than them.
pub fn limits(amounts: &Value, path: &Path, out: &mut Faults<'_>) {
    let requirements = Object::from_iter([("limits", amounts.clone())]);
    self::amounts(&requirements.into(), path, resources::container_name_faults, out);
}

/// The faults of a pod's own requirements.
pub(super) fn pod_level(context: &Context<'_>, path: &Path, out: &mut Faults<'_>) {
    let Some(requirements) = context.spec.get("resources") else { return };
    if !cells::items(requirements, &["claims"]).is_empty() {
        out.forbidden(path.child("claims"), "claims cannot be set for Resources at pod-level");
    }
    amounts(
        requirements,
        path,
        |name, path, errors| {
            resources::container_name_faults(name, path, errors);
            if !POD_LEVEL.contains(&name) && !resources::is_huge_page(name) {
                let known = ["cpu", "hugepages-", "memory"];
                errors.not_supported(path.clone(), quoted(name), &known);
            }
        },
        out,
    );
    aggregates(context, requirements, path, out);
}

/// The pod asks for as much as its containers, and none gets more than the pod.
fn aggregates(context: &Context<'_>, requirements: &Value, path: &Path, out: &mut Faults<'_>) {
    let containers = cells::items(context.spec, &["containers"]);
    for name in POD_LEVEL {
        let mut sum = Quantity::default();
        for container in containers {
            if let Some(amount) = amount(container.get("resources"), "requests", name) {
                sum.add(&amount);
            }
        }
        let own = amount(Some(requirements), "requests", name).unwrap_or_default();
        if sum > own {
            let why = format!("must be greater than or equal to aggregate container requests of {sum}");
            out.invalid(path.child("requests").key(name), quoted(&own.to_string()), &why);
        }
    }
    for (at, container) in containers.iter().enumerate() {
        for name in POD_LEVEL {
            let limit = amount(container.get("resources"), "limits", name);
            let own = amount(Some(requirements), "limits", name);
            if let (Some(limit), Some(own)) = (limit, own)
                && limit > own
            {
                let path = path.child("containers").index(at).key(name).child("limits");
                let why = format!("must be less than or equal to pod limits of {own}");
                out.invalid(path, quoted(&limit.to_string()), &why);
            }
        }
    }
}

/// The faults of what a pod needs besides its containers.
pub(super) fn overhead(spec: &Value, path: &Path, out: &mut Faults<'_>) {
    if let Some(overhead) = spec.get("overhead") {
        limits(overhead, path, out);
    }
}

/// How resources may change while the container runs.
pub(super) fn resize_policy(context: &Context<'_>, container: &Value, path: &Path, out: &mut Faults<'_>) {
    let mut seen = HashSet::new();
    for (at, policy) in cells::items(container, &["resizePolicy"]).iter().enumerate() {
        let (name, restart) = (policy.text_at(&["resourceName"]), policy.text_at(&["restartPolicy"]));
        if !seen.insert(name) {
            out.duplicate(path.index(at), quoted(name));
        }
        known(name, &POD_LEVEL, path, out);
        known(restart, &["NotRequired", "RestartContainer"], path, out);
        if context.spec.text_at(&["restartPolicy"]) == "Never" && restart != "NotRequired" {
            let why = "must be 'NotRequired' when `restartPolicy` is 'Never'";
            out.invalid(path.clone(), quoted(restart), why);
        }
    }
}

fn known(text: &str, values: &[&str], path: &Path, out: &mut Faults<'_>) {
    if text.is_empty() {
        out.required(path.clone(), "");
    } else if !values.contains(&text) {
        out.not_supported(path.clone(), quoted(text), values);
    }
}

/// What is said of a request that is above its limit.
pub fn request_above_limit(name: &str, request: &Quantity, limit: &Quantity) -> Option<String> {
    let overcommit = resources::is_overcommit_allowed(name);
    if !overcommit && request != limit {
        return Some(format!("must be equal to {name} limit of {limit}"));
    }
    (request > limit).then(|| format!("must be less than or equal to {name} limit of {limit}"))
}

/// The faults of limits and requests.
fn amounts(
    requirements: &Value,
    path: &Path,
    name_faults: impl Fn(&str, &Path, &mut apiwright_meta::ErrorList),
    out: &mut Faults<'_>,
) {
    let (limits, requests) = (path.child("limits"), path.child("requests"));
    let (mut huge_pages, mut others) = (false, false);
    let mut look_at = |name: &str, amount: &Value, path: &Path, out: &mut Faults<'_>| {
        let path = path.key(name);
        name_faults(name, &path, out);
        let parsed = Quantity::from_value(amount).ok()?;
        resources::amount_faults(name, &parsed, &path, out);
        huge_pages |= resources::is_huge_page(name);
        others |= POD_LEVEL.contains(&name);
        Some(parsed)
    };
    for (name, amount) in list(requirements, "limits") {
        if let Some(amount) = look_at(name, amount, &limits, out) {
            whole_pages(name, &amount, &limits.key(name), out);
        }
    }
    for (name, request) in list(requirements, "requests") {
        let Some(request) = look_at(name, request, &requests, out) else { continue };
        match amount(Some(requirements), "limits", name) {
            Some(limit) => {
                if let Some(why) = request_above_limit(name, &request, &limit) {
                    out.invalid(requests.clone(), quoted(&request.to_string()), &why);
                }
            }
            None if !resources::is_overcommit_allowed(name) => {
                out.required(limits.clone(), "Limit must be set for non overcommitable resources");
            }
            None => {}
        }
        whole_pages(name, &request, &requests.key(name), out);
    }
    if huge_pages && !others {
        out.forbidden(path.clone(), "HugePages require cpu or memory");
    }
}

/// Huge pages come as a whole.
fn whole_pages(name: &str, amount: &Quantity, path: &Path, out: &mut Faults<'_>) {
    let Some(size) = name.strip_prefix("hugepages-") else { return };
    let fits = Quantity::parse(size).is_ok_and(|size| {
        size.sign() > 0 && size.milli_value() % 1000 == 0 && amount.value() % size.value() == 0
    });
    if !fits {
        let why = format!("{amount} is not positive integer multiple of {name}");
        out.invalid(path.clone(), quoted(&amount.to_string()), &why);
    }
}

fn list<'a>(object: &'a Value, member: &str) -> impl Iterator<Item = (&'a apiwright_json::Str, &'a Value)> {
    object.get(member).and_then(Value::as_object).into_iter().flat_map(Object::iter)
}

fn amount(requirements: Option<&Value>, list: &str, name: &str) -> Option<Quantity> {
    Quantity::from_value(requirements?.at(&[list, name])?).ok()
}
