//! The answers of `/api`, `/apis` and the documents below them.
//!
//! Upstream serves these paths from two places with two ways to refuse a form: REST routes
//! (`/api`, `/api/<version>`, `/apis/<group>/<version>`), which look at media types alone first,
//! and plain handlers (`/apis`, `/apis/<group>`). Clients can tell, so the table below does, too.

use std::sync::Arc;

use apiwright_chain::negotiate::{Clause, accept, parse_accept};
use apiwright_chain::respond::{self, with_header};
use apiwright_chain::{Form, Media, Pages, Request, Response};
use apiwright_json::Value;
use apiwright_meta::Status;
use apiwright_meta::status::{Details, Reason};
use apiwright_registry::typed::Types;
use apiwright_schema::{Struct, proto};
use futures::future::BoxFuture;
use http::header::{CACHE_CONTROL, ETAG, HeaderValue, IF_NONE_MATCH, VARY};
use http::{Method, StatusCode};

use crate::aggregated::Aggregated;
use crate::source::{Discovery, Snapshot};

const AGGREGATED: &str = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";
const AGGREGATED_PROTOBUF: &str =
    "application/vnd.kubernetes.protobuf;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";
const FORMS: &str = "application/json, application/yaml, application/vnd.kubernetes.protobuf";

/// Answers discovery requests from what the links have declared.
pub struct DiscoveryHandler {
    discovery: Arc<Discovery>,
    types: Types,
    address: String,
}

/// A discovery path.
enum Target<'a> {
    Core,
    Groups { slash: bool },
    Group(&'a str),
    Version(&'a str, &'a str),
}

impl DiscoveryHandler {
    /// `types` finds the types of the documents, for protobuf; `address` is where clients reach
    /// this server, as `/api` tells it.
    pub fn new(discovery: Arc<Discovery>, types: Types, address: String) -> Self {
        Self { discovery, types, address }
    }

    fn respond(&self, request: &Request) -> Option<Response> {
        let target = target(&request.info.path)?;
        let snapshot = self.discovery.snapshot();
        if !exists(&target, &snapshot) {
            return None;
        }
        let routed = matches!(target, Target::Core | Target::Version(..));
        if routed && request.head.method != Method::GET && request.head.method != Method::HEAD {
            return Some(respond::failure(&request.head, &Status::method_not_allowed()));
        }
        if routed && !media_type_is_spoken(request) {
            return Some(respond::failure(&request.head, &no_representation()));
        }
        Some(self.document(request, &target, &snapshot).unwrap_or_else(|| {
            let message = format!("only the following media types are accepted: {FORMS}");
            respond::failure(&request.head, &Status::failure(406, Reason::NotAcceptable, message))
        }))
    }

    /// The document in the form that is asked for; `None` where there is no such form.
    fn document(&self, request: &Request, target: &Target<'_>, snapshot: &Snapshot) -> Option<Response> {
        match target {
            Target::Core => {
                if let Some(media) = asks_for_aggregated(request) {
                    return Some(self.aggregated(request, snapshot.aggregated_core(), media));
                }
                self.plain(request, "APIVersions", snapshot.api_versions(&self.address))
            }
            Target::Groups { slash } => {
                if let Some(media) = asks_for_aggregated(request).filter(|_| !slash) {
                    return Some(self.aggregated(request, snapshot.aggregated_groups(), media));
                }
                self.plain(request, "APIGroupList", snapshot.api_group_list())
            }
            Target::Group(group) => self.plain(request, "APIGroup", snapshot.api_group(group)?),
            Target::Version(group, version) => {
                self.plain(request, "APIResourceList", snapshot.api_resource_list(group, version)?)
            }
        }
    }

    fn plain(&self, request: &Request, kind: &str, document: Value) -> Option<Response> {
        let form = Form::plain(&request.head)?;
        let body = match form.media {
            Media::Protobuf => {
                let ty = (self.types)(&format!("io.k8s.apimachinery.pkg.apis.meta.v1.{kind}"))?;
                protobuf(&ty, &document, "v1", kind)?
            }
            Media::Json | Media::Yaml => respond::encode_value(form, &document),
        };
        Some(respond::bytes(200, form.media.mime(), body))
    }

    /// The aggregated document, or 304 where the client has it already.
    fn aggregated(&self, request: &Request, document: &Aggregated, media: Media) -> Response {
        let known = request.header(IF_NONE_MATCH).is_some_and(|tag| tag == document.etag);
        let mut response = match media {
            _ if known => {
                let mut response = Response::default();
                *response.status_mut() = StatusCode::NOT_MODIFIED;
                response
            }
            Media::Protobuf => match (self.types)("io.k8s.api.apidiscovery.v2.APIGroupDiscoveryList") {
                Some(ty) => {
                    let kind = "APIGroupDiscoveryList";
                    let body =
                        protobuf(&ty, &document.value, "apidiscovery.k8s.io/v2", kind).unwrap_or_default();
                    respond::bytes(200, AGGREGATED_PROTOBUF, body)
                }
                None => respond::bytes(200, AGGREGATED, document.json.clone()),
            },
            Media::Json | Media::Yaml => respond::bytes(200, AGGREGATED, document.json.clone()),
        };
        response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("public"));
        response.headers_mut().insert(VARY, HeaderValue::from_static("Accept"));
        with_header(response, ETAG, &document.etag)
    }
}

impl Pages for DiscoveryHandler {
    /// `None` also for what is not served: it may be another link's.
    fn answer<'a>(&'a self, request: &'a Request) -> BoxFuture<'a, Option<Response>> {
        Box::pin(async { self.respond(request) })
    }

    fn paths(&self) -> Vec<String> {
        let snapshot = self.discovery.snapshot();
        let mut paths = vec!["/api".to_owned(), "/apis".to_owned(), "/apis/".to_owned()];
        for source in snapshot.sources() {
            if source.group.is_empty() {
                paths.push(format!("/api/{}", source.version));
            } else {
                paths.push(format!("/apis/{}", source.group));
                paths.push(format!("/apis/{}/{}", source.group, source.version));
            }
        }
        paths
    }
}

/// What a path asks for. A slash at the end means the same, but for the aggregated form.
fn target(path: &str) -> Option<Target<'_>> {
    let slash = path.ends_with('/');
    let mut parts = path.strip_prefix('/')?.strip_suffix('/').unwrap_or(&path[1..]).split('/');
    let target = match (parts.next()?, parts.next(), parts.next()) {
        ("api", None, None) => Target::Core,
        ("api", Some(version), None) => Target::Version("", version),
        ("apis", None, None) => Target::Groups { slash },
        ("apis", Some(group), None) => Target::Group(group),
        ("apis", Some(group), Some(version)) => Target::Version(group, version),
        _ => return None,
    };
    parts.next().is_none().then_some(target)
}

fn exists(target: &Target<'_>, snapshot: &Snapshot) -> bool {
    match target {
        Target::Core | Target::Groups { .. } => true,
        Target::Group(group) => !snapshot.versions(group).is_empty(),
        Target::Version(group, version) => snapshot.version(group, version).is_some(),
    }
}

/// Whether any alternative asks for the aggregated document; it wins wherever it is listed.
fn asks_for_aggregated(request: &Request) -> Option<Media> {
    let clauses = parse_accept(accept(&request.head));
    clauses
        .iter()
        .filter(|clause| is_aggregated(clause))
        .find_map(|clause| [Media::Json, Media::Protobuf].into_iter().find(|media| clause.matches(*media)))
}

fn is_aggregated(clause: &Clause<'_>) -> bool {
    let says = |name: &str, value: &str| clause.params.contains(&(name, value));
    says("g", "apidiscovery.k8s.io") && says("v", "v2") && says("as", "APIGroupDiscoveryList")
}

/// The first look of REST routes: a media type that is spoken, whatever its parameters.
fn media_type_is_spoken(request: &Request) -> bool {
    let header = accept(&request.head);
    header.is_empty()
        || parse_accept(header).iter().any(|clause| Media::ALL.into_iter().any(|media| clause.matches(media)))
}

fn no_representation() -> Status {
    Status {
        code: 406,
        reason: Some(Reason::NotAcceptable),
        message: format!("406: Not Acceptable\n\nAvailable representations: {FORMS}"),
        details: Some(Box::new(Details::default())),
        ..Status::default()
    }
}

/// A document in protobuf; `None` where it does not fit its type, which would be a fault of the specs.
fn protobuf(ty: &Struct, document: &Value, api_version: &str, kind: &str) -> Option<Vec<u8>> {
    let mut out = Vec::new();
    proto::encode(ty, document, api_version, kind, &mut out).ok()?;
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_told_apart() {
        let name = |path: &str| match target(path) {
            None => "none".to_owned(),
            Some(Target::Core) => "core".to_owned(),
            Some(Target::Groups { slash }) => format!("groups {slash}"),
            Some(Target::Group(group)) => format!("group {group}"),
            Some(Target::Version(group, version)) => format!("version {group}/{version}"),
        };
        let cases = [
            ("/api", "core"),
            ("/api/", "core"),
            ("/api/v1", "version /v1"),
            ("/api/v1/", "version /v1"),
            ("/apis", "groups false"),
            ("/apis/", "groups true"),
            ("/apis/apps", "group apps"),
            ("/apis/apps/", "group apps"),
            ("/apis/apps/v1", "version apps/v1"),
            ("/apis/apps/v1/", "version apps/v1"),
            ("/apis/apps/v1/deployments", "none"),
            ("/api/v1/pods", "none"),
            ("/", "none"),
            ("/version", "none"),
        ];
        for (path, expected) in cases {
            assert_eq!(name(path), expected, "{path}");
        }
    }
}
