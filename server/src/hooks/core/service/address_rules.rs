//! Addresses of a Service: how they may change, and those that others wrote into its status.

use apiwright_json::Value;
use apiwright_meta::address::{parse_ip, validate_legacy_ip};
use apiwright_meta::field::quoted;
use apiwright_meta::{ErrorList, Path, names};

use crate::services::spec::{Spec, list};

const FINAL: &str = "may not change once set";

/// The faults of an update: a second address and family may come and go, the first may not.
pub(super) fn update(new: Spec<'_>, old: Spec<'_>, errors: &mut ErrorList) {
    if new.is_headless() && old.is_headless() {
        return;
    }
    let path = Path::new("spec").child("clusterIPs");
    second(new, old, "clusterIPs", ["clusterIP", "clusterIP"], &path, errors);
    if new.is_headless() == old.is_headless() {
        let path = Path::new("spec").child("ipFamilies");
        second(new, old, "ipFamilies", ["ipFamily", "ipFamily"], &path, errors);
    }
}

fn second(
    new: Spec<'_>,
    old: Spec<'_>,
    member: &str,
    [first_word, second_word]: [&str; 2],
    path: &Path,
    errors: &mut ErrorList,
) {
    let (now, before) = (new.texts(member), old.texts(member));
    let shown = || list(new, member);
    if now.len() == before.len() {
        for (at, _) in before.iter().zip(&now).enumerate().filter(|(_, (before, now))| before != now) {
            // Upstream names the first family, whichever changed.
            let at = if member == "ipFamilies" { 0 } else { at };
            errors.invalid(path.index(at), shown(), FINAL);
        }
        return;
    }
    let released = before.len() > now.len();
    if released && new.items("clusterIPs").is_empty() {
        errors.invalid(path.index(0), shown(), &format!("primary {first_word} can not be unset"));
    }
    if let (Some(now), Some(before)) = (now.first(), before.first())
        && now != before
    {
        errors.invalid(path.index(0), list(new, "clusterIPs"), FINAL);
    }
    let policy = new.text("ipFamilyPolicy");
    if released && now.len() == 1 && policy != "SingleStack" {
        let shown = if policy.is_empty() { "null".into() } else { quoted(policy) };
        let why = format!("must be set to 'SingleStack' when releasing the secondary {second_word}");
        errors.invalid(Path::new("spec").child("ipFamilyPolicy"), shown, &why);
    }
}

/// The faults of a load balancer's address.
pub(super) fn ingress(ingress: &Value, path: &Path, errors: &mut ErrorList) {
    let (ip, host) = (ingress.text_at(&["ip"]), ingress.text_at(&["hostname"]));
    if !ip.is_empty() {
        errors.append(validate_legacy_ip(&path.child("ip"), ip));
    }
    let mode = path.child("ipMode");
    match ingress.get("ipMode").and_then(Value::as_str) {
        None if !ip.is_empty() => errors.required(mode, "must be specified when `ip` is set"),
        Some(_) if ip.is_empty() => errors.forbidden(mode, "may not be specified when `ip` is not set"),
        None | Some("Proxy" | "VIP") => {}
        Some(other) => errors.not_supported(mode, quoted(other), &["Proxy", "VIP"]),
    }
    if !host.is_empty() {
        errors.invalid_each(&path.child("hostname"), host, names::dns1123_subdomain(host));
        if parse_ip(host).is_some() {
            errors.invalid(path.child("hostname"), quoted(host), "must be a DNS name, not an IP address");
        }
    }
}
