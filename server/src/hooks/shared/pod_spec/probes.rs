//! Probes and what runs when a container starts and stops.

use apiwright_json::Value;
use apiwright_meta::field::quoted;
use apiwright_meta::{Path, names};

use super::number;
use super::validate::Context;
use crate::hooks::shared::cells;
use crate::hooks::shared::faults::Faults;
use crate::hooks::shared::ports::port_number_or_name;

/// The members of a container that this file is about.
pub(super) const MEMBERS: [&str; 4] = ["lifecycle", "livenessProbe", "readinessProbe", "startupProbe"];

/// The faults of a container's probes and handlers.
pub(super) fn faults(context: &Context<'_>, container: &Value, path: &Path, out: &mut Faults<'_>) {
    if let Some(lifecycle) = container.get("lifecycle") {
        let path = path.child("lifecycle");
        for moment in ["postStart", "preStop"] {
            if let Some(one) = lifecycle.get(moment) {
                handler(context, one, &path.child(moment), out);
            }
        }
        if lifecycle.get("stopSignal").is_some() && context.spec.get("os").is_none() {
            out.forbidden(
                path.child("stopSignal"),
                "may not be set for containers with empty `spec.os.name`",
            );
        }
    }
    for kind in &MEMBERS[1..] {
        if let Some(one) = container.get(kind) {
            probe(context, kind, one, &path.child(kind), out);
        }
    }
}

fn probe(context: &Context<'_>, kind: &str, probe: &Value, path: &Path, out: &mut Faults<'_>) {
    handler(context, probe, path, out);
    out.declared_below(path);
    let grace = number(probe, "terminationGracePeriodSeconds");
    let grace_path = path.child("terminationGracePeriodSeconds");
    if let Some(seconds) = grace.filter(|seconds| *seconds <= 0) {
        out.invalid(grace_path.clone(), seconds, "must be greater than 0");
    }
    let successes = number(probe, "successThreshold").unwrap_or_default();
    match grace {
        Some(seconds) if kind == "readinessProbe" => {
            out.invalid(grace_path, seconds, "must not be set for readinessProbes");
        }
        _ if kind != "readinessProbe" && successes != 1 => {
            out.invalid(path.child("successThreshold"), successes, "must be 1");
        }
        _ => {}
    }
}

/// Exactly one thing is done.
fn handler(context: &Context<'_>, handler: &Value, path: &Path, out: &mut Faults<'_>) {
    let mut found = false;
    for kind in ["exec", "httpGet", "tcpSocket", "grpc", "sleep"] {
        let Some(action) = handler.get(kind) else { continue };
        let path = path.child(kind);
        if std::mem::replace(&mut found, true) {
            out.forbidden(path, "may not specify more than 1 handler type");
            continue;
        }
        match kind {
            "exec" => out.declared_below(&path),
            "httpGet" => http_get(action, &path, out),
            "sleep" => sleep(context, action, &path, out),
            _ => port_number_or_name(action.get("port"), &path.child("port"), out),
        }
    }
    if !found {
        out.required(path.clone(), "must specify a handler type");
    }
}

fn http_get(action: &Value, path: &Path, out: &mut Faults<'_>) {
    if action.text_at(&["path"]).is_empty() {
        out.required(path.child("path"), "");
    }
    port_number_or_name(action.get("port"), &path.child("port"), out);
    out.declared(&path.child("scheme"));
    for header in cells::items(action, &["httpHeaders"]) {
        let name = header.text_at(&["name"]);
        for why in names::http_header_name(name) {
            out.invalid(path.child("httpHeaders"), quoted(name), &why);
        }
    }
}

fn sleep(context: &Context<'_>, action: &Value, path: &Path, out: &mut Faults<'_>) {
    let seconds = number(action, "seconds").unwrap_or_default();
    if let Some(grace) = context.grace_period.filter(|grace| !(0..=*grace).contains(&seconds)) {
        let why = format!("must be non-negative and less than terminationGracePeriodSeconds ({grace})");
        out.invalid(path.clone(), seconds, &why);
    }
}
