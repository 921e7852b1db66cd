//! Resource claims: what a pod claims, and which claims its containers use.

use std::collections::HashSet;

use apiwright_json::Value;
use apiwright_meta::field::{Kind, go_value, quoted};
use apiwright_meta::{Path, names};

use super::validate::Context;
use crate::hooks::shared::cells;
use crate::hooks::shared::faults::Faults;

/// The faults of a pod's claims.
pub(super) fn faults(context: &Context<'_>, path: &Path, out: &mut Faults<'_>) {
    let mut seen = HashSet::new();
    for (at, claim) in cells::items(context.spec, &["resourceClaims"]).iter().enumerate() {
        let path = path.index(at);
        match claim.text_at(&["name"]) {
            "" => out.required(path.child("name"), ""),
            name if !seen.insert(name) => out.duplicate(path.child("name"), quoted(name)),
            name => out.invalid_each(&path.child("name"), name, names::dns1123_label(name)),
        }
        let sources = ["resourceClaimName", "resourceClaimTemplateName"];
        let why = match sources.map(|source| claim.get(source).is_some()) {
            [true, true] => {
                "at most one of `resourceClaimName` or `resourceClaimTemplateName` may be specified"
            }
            [false, false] => "must specify one of: `resourceClaimName`, `resourceClaimTemplateName`",
            _ => "",
        };
        if !why.is_empty() {
            out.invalid(path.clone(), dump(claim), why);
        }
        for source in sources {
            if let Some(name) = claim.get(source).and_then(Value::as_str) {
                out.invalid_each(&path.child(source), name, names::dns1123_subdomain(name));
            }
        }
    }
}

/// The faults of the claims that a container uses.
pub(super) fn used(requirements: &Value, known: &[&str], path: &Path, out: &mut Faults<'_>) {
    let mut seen = HashSet::new();
    for (at, claim) in cells::items(requirements, &["claims"]).iter().enumerate() {
        let path = path.index(at);
        let (name, request) = (claim.text_at(&["name"]), claim.text_at(&["request"]));
        if name.is_empty() {
            out.required(path, "");
            continue;
        }
        twice(name, request, &mut seen, &path, out);
        if !known.contains(&name) {
            let mut body = format!("Not found: {}", quoted(name));
            if known.is_empty() {
                body.push_str(": must be one of the names in pod.spec.resourceClaims which is empty");
            } else {
                body.push_str(": must be one of the names in pod.spec.resourceClaims: ");
                body.push_str(&known.join(", "));
            }
            out.push(path, Kind::NotFound, body);
        }
    }
}

/// All of a claim, or one of its requests, is used once.
fn twice(name: &str, request: &str, seen: &mut HashSet<String>, path: &Path, out: &mut Faults<'_>) {
    if seen.contains(name) {
        out.duplicate(path.clone(), quoted(name));
        return;
    }
    if request.is_empty() {
        let of_it = |one: &&String| one.split_once('/').is_some_and(|(claim, _)| claim == name);
        for _ in seen.iter().filter(of_it) {
            out.duplicate(path.clone(), quoted(name));
        }
        seen.insert(name.to_owned());
        return;
    }
    out.invalid_each(&path.child("request"), request, names::dns1123_label(request));
    let one = format!("{name}/{request}");
    if seen.contains(&one) {
        out.duplicate(path.clone(), quoted(&one));
    }
    seen.insert(one);
}

/// As Go's encoder prints upstream's internal type.
fn dump(claim: &Value) -> String {
    let shown = |member: &str| claim.get(member).map_or_else(|| "null".to_owned(), go_value);
    format!(
        "{{\"Name\":{},\"ResourceClaimName\":{},\"ResourceClaimTemplateName\":{}}}",
        quoted(claim.text_at(&["name"])),
        shown("resourceClaimName"),
        shown("resourceClaimTemplateName"),
    )
}
