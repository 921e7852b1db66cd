//! Controllers name what there is: resources, each other, the servers that run them.

use std::collections::BTreeMap;

use crate::check::index::{Index, homes};
use crate::diagnostic::{Diagnostics, Spanned, list};
use crate::spec::{Controller, KeyFrom};

/// Reports names that mean nothing, or two things.
pub(super) fn check(index: &Index<'_>, problems: &mut Diagnostics) {
    let controllers = &index.spec.controllers;
    let names: Vec<&str> = controllers.iter().map(|one| one.name.as_str()).collect();
    for controller in controllers {
        if controller.workers == 0 {
            problems.report(&controller.name.at, "a controller has at least one worker");
        }
        for name in &controller.after {
            known(name, &names, problems);
        }
    }
    resources(index, problems);
    aliases(controllers, problems);
    cycles(controllers, problems);
    servers(index, &names, problems);
}

fn known(name: &Spanned<String>, names: &[&str], problems: &mut Diagnostics) {
    if !names.contains(&name.as_str()) {
        problems.report_unknown(&name.at, "controller", name, names.iter().copied());
    }
}

fn resources(index: &Index<'_>, problems: &mut Diagnostics) {
    let there: Vec<String> = homes(index.spec)
        .flat_map(|home| {
            let group = home.group.name.as_str();
            let prefix = if group.is_empty() { String::new() } else { format!("{group}/") };
            let version = home.version.name.as_str();
            home.version
                .resources
                .iter()
                .filter(|resource| resource.storage.is_some())
                .map(move |resource| format!("{prefix}{version}/{}", *resource.plural))
        })
        .collect();
    for watch in index.spec.controllers.iter().flat_map(|one| &one.watches) {
        let resource = watch.resource.as_str();
        if resource == "all" && watch.from != KeyFrom::Hook {
            let help = "say `key: hook`, and which keys a change is about in Rust";
            problems.report_with_help(&watch.resource.at, "all resources have no key in common", help);
        } else if resource != "all" && !there.iter().any(|one| one == resource) {
            let known = there.iter().map(String::as_str);
            problems.report_unknown(&watch.resource.at, "resource", resource, known);
        }
    }
}

fn aliases(controllers: &[Controller], problems: &mut Diagnostics) {
    let mut meant: BTreeMap<&str, &str> =
        controllers.iter().map(|one| (one.name.as_str(), one.name.as_str())).collect();
    for controller in controllers {
        for alias in &controller.aliases {
            if let Some(other) = meant.insert(alias, &controller.name) {
                problems.report(&alias.at, format!("`{}` is already a name of `{other}`", **alias));
            }
        }
    }
}

/// Controllers that wait for each other wait for ever.
fn cycles(controllers: &[Controller], problems: &mut Diagnostics) {
    let waits: BTreeMap<&str, &Controller> = controllers.iter().map(|one| (one.name.as_str(), one)).collect();
    for controller in controllers {
        let mut seen: Vec<&str> = Vec::new();
        let mut next: Vec<&str> = controller.after.iter().map(|name| name.as_str()).collect();
        while let Some(name) = next.pop() {
            if !seen.contains(&name) {
                seen.push(name);
                next.extend(waits.get(name).into_iter().flat_map(|one| &one.after).map(|name| name.as_str()));
            }
        }
        if seen.contains(&controller.name.as_str())
            && let Some(first) = controller.after.first()
        {
            problems.report(
                &first.at,
                format!("`{}` waits for itself, by way of {}", *controller.name, list(&seen)),
            );
        }
    }
}

/// Every controller is some server's.
fn servers(index: &Index<'_>, names: &[&str], problems: &mut Diagnostics) {
    let mut runs: BTreeMap<&str, &str> = BTreeMap::new();
    for server in index.spec.chain.iter().flat_map(|chain| &chain.servers) {
        for name in &server.controllers {
            known(name, names, problems);
            if let Some(other) = runs.insert(name, server.kind.value) {
                problems.report(&name.at, format!("`{}` is already run by {other}", **name));
            }
        }
    }
    if index.spec.chain.is_none() {
        return;
    }
    for controller in &index.spec.controllers {
        if !runs.contains_key(controller.name.as_str()) && !controller.name.is_empty() {
            let help = "name it in the `controllers` of a server in chain.yaml";
            let message = format!("no server runs `{}`", *controller.name);
            problems.report_with_help(&controller.name.at, message, help);
        }
    }
}
