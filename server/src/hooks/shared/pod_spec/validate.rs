//! What makes a pod spec valid, in the order in which upstream looks at it.

use std::collections::HashMap;

use apiwright_json::Value;
use apiwright_meta::field::quoted;
use apiwright_meta::labels::validate_labels;
use apiwright_meta::{Path, names, object};

use super::{
    claims, containers, flag, network, number, requirements, scheduling, security, spread, volumes, windows,
};
use crate::hooks::shared::cells;
use crate::hooks::shared::faults::Faults;

/// What a pod spec belongs to.
#[derive(Clone, Copy, Debug)]
pub enum Owner<'a> {
    /// A pod of this name.
    Pod(&'a str),
    /// A template of pods that get volumes of these claims.
    Template(&'a [Value]),
}

/// A pod spec and what its parts refer to.
pub(super) struct Context<'a> {
    pub(super) spec: &'a Value,
    pub(super) owner: Owner<'a>,
    /// The volumes without faults by name, and whether a claim is behind them.
    pub(super) volumes: HashMap<&'a str, bool>,
    /// The names of the resource claims.
    pub(super) claims: Vec<&'a str>,
    /// How long the containers get to end.
    pub(super) grace_period: Option<i64>,
    /// Whether users are those of the host.
    pub(super) host_users: bool,
}

impl<'a> Context<'a> {
    fn of(spec: &'a Value, owner: Owner<'a>) -> Self {
        let claimed = match owner {
            Owner::Pod(_) => &[],
            Owner::Template(claims) => claims,
        };
        let mut claims: Vec<&str> =
            cells::items(spec, &["resourceClaims"]).iter().map(|claim| claim.text_at(&["name"])).collect();
        claims.retain(|name| !name.is_empty());
        claims.sort_unstable();
        claims.dedup();
        Self {
            spec,
            owner,
            volumes: claimed.iter().map(|claim| (object::name(claim), true)).collect(),
            claims,
            grace_period: number(spec, "terminationGracePeriodSeconds"),
            host_users: spec.get("hostUsers").and_then(Value::as_bool).unwrap_or(true),
        }
    }

    /// Whether the spec is a pod's.
    pub(super) fn is_pod(&self) -> bool {
        matches!(self.owner, Owner::Pod(_))
    }
}

/// The faults of a pod spec.
pub fn faults(spec: &Value, owner: Owner<'_>, path: &Path, out: &mut Faults<'_>) {
    let mut context = Context::of(spec, owner);
    let at = |member: &str| path.child(member);
    context.volumes.extend(volumes::faults(&context, &at("volumes"), out));
    claims::faults(&context, &at("resourceClaims"), out);
    containers::regular(&context, &at("containers"), out);
    containers::init(&context, &at("initContainers"), out);
    containers::ephemeral(&context, &at("ephemeralContainers"), out);
    requirements::pod_level(&context, &at("resources"), out);
    network::host_ports(&context, &at("containers"), out);
    out.declared(&at("restartPolicy"));
    out.declared(&at("dnsPolicy"));
    if let Some(selector) = spec.get("nodeSelector").and_then(Value::as_object) {
        out.append(validate_labels(selector, &at("nodeSelector")));
    }
    security::pod(&context, &at("securityContext"), out);
    scheduling::affinity(&context, &at("affinity"), out);
    network::dns(&context, &at("dnsConfig"), out);
    scheduling::readiness_gates(&context, &at("readinessGates"), out);
    scheduling::gates(&context, &at("schedulingGates"), out);
    spread::faults(&context, &at("topologySpreadConstraints"), out);
    windows::host_process(&context, path, out);
    host_users(&context, path, out);
    names_of_others(spec, path, out);
    scheduling::tolerations(spec, &at("tolerations"), out);
    network::host_aliases(&context, &at("hostAliases"), out);
    named(spec, "priorityClassName", path, names::dns1123_subdomain, out);
    named(spec, "runtimeClassName", path, names::dns1123_subdomain, out);
    out.declared(&at("preemptionPolicy"));
    requirements::overhead(spec, &at("overhead"), out);
    windows::os(&context, path, out);
}

/// Users of their own go with namespaces of their own.
fn host_users(context: &Context<'_>, path: &Path, out: &mut Faults<'_>) {
    if context.host_users {
        return;
    }
    for (member, shown) in [("hostNetwork", "hostNetwork"), ("hostPID", "HostPID"), ("hostIPC", "HostIPC")] {
        if flag(context.spec, member) {
            out.forbidden(path.child(shown), "when `hostUsers` is false");
        }
    }
}

fn names_of_others(spec: &Value, path: &Path, out: &mut Faults<'_>) {
    named(spec, "serviceAccountName", path, names::dns1123_subdomain, out);
    named(spec, "nodeName", path, names::dns1123_subdomain, out);
    if let Some(seconds) = number(spec, "activeDeadlineSeconds")
        && !(1..=i64::from(i32::MAX)).contains(&seconds)
    {
        let why = names::in_range(seconds, 1, i64::from(i32::MAX)).join("; ");
        out.invalid(path.child("activeDeadlineSeconds"), seconds, &why);
    }
    named(spec, "hostname", path, names::dns1123_label, out);
    named(spec, "subdomain", path, names::dns1123_label, out);
}

/// The name in a member, where there is one.
fn named(spec: &Value, member: &str, path: &Path, check: fn(&str) -> Vec<String>, out: &mut Faults<'_>) {
    let Some(name) = spec.get(member).and_then(Value::as_str) else { return };
    if name.is_empty() && member != "runtimeClassName" {
        return;
    }
    for why in check(name) {
        out.invalid(path.child(member), quoted(name), &why);
    }
}
