//! What a server outside says it serves: its discovery and the list of its OpenAPI documents.
//!
//! Asked as `system:kube-aggregator`, past the check of availability: whether it can be asked is what
//! is to be found out. Upstream: kube-aggregator's discovery manager and OpenAPI v3 aggregator.

use std::collections::HashMap;
use std::time::Duration;

use apiwright_chain::User;
use apiwright_json::{Object, Value, decode};
use apiwright_registry::typed::Types;
use apiwright_remote::{Backend, Host, empty};
use apiwright_schema::decode::{ObjectKind, Source};
use bytes::Bytes;
use http::header::{ACCEPT, CONTENT_TYPE, ETAG, HeaderValue, IF_NONE_MATCH};
use http::{HeaderMap, Request, Response, StatusCode, Uri};

use crate::forward;

const ANSWER_SECONDS_MAX: u64 = 5;
const ANSWER_BYTES_MAX: usize = 16 << 20;
const AGGREGATED: &str = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,\
                          application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList";
const LIST: &str = "io.k8s.api.apidiscovery.v2.APIGroupDiscoveryList";

/// The resources of group versions, as aggregated discovery tells them.
pub(crate) type Versions = HashMap<(String, String), Vec<Value>>;

/// What a server said last.
#[derive(Clone, Debug, Default)]
pub(crate) struct Known {
    pub(crate) versions: Versions,
    pub(crate) etag: Option<HeaderValue>,
    pub(crate) swagger_etag: Option<HeaderValue>,
}

/// How a server told what it serves.
#[derive(Debug)]
pub(crate) enum Told {
    /// All of it.
    All { versions: Versions, etag: Option<HeaderValue> },
    /// As before.
    Unchanged,
    /// It knows the legacy documents only.
    Legacy,
}

/// A server that is asked.
pub(crate) struct Asked<'a> {
    pub(crate) backend: &'a Backend,
    pub(crate) host: &'a Host,
}

impl Asked<'_> {
    /// All that the server serves.
    pub(crate) async fn discovery(&self, known: &Known, types: &Types) -> Result<Told, String> {
        let answer = self.get("/apis", AGGREGATED, known.etag.as_ref()).await?;
        match answer.status() {
            StatusCode::NOT_MODIFIED => Ok(Told::Unchanged),
            StatusCode::SERVICE_UNAVAILABLE => Err("the server is not available".into()),
            StatusCode::OK if is_aggregated(&answer) => {
                let value =
                    typed(answer.body(), types, LIST, "apidiscovery.k8s.io/v2", "APIGroupDiscoveryList")?;
                let etag = answer.headers().get(ETAG).cloned();
                Ok(Told::All { versions: versions(&value), etag })
            }
            _ => Ok(Told::Legacy),
        }
    }

    /// The resources of one group version, from its legacy document.
    pub(crate) async fn legacy(&self, path: &str, types: &Types) -> Result<Vec<Value>, String> {
        let answer = self.get(path, "application/json", None).await?;
        if answer.status() != StatusCode::OK {
            return Err(format!("failed to download legacy discovery for {path}: {}", answer.status()));
        }
        let list = "io.k8s.apimachinery.pkg.apis.meta.v1.APIResourceList";
        let value = typed(answer.body(), types, list, "v1", "APIResourceList")?;
        from_legacy(items(&value, "resources"))
    }

    /// Where the server's OpenAPI v3 documents are, by their paths.
    pub(crate) async fn openapi(&self) -> Result<Vec<(String, String)>, String> {
        let answer = self.get("/openapi/v3", "application/json", None).await?;
        match answer.status() {
            StatusCode::OK => {
                let (value, _) = decode(answer.body()).map_err(|error| error.to_string())?;
                let paths = value.at(&["paths"]).and_then(Value::as_object);
                let told = paths.into_iter().flat_map(Object::iter).map(|(path, document)| {
                    (path.to_string(), document.text_at(&["serverRelativeURL"]).to_owned())
                });
                Ok(told.collect())
            }
            StatusCode::NOT_FOUND => Ok(Vec::new()),
            other => Err(format!("the server answers {other} for its OpenAPI documents")),
        }
    }

    /// The server's OpenAPI v2 document; `None` where it is as before.
    pub(crate) async fn swagger(&self, known: &mut Known) -> Result<Option<Value>, String> {
        let answer = self.get("/openapi/v2", "application/json", known.swagger_etag.as_ref()).await?;
        match answer.status() {
            StatusCode::NOT_MODIFIED => Ok(None),
            StatusCode::OK => {
                let (value, _) = decode(answer.body()).map_err(|error| error.to_string())?;
                known.swagger_etag = answer.headers().get(ETAG).cloned();
                Ok(Some(value))
            }
            StatusCode::NOT_FOUND => Ok(Some(Value::Null)),
            other => Err(format!("the server answers {other} for its OpenAPI v2 document")),
        }
    }

    async fn get(
        &self,
        path: &str,
        accept: &str,
        known: Option<&HeaderValue>,
    ) -> Result<Response<Bytes>, String> {
        let address = format!("https://{}{path}", self.host);
        let address: Uri = address.parse().map_err(|error| format!("{address}: {error}"))?;
        let mut request = Request::new(empty());
        *request.uri_mut() = address;
        *request.headers_mut() = aggregator_headers();
        let headers = request.headers_mut();
        if let Ok(accept) = HeaderValue::from_str(accept) {
            headers.insert(ACCEPT, accept);
        }
        if let Some(known) = known {
            headers.insert(IF_NONE_MATCH, known.clone());
        }
        self.backend
            .exchange(request, Duration::from_secs(ANSWER_SECONDS_MAX), ANSWER_BYTES_MAX)
            .await
            .map_err(|error| error.to_string())
    }
}

/// What names the aggregator itself to servers outside.
pub fn aggregator_headers() -> HeaderMap {
    let mut headers = HeaderMap::new();
    forward::tell_user(&mut headers, &aggregator());
    headers
}

/// Whom servers outside are asked as.
fn aggregator() -> User {
    User { name: "system:kube-aggregator".into(), groups: vec!["system:masters".into()], ..User::default() }
}

fn is_aggregated(answer: &Response<Bytes>) -> bool {
    let kind = answer.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let mut parts = kind.split(';').map(str::trim);
    let is_json = parts.next() == Some("application/json");
    let given: Vec<&str> = parts.collect();
    let version = given.contains(&"v=v2") || given.contains(&"v=v2beta1");
    is_json
        && version
        && given.contains(&"g=apidiscovery.k8s.io")
        && given.contains(&"as=APIGroupDiscoveryList")
}

/// A document in its type's normal form: what is unknown is left out, what is of a wrong type refused.
fn typed(bytes: &[u8], types: &Types, name: &str, api_version: &str, kind: &str) -> Result<Value, String> {
    let (value, duplicates) = decode(bytes).map_err(|error| error.to_string())?;
    let ty = types(name).ok_or_else(|| format!("there is no type {name}"))?;
    let kind = ObjectKind { api_version, kind };
    apiwright_schema::decode::decode(&ty, kind, value, &duplicates, Source::Json)
        .map(|decoded| decoded.value)
        .map_err(|error| error.to_string())
}

fn versions(list: &Value) -> Versions {
    let mut found = Versions::new();
    for group in items(list, "items") {
        let name = group.text_at(&["metadata", "name"]);
        for version in items(group, "versions") {
            let mut resources = items(version, "resources").to_vec();
            resources.iter_mut().for_each(with_kinds);
            found.insert((name.to_owned(), version.text_at(&["version"]).to_owned()), resources);
        }
    }
    found
}

/// Old clients break where a resource or subresource has no kind.
fn with_kinds(resource: &mut Value) {
    let Some(members) = resource.as_object_mut() else { return };
    if members.get("responseKind").is_none_or(Value::is_null) {
        let at =
            members.members().iter().position(|(name, _)| name.as_str() == "resource").map_or(0, |at| at + 1);
        members.remove("responseKind");
        members.insert_at(at, "responseKind", kind("", "", ""));
    }
    if let Some(subresources) = members.get_mut("subresources").and_then(Value::as_array_mut) {
        for subresource in subresources.iter_mut().filter_map(Value::as_object_mut) {
            if subresource.get("responseKind").is_none_or(Value::is_null) {
                subresource.remove("responseKind");
                subresource.insert_at(1.min(subresource.len()), "responseKind", kind("", "", ""));
            }
        }
    }
}

/// What the legacy list of a group version means in aggregated discovery.
fn from_legacy(list: &[Value]) -> Result<Vec<Value>, String> {
    let mut found: Vec<(String, Object, Vec<Value>)> = Vec::new();
    let text = |one: &Value, member: &str| one.text_at(&[member]).to_owned();
    let scope = |one: &Value| match one.at(&["namespaced"]).and_then(Value::as_bool) {
        Some(true) => "Namespaced",
        _ => "Cluster",
    };
    let own_kind = |one: &Value| kind(&text(one, "group"), &text(one, "version"), &text(one, "kind"));
    for one in list.iter().filter(|one| !one.text_at(&["name"]).contains('/')) {
        let mut resource = Object::new();
        resource.push("resource", text(one, "name"));
        resource.push("responseKind", own_kind(one));
        resource.push("scope", scope(one));
        resource.push("singularResource", text(one, "singularName"));
        for member in ["verbs", "shortNames", "categories"] {
            if !items(one, member).is_empty() {
                resource.push(member, items(one, member).to_vec());
            }
        }
        found.push((text(one, "name"), resource, Vec::new()));
    }
    for one in list {
        let Some((parent, name)) = one.text_at(&["name"]).split_once('/') else { continue };
        let at = found.iter().position(|(its_name, ..)| its_name == parent).unwrap_or_else(|| {
            let mut resource = Object::new();
            resource.push("resource", parent);
            resource.push("responseKind", kind("", "", ""));
            resource.push("scope", scope(one));
            resource.push("singularResource", "");
            found.push((parent.to_owned(), resource, Vec::new()));
            found.len() - 1
        });
        let (_, resource, subresources) = &mut found[at];
        let its_scope = resource.str("scope").unwrap_or_default();
        if its_scope != scope(one) {
            return Err(format!(
                "Error: Parent {parent} (scope: {its_scope}) and subresource {name} (scope: {}) scope do not match",
                scope(one)
            ));
        }
        let mut subresource = Object::new();
        subresource.push("subresource", name);
        let is_known = !one.text_at(&["kind"]).is_empty();
        subresource.push("responseKind", if is_known { own_kind(one) } else { kind("", "", "") });
        subresource.push("verbs", items(one, "verbs").to_vec());
        subresources.push(subresource.into());
    }
    let finished = found.into_iter().map(|(_, mut resource, subresources)| {
        if !subresources.is_empty() {
            resource.push("subresources", subresources);
        }
        Value::Object(resource)
    });
    Ok(finished.collect())
}

fn kind(group: &str, version: &str, kind: &str) -> Value {
    Value::Object(Object::from_iter([("group", group), ("version", version), ("kind", kind)]))
}

fn items<'a>(value: &'a Value, member: &str) -> &'a [Value] {
    value.at(&[member]).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}
