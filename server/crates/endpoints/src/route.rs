//! From an address and a method to the one thing that is asked of a resource.
//!
//! Built-in resources have routes: a path that none has is unknown (404), a method that a path's
//! routes do not have is not allowed (405). Custom resources have verbs: whatever the path was,
//! the verb decides, as upstream's CRD handler has it.

use apiwright_chain::RequestInfo;
use apiwright_meta::Status;
use apiwright_meta::status::{Details, Reason, Result};
use apiwright_registry::{Resource, Scope, Subresource, SubresourceKind, Verb};
use http::Method;

/// What is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Action {
    /// Show one object.
    Get,
    /// Show a collection, or watch it where the options say so.
    List,
    /// Watch a collection, whatever the options say.
    Watch,
    /// Make an object.
    Create,
    /// Replace an object, or make it.
    Update,
    /// Change an object.
    Patch,
    /// Delete an object.
    Delete,
    /// Delete a collection.
    DeleteCollection,
    /// Talk to what an object stands for.
    Connect,
}

/// A route of a resource: what is asked, and of which subresource.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Route<'a> {
    /// What is asked.
    pub(crate) action: Action,
    /// `None` for the object itself.
    pub(crate) subresource: Option<&'a Subresource>,
}

/// The route of a built-in resource.
///
/// # Errors
/// 404 and 405.
pub(crate) fn built_in<'a>(resource: &'a Resource, method: &Method, info: &RequestInfo) -> Result<Route<'a>> {
    let in_namespace = resource.scope == Scope::Namespaced && !info.namespace.is_empty();
    let in_scope = match resource.scope {
        Scope::Namespaced => in_namespace,
        // The one cluster-scoped resource that is addressed as a namespace is the namespace.
        Scope::Cluster => info.namespace.is_empty() || &*resource.plural == "namespaces",
    };
    let parts: Vec<&str> = info.parts.iter().map(String::as_str).collect();
    if parts.iter().any(|part| part.is_empty()) {
        return Err(Status::no_such_resource());
    }
    let subresource = match parts.get(2) {
        Some(name) => Some(resource.subresource(name).ok_or_else(Status::no_such_resource)?),
        None => None,
    };
    let allowed: &[(Method, Action, Verb)] = match (legacy_prefix(info), parts.len(), in_scope) {
        (Some("watch"), 1, _) | (Some("watch"), 2, true) => &[(Method::GET, Action::Watch, Verb::Watch)],
        (None, 1, true) => &COLLECTION,
        (None, 1, false) if info.namespace.is_empty() => &COLLECTION[..2],
        (None, 2, true) => &OBJECT,
        (None, 3.., true) => return of_subresource(subresource, method, parts.len()),
        _ => &[],
    };
    choose(allowed, &resource.verbs, method).map(|action| Route { action, subresource: None })
}

/// The route of a custom resource.
///
/// # Errors
/// 404 for subresources that it does not have, 405 for verbs.
pub(crate) fn custom<'a>(resource: &'a Resource, info: &RequestInfo) -> Result<Route<'a>> {
    let subresource = match info.subresource.as_str() {
        "" => None,
        name => Some(
            resource
                .subresource(name)
                .ok_or_else(|| Status::not_found(&resource.group_resource(), &info.name))?,
        ),
    };
    let verbs = subresource.map_or(&resource.verbs, |subresource| &subresource.verbs);
    let (action, verb) = match info.verb.as_str() {
        "get" => (Action::Get, Verb::Get),
        "list" => (Action::List, Verb::List),
        "watch" => (Action::Watch, Verb::Watch),
        "create" => (Action::Create, Verb::Create),
        "update" => (Action::Update, Verb::Update),
        "patch" => (Action::Patch, Verb::Patch),
        "delete" => (Action::Delete, Verb::Delete),
        "deletecollection" => (Action::DeleteCollection, Verb::DeleteCollection),
        _ => return Err(not_supported(resource, &info.verb)),
    };
    if !verbs.contains(&verb) {
        return Err(not_supported(resource, &info.verb));
    }
    Ok(Route { action, subresource })
}

/// Whether a resource is to be found at this address at all: what is in another scope is not.
/// Collections of namespaced resources can be listed and watched across all namespaces.
pub(crate) fn custom_in_scope(resource: &Resource, info: &RequestInfo) -> bool {
    match resource.scope {
        Scope::Cluster => info.namespace.is_empty(),
        Scope::Namespaced => !info.namespace.is_empty() || matches!(info.verb.as_str(), "list" | "watch"),
    }
}

/// 405 in the words of handlers that dispatch by verb.
pub(crate) fn not_supported(resource: &Resource, verb: &str) -> Box<Status> {
    let named = resource.group_resource();
    let mut status = Status::failure(
        405,
        Reason::MethodNotAllowed,
        format!("{verb} is not supported on resources of kind \"{named}\""),
    );
    status.details = Some(Box::new(Details {
        group: named.group.to_string(),
        kind: named.resource.to_string(),
        ..Details::default()
    }));
    status
}

/// Lists come first: across all namespaces there is nothing else.
const COLLECTION: [(Method, Action, Verb); 4] = [
    (Method::GET, Action::List, Verb::List),
    (Method::GET, Action::List, Verb::Watch),
    (Method::POST, Action::Create, Verb::Create),
    (Method::DELETE, Action::DeleteCollection, Verb::DeleteCollection),
];

const OBJECT: [(Method, Action, Verb); 4] = [
    (Method::GET, Action::Get, Verb::Get),
    (Method::PUT, Action::Update, Verb::Update),
    (Method::PATCH, Action::Patch, Verb::Patch),
    (Method::DELETE, Action::Delete, Verb::Delete),
];

const SUBRESOURCE: [(Method, Action, Verb); 5] = [
    (Method::GET, Action::Get, Verb::Get),
    (Method::PUT, Action::Update, Verb::Update),
    (Method::PATCH, Action::Patch, Verb::Patch),
    (Method::POST, Action::Create, Verb::Create),
    (Method::DELETE, Action::Delete, Verb::Delete),
];

/// `watch` or `proxy` where the path says so before it names the resource.
fn legacy_prefix(info: &RequestInfo) -> Option<&str> {
    let version_at = if info.group.is_empty() && info.prefix == "api" { 1 } else { 2 };
    let verb = info.path.trim_matches('/').split('/').nth(version_at + 1)?;
    matches!(verb, "watch" | "proxy").then_some(verb)
}

fn of_subresource<'a>(
    subresource: Option<&'a Subresource>,
    method: &Method,
    parts: usize,
) -> Result<Route<'a>> {
    let subresource = subresource.ok_or_else(Status::no_such_resource)?;
    if let SubresourceKind::Unavailable(_) = subresource.does {
        // `exec`, `proxy` and the like take what comes, with any path behind them.
        return Ok(Route { action: Action::Connect, subresource: Some(subresource) });
    }
    if parts > 3 {
        return Err(Status::no_such_resource());
    }
    choose(&SUBRESOURCE, &subresource.verbs, method)
        .map(|action| Route { action, subresource: Some(subresource) })
}

fn choose(allowed: &[(Method, Action, Verb)], verbs: &[Verb], method: &Method) -> Result<Action> {
    let mut offered = allowed.iter().filter(|(_, _, verb)| verbs.contains(verb)).peekable();
    if offered.peek().is_none() {
        return Err(Status::no_such_resource());
    }
    offered
        .find(|(its_method, _, _)| its_method == method)
        .map(|(_, action, _)| *action)
        .ok_or_else(Status::method_not_allowed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{bindable_things, cluster_things, reviews, things};

    fn code(resource: &Resource, method: &str, path: &str) -> Result<Action, u16> {
        let method = Method::from_bytes(method.as_bytes()).expect("a method");
        let (path, query) = path.split_once('?').unwrap_or((path, ""));
        let info = RequestInfo::parse(&method, path, query).expect("a path");
        built_in(resource, &method, &info).map(|route| route.action).map_err(|status| status.code)
    }

    #[test]
    fn built_in_resources_have_routes() {
        let (things, clusters, reviews, bindable) =
            (things(), cluster_things(), reviews(), bindable_things());
        let base = "/apis/example.com/v1";
        let cases: &[(&Resource, &str, &str, Result<Action, u16>)] = &[
            (&things, "GET", "/namespaces/a/things", Ok(Action::List)),
            (&things, "GET", "/namespaces/a/things/", Ok(Action::List)),
            (&things, "GET", "/namespaces/a/things?watch=1", Ok(Action::List)),
            (&things, "GET", "/things", Ok(Action::List)),
            (&things, "POST", "/things", Err(405)),
            (&things, "DELETE", "/things", Err(405)),
            (&things, "GET", "/things/x", Err(404)),
            (&things, "POST", "/namespaces/a/things", Ok(Action::Create)),
            (&things, "PUT", "/namespaces/a/things", Err(405)),
            (&things, "DELETE", "/namespaces/a/things", Ok(Action::DeleteCollection)),
            (&things, "POST", "/namespaces/a/things/x", Err(405)),
            (&things, "HEAD", "/namespaces/a/things/x", Err(405)),
            (&things, "BREW", "/namespaces/a/things/x", Err(405)),
            (&things, "GET", "/namespaces/a/things/x", Ok(Action::Get)),
            (&things, "GET", "/namespaces/a/things/x/status", Ok(Action::Get)),
            (&things, "POST", "/namespaces/a/things/x/status", Err(405)),
            (&things, "GET", "/namespaces/a/things/x/nothing", Err(404)),
            (&things, "GET", "/namespaces/a/things/x/status/more", Err(404)),
            (&things, "GET", "/watch/namespaces/a/things", Ok(Action::Watch)),
            (&things, "GET", "/watch/namespaces/a/things/x", Ok(Action::Watch)),
            (&things, "GET", "/watch/things", Ok(Action::Watch)),
            (&things, "POST", "/watch/things", Err(405)),
            (&things, "GET", "/proxy/namespaces/a/things/x", Err(404)),
            (&clusters, "GET", "/clusterthings/x", Ok(Action::Get)),
            (&clusters, "GET", "/namespaces/a/clusterthings", Err(404)),
            (&reviews, "POST", "/reviews", Ok(Action::Create)),
            (&reviews, "GET", "/reviews", Err(405)),
            (&reviews, "GET", "/reviews/x", Err(404)),
            (&bindable, "GET", "/namespaces/a/things/x/exec/any/path", Ok(Action::Connect)),
        ];
        for (resource, method, path, expected) in cases {
            assert_eq!(code(resource, method, &format!("{base}{path}")), *expected, "{method} {path}");
        }
    }

    #[test]
    fn custom_resources_have_verbs() {
        let things = things();
        let cases = [
            ("GET", "/namespaces/a/things", Ok(Action::List), true),
            ("GET", "/things", Ok(Action::List), true),
            ("POST", "/things", Ok(Action::Create), false),
            ("GET", "/things/x", Ok(Action::Get), false),
            ("POST", "/namespaces/a/things/x", Ok(Action::Create), true),
            ("DELETE", "/namespaces/a/things/x/scale", Err(405), true),
            ("GET", "/namespaces/a/things/x/logs", Err(404), true),
        ];
        for (method, path, expected, in_scope) in cases {
            let method = Method::from_bytes(method.as_bytes()).expect("a method");
            let info =
                RequestInfo::parse(&method, &format!("/apis/example.com/v1{path}"), "").expect("a path");
            let found = custom(&things, &info).map(|route| route.action).map_err(|status| status.code);
            assert_eq!(found, expected, "{method} {path}");
            assert_eq!(custom_in_scope(&things, &info), in_scope, "{method} {path}");
        }
    }
}
